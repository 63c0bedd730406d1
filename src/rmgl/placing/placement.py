"""Label and embed new rows using the fitted layers. Nothing is refitted.

A new node of a layer, with all others fixed, satisfies the KKT conditions of the layer problem:

    w_j = (u + u_j - z_j)_+ / (4 alpha),      sum_j w_j + (u - mean(u_j)) / (2 alpha) = 1

The left side increases with u, so there is exactly one solution. With t_j = z_j - u_j in ascending
order, and k of them below u, it is

    u = (4 alpha + 2 mean(u_j) + t_1 + ... + t_k) / (k + 2)

The costs z_j are those of the fit: squared distances, locally scaled if those of the layer are,
plus beta |q - q_j|^2 + |g - g_j|^2. The embedding q of the new node follows from its weights by the
eigenvector equation,

    q = sum_m beta_m sum_j w_mj q_j / (sum_m beta_m d_m - lambda)

and its row g of the guide is a weighted mean of training rows. Weights and embedding are computed
in turn, first without the terms of q and g. A new row that equals a training row in all its views
gets the embedding of that row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from rmgl.edges.interface import Floats, Vector
from rmgl.embedding.balance import Balance
from rmgl.embedding.eigenvectors import unit_rows
from rmgl.layer import Layer
from rmgl.layer.network import costs_of
from rmgl.placing.fitted_distances import FittedDistances, patterns
from rmgl.placing.new_edges import (
    LARGEST_COST,
    Batch,
    CostsOf,
    NearestLists,
    NewEdges,
    Term,
    Weights,
    n_listed,
    one_node,
)
from rmgl.placing.outliers import Scoring
from rmgl.running.threads import Check, Team
from rmgl.views.view import Indices
from rmgl.views.views import Views

ALL_ROWS = 5000
"""Maximum number of training rows for which new rows are compared with all of them. With more, new
rows are compared with their nearest neighbors.
"""
N_ROUNDS = 2
"""Number of times that weights and embedding are computed in turn."""
BATCH_ENTRIES = 1 << 21
"""Maximum number of distances in memory per thread."""


SAME_EDGES = 1e-12
"""Share of the squared norm of a row below which a distance is a rounding error between copies."""


@dataclass(frozen=True)
class FittedNetwork:
    """Network of a fitted layer with its original weights."""

    weights: sparse.csr_array
    nodes: Indices | None

    @cached_property
    def factor(self) -> float:
        """Factor of the weights that makes the degrees sum to the number of nodes."""
        n_nodes = self.weights.shape[0] if self.nodes is None else self.nodes.size
        return n_nodes / float(self.weights.sum())

    @cached_property
    def degrees(self) -> Vector:
        return self.factor * np.asarray(self.weights.sum(axis=1)).ravel()

    def constant(self, alpha: float) -> float:
        """Return the constant that makes the smallest edge cost of a learned layer zero."""
        scaled = sparse.csr_array(self.factor * self.weights)
        return -float(costs_of(alpha, self.degrees, scaled).min())


@dataclass(frozen=True)
class NetworkEdges:
    """User-supplied edges from new nodes to fitted nodes in one layer."""

    batch: Batch
    rows: Indices
    """Indices of the rows in the batch."""
    given: sparse.csr_array
    """Weights of their edges, in the units of the fitted network."""
    fitted: FittedNetwork

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def weights(
        self, q: Floats | None, embedding: Floats, g: Floats | None, guide: Floats | None
    ) -> Weights:
        """Return the given weights or, in a learned layer, the solution of the one-node problem.

        The problem is restricted to the given edges, with the terms of the current positions q and
        g, if given.
        """
        scaled = sparse.csr_array(self.given * self.fitted.factor)
        if not self.layer.given:
            scaled = self._learned(scaled, self.batch.terms(q, embedding, g, guide))
        complete = np.zeros(self.rows.size, dtype=bool)
        return Weights(self._among_rows(self.batch.beta * scaled), complete)

    def _learned(self, scaled: sparse.csr_array, terms: list[Term]) -> sparse.csr_array:
        """Solve the one-node problem, with costs based on the given weights and added terms."""
        alpha, potentials = self.layer.alpha, self.layer.potentials
        lengths = np.diff(scaled.indptr)
        owner = np.repeat(np.arange(self.rows.size), lengths)
        degrees = np.asarray(scaled.sum(axis=1)).ravel()
        nearness = degrees[owner] + self.fitted.degrees[scaled.indices] + 2 * scaled.data
        costs = -2 * alpha * nearness + self.fitted.constant(alpha)
        for new, places, factor in terms:
            costs += factor * np.square(new[self.rows[owner]] - places[scaled.indices]).sum(axis=1)
        width = max(1, int(lengths.max(initial=0)))
        thresholds = np.full((self.rows.size, width), LARGEST_COST)
        place = np.arange(owner.size) - scaled.indptr[owner]
        thresholds[owner, place] = costs - potentials[scaled.indices]
        u = one_node(thresholds, alpha, float(self.layer.own_potentials.mean()))
        learned = np.maximum(u[owner] - thresholds[owner, place], 0.0) / (4 * alpha)
        return sparse.csr_array((learned, scaled.indices, scaled.indptr), shape=scaled.shape)

    def with_consensus(self, costs_of: CostsOf) -> NetworkEdges:
        """Return the edges unchanged: the layer of a network is learned without consensus costs."""
        return self

    def nearest(self, some: Indices) -> sparse.csr_array:
        """Return one edge of weight one for each row, to the entity of its heaviest edge."""
        rows = self.given[some]
        heaviest = [
            rows.indices[start + rows.data[start:stop].argmax()]
            for start, stop in pairwise(rows.indptr)
        ]
        return self._ones(some, np.array(heaviest))

    def copies(self) -> sparse.csr_array:
        """Return the matrix with a one for every row and entity with the same edges."""
        given, fitted = self.given, self.fitted.weights
        products = sparse.coo_array(given @ fitted.T)
        new, known = (np.asarray((X * X).sum(axis=1)).ravel() for X in (given, fitted))
        rows, entities = products.coords
        apart = new[rows] + known[entities] - 2 * products.data
        same = apart <= SAME_EDGES * new[rows]
        return self._ones(rows[same], entities[same])

    def _ones(self, rows: Indices, entities: Indices) -> sparse.csr_array:
        """Return edges of weight one from the given rows, among all rows of the batch."""
        ones = np.ones(rows.size)
        return self._among_rows(sparse.csr_array((ones, (rows, entities)), shape=self.given.shape))

    def _among_rows(self, graph: sparse.csr_array) -> sparse.csr_array:
        """Extend a graph of these rows to all rows of the batch."""
        entries = sparse.coo_array(graph)
        kept = entries.data != 0
        rows, columns = self.rows[entries.coords[0][kept]], entries.coords[1][kept]
        shape = (self.batch.n_rows, self.batch.n_entities)
        return sparse.csr_array((entries.data[kept], (rows, columns)), shape=shape)


EdgeSet = NewEdges | NetworkEdges


@dataclass(frozen=True)
class Placed:
    """Cluster votes and embedding of new rows."""

    votes: Floats
    """Share of each new row's weighted edges that goes to each cluster in each layer, (n, layers,
    K).

    The shares of each row sum to one.
    """
    embedding: Floats
    scores: Vector
    """Outlier score of each new row. Zero unless requested."""


@dataclass(frozen=True)
class Placement:
    """Parts of a fitted model that are needed to label new rows."""

    views: Views
    """Scaled views of the fit."""
    layers: Sequence[Layer]
    """Fitted layers, with all entities as nodes."""
    beta: Vector
    """Weight of each layer in the embedding."""
    embedding: Floats
    eigenvalues: Vector
    guide: Floats | None
    labels: Indices
    n_clusters: int
    scoring: Scoring | None = None
    """Data for outlier scores. None if they are not requested."""
    balance: Balance | None = None
    """Masses of the entities. None if all are one."""

    @cached_property
    def distances(self) -> FittedDistances:
        """Distances from new rows to training rows."""
        return FittedDistances(self.views, self.layers)

    @cached_property
    def clusters(self) -> sparse.csr_array:
        """Cluster indicators, one row per entity, with a one in the column of its cluster."""
        n = self.labels.size
        shape = (n, self.n_clusters)
        return sparse.csr_array((np.ones(n), (np.arange(n), self.labels)), shape=shape)

    def place(self, new: Views, team: Team) -> Placed:
        """Compute the votes and the embedding of new rows, scaled like the fitted ones.

        The threads of the team share the batches.
        """
        n, n_columns = new.n_rows, self.embedding.shape[1]
        if n == 0:
            votes = np.empty((0, len(self.layers), self.n_clusters))
            return Placed(votes, np.empty((0, n_columns)), np.empty(0))
        width = max(max(self._width(layer), n_listed(layer) * n_columns) for layer in self.layers)
        step = max(1, BATCH_ENTRIES // width)
        batches = [np.arange(at, min(at + step, n)) for at in range(0, n, step)]

        def place_batch(rows: Indices, check: Check) -> Placed:
            check()
            return self._place_batch(new, rows)

        parts = team(place_batch, batches)
        return Placed(
            np.concatenate([part.votes for part in parts]),
            np.concatenate([part.embedding for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def _place_batch(self, new: Views, rows: Indices, all_nodes: bool = False) -> Placed:
        """Place new rows. Those with edges beyond the listed nodes are placed again with
        `all_nodes`.
        """
        lists = NearestLists()
        costs_of = partial(self.distances.consensus_costs, new, rows)
        edge_sets = [
            edges.with_consensus(costs_of)
            for place in range(len(self.layers))
            for edges in self._possible_edges(place, new, rows, all_nodes, lists)
        ]
        q, g = None, None
        for _ in range(N_ROUNDS):
            weights = [edges.weights(q, self.embedding, g, self.guide) for edges in edge_sets]
            graphs = self._connected(edge_sets, [some.graph for some in weights])
            total = sum(graphs[1:], start=graphs[0])
            q, g = self._embedding_rows(total), self._guide_rows(total)
        assert q is not None
        votes = np.zeros((rows.size, len(self.layers), self.n_clusters))
        for edges, graph in zip(edge_sets, graphs, strict=True):
            votes[:, edges.batch.place] += (graph @ self.clusters).toarray()
        shares = votes / votes.sum(axis=(1, 2), keepdims=True)
        found = list(zip(edge_sets, weights, strict=True))
        scores = self._scores(found, rows.size)
        copies, originals = self._copies(edge_sets, rows.size)
        q[copies] = self.embedding[originals]
        if self.scoring is not None:
            scores[copies] = self.scoring.of_fitted[originals]
        placed = Placed(shares, q, scores)
        incomplete = np.unique(
            np.concatenate([edges.rows[some.incomplete] for edges, some in found])
        )
        if incomplete.size:
            again = self._place_batch(new, rows[incomplete], all_nodes=True)
            placed.votes[incomplete], placed.embedding[incomplete] = again.votes, again.embedding
            placed.scores[incomplete] = again.scores
        return placed

    def _scores(self, found: Sequence[tuple[EdgeSet, Weights]], n_rows: int) -> Vector:
        """Return the outlier scores of the rows of a batch, if requested."""
        if self.scoring is None:
            return np.zeros(n_rows)
        in_layers = (
            (edges.batch.place, edges.rows, some.graph, some.spread) for edges, some in found
        )
        return self.scoring.of_new(n_rows, in_layers)

    def _embedding_rows(self, total: sparse.csr_array) -> Floats:
        """Return sum_j w_j q_j / (d - lambda), with w and d summed over all layers, times beta."""
        if self.balance is not None:
            degrees = np.asarray(total.sum(axis=1)).ravel()
            mean = self.embedding.mean(axis=0)
            return self.balance.place(total @ self.embedding, degrees, mean, self.eigenvalues)
        degrees = np.asarray(total.sum(axis=1)).ravel()[:, None]
        divisors = np.maximum(degrees - self.eigenvalues, 0.5 * degrees)
        return np.asarray((total @ self.embedding) / divisors)

    def _guide_rows(self, total: sparse.csr_array) -> Floats | None:
        """Return weighted means of rows of the guide, scaled to the norm of these rows."""
        if self.guide is None:
            return None
        length = float(np.sqrt(np.square(self.guide).sum(axis=1).max()))
        return unit_rows(total @ self.guide) * length

    @staticmethod
    def _copies(edge_sets: Sequence[EdgeSet], n_rows: int) -> tuple[Indices, Indices]:
        """Return the rows that equal a training row in all their layers, and that training row."""
        rows = np.concatenate([edges.rows for edges in edge_sets])
        n_layers = np.bincount(rows, minlength=n_rows)
        copies = [edges.copies() for edges in edge_sets]
        total = sum(copies[1:], start=copies[0]).tocoo()
        same = total.data == n_layers[total.row]
        return total.row[same], total.col[same]

    @staticmethod
    def _connected(
        edge_sets: Sequence[EdgeSet], graphs: list[sparse.csr_array]
    ) -> list[sparse.csr_array]:
        """Add an edge to the nearest entity, in their first layer, for rows without any edge."""
        degrees = np.sum([np.asarray(graph.sum(axis=1)).ravel() for graph in graphs], axis=0)
        for place, edges in enumerate(edge_sets):
            alone = np.flatnonzero(degrees[edges.rows] == 0)
            if alone.size:
                graphs[place] = sparse.csr_array(graphs[place] + edges.nearest(alone))
                degrees[edges.rows[alone]] = 1.0
        return graphs

    def _width(self, layer: Layer) -> int:
        """Return the number of training rows with which a new row is first compared."""
        n, distances = layer.own_potentials.size, self.distances
        if (
            n <= ALL_ROWS
            or any(self.views[view].rows is None for view in layer.views)
            or distances.has_missing(layer)
            or distances.has_gaps(layer)
        ):
            return n
        return min(n, n_listed(layer))

    def _possible_edges(
        self, place: int, new: Views, rows: Indices, all_nodes: bool, lists: NearestLists
    ) -> Iterator[EdgeSet]:
        """Yield the candidate edges from new rows to one layer, for each set of views they have."""
        layer, beta = self.layers[place], float(self.beta[place])
        batch = Batch(place, layer, beta, rows.size, self.embedding.shape[0], all_nodes)
        if layer.role == "view" and self.views[layer.views[0]].graph is not None:
            yield from self._network_edges(batch, new, rows)
            return
        of_batch = self.distances.new_rows(new, rows, layer.network_share)
        for pattern, chosen in patterns(layer, of_batch, np.arange(rows.size)):
            distances = self.distances.to_all(layer, of_batch, chosen, pattern)
            if distances is None:
                compared = self.distances.beside(layer, of_batch, chosen, pattern)
                if self._width(layer) < compared.X.shape[0]:
                    self.distances.arrange(compared.fitted)
                    yield from batch.edges_to_nearest(chosen, compared, lists)
                    continue
                distances = compared.to_all()
            yield from batch.edges_to_all(chosen, distances)

    def _network_edges(self, batch: Batch, new: Views, rows: Indices) -> Iterator[NetworkEdges]:
        """Yield the edges of new rows in the layer of a network, for those that have any."""
        view = batch.layer.views[0]
        chosen = np.flatnonzero(new[view].mask[rows])
        if chosen.size:
            fitted = FittedNetwork(self.views[view].matrix, batch.layer.nodes)
            yield NetworkEdges(batch, chosen, new[view].matrix[rows[chosen]], fitted)
