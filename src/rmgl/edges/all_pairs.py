"""An edge store in which every pair of nodes is a candidate."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform

from rmgl.edges.cost_vectors import CostVectors, multiplier
from rmgl.edges.index_types import loop_indices
from rmgl.edges.interface import ActivePairs, Evaluation, Vector
from rmgl.edges.sparse_rows import listed_distances
from rmgl.running.memory import require_memory
from rmgl.running.threads import Check, InParts, one_part

CANCELLATION = 1e-6
"""Below this share of |x_i|^2 + |x_j|^2 the formula |x|^2 + |y|^2 - 2x'y has lost more than six of its sixteen digits, so the
distance is computed from the difference of the rows instead."""
BLOCK_ENTRIES = 1 << 19
"""Entries of a block of products."""
FEW = 0.02
"""Share of active pairs below which it pays to copy them."""
PARALLEL_PAIRS = 1 << 20
"""Number of pairs from which a pass is divided into blocks for threads."""
N_BLOCKS = 4


class AllPairs(CostVectors):
    """The edge store of all N(N-1)/2 pairs of nodes, row by row above the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> edges = AllPairs(3)
    >>> edges.measure(np.array([[0.0], [1.0], [3.0]]))
    array([1., 9., 4.])
    """

    def __init__(self, n_nodes: int, in_parts: InParts = one_part) -> None:
        self.in_parts = in_parts
        self.n_nodes = n_nodes
        self.n_pairs = n_nodes * (n_nodes - 1) // 2
        self.max_degree = n_nodes - 1

    def require_memory(self, n_vectors: int, purpose: str) -> None:
        """Raise a MemoryError, before anything is allocated, if `n_vectors` vectors over all pairs would not fit."""
        require_memory(
            8 * self.n_pairs * n_vectors,
            f"{purpose}: all {self.n_pairs:,} pairs of {self.n_nodes:,} rows",
            "use lists of neighbors (candidates=20 is exact as well; 'approximate' is faster) and a smaller alpha",
        )

    def measure(self, X: NDArray[np.float64] | sparse.csr_array, check: Check = lambda: None) -> Vector:
        from rmgl import kernels

        if not sparse.issparse(X):
            X = np.ascontiguousarray(X - X.mean(axis=0))
        norms = np.asarray((X * X).sum(axis=1), dtype=np.float64).ravel()
        distances = np.empty(self.n_pairs)
        block = max(1, BLOCK_ENTRIES // self.n_nodes)
        rows = np.empty((0, 0)) if sparse.issparse(X) else X

        def measure_blocks(begin: int, end: int) -> None:
            for first in range(begin * block, min(end * block, self.n_nodes - 1), block):
                check()
                gram: Any = X[first : first + block] @ X[first:].T
                gram = gram.toarray() if sparse.issparse(gram) else gram
                kernels.fill_distances(first, gram, norms, rows, CANCELLATION, distances)
                if sparse.issparse(X):
                    self._repair_sparse(X, norms, distances, first, min(first + block, self.n_nodes - 1))

        self.in_parts(measure_blocks, -(-(self.n_nodes - 1) // block))
        return distances

    def _repair_sparse(self, X: sparse.csr_array, norms: Vector, distances: Vector, first: int, stop: int) -> None:
        """Recompute the distances of near-duplicates among the pairs of rows first..stop-1, from the difference of their rows."""
        for i in range(first, stop):
            row = distances[self._row_start(i) : self._row_start(i + 1)]
            close = np.flatnonzero(row < CANCELLATION * (norms[i] + norms[i + 1 :]))
            if close.size:
                row[close] = listed_distances(X, close + i + 1, np.full(close.size, i))

    def entries_of(self, square: NDArray[np.float64]) -> Vector:
        entries: Vector = squareform(square, checks=False)
        return entries

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        nodes = np.flatnonzero(chosen)
        first, second = np.triu_indices(nodes.size, 1)
        left, right = nodes[first], nodes[second]
        return left * (2 * self.n_nodes - left - 1) // 2 + right - left - 1, left, right

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        from rmgl import kernels

        out = np.empty_like(distances)
        self._over_blocks(lambda first, stop: kernels.pair_localize(distances, scales, floors, first, stop, out))
        return out

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        return self._evaluate(u, costs, 0.0)

    def _evaluate(self, u: Vector, costs: Vector, least: float) -> Evaluation:
        """Like `evaluate`, with the pairs counted whose t_ij exceeds `least`."""
        from rmgl import kernels

        def evaluate_rows(first: int, stop: int) -> tuple[Vector, Vector, float]:
            excess, counts = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
            return excess, counts, kernels.pair_excess(u, costs, least, first, stop, excess, counts)

        excess, counts, squares = zip(*self._over_blocks(evaluate_rows), strict=True)
        return Evaluation(sum(excess), sum(counts), sum(squares))

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        from rmgl import kernels

        if counts.sum() > FEW * 2 * self.n_pairs:
            return ActivePairs(lambda v: self._full_product(u, costs, v), passes=0.0, passes_per_product=1.0)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        found = np.empty(starts[-1], dtype=np.int32)
        kernels.pair_above(u, costs, 0.0, 0, self.n_nodes, starts[:-1].copy(), found, np.empty(0))

        return ActivePairs(multiplier(starts, found, self.in_parts), passes=1.0, passes_per_product=found.size / (2 * self.n_pairs))

    def _full_product(self, u: Vector, costs: Vector, v: Vector) -> Vector:
        from rmgl import kernels

        def multiply_rows(first: int, stop: int) -> Vector:
            out = np.zeros(self.n_nodes)
            kernels.pair_product(u, costs, v, first, stop, out)
            return out

        product: Vector = sum(self._over_blocks(multiply_rows))
        return product

    def _over_blocks(self, work: Callable[[int, int], Any]) -> list[Any]:
        """The list of work(first, stop) for blocks of rows with about equally many pairs.

        A pair adds to both of its nodes, so every block has its own sums. The blocks do not depend on the number of threads.
        """
        bounds = self._blocks
        parts = self.in_parts(lambda first, stop: [work(bounds[b], bounds[b + 1]) for b in range(first, stop)], len(bounds) - 1)
        return [result for part in parts for result in part]

    @cached_property
    def _blocks(self) -> list[int]:
        """The first row of every block, and the number of rows."""
        if self.n_pairs < PARALLEL_PAIRS:
            return [0, self.n_nodes]
        shares = np.arange(1, N_BLOCKS) / N_BLOCKS
        return [0, *(self.n_nodes * (1 - np.sqrt(1 - shares))).astype(int).tolist(), self.n_nodes]

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        from rmgl import kernels

        counts = self._evaluate(u, costs, least).counts
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = np.empty(indptr[-1])
        places = indptr[:-1].copy()
        self.in_parts(lambda first, stop: kernels.pair_above(u, costs, least, first, stop, places, indices, data), self.n_nodes)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_array((data, indices, indptr), shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        from rmgl import kernels

        return kernels.pair_inner(costs, *loop_indices(weights), weights.data)

    def _row_start(self, i: int) -> int:
        """Index of pair (i, i+1)."""
        return i * (2 * self.n_nodes - i - 1) // 2
