"""New rows and the nodes of one layer: which of them may share an edge, at what cost, and the weights that follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges import Vector
from rmgl.edges.tiles import nearest_to, squared_lengths
from rmgl.layer import Layer
from rmgl.views.views import Matrix

SPARE = 4
"""So many times as many nodes as a node has edges are looked at; four times more where over half of them get weight."""
LEAST_LISTED = 100
"""No fewer nodes than this are looked at."""
ROUNDING = 1e-13


def n_listed(layer: Layer) -> int:
    """The number of nearest nodes that is enough for nearly all new rows."""
    return max(LEAST_LISTED, int(SPARE * 2 * layer.n_edges / layer.own_potentials.size))


@dataclass(frozen=True)
class Batch:
    """How new rows are brought together with the nodes of a layer."""

    place: int
    """The place of the layer among all."""
    layer: Layer
    beta: float
    """Its weight in the common graph."""
    n_rows: int
    n_entities: int
    everyone: bool
    """Whether all nodes count, and not only those that matter without the terms of the embedding."""

    def meet_all(self, rows: NDArray[np.intp], distances: NDArray[np.float64]) -> Meeting:
        """From squared distances to all nodes: those of the smallest t are kept. No other gets weight as long as u stays below theirs."""
        neighbors = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
        costs = self.costs(neighbors, distances)
        kept = n_listed(self.layer)
        if self.everyone or kept >= costs.shape[1]:
            return Meeting(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
        thresholds = costs - self.layer.own_potentials
        nearest = np.argpartition(thresholds, kept, axis=1)
        cut = np.take_along_axis(thresholds, nearest[:, [kept]], axis=1)[:, 0]
        nearest = nearest[:, :kept]
        costs, distances = (np.take_along_axis(values, nearest, axis=1) for values in (costs, distances))
        return Meeting(self, rows, nearest, costs, distances == 0, cut)

    def meet_nearest(self, rows: NDArray[np.intp], X: Matrix, asking: Matrix, factor: float) -> Iterator[Meeting]:
        """From the nearest nodes alone; from more of them where over half of those get weight."""
        length = min(n_listed(self.layer), X.shape[0])
        while True:
            neighbors, distances = near(X, asking, length)
            costs = self.costs(neighbors, factor * distances)
            meeting = Meeting(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
            crowded = meeting.crowded() if length < X.shape[0] else np.zeros(rows.size, dtype=bool)
            if not crowded.all():
                yield meeting.only(~crowded)
            if not crowded.any():
                return
            rows, asking, length = rows[crowded], asking[crowded], min(4 * length, X.shape[0])

    def costs(self, neighbors: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        scaling = self.layer.scaling
        return distances if scaling is None else scaling.costs_of_new(neighbors, distances)


@dataclass(frozen=True)
class Weights:
    """beta times edge weights, as rows of the batch by entities; and which rows might have more edges than could be seen."""

    graph: sparse.csr_array
    doubted: NDArray[np.bool_]


@dataclass(frozen=True)
class Meeting:
    """New rows and the nodes of one layer that may get weight."""

    batch: Batch
    rows: NDArray[np.intp]
    """Which of the batch."""
    neighbors: NDArray[np.intp]
    """Places among the nodes of the layer."""
    costs: NDArray[np.float64]
    equal: NDArray[np.bool_]
    """Where the distance is zero."""
    cut: Vector
    """No other node gets weight as long as u is not above this."""

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def only(self, some: NDArray[np.bool_]) -> Meeting:
        return Meeting(self.batch, self.rows[some], self.neighbors[some], self.costs[some], self.equal[some], self.cut[some])

    @property
    def entities(self) -> NDArray[np.intp]:
        return self.neighbors if self.layer.nodes is None else self.layer.nodes[self.neighbors]

    def solve(self, costs: NDArray[np.float64]) -> tuple[Vector, NDArray[np.float64]]:
        """u of every row, and the thresholds t."""
        thresholds = costs - self.layer.own_potentials[self.neighbors]
        return one_node(thresholds, self.layer.alpha, float(self.layer.own_potentials.mean())), thresholds

    def crowded(self) -> NDArray[np.bool_]:
        """Where over half of those listed get weight: others beyond them might, too."""
        u, thresholds = self.solve(self.costs)
        return 2 * (thresholds < u[:, None]).sum(axis=1) > thresholds.shape[1]

    def weights(self, q: Any, embedding: NDArray, g: Any, guide: NDArray | None) -> Weights:
        """The solution of the one-node problem; q and g are the places of the rows so far."""
        costs = self.costs
        for own, theirs, factor in ((q, embedding, self.batch.beta), (g, guide, 1.0)):
            if own is not None and theirs is not None:
                costs = costs + factor * self._spread(own[self.rows], theirs)
        u, thresholds = self.solve(costs)
        weights = np.maximum(u[:, None] - thresholds, 0.0) * (self.batch.beta / (4 * self.layer.alpha))
        return Weights(self._graph(weights), u > self.cut)

    def nearest(self, some: NDArray[np.intp]) -> sparse.csr_array:
        """An edge of weight one from some of the rows to the entity of least cost."""
        weights = np.zeros(self.costs.shape)
        weights[some, self.costs[some].argmin(axis=1)] = 1.0
        return self._graph(weights)

    def copies(self) -> sparse.csr_array:
        """A one for every row and entity at distance zero."""
        return self._graph(self.equal.astype(np.float64))

    def _spread(self, own: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = np.square(theirs).sum(axis=1)
        if self.batch.everyone and self.neighbors.shape[1] == self.layer.own_potentials.size:
            products = own @ (theirs if self.layer.nodes is None else theirs[self.layer.nodes]).T
        else:
            products = np.einsum("bk,blk->bl", own, theirs[self.entities])
        return np.maximum(np.square(own).sum(axis=1)[:, None] + squares[self.entities] - 2 * products, 0.0)

    def _graph(self, weights: NDArray[np.float64]) -> sparse.csr_array:
        active = weights > 0
        rows = np.repeat(self.rows, active.sum(axis=1))
        return sparse.csr_array((weights[active], (rows, self.entities[active])), shape=(self.batch.n_rows, self.batch.n_entities))


def one_node(thresholds: NDArray[np.float64], alpha: float, mean: float) -> Vector:
    """The u with sum_j (u - t_j)_+ / (4 alpha) + (u - mean) / (2 alpha) = 1, for every row of thresholds t.

    Examples
    --------
    >>> import numpy as np
    >>> one_node(np.array([[0.0, 10.0]]), alpha=1.0, mean=1.0).tolist()
    [2.0]
    """
    ordered = np.sort(thresholds, axis=1)
    sums, counts = np.cumsum(ordered, axis=1), np.arange(1, ordered.shape[1] + 1)
    below = ((counts + 2) * ordered - sums < 4 * alpha + 2 * mean).sum(axis=1)  # rises along a row
    total = np.where(below > 0, np.take_along_axis(sums, np.maximum(below - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    return (4 * alpha + 2 * mean + total) / (below + 2)


def near(X: Matrix, asking: Matrix, length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The `length` rows of X nearest to each asking row, in any order, and their squared distances."""
    found = nearest_to(X, asking, length)
    if sparse.issparse(X):
        return found, np.column_stack([squared_lengths(X[column] - asking) for column in found.T])
    from rmgl import kernels

    distances = np.empty(found.shape)
    kernels.distances_to(asking, X, found, distances)
    return found, distances


def dense_distances(asking: Matrix, X: Matrix) -> NDArray[np.float64]:
    """Squared distances of all pairs, by |x|^2 + |y|^2 - 2x'y; zero where they are below the rounding of that."""
    if not sparse.issparse(X):
        middle = X.mean(axis=0)
        asking, X = asking - middle, X - middle
    products = asking @ X.T
    total = squared_lengths(asking)[:, None] + squared_lengths(X)
    distances = total - 2 * (products.toarray() if sparse.issparse(products) else products)
    return np.where(distances > ROUNDING * total, distances, 0.0)
