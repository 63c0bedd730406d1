"""What a fit begins with: views that are scaled, with their entities in canonical order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.fitting import Prepared
from rmgl.distributed.views import StoredViews
from rmgl.fitting.parameters import Parameters
from rmgl.model.given import given_graphs
from rmgl.views.canonical import Canonical, canonical_order
from rmgl.views.views import Views


@dataclass(frozen=True)
class Ready:
    """Scaled views and what is known about their entities, which are those of the caller in canonical order."""

    views: Views
    index: NDArray[Any] | None
    """The labels of the rows, in the order of the caller."""
    scale: list[tuple[str, str]]
    canonical: Canonical
    recognized: Sequence[str] = ()
    """The names of views that were given as features and look like networks."""
    known: NDArray[np.intp] | None = None
    """Known labels, -1 where they are not known (None: none is),"""
    tied: bool = False
    """and whether they change the costs of the layers."""
    workers: Prepared | None = None
    """Where the rows are, if workers keep them."""

    @classmethod
    def on_workers(cls, found: Prepared) -> Ready:
        """The views that workers keep."""
        return cls(found.views, found.views.index, found.scales, found.canonical, workers=found)

    def data(self, kept: bool) -> Any:
        """What a checkpoint tells other data by: the views or, if a checkpoint is `kept`, the digests of those on workers."""
        return self.views if self.workers is None or not kept else self.workers.digests()

    def stored(self, views: Views) -> Views | StoredViews:
        """What a model keeps of its rows: the scaled `views`, or where those of the workers are stored."""
        return views if self.workers is None else self.workers.kept()


def in_canonical_order(views: Views, parameters: Parameters, known: NDArray[np.intp] | None = None) -> tuple[Views, Canonical]:
    """The views as their distances are taken, with their entities sorted by content; none of their arrays is the caller's."""
    views = views.with_metrics(parameters.metric)
    if parameters.automatic:
        views = views.without_empty_rows().compressed()
    canonical = canonical_order(views, known, given_graphs(parameters.candidates, views))
    return views.in_order(canonical.order), canonical


def scaled(
    views: Views,
    canonical: Canonical,
    parameters: Parameters,
    *,
    index: NDArray[Any] | None,
    recognized: Sequence[str] = (),
    known: NDArray[np.intp] | None = None,
    tied: bool = False,
) -> Ready:
    """Scale views that are in canonical order; `index` and `known` are in the order of the caller."""
    scale = views.choose_scales(views.scales_for(parameters.scale, parameters.metric))
    known = None if known is None else known[canonical.order]
    return Ready(views.scaled_as([how for how, _ in scale]), index, scale, canonical, recognized, known, tied)
