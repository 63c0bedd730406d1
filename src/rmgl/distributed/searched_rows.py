"""Rows in this process that Dask workers search.

The tiles are the same as for a search in this process, and are sent to the workers in blocks. The
workers return the pairs that they find. This process computes the layers and the embedding from the
same pairs as without workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.block_search import Search, TiledBlocks
from rmgl.distributed.blocks import box_of, part_of, send, starts_of
from rmgl.distributed.workers import Workers
from rmgl.edges.interface import Ends, Indices, Nodes, Vector
from rmgl.edges.search import Rows
from rmgl.running.threads import Check


@dataclass(frozen=True)
class SearchedRows(Rows):
    """Space of the rows of a matrix in this process, searched by workers."""

    workers: Workers = field(kw_only=True)

    @classmethod
    def of_rows(cls, workers: Workers, rows: Rows) -> SearchedRows:
        """Make a space of the same rows, searched by workers."""
        return cls(rows.X, rows.center, rows.in_parts, workers=workers)

    def among(self, nodes: Nodes | None) -> Rows:
        return self if nodes is None else replace(self, X=self.X[nodes])

    @cached_property
    def starts(self) -> Indices:
        """First place in each block, and the number of rows."""
        return starts_of(self.n_rows)

    @cached_property
    def _in_single(self) -> TiledBlocks:
        """Blocks on the workers, kept because candidate pairs are extended many times."""
        return self._sent(precise=False)

    def _sent(self, precise: bool) -> TiledBlocks:
        tiled, rounding = self._tiles(precise)
        bounds = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        parts = [part_of(tiled, first, stop) for first, stop in bounds]
        low, high = zip(*map(box_of, parts), strict=True)
        sent = [send(self.workers, part) for part in parts]
        return TiledBlocks(sent, self.starts, np.array(low), np.array(high), rounding)

    def _search(self, precise: bool, check: Check) -> Search:
        """Return a search in double or single precision."""
        blocks = self._sent(precise=True) if precise else self._in_single
        return Search(self.workers, blocks, check)

    def _nearest_places(
        self, queries: Indices | None, length: int, precise: bool, check: Check
    ) -> tuple[NDArray[np.int32], Vector]:
        search = self._search(precise, check)
        if queries is not None:
            return search.nearest_of_some(queries, length)
        return search.nearest_of_all(length)

    def _places_within(
        self, radii: Vector, scales: Vector, chosen: Indices | None, precise: bool, check: Check
    ) -> tuple[Ends, Ends]:
        return self._search(precise, check).within(radii, scales, chosen)
