"""An edge store of listed pairs: a symmetric pattern, with memory proportional to the number of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.cost_vectors import CostVectors, multiplier
from rmgl.edges.index_types import loop_indices
from rmgl.edges.interface import ActivePairs, Evaluation, Vector
from rmgl.edges.sparse_rows import listed_distances
from rmgl.running.threads import Check, InParts, one_part

Integers = NDArray[np.integer[Any]]
BLOCK_ENTRIES = 1 << 22
"""Entries that are measured between two checks whether the run is to stop."""
LOCAL_ENTRIES = 1 << 16
"""Entries that are scaled at a time, so that what is computed on the way stays in the cache of a processor."""
PARALLEL_ENTRIES = 1 << 18
"""Number of entries from which threads are used; a shorter pass ends before they have started."""


class PairList(CostVectors):
    """The edge store of the pairs of a symmetric pattern. Costs hold each pair twice, once in the row of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> edges = PairList(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    >>> edges.n_pairs, edges.measure(np.array([[0.0], [1.0], [3.0]]))
    (2, array([1., 1., 4., 4.]))
    """

    def __init__(self, pattern: sparse.csr_array, in_parts: InParts = one_part) -> None:
        pattern.sort_indices()
        self.in_parts = in_parts if pattern.nnz >= PARALLEL_ENTRIES else one_part
        self.indptr, self.indices = pattern.indptr, pattern.indices
        self.pairs = loop_indices(pattern)
        self.n_nodes = pattern.shape[0]
        self.n_pairs = self.indices.size // 2
        self.max_degree = int(np.diff(self.indptr).max(initial=0))

    def measure(self, X: Any, check: Check = lambda: None) -> Vector:
        if sparse.issparse(X):
            return listed_distances(X, np.repeat(np.arange(self.n_nodes), np.diff(self.indptr)), self.indices, check)
        from rmgl import kernels

        out = np.empty(self.indices.size)
        dense = np.ascontiguousarray(X)
        chunk = max(1, BLOCK_ENTRIES * self.n_nodes // max(1, out.size * X.shape[1]))

        def measure_rows(first: int, stop: int) -> None:
            for at in range(first, stop, chunk):
                check()
                kernels.list_distances(dense, dense, *self.pairs, at, min(at + chunk, stop), out)

        self.in_parts(measure_rows, self.n_nodes)
        return out

    def entries_of(self, square: NDArray[np.float64]) -> Vector:
        entries: Vector = square[np.repeat(np.arange(self.n_nodes), np.diff(self.indptr)), self.indices]
        return entries

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))
        places = np.flatnonzero(chosen[owner] & chosen[self.indices])
        return places, owner[places], self.indices[places].astype(np.intp)

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        out = np.empty_like(distances)
        chunk = max(1, LOCAL_ENTRIES * self.n_nodes // max(1, out.size))

        def localize_rows(first: int, stop: int) -> None:
            for at in range(first, stop, chunk):
                own, starts = slice(at, min(at + chunk, stop)), self.indptr[at : min(at + chunk, stop) + 1]
                entries, lengths = slice(starts[0], starts[-1]), np.diff(starts)
                others = self.indices[entries]
                local = distances[entries] / (np.repeat(scales[own], lengths) * scales[others])
                np.maximum(local, np.minimum(np.repeat(floors[own], lengths), floors[others]), out=out[entries])

        self.in_parts(localize_rows, self.n_nodes)
        return out

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        excess, counts, squares = self.row_sums(u, costs, 0.0)
        return Evaluation(excess, counts, squares.sum() / 2)

    def row_sums(self, u: Vector, costs: Vector, least: float) -> tuple[Vector, Vector, Vector]:
        """The sums of (t_ij)_+, the number of t_ij that exceed `least`, and the sums of (t_ij)_+^2, row by row."""
        from rmgl import kernels

        excess, counts, squares = (np.empty(self.n_nodes) for _ in range(3))
        pairs = (*self.pairs, costs)
        self.in_parts(lambda first, stop: kernels.list_excess(u, *pairs, least, first, stop, excess, counts, squares), self.n_nodes)
        return excess, counts, squares

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        starts, found, _ = self.above(u, costs, 0.0, counts, weighted=False)

        return ActivePairs(multiplier(starts, found, self.in_parts), passes=1.0, passes_per_product=found.size / max(1, self.indices.size))

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        _, counts, _ = self.row_sums(u, costs, least)
        starts, found, data = self.above(u, costs, least, counts, weighted=True)
        pattern = (found.astype(self.indices.dtype, copy=False), starts.astype(self.indptr.dtype, copy=False))
        return sparse.csr_array((data, *pattern), shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        return float(self.row_products(costs, weights).sum() / 2)

    def row_products(self, costs: Vector, weights: sparse.csr_array) -> Vector:
        """sum_j z_ij w_ij for every node i."""
        from rmgl import kernels

        own, given = (*self.pairs, costs), (*loop_indices(weights), weights.data)
        totals = np.empty(self.n_nodes)
        self.in_parts(lambda first, stop: kernels.list_inner(*own, *given, first, stop, np.empty(self.n_nodes), totals), self.n_nodes)
        return totals

    def above(self, u: Vector, costs: Vector, least: float, counts: Vector, weighted: bool) -> tuple[Integers, Integers, Vector]:
        """Row starts, column indices and (if `weighted`) entries of the CSR matrix of the t_ij > least, with `counts` entries per row."""
        from rmgl import kernels

        starts = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:], dtype=starts.dtype)
        found = np.empty(starts[-1], dtype=np.int32)
        data = np.empty(starts[-1] if weighted else 0)
        self.in_parts(lambda first, stop: kernels.list_above(u, *self.pairs, costs, least, first, stop, starts, found, data), self.n_nodes)
        return starts, found, data


def union_of(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], n: int) -> sparse.csr_array:
    """The symmetric n x n pattern of pairs that are given in one direction or both."""
    ends = left.astype(np.int32, copy=False), right.astype(np.int32, copy=False)  # as loops take them, in half of the memory
    pattern = sparse.csr_array((np.ones(left.size, dtype=bool), ends), shape=(n, n))
    return sparse.csr_array(pattern + pattern.T)
