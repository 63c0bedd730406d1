"""Cluster labels from the rows of an embedding: k-means, known labels, and fragments.

k-means on an embedding may find a cluster of a handful of nodes: copies of one row, or close rows
that keep most of their edge weight among themselves. Such a cluster is a *fragment* if it is
smaller than a given size and not an island: more than a twentieth of its links lead out of it. The
embedding is computed again without the nodes of all fragments, until no cluster is a fragment; if
this would leave out more than a fifth of all nodes, none are left out. Finally, fragments are
placed at the weighted mean of their neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import Embedding, judged, smallest_eigenvectors, unit_rows
from rmgl.matrix import Floats, Indices, Mask
from rmgl.rules import ranged
from rmgl.running.threads import InParts, single_threaded
from rmgl.views.canonical import alike_among

SAMPLED_ROWS = 50_000
"""Number of rows beyond which k-means is initialized on a random sample of this size."""
MAX_KNOWN_STEPS = 100
"""Maximum number of k-means steps with known labels."""
FRAGMENT_INITS = 3
"""Number of k-means initializations in the search for fragments."""
SMALLEST_PIVOT = 1e-12
"""Share of the largest diagonal entry that is added to the diagonal to make systems solvable.

Nodes without a path to others are placed at the origin.
"""


@dataclass(frozen=True)
class Fragments:
    """Thresholds that distinguish fragments from clusters."""

    small_cluster: float = ranged(0.15, 0.0, 1.0)
    """Cluster size, relative to the mean size, below which a cluster that is not an island is a
    fragment (0: no cluster is). The report says so if the smallest cluster is below this size."""
    island_links: float = ranged(0.05, 0.0, 1.0)
    """Maximum share of a cluster's links that may lead out of it for the cluster to count as an
    island."""
    most_fragments: float = ranged(0.2, 0.0, 1.0)
    """Maximum fraction of the entities in fragments. If it is exceeded, no fragment is left out."""


def cluster_rows(
    embedding: Floats,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: int | np.random.RandomState | None = None,
) -> Indices:
    """Cluster the rows of the embedding by k-means; keep the best of `n_init` initializations.

    With more than 50,000 rows, the initializations run on a random sample of that size and the best
    one continues on all rows. One more initialization from all rows can find clusters that are too
    small for the sample; the better of the two is returned.
    """
    generator = check_random_state(random_state)
    several = KMeans(n_clusters, n_init=n_init, random_state=generator)
    labels: Indices
    # k-means also sets the number of BLAS threads, and concurrent runs would each restore the
    # number that they found; with one thread, the order of sums is always the same
    with single_threaded("blas"), single_threaded("openmp"):
        if embedding.shape[0] <= SAMPLED_ROWS:
            labels = several.fit_predict(embedding)
            return labels
        sample = embedding[generator.permutation(embedding.shape[0])[:SAMPLED_ROWS]]
        centers = several.fit(sample).cluster_centers_
        starts = (
            KMeans(n_clusters, init=centers, n_init=1),
            KMeans(n_clusters, n_init=1, random_state=generator),
        )
        fitted = [start.fit(embedding) for start in starts]
        labels = min(fitted, key=lambda one: one.inertia_).labels_
        return labels


def as_met(labels: Indices, n_clusters: int) -> Indices:
    """Renumber clusters in the order of their first rows; empty clusters come last.

    Examples
    --------
    >>> import numpy as np
    >>> as_met(np.array([2, 2, 0, 2]), 3).tolist()
    [0, 0, 1, 0]
    """
    clusters, first = np.unique(labels, return_index=True)
    number = np.empty(n_clusters, dtype=np.intp)
    number[clusters[np.argsort(first)]] = np.arange(clusters.size)
    return number[labels]


def label_with_known(
    rows: Floats, found: Indices, known: Indices, n_clusters: int, aside: Mask | None = None
) -> Indices:
    """Adjust `found`, computed without the known labels, to agree with these labels (-1: unknown).

    The k-means clusters are matched to the classes so that as many known labels as possible agree.
    k-means continues from there, with the mean of the known rows of each class as its initial
    center, and known labels stay fixed. Rows in `aside` do not affect the centers.
    """
    labels = matched(found, known, n_clusters)
    inside = np.ones(len(rows), dtype=bool) if aside is None else ~aside
    fixed = known >= 0
    centers = np.zeros((n_clusters, rows.shape[1]))
    for k in range(n_clusters):
        for members in (inside & fixed & (known == k), inside & (labels == k)):
            if members.any():
                centers[k] = rows[members].mean(axis=0)
                break
    for _ in range(MAX_KNOWN_STEPS):
        new = np.where(fixed, known, cdist(rows, centers).argmin(axis=1))
        if (new == labels).all():
            break
        labels = new
        for k in range(n_clusters):
            members = inside & (labels == k)
            if members.any():
                centers[k] = rows[members].mean(axis=0)
    return np.where(fixed, known, labels).astype(np.intp)


def matched(found: Indices, known: Indices, n_clusters: int) -> Indices:
    """Renumber the found clusters so that as many known labels as possible agree.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([0, 0, 1, 1]), np.array([-1, 1, -1, -1]), 2)
    array([1, 1, 0, 0])
    """
    fixed = known >= 0
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (found[fixed], known[fixed]), 1.0)
    _, numbers = linear_sum_assignment(-counts)
    renumbered: Indices = numbers[found]
    return renumbered


def embed_without(
    graph: Graph,
    n_vectors: int,
    fragments: Mask | None,
    *,
    alike: Indices | None = None,
    balance: Balance | None = None,
    **options: Any,
) -> Embedding:
    """Embed the nodes that are not fragments; the rows of the fragments are zero."""
    if fragments is None:
        return smallest_eigenvectors(graph, n_vectors, alike=alike, balance=balance, **options)
    kept = np.flatnonzero(~fragments)
    options |= {"alike": alike_among(alike, kept), "balance": balance_among(balance, kept)}
    return smallest_eigenvectors(graph[kept][:, kept], n_vectors, **options).among(kept, fragments)


def judge_without(
    graph: Graph, embedding: Embedding, in_parts: InParts, balance: Balance | None = None
) -> Embedding:
    """Judge an embedding on another graph, among the nodes that are not fragments."""
    if embedding.fragments is None:
        return judged(graph, embedding, in_parts, balance)
    kept = np.flatnonzero(~embedding.fragments)
    among = replace(embedding, vectors=embedding.vectors[kept], fragments=None)
    found = judged(graph[kept][:, kept], among, in_parts, balance_among(balance, kept))
    return found.among(kept, embedding.fragments)


def balance_among(balance: Balance | None, nodes: Indices) -> Balance | None:
    """Return the masses of the given nodes, if there are masses."""
    return None if balance is None else balance.among(nodes)


def find_fragments(
    embed: Callable[[Mask | None], Embedding],
    links: Graph,
    n_clusters: int,
    min_size: float,
    *,
    known: Mask | None = None,
    random_state: np.random.RandomState,
    numbers: Fragments | None = None,
) -> Embedding:
    """Compute the embedding without fragments; `embed(fragments)` embeds all other nodes.

    A cluster of fewer than `min_size` nodes is a fragment unless it is an island in the graph
    `links`. `known` holds the initial fragments, which stay fragments.
    """
    numbers = numbers or Fragments()
    embedding = first = embed(known)
    while min_size > 0:
        more = small_clusters(embedding, links, n_clusters, min_size, random_state, numbers)
        if more is None:
            break
        fragments = more if embedding.fragments is None else embedding.fragments | more
        if fragments.mean() > numbers.most_fragments:
            return first
        embedding = embed(fragments)
    return embedding


def small_clusters(
    embedding: Embedding,
    links: Graph,
    n_clusters: int,
    min_size: float,
    random_state: np.random.RandomState,
    numbers: Fragments,
) -> Mask | None:
    """Return the nodes of all clusters that are too small and not islands (None: no such cluster).

    A cluster is too small if it has fewer than `min_size` nodes.
    """
    small = np.zeros(len(embedding.vectors), dtype=bool)
    kept = np.flatnonzero(~small if embedding.fragments is None else ~embedding.fragments)
    rows = unit_rows(embedding.vectors[kept])
    labels = cluster_rows(rows, n_clusters, n_init=FRAGMENT_INITS, random_state=random_state)
    for cluster in np.flatnonzero(np.bincount(labels, minlength=n_clusters) < min_size):
        members = kept[labels == cluster]
        outgoing = links[members]
        total, within = float(outgoing.sum()), float(outgoing[:, members].sum())
        if total - within > numbers.island_links * total:
            small[members] = True
    return small if small.any() else None


def label_rows(
    rows: Floats,
    fragments: Mask | None,
    n_clusters: int,
    *,
    n_init: int,
    random_state: np.random.RandomState,
) -> Indices:
    """Cluster the rows that are not fragments; a fragment gets the label of the nearest center."""
    if fragments is None:
        return cluster_rows(rows, n_clusters, n_init=n_init, random_state=random_state)
    kept = rows[~fragments]
    found = cluster_rows(kept, n_clusters, n_init=n_init, random_state=random_state)
    labels = np.empty(len(rows), dtype=np.intp)
    labels[~fragments] = found
    labels[fragments] = labels_of_nearest(rows[fragments], kept, found)
    return labels


def labels_of_nearest(rows: Floats, labeled: Floats, labels: Indices) -> Indices:
    """Give each row the label of the nearest cluster center of the labeled rows."""
    clusters = np.unique(labels)
    centers = np.array([labeled[labels == cluster].mean(axis=0) for cluster in clusters])
    nearest: Indices = clusters[cdist(rows, centers).argmin(axis=1)]
    return nearest


def place_fragments(rows: Floats, fragments: Mask | None, graph: Graph) -> Floats:
    """Move the rows of fragments to the weighted mean of their neighbors: L_ff r_f = W_fk r_k."""
    if fragments is None:
        return rows
    inside, outside = np.flatnonzero(fragments), np.flatnonzero(~fragments)
    links = sparse.csr_array(graph)[inside]
    degrees = links.sum(axis=1)
    laplacian = sparse.diags_array(degrees + SMALLEST_PIVOT * degrees.max()) - links[:, inside]
    solve = sparse_linalg.splu(sparse.csc_array(laplacian)).solve
    placed = rows.copy()
    placed[inside] = solve(links[:, outside] @ rows[outside])
    return placed
