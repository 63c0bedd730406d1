"""Properties of each cluster: size, cohesion, stability, and typical members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rmgl.archive.records import record
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.automatic.policy import Verdict
from rmgl.embedding.common_graph import Graph, weighted_sum
from rmgl.embedding.eigenvectors import Embedding, unit_rows
from rmgl.embedding.resampling import four_fifths, parts_of
from rmgl.fitting.fitted import FittedModel
from rmgl.frames import as_html
from rmgl.layer import Layer
from rmgl.results.own_neighbors import OwnNeighbors, Share
from rmgl.results.standing import Standing

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterFacts:
    """Facts about one cluster."""

    size: int
    cohesion: float
    """Share of its members' edge weight in the common graph that stays inside the cluster. NaN if
    they have no edges.
    """
    stability: float | None
    """Overlap with the most similar cluster in quick refits on four fifths of the entities (1:
    identical). None if not measured.
    """
    by_view: list[Share]
    """Share of its members' nearest neighbors that are in the cluster, for each view alone."""
    typical: NDArray[np.intp]
    """Typical members: in the more confident half, those nearest to the center of the cluster in
    the embedding, nearest first.
    """
    doubtful: NDArray[np.intp]
    """Members with the lowest confidence, lowest first."""

    @property
    def separated_by(self) -> list[int]:
        """Views in which at least 70% of the members' neighbors are in the cluster, and more than
        expected by chance.
        """
        return [
            view
            for view, share in enumerate(self.by_view)
            if share.found >= Verdict.same_answer and share.is_more
        ]


def cluster_facts(
    standing: Standing,
    labels: NDArray[np.intp],
    embedding: Vector,
    stability: Vector | None,
    own: Sequence[OwnNeighbors],
    n_members: int = 10,
) -> list[ClusterFacts]:
    """Describe every cluster. `own` contains the neighbors of the entities in each view alone."""
    rows = unit_rows(embedding)
    n_clusters = standing.common.by_cluster.size
    of_views = [neighbors.by_cluster(labels, n_clusters)[1:] for neighbors in own]
    facts = []
    for cluster in range(n_clusters):
        members = np.flatnonzero(labels == cluster)
        confidence = standing.confidence[members]
        doubt = np.argsort(np.nan_to_num(confidence, nan=2.0), kind="stable")
        facts.append(
            ClusterFacts(
                size=int(members.size),
                cohesion=float(standing.common.by_cluster[cluster]),
                stability=None if stability is None else float(stability[cluster]),
                by_view=[shares[cluster] for shares in of_views],
                typical=typical_members(members, rows[members], confidence)[:n_members],
                doubtful=members[doubt[:n_members]],
            )
        )
    return facts


def typical_members(
    members: NDArray[np.intp], rows: Vector, confidence: Vector
) -> NDArray[np.intp]:
    """Return the more confident half of a cluster's members, ordered by distance from the mean of
    all members, nearest first.
    """
    if not members.size:
        return members
    distances = np.square(rows - rows.mean(axis=0)).sum(axis=1)
    known = np.nan_to_num(confidence, nan=-1.0)
    order = np.argsort(distances, kind="stable")
    return members[order[known[order] >= np.median(known)]]


def stability_of_clusters(
    layers: Sequence[Layer],
    beta: Vector,
    labels: NDArray[np.intp],
    n_clusters: int,
    left_out: NDArray[np.intp],
    *,
    of_unit_length: bool = True,
    balanced: bool = False,
    seed: int = 0,
) -> Vector | None:
    """Return the mean overlap |A and B| / |A or B| of every cluster A with the most similar cluster
    B in refits on four fifths of the entities.

    The layers are not learned again. The entities in `left_out` were left out of the embedding.
    Returns None if there are too many entities, or too few per cluster.
    """
    everyone = np.setdiff1d(np.arange(labels.size), left_out)
    if not can_answer_again(everyone.size, n_clusters):
        return None
    graph = weighted_sum([layer.adjacency for layer in layers], beta.tolist())
    overlaps = [
        best_overlaps(labels[nodes], found, n_clusters)
        for nodes, found in parts_again(
            graph,
            everyone,
            n_clusters,
            np.random.RandomState(seed),
            n_draws=Verdict.resamples,
            of_unit_length=of_unit_length,
            balanced=balanced,
        )
    ]
    mean: Vector = np.mean(overlaps, axis=0)
    return mean


