"""Products of rows, tile by tile: nearest rows in heaps, and pairs within radii.

Rows are sorted into tiles of nearby rows (halved repeatedly along the column of largest variance).
The products of two tiles are one matrix product, and a compiled scan selects from it: rows nearer
than the farthest neighbor so far, or pairs within given radii. Tiles whose bounding boxes are too
far apart are skipped, and where all rows are queries, each pair of tiles is visited once for both
directions. Memory is O(N D), plus what is found.

Products may be of a few *leading* columns, whose distances are lower bounds of those of the rows
(`rmgl.edges.bounds`). Only the pairs that they do not rule out are measured with all columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl import kernels
from rmgl.edges.bounds import TILE, Order, Reach, Rounding, box_distance, tile_order
from rmgl.edges.interface import Ends, Floats, Indices, Nodes, Products, Vector
from rmgl.matrix import squared_lengths
from rmgl.running.threads import Check, require_memory

HALF_OF_LARGEST = float(np.finfo(np.float64).max) / 2
BYTES_PER_CANDIDATE = 60
"""Memory for one pair: both directions in a pattern, distances, costs, and temporary copies."""
Whole = tuple[Products, Vector, Vector, Vector]
"""Rows with all columns and what bounds their distances; no columns if products are exact."""


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
        self.nearest = np.zeros((queries.size, length), dtype=np.int32)
        self.cuts: Products = np.empty(TILE, dtype=rows.dtype)

    def farthest(self, group: slice) -> float:
        """The squared distance beyond which a row enters no heap of a group of queries."""
        return 2.0 * min(-float(self.scores[group, 0].min()), HALF_OF_LARGEST)

    def farthest_by_tile(self, starts: Indices) -> Vector:
        """The squared distance beyond which a row enters no heap of each tile; all are queries."""
        lowest = np.minimum.reduceat(self.scores[:, 0], starts)
        return np.minimum(-lowest.astype(np.float64), HALF_OF_LARGEST) * 2.0

    def offer(self, scores: Products, heap: int, first: int, both: bool) -> None:
        """Insert rows first, first + 1, ... into heaps heap, heap + 1, ...

        If `both`, also insert the queries of these heaps into those of the rows, which must all be
        queries.
        """
        kept = (self.scores, self.nearest, self.cuts, self.rows)
        kernels.offer(scores, self.queries, heap, first, both, *kept)

    def offer_tiles(
        self, group: slice, distances: Vector, products: Callable[[int], Products], starts: Indices
    ) -> None:
        """Offer tiles to a group of queries, the nearest tile first, while they are near enough.

        `distances` are those of the tiles, products(index) the scores in one, and `starts` the
        first rows of all.
        """
        for index in np.argsort(distances, kind="stable").tolist():
            if distances[index] > self.farthest(group):
                break
            self.offer(products(index), group.start, int(starts[index]), False)


class FoundPairs:
    """The pairs of rows found so far."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.count = 0
        self.allowed = 1 << 22
        self.buffers = np.empty((2, TILE * TILE), dtype=np.int32)

    def collect(self, products: Products, queries: Indices, first: int, whole: Whole) -> None:
        """Add the pairs of a query and row first, first + 1, ... whose products are positive."""
        left, right = self.buffers
        count = kernels.positive_entries(products, queries, first, left, right, *whole)
        if count:
            self._add(count)
            self.parts.append((left[:count].copy(), right[:count].copy()))

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
        left = np.concatenate([none, *(pair[0] for pair in self.parts)])
        right = np.concatenate([none, *(pair[1] for pair in self.parts)])
        self.parts.clear()
        differ = left != right
        return left[differ], right[differ]


class TileProducts:
    """Products of some rows on the left with tiles on the right, in memory that is used again.

    Allocating it again costs as much as a product.
    """

    def __init__(self, left: Products, right: Products) -> None:
        self.left, self.right = left, right
        self.buffer = np.empty(TILE * TILE, dtype=left.dtype)

    def __call__(self, queries: Any, tile: slice) -> Products:
        """Multiply; the result is valid until the next call."""
        left, right = self.left[queries], self.right[tile]
        out: Products = self.buffer[: len(left) * len(right)].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out)


def widened(rows: Products, dtype: Any, *columns: Any) -> Products:
    """Rows with more columns, in single or double precision."""
    n, width = rows.shape
    wide = np.empty((n, width + len(columns)), dtype=dtype)
    wide[:, :width] = rows
    for place, column in enumerate(columns, width):
        wide[:, place] = column
    return wide


