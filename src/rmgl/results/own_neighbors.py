"""What every view says alone: the nearest neighbors of the entities in it, and whether these are in
the same cluster.

The layers of the views are learned with the common embedding as a guide, so they follow the
clusters whatever the view says: 96 % of the edge weight of a view of noise can lie inside clusters.
Statements about a view are therefore made from its own neighbors, before anything is learned,
beside what chance would give (`rmgl.results.own_neighbors`).

Entities with the same row in a view are one *point* of it, so that a view may have any number of
copies. Where entities are many, a sample of them is asked for its neighbors: the same in all views,
and whatever the order of the rows.
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
"""Entities whose neighbors are looked for; where there are more, a sample of so many."""

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OwnNeighbors:
    """The neighbors of entities in one view; the weights of those of an entity sum to one."""

    graph: sparse.csr_array
    """Entry (p, q) is the weight of each entity at point q among the neighbors of one at point p.
    """
    point: Indices | None = None
    """The point of every entity, -1 for those that have no place in the view (None: each entity is
    a point).
    """
    asked: Mask | None = None
    """The entities whose neighbors are looked at (None: all)."""

    def inside(self, labels: Indices) -> Share:
        """The mean share of the neighbors of an entity that are in its cluster."""
        return self.by_cluster(labels, int(labels.max()) + 1)[0]

    def by_cluster(self, labels: Indices, n_clusters: int) -> list[Share]:
        """That share for all entities together, and for those of each cluster."""
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
        """The weight of the neighbors of every entity in each cluster, (N, K); none for those that
        are not asked.
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
        """What chance depends on."""
        points, n_points = self._points, self.graph.shape[0]
        n_here, n_asked = (
            np.bincount(some, minlength=n_points).astype(np.float64)
            for some in (points[points >= 0], points[self._entities])
        )
        graph, itself = self.graph, self.graph.diagonal()
        squared = graph.power(2)
        out, into = graph @ n_here - itself, graph.T @ n_asked
        # of those that are asked; the others have neighbors that list them only
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
        """The entities that are asked and have a place in the view."""
        return np.flatnonzero((self._points >= 0) & (True if self.asked is None else self.asked))


def own_neighbors(views: Views) -> list[OwnNeighbors]:
    """The neighbors of all entities, or of a sample of them, in every view alone.

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
    """The entities to ask, by what the views say about them and not by where they stand (None:
    all).
    """
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
    """The edges of a graph, those of each entity summing to one; entities without edges have no
    place in it.
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
    """The nearest neighbors by distance; those that are tied for the last places share them.

    Where more than 512 different rows are tied for these, only those that are nearer count.
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
    if first.size == 1:  # all rows are the same
        return OwnNeighbors(sparse.csr_array([[1.0 / (rows.size - 1)]]), point, asked)
    lists = closed_lists(searching(space), nodes, ASKED_NEIGHBORS, ASKED_NEIGHBORS + SPARE)
    return OwnNeighbors(graph_of(lists, space, counts), point, asked)


def points_of(view: View) -> tuple[Indices, Indices]:
    """The first observed row at each point of a view, and the point of every observed row."""
    X, gaps = view.own(), view.own_gaps()
    everyone = np.arange(X.shape[0])
    if not view.comparable:  # copies would not know of one another
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
    """The graph of closed lists of points; `counts` are the entities at each of them."""
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
    """What each of the entities at listed points has of the places of neighbors: those that are
    tied for the last ones share them.

    `held` are the entities at each point.
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
"""Standard deviations above chance from which a share is more than chance."""
ROUNDING = 1e-12
"""Variance, as a share of the squares that it is a difference of, up to which it is a rounding
error.
"""


@record
@dataclass(frozen=True)
class Share:
    """A share of neighbors in the same cluster, beside the share that chance gives."""

    found: float
    """NaN if it was not measured."""
    chance: float
    """The mean over all deals of the clusters to the entities."""
    deviation: float
    """The standard deviation over these deals."""

    @property
    def is_more(self) -> bool:
        """Whether it is more than chance."""
        return bool(self.found > self.chance + SURE * self.deviation) and self.leaves_room

    @property
    def beyond_chance(self) -> float:
        """How far it is from chance (0) to all neighbors (1)."""
        return (self.found - self.chance) / (1 - self.chance)

    @property
    def leaves_room(self) -> bool:
        """Whether the share depends on the clusters: not if there is one, or if all other entities
        are neighbors.
        """
        return bool(self.deviation > 0)


@dataclass(frozen=True)
class Deals:
    """What mean and variance over all deals depend on: sums over the neighbors W of n entities, of
    which none is its own neighbor.
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
        """Mean and standard deviation of the share of weight inside clusters of given sizes."""
        if self.n < 2 or self.total == 0:
            return float("nan"), float("nan")
        chance = float(sizes @ (sizes - 1.0)) / (self.n * (self.n - 1.0))
        square = self._square(sizes)
        return chance, deviation(square - (chance * self.total) ** 2, square) / self.total

    def inside_one(self, size: int) -> tuple[float, float]:
        """Mean and standard deviation of the share of the weight of the members of one cluster of a
        given size that is inside of it.
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
        """The mean square of the weight inside clusters; 0 where entities are too few for it to
        vary.
        """
        if self.n < 4:
            return 0.0
        pairs = sizes * (sizes - 1.0)
        same = (float(pairs.sum()), 2 * float(pairs.sum()), 4 * float(pairs @ (sizes - 1.0)))
        return mean_square((self.total, self.squares, self.degrees), same, self.n)


def deviation(variance: float, square: float) -> float:
    """The standard deviation, 0 if the variance is a rounding error."""
    return float(np.sqrt(variance)) if variance > ROUNDING * square else 0.0
