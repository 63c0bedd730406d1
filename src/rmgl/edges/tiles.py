"""Products of rows, tile by tile.

Rows are sorted into tiles of nearby rows (halved repeatedly along the column of largest variance).
The products of two tiles are one matrix product, and a compiled scan selects from it: rows nearer
than the farthest neighbor so far, or pairs within given radii. Tiles whose bounding boxes are too
far apart are skipped, and where all rows are queries, each pair of tiles is visited once for both
directions. Memory is O(N D), plus what is found.

Products may be of a few *leading* columns, whose distances are lower bounds of those of the rows
(`rmgl.edges.bounds`). Only the pairs that they do not rule out are measured with all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges.bounds import Rounding
from rmgl.edges.heaps import TILE, Ends, FoundPairs, Heaps, Indices, Products
from rmgl.edges.interface import Floats, Nodes, Vector
from rmgl.running.memory import require_memory
from rmgl.running.threads import Check

TILE_SAMPLE = 1000
"""Rows of a sample that estimates the variances of the columns."""


@dataclass(frozen=True)
class Order:
    """Where rows stand in tiles; kept, because sorting takes longer than visiting a few tiles."""

    order: Indices
    """The rows by their place in the tiles."""
    low: Floats
    """Smallest entries of each tile, in double precision, so that a box contains its exact rows."""
    high: Floats
    """Largest entries of each tile, in double precision, so that a box contains its exact rows."""

    @classmethod
    def of(cls, X: Any, pad: float = 0.0) -> Order:
        """Sort rows into tiles, with boxes that are wider by `pad`.

        Sparse rows are not sorted, and their tiles have no boxes.
        """
        starts = range(0, X.shape[0], TILE)
        if sparse.issparse(X):
            nothing = np.zeros((len(starts), 1))
            return cls(np.arange(X.shape[0]), nothing, nothing)
        order = tile_order(X)
        tiles = [X[order[start : start + TILE]] for start in starts]
        return cls(
            order,
            np.array([rows.min(axis=0) for rows in tiles]) - pad,
            np.array([rows.max(axis=0) for rows in tiles]) + pad,
        )


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
        self.extra = [
            np.column_stack([np.broadcast_to(pair[side], self.norms.shape) for pair in columns])
            for side in (0, 1)
        ]
        if not sparse.issparse(self.X):
            n, width = self.X.shape
            entries = n * (width + len(columns))
            require_memory(
                2 * entries * self.dtype.itemsize,
                f"the search for neighbors among {n:,} rows of {width:,} columns",
            )
            self.left = np.empty((n, width + len(columns)), dtype=self.dtype)
            self.left[:, :width] = self.X[self.order]
            self.right = self.left.copy()
            self.left[:, width:], self.right[:, width:] = self.extra
            # reused: allocating it again costs as much as a product
            self.buffer = np.empty(TILE * TILE, dtype=self.dtype)

    def products(self, queries: Any, index: int) -> Products:
        """The products of the rows at places `queries` with a tile; valid until the next call."""
        tile = self.tile(index)
        if sparse.issparse(self.X):
            rows = self.X[self.order[queries]] @ self.X[self.order[tile]].T
            sparse_products: Products = (
                rows.toarray() + self.extra[0][queries] @ self.extra[1][tile].T
            )
            return sparse_products
        left, right = self.left[queries], self.right[tile]
        out: Products = self.buffer[: len(left) * len(right)].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out)

    def distance_between_tiles(self, offset: int) -> Vector:
        """Squared distance between the boxes of tiles t and t + offset, for all t."""
        return box_distance(
            self.low[offset:],
            self.high[offset:],
            self.low[: -offset or None],
            self.high[: -offset or None],
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
            self.order[heaps.found[mine]],
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
                own, other = self.tile(index), self.tile(index + offset)
                heaps.offer(self.products(own, index + offset), own.start, other.start, offset > 0)

    def _nearest_of_some(self, heaps: Heaps, check: Check) -> None:
        """Visit groups of queries with every tile, the nearest tile first."""
        for first in range(0, heaps.queries.size, TILE):
            check()
            group = slice(first, min(first + TILE, heaps.queries.size))
            queries = heaps.queries[group]
            distances = self.distance_to_tiles(queries)
            for index in np.argsort(distances, kind="stable").tolist():
                if distances[index] > heaps.farthest(group):
                    break
                heaps.offer(self.products(queries, index), first, int(self.starts[index]), False)

    def nearest_to(self, queries: Floats, length: int) -> tuple[Indices, Vector, Vector]:
        """For each of other rows what `nearest` returns for a node.

        Groups of near queries visit every tile, the nearest tile first.

        The rows must be arranged for queries; then several threads may call it at once.
        """
        heaps, order = Heaps(np.full(len(queries), -1), length, self.rows), tile_order(queries)
        buffer = np.empty(TILE * TILE, dtype=self.dtype)
        for first in range(0, len(queries), TILE):
            group = slice(first, min(first + TILE, len(queries)))
            rows = queries[order[group]]
            left = np.column_stack([rows, -squared_lengths(rows) / 2, np.ones(len(rows))]).astype(
                self.dtype
            )
            distances = box_distance(self.low, self.high, rows.min(axis=0), rows.max(axis=0))
            for index in np.argsort(distances, kind="stable").tolist():
                if distances[index] > heaps.farthest(group):
                    break
                right = self.for_queries[self.tile(index)]
                products = buffer[: len(left) * len(right)].reshape(len(left), len(right))
                heaps.offer(
                    np.matmul(left, right.T, out=products), first, int(self.starts[index]), False
                )
        found, last = np.empty((len(queries), length), dtype=np.int64), np.empty(len(queries))
        found[order], last[order] = self.order[heaps.found], -2.0 * heaps.scores[:, 0]
        return found, self.rounding.distance_bound(last, squared_lengths(queries)), last

    def arrange(self) -> None:
        """Add to rows y what products with (x, -|x|^2 / 2, 1) need to be -|x - y|^2 / 2."""
        n, width = self.X.shape
        require_memory(
            n * (width + 2) * self.dtype.itemsize,
            f"the search for neighbors among {n:,} rows of {width:,} columns",
        )
        self.for_queries = np.empty((n, width + 2), dtype=self.dtype)
        self.for_queries[:, :width] = self.X[self.order]
        self.for_queries[:, width:] = np.column_stack([np.ones(n), -self.norms / 2])

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
        pairs, self.bounds = (
            FoundPairs(),
            (self.rows, reach.far, reach.scales, 2 * self.rounding.loss(self.norms)),
        )
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
            near = self.distance_between_tiles(offset) <= reach[: self.starts.size - offset].to(
                reach[offset:]
            )
            for index in np.flatnonzero(near).tolist():
                check()
                own, other = self.tile(index), self.tile(index + offset)
                pairs.collect(
                    self.products(own, index + offset),
                    np.arange(own.start, own.stop),
                    other.start,
                    self.bounds,
                )

    def _within_some(self, pairs: FoundPairs, chosen: Indices, reach: Reach, check: Check) -> None:
        """Visit groups of queries with every tile."""
        far = reach.largest(self.starts)
        for first in range(0, chosen.size, TILE):
            check()
            queries = chosen[first : first + TILE]
            near = self.distance_to_tiles(queries) < reach[queries].largest([0]).to(far)
            for index in np.flatnonzero(near).tolist():
                pairs.collect(
                    self.products(queries, index), queries, int(self.starts[index]), self.bounds
                )


@dataclass(frozen=True)
class Reach:
    """Radii r and scales s of nodes, or bounds of them for tiles.

    A pair is in reach below the squared distance s_i s_j (r_i + r_j).
    """

    radii: Vector
    scales: Vector

    @classmethod
    def rounded_up(cls, radii: Vector, scales: Vector, rounding: Rounding) -> Reach:
        """The reach of nodes, larger by what rounding may take from it."""
        return cls(radii + 2 * rounding.share * np.abs(radii), scales)

    @property
    def far(self) -> Vector:
        """The f with s_i s_j (r_i + r_j) / 2 = f_i s_j + s_i f_j."""
        return self.scales * self.radii / 2

    def columns(self, norms: Vector, rounding: Rounding) -> tuple[tuple[Any, Any], ...]:
        """Columns for `Tiles.set_products` that make products positive for all pairs in reach.

        `norms` are the squared lengths of the rows.

        They are (s_i s_j (r_i + r_j) - |x_i - x_j|^2) / 2, and half of the losses of both rows
        added to that. What vanishes of f is multiplied by s, and what vanishes of s by f: hence the
        multiples of the floor.
        """
        far, near = self.far, self.scales
        halves = (1 - rounding.share) * norms / 2 - rounding.floor * (1 + np.abs(far) + near) / 4
        return (-halves, 1.0), (1.0, -halves), (far, near), (near, far)

    def __getitem__(self, some: Any) -> Reach:
        return Reach(self.radii[some], self.scales[some])

    def largest(self, starts: Any) -> Reach:
        """Bounds for the parts that begin at the given places."""
        return Reach(
            np.maximum.reduceat(self.radii, starts), np.maximum.reduceat(self.scales, starts)
        )

    def to(self, other: Reach) -> Vector:
        """The squared distance s_i s_j (r_i + r_j) below which pairs are in reach, or zero."""
        return np.maximum(self.scales * other.scales * (self.radii + other.radii), 0.0)


def box_distance(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Vector:
    """Lower bounds of the squared distances between boxes, with an allowance for rounding."""
    gap = np.maximum(np.maximum(low - other_high, other_low - high), 0.0)
    distances: Vector = (1 - 1e-12) * np.square(gap).sum(axis=-1)
    return distances


def tile_order(X: Floats, tile: int = TILE) -> Indices:
    """Order the rows by halving them along the column of largest variance, down to single tiles."""
    order = np.arange(X.shape[0])
    pending = [(0, X.shape[0], -(-X.shape[0] // tile))]
    while pending:
        start, stop, count = pending.pop()
        if count == 1:
            continue
        own = order[start:stop]
        column = halving_column(X[own[:: sample_step(own.size)]])
        middle = halving_place(count, tile)
        order[start:stop] = own[np.argpartition(X[own, column], middle)]
        pending += [(start, start + middle, count // 2), (start + middle, stop, count - count // 2)]
    return order


def sample_step(n_rows: int) -> int:
    """The step between the rows of a sample."""
    return max(1, n_rows // TILE_SAMPLE)


def halving_column(sample: Floats) -> int:
    """The column along which rows are halved."""
    return int(sample.var(axis=0).argmax())


def halving_place(n_tiles: int, tile: int) -> int:
    """How many rows the first half has."""
    return tile * (n_tiles // 2)


def squared_lengths(rows: Any) -> Vector:
    """|x|^2 of every row x, dense or sparse."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
