"""Candidate edges from new rows to the nodes of one layer, and their weights.

The costs are those of the layer, and the weights solve the one-node problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.layers import PLAIN_NEIGHBORS
from rmgl.edges.interface import Floats, Vector
from rmgl.edges.local_scaling import LISTED, counted, reach_of, shares_of_places, shortest
from rmgl.edges.search import Rows, dense_distances, distances_between
from rmgl.layer import Layer
from rmgl.matrix import Matrix, squared_lengths
from rmgl.views.incomplete import Mask
from rmgl.views.view import Indices

LIST_FACTOR = 4
"""Number of listed nodes per new row, in multiples of the average number of edges per node."""
MIN_LISTED = 100
"""Minimum number of listed nodes per new row."""
SPARE_NODES = 8
"""Number of nodes listed in addition to the requested nearest ones."""
LARGEST_COST = 1e200
"""Cost of a pair that is not given."""

CostsOf: TypeAlias = Callable[[Indices, Indices], Floats]
"""Function costs_of(rows, entities) that returns the costs between rows of a batch and the entities
listed for each.
"""
Term: TypeAlias = tuple[Floats, Floats, float]
"""Positions of new rows, positions of the entities, and the factor of their squared distances."""


def n_listed(layer: Layer) -> int:
    """Return the number of nearest nodes to list for a new row, enough for nearly all rows."""
    if layer.given:
        return PLAIN_NEIGHBORS + SPARE_NODES
    return max(MIN_LISTED, int(LIST_FACTOR * 2 * layer.n_edges / layer.own_potentials.size))


@dataclass(frozen=True)
class Comparison:
    """New rows and the training rows to compare them with, in some concatenated views."""

    fitted: Rows
    """Space of the training rows."""
    X: Matrix
    """Fitted rows."""
    new_X: Matrix
    factor: float
    """Factor of the squared distances, larger than one for rows that lack some views."""

    def of(self, some: Mask) -> Comparison:
        """Return the comparison of the selected new rows."""
        return replace(self, new_X=self.new_X[some])

    def to_all(self) -> Floats:
        """Return the squared distances from the new rows to all training rows."""
        return self.factor * dense_distances(self.new_X, self.X)

    def to_listed(self, listed: Indices) -> Floats:
        """Return the squared distances from the new rows to the training rows listed for each."""
        return self.factor * distances_to(self.X, self.new_X, listed)

    def nearest(self, length: int) -> tuple[Indices, Floats]:
        """Return the `length` nearest training rows, with ties, and their squared distances."""
        listed = length + SPARE_NODES
        while True:
            nodes, apart = near(self.fitted, self.X, self.new_X, min(listed, self.X.shape[0]))
            if listed >= self.X.shape[0] or (reach_of(apart, length) < apart.max(axis=1)).all():
                return nodes, self.factor * apart
            listed *= 4


@dataclass(frozen=True)
class Batch:
    """A batch of new rows and one layer, for listing candidate edges."""

    place: int
    """Index of the layer."""
    layer: Layer
    beta: float
    """Weight of the layer in the embedding."""
    n_rows: int
    n_entities: int
    all_nodes: bool
    """Whether to list all nodes, including those without weight before the embedding terms are
    added.
    """

    def edges_to_all(self, rows: Indices, distances: Floats) -> Iterator[NewEdges]:
        """List the nodes with the smallest thresholds t, from the squared distances to all nodes.

        Other nodes get no weight while u is below `cut`. In the plain neighbor layer, all nodes are
        listed if nodes tied with the nearest ones would otherwise be left out.
        """
        neighbors = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
        everyone = self._edges(rows, neighbors, distances, distances == 0)
        costs, kept = everyone.costs, n_listed(self.layer)
        if self.all_nodes or kept >= costs.shape[1]:
            yield everyone
            return
        thresholds = costs - self.layer.own_potentials
        nearest = np.argpartition(thresholds, kept, axis=1)
        cut = np.take_along_axis(thresholds, nearest[:, [kept]], axis=1)[:, 0]
        edges = replace(everyone.listed(nearest[:, :kept]), cut=cut)
        tied = edges.tied(edges.costs) if self.layer.given else np.zeros(rows.size, dtype=bool)
        if not tied.all():
            yield edges.only(~tied)
        if tied.any():
            yield everyone.only(tied)

    def edges_to_nearest(
        self, rows: Indices, compared: Comparison, lists: NearestLists
    ) -> Iterator[NewEdges]:
        """List the nearest nodes, and four times as many for rows whose list is too short.

        A list is too short if over half of its nodes get weight, or if ties with its nodes may be
        missing.
        """
        n_fitted = compared.X.shape[0]
        length = min(n_listed(self.layer), n_fitted)
        while True:
            neighbors, distances = lists.near(rows, compared, length)
            edges = self._edges(rows, neighbors, compared.factor * distances, distances == 0)
            too_short = np.zeros(rows.size, dtype=bool)
            if length < n_fitted:
                too_short = edges.mostly_active() | edges.tied(distances)
            if not too_short.all():
                yield edges.only(~too_short)
            if not too_short.any():
                return
            rows, compared = rows[too_short], compared.of(too_short)
            length = min(4 * length, n_fitted)

    def _edges(self, rows: Indices, neighbors: Indices, distances: Floats, equal: Mask) -> NewEdges:
        """Return edges with these squared distances, locally scaled if the layer is."""
        scaling, costs = self.layer.scaling, distances
        lengths: Floats | None = distances
        scales: Vector | None = None
        if scaling is not None:
            new = scaling.of_new(neighbors, distances)
            costs = scaling.costs_between(new, neighbors, distances)
            lengths, scales = None, new.scales**2
        costs, no_cut = np.minimum(costs, LARGEST_COST), np.full(rows.size, np.inf)
        return NewEdges(self, rows, neighbors, costs, equal, no_cut, lengths, scales)

    def terms(
        self, q: Floats | None, embedding: Floats, g: Floats | None, guide: Floats | None
    ) -> list[Term]:
        """Return the embedding and guide terms that are added to the costs."""
        terms = list[Term]()
        if q is not None:
            terms.append((q, embedding, self.beta))
        if g is not None and guide is not None:
            terms.append((g, guide, 1.0))
        return terms


@dataclass(frozen=True)
class Weights:
    """Edge weights of new rows to entities, times beta."""

    graph: sparse.csr_array
    incomplete: Mask
    """Whether each row may have additional edges to nodes that are not listed."""
    spread: Vector | None = None
    """Typical squared distance from each row to its neighbors. None if unknown."""


@dataclass(frozen=True)
class NewEdges:
    """Candidate edges from new rows to nodes of one layer."""

    batch: Batch
    rows: Indices
    """Indices of the rows in the batch."""
    neighbors: Indices
    """Indices of the listed nodes of the layer, for every row."""
    costs: Floats
    equal: Mask
    """Whether the distance is zero."""
    cut: Vector
    """Nodes that are not listed get no weight while u is at most this value."""
    lengths: Floats | None = None
    """Squared distances, if the layer has no scales."""
    scales: Vector | None = None
    """Squared scales of the rows, if the layer has scales."""

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def only(self, some: Mask) -> NewEdges:
        """Return the edges of the selected rows."""
        return replace(
            self,
            rows=self.rows[some],
            neighbors=self.neighbors[some],
            costs=self.costs[some],
            equal=self.equal[some],
            cut=self.cut[some],
            lengths=None if self.lengths is None else self.lengths[some],
            scales=None if self.scales is None else self.scales[some],
        )

    def listed(self, places: Indices) -> NewEdges:
        """Return the edges to the nodes at the given positions in each row's list."""

        def at(values: NDArray[Any]) -> NDArray[Any]:
            return np.take_along_axis(values, places, axis=1)

        return replace(
            self,
            neighbors=at(self.neighbors),
            costs=at(self.costs),
            equal=at(self.equal),
            lengths=None if self.lengths is None else at(self.lengths),
        )

    @property
    def entities(self) -> Indices:
        """Indices of the listed nodes among all entities, for every row."""
        return self.neighbors if self.layer.nodes is None else self.layer.nodes[self.neighbors]

    def solve(self, costs: Floats) -> tuple[Vector, Floats]:
        """Solve the one-node problem of every row, and return u and the thresholds t."""
        potentials = self.layer.own_potentials
        thresholds = costs - potentials[self.neighbors]
        return one_node(thresholds, self.layer.alpha, float(potentials.mean())), thresholds

    def with_consensus(self, costs_of: CostsOf) -> NewEdges:
        """Add the share of the consensus costs with which the layer was learned."""
        share = self.layer.consensus_share
        if share == 0:
            return self
        return replace(self, costs=self.costs + share * costs_of(self.rows, self.entities))

    def mostly_active(self) -> Mask:
        """Return the rows for which over half of the listed nodes, and perhaps others, get
        weight.
        """
        if self.layer.given:
            return np.zeros(self.rows.size, dtype=bool)
        u, thresholds = self.solve(self.costs)
        return np.asarray(2 * (thresholds < u[:, None]).sum(axis=1) > thresholds.shape[1])

    def tied(self, distances: Floats) -> Mask:
        """Return the rows for which the nearest relevant nodes may have ties beyond the list."""
        if self.layer.given:
            reach = reach_of(counted(distances), PLAIN_NEIGHBORS)
        else:
            reach = reach_of(distances, LISTED)
        return np.asarray(reach >= distances.max(axis=1))

    def weights(
        self, q: Floats | None, embedding: Floats, g: Floats | None, guide: Floats | None
    ) -> Weights:
        """Solve the one-node problem, with the terms of the current positions q and g, if given."""
        beta = self.batch.beta
        if self.layer.given:
            complete = np.zeros(self.rows.size, dtype=bool)
            return Weights(self._graph(beta * self.equal_shares()), complete)
        costs = self.costs
        for new, places, factor in self.batch.terms(q, embedding, g, guide):
            costs = costs + factor * self._squared_distances(new[self.rows], places)
        u, thresholds = self.solve(costs)
        weights = np.maximum(u[:, None] - thresholds, 0.0) * (beta / (4 * self.layer.alpha))
        return Weights(self._graph(weights), u > self.cut, self._spread(weights))

    def _spread(self, weights: Floats) -> Vector | None:
        """Return the squared scales of the rows, or else their weighted mean squared distances."""
        if self.lengths is None:
            return self.scales
        degrees = weights.sum(axis=1)
        with np.errstate(invalid="ignore"):  # pairs that are not given are infinitely far apart
            totals = np.where(weights > 0, weights * self.lengths, 0.0).sum(axis=1)
        return np.asarray(totals / np.where(degrees > 0, degrees, 1.0))

    def equal_shares(self) -> Floats:
        """Return weights in the plain neighbor layer that sum to one for each row.

        Copies get no weight, and nodes tied for the last places share them.
        """
        shares = shares_of_places(counted(self.costs), PLAIN_NEIGHBORS)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0))

    def nearest(self, some: Indices) -> sparse.csr_array:
        """Return edges from rows to their cheapest entities, with total weight one per row."""
        weights = np.zeros(self.costs.shape)
        weights[some] = shares_of_places(self.costs[some], 1)
        return self._graph(weights)

    def copies(self) -> sparse.csr_array:
        """Return the matrix with a one for every row and entity at distance zero."""
        return self._graph(self.equal.astype(np.float64))

    def _squared_distances(self, new: Floats, places: Floats) -> Floats:
        """Return the squared distances in an embedding between rows and their listed nodes."""
        squares = np.square(places).sum(axis=1)
        nodes = self.layer.nodes
        if self.batch.all_nodes and self.neighbors.shape[1] == self.layer.own_potentials.size:
            products = new @ (places if nodes is None else places[nodes]).T
        else:
            products = np.einsum("bk,blk->bl", new, places[self.entities])
        lengths = np.square(new).sum(axis=1)[:, None]
        distances: Floats = lengths + squares[self.entities] - 2 * products
        return np.maximum(distances, 0.0)

    def _graph(self, weights: Floats) -> sparse.csr_array:
        """Return the weights of the listed nodes as a sparse matrix of rows by entities."""
        active = weights > 0
        rows = np.repeat(self.rows, active.sum(axis=1))
        shape = (self.batch.n_rows, self.batch.n_entities)
        return sparse.csr_array((weights[active], (rows, self.entities[active])), shape=shape)


