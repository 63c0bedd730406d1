"""Outlier scores: how much farther each entity is from its neighbors in the layers than they are from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges import PairList, Vector
from rmgl.edges.space import Space


def outlier_scores(
    layers: Sequence[sparse.csr_array], spreads: Sequence[Vector], present: Sequence[Any], weights: Sequence[float] | Vector
) -> Vector:
    """The mean over the views that have the entity, by their weights, of (1 - r'_i / r_i)_+.

    r_i is the `spread` of node i, a squared distance at which it has neighbors, and r'_i the mean spread of its neighbors in the
    layer, by edge weight: 0 where a node is no farther from its neighbors than they are from theirs, near 1 far out, and 1 for a node
    without edges. `present` holds the nodes each view has, None for all.

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
        total[rows] += share * _scores(adjacency, everywhere)[rows]
        weight[rows] += share
    return total / np.where(weight > 0, weight, 1.0)


def mean_lengths(space: Space, adjacency: sparse.csr_array) -> Vector:
    """The mean squared distance of every node to its neighbors in a layer, by edge weight."""
    adjacency = adjacency.copy()
    edges = PairList(adjacency)
    lengths = space.measure(edges) * adjacency.data
    degrees: Vector = adjacency.sum(axis=1)
    totals: Vector = sparse.csr_array((lengths, adjacency.indices, adjacency.indptr), shape=adjacency.shape).sum(axis=1)
    return totals / np.where(degrees > 0, degrees, 1.0)


def _scores(adjacency: sparse.csr_array, spread: Vector) -> Vector:
    degrees = adjacency.sum(axis=1)
    connected = degrees > 0
    around = (adjacency @ spread) / np.where(connected, degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        score = np.where(spread > 0, 1 - around / spread, 0.0)
    return np.where(connected, np.clip(score, 0.0, 1.0), 1.0)
