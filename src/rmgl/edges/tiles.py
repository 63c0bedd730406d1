"""Exact neighbors of dense data, by tiles.

Rows are sorted into tiles of neighboring rows (halved again and again along the column of largest variance). The products of two
tiles are one matrix product, and a compiled scan picks what is of use from it: rows nearer than the worst neighbor so far, or pairs
within given radii. Tiles whose bounding boxes lie too far apart are left out, and where all rows ask, a pair of tiles is seen once for
both of its sides. Memory is O(N D) and what is found.

Products are taken in single precision where its rounding is small beside the distances that matter, else in double precision. What
rounding can do to a distance is bounded and allowed for, so what is said about rows that were not found holds for exact distances; those
that are found are the nearest up to that rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.interface import Vector
from rmgl.running.memory import require_memory
from rmgl.running.threads import Check

TILE = 512
BATCH = 200  # pairs of tiles
SAMPLE = 1000
LARGEST_LOSS = 0.01
HALF_OF_ALL = float(np.finfo(np.float64).max) / 2
BYTES_PER_PAIR = 60  # both directions in a pattern, distances, costs, and copies on the way
Indices = NDArray[np.int64]


def nearest_rows(X: Any, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
    """The `length` nearest other rows of each node, in any order, and a squared distance that no other row is nearer than.

    X is centered. The reach is infinite where all rows are listed.
    """
    n = X.shape[0]
    length = min(length, n - 1)
    if length == n - 1:
        everyone = np.broadcast_to(np.arange(n), (len(nodes), n))
        return everyone[everyone != nodes[:, None]].reshape(len(nodes), length), np.full(len(nodes), np.inf)
    tiles = Tiles(X, np.float32 if fits_single(X) else np.float64)
    neighbors, reach, last = tiles.nearest(nodes, length, check)
    poor = np.flatnonzero(reach < (1 - LARGEST_LOSS) * last)
    if poor.size and tiles.dtype == np.float32:
        neighbors[poor], reach[poor], _ = Tiles(X, np.float64).nearest(nodes[poor], length, check)
    return neighbors, reach


def nearest_to(X: Any, asking: Any, length: int) -> Indices:
    """The `length` rows of X nearest to each of some rows that need not be among them, in any order, up to rounding.

    There is no OpenMP in it, unlike in scikit-learn's search: a process that was forked from one that has used OpenMP may go on with it.
    """
    middle = None if sparse.issparse(X) else X.mean(axis=0)
    asking = asking if middle is None else asking - middle
    lists = Lists(np.full(asking.shape[0], -1), length, np.dtype(np.float64))
    starts = np.random.RandomState(0).permutation(np.arange(0, X.shape[0], TILE))  # of sorted rows, ever nearer ones, all would enter
    for start in starts.tolist():
        rows = X[start : start + TILE]
        rows = rows if middle is None else rows - middle
        halves = squared_lengths(rows) / 2
        for first in range(0, asking.shape[0], TILE):
            group = slice(first, min(first + TILE, asking.shape[0]))
            products = asking[group] @ rows.T
            products = products.toarray() if sparse.issparse(products) else products
            lists.offer(np.subtract(products, halves, out=products), group, start, None)
    return lists.found.astype(np.int64)


def nearest_distances(X: Any, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> NDArray[np.float64]:
    """Squared distances of the `length` nearest other rows of each node, ascending."""
    return np.sort(listed_distances(X, nodes, nearest_rows(X, nodes, length, check)[0]), axis=1)


def listed_distances(X: Any, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
    """Squared distances of each node to the rows listed for it, from differences."""
    if sparse.issparse(X):
        return np.column_stack([squared_lengths(X[column] - X[nodes]) for column in neighbors.T])
    from rmgl import kernels

    distances = np.empty(neighbors.shape)
    kernels.distances_to(X if len(nodes) == X.shape[0] else X[nodes], X, neighbors, distances)
    return distances


def pairs_within(
    X: Any, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
) -> tuple[Indices, Indices]:
    """The pairs of a node and any other row with squared distance below s_i s_j (radii_i + radii_j), once or twice each, and a few more.

    X is centered; scales s_i that are not given are one.
    """
    norms = squared_lengths(X)
    scales = np.ones(norms.size) if scales is None else scales
    loss = rounding(X.shape[1], np.float32) * norms
    precise = not fits_single(X) or np.quantile(loss[nodes] - LARGEST_LOSS * (scales**2 * radii)[nodes], 0.99) > 0
    return Tiles(X, np.float64 if precise else np.float32).within(nodes, radii, scales, check)


def fits_single(X: Any) -> bool:
    """Whether the rows are dense and no square over- or underflows in single precision."""
    if sparse.issparse(X):
        return False
    return 1e-9 < float(np.abs(X).max(initial=0.0)) < 1e15


def rounding(width: int, dtype: type) -> float:
    """g such that |x|^2 + |y|^2 - 2x'y is computed to within g (|x|^2 + |y|^2), rounding of the rows included."""
    share = float(np.finfo(dtype).eps) * (width + 4)
    return share / (1 - share)


