"""Confidence of every entity's cluster, measured in the learned graphs.

In a view, an entity *names* the cluster of most of its nearest neighbors in that view alone
(`rmgl.results.own_neighbors`). In other layers, it names the cluster that gets most of its edge
weight. Its *confidence* is a / (a + b), where a is its edge weight to its own cluster and b is its
edge weight to the strongest other cluster in the common graph, which is the sum of the layers times
beta. The confidence is 1 if there is no other cluster, and 1/2 if both are equally strong. In dense
graphs, every entity has weak edges to all clusters, but these do not lower its confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.layer import Layer
from rmgl.results.own_neighbors import OwnNeighbors

Vector = NDArray[np.float64]
ROWS = 1 << 16
"""Number of rows processed together, to limit memory."""
DOUBTFUL = 0.6
"""Confidence below which an entity is called doubtful."""


@dataclass(frozen=True)
class Shares:
    """Distribution of the edge weight of the entities over the clusters in one graph."""

    own: Vector
    """Share of each entity's edge weight that goes to its own cluster. NaN without edges."""
    named: NDArray[np.intp]
    """Cluster with the largest share. -1 without edges."""
    of_named: Vector
    """Share of the cluster with the largest share."""
    of_rival: Vector
    """Largest share among the other clusters. 0 if there is none."""
    by_cluster: Vector
    """Share of the edge weight of each cluster's members that stays inside the cluster. NaN without
    edges.
    """


@dataclass(frozen=True)
class Standing:
    """Shares in every layer and in the common graph, and the confidence derived from them."""

    layers: list[Shares]
    common: Shares
    agreement: Vector
    """Share of the views in which the entity names its own cluster, among the views in which it has
    neighbors. NaN if there are none.
    """
    agreement_by_chance: float
    """Mean share over all entities if their clusters were assigned at random. NaN if there are no
    neighbors.
    """

    @property
    def confidence(self) -> Vector:
        """Strength of an entity's own cluster compared with the strongest other cluster, from 0 to
        1. NaN without edges.
        """
        return self.common.own / (self.common.own + self.common.of_rival)

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Return the entities with low confidence, lowest first."""
        found = np.flatnonzero(self.confidence < DOUBTFUL)
        return found[np.argsort(self.confidence[found], kind="stable")]


def standing_of(
    layers: Sequence[Layer],
    beta: Vector,
    labels: NDArray[np.intp],
    n_clusters: int,
    own: Sequence[OwnNeighbors] = (),
) -> Standing:
    """Measure the edges of every entity in the common graph, its neighbors in each view alone, and
    its edges in all other layers.

    `own` contains the neighbors in the views, in the order of their layers. Without it, views are
    not assessed.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [1.0], [9.0], [10.0]]), alpha=0.1)
    >>> standing_of([layer], np.ones(1), np.array([0, 0, 1, 1]), 2).confidence.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    n = labels.size
    clusters = sparse.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, n_clusters))
    alone = iter(
        [neighbors.votes(labels, n_clusters) for neighbors in own]
        or [sparse.csr_array((n, n_clusters))] * len(layers)
    )
    learned = [Votes(layer.adjacency, clusters) for layer in layers]
    votes = [
        Votes(next(alone)) if layer.role == "view" else edges
        for layer, edges in zip(layers, learned, strict=True)
    ]
    shares = [shares_of([found], [1.0], labels, n_clusters) for found in votes]
    common = shares_of(learned, beta.tolist(), labels, n_clusters)
    of_views = [found for found, layer in zip(shares, layers, strict=True) if layer.role == "view"]
    asked = np.sum([found.named >= 0 for found in of_views], axis=0)
    agreeing = np.sum([found.named == labels for found in of_views], axis=0)
    agreement = np.divide(agreeing, asked, out=np.full(n, np.nan), where=asked > 0)
    return Standing(shares, common, agreement, named_by_chance(of_views, labels))


def named_by_chance(of_views: Sequence[Shares], labels: NDArray[np.intp]) -> float:
    """Return the share of entities, over all views, that would name their own cluster if the named
    clusters were assigned at random.
    """
    met, asked = 0.0, 0
    for found in of_views:
        there = found.named >= 0
        named, own = (
            np.bincount(clusters[there], minlength=len(found.by_cluster))
            for clusters in (found.named, labels)
        )
        met += float(named @ own) / max(1, int(there.sum()))
        asked += int(there.sum())
    return met / asked if asked else float("nan")


@dataclass(frozen=True)
class Votes:
    """Edge weight from every entity to each cluster, (N, K): a matrix, or a product that is never
    formed as a whole.
    """

    left: sparse.csr_array
    right: sparse.csr_array | None = None

    def of_rows(self, start: int, stop: int) -> Vector:
        """Return the weights for a range of entities."""
        part = self.left[start:stop]
        votes: Vector = (part if self.right is None else part @ self.right).toarray()
        return votes


def shares_of(
    votes: Sequence[Votes], weights: Sequence[float], labels: NDArray[np.intp], n_clusters: int
) -> Shares:
    """Return the shares in a weighted sum of graphs without forming the sum."""
    n = labels.size
    own, of_named, of_rival = (np.full(n, np.nan) for _ in range(3))
    named = np.full(n, -1, dtype=np.intp)
    inside, degrees = np.zeros(n_clusters), np.zeros(n_clusters)
    for start in range(0, n, ROWS):
        rows = np.arange(start, min(start + ROWS, n))
        summed = np.zeros((rows.size, n_clusters))
        for part, weight in zip(votes, weights, strict=True):
            summed += weight * part.of_rows(start, rows[-1] + 1)
        total, mine = summed.sum(axis=1), summed[np.arange(rows.size), labels[rows]]
        inside += np.bincount(labels[rows], weights=mine, minlength=n_clusters)
        degrees += np.bincount(labels[rows], weights=total, minlength=n_clusters)
        linked = total > 0
        own[rows[linked]] = mine[linked] / total[linked]
        named[rows[linked]] = summed[linked].argmax(axis=1)
        of_named[rows[linked]] = summed[linked].max(axis=1) / total[linked]
        summed[np.arange(rows.size), labels[rows]] = 0.0
        of_rival[rows[linked]] = summed[linked].max(axis=1) / total[linked]
    by_cluster = np.divide(inside, degrees, out=np.full(n_clusters, np.nan), where=degrees > 0)
    return Shares(own, named, of_named, of_rival, by_cluster)


def agreement_of_views(
    of_views: Sequence[Shares],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of entities for which each pair of views names the same cluster, among those
    with neighbors in both views, and the share expected by chance.

    The share expected by chance assumes that the clusters named in one view are assigned at random.
    Both shares are NaN if no entity has neighbors in both views.
    """
    matrix, chance = np.full((2, len(of_views), len(of_views)), np.nan)
    for a, first in enumerate(of_views):
        for b, second in enumerate(of_views):
            both = (first.named >= 0) & (second.named >= 0)
            if both.any():
                one, other = (
                    np.bincount(found.named[both], minlength=len(first.by_cluster)) / both.sum()
                    for found in (first, second)
                )
                matrix[a, b], chance[a, b] = (
                    np.mean(first.named[both] == second.named[both]),
                    one @ other,
                )
    return matrix, chance
