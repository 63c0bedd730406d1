"""New rows, placed by the fitted layers as they are; nothing is learned again.

A new node of a layer, all others fixed, satisfies the KKT conditions of the layer problem:

    w_j = (u + u_j - z_j)_+ / (4 alpha),      sum_j w_j + (u - mean(u_j)) / (2 alpha) = 1

The left side rises with u, so there is one solution. With t_j = z_j - u_j in ascending order and k of them below u it is

    u = (4 alpha + 2 mean(u_j) + t_1 + ... + t_k) / (k + 2)

Costs z_j are those of the fit: squared distances, locally scaled where the layer's are, plus beta |q - q_j|^2 + |g - g_j|^2. The place q
of the new node follows from its weights by the eigenvector equation,

    q = sum_m beta_m sum_j w_mj q_j / (sum_m beta_m d_m - lambda)

and g, a row of the guide, as their mean; so weights and places are found in turn, at first without the terms of the embedding. A row that
is equal to a fitted one in all layers it is in has the place of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.consensus import UNKNOWN
from rmgl.edges import Vector
from rmgl.embedding.eigenvectors import unit_rows
from rmgl.layer import Layer
from rmgl.placing.meeting import Batch, Meeting, dense_distances, n_listed
from rmgl.views.matrix import Matrix, side_by_side
from rmgl.views.views import Views

ALL_ROWS = 5000
"""Up to so many fitted rows a new one is compared with all of them; beyond, with the nearest."""
ROUNDS = 2
BATCH_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Placed:
    """Where new rows belong."""

    votes: NDArray[np.float64]
    """Edge weight from each new row to each cluster in each layer, by the weight of the layer: (n, layers, K); sums to one for each row."""
    embedding: NDArray[np.float64]


@dataclass(frozen=True)
class Placement:
    """Everything of a fitted model that decides where new rows belong."""

    views: Views
    """The fitted rows, scaled."""
    layers: Sequence[Layer]
    """With all entities as nodes."""
    beta: Vector
    """The weight of each layer."""
    embedding: NDArray[np.float64]
    eigenvalues: Vector
    guide: NDArray[np.float64] | None
    labels: NDArray[np.intp]

    @cached_property
    def clusters(self) -> sparse.csr_array:
        """One row per entity with a one in the column of its cluster."""
        n, k = self.embedding.shape
        return sparse.csr_array((np.ones(n), (np.arange(n), self.labels)), shape=(n, k))

    def place(self, new: Views) -> Placed:
        """Votes and places of new rows, which are scaled like the fitted ones."""
        n_clusters = self.embedding.shape[1]
        if new.n_rows == 0:
            return Placed(np.empty((0, len(self.layers), n_clusters)), np.empty((0, n_clusters)))
        step = max(1, BATCH_ENTRIES // max(max(self._width(layer), n_listed(layer) * n_clusters) for layer in self.layers))
        parts = [self._place_batch(new, np.arange(at, min(at + step, new.n_rows))) for at in range(0, new.n_rows, step)]
        return Placed(np.concatenate([part.votes for part in parts]), np.concatenate([part.embedding for part in parts]))

    def _place_batch(self, new: Views, rows: NDArray[np.intp], everyone: bool = False) -> Placed:
        meetings = [meeting for place in range(len(self.layers)) for meeting in self._meet(place, new, rows, everyone)]
        q, g = None, None
        for _ in range(ROUNDS):
            weights = [meeting.weights(q, self.embedding, g, self.guide) for meeting in meetings]
            graphs = self._connected(meetings, [found.graph for found in weights])
            total = sum(graphs[1:], start=graphs[0])
            q, g = self._middle(total), self._guide_rows(total)
        assert q is not None
        doubted = np.unique(np.concatenate([meeting.rows[found.doubted] for meeting, found in zip(meetings, weights, strict=True)]))
        votes = np.zeros((rows.size, len(self.layers), self.embedding.shape[1]))
        for meeting, graph in zip(meetings, graphs, strict=True):
            votes[:, meeting.batch.place] += (graph @ self.clusters).toarray()
        placed = Placed(votes / votes.sum(axis=(1, 2), keepdims=True), self._with_copies(meetings, q))
        if doubted.size:
            again = self._place_batch(new, rows[doubted], everyone=True)
            placed.votes[doubted], placed.embedding[doubted] = again.votes, again.embedding
        return placed

    def _middle(self, total: sparse.csr_array) -> NDArray[np.float64]:
        """sum_j w_j q_j / (d - lambda), with the weights of all layers together, which contain beta."""
        degrees = np.asarray(total.sum(axis=1)).ravel()[:, None]
        return (total @ self.embedding) / np.maximum(degrees - self.eigenvalues, 0.5 * degrees)

    def _with_copies(self, meetings: Sequence[Meeting], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same, but a row that equals a fitted one in all layers it is in has that one's place."""
        n_layers = np.bincount(np.concatenate([meeting.rows for meeting in meetings]), minlength=len(q))
        total = sum((meeting.copies() for meeting in meetings[1:]), start=meetings[0].copies()).tocoo()
        same = total.data == n_layers[total.row]
        q[total.row[same]] = self.embedding[total.col[same]]
        return q

    def _guide_rows(self, total: sparse.csr_array) -> NDArray[np.float64] | None:
        """Means of the rows of the guide, of the same length as those."""
        if self.guide is None:
            return None
        return unit_rows(total @ self.guide) * float(np.sqrt(np.square(self.guide).sum(axis=1).max()))

    @staticmethod
    def _connected(meetings: Sequence[Meeting], graphs: list[sparse.csr_array]) -> list[sparse.csr_array]:
        """The same, but a row without an edge in any layer gets one to the nearest entity of the first layer it is in."""
        degrees = np.sum([np.asarray(graph.sum(axis=1)).ravel() for graph in graphs], axis=0)
        for place, meeting in enumerate(meetings):
            alone = np.flatnonzero(degrees[meeting.rows] == 0)
            if alone.size:
                graphs[place] = sparse.csr_array(graphs[place] + meeting.nearest(alone))
                degrees[meeting.rows[alone]] = 1.0
        return graphs

    def _width(self, layer: Layer) -> int:
        """How many fitted rows a new one is compared with at first."""
        n = layer.own_potentials.size
        return n if n <= ALL_ROWS or self._shared(layer) else min(n, n_listed(layer))

    def _shared(self, layer: Layer) -> bool:
        """Whether the layer is of several views that do not have all entities: each pair has its own views in common."""
        return len(layer.views) > 1 and not self.views.complete

    def _meet(self, place: int, new: Views, rows: NDArray[np.intp], everyone: bool) -> Iterator[Meeting]:
        """The new rows beside the entities of a layer that are near them, by the views that they have."""
        layer = self.layers[place]
        there = np.column_stack([new.mask(view)[rows] for view in layer.views])
        for pattern in np.unique(there, axis=0):
            mine = np.flatnonzero((there == pattern).all(axis=1))
            if not pattern.any():
                continue
            batch = Batch(place, layer, float(self.beta[place]), rows.size, self.embedding.shape[0], everyone)
            if self._shared(layer):
                yield batch.meet_all(mine, self._shared_distances(layer, new, rows[mine], pattern))
                continue
            views = [(view, factor) for view, factor, has in zip(layer.views, layer.factors, pattern, strict=True) if has]
            X, asking = (_side_by_side(source, views, chosen) for source, chosen in ((self.views, layer.nodes), (new, rows[mine])))
            absent = len(pattern) / len(views)  # views that are absent are taken to be like the others
            if self._width(layer) == X.shape[0]:
                yield batch.meet_all(mine, absent * dense_distances(asking, X))
            else:
                yield from batch.meet_nearest(mine, X, asking, absent)

    def _shared_distances(self, layer: Layer, new: Views, rows: NDArray[np.intp], pattern: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sums over the views, of which those that one of two lacks add what the consensus adds for them."""
        total = np.zeros((rows.size, self.views.n_rows))
        for view, factor, has in zip(layer.views, layer.factors, pattern, strict=True):
            both = self.views.mask(view)
            distances = dense_distances(new.matrices[view][rows], self.views.matrices[view]) * factor**2 if has else 0.0
            total += np.where(both, distances, 2 * UNKNOWN) if has else 2 * UNKNOWN
        return total


def _side_by_side(views: Views, members: Sequence[tuple[int, float]], rows: NDArray[np.intp] | None) -> Matrix:
    """Some rows of some views, each times its factor."""
    matrices = [views.matrices[view] if rows is None else views.matrices[view][rows] for view, _ in members]
    if len(members) == 1 and members[0][1] == 1.0:
        return matrices[0]
    return side_by_side([X * factor for X, (_, factor) in zip(matrices, members, strict=True)])
