"""Possible edges from new rows to the nodes of one layer, their costs and the weights that solve the one-node problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.neighbors import N_NEIGHBORS
from rmgl.edges import Vector
from rmgl.edges.local_scaling import LISTED
from rmgl.edges.search import Rows, distances_between
from rmgl.edges.ties import counted, reach_of, shares_of_places
from rmgl.edges.tiles import squared_lengths
from rmgl.layer import Layer
from rmgl.matrix import Matrix

LIST_FACTOR = 4
"""Number of listed nodes per new row, in multiples of the mean number of edges of a node."""
MIN_LISTED = 100
"""Smallest number of listed nodes per new row."""
SPARE = 8
"""Nodes listed beyond the nearest ones that are asked for."""
FAR = 1e200
"""The cost of a pair that is not given."""

CostsOf: TypeAlias = Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64]]
"""costs_of(rows, entities): the costs of pairs of rows of a batch and the entities listed for each."""


def n_listed(layer: Layer) -> int:
    """Return the number of nearest nodes to list for a new row, enough for nearly all rows."""
    if layer.given:
        return N_NEIGHBORS + SPARE
    return max(MIN_LISTED, int(LIST_FACTOR * 2 * layer.n_edges / layer.own_potentials.size))


@dataclass(frozen=True)
class Batch:
    """A batch of new rows and one layer, from which possible edges are listed."""

    place: int
    """Index of the layer."""
    layer: Layer
    beta: float
    """Weight of the layer in the embedding."""
    n_rows: int
    n_entities: int
    all_nodes: bool
    """Whether to list all nodes, instead of those that can get weight before the terms of the embedding are added."""

    def edges_to_all(self, rows: NDArray[np.intp], distances: NDArray[np.float64]) -> Iterator[NewEdges]:
        """List the nodes of smallest threshold t, given the squared distances to all nodes; others get no weight while u is below `cut`.

        In the plain neighbor layer, all nodes are listed where equals of the nearest ones would be missing.
        """
        neighbors = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
        costs = self.costs(neighbors, distances)
        kept = n_listed(self.layer)
        everyone = NewEdges(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
        if self.all_nodes or kept >= costs.shape[1]:
            yield everyone
            return
        thresholds = costs - self.layer.own_potentials
        nearest = np.argpartition(thresholds, kept, axis=1)
        cut = np.take_along_axis(thresholds, nearest[:, [kept]], axis=1)[:, 0]
        nearest = nearest[:, :kept]
        costs, distances = (np.take_along_axis(values, nearest, axis=1) for values in (costs, distances))
        edges = NewEdges(self, rows, nearest, costs, distances == 0, cut)
        tied = edges.tied(costs) if self.layer.given else np.zeros(rows.size, dtype=bool)
        if not tied.all():
            yield edges.only(~tied)
        if tied.any():
            yield everyone.only(tied)

    def edges_to_nearest(
        self, rows: NDArray[np.intp], fitted: Rows, X: Matrix, new_X: Matrix, factor: float, lists: NearestLists
    ) -> Iterator[NewEdges]:
        """List the nearest nodes, and four times more for rows where over half of them get weight, or equals of others may be missing.

        `fitted` is the space of X.
        """
        length = min(n_listed(self.layer), X.shape[0])
        while True:
            neighbors, distances = lists.near(rows, fitted, X, new_X, length)
            costs = self.costs(neighbors, factor * distances)
            edges = NewEdges(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
            too_short = edges.mostly_active() | edges.tied(distances) if length < X.shape[0] else np.zeros(rows.size, dtype=bool)
            if not too_short.all():
                yield edges.only(~too_short)
            if not too_short.any():
                return
            rows, new_X, length = rows[too_short], new_X[too_short], min(4 * length, X.shape[0])

    def costs(self, neighbors: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the costs of edges with the given squared distances, locally scaled if the layer is."""
        scaling = self.layer.scaling
        costs = distances if scaling is None else scaling.costs_of_new(neighbors, distances)
        return np.minimum(costs, FAR)