def parts_again(
    graph: Graph,
    everyone: NDArray[np.intp],
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    n_draws: int,
    of_unit_length: bool = True,
    balanced: bool = False,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Draw four fifths of the entities `n_draws` times, and cluster each draw."""
    for _ in range(n_draws):
        nodes = four_fifths(everyone, random_state)
        (found,) = parts_of(
            graph,
            nodes,
            [n_clusters],
            random_state,
            tol=REFIT_TOL,
            of_unit_length=of_unit_length,
            balanced=balanced,
        )
        yield nodes, found


def best_overlaps(labels: NDArray[np.intp], others: NDArray[np.intp], n_clusters: int) -> Vector:
    """Return, for every cluster, |A and B| / |A or B| with the most similar cluster of another
    clustering. An empty cluster gets 0.

    Examples
    --------
    >>> import numpy as np
    >>> best_overlaps(np.array([0, 0, 0, 1, 1]), np.array([1, 1, 0, 0, 0]), 2).round(2).tolist()
    [0.67, 0.67]
    """
    both = np.zeros((n_clusters, n_clusters))
    np.add.at(both, (labels, others), 1)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0)[None, :] - both
    overlaps: Vector = np.divide(both, either, out=np.zeros_like(both), where=either > 0).max(
        axis=1
    )
    return overlaps


@dataclass(frozen=True)
class Level:
    """The clustering at one resolution."""

    n_clusters: int
    labels: NDArray[np.intp]
    """Cluster of every entity. Entities placed after the fit have -1, except at the chosen level.
    """
    stability: float
    """Agreement with the clusters found on four fifths of the entities: 1 if identical, 0 if no
    better than chance.
    """
    nested: float
    """Share of the entities that are in the same cluster of the next coarser level as the majority
    of their own cluster: 1 if the levels are nested.
    """


class Hierarchy(list[Level]):
    """The clusterings at several resolutions, from coarse to fine.

    Examples
    --------
    >>> import numpy as np
    >>> levels = Hierarchy([Level(2, np.array([0, 0, 1, 1]), 1.0, 1.0)])
    >>> levels.to_frame().n_clusters.tolist(), levels.labels_frame().columns.tolist()
    ([2], ['2 clusters'])
    """

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per level."""
        import pandas as pd

        names = ("n_clusters", "stability", "nested")
        return pd.DataFrame({name: [getattr(level, name) for level in self] for name in names})

    def labels_frame(self, index: Any = None) -> Any:
        """Return a pandas DataFrame with one row per entity and one column per level.

        `index` contains the row labels, such as `index_` of the model.
        """
        import pandas as pd

        columns = {f"{level.n_clusters} clusters": level.labels for level in self}
        return pd.DataFrame(columns, index=index)

    def _repr_html_(self) -> str:
        """Return the levels as HTML for notebooks."""
        return as_html(self.to_frame())


def levels_of(
    number: NumberOfClusters, labels: NDArray[np.intp], placed: NDArray[np.intp]
) -> Hierarchy:
    """Return the chosen and the stable coarser and finer clusterings, from coarse to fine."""
    if number.resolutions is None or number.parts is None:
        return Hierarchy()
    learned = np.setdiff1d(np.arange(labels.size), placed)
    levels = Hierarchy()
    for k, own in zip(number.resolutions.tolist(), number.parts, strict=True):
        of_all = labels.copy() if k == number.chosen else np.full(labels.size, -1, dtype=np.intp)
        if k != number.chosen:
            of_all[learned] = own
        nested = nestedness(of_all[learned], levels[-1].labels[learned]) if levels else 1.0
        levels.append(Level(k, of_all, float(number.stability[number.candidates == k][0]), nested))
    return levels


def stable_levels(model: FittedModel) -> list[Level]:
    """Return the levels of a model. Empty unless its number of clusters was chosen."""
    return [] if model.number is None else levels_of(model.number, model.labels, model.placed)


def nestedness(fine: NDArray[np.intp], coarse: NDArray[np.intp]) -> float:
    """Return the share of entities in the same coarse cluster as most of their fine cluster.

    Examples
    --------
    >>> import numpy as np
    >>> nestedness(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 0]))
    0.8333333333333334
    """
    table = np.zeros((fine.max() + 1, coarse.max() + 1))
    np.add.at(table, (fine, coarse), 1)
    return float(table.max(axis=1).sum() / fine.size)


MOST_ENTITIES = 50_000
"""Maximum number of entities for quick refits, because each takes as long as the embedding."""
MEMBERS = 2
"""Minimum number of entities per cluster for quick refits. With fewer, no entity can be left out.
"""
REFIT_TOL = 1e-3


@record
@dataclass(frozen=True)
class Refits:
    """Agreement of quick refits with the fit: 1 if identical, 0 if no better than chance.

    Examples
    --------
    >>> Refits(resampled=0.9, separation=0.81).strength
    0.81
    """

    resampled: float = 1.0
    """Mean agreement over draws of four fifths of the entities."""
    without: dict[str, float] = field(default_factory=dict)
    """Agreement without the layer of each view, if there are multiple views. The consensus and
    neighbor layers stay.
    """
    neighbors_only: float | None = None
    """Agreement with the clusters of the neighbor layer alone. None if there is no such layer."""
    separation: float | None = None
    """Separation of the clusters, compared with data without clusters, from 0 to 1. None if
    unknown.
    """

    @property
    def strength(self) -> float | None:
        """Strength of the evidence, stability * sqrt(separation). None if the separation is
        unknown.
        """
        if self.separation is None:
            return None
        return max(0.0, self.resampled) * float(np.sqrt(self.separation))


def second_answers(
    layers: Sequence[Layer],
    beta: NDArray[np.float64],
    labels: NDArray[np.intp],
    embedding: Embedding,
    random_state: np.random.RandomState,
    of_unit_length: bool = True,
    n_draws: int = Verdict.resamples,
    balanced: bool = False,
) -> Refits | None:
    """Compare the labels with those of quick refits, without fragments. Returns None if there are
    too many entities, or too few per cluster.

    `of_unit_length` states whether k-means uses rows of length one, and `balanced` whether the
    entities have masses, as in the fit.
    """
    n_clusters = embedding.vectors.shape[1]
    everyone = (
        np.arange(labels.size)
        if embedding.fragments is None
        else np.flatnonzero(~embedding.fragments)
    )
    if not can_answer_again(everyone.size, n_clusters):
        return None

    def agreement(graph: Graph, nodes: NDArray[np.intp]) -> float:
        (found,) = parts_of(
            graph,
            nodes,
            [n_clusters],
            random_state,
            tol=REFIT_TOL,
            of_unit_length=of_unit_length,
            balanced=balanced,
        )
        return float(adjusted_rand_score(labels[nodes], found))

    graph = weighted_sum([layer.adjacency for layer in layers], beta.tolist())
    draws = [four_fifths(everyone, random_state) for _ in range(n_draws)]
    without = {
        name: agreement(others, everyone) for name, others in without_each_view(layers, beta)
    }
    plain = next((layer.adjacency for layer in layers if layer.role == "neighbors"), None)
    return Refits(
        float(np.mean([agreement(graph, nodes) for nodes in draws])),
        without,
        None if plain is None else agreement(plain, everyone),
    )


def without_each_view(
    layers: Sequence[Layer], beta: NDArray[np.float64]
) -> Iterator[tuple[str, Graph]]:
    """Return, for each view, the sum of all other layers, if several views have weight."""
    if sum(layer.role == "view" for layer in layers) < 2:
        return
    for at, view in enumerate(layers):
        weights = np.delete(beta, at)
        if view.role == "view" and weights.any():
            others = [layer.adjacency for layer in layers if layer is not view]
            yield view.name, weighted_sum(others, weights.tolist())


def can_answer_again(n_entities: int, n_clusters: int) -> bool:
    """Return whether the numbers of entities and clusters allow quick refits."""
    return n_clusters >= 2 and MEMBERS * n_clusters <= n_entities <= MOST_ENTITIES
