"""Edges from new nodes of a network to the fitted ones, and their weights in its layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges import Vector
from rmgl.layer import Layer
from rmgl.layer.network import costs_of
from rmgl.placing.new_edges import FAR, Batch, CostsOf, Weights, one_node

ROUNDING = 1e-12


@dataclass(frozen=True)
class FittedNetwork:
    """The network of a fitted layer: its weights as they were given, and what they were multiplied by."""

    weights: sparse.csr_array
    nodes: NDArray[np.intp] | None

    @cached_property
    def factor(self) -> float:
        """What makes the degrees sum to the number of nodes."""
        n_nodes = self.weights.shape[0] if self.nodes is None else self.nodes.size
        return n_nodes / float(self.weights.sum())

    @cached_property
    def degrees(self) -> Vector:
        degrees: Vector = self.factor * np.asarray(self.weights.sum(axis=1)).ravel()
        return degrees

    def constant(self, alpha: float) -> float:
        """What makes the least cost of the edges zero, when the network is learned again."""
        return -float(costs_of(alpha, self.degrees, sparse.csr_array(self.factor * self.weights)).min())


@dataclass(frozen=True)
class NetworkEdges:
    """The edges from new nodes to the fitted ones in one layer, as they are given."""

    batch: Batch
    rows: NDArray[np.intp]
    """Indices of the rows in the batch."""
    given: sparse.csr_array
    """The weights of their edges, in the units of the fitted network."""
    fitted: FittedNetwork

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def weights(
        self,
        q: NDArray[np.float64] | None,
        embedding: NDArray[np.float64],
        g: NDArray[np.float64] | None,
        guide: NDArray[np.float64] | None,
    ) -> Weights:
        """The weights as given or, if the layer was learned again, the solution of the one-node problem on the given edges."""
        known = np.zeros(self.rows.size, dtype=bool)
        scaled = sparse.csr_array(self.given * self.fitted.factor)
        if not self.layer.given:
            terms = ((q, embedding, self.batch.beta), (g, guide, 1.0))
            scaled = self._learned(
                scaled, [(own, theirs, factor) for own, theirs, factor in terms if own is not None and theirs is not None]
            )
        return Weights(self._among_rows(self.batch.beta * scaled), known)

    def _learned(self, scaled: sparse.csr_array, terms: list[tuple[NDArray[np.float64], NDArray[np.float64], float]]) -> sparse.csr_array:
        """The weights that solve the one-node problem, with costs near the given weights and the terms of embedding and guide."""
        alpha, potentials = self.layer.alpha, self.layer.potentials
        lengths = np.diff(scaled.indptr)
        owner = np.repeat(np.arange(self.rows.size), lengths)
        own_degrees = np.asarray(scaled.sum(axis=1)).ravel()
        costs = -2 * alpha * (own_degrees[owner] + self.fitted.degrees[scaled.indices] + 2 * scaled.data) + self.fitted.constant(alpha)
        for own, theirs, factor in terms:
            costs += factor * np.square(own[self.rows[owner]] - theirs[scaled.indices]).sum(axis=1)
        thresholds = np.full((self.rows.size, max(1, int(lengths.max(initial=0)))), FAR)
        place = np.arange(owner.size) - scaled.indptr[owner]
        thresholds[owner, place] = costs - potentials[scaled.indices]
        u = one_node(thresholds, alpha, float(self.layer.own_potentials.mean()))
        learned = np.maximum(u[owner] - thresholds[owner, place], 0.0) / (4 * alpha)
        return sparse.csr_array((learned, scaled.indices, scaled.indptr), shape=scaled.shape)

    def with_consensus(self, costs_of: CostsOf) -> NetworkEdges:
        """Itself: the layer of a network is learned without the costs of the consensus."""
        return self

    def nearest(self, some: NDArray[np.intp]) -> sparse.csr_array:
        """The graph with an edge of weight one from each of the given rows to the entity with the heaviest edge."""
        rows = self.given[some]
        heaviest = [rows.indices[rows.indptr[at] + rows.data[rows.indptr[at] : rows.indptr[at + 1]].argmax()] for at in range(some.size)]
        graph = sparse.csr_array((np.ones(some.size), (some, np.array(heaviest))), shape=self.given.shape)
        return self._among_rows(graph)

    def copies(self) -> sparse.csr_array:
        """The matrix with a one for every row and entity with the same edges."""
        products = sparse.coo_array(self.given @ self.fitted.weights.T)
        own, theirs = (np.asarray((X * X).sum(axis=1)).ravel() for X in (self.given, self.fitted.weights))
        first, second = products.coords
        apart = own[first] + theirs[second] - 2 * products.data
        same = apart <= ROUNDING * own[first]
        graph = sparse.csr_array((np.ones(int(same.sum())), (first[same], second[same])), shape=self.given.shape)
        return self._among_rows(graph)

    def _among_rows(self, graph: sparse.csr_array) -> sparse.csr_array:
        """A graph of these rows among all rows of the batch."""
        entries = sparse.coo_array(graph)
        kept = entries.data != 0
        rows, columns = self.rows[entries.coords[0][kept]], entries.coords[1][kept]
        return sparse.csr_array((entries.data[kept], (rows, columns)), shape=(self.batch.n_rows, self.batch.n_entities))
