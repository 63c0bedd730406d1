"""Rows that this process has prepared, in whatever way, and that Dask workers search.

The tiles are those of a search in this process, and are sent to the workers in blocks. What is
found comes back: candidate pairs, layers and embedding are computed in this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.block_search import Search, TiledBlocks
from rmgl.distributed.blocks import Tiling, box_of
from rmgl.distributed.workers import Future, Workers, joined
from rmgl.edges.bounds import TILE
from rmgl.edges.interface import Ends, Indices, Nodes, Vector
from rmgl.edges.search import Rows
from rmgl.edges.tiles import Tiled
from rmgl.running.threads import Check


@dataclass(frozen=True)
class SearchedRows(Rows):
    """The space of the rows of a matrix in this process, with searches that workers do."""

    workers: Workers = field(kw_only=True)

    @classmethod
    def of_rows(cls, workers: Workers, rows: Rows) -> SearchedRows:
        """Make the space of the same rows, searched by workers."""
        return cls(rows.X, rows.center, rows.in_parts, workers=workers)

    def among(self, nodes: Nodes | None) -> Rows:
        return self if nodes is None else replace(self, X=self.X[nodes])

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def starts(self) -> Indices:
        """The first place of every block, and the number of rows."""
        size = TILE * Tiling.of(self.n_rows).block_tiles
        return np.append(np.arange(0, self.n_rows, size), self.n_rows)

    def tiled_blocks(self, precise: bool) -> TiledBlocks:
        """The blocks on the workers, in double or in single precision."""
        return self._sent(True) if precise else self._in_single

    @cached_property
    def _in_single(self) -> TiledBlocks:
        return self._sent(False)

    def _sent(self, precise: bool) -> TiledBlocks:
        tiled, _ = self._tiles(precise)
        bounds = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        parts = [part_of(tiled, first, stop) for first, stop in bounds]
        low, high = zip(*map(box_of, parts), strict=True)
        return [send(self.workers, part) for part in parts], np.array(low), np.array(high)

    def _nearest_places(
        self, queries: Indices | None, length: int, precise: bool, check: Check
    ) -> tuple[NDArray[np.int32], Vector]:
        search = Search(self, precise, check)
        if queries is not None:
            return search.nearest_of_some(queries, length)
        lists, last = search.nearest_of_all(length)
        return np.concatenate(self.workers.gather(lists)), last

    def _places_within(
        self, radii: Vector, scales: Vector, chosen: Indices | None, precise: bool, check: Check
    ) -> tuple[Ends, Ends]:
        tasks, blocks = Search(self, precise, check).within(radii, scales, chosen)
        found = self.workers.gather(tasks, "scan by radii", check)
        left, right = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for pairs, two in zip(found, blocks, strict=True):
            for side, ends, block in zip((left, right), pairs, two, strict=True):
                side.append(ends + np.int32(self.starts[block]))
        return np.concatenate(left), np.concatenate(right)


def part_of(tiled: Tiled, first: int, stop: int) -> Tiled:
    """Return some of the tiles, from one place to another."""
    tiles = slice(first // TILE, -(-stop // TILE))
    return Tiled(
        tiled.columns[first:stop],
        tiled.rows[first:stop] if len(tiled.rows) else tiled.rows,
        tiled.norms[first:stop],
        tiled.starts[tiles] - first,
        tiled.low[tiles],
        tiled.high[tiles],
    )


def send(workers: Workers, tiled: Tiled) -> Future:
    """Send a block to the workers, its rows in pieces."""

    def pieces(array: NDArray[Any]) -> list[Future]:
        return list(workers.share("rmgl-send-rows", array).pieces)

    X = tiled.columns
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    sent = [pieces(part) for part in parts]
    rows = pieces(tiled.rows) if len(tiled.rows) else [tiled.rows]
    about = (tiled.norms, tiled.starts, tiled.low, tiled.high)
    return workers.submit("rmgl-tiled-block", put_together, X.shape, sent, rows, about)


def put_together(
    shape: tuple[int, int],
    columns: Sequence[Sequence[NDArray[Any]]],
    rows: Sequence[NDArray[Any]],
    about: tuple[Vector, Indices, Any, Any],
) -> Tiled:
    """Put the pieces of a block together; sparse rows have three arrays."""
    arrays = [joined(pieces) for pieces in columns]
    X = arrays[0] if len(arrays) == 1 else sparse.csr_array(tuple(arrays), shape=shape)
    return Tiled(X, joined(rows), *about)
