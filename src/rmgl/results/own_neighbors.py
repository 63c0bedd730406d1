"""What every view says alone: the nearest neighbors of the entities in it, and whether these are in the same cluster.

The layers of the views are learned with the common embedding as a guide, so they follow the clusters whatever the view says: 96 % of the
edge weight of a view of noise can lie inside clusters. Statements about a view are therefore made from its own neighbors, before anything
is learned, beside what chance would give: the same lists with the clusters dealt out to the entities at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.edges.space import space_of
from rmgl.edges.ties import SPARE, STAND_IN, NearBlock, closed_lists, searching
from rmgl.views.canonical import row_keys
from rmgl.views.views import Views

N_NEIGHBORS = 12
MOST_ASKED = 5000
"""Entities whose neighbors are looked for; where there are more, a sample of so many."""
DEALS = 50
"""How often clusters are dealt out at random."""
FEW_ROWS = 3
"""Different rows for each cluster up to which a view has few,"""
SAME = 0.99
"""and the share of the entities that must be in the cluster of most that have the same row for the clusters to be a table of these."""
SURE = 3.0
"""Standard deviations above chance from which a share is more than chance."""

Vector = NDArray[np.float64]


@record
@dataclass(frozen=True)
class Share:
    """A share of neighbors in the same cluster, beside the share that chance gives."""

    found: float
    """NaN if it was not measured."""
    chance: float
    """The mean over random deals of the clusters to the entities."""
    deviation: float
    """The standard deviation over these deals."""

    @property
    def is_more(self) -> bool:
        """Whether it is more than chance."""
        return bool(self.found > self.chance + SURE * self.deviation)


@dataclass(frozen=True)
class OwnNeighbors:
    """The neighbors of entities in one view: the rows of the graph sum to one, or are empty where an entity was not asked."""

    graph: sparse.csr_array

    def inside(self, labels: NDArray[np.intp]) -> Share:
        """The mean share of the neighbors of an entity that are in its cluster."""
        return self.by_cluster(labels, 0)[0]

    def by_cluster(self, labels: NDArray[np.intp], n_clusters: int) -> list[Share]:
        """That share for all entities together, and for those of each cluster."""
        present = np.flatnonzero(np.asarray(self.graph.sum(axis=1)) + np.asarray(self.graph.sum(axis=0)) > 0)
        entries, generator = self.graph.tocoo(), np.random.RandomState(0)
        deals = [shares_inside(entries, labels, n_clusters)]
        for _ in range(DEALS):
            dealt = labels.copy()
            dealt[present] = labels[generator.permutation(present)]
            deals.append(shares_inside(entries, dealt, n_clusters))
        found, chance, deviation = deals[0], np.mean(deals[1:], axis=0), np.std(deals[1:], axis=0)
        return [Share(*map(float, numbers)) for numbers in zip(found, chance, deviation, strict=True)]


def shares_inside(entries: sparse.coo_array, labels: NDArray[np.intp], n_clusters: int) -> Vector:
    """The share of weight inside clusters, of all nodes and then of those of each cluster; NaN without any weight."""
    of_left, inside = labels[entries.row], labels[entries.row] == labels[entries.col]
    total = np.bincount(of_left, weights=entries.data, minlength=n_clusters)[:n_clusters]
    own = np.bincount(of_left[inside], weights=entries.data[inside], minlength=n_clusters)[:n_clusters]
    weights, held = np.append(entries.data.sum(), total), np.append(entries.data[inside].sum(), own)
    shares: Vector = np.divide(held, weights, out=np.full(n_clusters + 1, np.nan), where=weights > 0)
    return shares


def own_neighbors(views: Views) -> list[OwnNeighbors]:
    """The neighbors of all entities, or of a sample of them, in every view alone.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"a": np.array([[0.0], [1.0], [9.0], [10.0]])})
    >>> own_neighbors(views)[0].graph.toarray().round(2)[0]
    array([0.  , 0.33, 0.33, 0.33])
    """
    return [OwnNeighbors(of_network(views, view) if view in views.networks else of_rows(views, view)) for view in range(len(views.names))]


def of_network(views: Views, view: int) -> sparse.csr_array:
    """The edges of a network, those of each entity summing to one."""
    graph = sparse.csr_array(views.matrices[view])
    totals = np.asarray(graph.sum(axis=1), dtype=np.float64)
    return sparse.csr_array(sparse.diags_array(np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)) @ graph)


def of_rows(views: Views, view: int) -> sparse.csr_array:
    """The nearest neighbors by distance; those that are tied for the last places share them."""
    space, rows = space_of(views, view), views.observed_rows(view)
    asked = np.arange(space.n_rows)
    if asked.size > MOST_ASKED:
        asked = np.sort(np.random.RandomState(0).permutation(asked)[:MOST_ASKED])
    lists = closed_lists(searching(space), asked, N_NEIGHBORS, N_NEIGHBORS + SPARE)
    return graph_of(lists, views.n_rows, rows)


def graph_of(lists: Sequence[NearBlock], n_entities: int, rows: NDArray[np.intp] | None) -> sparse.csr_array:
    """The graph of closed lists among all entities; `rows` are the entities that the lists are about (None: all)."""
    left, right, weights = [], [], []
    for block in lists:
        there = np.isfinite(block.distances) & (block.neighbors != STAND_IN)
        shares = there * (1.0 if block.shares is None else block.shares)
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        row, place = np.nonzero(shares)
        left.append(block.nodes[row])
        right.append(block.neighbors[row, place])
        weights.append(shares[row, place])
    ends = [np.concatenate(side) for side in (left, right)]
    if rows is not None:
        ends = [rows[side] for side in ends]
    return sparse.csr_array((np.concatenate(weights), (ends[0], ends[1])), shape=(n_entities, n_entities))


def table_view(views: Views, labels: NDArray[np.intp]) -> int | None:
    """The view that has few different rows of which the clusters are a table: nearly all entities with the same row share a cluster."""
    n_clusters = np.unique(labels).size
    for view in range(len(views.names)):
        rows = views.observed_rows(view)
        if views.relation(view) is not None or n_clusters < 2:
            continue
        row = np.unique(row_keys(views.own(view), views.own_gaps(view)), return_inverse=True)[1]
        own = labels if rows is None else labels[rows]
        if row.max() + 1 <= FEW_ROWS * n_clusters:
            counts = np.zeros((row.max() + 1, labels.max() + 1))
            np.add.at(counts, (row, own), 1)
            if counts.max(axis=1).sum() >= SAME * own.size and np.unique(own).size == n_clusters:
                return view
    return None
