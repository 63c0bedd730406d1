"""Outlier scores: how far entities and new rows are from their neighbors, compared with how far
those neighbors are from theirs.

In every view, a node has a *spread* r: its squared local scale, which is usually the squared
distance to its 7th nearest neighbor, or, without local scaling, the mean squared distance to its
neighbors in the layer. The mean spread of its neighbors, weighted by edge weight, is r'. Its score
is the mean of (1 - r' / r)_+ over its views, weighted by view weight. A new row becomes a node of
the layers (`rmgl.placing.placement`), so its score is on the same scale as the scores of the fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from rmgl.edges import PairList, Vector
from rmgl.edges.space import Space
from rmgl.layer import Layer
from rmgl.views.view import Indices
from rmgl.views.views import Views

InLayer: TypeAlias = tuple[int, Indices, sparse.csr_array, Vector | None]
"""Position of a layer, the new rows in it, the edges of all new rows, and the rows' spreads."""


@dataclass(frozen=True)
class Spreads:
    """Spreads of the nodes in the layer of one view."""

    place: int
    """Position of the layer among all layers."""
    layer: Layer
    of_nodes: Vector
    """Spread of each node of the layer."""
    weight: float
    """Weight of the view."""

    @cached_property
    def of_entities(self) -> Vector:
        """Spread of every entity. Zero if it is not in the view."""
        nodes = slice(None) if self.layer.nodes is None else self.layer.nodes
        everywhere = np.zeros(self.layer.n_nodes)
        everywhere[nodes] = self.of_nodes
        return everywhere


def spreads_of(views: Views, layers: Sequence[Layer], weights: Vector) -> list[Spreads]:
    """Return the spreads in all views except graphs, which have no distances.

    A spread is the squared scale of the node or, without scales, the mean squared distance along
    its edges.
    """
    found = []
    for place, layer in enumerate(layers):
        if layer.role != "view" or views[layer.views[0]].graph is not None:
            continue
        if layer.scaling is None:
            nodes = slice(None) if layer.nodes is None else layer.nodes
            lengths = mean_lengths(views[layer.views[0]].whole_space(), layer.adjacency)[nodes]
        else:
            lengths = layer.scaling.scales**2
        found.append(Spreads(place, layer, lengths, float(weights[layer.views[0]])))
    return found


def score_outliers(views: Views, layers: Sequence[Layer], weights: Vector) -> Vector:
    """Score the entities of a fit. All scores are zero if all views are graphs."""
    spreads = spreads_of(views, layers, weights)
    if not spreads:
        return np.zeros(views.n_rows)
    return outlier_scores(
        [found.layer.adjacency for found in spreads],
        [found.of_nodes for found in spreads],
        [found.layer.nodes for found in spreads],
        [found.weight for found in spreads],
    )


@dataclass(frozen=True)
class Scoring:
    """Spreads and scores of the fit, used to score new rows."""

    spreads: Sequence[Spreads]
    of_fitted: Vector
    """Scores of the entities in the fit."""

    def of_new(self, n_rows: int, edges: Iterable[InLayer]) -> Vector:
        """Return the scores of new rows, computed from their edges in every layer.

        Rows that are in none of the scored layers get zero.
        """
        by_place = {known.place: known for known in self.spreads}
        total, weight = np.zeros(n_rows), np.zeros(n_rows)
        for place, rows, graph, spread in edges:
            known = by_place.get(place)
            if known is not None and spread is not None:
                own = sparse.csr_array(graph[rows])
                total[rows] += known.weight * _scores(own, spread, known.of_entities)
                weight[rows] += known.weight
        return total / np.where(weight > 0, weight, 1.0)


def outlier_scores(
    layers: Sequence[sparse.csr_array],
    spreads: Sequence[Vector],
    present: Sequence[Indices | None],
    weights: Sequence[float] | Vector,
) -> Vector:
    """Return the mean of (1 - r'_i / r_i)_+ over the views of each entity, weighted by view weight.

    r_i is the spread of node i (its squared local scale or, without local scaling, the mean squared
    distance to its neighbors), and r'_i the mean spread of its neighbors in the layer, weighted by
    edge weight. The score is 0 if a node is no farther from its neighbors than they are from
    theirs, near 1 if it is far from all nodes, and 1 if it has no edges. `present` contains the
    nodes of each view, or None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> from rmgl.edges.space import Rows
    >>> X = np.array([[0.0], [1.0], [2.0], [30.0]])
    >>> layer = learn_layer(X, alpha=500.0).adjacency
    >>> outlier_scores([layer], [mean_lengths(Rows(X), layer)], [None], [1.0]).round(2).tolist()
    [0.0, 0.0, 0.0, 0.79]
    """
    n = layers[0].shape[0]
    total, weight = np.zeros(n), np.zeros(n)
    for adjacency, spread, rows, share in zip(layers, spreads, present, weights, strict=True):
        rows = np.arange(n) if rows is None else rows
        everywhere = np.zeros(n)
        everywhere[rows] = spread
        total[rows] += share * _scores(adjacency, everywhere, everywhere)[rows]
        weight[rows] += share
    return total / np.where(weight > 0, weight, 1.0)


def mean_lengths(space: Space, adjacency: sparse.csr_array) -> Vector:
    """Return the weighted mean squared distance from every node to its neighbors in a layer."""
    adjacency = adjacency.copy()
    edges = PairList(adjacency)
    lengths = space.measure(edges) * adjacency.data
    degrees: Vector = adjacency.sum(axis=1)
    totals: Vector = sparse.csr_array(
        (lengths, adjacency.indices, adjacency.indptr), shape=adjacency.shape
    ).sum(axis=1)
    return totals / np.where(degrees > 0, degrees, 1.0)


def _scores(edges: sparse.csr_array, spread: Vector, theirs: Vector) -> Vector:
    """Return (1 - r' / r)_+ for each node, from its edges to nodes with the spreads `theirs`."""
    degrees = edges.sum(axis=1)
    connected = degrees > 0
    around = (edges @ theirs) / np.where(connected, degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        score = np.where(spread > 0, 1 - around / spread, 0.0)
    return np.where(connected, np.clip(score, 0.0, 1.0), 1.0)