@dataclass(frozen=True)
class Weights:
    """Edge weights of new rows to entities, times beta, and whether a row may have further edges to nodes that are not listed."""

    graph: sparse.csr_array
    incomplete: NDArray[np.bool_]


@dataclass(frozen=True)
class NewEdges:
    """Possible edges from new rows to nodes of one layer."""

    batch: Batch
    rows: NDArray[np.intp]
    """Indices of the rows in the batch."""
    neighbors: NDArray[np.intp]
    """For every row, the indices of the listed nodes of the layer."""
    costs: NDArray[np.float64]
    equal: NDArray[np.bool_]
    """Whether the distance is zero."""
    cut: Vector
    """Nodes that are not listed get no weight while u is at most this value."""

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def only(self, some: NDArray[np.bool_]) -> NewEdges:
        """Return the edges of some of the rows."""
        return NewEdges(self.batch, self.rows[some], self.neighbors[some], self.costs[some], self.equal[some], self.cut[some])

    @property
    def entities(self) -> NDArray[np.intp]:
        """For every row, the indices of the listed nodes among all entities."""
        return self.neighbors if self.layer.nodes is None else self.layer.nodes[self.neighbors]

    def solve(self, costs: NDArray[np.float64]) -> tuple[Vector, NDArray[np.float64]]:
        """Solve the one-node problem of every row; return u and the thresholds t."""
        thresholds = costs - self.layer.own_potentials[self.neighbors]
        return one_node(thresholds, self.layer.alpha, float(self.layer.own_potentials.mean())), thresholds

    def with_consensus(self, costs_of: CostsOf) -> NewEdges:
        """Add the share of the costs of the consensus that the layer was learned with."""
        share = self.layer.consensus_share
        return self if share == 0 else replace(self, costs=self.costs + share * costs_of(self.rows, self.entities))

    def mostly_active(self) -> NDArray[np.bool_]:
        """Whether over half of the listed nodes get weight, so that nodes that are not listed might, too."""
        if self.layer.given:
            return np.zeros(self.rows.size, dtype=bool)
        u, thresholds = self.solve(self.costs)
        mostly_active: NDArray[np.bool_] = 2 * (thresholds < u[:, None]).sum(axis=1) > thresholds.shape[1]
        return mostly_active

    def tied(self, distances: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the nearest nodes that count may have equals that are not listed."""
        reach = reach_of(counted(distances), N_NEIGHBORS) if self.layer.given else reach_of(distances, LISTED)
        reaching: NDArray[np.bool_] = reach >= distances.max(axis=1)
        return reaching

    def weights(
        self,
        q: NDArray[np.float64] | None,
        embedding: NDArray[np.float64],
        g: NDArray[np.float64] | None,
        guide: NDArray[np.float64] | None,
    ) -> Weights:
        """Solve the one-node problem, with the terms of q and g, the current rows of the embedding and of the guide, if given."""
        if self.layer.given:
            return Weights(self._graph(self.batch.beta * self.equal_shares()), np.zeros(self.rows.size, dtype=bool))
        costs = self.costs
        for own, theirs, factor in ((q, embedding, self.batch.beta), (g, guide, 1.0)):
            if own is not None and theirs is not None:
                costs = costs + factor * self._squared_distances(own[self.rows], theirs)
        u, thresholds = self.solve(costs)
        weights = np.maximum(u[:, None] - thresholds, 0.0) * (self.batch.beta / (4 * self.layer.alpha))
        return Weights(self._graph(weights), u > self.cut)

    def equal_shares(self) -> NDArray[np.float64]:
        """Weights in the plain neighbor layer, summing to one: copies get none, and nodes that are tied for the last places share them."""
        shares = shares_of_places(counted(self.costs), N_NEIGHBORS)
        weights: NDArray[np.float64] = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
        return weights

    def nearest(self, some: NDArray[np.intp]) -> sparse.csr_array:
        """Return the graph with edges of total weight one from each of the given rows to the entities of least cost."""
        weights = np.zeros(self.costs.shape)
        weights[some] = shares_of_places(self.costs[some], 1)
        return self._graph(weights)

    def copies(self) -> sparse.csr_array:
        """Return the matrix with a one for every row and entity at distance zero."""
        return self._graph(self.equal.astype(np.float64))

    def _squared_distances(self, own: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared distances of rows of an embedding to those of the listed nodes."""
        squares = np.square(theirs).sum(axis=1)
        if self.batch.all_nodes and self.neighbors.shape[1] == self.layer.own_potentials.size:
            products = own @ (theirs if self.layer.nodes is None else theirs[self.layer.nodes]).T
        else:
            products = np.einsum("bk,blk->bl", own, theirs[self.entities])
        distances: NDArray[np.float64] = np.square(own).sum(axis=1)[:, None] + squares[self.entities] - 2 * products
        return np.maximum(distances, 0.0)

    def _graph(self, weights: NDArray[np.float64]) -> sparse.csr_array:
        """Return the weights of the listed nodes as a sparse matrix, rows of the batch by entities."""
        active = weights > 0
        rows = np.repeat(self.rows, active.sum(axis=1))
        return sparse.csr_array((weights[active], (rows, self.entities[active])), shape=(self.batch.n_rows, self.batch.n_entities))


def one_node(thresholds: NDArray[np.float64], alpha: float, mean: float) -> Vector:
    """Return the u with sum_j (u - t_j)_+ / (4 alpha) + (u - mean) / (2 alpha) = 1, for every row of thresholds t.

    Examples
    --------
    >>> import numpy as np
    >>> one_node(np.array([[0.0, 10.0]]), alpha=1.0, mean=1.0).tolist()
    [2.0]
    """
    ordered = np.sort(thresholds, axis=1)
    sums, counts = np.cumsum(ordered, axis=1), np.arange(1, ordered.shape[1] + 1)
    below = ((counts + 2) * ordered - sums < 4 * alpha + 2 * mean).sum(axis=1)  # the left side increases along a row
    total = np.where(below > 0, np.take_along_axis(sums, np.maximum(below - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    u: Vector = (4 * alpha + 2 * mean + total) / (below + 2)
    return u


def near(fitted: Rows, X: Matrix, new_X: Matrix, length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the `length` rows of X nearest to each row of `new_X`, in any order, and their squared distances.

    `fitted` is the space of X. A few more rows are listed, because the search may be in single precision.
    """
    found = fitted.nearest_to(new_X, min(length + SPARE, X.shape[0]))
    return shortened(found, distances_to(X, new_X, found), length)


def closed_near(fitted: Rows, X: Matrix, new_X: Matrix, length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return rows of X near each row of `new_X`, which include the `length` nearest and all their equals, and their squared distances."""
    listed = length + SPARE
    while True:
        found, distances = near(fitted, X, new_X, min(listed, X.shape[0]))
        if listed >= X.shape[0] or (reach_of(distances, length) < distances.max(axis=1)).all():
            return found, distances
        listed *= 4


def shortened(found: NDArray[np.intp], distances: NDArray[np.float64], length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the `length` nearest of the listed rows, and their squared distances."""
    if length == distances.shape[1]:
        return found, distances
    nearest = np.argpartition(distances, length - 1, axis=1)[:, :length]
    return np.take_along_axis(found, nearest, axis=1), np.take_along_axis(distances, nearest, axis=1)


class NearestLists:
    """The nearest fitted rows of a batch of new ones, which layers of the same space share."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bytes], tuple[NDArray[np.intp], NDArray[np.float64]]] = {}

    def near(
        self, rows: NDArray[np.intp], fitted: Rows, X: Matrix, new_X: Matrix, length: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return what `near` does, for some rows of the batch, from a list that is long enough if there is one already."""
        key = (id(X), rows.tobytes())
        if key not in self._found or self._found[key][0].shape[1] < length:
            self._found[key] = near(fitted, X, new_X, length)
        return shortened(*self._found[key], length)


def distances_to(X: Matrix, new_X: Matrix, listed: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the squared distances of each row of `new_X` to the rows of X that are listed for it."""
    if sparse.issparse(X):
        return np.column_stack([squared_lengths(X[column] - new_X) for column in listed.T])
    return distances_between(new_X, X, listed)