class Tiles:
    """The rows of a centered matrix, sorted into tiles; sparse rows are in one order only and have no boxes."""

    def __init__(self, X: Any, dtype: type) -> None:
        self.dtype = np.dtype(dtype)
        self.order = np.arange(X.shape[0]) if sparse.issparse(X) else tile_order(X)
        self.places = np.empty_like(self.order)
        self.places[self.order] = np.arange(X.shape[0])
        self.X = X
        self.norms = squared_lengths(X)[self.order]
        self.loss = rounding(X.shape[1], dtype)
        self.starts = np.arange(0, X.shape[0], TILE)
        self.low, self.high = self._boxes()

    def _boxes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest and largest entries of each tile, in double precision: a box must hold its rows as they are."""
        if sparse.issparse(self.X):
            return np.zeros((self.starts.size, 1)), np.zeros((self.starts.size, 1))
        tiles = [self.X[self.order[self.tile(index)]] for index in range(self.starts.size)]
        return np.array([rows.min(axis=0) for rows in tiles]), np.array([rows.max(axis=0) for rows in tiles])

    def tile(self, index: int) -> slice:
        start = int(self.starts[index])
        return slice(start, min(start + TILE, len(self.order)))

    def compare(self, *columns: tuple[Any, Any]) -> None:
        """From now on products are x_i'x_j + sum_c left_ci right_cj, for pairs of columns (left, right) given in the order of places."""
        self.extra = [np.column_stack([np.broadcast_to(pair[side], self.norms.shape) for pair in columns]) for side in (0, 1)]
        if not sparse.issparse(self.X):
            n, width = self.X.shape
            entries = n * (width + len(columns))
            require_memory(2 * entries * self.dtype.itemsize, f"the search for neighbors among {n:,} rows of {width:,} columns")
            self.left = np.empty((n, width + len(columns)), dtype=self.dtype)
            self.left[:, :width] = self.X[self.order]
            self.right = self.left.copy()
            self.left[:, width:], self.right[:, width:] = self.extra
            self.buffer = np.empty(TILE * TILE, dtype=self.dtype)  # used again and again: new memory for every product costs as much

    def products(self, queries: Any, index: int) -> NDArray:
        """The products of the rows in places `queries` and those of a tile; valid until the next call."""
        tile = self.tile(index)
        if sparse.issparse(self.X):
            rows = self.X[self.order[queries]] @ self.X[self.order[tile]].T
            return rows.toarray() + self.extra[0][queries] @ self.extra[1][tile].T
        left, right = self.left[queries], self.right[tile]
        out = self.buffer[: len(left) * len(right)].reshape(len(left), len(right))
        return np.matmul(left, right.T, out=out)

    def apart_from_tile(self, offset: int) -> Vector:
        """Squared distance of the boxes of tiles t and t + offset, for all t."""
        return box_distance(self.low[offset:], self.high[offset:], self.low[: -offset or None], self.high[: -offset or None])

    def apart_from_box(self, queries: NDArray) -> Vector:
        """Squared distance of every tile's box from the box of some rows."""
        if sparse.issparse(self.X):
            return np.zeros(self.starts.size)
        rows = self.X[self.order[queries]]
        return box_distance(self.low, self.high, rows.min(axis=0), rows.max(axis=0))

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check) -> tuple[Indices, Vector, Vector]:
        """Nearest rows of all nodes or of some; what no other row is nearer than; the computed distance of the last one."""
        lists = Lists(np.sort(self.places[nodes]), length, self.dtype)
        self.compare((-self.norms / 2, 1.0), (1.0, -self.norms / 2))
        if len(nodes) == len(self.order):
            self._nearest_of_all(lists, check)
        else:
            self._nearest_of_some(lists, check)
        mine = np.searchsorted(lists.queries, self.places[nodes])
        last = -2.0 * lists.scores[mine, 0].astype(np.float64)
        return self.order[lists.found[mine]], certain_reach(last, self.norms[self.places[nodes]], self.loss), last

    def _nearest_of_all(self, lists: Lists, check: Check) -> None:
        """Every tile with itself, then every pair of tiles in the order of their distance in the list of tiles."""
        for offset in range(self.starts.size):
            check()
            worst = lists.worst_by_tile(self.starts)
            firsts = np.flatnonzero(self.apart_from_tile(offset) <= np.maximum(worst[: worst.size - offset], worst[offset:]))
            if sparse.issparse(self.X):
                for index in firsts.tolist():
                    own, other = self.tile(index), self.tile(index + offset)
                    lists.offer(self.products(own, index + offset), own, other.start, other if offset else None)
            else:
                for part in batches(firsts):
                    check()
                    lists.offer_tiles(self.left, self.right, part, part + offset, self.buffer)

    def _nearest_of_some(self, lists: Lists, check: Check) -> None:
        """Groups of queries with every tile, the nearest first."""
        for first in range(0, lists.queries.size, TILE):
            check()
            group = slice(first, min(first + TILE, lists.queries.size))
            queries = lists.queries[group]
            apart = self.apart_from_box(queries)
            for index in np.argsort(apart, kind="stable").tolist():
                if apart[index] > lists.worst(group):
                    break
                lists.offer(self.products(queries, index), group, int(self.starts[index]), None)

    def within(self, nodes: NDArray[np.intp], radii: Vector, scales: Vector, check: Check) -> tuple[Indices, Indices]:
        """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j), and a few by rounding."""
        radii = np.where(np.isfinite(radii), radii, 0.0)[self.order]  # a node of infinite radius has all its pairs already
        reach = Reach(radii + 2 * self.loss * np.abs(radii), scales[self.order])
        norms = (1 - self.loss) * self.norms / 2
        far, near = reach.scales * reach.radii / 2, reach.scales
        self.compare((-norms, 1.0), (1.0, -norms), (far, near), (near, far))
        pairs = Pairs()
        if 2 * len(nodes) > len(self.order):
            self._within_all(pairs, reach.largest(self.starts), check)
        else:
            self._within_some(pairs, np.sort(self.places[nodes]), reach, check)
        left, right = pairs.gathered()
        return self.order[left], self.order[right]

    def _within_all(self, pairs: Pairs, reach: Reach, check: Check) -> None:
        """Every pair of tiles once; `reach` is the largest one of each."""
        for offset in range(self.starts.size):
            check()
            near = self.apart_from_tile(offset) <= reach[: self.starts.size - offset].to(reach[offset:])
            firsts = np.flatnonzero(near)
            if sparse.issparse(self.X):
                for index in firsts.tolist():
                    own = self.tile(index)
                    pairs.collect(self.products(own, index + offset), np.arange(own.start, own.stop), int(self.starts[index + offset]))
            else:
                for part in batches(firsts):
                    check()
                    pairs.collect_tiles(self.left, self.right, part, part + offset, self.buffer)

    def _within_some(self, pairs: Pairs, chosen: Indices, reach: Reach, check: Check) -> None:
        """Groups of queries with every tile."""
        far = reach.largest(self.starts)
        for first in range(0, chosen.size, TILE):
            check()
            queries = chosen[first : first + TILE]
            near = self.apart_from_box(queries) < reach[queries].largest([0]).to(far)
            for index in np.flatnonzero(near).tolist():
                pairs.collect(self.products(queries, index), queries, int(self.starts[index]))


