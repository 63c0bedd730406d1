"""How firmly every entity stands in its cluster, as the learned graphs see it.

In a view, an entity *names* the cluster of most of its nearest neighbors in that view alone
(`rmgl.results.own_neighbors`), and in other layers the one to which most of its edge weight leads.
Its *confidence* is a / (a + b), where a is its edge weight to its own cluster and b that to the
strongest other cluster in the common graph, the sum of the layers times beta: 1 if there is no
other, 1/2 if both are equally strong. In dense graphs every entity has weak edges to all clusters,
which this does not count as doubt.
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
"""Rows that are looked at together, to bound memory."""
DOUBTFUL = 0.6
"""Confidence below which an entity is called doubtful."""


@dataclass(frozen=True)
class Shares:
    """Where the edges of the entities lead in one graph."""

    own: Vector
    """The share of the edge weight of every entity that leads to its own cluster; NaN without
    edges.
    """
    named: NDArray[np.intp]
    """The cluster that gets the largest share; -1 without edges."""
    of_named: Vector
    """The share of that cluster."""
    of_rival: Vector
    """The largest share of another cluster than its own; 0 if there is none."""
    by_cluster: Vector
    """The share of the edge weight of the members of every cluster that stays inside it; NaN for a
    cluster without edges.
    """


@dataclass(frozen=True)
class Standing:
    """The shares in every layer and in the common graph, and what follows from them."""

    layers: list[Shares]
    common: Shares
    agreement: Vector
    """The share of the views in which the entity names its own cluster, among those in which it has
    neighbors; NaN if there are none.
    """
    agreement_by_chance: float
    """The mean of that share over all entities if their clusters were dealt out at random; NaN if
    there are no neighbors.
    """

    @property
    def confidence(self) -> Vector:
        """Its own cluster against the strongest other one, from 0 to 1; NaN without edges."""
        return self.common.own / (self.common.own + self.common.of_rival)

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """The entities of low confidence, the lowest first."""
        found = np.flatnonzero(self.confidence < DOUBTFUL)
        return found[np.argsort(self.confidence[found], kind="stable")]


def standing_of(
    layers: Sequence[Layer],
    beta: Vector,
    labels: NDArray[np.intp],
    n_clusters: int,
    own: Sequence[OwnNeighbors] = (),
) -> Standing:
    """Look at the edges of every entity in the common graph, at its neighbors in every view alone,
    and at its edges in all other layers.

    `own` are the neighbors in the views, in the order of their layers; nothing is said about the
    views without them.

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
    """The share of the entities, of all views together, that name their cluster if those that they
    name are dealt out at random.
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
    """The weight of every entity to each cluster (N, K): a matrix, or a product that is not formed
    as a whole.
    """

    left: sparse.csr_array
    right: sparse.csr_array | None = None

    def of_rows(self, start: int, stop: int) -> Vector:
        """Those of some of the entities."""
        part = self.left[start:stop]
        votes: Vector = (part if self.right is None else part @ self.right).toarray()
        return votes


def shares_of(
    votes: Sequence[Votes], weights: Sequence[float], labels: NDArray[np.intp], n_clusters: int
) -> Shares:
    """The shares in a weighted sum of graphs, which is never formed."""
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
    """The share of the entities for which each two views name the same cluster, among those with
    neighbors in both, and by chance.

    By chance, the clusters that one view names are dealt out at random. Both are NaN where no
    entity has neighbors in both.
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