def one_node(thresholds: NDArray[np.float64], alpha: float, mean: float) -> Vector:
    """Return the solution u of the one-node problem for every row of thresholds t.

    It satisfies sum_j (u - t_j)_+ / (4 alpha) + (u - mean) / (2 alpha) = 1.

    Examples
    --------
    >>> import numpy as np
    >>> one_node(np.array([[0.0, 10.0]]), alpha=1.0, mean=1.0).tolist()
    [2.0]
    """
    ordered = np.sort(thresholds, axis=1)
    sums, counts = np.cumsum(ordered, axis=1), np.arange(1, ordered.shape[1] + 1)
    # the left side increases along a row
    below = ((counts + 2) * ordered - sums < 4 * alpha + 2 * mean).sum(axis=1)
    total = np.where(
        below > 0, np.take_along_axis(sums, np.maximum(below - 1, 0)[:, None], axis=1)[:, 0], 0.0
    )
    u: Vector = (4 * alpha + 2 * mean + total) / (below + 2)
    return u


def near(fitted: Rows, X: Matrix, new_X: Matrix, length: int) -> tuple[Indices, Floats]:
    """Return the `length` rows of X nearest to each row of `new_X`, and their squared distances.

    The rows are in no particular order. `fitted` is the space of X. A few additional rows are
    searched, because the search may be in single precision.
    """
    nodes = fitted.nearest_to(new_X, min(length + SPARE_NODES, X.shape[0]))
    return shortest(nodes, distances_to(X, new_X, nodes), length)


class NearestLists:
    """Nearest training rows of a batch of new rows, shared by layers of the same space."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, bytes], tuple[Indices, Floats]] = {}

    def near(self, rows: Indices, compared: Comparison, length: int) -> tuple[Indices, Floats]:
        """Return the result of `near` for these rows of the batch, from a stored list if it is
        long enough.
        """
        key = (id(compared.X), rows.tobytes())
        if key not in self._lists or self._lists[key][0].shape[1] < length:
            self._lists[key] = near(compared.fitted, compared.X, compared.new_X, length)
        return shortest(*self._lists[key], length)


def distances_to(X: Matrix, new_X: Matrix, listed: Indices) -> Floats:
    """Return the squared distances from each row of `new_X` to the rows of X listed for it."""
    if sparse.issparse(X):
        return np.column_stack([squared_lengths(X[column] - new_X) for column in listed.T])
    return distances_between(new_X, X, listed)
