"""Exact search for nearest rows, and for all pairs of rows within given radii.

Products of rows are taken in single precision where its rounding is small compared with the distances in question, else in double
precision. The effect of rounding on a distance is bounded and allowed for (`rmgl.edges.rounding`), so statements about rows that were not
found hold for exact distances; the rows that are found are the nearest up to that rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.axes import LEADING_ERROR, leading_columns
from rmgl.edges.heaps import TILE, Ends, Heaps, Indices
from rmgl.edges.interface import Costs, Edges, Searchable, Vector
from rmgl.edges.rounding import Rounding
from rmgl.edges.sparse_rows import listed_distances
from rmgl.edges.tiles import Order, Tiles, squared_lengths
from rmgl.matrix import total_variance
from rmgl.running.checkpoint import digest_of
from rmgl.running.threads import Check

LARGEST_SINGLE = 1e15
"""Entries whose squares do not overflow in single precision."""
ROUNDING = 1e-13
"""Relative rounding error of squared distances in double precision."""
LARGEST_LOSS = 0.01
"""Share of a distance that single precision may lose; beyond it the search uses double precision."""


@dataclass(frozen=True)
class Rows(Searchable):
    """The space of the rows of a matrix, dense and centered or sparse, which is searched tile by tile."""

    X: Any
    center: Vector | float = 0.0
    """What was subtracted from the rows."""

    @classmethod
    def of(cls, X: Any) -> Rows:
        """The space of the rows of any matrix. Dense rows are centered, so that |x|^2 + |y|^2 - 2x'y loses fewer digits."""
        if sparse.issparse(X):
            return cls(X)
        center = X.mean(axis=0)
        return cls(X - center, center)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def digest(self) -> str:
        return digest_of(self.X)

    def among(self, nodes: NDArray[np.intp] | None) -> Rows:
        return self if nodes is None else Rows(self.X[nodes], self.center)

    def measure(self, edges: Edges, check: Check = lambda: None) -> Costs:
        return edges.measure(self.X, check)

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        length = min(length, self.n_rows - 1)
        if length == self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        neighbors, bounds, last = self._tiles(precise=not self._fits_single).nearest(nodes, length, check)
        imprecise = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
        if imprecise.size and self._fits_single:
            neighbors[imprecise], bounds[imprecise], _ = self._tiles(precise=True).nearest(nodes[imprecise], length, check)
        return neighbors, np.maximum(bounds, 0.0)

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        if sparse.issparse(self.X):
            return listed_distances(self.X, np.repeat(nodes, neighbors.shape[1]), neighbors.ravel()).reshape(neighbors.shape)
        return distances_between(self.X if len(nodes) == self.n_rows else self.X[nodes], self.X, neighbors)

    @property
    def mean_distance(self) -> float:
        return 2 * total_variance(self.X)

    @property
    def indexed(self) -> Any:
        return self.X

    def exact_instead(self, length: Callable[[Any], int]) -> int:
        return length(self.X)

    def within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
    ) -> tuple[Ends, Ends]:
        """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j).

        A pair may occur in both orders, and rounding may add a few pairs. `scales` are the s_i (None: all are one).
        """
        scales = np.ones(self.n_rows) if scales is None else scales
        precise = not self._fits_single or needs_double(self.X.shape[1], self._norms, nodes, radii, scales)
        return self._tiles(precise).within(nodes, radii, scales, check)

    def nearest_to(self, queries: Any, length: int) -> Indices:
        """The `length` rows nearest to each row of another matrix, in any order, up to rounding.

        Unlike scikit-learn's search it does not use OpenMP, so it also works in a process forked from one that has used OpenMP.
        """
        if sparse.issparse(self.X):
            return nearest_sparse(self.X, queries, length)
        queries = queries - self.center
        single = self._fits_single and float(np.abs(queries).max(initial=0.0)) < LARGEST_SINGLE
        found, bounds, last = self._in_tiles(precise=not single).nearest_to(queries, length)
        imprecise = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
        if imprecise.size and single:
            found[imprecise] = self._in_tiles(precise=True).nearest_to(queries[imprecise], length)[0]
        return found

    def arrange(self) -> None:
        """Arrange dense rows for the queries to come, which several threads may then ask at once."""
        if not sparse.issparse(self.X):
            self._in_tiles(precise=not self._fits_single)

    def _in_tiles(self, precise: bool) -> Tiles:
        """The rows in tiles for queries of other rows, with all columns; kept for the next queries."""
        dtype = np.float64 if precise else np.float32
        if dtype not in self._kept:
            tiles = Tiles(self.X, self._norms, dtype, self._order)
            tiles.arrange()
            self._kept[dtype] = tiles
        return self._kept[dtype]

    @cached_property
    def _kept(self) -> dict[type[np.floating[Any]], Tiles]:
        return {}

    def _tiles(self, precise: bool) -> Tiles:
        """The rows in tiles, in double precision if that is needed, where leading columns would not be precise enough."""
        if precise or self._leading is None:
            return Tiles(self.X, self._norms, np.float64 if precise else np.float32, self._order)
        return Tiles(self.X, self._norms, np.float32, self._order_of_leading, self._leading)

    @cached_property
    def _order(self) -> Order:
        return Order.of(self.X)

    @cached_property
    def _order_of_leading(self) -> Order:
        return Order.of(self._leading, pad=LEADING_ERROR * float(np.sqrt(self._norms.max(initial=0.0))))

    @cached_property
    def _leading(self) -> NDArray[np.float64] | None:
        return leading_columns(self.X, self._norms)

    @cached_property
    def _norms(self) -> Vector:
        return squared_lengths(self.X)

    @cached_property
    def _fits_single(self) -> bool:
        """Whether the rows are dense and single precision can hold the squares of their largest entries."""
        if sparse.issparse(self.X):
            return False
        return fits_single(float(self.X.min(initial=0.0)), float(self.X.max(initial=0.0)))


