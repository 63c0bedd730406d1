"""Labels and embedding of new rows, from the fitted layers; nothing is learned again.

A new node of a layer, all others fixed, satisfies the KKT conditions of the layer problem:

    w_j = (u + u_j - z_j)_+ / (4 alpha),      sum_j w_j + (u - mean(u_j)) / (2 alpha) = 1

The left side increases with u, so there is exactly one solution. With t_j = z_j - u_j in ascending order and k of them below u it is

    u = (4 alpha + 2 mean(u_j) + t_1 + ... + t_k) / (k + 2)

Costs z_j are those of the fit: squared distances, locally scaled if those of the layer are, plus beta |q - q_j|^2 + |g - g_j|^2. The
embedding q of the new node follows from its weights by the eigenvector equation,

    q = sum_m beta_m sum_j w_mj q_j / (sum_m beta_m d_m - lambda)

and its row g of the guide is a weighted mean of fitted rows. Weights and embedding are computed in turn, at first without the terms of
q and g. A new row that equals a fitted row in all views that it has gets the embedding of that row.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.consensus import UNKNOWN
from rmgl.automatic.smoothing import Smoothing
from rmgl.edges import Vector
from rmgl.edges.local_scaling import LISTED, LocalScaling
from rmgl.edges.search import Rows, dense_distances
from rmgl.embedding.eigenvectors import unit_rows
from rmgl.layer import Layer
from rmgl.matrix import Matrix, side_by_side
from rmgl.placing.network_edges import FittedNetwork, NetworkEdges
from rmgl.placing.new_edges import Batch, NearestLists, NewEdges, closed_near, distances_to, n_listed
from rmgl.running.threads import Check, Team
from rmgl.views.features import FeatureView
from rmgl.views.view import Comparing
from rmgl.views.views import Views

ALL_ROWS = 5000
"""New rows are compared with all fitted rows up to this number, and with the nearest ones beyond it."""
N_ROUNDS = 2
"""Number of times that weights and embedding are computed in turn."""
BATCH_ENTRIES = 1 << 21
"""Largest number of distances that a thread has in memory at a time."""


@dataclass(frozen=True)
class Placed:
    """Votes for clusters and embedding of new rows."""

    votes: NDArray[np.float64]
    """Share of the weighted edges of each new row that lead to each cluster in each layer: (n, layers, K). Sums to one for each row."""
    embedding: NDArray[np.float64]


@dataclass(frozen=True)
class Placement:
    """The parts of a fitted model from which new rows are labeled."""

    views: Views
    """The scaled views of the fit."""
    layers: Sequence[Layer]
    """The fitted layers, with all entities as nodes."""
    beta: Vector
    """The weight of each layer in the embedding."""
    embedding: NDArray[np.float64]
    eigenvalues: Vector
    guide: NDArray[np.float64] | None
    labels: NDArray[np.intp]
    _arranging: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    @cached_property
    def in_all(self) -> NDArray[np.intp]:
        """The fitted entities that are in all views."""
        return self.views.in_all

    @cached_property
    def clusters(self) -> sparse.csr_array:
        """Cluster indicators, one row per entity: a one in the column of its cluster."""
        n, k = self.embedding.shape
        return sparse.csr_array((np.ones(n), (np.arange(n), self.labels)), shape=(n, k))

    def place(self, new: Views, team: Team) -> Placed:
        """Compute the votes and the embedding of new rows, which are already scaled like the fitted ones; a team shares the batches."""
        n_clusters = self.embedding.shape[1]
        if new.n_rows == 0:
            return Placed(np.empty((0, len(self.layers), n_clusters)), np.empty((0, n_clusters)))
        step = max(1, BATCH_ENTRIES // max(max(self._width(layer), n_listed(layer) * n_clusters) for layer in self.layers))
        batches = [np.arange(at, min(at + step, new.n_rows)) for at in range(0, new.n_rows, step)]

        def place_batch(rows: NDArray[np.intp], check: Check) -> Placed:
            check()
            return self._place_batch(new, rows)

        parts = team(place_batch, batches)
        return Placed(np.concatenate([part.votes for part in parts]), np.concatenate([part.embedding for part in parts]))

    def _place_batch(self, new: Views, rows: NDArray[np.intp], all_nodes: bool = False) -> Placed:
        """Place some of the new rows; those with edges beyond the listed nodes are placed again with `all_nodes`."""
        lists = NearestLists()
        edge_sets = [edges for place in range(len(self.layers)) for edges in self._possible_edges(place, new, rows, all_nodes, lists)]
        edge_sets = [edges.with_consensus(partial(self._consensus_costs, new, rows)) for edges in edge_sets]
        q, g = None, None
        for _ in range(N_ROUNDS):
            weights = [edges.weights(q, self.embedding, g, self.guide) for edges in edge_sets]
            graphs = self._connected(edge_sets, [found.graph for found in weights])
            total = sum(graphs[1:], start=graphs[0])
            q, g = self._embedding_rows(total), self._guide_rows(total)
        assert q is not None
        incomplete = np.unique(np.concatenate([edges.rows[found.incomplete] for edges, found in zip(edge_sets, weights, strict=True)]))
        votes = np.zeros((rows.size, len(self.layers), self.embedding.shape[1]))
        for edges, graph in zip(edge_sets, graphs, strict=True):
            votes[:, edges.batch.place] += (graph @ self.clusters).toarray()
        placed = Placed(votes / votes.sum(axis=(1, 2), keepdims=True), self._with_copies(edge_sets, q))
        if incomplete.size:
            again = self._place_batch(new, rows[incomplete], all_nodes=True)
            placed.votes[incomplete], placed.embedding[incomplete] = again.votes, again.embedding
        return placed

    def _embedding_rows(self, total: sparse.csr_array) -> NDArray[np.float64]:
        """Return sum_j w_j q_j / (d - lambda), with w and d summed over all layers; the weights contain beta."""
        degrees = np.asarray(total.sum(axis=1)).ravel()[:, None]
        rows: NDArray[np.float64] = (total @ self.embedding) / np.maximum(degrees - self.eigenvalues, 0.5 * degrees)
        return rows

    def _with_copies(self, edge_sets: Sequence[NewEdges | NetworkEdges], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Replace the embedding of rows that equal a fitted row, in all layers they are in, by that of the fitted row."""
        n_layers = np.bincount(np.concatenate([edges.rows for edges in edge_sets]), minlength=len(q))
        total = sum((edges.copies() for edges in edge_sets[1:]), start=edge_sets[0].copies()).tocoo()
        same = total.data == n_layers[total.row]
        q[total.row[same]] = self.embedding[total.col[same]]
        return q

    def _guide_rows(self, total: sparse.csr_array) -> NDArray[np.float64] | None:
        """Return weighted means of the rows of the guide, scaled to their length."""
        if self.guide is None:
            return None
        return unit_rows(total @ self.guide) * float(np.sqrt(np.square(self.guide).sum(axis=1).max()))

    @staticmethod
    def _connected(edge_sets: Sequence[NewEdges | NetworkEdges], graphs: list[sparse.csr_array]) -> list[sparse.csr_array]:
        """Add an edge to the nearest entity, in the first layer they are in, for rows without an edge in any layer."""
        degrees = np.sum([np.asarray(graph.sum(axis=1)).ravel() for graph in graphs], axis=0)
        for place, edges in enumerate(edge_sets):
            alone = np.flatnonzero(degrees[edges.rows] == 0)
            if alone.size:
                graphs[place] = sparse.csr_array(graphs[place] + edges.nearest(alone))
                degrees[edges.rows[alone]] = 1.0
        return graphs

    def _fitted_rows(
        self, views: Sequence[tuple[int, float]], nodes: NDArray[np.intp] | None, network_share: float = 0.0
    ) -> tuple[Matrix, Rows]:
        """Return fitted rows of some views side by side, and their space, which is kept for the next batch and for other layers."""
        key = (tuple(views), None if nodes is None else nodes.tobytes(), network_share)
        with self._arranging:  # once, whichever thread comes first
            if key not in self._spaces:
                X = _side_by_side(self.views if network_share == 0 else self._smoothed(network_share), views, nodes)
                self._spaces[key] = (X, Rows.of(X))
        return self._spaces[key]

    @cached_property
    def _smoothings(self) -> dict[float, Smoothing]:
        """The rows of the views smoothed along the networks, by the share of the neighbors in each row."""
        members = tuple(place for place, view in enumerate(self.views) if view.rows is not None)
        shares = {layer.network_share for layer in self.layers if layer.network_share > 0}
        return {share: Smoothing(self.views, members, share) for share in shares}

    def _smoothed(self, network_share: float) -> Views:
        """The views with rows smoothed along the networks; all entities have one."""
        smoothing = self._smoothings[network_share]
        views = list(self.views)
        for place, Y in zip(smoothing.members, smoothing.matrices, strict=True):
            views[place] = FeatureView(self.views.names[place], Y)
        return Views(tuple(views))

    def _new_rows(self, new: Views, rows: NDArray[np.intp], network_share: float) -> Views:
        """Some of the new rows, smoothed along their edges to the fitted entities if the layer was learned from such rows."""
        views = list(new.of_entities(rows))
        if network_share > 0:
            smoothing = self._smoothings[network_share]
            for place, (Y, present) in zip(smoothing.members, smoothing.of_new(new, rows), strict=True):
                views[place] = FeatureView(new.names[place], Y, np.flatnonzero(present))
        return Views(tuple(views))

    @cached_property
    def _spaces(self) -> dict[Any, tuple[Matrix, Rows]]:
        return {}

    def _width(self, layer: Layer) -> int:
        """Return the number of fitted rows that a new row is first compared with."""
        n = layer.own_potentials.size
        if any(self.views[view].rows is None for view in layer.views):
            return n
        return n if n <= ALL_ROWS or self._has_missing(layer) or self._has_gaps(layer) else min(n, n_listed(layer))

    def _has_missing(self, layer: Layer) -> bool:
        """Whether some entities of a layer of several views are missing from some, so that pairs differ in the views they share."""
        if len(layer.views) == 1 or self.views.complete or layer.network_share > 0:
            return False
        return layer.nodes is None or not np.isin(layer.nodes, self.in_all).all()

    def _has_gaps(self, layer: Layer, new: Views | None = None) -> bool:
        """Whether cells are missing from a view of a layer, in the fitted rows or in new ones."""
        given = (self.views,) if new is None else (self.views, new)
        return any(views[view].gaps is not None for views in given for view in layer.views)

    @cached_property
    def _comparing(self) -> list[Comparing | None]:
        """What compares new entities with those of each view (None: it is a graph)."""
        return [None if view.graph is not None else view.comparing() for view in self.views]

    def _network_edges(self, place: int, new: Views, rows: NDArray[np.intp]) -> Iterator[NetworkEdges]:
        """Yield the edges of new rows in the layer of a network, for those that have any."""
        layer = self.layers[place]
        view = layer.views[0]
        chosen = np.flatnonzero(new[view].mask[rows])
        if chosen.size:
            fitted = FittedNetwork(self.views[view].matrix, layer.nodes)
            batch = Batch(place, layer, float(self.beta[place]), rows.size, self.embedding.shape[0], False)
            yield NetworkEdges(batch, chosen, new[view].matrix[rows[chosen]], fitted)

    def _possible_edges(
        self, place: int, new: Views, rows: NDArray[np.intp], all_nodes: bool, lists: NearestLists
    ) -> Iterator[NewEdges | NetworkEdges]:
        """Yield the possible edges from new rows to one layer, for each set of views that new rows have."""
        layer = self.layers[place]
        if layer.role == "view" and self.views[layer.views[0]].graph is not None:
            yield from self._network_edges(place, new, rows)
            return
        of_batch = self._new_rows(new, rows, layer.network_share)
        observed = np.column_stack([of_batch[view].mask for view in layer.views])
        for pattern in np.unique(observed, axis=0):
            chosen = np.flatnonzero((observed == pattern).all(axis=1))
            if not pattern.any():
                continue
            batch = Batch(place, layer, float(self.beta[place]), rows.size, self.embedding.shape[0], all_nodes)
            if self._has_missing(layer):
                yield from batch.edges_to_all(chosen, self._distances_with_missing(layer, of_batch, chosen, pattern))
                continue
            views = [(view, factor) for view, factor, has in zip(layer.views, layer.factors, pattern, strict=True) if has]
            if self._of_all_pairs(layer, views, of_batch):
                yield from batch.edges_to_all(
                    chosen, len(pattern) / len(views) * self._summed_distances(views, layer.nodes, of_batch, chosen)
                )
                continue
            (X, fitted), new_X = self._fitted_rows(views, layer.nodes, layer.network_share), _side_by_side(of_batch, views, chosen)
            factor = len(pattern) / len(views)  # missing views are assumed to add the mean distance of the others
            if self._width(layer) == X.shape[0]:
                yield from batch.edges_to_all(chosen, factor * dense_distances(new_X, X))
            else:
                with self._arranging:
                    fitted.arrange()
                yield from batch.edges_to_nearest(chosen, fitted, X, new_X, factor, lists)

    def _consensus_costs(
        self, new: Views, rows: NDArray[np.intp], some: NDArray[np.intp], entities: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """The costs in the consensus of some rows of a batch and the entities listed for each."""
        consensus = next(layer for layer in self.layers if layer.role == "consensus")
        costs = np.empty(entities.shape)
        of_batch = self._new_rows(new, rows, consensus.network_share)
        observed = np.column_stack([of_batch[view].mask[some] for view in consensus.views])
        for pattern in np.unique(observed, axis=0):
            chosen = np.flatnonzero((observed == pattern).all(axis=1))
            costs[chosen] = self._costs_of_pattern(consensus, of_batch, some[chosen], pattern, entities[chosen])
        return costs

    def _costs_of_pattern(
        self, consensus: Layer, new: Views, rows: NDArray[np.intp], pattern: NDArray[np.bool_], entities: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the costs in the consensus of new rows, which have the same views, and the entities listed for each."""
        scaling = consensus.scaling
        if self._has_missing(consensus):
            return listed_costs(scaling, self._distances_with_missing(consensus, new, rows, pattern), entities)
        entities = entities if consensus.nodes is None else np.searchsorted(consensus.nodes, entities)
        views = [(view, factor) for view, factor, has in zip(consensus.views, consensus.factors, pattern, strict=True) if has]
        if self._of_all_pairs(consensus, views, new):
            distances = len(pattern) / len(views) * self._summed_distances(views, consensus.nodes, new, rows)
            return listed_costs(scaling, distances, entities)
        (X, fitted), new_X = self._fitted_rows(views, consensus.nodes, consensus.network_share), _side_by_side(new, views, rows)
        factor = len(pattern) / len(views)
        distances = factor * distances_to(X, new_X, entities)
        if scaling is None:
            return distances
        nearest, apart = closed_near(fitted, X, new_X, min(LISTED, X.shape[0]))
        own = scaling.of_new(nearest, factor * apart)
        return scaling.costs_between(own, entities, distances)

    def _of_all_pairs(self, layer: Layer, views: Sequence[tuple[int, float]], new: Views) -> bool:
        """Whether distances of a layer are taken pair by pair: some of its views have no rows, or rows with missing cells."""
        return self._has_gaps(layer, new) or any(self.views[view].rows is None for view, _ in views)

    def _summed_distances(
        self, views: Sequence[tuple[int, float]], nodes: NDArray[np.intp] | None, new: Views, rows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Sum the squared distances over views some of which have no complete rows; infinite where a pair is not given."""
        total = np.zeros((rows.size, self.views.n_rows))
        for view, factor in views:
            total += factor**2 * self._distances_in(view, new, rows)
        return total if nodes is None else total[:, nodes]

    def _distances_in(self, view: int, new: Views, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The squared distances of new rows of one view to all fitted ones."""
        compare = self._comparing[view]
        assert compare is not None, "graphs are compared with nothing"
        own = new[view]
        return compare(FeatureView(own.name, own.matrix[rows], gaps=None if own.gaps is None else own.gaps[rows]))

    def _distances_with_missing(self, layer: Layer, new: Views, rows: NDArray[np.intp], pattern: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sum squared distances over the views; a view that one of two rows lacks adds the same constant as in the consensus layer."""
        total = np.zeros((rows.size, self.views.n_rows))
        for view, factor, has in zip(layer.views, layer.factors, pattern, strict=True):
            observed = self.views[view].mask
            distances = self._distances_in(view, new, rows) * factor**2 if has else 0.0
            total += np.where(observed, distances, 2 * UNKNOWN) if has else 2 * UNKNOWN
        return total


def listed_costs(scaling: LocalScaling | None, distances: NDArray[np.float64], listed: NDArray[np.intp]) -> NDArray[np.float64]:
    """The costs of the nodes that are listed for each new row, from its squared distances to all nodes."""
    everyone = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    costs = distances if scaling is None else scaling.costs_of_new(everyone, distances)
    return np.take_along_axis(costs, listed, axis=1)


def _side_by_side(views: Views, members: Sequence[tuple[int, float]], rows: NDArray[np.intp] | None) -> Matrix:
    """Concatenate some views, each times its factor, restricted to the given rows (None: all)."""
    matrices = [views[view].matrix if rows is None else views[view].matrix[rows] for view, _ in members]
    if len(members) == 1 and members[0][1] == 1.0:
        return matrices[0]
    return side_by_side([X * factor for X, (_, factor) in zip(matrices, members, strict=True)])
