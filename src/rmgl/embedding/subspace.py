"""Chebyshev-filtered subspace iteration: the smallest eigenvalues of a large symmetric matrix and their eigenvectors.

A block of columns is multiplied with a polynomial of the matrix that is small on [cut, ceiling], where the unwanted eigenvalues
are, and large below; then it is orthonormalized and replaced by its Ritz vectors. The cut is the second largest Ritz value of the block,
because the largest may belong to a random column.
Products with the matrix take nearly all of the time, and the solution of a similar problem is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmgl.edges.index_types import loop_indices
from rmgl.running.threads import InParts, one_part

Block = NDArray[np.float64]

LARGEST_GROWTH = 1e5  # of one filter; larger growth would make orthonormalizing inaccurate
DEGREES = (4, 200)
MARGIN = 3.0  # factor below the tolerance that a filter aims for
TINY = 1e-300
COLUMN_BLOCKS = 4
PARALLEL_PRODUCTS = 1 << 22  # multiplications below which starting threads takes longer than the product


class Symmetric(Protocol):
    """A symmetric matrix A, given by its products with blocks of columns."""

    def times(self, V: Block) -> Block:
        """Return A V."""

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        """Return factor (A - center I) V - last, written into `last`."""


@dataclass(frozen=True)
class Products:
    """A linear operator, or any other matrix that supports `@`."""

    matrix: Any

    def times(self, V: Block) -> Block:
        product: Block = self.matrix @ V
        return product

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        return np.subtract(factor * (self.times(V) - center * V), last, out=last)


@dataclass(frozen=True)
class DenseSymmetric:
    """A dense symmetric array; threads share its columns, in blocks that do not depend on the number of threads.

    A V is computed as (V'A)', which reads memory in order.
    """

    matrix: NDArray[np.float64]
    in_parts: InParts = one_part

    def times(self, V: Block) -> Block:
        n = self.matrix.shape[0]
        bounds = [n * block // COLUMN_BLOCKS for block in range(COLUMN_BLOCKS + 1)]
        turned, out = np.ascontiguousarray(V.T), np.empty((V.shape[1], n))

        def multiply(first: int, stop: int) -> None:
            for start, end in zip(bounds[first:stop], bounds[first + 1 : stop + 1], strict=True):
                out[:, start:end] = turned @ self.matrix[:, start:end]

        self.in_parts(multiply, COLUMN_BLOCKS)
        return np.ascontiguousarray(out.T)

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        return np.subtract(factor * (self.times(V) - center * V), last, out=last)


@dataclass(frozen=True)
class SparseLaplacian:
    """diag(diagonal) - W, for a CSR matrix W; threads share its rows."""

    weights: sparse.csr_array
    diagonal: NDArray[np.float64]
    in_parts: InParts = one_part

    def times(self, V: Block) -> Block:
        return self.recur(V, np.zeros(V.shape), 0.0, 1.0)

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        from rmgl import kernels

        W, block, (indptr, indices) = self.weights, np.ascontiguousarray(V), self.pattern

        def recur_rows(first: int, stop: int) -> None:
            sums = np.empty(V.shape[1])
            kernels.laplacian_recurrence(indptr, indices, W.data, self.diagonal, block, center, factor, first, stop, sums, last)

        (self.in_parts if W.nnz * V.shape[1] >= PARALLEL_PRODUCTS else one_part)(recur_rows, W.shape[0])
        return last

    @cached_property
    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return loop_indices(self.weights)


@dataclass(frozen=True)
class Found:
    """Ritz pairs in ascending order, with their residuals and the number of products they took."""

    vectors: Block
    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    n_products: int


def filtered_subspace(
    matrix: Symmetric,
    spectrum: tuple[float, float],
    known: Block,
    start: Block,
    count: int,
    *,
    tol: float,
    max_products: int,
    explore: bool = False,
) -> Found:
    """Compute the eigenpairs of the smallest eigenvalues orthogonal to the known eigenvectors, from a starting block.

    All eigenvalues lie in the interval `spectrum`. The iteration ends when the first `count` residuals are at most `tol`, or after
    `max_products` products. With `explore` it applies at least one strong filter: a start can meet the tolerance and still miss a smaller
    eigenvalue, which its random columns then find.
    """
    found = _ritz(matrix, _orthonormal(start, known), 1)
    while (explore or found.residuals[:count].max() > tol) and found.n_products < max_products:
        degree, block = _filtered(matrix, spectrum, found, count, 0.0 if explore else tol)
        found = _ritz(matrix, _orthonormal(block, known), found.n_products + degree + 1)
        explore = False
    return found


def _filtered(matrix: Symmetric, spectrum: tuple[float, float], found: Found, count: int, tol: float) -> tuple[int, Block]:
    """Multiply the block with the Chebyshev polynomial of the matrix for [cut, ceiling]; also return its degree.

    The degree is the smallest that brings the wanted residuals to `tol`, limited so that the block can be orthonormalized accurately.
    """
    floor, ceiling = spectrum
    cut = floor + np.clip(found.values[max(count, found.values.size - 1) - 1] - floor, 1e-6 * (ceiling - floor), 0.9 * (ceiling - floor))
    center, half = (ceiling + cut) / 2, (ceiling - cut) / 2
    wanted = min(max(float(found.values[count - 1]), floor), cut - 0.1 * (cut - floor))
    needed = max(MARGIN * found.residuals[:count].max() / max(tol, TINY), 2.0)
    degree = min(_degree(needed, (center - wanted) / half), _degree(LARGEST_GROWTH, (center - floor) / half))
    degree = int(np.clip(degree, *DEGREES))
    last = found.vectors
    block = matrix.recur(last, np.zeros_like(last), center, 1 / half)
    last = last.copy()
    for _ in range(degree - 1):
        last, block = block, matrix.recur(block, last, center, 2 / half)
    return degree, block


def _degree(growth: float, point: float) -> float:
    """Return the degree at which the Chebyshev polynomial of [-1, 1] reaches `growth` at a point > 1."""
    return float(np.arccosh(growth) / np.arccosh(point))


def _orthonormal(block: Block, known: Block) -> Block:
    """Return orthonormal columns that span the block, orthogonal to the known ones."""
    for _ in range(2):
        block = block - known @ (known.T @ block)
        block = block / np.linalg.norm(block, axis=0)
        values, vectors = linalg.eigh(block.T @ block)
        block = block @ (vectors / np.sqrt(np.maximum(values, 1e-14)))
    return block


def _ritz(matrix: Symmetric, block: Block, n_products: int) -> Found:
    """Return the Ritz pairs of the matrix in the span of an orthonormal block."""
    image = matrix.times(block)
    values, turn = linalg.eigh(block.T @ image)
    vectors, image = block @ turn, image @ turn
    residuals = np.linalg.norm(image - vectors * values, axis=0)
    return Found(vectors, values, residuals, n_products)
