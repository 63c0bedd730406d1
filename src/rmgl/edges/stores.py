"""Pair stores in memory: all pairs of nodes (`AllPairs`), or listed ones (`PairList`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform

from rmgl import kernels
from rmgl.edges.interface import (
    ActivePairs,
    CostVectors,
    Evaluation,
    Floats,
    Nodes,
    Vector,
    loop_indices,
    multiplier,
)
from rmgl.matrix import listed_distances
from rmgl.running.threads import Check, InParts, no_check, one_part, require_memory

CANCELLATION = 1e-6
"""Share of |x_i|^2 + |x_j|^2 below which a distance is computed from the difference of the rows.

Below it, the formula |x|^2 + |y|^2 - 2x'y has lost more than six of its sixteen digits."""
PRODUCT_ENTRIES = 1 << 19
"""Number of entries in a block of products of rows."""
FEW_ACTIVE = 0.02
"""Share of active pairs among all pairs below which copying them saves time."""
PARALLEL_PAIRS = 1 << 20
"""Minimum number of pairs for which a pass over all pairs is divided into blocks for threads."""
PARALLEL_BLOCKS = 4
LOCAL_ENTRIES = 1 << 16
"""Number of list entries that are scaled at a time, so that they stay in the processor's cache."""
UNCHECKED_ENTRIES = 1 << 22
"""Number of entries measured between two checks of whether to stop the run."""
PARALLEL_ENTRIES = 1 << 18
"""Minimum number of list entries for which threads are used; they take time to start."""
Integers = NDArray[np.integer[Any]]


