"""What a search over tiles has found so far: nearest rows in heaps, and pairs within radii."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.interface import Vector
from rmgl.running.memory import require_memory

TILE = 512
"""Rows of a tile."""
HALF_OF_LARGEST = float(np.finfo(np.float64).max) / 2
BYTES_PER_CANDIDATE = 60
"""Memory for one pair: both directions in a pattern, distances, costs, and temporary copies."""
Indices = NDArray[np.int64]
Ends = NDArray[np.integer[Any]]
"""The first or the second rows of pairs."""
Products = NDArray[np.floating[Any]]
"""Products of rows, in single or double precision."""


class Heaps:
    """The nearest rows found so far for each query, in heaps of the scores -|x_i - x_j|^2 / 2.

    The lowest score is at the root.
    """

    def __init__(self, queries: Indices, length: int, rows: Products) -> None:
        """`rows` have all columns if offered scores are upper bounds, and else none."""
        self.queries, self.rows = queries, rows
        self.scores: Products = np.full(
            (queries.size, length), 0.99 * np.finfo(rows.dtype).min, dtype=rows.dtype
        )
        self.found = np.zeros((queries.size, length), dtype=np.int32)
        self.cuts: Products = np.empty(TILE, dtype=rows.dtype)

    def farthest(self, group: slice) -> float:
        """The squared distance beyond which a row enters no heap of a group of queries."""
        return 2.0 * min(-float(self.scores[group, 0].min()), HALF_OF_LARGEST)

    def farthest_by_tile(self, starts: Indices) -> Vector:
        """The squared distance beyond which a row enters no heap of each tile.

        Every row must be a query.
        """
        lowest = np.minimum.reduceat(self.scores[:, 0], starts)
        return np.minimum(-lowest.astype(np.float64), HALF_OF_LARGEST) * 2.0

    def offer(self, scores: Products, own: int, first: int, both: bool) -> None:
        """Insert rows first, first + 1, ... into heaps own, own + 1, ...

        If `both`, also insert the queries of these heaps into those of the rows.

        With `both`, every row must be a query.
        """
        from rmgl import kernels

        kernels.offer(
            scores, self.queries, own, first, both, self.scores, self.found, self.cuts, self.rows
        )


class FoundPairs:
    """The pairs of rows found so far."""

    def __init__(self) -> None:
        self.found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.count = 0
        self.allowed = 1 << 22
        self.buffers = (
            np.empty(TILE * TILE, dtype=np.int32),
            np.empty(TILE * TILE, dtype=np.int32),
        )

    def collect(
        self,
        products: Products,
        queries: Indices,
        first: int,
        whole: tuple[Products, Vector, Vector, Vector],
    ) -> None:
        """Add the pairs of a query and row first, first + 1, ... whose products are positive. //

        `whole` holds rows without columns; or the rows with all columns and what bounds their
        distances, if products are bounds only.
        """
        from rmgl import kernels

        left, right = self.buffers
        count = kernels.positive_entries(products, queries, first, left, right, *whole)
        if count:
            self._add(count)
            self.found.append((left[:count].copy(), right[:count].copy()))

    def _add(self, count: int) -> None:
        """Add to the number of pairs; raise a MemoryError if they would not fit into memory."""
        self.count += count
        while self.count > self.allowed:
            self.allowed *= 2
            require_memory(
                BYTES_PER_CANDIDATE * self.allowed,
                f"up to {self.allowed:,} candidate pairs",
                "use a smaller alpha or fewer rows",
            )

    def gathered(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All pairs found, without pairs of a row with itself."""
        none = np.empty(0, dtype=np.int32)
        left = np.concatenate([none, *(pair[0] for pair in self.found)])
        right = np.concatenate([none, *(pair[1] for pair in self.found)])
        self.found.clear()
        differ = left != right
        return left[differ], right[differ]
