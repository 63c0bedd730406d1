"""Evidence from each view alone: whether the nearest neighbors in it are in the same cluster.

The layers of the views are learned with the common embedding as a guide, so they follow the
clusters even if the views do not: 96% of the edge weight of a view of pure noise can lie inside
clusters. Statements about a view are therefore based on its own neighbors, before anything is
learned, and compared with chance.

Entities with identical rows in a view form one *point* of the view, so a view may contain any
number of copies. If there are many entities, only the neighbors of a sample are used. The sample is
the same in all views, and does not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.edges.local_scaling import SPARE, STAND_IN, TIED, NearBlock, closed_lists, searching
from rmgl.matrix import mean_square
from rmgl.views.canonical import Canonical, canonical_order, projected, row_keys, tied
from rmgl.views.view import View
from rmgl.views.views import Views

ASKED_NEIGHBORS = 12
MOST_ASKED = 5000
"""Maximum number of entities whose neighbors are searched for. Larger data sets are sampled."""

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OwnNeighbors:
    """Neighbors of entities in one view. The weights of an entity's neighbors sum to one."""

    graph: sparse.csr_array
    """Entry (p, q) is the weight of each entity at point q among the neighbors of an entity at
    point p.
    """
    point: Indices | None = None
    """Point of every entity, -1 for entities missing from the view. None if each entity is its own
    point.
    """
    asked: Mask | None = None
    """Entities whose neighbors are searched for. None for all."""

    def inside(self, labels: Indices) -> Share:
        """Return the mean share of an entity's neighbors that are in its cluster."""
        return self.by_cluster(labels, int(labels.max()) + 1)[0]

    def by_cluster(self, labels: Indices, n_clusters: int) -> list[Share]:
        """Return the share of neighbors in the same cluster, for all entities together and for each
        cluster.
        """
        votes, deals = self.votes(labels, n_clusters), self.deals()
        total = np.bincount(labels, weights=np.asarray(votes.sum(axis=1)), minlength=n_clusters)
        own = np.bincount(
            labels, weights=votes[np.arange(labels.size), labels], minlength=n_clusters
        )
        weights, held = np.append(total.sum(), total), np.append(own.sum(), own)
        found = np.divide(held, weights, out=np.full(n_clusters + 1, np.nan), where=weights > 0)
        sizes = np.bincount(labels[self._points >= 0], minlength=n_clusters)
        chances = [deals.inside_all(sizes), *map(deals.inside_one, sizes.tolist())]
        return [Share(float(share), *chance) for share, chance in zip(found, chances, strict=True)]

    def votes(self, labels: Indices, n_clusters: int) -> sparse.csr_array:
        """Return the weight of each entity's neighbors in each cluster, (N, K). Zero for entities
        that are not sampled.
        """
        entities, points = self._entities, self._points
        there = np.flatnonzero(points >= 0)
        members = sparse.csr_array(
            (np.ones(there.size), (points[there], labels[there])),
            shape=(self.graph.shape[0], n_clusters),
        )
        places = sparse.csr_array(
            (np.ones(entities.size), (entities, points[entities])),
            shape=(labels.size, self.graph.shape[0]),
        )
        itself = sparse.csr_array(
            (self.graph.diagonal()[points[entities]], (entities, labels[entities])),
            shape=(labels.size, n_clusters),
        )
        return sparse.csr_array(places @ (self.graph @ members) - itself)

    def deals(self) -> Deals:
        """Return the sums that determine the share expected by chance."""
        points, n_points = self._points, self.graph.shape[0]
        n_here, n_asked = (
            np.bincount(some, minlength=n_points).astype(np.float64)
            for some in (points[points >= 0], points[self._entities])
        )
        graph, itself = self.graph, self.graph.diagonal()
        squared = graph.power(2)
        out, into = graph @ n_here - itself, graph.T @ n_asked
        # rows of sampled entities; the others only occur as neighbors
        both = out + into - itself
        mutual = float(n_asked @ (graph.multiply(graph.T) @ n_asked))
        return Deals(
            n=int(n_here.sum()),
            total=float(n_asked @ out),
            squares=float(n_asked @ (squared @ n_here)) + mutual - 2 * float(n_asked @ itself**2),
            degrees=float(n_asked @ both**2 + (n_here - n_asked) @ into**2),
            out_squares=float(n_asked @ out**2),
            out_degrees=float(n_asked @ (out * both)),
        )

    @property
    def _points(self) -> Indices:
        return np.arange(self.graph.shape[0]) if self.point is None else self.point

    @property
    def _entities(self) -> Indices:
        """Return the sampled entities that are observed in the view."""
        return np.flatnonzero((self._points >= 0) & (True if self.asked is None else self.asked))


