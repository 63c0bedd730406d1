"""Exact search for nearest rows, and for all pairs of rows within specified radii.

Products of rows use single precision where its rounding errors are small compared with the
distances in question, and double precision otherwise. Searches bound the effect of rounding on a
distance and allow for it (`rmgl.edges.bounds`). Statements about rows that were not found therefore
hold for exact distances; the rows that were found are the nearest up to rounding.

Here, all rows form a single block of tiles; threads share its pairs of tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl import kernels
from rmgl.edges.bounds import LEADING_ERROR, TILE, Order, Reach, Rounding, leading_columns
from rmgl.edges.interface import (
    Costs,
    Ends,
    Floats,
    Indices,
    Nodes,
    PairStore,
    Products,
    Searchable,
    Space,
    Vector,
)
from rmgl.edges.nearest import Heaps, nearest_inside, nearest_of, nearest_to
from rmgl.edges.tiles import Tiled, dense_products, tiled_rows
from rmgl.edges.within import within
from rmgl.matrix import listed_distances, squared_lengths, total_variance
from rmgl.running.checkpoint import digest_of
from rmgl.running.threads import Check, Executor, InParts, no_check, one_part

LARGEST_SINGLE = 1e15
"""Magnitude up to which the squares of entries do not overflow in single precision."""
PRODUCT_ROUNDING = 1e-13
"""Relative rounding error of squared distances from products in double precision."""
LARGEST_LOSS = 0.01
"""Share of a distance that single precision may lose; a larger loss requires double precision."""


@dataclass(frozen=True)
class Rows(Searchable):
    """The space of a matrix's rows (dense and centered, or sparse), searched tile by tile."""

    X: Any
    center: Vector | float = 0.0
    """What was subtracted from the rows."""
    in_parts: InParts = one_part
    """How threads share searches."""

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Make the space of a matrix's rows.

        Dense rows are centered, so that |x|^2 + |y|^2 - 2x'y loses fewer digits.
        """
        if sparse.issparse(X):
            return cls(X)
        center = X.mean(axis=0)
        return cls(X - center, center)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def digest(self) -> str:
        return digest_of(self.X)

    def among(self, nodes: Nodes | None) -> Rows:
        return self if nodes is None else Rows(self.X[nodes], self.center, self.in_parts)

    def searched_by(self, executor: Executor) -> Searchable:
        searched: Searchable = executor.searching(self)
        return searched

    def in_threads(self, in_parts: InParts) -> Rows:
        """Return these rows, with searches shared among threads."""
        return replace(self, in_parts=in_parts)

    def measure(self, edges: PairStore, check: Check = no_check) -> Costs:
        return edges.measure(self.X, check)

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        length = min(length, self.n_rows - 1)
        if length == self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        return self._precise_enough(
            lambda some, precise: self._nearest(nodes[some], length, precise, check),
            self._fits_single,
        )

    def _nearest(
        self, nodes: Nodes, length: int, precise: bool, check: Check
    ) -> tuple[Indices, Vector, Vector]:
        """Find the nearest rows of each node.

        Also returns a lower bound on the squared distances to all other rows, and the computed
        squared distance to the last of the nearest rows.
        """
        order = self._order_in(precise)
        places = order.places[nodes]
        queries = None if len(nodes) == self.n_rows else np.sort(places)
        mine = places if queries is None else np.searchsorted(queries, places)
        nearest, last = self._nearest_places(queries, length, precise, check)
        rounding = Rounding.of(self.X.shape[1], np.float64 if precise else np.float32)
        bounds = rounding.distance_bound(last[mine], self._norms[nodes])
        # replace positions with rows, reusing the memory
        np.take(order.order.astype(np.int32), nearest, out=nearest)
        return nearest[mine], bounds, last[mine]

    def _nearest_places(
        self, queries: Indices | None, length: int, precise: bool, check: Check
    ) -> tuple[NDArray[np.int32], Vector]:
        """Find the nearest rows of those at ascending positions (None: all), and last distances."""
        tiled, rounding = self._tiles(precise)
        options = (length, rounding, self.in_parts, check)
        if queries is None:
            scores, nearest = nearest_inside(tiled, *options)
        else:
            scores, nearest = nearest_of(tiled, queries, *options)
        return nearest, -2.0 * scores[:, 0].astype(np.float64)

    @staticmethod
    def _precise_enough(
        search: Callable[[Any, bool], tuple[Indices, Vector, Vector]], single: bool
    ) -> tuple[Indices, Vector]:
        """Run search(queries, precise); repeat it in double precision where single is too lossy."""
        neighbors, bounds, last = search(slice(None), not single)
        coarse = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
        if coarse.size and single:
            neighbors[coarse], bounds[coarse], _ = search(coarse, True)
        return neighbors, np.maximum(bounds, 0.0)

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        if sparse.issparse(self.X):
            left = np.repeat(nodes, neighbors.shape[1])
            return listed_distances(self.X, left, neighbors.ravel()).reshape(neighbors.shape)
        rows = self.X if len(nodes) == self.n_rows else self.X[nodes]
        return distances_between(rows, self.X, neighbors)

    @property
    def mean_distance(self) -> float:
        return 2 * total_variance(self.X)

    @property
    def indexed(self) -> Any:
        return self.X

    def exact_instead(self, length: Callable[[Any], int]) -> int:
        return length(self.X)

    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None = None, check: Check = no_check
    ) -> tuple[Ends, Ends]:
        scales = np.ones(self.n_rows) if scales is None else scales
        width = self.X.shape[1]
        precise = not self._fits_single or needs_double(width, self._norms, nodes, radii, scales)
        order = self._order_in(precise)
        # a node with an infinite radius already has all its pairs
        radii = np.where(np.isfinite(radii), radii, 0.0)[order.order]
        chosen = None if 2 * len(nodes) > self.n_rows else np.sort(order.places[nodes])
        left, right = self._places_within(radii, scales[order.order], chosen, precise, check)
        rows = order.order.astype(np.int32)
        return rows[left], rows[right]

    def _places_within(
        self,
        radii: Vector,
        scales: Vector,
        chosen: Indices | None,
        precise: bool,
        check: Check,
    ) -> tuple[Ends, Ends]:
        """Find all pairs within reach of rows at chosen positions (None: all).

        `radii` and `scales` are in the order of the tiles.
        """
        tiled, rounding = self._tiles(precise)
        reach = Reach.rounded_up(radii, scales, rounding)
        both = None if chosen is None else (chosen, chosen)
        return within(tiled, None, (reach, reach), both, rounding, self.in_parts, check)

    def nearest_to(self, queries: Any, length: int) -> Indices:
        """Find the `length` rows nearest to each row of another matrix, up to rounding.

        The rows found are in no particular order.

        Unlike scikit-learn's search, this one does not use OpenMP, so it also works in a process
        forked from one that has used OpenMP.
        """
        if sparse.issparse(self.X):
            return nearest_sparse(self.X, queries, length)
        queries = queries - self.center
        single = self._fits_single and float(np.abs(queries).max(initial=0.0)) < LARGEST_SINGLE
        return self._precise_enough(
            lambda some, precise: self._nearest_to(queries[some], length, precise), single
        )[0]

    def _nearest_to(
        self, queries: Floats, length: int, precise: bool
    ) -> tuple[Indices, Vector, Vector]:
        """Return for rows of another matrix what `_nearest` returns for nodes.

        Nearby queries are grouped.
        """
        tiled, rounding, right = self._arranged(precise)
        mine, norms = Order.of(queries), squared_lengths(queries)
        asked = tiled_rows(queries, norms, tiled.columns.dtype, mine, None)
        products = dense_products(asked.side([-asked.norms / 2, 1.0]), right)
        scores, found = nearest_to(asked, tiled, products, length)
        nearest, last = np.empty((len(queries), length), dtype=np.int64), np.empty(len(queries))
        nearest[mine.order] = self._order.order[found]
        last[mine.order] = -2.0 * scores[:, 0]
        return nearest, rounding.distance_bound(last, norms), last

    def arrange(self) -> None:
        """Arrange dense rows for later queries, which several threads may make at once."""
        if not sparse.issparse(self.X):
            self._arranged(precise=not self._fits_single)

    def _arranged(self, precise: bool) -> tuple[Tiled, Rounding, Products]:
        """Return the tiled rows with all columns, and their side of the products; cache both."""
        dtype = np.float64 if precise else np.float32
        if dtype not in self._kept:
            tiled = tiled_rows(self.X, self._norms, dtype, self._order, None)
            rounding = Rounding.of(self.X.shape[1], dtype)
            self._kept[dtype] = tiled, rounding, tiled.side([1.0, -tiled.norms / 2])
        return self._kept[dtype]

    @cached_property
    def _kept(self) -> dict[type[np.floating[Any]], tuple[Tiled, Rounding, Products]]:
        return {}

    def _tiles(self, precise: bool) -> tuple[Tiled, Rounding]:
        """Return the rows in tiles, with leading columns if they are precise enough."""
        dtype = np.float64 if precise else np.float32
        leading = None if precise else self._leading
        tiled = tiled_rows(self.X, self._norms, dtype, self._order_in(precise), leading)
        return tiled, Rounding.of(self.X.shape[1], dtype)

    def _order_in(self, precise: bool) -> Order:
        """Return the order of rows in tiles; in single precision, leading columns may define it."""
        return self._order if precise or self._leading is None else self._order_of_leading

    @cached_property
    def _order(self) -> Order:
        return Order.of(self.X)

    @cached_property
    def _order_of_leading(self) -> Order:
        longest = float(np.sqrt(self._norms.max(initial=0.0)))
        return Order.of(self._leading, pad=LEADING_ERROR * longest)

    @cached_property
    def _leading(self) -> Floats | None:
        return leading_columns(self.X, self._norms)

    @cached_property
    def _norms(self) -> Vector:
        return squared_lengths(self.X)

    @cached_property
    def _fits_single(self) -> bool:
        """Whether rows are dense and single precision can hold the squares of their entries."""
        if sparse.issparse(self.X):
            return False
        return fits_single(float(self.X.min(initial=0.0)), float(self.X.max(initial=0.0)))


def fits_single(low: float, high: float) -> bool:
    """Check that squares of entries in this range neither overflow nor underflow in float32."""
    return 1e-9 < max(high, -low) < LARGEST_SINGLE


def needs_double(width: int, norms: Vector, nodes: Nodes, radii: Vector, scales: Vector) -> bool:
    """Check whether single precision would overflow, or lose too much for over 1% of the nodes."""
    farthest = float(np.max(scales * np.abs(radii), initial=1.0, where=np.isfinite(radii)))
    if farthest * float(scales.max(initial=1.0)) >= LARGEST_SINGLE**2:
        return True
    loss = Rounding.of(width, np.float32).loss(norms[nodes])
    return bool(np.quantile(loss - LARGEST_LOSS * (scales**2 * radii)[nodes], 0.99) > 0)


def everyone_else(nodes: Nodes, n_rows: int) -> tuple[Indices, Vector]:
    """Return all other rows for each node, and infinite bounds: no rows lie beyond them."""
    everyone = np.broadcast_to(np.arange(n_rows), (len(nodes), n_rows))
    others = everyone[everyone != nodes[:, None]].reshape(len(nodes), n_rows - 1)
    return others, np.full(len(nodes), np.inf)


def nearest_sparse(X: Any, queries: Any, length: int) -> Indices:
    """Find the `length` rows of a sparse matrix nearest to each row of another, up to rounding."""
    heaps = Heaps(np.full(queries.shape[0], -1), length, np.empty((0, 0)))
    # in random order: if rows were sorted from far to near, all would enter the heaps
    starts = np.random.RandomState(0).permutation(np.arange(0, X.shape[0], TILE))
    for start in starts.tolist():
        rows = X[start : start + TILE]
        halves = squared_lengths(rows) / 2
        for first in range(0, queries.shape[0], TILE):
            group = slice(first, min(first + TILE, queries.shape[0]))
            products = (queries[group] @ rows.T).toarray()
            heaps.offer(np.subtract(products, halves, out=products), first, start, False)
    return heaps.nearest.astype(np.int64)


def distances_between(rows: Floats, X: Floats, neighbors: Nodes) -> Floats:
    """Compute squared distances between `rows` and their listed rows of X, from differences."""
    n, length = neighbors.shape
    distances, starts = np.empty(n * length), length * np.arange(n + 1)
    kernels.list_distances(rows, X, starts, neighbors.astype(np.int32).ravel(), 0, n, distances)
    return distances.reshape(neighbors.shape)


def dense_distances(new_X: Any, X: Any) -> Floats:
    """Compute all squared distances as |x|^2 + |y|^2 - 2x'y; zero below their rounding error."""
    if not sparse.issparse(X):
        center = X.mean(axis=0)
        new_X, X = new_X - center, X - center
    products = new_X @ X.T
    total = squared_lengths(new_X)[:, None] + squared_lengths(X)
    distances = total - 2 * (products.toarray() if sparse.issparse(products) else products)
    return np.where(distances > PRODUCT_ROUNDING * total, distances, 0.0)


def as_space(X: Any) -> Space:
    """Return the space of the rows of a matrix; a space is returned unchanged."""
    return X if isinstance(X, Space) else Rows.of(X)
