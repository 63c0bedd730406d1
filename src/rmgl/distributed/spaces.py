"""The spaces of views on a cluster, from which everything is chosen and learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.spaces import Spaces
from rmgl.distributed.matrix import beside
from rmgl.distributed.rows import DistributedRows, Tiling
from rmgl.running.checkpoint import Checkpoint
from rmgl.views.views import Views


@dataclass(frozen=True)
class DistributedSpaces(Spaces):
    """The spaces of scaled views whose rows are on the workers of a cluster."""

    tiling: Tiling | None = None
    checkpoint: Checkpoint | None = None

    @classmethod
    def on_cluster(cls, views: Views, tiling: Tiling | None = None, checkpoint: Checkpoint | None = None) -> DistributedSpaces:
        return cls(views, None, Tiling.of(views.n_rows) if tiling is None else tiling, checkpoint)

    @cached_property
    def factors(self) -> tuple[float, ...]:
        return tuple(1 / float(np.sqrt(matrix.variances.sum())) for matrix in self.views.matrices)

    def of_entities(self, entities: NDArray[np.intp]) -> Spaces:
        raise ValueError("a fit on a cluster cannot leave entities out: fit without client=")

    def own(self, view: int) -> DistributedRows:
        return self._own[view]

    @cached_property
    def _own(self) -> list[DistributedRows]:
        assert self.tiling is not None
        return [DistributedRows(matrix, self.tiling, self.checkpoint) for matrix in self.views.matrices]

    @cached_property
    def together(self) -> DistributedRows:
        assert self.tiling is not None
        return DistributedRows(beside(self.views.matrices, self.factors), self.tiling, self.checkpoint)
