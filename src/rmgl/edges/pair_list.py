"""Some pairs of nodes are candidates: a symmetric pattern, O(pairs) memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges.interface import Evaluation, Vector
from rmgl.parallel import Check

BLOCK_ENTRIES = 1 << 22


class PairList:
    """The pairs of a symmetric pattern. Costs hold each pair twice, once in either row.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> edges = PairList(sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    >>> edges.n_pairs, edges.measure(np.array([[0.0], [1.0], [3.0]]))
    (2, array([1., 1., 4., 4.]))
    """

    def __init__(self, pattern: sparse.csr_array) -> None:
        pattern.sort_indices()
        self.indptr, self.indices = pattern.indptr, pattern.indices
        self.n_nodes = pattern.shape[0]
        self.n_pairs = self.indices.size // 2
        self.max_degree = int(np.diff(self.indptr).max(initial=0))

    def measure(self, X: Any, check: Check = lambda: None) -> Vector:
        out = np.empty(self.indices.size)
        if sparse.issparse(X):
            rows = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))
            chunk = max(1, BLOCK_ENTRIES * self.n_nodes // max(1, X.nnz))
            for at in range(0, out.size, chunk):
                check()
                difference = X[rows[at : at + chunk]] - X[self.indices[at : at + chunk]]
                out[at : at + chunk] = np.asarray((difference * difference).sum(axis=1)).ravel()
            return out
        from rmgl import kernels

        dense = np.ascontiguousarray(X)
        chunk = max(1, BLOCK_ENTRIES * self.n_nodes // max(1, out.size * X.shape[1]))
        for first in range(0, self.n_nodes, chunk):
            check()
            kernels.list_distances(dense, self.indptr, self.indices, first, min(first + chunk, self.n_nodes), out)
        return out

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        from rmgl import kernels

        excess, counts = np.empty(self.n_nodes), np.empty(self.n_nodes)
        squares = kernels.list_excess(u, self.indptr, self.indices, costs, excess, counts)
        return Evaluation(excess, counts, squares)

    def product(self, u: Vector, costs: Vector, v: Vector) -> Vector:
        from rmgl import kernels

        out = np.empty(self.n_nodes)
        kernels.list_product(u, self.indptr, self.indices, costs, v, out)
        return out

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        from rmgl import kernels

        starts = np.empty_like(self.indptr)
        found, data = np.empty_like(self.indices), np.empty(self.indices.size)
        kernels.list_above(u, self.indptr, self.indices, costs, least, starts, found, data)
        end = starts[-1]
        return sparse.csr_array((data[:end].copy(), found[:end].copy(), starts), shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        from rmgl import kernels

        return kernels.list_inner(self.indptr, self.indices, costs, weights.indptr, weights.indices, weights.data)