class AllPairs(CostVectors):
    """The pair store of all N(N-1)/2 pairs of nodes, row by row above the diagonal.

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
        """Raise a MemoryError, before any allocation, if `n_vectors` vectors would not fit."""
        require_memory(
            8 * self.n_pairs * n_vectors,
            f"{purpose}: all {self.n_pairs:,} pairs of {self.n_nodes:,} rows",
            "use neighbor lists (candidates=20 is exact as well; 'approximate' is faster) "
            "and a smaller alpha",
        )

    def measure(self, X: Floats | sparse.csr_array, check: Check = no_check) -> Vector:
        is_sparse = sparse.issparse(X)
        if not is_sparse:
            X = np.ascontiguousarray(X - X.mean(axis=0))
        norms = np.asarray((X * X).sum(axis=1), dtype=np.float64).ravel()
        distances = np.empty(self.n_pairs)
        block, last = max(1, PRODUCT_ENTRIES // self.n_nodes), self.n_nodes - 1
        rows = np.empty((0, 0)) if is_sparse else X

        def measure_blocks(begin: int, end: int) -> None:
            for first in range(begin * block, min(end * block, last), block):
                check()
                gram: Any = X[first : first + block] @ X[first:].T
                gram = gram.toarray() if is_sparse else gram
                kernels.fill_distances(first, gram, norms, rows, CANCELLATION, distances)
                if is_sparse:
                    self._repair_sparse(X, norms, distances, first, min(first + block, last))

        self.in_parts(measure_blocks, -(-last // block))
        return distances

    def _repair_sparse(
        self, X: sparse.csr_array, norms: Vector, distances: Vector, first: int, stop: int
    ) -> None:
        """Recompute distances to near-duplicates in rows first..stop-1, from differences."""
        for i in range(first, stop):
            row = distances[self._row_start(i) : self._row_start(i + 1)]
            close = np.flatnonzero(row < CANCELLATION * (norms[i] + norms[i + 1 :]))
            if close.size:
                row[close] = listed_distances(X, close + i + 1, np.full(close.size, i))

    def entries_of(self, square: Floats) -> Vector:
        entries: Vector = squareform(square, checks=False)
        return entries

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[Nodes, Nodes, Nodes]:
        nodes = np.flatnonzero(chosen)
        first, second = np.triu_indices(nodes.size, 1)
        left, right = nodes[first], nodes[second]
        return left * (2 * self.n_nodes - left - 1) // 2 + right - left - 1, left, right

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        out = np.empty_like(distances)

        def localize_rows(first: int, stop: int) -> None:
            kernels.pair_localize(distances, scales, floors, first, stop, out)

        self._over_blocks(localize_rows)
        return out

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        return self._evaluate(u, costs, 0.0)

    def _evaluate(self, u: Vector, costs: Vector, least: float) -> Evaluation:
        """Evaluate the sums, counting the pairs whose t_ij exceeds `least`."""

        def evaluate_rows(first: int, stop: int) -> tuple[Vector, Vector, float]:
            excess, counts = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
            return excess, counts, kernels.pair_excess(u, costs, least, first, stop, excess, counts)

        excess, counts, squares = zip(*self._over_blocks(evaluate_rows), strict=True)
        return Evaluation(sum(excess), sum(counts), sum(squares))

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        if counts.sum() > FEW_ACTIVE * 2 * self.n_pairs:
            return ActivePairs(lambda v: self._full_product(u, costs, v), 0.0, 1.0)
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        indices = np.empty(starts[-1], dtype=np.int32)
        kernels.pair_above(u, costs, 0.0, 0, self.n_nodes, starts[:-1].copy(), indices, np.empty(0))
        multiply = multiplier(starts, indices, self.in_parts)
        return ActivePairs(multiply, 1.0, indices.size / (2 * self.n_pairs))

    def _full_product(self, u: Vector, costs: Vector, v: Vector) -> Vector:
        def multiply_rows(first: int, stop: int) -> Vector:
            out = np.zeros(self.n_nodes)
            kernels.pair_product(u, costs, v, first, stop, out)
            return out

        product: Vector = sum(self._over_blocks(multiply_rows))
        return product

    def _over_blocks(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Return the list of work(first, stop) for blocks of rows with similar numbers of pairs.

        A pair adds to both of its nodes, so every block has its own sums. The blocks do not depend
        on the number of threads.
        """
        bounds = self._blocks
        parts = self.in_parts(
            lambda first, stop: [work(bounds[b], bounds[b + 1]) for b in range(first, stop)],
            len(bounds) - 1,
        )
        return [result for part in parts for result in part]

    @cached_property
    def _blocks(self) -> list[int]:
        """The first row of every block, and the number of rows."""
        n = self.n_nodes
        if self.n_pairs < PARALLEL_PAIRS:
            return [0, n]
        shares = np.arange(1, PARALLEL_BLOCKS) / PARALLEL_BLOCKS
        return [0, *(n * (1 - np.sqrt(1 - shares))).astype(int).tolist(), n]

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        counts = self._evaluate(u, costs, least).counts
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        places = indptr[:-1].copy()

        def write_rows(first: int, stop: int) -> None:
            kernels.pair_above(u, costs, least, first, stop, places, indices, data)

        self.in_parts(write_rows, self.n_nodes)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_array((data, indices, indptr), shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        return kernels.pair_inner(costs, *loop_indices(weights), weights.data)

    def _row_start(self, i: int) -> int:
        """Return the index of pair (i, i+1)."""
        return i * (2 * self.n_nodes - i - 1) // 2


class PairList(CostVectors):
    """The pair store of the pairs in a symmetric pattern.

    Costs hold each pair twice, once in the row of each node.

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

    def measure(self, X: Any, check: Check = no_check) -> Vector:
        if sparse.issparse(X):
            return listed_distances(X, self.owners, self.indices, check)
        out = np.empty(self.indices.size)
        dense = np.ascontiguousarray(X)
        chunk = max(1, UNCHECKED_ENTRIES * self.n_nodes // max(1, out.size * X.shape[1]))

        def measure_rows(first: int, stop: int) -> None:
            for at in range(first, stop, chunk):
                check()
                kernels.list_distances(dense, dense, *self.pairs, at, min(at + chunk, stop), out)

        self.in_parts(measure_rows, self.n_nodes)
        return out

    @property
    def owners(self) -> Nodes:
        """The node whose row holds each entry."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    def entries_of(self, square: Floats) -> Vector:
        entries: Vector = square[self.owners, self.indices]
        return entries

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[Nodes, Nodes, Nodes]:
        owners = self.owners
        places = np.flatnonzero(chosen[owners] & chosen[self.indices])
        return places, owners[places], self.indices[places].astype(np.intp)

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        out = np.empty_like(distances)
        chunk = max(1, LOCAL_ENTRIES * self.n_nodes // max(1, out.size))

        def localize_rows(first: int, stop: int) -> None:
            for at in range(first, stop, chunk):
                end = min(at + chunk, stop)
                starts = self.indptr[at : end + 1]
                entries, lengths = slice(starts[0], starts[-1]), np.diff(starts)
                others = self.indices[entries]
                local = distances[entries] / (np.repeat(scales[at:end], lengths) * scales[others])
                lowest = np.minimum(np.repeat(floors[at:end], lengths), floors[others])
                np.maximum(local, lowest, out=out[entries])

        self.in_parts(localize_rows, self.n_nodes)
        return out

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        excess, counts, squares = self.row_sums(u, costs, 0.0)
        return Evaluation(excess, counts, squares.sum() / 2)

    def row_sums(self, u: Vector, costs: Vector, least: float) -> tuple[Vector, Vector, Vector]:
        """Sum over each row: (t_ij)_+, the number of t_ij > least, and (t_ij)_+^2."""
        excess, counts, squares = (np.empty(self.n_nodes) for _ in range(3))

        def sum_rows(first: int, stop: int) -> None:
            sums = (excess, counts, squares)
            kernels.list_excess(u, *self.pairs, costs, least, first, stop, *sums)

        self.in_parts(sum_rows, self.n_nodes)
        return excess, counts, squares

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        starts, indices, _ = self.above(u, costs, 0.0, counts, weighted=False)
        multiply = multiplier(starts, indices, self.in_parts)
        return ActivePairs(multiply, 1.0, indices.size / max(1, self.indices.size))

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        _, counts, _ = self.row_sums(u, costs, least)
        starts, indices, data = self.above(u, costs, least, counts, weighted=True)
        indices = indices.astype(self.indices.dtype, copy=False)
        starts = starts.astype(self.indptr.dtype, copy=False)
        return sparse.csr_array((data, indices, starts), shape=(self.n_nodes, self.n_nodes))

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        return float(self.row_products(costs, weights).sum() / 2)

    def row_products(self, costs: Vector, weights: sparse.csr_array) -> Vector:
        """Compute sum_j z_ij w_ij for every node i."""
        pairs, given = (*self.pairs, costs), (*loop_indices(weights), weights.data)
        totals = np.empty(self.n_nodes)

        def multiply_rows(first: int, stop: int) -> None:
            kernels.list_inner(*pairs, *given, first, stop, np.empty(self.n_nodes), totals)

        self.in_parts(multiply_rows, self.n_nodes)
        return totals

    def above(
        self, u: Vector, costs: Vector, least: float, counts: Vector, weighted: bool
    ) -> tuple[Integers, Integers, Vector]:
        """Return row starts, columns and (if `weighted`) entries of the matrix of the t_ij > least.

        `counts` holds the number of entries in each of its rows.
        """
        starts = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:], dtype=starts.dtype)
        indices = np.empty(starts[-1], dtype=np.int32)
        data = np.empty(starts[-1] if weighted else 0)

        def write_rows(first: int, stop: int) -> None:
            matrix = (starts, indices, data)
            kernels.list_above(u, *self.pairs, costs, least, first, stop, *matrix)

        self.in_parts(write_rows, self.n_nodes)
        return starts, indices, data


def union_of(left: Integers, right: Integers, n: int) -> sparse.csr_array:
    """Return the symmetric n x n pattern of pairs listed in one direction or both."""
    # the index type of the loops needs half the memory
    ends = left.astype(np.int32, copy=False), right.astype(np.int32, copy=False)
    pattern = sparse.csr_array((np.ones(left.size, dtype=bool), ends), shape=(n, n))
    return sparse.csr_array(pattern + pattern.T)
