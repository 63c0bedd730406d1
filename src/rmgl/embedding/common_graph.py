"""Common graphs: weighted sums of layers, and their connected components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rmgl.edges.interface import loop_indices
from rmgl.matrix import Floats, Indices
from rmgl.running.threads import require_memory

Graph: TypeAlias = sparse.csr_array | Floats
"""Symmetric edge weights; a dense array if many nonzeros make its products faster."""

DENSE_SUM_NODES = 10_000
"""Number of nodes up to which a dense matrix is small compared with all pairwise distances."""
DENSE_SHARE = 0.3
"""If more than this share of all pairs have an edge, products with a dense matrix are faster."""


def weighted_sum(adjacencies: Sequence[sparse.csr_array], weights: Sequence[float]) -> Graph:
    """Return sum_m beta_m W_m, skipping layers of weight zero."""
    used = [pair for pair in zip(adjacencies, weights, strict=True) if pair[1] > 0]
    n = adjacencies[0].shape[0]
    if n <= DENSE_SUM_NODES and sum(adjacency.nnz for adjacency, _ in used) > DENSE_SHARE * n * n:
        return _dense_sum(used, n)
    return _sparse_sum(used, n)


def _sparse_sum(used: Sequence[tuple[sparse.csr_array, float]], n: int) -> sparse.csr_array:
    """Return the weighted sum of adjacency matrices as a sparse matrix."""
    from rmgl import kernels

    indptrs, columns = zip(*(loop_indices(adjacency) for adjacency, _ in used), strict=True)
    sizes = np.cumsum([0, *(adjacency.nnz for adjacency, _ in used)])
    starts = np.array([size + indptr for indptr, size in zip(indptrs, sizes, strict=False)])
    indices = np.concatenate(columns)
    data = np.concatenate([adjacency.data for adjacency, _ in used])
    weights = np.array([weight for _, weight in used])
    place_of, indptr = np.full(n, -1), np.zeros(n + 1, dtype=np.int64)
    found, totals = np.empty_like(indices), np.empty_like(data)
    count = kernels.sum_rows(starts, indices, data, weights, place_of, indptr, found, totals)
    indptr = indptr.astype(indices.dtype) if count <= np.iinfo(indices.dtype).max else indptr
    return sparse.csr_array((totals[:count], found[:count], indptr), shape=(n, n))


def _dense_sum(used: Sequence[tuple[sparse.csr_array, float]], n: int) -> Floats:
    """Return the weighted sum of adjacency matrices as a dense array."""
    from rmgl import kernels

    purpose = f"layers of {n:,} nodes with edges between more than {DENSE_SHARE:.0%} of all pairs"
    require_memory(2 * 8 * n * n, purpose, "use a smaller alpha")
    total = np.zeros((n, n))
    for adjacency, weight in used:
        kernels.add_to_dense(*loop_indices(adjacency), adjacency.data, weight, total)
    return total


def components(adjacency: Graph) -> tuple[int, Indices]:
    """Return the number of connected components, and the component of every node.

    Components are numbered in the order of their first nodes.
    """
    if sparse.issparse(adjacency):
        # strong components of a symmetric graph are its components; finding them copies nothing
        count, labels = csgraph.connected_components(adjacency, directed=True, connection="strong")
        firsts = np.full(count, labels.size)
        np.minimum.at(firsts, labels, np.arange(labels.size))
        return int(count), np.argsort(np.argsort(firsts))[labels]
    labels = np.full(adjacency.shape[0], -1)
    count = 0
    while (left := np.flatnonzero(labels < 0)).size:
        frontier = left[:1]
        while frontier.size:
            labels[frontier] = count
            # once all nodes are reached, the rows of the last ones need not be read
            left = np.flatnonzero(labels < 0)
            frontier = left[adjacency[np.ix_(frontier, left)].any(axis=0)]
        count += 1
    return count, labels