def fits_single(low: float, high: float) -> bool:
    """Whether the squares of the largest entries, which are in this range, neither overflow nor underflow in single precision."""
    return 1e-9 < max(high, -low) < LARGEST_SINGLE


def needs_double(width: int, norms: Vector, nodes: NDArray[np.intp], radii: Vector, scales: Vector) -> bool:
    """Whether single precision cannot hold the radii, or would lose too much of the distances within them for over 1 % of the nodes."""
    farthest = float(np.max(scales * np.abs(radii), initial=1.0, where=np.isfinite(radii)))
    if farthest * float(scales.max(initial=1.0)) >= LARGEST_SINGLE**2:
        return True
    loss = Rounding.of(width, np.float32).loss(norms[nodes])
    return bool(np.quantile(loss - LARGEST_LOSS * (scales**2 * radii)[nodes], 0.99) > 0)


def everyone_else(nodes: NDArray[np.intp], n_rows: int) -> tuple[Indices, Vector]:
    """All other rows of each node, and infinity: there are no rows beyond them."""
    everyone = np.broadcast_to(np.arange(n_rows), (len(nodes), n_rows))
    return everyone[everyone != nodes[:, None]].reshape(len(nodes), n_rows - 1), np.full(len(nodes), np.inf)


def nearest_sparse(X: Any, queries: Any, length: int) -> Indices:
    """The `length` rows of a sparse matrix nearest to each row of another, in any order, up to rounding."""
    heaps = Heaps(np.full(queries.shape[0], -1), length, np.empty((0, 0)))
    # In random order: if rows were sorted from far to near, every one of them would enter the heaps.
    starts = np.random.RandomState(0).permutation(np.arange(0, X.shape[0], TILE))
    for start in starts.tolist():
        rows = X[start : start + TILE]
        halves = squared_lengths(rows) / 2
        for first in range(0, queries.shape[0], TILE):
            group = slice(first, min(first + TILE, queries.shape[0]))
            products = (queries[group] @ rows.T).toarray()
            heaps.offer(np.subtract(products, halves, out=products), first, start, False)
    return heaps.found.astype(np.int64)


def distances_between(rows: NDArray[np.float64], X: NDArray[np.float64], neighbors: NDArray[np.intp]) -> NDArray[np.float64]:
    """Squared distances between each of `rows` and the rows of X listed for it, computed from differences."""
    from rmgl import kernels

    n, length = neighbors.shape
    distances = np.empty(neighbors.shape)
    starts = length * np.arange(n + 1)
    kernels.list_distances(rows, X, starts, neighbors.astype(np.int32).ravel(), 0, n, distances.reshape(-1))
    return distances


def dense_distances(new_X: Any, X: Any) -> NDArray[np.float64]:
    """Return squared distances of all pairs as |x|^2 + |y|^2 - 2x'y, with zero for values below their rounding error."""
    if not sparse.issparse(X):
        center = X.mean(axis=0)
        new_X, X = new_X - center, X - center
    products = new_X @ X.T
    total = squared_lengths(new_X)[:, None] + squared_lengths(X)
    distances = total - 2 * (products.toarray() if sparse.issparse(products) else products)
    return np.where(distances > ROUNDING * total, distances, 0.0)