def batches(firsts: Indices) -> list[Indices]:
    """Parts that take a fraction of a second, between which a run can be stopped."""
    return [firsts[at : at + BATCH] for at in range(0, firsts.size, BATCH)]


@dataclass(frozen=True)
class Reach:
    """How far nodes, or tiles of them, look: two of them as far as the squared distance s_i s_j (r_i + r_j)."""

    radii: Vector
    scales: Vector

    def __getitem__(self, some: Any) -> Reach:
        return Reach(self.radii[some], self.scales[some])

    def largest(self, starts: Any) -> Reach:
        """Bounds for parts that begin at the given places."""
        return Reach(np.maximum.reduceat(self.radii, starts), np.maximum.reduceat(self.scales, starts))

    def to(self, other: Reach) -> Vector:
        """The largest squared distance at which two see one another; below zero never."""
        return np.maximum(self.scales * other.scales * (self.radii + other.radii), 0.0)


class Lists:
    """The nearest rows of each query so far: heaps of -|x_i - x_j|^2 / 2 with the worst one at the root."""

    def __init__(self, queries: Indices, length: int, dtype: np.dtype) -> None:
        self.queries = queries
        self.scores = np.full((queries.size, length), 0.99 * np.finfo(dtype).min, dtype=dtype)
        self.found = np.zeros((queries.size, length), dtype=np.int32)

    def worst(self, group: slice) -> float:
        """The squared distance beyond which nothing is of use to a group of queries."""
        return 2.0 * min(-float(self.scores[group, 0].min()), HALF_OF_ALL)

    def worst_by_tile(self, starts: Indices) -> Vector:
        """The same for every tile, where all rows are queries."""
        worst = np.minimum.reduceat(self.scores[:, 0], starts)
        return np.minimum(-worst.astype(np.float64), HALF_OF_ALL) * 2.0

    def offer_tiles(self, left: NDArray, right: NDArray, firsts: Indices, seconds: Indices, buffer: NDArray) -> None:
        """Offer the rows of pairs of tiles to one another, where all rows are queries."""
        from rmgl import kernels

        kernels.offer_tiles(left, right, TILE, firsts, seconds, buffer, self.scores, self.found)

    def offer(self, scores: NDArray, group: slice, first: int, others: slice | None) -> None:
        """Offer rows first, first + 1, ... to a group of queries, and the group to `others`, if given, in turn."""
        from rmgl import kernels

        other = others or slice(0, 0)
        mine, theirs = (self.scores[group], self.found[group]), (self.scores[other], self.found[other])
        kernels.offer(scores, self.queries[group], first, *mine, *theirs)