def own_neighbors(views: Views) -> list[OwnNeighbors]:
    """Find the neighbors of all entities, or of a sample, in each view alone.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"a": np.array([[0.0], [1.0], [9.0], [10.0]])})
    >>> own_neighbors(views)[0].graph.toarray().round(2)[0]
    array([0.  , 0.33, 0.33, 0.33])
    """
    asked = sample_of(views)
    return [
        of_rows(view, asked) if view.graph is None else of_graph(view.graph.weights, asked)
        for view in views
    ]


def sample_of(views: Views) -> Mask | None:
    """Sample entities by their values in the views, not by row order. None for all."""
    if views.n_rows <= MOST_ASKED:
        return None
    asked = np.zeros(views.n_rows, dtype=bool)
    asked[
        canonical_order(views).order[
            np.random.RandomState(0).permutation(views.n_rows)[:MOST_ASKED]
        ]
    ] = True
    return asked


def of_graph(weights: sparse.csr_array, asked: Mask | None) -> OwnNeighbors:
    """Return the edges of a graph, scaled to sum to one for each entity. Entities without edges are
    treated as missing.
    """
    graph = sparse.csr_array(weights, copy=True)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    totals = np.asarray(graph.sum(axis=1), dtype=np.float64)
    linked = (totals > 0) | (np.asarray(graph.sum(axis=0)) > 0)
    shares = (
        sparse.diags_array(np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0))
        @ graph
    )
    return OwnNeighbors(
        sparse.csr_array(shares), np.where(linked, np.arange(linked.size), -1), asked
    )


def of_rows(view: View, asked: Mask | None) -> OwnNeighbors:
    """Find the nearest neighbors by distance. Rows that are tied for the last places share them.

    If more than 512 different rows are tied, only the nearer rows count.
    """
    rows = np.flatnonzero(view.mask)
    first, number = points_of(view)
    point = np.full(view.n_rows, -1)
    point[rows] = number
    nodes = np.unique(number if asked is None else number[asked[rows]])
    space, counts = (
        view.space().among(None if first.size == rows.size else first),
        np.bincount(number),
    )
    if first.size == 1:  # all rows are identical
        return OwnNeighbors(sparse.csr_array([[1.0 / (rows.size - 1)]]), point, asked)
    lists = closed_lists(searching(space), nodes, ASKED_NEIGHBORS, ASKED_NEIGHBORS + SPARE)
    return OwnNeighbors(graph_of(lists, space, counts), point, asked)


def points_of(view: View) -> tuple[Indices, Indices]:
    """Return the first observed row at each point, and the point of every observed row."""
    X, gaps = view.own(), view.own_gaps()
    everyone = np.arange(X.shape[0])
    if not view.comparable:  # copies would not be found as neighbors
        return everyone, everyone
    places, keys = projected(X, gaps), np.zeros(X.shape[0], dtype=np.uint64)
    unclear = tied(places)
    if not unclear.size:
        return everyone, everyone
    keys[unclear] = row_keys(X[unclear], None if gaps is None else gaps[unclear])
    found = Canonical.of(places, keys)
    if found.alike is None:
        return everyone, everyone
    number = np.empty(everyone.size, dtype=np.intp)
    number[found.order] = found.alike
    return np.unique(number, return_index=True)[1], number


def graph_of(lists: list[NearBlock], space: Any, counts: Indices) -> sparse.csr_array:
    """Return the graph of closed neighbor lists of points. `counts` contains the number of entities
    at each point.
    """
    left, right, weights = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)], [np.empty(0)]
    for block in lists:
        itself = block.nodes[:, None]
        neighbors = np.hstack([itself, block.neighbors])
        copies = np.where(counts[itself] > 1, space.distances_to(block.nodes, itself), np.inf)
        distances = np.hstack([copies, block.distances])
        there = np.isfinite(distances)
        held = np.hstack(
            [
                counts[itself] - 1,
                np.where(block.neighbors == STAND_IN, ASKED_NEIGHBORS, counts[block.neighbors]),
            ]
        )
        shares = shares_of_entities(distances, there * held) * (neighbors != STAND_IN)
        total = (shares * held).sum(axis=1, keepdims=True)
        shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        row, place = np.nonzero(shares)
        left.append(block.nodes[row])
        right.append(neighbors[row, place])
        weights.append(shares[row, place])
    ends = (np.concatenate(left), np.concatenate(right))
    return sparse.csr_array((np.concatenate(weights), ends), shape=(counts.size, counts.size))


