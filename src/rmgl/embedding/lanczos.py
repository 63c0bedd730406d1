"""The smallest eigenvalues of a large symmetric matrix, by the Lanczos method (ARPACK).

The method multiplies powers of the matrix by one vector, so it spends its time on products with
single vectors. One vector has only one direction in each eigenspace, so a repeated eigenvalue may
be found only once. The matrix without the vectors found so far is therefore searched again until it
has no eigenvalue below the largest one found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from rmgl.edges.interface import loop_indices
from rmgl.embedding.common_graph import DENSE_SHARE, DENSE_SUM_NODES, Graph
from rmgl.matrix import Floats, Indices
from rmgl.running.threads import InParts, one_part

DENSE_NODES = 500
"""Number of nodes up to which LAPACK is faster than an iterative method."""
ROW_BLOCKS = 4
PARALLEL_PRODUCTS = 1 << 20
"""Multiplications below which starting threads takes longer than the product."""
LOOKING = 1e-3
"""Relative tolerance of the check for missed eigenvalues."""
LEAST_BASIS = 20
"""Minimum number of basis vectors between restarts."""
NEARLY_ALIKE = 0.01
"""Largest difference between equivalent nodes that counts as a rounding error."""


class Symmetric(Protocol):
    """A symmetric matrix A, defined by its products with vectors and blocks of columns."""

    def times(self, V: Floats) -> Floats:
        """Return A V."""

    def toarray(self) -> Floats:
        """Return A as an array."""


@dataclass(frozen=True)
class Products:
    """A linear operator, or any other matrix that supports `@`."""

    matrix: Any

    def times(self, V: Floats) -> Floats:
        product: Floats = self.matrix @ V
        return product

    def toarray(self) -> Floats:
        return self.times(np.eye(self.matrix.shape[0]))


@dataclass(frozen=True)
class DenseSymmetric:
    """A dense symmetric array, multiplied in blocks of rows that threads share.

    The blocks do not depend on the number of threads.
    """

    matrix: Floats
    in_parts: InParts = one_part

    def toarray(self) -> Floats:
        return self.matrix

    def times(self, V: Floats) -> Floats:
        n = self.matrix.shape[0]
        bounds = [n * block // ROW_BLOCKS for block in range(ROW_BLOCKS + 1)]
        out = np.empty(V.shape)

        def multiply(first: int, stop: int) -> None:
            for start, end in pairwise(bounds[first : stop + 1]):
                out[start:end] = self.matrix[start:end] @ V

        in_parts = self.in_parts if self.matrix.size >= PARALLEL_PRODUCTS else one_part
        in_parts(multiply, ROW_BLOCKS)
        return out


@dataclass(frozen=True)
class SparseLaplacian:
    """diag(diagonal) - W, for a CSR matrix W; threads share its rows."""

    weights: sparse.csr_array
    diagonal: Floats
    in_parts: InParts = one_part

    def times(self, V: Floats) -> Floats:
        from rmgl import kernels

        V, out, data = np.ascontiguousarray(V), np.empty(V.shape), self.weights.data
        product = kernels.laplacian_product if V.ndim == 1 else kernels.laplacian_block

        def multiply(first: int, stop: int) -> None:
            product(*self.pattern, data, self.diagonal, V, first, stop, out)

        n_products = data.size * (V.size // max(1, len(V)))
        in_parts = self.in_parts if n_products >= PARALLEL_PRODUCTS else one_part
        in_parts(multiply, len(V))
        return out

    def toarray(self) -> Floats:
        dense: Floats = -self.weights.toarray()
        dense[np.diag_indices_from(dense)] += self.diagonal
        return dense

    @cached_property
    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return loop_indices(self.weights)


def laplacian_of(adjacency: Graph, diagonal: Floats, in_parts: InParts) -> Symmetric:
    """Return diag - W, dense if it is small or W is dense."""
    if isinstance(adjacency, np.ndarray):
        laplacian = np.negative(adjacency)
        laplacian[np.diag_indices_from(laplacian)] += diagonal
        return DenseSymmetric(laplacian, in_parts)
    n, own = adjacency.shape[0], SparseLaplacian(adjacency, diagonal, in_parts)
    keep = n > DENSE_SUM_NODES or (n > DENSE_NODES and adjacency.nnz <= DENSE_SHARE * n * n)
    return own if keep else DenseSymmetric(own.toarray(), in_parts)


def smallest_pairs(
    matrix: Symmetric,
    spectrum: tuple[float, float],
    known: Floats,
    count: int,
    *,
    tol: float,
    max_products: int,
    alike: Indices | None = None,
) -> Floats:
    """Compute eigenvectors for the `count` smallest eigenvalues, orthogonal to the known ones.

    All eigenvalues lie in the interval `spectrum`, and residuals are at most `tol`. If that takes
    more than `max_products` products, scipy's `ArpackNoConvergence` is raised. Swapping nodes with
    the same number in `alike` does not change the matrix: their entries start equal and stay equal
    up to rounding, whereas residuals alone would let them differ by `tol`.
    """
    search = partial_spectrum(matrix, spectrum, max_products)
    found, values = ritz(matrix, search(known, count, tol, alike))
    while True:
        everything = np.hstack([known, found])
        if everything.shape[1] >= everything.shape[0] - 1:
            return found
        _, next_value = ritz(matrix, search(everything, 1, LOOKING * (spectrum[1] - spectrum[0])))
        if next_value[0] >= values[-1] - tol:
            return found
        found, values = ritz(matrix, np.hstack([found, search(everything, 1, tol)]))
        found, values = found[:, :count], values[:count]


def partial_spectrum(
    matrix: Symmetric, spectrum: tuple[float, float], max_products: int
) -> Callable[..., Floats]:
    """Return search(known, count, tol, alike), which finds eigenvectors besides the known ones.

    The Lanczos search finds the largest eigenvalues of ceiling - A, with the known eigenvalues
    moved below all others. Every sequence of searches starts from the same vectors, so the result
    depends on the matrix alone.
    """
    floor, ceiling = spectrum
    length = (ceiling - floor) or 1.0
    generator = np.random.RandomState(0)

    def search(known: Floats, count: int, tol: float, alike: Indices | None = None) -> Floats:
        n = known.shape[0]
        start: Any = generator.standard_normal(n)

        def multiply(vector: Floats) -> Floats:
            x = np.ascontiguousarray(vector).reshape(n)
            return ceiling * x - matrix.times(x) - known @ (length * (known.T @ x))

        basis = min(n, max(2 * count + 1, LEAST_BASIS))
        _, vectors = eigsh(
            LinearOperator((n, n), matvec=multiply, dtype=np.float64),
            k=count,
            which="LA",
            tol=tol / length,
            v0=start if alike is None else start[alike],
            ncv=basis,
            maxiter=max(1, max_products // (basis - count)),
        )
        vectors = vectors if alike is None else with_means(vectors, alike)
        left: Floats = linalg.qr(vectors - known @ (known.T @ vectors), mode="economic")[0]
        return left

    return search


def with_means(vectors: Floats, alike: Indices) -> Floats:
    """Replace columns with their means over nodes that are alike, where these hardly differ.

    Restarts of ARPACK let such entries differ by `tol`.
    """
    sums = np.column_stack([np.bincount(alike, weights=column) for column in vectors.T])
    means = (sums / np.bincount(alike)[:, None])[alike]
    return np.where(np.linalg.norm(vectors - means, axis=0) <= NEARLY_ALIKE, means, vectors)


def ritz(matrix: Symmetric, block: Floats) -> tuple[Floats, Floats]:
    """Return the Ritz vectors and values of the matrix in the span of an orthonormal block."""
    values, turn = linalg.eigh(block.T @ matrix.times(block))
    return block @ turn, values