class Pairs:
    """Pairs found so far."""

    def __init__(self) -> None:
        self.found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.count = 0
        self.asked = 1 << 22
        self.room = (np.empty(4 * TILE * TILE, dtype=np.int32), np.empty(4 * TILE * TILE, dtype=np.int32))

    def collect(self, products: NDArray, queries: Indices, first: int) -> None:
        """Keep the pairs of a query and column first, first + 1, ... with positive entries."""
        from rmgl import kernels

        counts = np.empty(products.shape[0], dtype=np.int64)
        total = kernels.count_positive(products, counts)
        if total == 0:
            return
        self._add(total)
        left, right = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
        kernels.positive_entries(products, queries, first, counts, left, right)
        self.found.append((left, right))

    def collect_tiles(self, left: NDArray, right: NDArray, firsts: Indices, seconds: Indices, buffer: NDArray) -> None:
        """The same for pairs of tiles, whose products are taken on the way."""
        from rmgl import kernels

        begin = 0
        while begin < firsts.size:
            begin, count = kernels.scan_tiles(left, right, TILE, firsts, seconds, begin, buffer, *self.room)
            self._add(count)
            self.found.append((self.room[0][:count].copy(), self.room[1][:count].copy()))

    def _add(self, count: int) -> None:
        """Count what was found; refuse what would not fit into memory."""
        self.count += count
        while self.count > self.asked:
            self.asked *= 2
            require_memory(BYTES_PER_PAIR * self.asked, f"up to {self.asked:,} candidate pairs", "use a smaller alpha or fewer rows")

    def gathered(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All of them, without pairs of a row with itself."""
        none = np.empty(0, dtype=np.int32)
        left = np.concatenate([none, *(pair[0] for pair in self.found)])
        right = np.concatenate([none, *(pair[1] for pair in self.found)])
        self.found.clear()
        apart = left != right
        return left[apart], right[apart]


def box_distance(low: NDArray, high: NDArray, other_low: NDArray, other_high: NDArray) -> Vector:
    """Squared distances of boxes, less what rounding can have added."""
    gap = np.maximum(np.maximum(low - other_high, other_low - high), 0.0)
    return (1 - 1e-12) * np.square(gap).sum(axis=-1)


def certain_reach(last: Vector, norms: Vector, loss: float) -> Vector:
    """What no unlisted row is nearer than, given the computed distance of the last listed one.

    Distances are computed to within g (|x|^2 + |y|^2), and |y|^2 <= 2 |x|^2 + 2 z: so the true z of an unlisted row satisfies
    z + g (3 |x|^2 + 2 z) >= last.
    """
    return (last - 3 * loss * norms) / (1 + 2 * loss)


def tile_order(X: NDArray[np.float64]) -> Indices:
    """Rows in the order of a tree that halves along the column of largest variance, down to single tiles."""
    order = np.arange(X.shape[0])
    pending = [(0, X.shape[0], -(-X.shape[0] // TILE))]
    while pending:
        start, stop, count = pending.pop()
        if count == 1:
            continue
        own = order[start:stop]
        sample = X[own[:: max(1, own.size // SAMPLE)]]
        column = int(sample.var(axis=0).argmax())
        middle = TILE * (count // 2)
        order[start:stop] = own[np.argpartition(X[own, column], middle)]
        pending += [(start, start + middle, count // 2), (start + middle, stop, count - count // 2)]
    return order


def squared_lengths(rows: Any) -> Vector:
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