class Tiles:
    """The rows of a centered matrix, sorted into tiles.

    `order` lists the rows by their place in the tiles, and `places` the places by row.
    """

    def __init__(
        self,
        X: Any,
        norms: Vector,
        dtype: type[np.floating[Any]],
        order: Order,
        leading: Floats | None = None,
    ) -> None:
        """`norms` are squared lengths of the rows; `order` is that of leading columns, if any."""
        self.dtype = np.dtype(dtype)
        self.filtered = leading is not None
        self.whole, self.X = X, X if leading is None else leading
        self.order, self.low, self.high = order.order, order.low, order.high
        self.places = np.empty_like(self.order)
        self.places[self.order] = np.arange(X.shape[0])
        self.norms = norms[self.order]
        self.rounding = Rounding.of(self.whole.shape[1], dtype)
        self.starts = np.arange(0, X.shape[0], TILE)
        self.rows = np.empty((0, 0), dtype=dtype)
        if self.filtered:
            require_memory(
                self.whole.size * self.dtype.itemsize,
                f"the search for neighbors among {X.shape[0]:,} rows",
            )
            self.rows = self.whole.astype(dtype)[self.order]

    def tile(self, index: int) -> slice:
        """The places of the rows of a tile."""
        start = int(self.starts[index])
        return slice(start, min(start + TILE, len(self.order)))

    def set_products(self, *columns: tuple[Any, Any]) -> None:
        """Set what `products` computes: x_i'x_j + sum_c left_ci right_cj.

        The pairs of columns (left, right) are in the order of places.
        """
        n, width = self.X.shape
        if sparse.issparse(self.X):
            self.extra = [
                np.column_stack([np.broadcast_to(pair[side], n) for pair in columns])
                for side in (0, 1)
            ]
            return
        require_memory(
            2 * n * (width + len(columns)) * self.dtype.itemsize,
            f"the search for neighbors among {n:,} rows of {width:,} columns",
        )
        lefts, rights = zip(*columns, strict=True)
        left = widened(self.X[self.order], self.dtype, *lefts)
        right = left.copy()
        for place, column in enumerate(rights, width):
            right[:, place] = column
        self.dense = TileProducts(left, right)

    def products(self, queries: Any, index: int) -> Products:
        """The products of the rows at places `queries` with a tile; valid until the next call."""
        tile = self.tile(index)
        if not sparse.issparse(self.X):
            return self.dense(queries, tile)
        products = (self.X[self.order[queries]] @ self.X[self.order[tile]].T).toarray()
        return np.asarray(products + self.extra[0][queries] @ self.extra[1][tile].T)

    def distance_between_tiles(self, offset: int) -> Vector:
        """Squared distance between the boxes of tiles t and t + offset, for all t."""
        later, earlier = slice(offset, None), slice(-offset or None)
        return box_distance(
            self.low[later], self.high[later], self.low[earlier], self.high[earlier]
        )

    def distance_to_tiles(self, queries: Indices) -> Vector:
        """Squared distance of the box of every tile to that of the rows at places `queries`."""
        if sparse.issparse(self.X):
            return np.zeros(self.starts.size)
        rows = self.X[self.order[queries]]
        return box_distance(self.low, self.high, rows.min(axis=0), rows.max(axis=0))

    def nearest(self, nodes: Nodes, length: int, check: Check) -> tuple[Indices, Vector, Vector]:
        """The nearest rows of each node, and how far others and the last one are.

        Others have a lower bound of the squared distance; that of the last row is the computed one.
        """
        heaps = Heaps(np.sort(self.places[nodes]), length, self.rows)
        halves = (1 - self.rounding.share if self.filtered else 1.0) * self.norms / 2
        self.set_products((-halves, 1.0), (1.0, -halves))
        if len(nodes) == len(self.order):
            self._nearest_of_all(heaps, check)
        else:
            self._nearest_of_some(heaps, check)
        mine = np.searchsorted(heaps.queries, self.places[nodes])
        last = -2.0 * heaps.scores[mine, 0].astype(np.float64)
        return (
            self.order[heaps.nearest[mine]],
            self.rounding.distance_bound(last, self.norms[self.places[nodes]]),
            last,
        )

    def _nearest_of_all(self, heaps: Heaps, check: Check) -> None:
        """Visit every tile with itself, then the pairs of tiles t and t + 1, t + 2, ..."""
        for offset in range(self.starts.size):
            check()
            farthest = heaps.farthest_by_tile(self.starts)
            limits = np.maximum(farthest[: farthest.size - offset], farthest[offset:])
            for index in np.flatnonzero(self.distance_between_tiles(offset) <= limits).tolist():
                check()
                queries, other = self.tile(index), index + offset
                products = self.products(queries, other)
                heaps.offer(products, queries.start, int(self.starts[other]), offset > 0)

    def _nearest_of_some(self, heaps: Heaps, check: Check) -> None:
        """Visit groups of queries with every tile, the nearest tile first."""
        for first in range(0, heaps.queries.size, TILE):
            check()
            group = slice(first, min(first + TILE, heaps.queries.size))
            queries = heaps.queries[group]
            distances = self.distance_to_tiles(queries)
            heaps.offer_tiles(group, distances, partial(self.products, queries), self.starts)

    def nearest_to(self, queries: Floats, length: int) -> tuple[Indices, Vector, Vector]:
        """For each of other rows what `nearest` returns for a node.

        Groups of near queries visit every tile, the nearest tile first.

        The rows must be arranged for queries; then several threads may call it at once.
        """
        heaps, order = Heaps(np.full(len(queries), -1), length, self.rows), tile_order(queries)
        for first in range(0, len(queries), TILE):
            group = slice(first, min(first + TILE, len(queries)))
            rows = queries[order[group]]
            left = widened(rows, self.dtype, -squared_lengths(rows) / 2, 1.0)
            dense = TileProducts(left, self.for_queries)

            def products(index: int, dense: TileProducts = dense) -> Products:
                return dense(slice(None), self.tile(index))

            distances = box_distance(self.low, self.high, rows.min(axis=0), rows.max(axis=0))
            heaps.offer_tiles(group, distances, products, self.starts)
        nearest, last = np.empty((len(queries), length), dtype=np.int64), np.empty(len(queries))
        nearest[order], last[order] = self.order[heaps.nearest], -2.0 * heaps.scores[:, 0]
        return nearest, self.rounding.distance_bound(last, squared_lengths(queries)), last

    def arrange(self) -> None:
        """Add to rows y what products with (x, -|x|^2 / 2, 1) need to be -|x - y|^2 / 2."""
        n, width = self.X.shape
        require_memory(
            n * (width + 2) * self.dtype.itemsize,
            f"the search for neighbors among {n:,} rows of {width:,} columns",
        )
        self.for_queries = widened(self.X[self.order], self.dtype, 1.0, -self.norms / 2)

    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector, check: Check
    ) -> tuple[Ends, Ends]:
        """All pairs of a node and another row in reach, s_i s_j (radii_i + radii_j).

        Distances are squared, and rounding may add a few pairs.
        """
        # a node with an infinite radius has all its pairs already
        radii = np.where(np.isfinite(radii), radii, 0.0)[self.order]
        reach = Reach.rounded_up(radii, scales[self.order], self.rounding)
        self.set_products(*reach.columns(self.norms, self.rounding))
        pairs, loss = FoundPairs(), 2 * self.rounding.loss(self.norms)
        self.bounds = (self.rows, reach.far, reach.scales, loss)
        if 2 * len(nodes) > len(self.order):
            self._within_all(pairs, reach.largest(self.starts), check)
        else:
            self._within_some(pairs, np.sort(self.places[nodes]), reach, check)
        left, right = pairs.gathered()
        order = self.order.astype(np.int32)
        return order[left], order[right]

    def _within_all(self, pairs: FoundPairs, reach: Reach, check: Check) -> None:
        """Visit every pair of tiles once; `reach` is the largest reach in each tile."""
        for offset in range(self.starts.size):
            check()
            limits = reach[: self.starts.size - offset].to(reach[offset:])
            for index in np.flatnonzero(self.distance_between_tiles(offset) <= limits).tolist():
                check()
                tile = self.tile(index)
                self._collect(pairs, np.arange(tile.start, tile.stop), index + offset)

    def _within_some(self, pairs: FoundPairs, chosen: Indices, reach: Reach, check: Check) -> None:
        """Visit groups of queries with every tile."""
        far = reach.largest(self.starts)
        for first in range(0, chosen.size, TILE):
            check()
            queries = chosen[first : first + TILE]
            near = self.distance_to_tiles(queries) < reach[queries].largest([0]).to(far)
            for index in np.flatnonzero(near).tolist():
                self._collect(pairs, queries, index)

    def _collect(self, pairs: FoundPairs, queries: Indices, index: int) -> None:
        """Collect the pairs in reach of some rows with those of a tile."""
        products = self.products(queries, index)
        pairs.collect(products, queries, int(self.starts[index]), self.bounds)
