"""Fragments: small groups of nodes that take a column of the embedding, and a cluster, for themselves.

k-means on an embedding may find a cluster of a handful of nodes: copies of one row, or close rows that keep most of their edge weight to
themselves. Such a cluster is a *fragment* if it is smaller than a given size and yet no island: more than a twentieth of its links lead
out of it. The embedding is computed again without the nodes of all fragments, until no cluster is a fragment; if more than a fifth of
all nodes would have to go, none does. In the end fragments are placed at the weighted mean of their neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial.distance import cdist

from rmgl.embedding.eigenvectors import Embedding, Graph, judged, smallest_eigenvectors, unit_rows
from rmgl.embedding.labels import cluster_rows
from rmgl.running.threads import InParts
from rmgl.views.canonical import alike_among

MAX_ISLAND_LINKS = 0.05
"""Share of the links of a group that lead out of it, up to which the group is an island."""
MAX_SHARE = 0.2
"""Share of all nodes beyond which no fragment is left out."""
N_INIT = 3
SMALLEST_PIVOT = 1e-12
"""Added to the diagonal, relative to its largest entry, so that nodes without a path to others can be placed (at the origin)."""

Mask: TypeAlias = NDArray[np.bool_]


def embed_without(
    graph: Graph, n_vectors: int, fragments: Mask | None, *, alike: NDArray[np.intp] | None = None, **options: Any
) -> Embedding:
    """Embed the nodes that are not fragments; the rows of the fragments are zero."""
    if fragments is None:
        return smallest_eigenvectors(graph, n_vectors, alike=alike, **options)
    kept = np.flatnonzero(~fragments)
    return smallest_eigenvectors(graph[kept][:, kept], n_vectors, alike=alike_among(alike, kept), **options).among(kept, fragments)


def judge_without(graph: Graph, embedding: Embedding, in_parts: InParts) -> Embedding:
    """Measure how well an embedding solves the eigenvalue problem of another graph, on the nodes that are not fragments."""
    if embedding.fragments is None:
        return judged(graph, embedding, in_parts)
    kept = np.flatnonzero(~embedding.fragments)
    own = replace(embedding, vectors=embedding.vectors[kept], fragments=None)
    return judged(graph[kept][:, kept], own, in_parts).among(kept, embedding.fragments)


def find_fragments(
    embed: Callable[[Mask | None], Embedding],
    links: Graph,
    n_clusters: int,
    min_size: float,
    *,
    known: Mask | None = None,
    random_state: np.random.RandomState,
) -> Embedding:
    """The embedding without fragments, which it names; `embed(fragments)` is the embedding without the given ones.

    A cluster of fewer than `min_size` nodes is a fragment unless it is an island in the graph `links`. `known` holds fragments to begin
    with; they stay fragments.
    """
    embedding = first = embed(known)
    while min_size > 0:
        more = small_clusters(embedding, links, n_clusters, min_size, random_state)
        if more is None:
            break
        fragments = more if embedding.fragments is None else embedding.fragments | more
        if fragments.mean() > MAX_SHARE:
            return first
        embedding = embed(fragments)
    return embedding


def small_clusters(
    embedding: Embedding, links: Graph, n_clusters: int, min_size: float, random_state: np.random.RandomState
) -> Mask | None:
    """The nodes of all clusters of fewer than `min_size` nodes that are no islands; None if there are none."""
    kept = np.arange(len(embedding.vectors)) if embedding.fragments is None else np.flatnonzero(~embedding.fragments)
    labels = cluster_rows(unit_rows(embedding.vectors[kept]), n_clusters, n_init=N_INIT, random_state=random_state)
    found = np.zeros(len(embedding.vectors), dtype=bool)
    for cluster in np.flatnonzero(np.bincount(labels, minlength=n_clusters) < min_size):
        members = kept[labels == cluster]
        own = links[members]
        total, within = float(own.sum()), float(own[:, members].sum())
        if total - within > MAX_ISLAND_LINKS * total:
            found[members] = True
    return found if found.any() else None


def label_rows(
    rows: NDArray[np.float64], fragments: Mask | None, n_clusters: int, *, n_init: int, random_state: np.random.RandomState
) -> NDArray[np.intp]:
    """k-means on the rows that are not fragments; a fragment gets the label of the nearest center."""
    if fragments is None:
        return cluster_rows(rows, n_clusters, n_init=n_init, random_state=random_state)
    labels = np.empty(len(rows), dtype=np.intp)
    labels[~fragments] = cluster_rows(rows[~fragments], n_clusters, n_init=n_init, random_state=random_state)
    centers = np.array([rows[~fragments & (labels == cluster)].mean(axis=0) for cluster in np.unique(labels[~fragments])])
    labels[fragments] = np.unique(labels[~fragments])[cdist(rows[fragments], centers).argmin(axis=1)]
    return labels


def place_fragments(rows: NDArray[np.float64], fragments: Mask | None, graph: Graph) -> NDArray[np.float64]:
    """The rows with those of the fragments at the weighted mean of their neighbors: L_ff r_f = W_fk r_k."""
    if fragments is None:
        return rows
    graph = sparse.csr_array(graph)
    inside, outside = np.flatnonzero(fragments), np.flatnonzero(~fragments)
    own = graph[inside]
    degrees = own.sum(axis=1)
    laplacian = sparse.diags_array(degrees + SMALLEST_PIVOT * degrees.max()) - own[:, inside]
    placed = rows.copy()
    placed[inside] = sparse_linalg.splu(sparse.csc_array(laplacian)).solve(own[:, outside] @ rows[outside])
    return placed
