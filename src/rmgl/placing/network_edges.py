"""Edges from new nodes of a network to the fitted ones, and their weights in its layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from rmgl.edges import Vector
from rmgl.layer import Layer
from rmgl.layer.network import costs_of
from rmgl.placing.new_edges import LARGEST_COST, Batch, CostsOf, Floats, Term, Weights, one_node
from rmgl.views.view import Indices

SAME_EDGES = 1e-12
"""Share of the squared length of a row up to which rounding separates copies of it."""


@dataclass(frozen=True)
class FittedNetwork:
    """The network of a fitted layer with its weights as they were given."""

    weights: sparse.csr_array
    nodes: Indices | None

    @cached_property
    def factor(self) -> float:
        """The factor of the weights that makes the degrees sum to the number of nodes."""
        n_nodes = self.weights.shape[0] if self.nodes is None else self.nodes.size
        return n_nodes / float(self.weights.sum())

    @cached_property
    def degrees(self) -> Vector:
        return self.factor * np.asarray(self.weights.sum(axis=1)).ravel()

    def constant(self, alpha: float) -> float:
        """Return the constant that makes the least cost of an edge zero in a learned layer."""
        scaled = sparse.csr_array(self.factor * self.weights)
        return -float(costs_of(alpha, self.degrees, scaled).min())


@dataclass(frozen=True)
class NetworkEdges:
    """The given edges from new nodes to the fitted ones in one layer."""

    batch: Batch
    rows: Indices
    """Indices of the rows in the batch."""
    given: sparse.csr_array
    """The weights of their edges, in the units of the fitted network."""
    fitted: FittedNetwork

    @property
    def layer(self) -> Layer:
        return self.batch.layer

    def weights(
        self, q: Floats | None, embedding: Floats, g: Floats | None, guide: Floats | None
    ) -> Weights:
        """Return the given weights or, in a learned layer, the solution of the one-node problem.

        The problem is on the given edges, with the terms of the current places q and g, if given.
        """
        scaled = sparse.csr_array(self.given * self.fitted.factor)
        if not self.layer.given:
            scaled = self._learned(scaled, self.batch.terms(q, embedding, g, guide))
        complete = np.zeros(self.rows.size, dtype=bool)
        return Weights(self._among_rows(self.batch.beta * scaled), complete)

    def _learned(self, scaled: sparse.csr_array, terms: list[Term]) -> sparse.csr_array:
        """Solve the one-node problem, with costs near the given weights and additional terms."""
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
        """Return itself: the layer of a network is learned without costs of the consensus."""
        return self

    def nearest(self, some: Indices) -> sparse.csr_array:
        """Return an edge of weight one from each given row to the entity of its heaviest edge."""
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
        """Return edges of weight one of some of these rows among all rows of the batch."""
        ones = np.ones(rows.size)
        return self._among_rows(sparse.csr_array((ones, (rows, entities)), shape=self.given.shape))

    def _among_rows(self, graph: sparse.csr_array) -> sparse.csr_array:
        """Return a graph of these rows as one of all rows of the batch."""
        entries = sparse.coo_array(graph)
        kept = entries.data != 0
        rows, columns = self.rows[entries.coords[0][kept]], entries.coords[1][kept]
        shape = (self.batch.n_rows, self.batch.n_entities)
        return sparse.csr_array((entries.data[kept], (rows, columns)), shape=shape)