def shares_of_entities(distances: NDArray[np.float64], held: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of the neighbor places that each entity at the listed points gets. Entities
    that are tied for the last places share them.

    `held` contains the number of entities at each point.
    """
    order = np.argsort(distances, axis=1)
    needed = np.minimum(ASKED_NEIGHBORS, held.sum(axis=1, keepdims=True))
    enough = np.take_along_axis(held, order, axis=1).cumsum(axis=1) >= needed
    last = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
    reach = np.take_along_axis(distances, last, axis=1) * (1 + TIED)
    nearer = distances * (1 + TIED) < reach / (1 + TIED)
    tied_last = (distances <= reach) & ~nearer & (held > 0)
    left = ASKED_NEIGHBORS - (nearer * held).sum(axis=1, keepdims=True)
    n_tied = np.maximum((tied_last * held).sum(axis=1, keepdims=True), 1)
    shares: NDArray[np.float64] = nearer * (held > 0) + tied_last * np.minimum(left / n_tied, 1.0)
    return shares


SURE = 3.0
"""Minimum number of standard deviations above chance for a share to be considered larger than
expected by chance.
"""
ROUNDING = 1e-12
"""Relative threshold below which a variance is a rounding error, compared with the squares from
which it is computed.
"""


@record
@dataclass(frozen=True)
class Share:
    """Share of neighbors in the same cluster, with the share expected by chance."""

    found: float
    """Observed share. NaN if not measured."""
    chance: float
    """Mean share over all random assignments of the entities to clusters of the same sizes."""
    deviation: float
    """Standard deviation of the share over the random assignments."""

    @property
    def is_more(self) -> bool:
        """Whether the share is larger than expected by chance."""
        return bool(self.found > self.chance + SURE * self.deviation) and self.leaves_room

    @property
    def beyond_chance(self) -> float:
        """Position of the share between the share expected by chance (0) and all neighbors (1)."""
        return (self.found - self.chance) / (1 - self.chance)

    @property
    def leaves_room(self) -> bool:
        """Whether the share depends on the clusters. It does not if there is one cluster, or if all
        other entities are neighbors.
        """
        return bool(self.deviation > 0)


@dataclass(frozen=True)
class Deals:
    """Sums that determine the mean and variance over all random assignments, computed from the
    neighbor weights W of n entities. No entity is its own neighbor.
    """

    n: int
    total: float
    """sum_ij W_ij"""
    squares: float
    """sum_ij W_ij^2 + W_ij W_ji"""
    degrees: float
    """sum_i (r_i + c_i)^2"""
    out_squares: float
    """sum_i r_i^2"""
    out_degrees: float
    """sum_i r_i (r_i + c_i)"""

    def inside_all(self, sizes: NDArray[np.intp]) -> tuple[float, float]:
        """Return the mean and standard deviation of the share of weight inside clusters of the
        given sizes.
        """
        if self.n < 2 or self.total == 0:
            return float("nan"), float("nan")
        chance = float(sizes @ (sizes - 1.0)) / (self.n * (self.n - 1.0))
        square = self._square(sizes)
        return chance, deviation(square - (chance * self.total) ** 2, square) / self.total

    def inside_one(self, size: int) -> tuple[float, float]:
        """Return the mean and standard deviation of the share of a cluster's neighbor weight that
        is inside the cluster, for a cluster of the given size.
        """
        if self.n < 2 or self.total == 0 or size == 0:
            return float("nan"), float("nan")
        n, chance = self.n, (size - 1) / (self.n - 1)
        one, two = size / n, size / n * chance
        three = two * (size - 2) / max(n - 2, 1)
        weight, members = two * self.total, one * self.total
        square, of_members = (
            self._square(np.array([size])),
            one * self.out_squares + two * (self.total**2 - self.out_squares),
        )
        product = two * self.out_degrees + three * (self.total**2 - self.out_degrees)
        variance = (
            (square - weight**2)
            - 2 * chance * (product - weight * members)
            + chance**2 * (of_members - members**2)
        )
        return chance, deviation(variance, square) / members

    def _square(self, sizes: NDArray[np.intp]) -> float:
        """Return the mean square of the weight inside clusters. 0 if there are too few entities for
        it to vary.
        """
        if self.n < 4:
            return 0.0
        pairs = sizes * (sizes - 1.0)
        same = (float(pairs.sum()), 2 * float(pairs.sum()), 4 * float(pairs @ (sizes - 1.0)))
        return mean_square((self.total, self.squares, self.degrees), same, self.n)


def deviation(variance: float, square: float) -> float:
    """Return the standard deviation. 0 if the variance is a rounding error."""
    return float(np.sqrt(variance)) if variance > ROUNDING * square else 0.0
