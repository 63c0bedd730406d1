"""Chebyshev-filtered subspace iteration: the smallest eigenvalues of a large symmetric matrix and their eigenvectors.

A block of columns is multiplied with a polynomial of the matrix that is small on [cut, ceiling], where the unwanted eigenvalues
are, and large below; then it is made orthonormal and turned to the Ritz vectors it holds. The cut is the block's last Ritz value but
one: the last one may belong to a random column.
Products with the matrix are nearly all of the work, and a block that nearly solves a neighboring problem is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmgl.running.threads import InParts, one_part

Block = NDArray[np.float64]

LARGEST_GROWTH = 1e5  # of one filter: what orthonormalizing in double precision bears easily
DEGREES = (4, 200)
MARGIN = 3.0  # by which a filter aims below the tolerance
TINY = 1e-300
COLUMN_BLOCKS = 4
PARALLEL_PRODUCTS = 1 << 22  # below it a product is over before threads have started


class Symmetric(Protocol):
    """A symmetric matrix as this iteration sees it."""

    def times(self, V: Block) -> Block:
        """A V."""

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        """factor (A - center) V - last, written into `last`."""


@dataclass(frozen=True)
class Products:
    """A linear operator, or anything else that knows its products with a block."""

    matrix: Any

    def times(self, V: Block) -> Block:
        return self.matrix @ V

    def recur(self, V: Block, last: Block, center: float, factor: float) -> Block:
        return np.subtract(factor * (self.matrix @ V - center * V), last, out=last)


@dataclass(frozen=True)
class DenseSymmetric:
    """A dense symmetric array; threads share its columns, in blocks that do not depend on their number.

    A V is taken as (V'A)', which runs through memory in the better direction.
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

        W, block = self.weights, np.ascontiguousarray(V)

        def recur_rows(first: int, stop: int) -> None:
            kernels.laplacian_recurrence(W.indptr, W.indices, W.data, self.diagonal, block, center, factor, first, stop, last)

        (self.in_parts if W.nnz * V.shape[1] >= PARALLEL_PRODUCTS else one_part)(recur_rows, W.shape[0])
        return last


@dataclass(frozen=True)
class Found:
    """Ritz pairs in ascending order, and what they took."""

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
    """Eigenpairs of the smallest eigenvalues orthogonal to the known eigenvectors, from a starting block.

    All eigenvalues lie in the interval `spectrum`. Ends when the first `count` residuals are at most `tol`, or `max_products` are spent.
    `explore` applies one strong filter in any case: a start may solve the problem and yet miss a smaller eigenvalue, which its random
    columns then bring in.
    """
    found = _ritz(matrix, _orthonormal(start, known), 1)
    while (explore or found.residuals[:count].max() > tol) and found.n_products < max_products:
        degree, block = _filtered(matrix, spectrum, found, count, 0.0 if explore else tol)
        found = _ritz(matrix, _orthonormal(block, known), found.n_products + degree + 1)
        explore = False
    return found


def _filtered(matrix: Symmetric, spectrum: tuple[float, float], found: Found, count: int, tol: float) -> tuple[int, Block]:
    """The Chebyshev polynomial of [cut, ceiling] of the matrix, times the block.

    Its degree is the one that brings the wanted residuals to `tol`, or as much as orthonormalizing bears.
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


def _degree(growth: float, place: float) -> float:
    """The degree at which the Chebyshev polynomial of [-1, 1] reaches `growth` at a place beyond 1."""
    return float(np.arccosh(growth) / np.arccosh(place))


def _orthonormal(block: Block, known: Block) -> Block:
    """Orthonormal columns that span the block without its part along the known ones."""
    for _ in range(2):
        block = block - known @ (known.T @ block)
        block = block / np.linalg.norm(block, axis=0)
        values, vectors = linalg.eigh(block.T @ block)
        block = block @ (vectors / np.sqrt(np.maximum(values, 1e-14)))
    return block


def _ritz(matrix: Symmetric, block: Block, n_products: int) -> Found:
    image = matrix.times(block)
    values, turn = linalg.eigh(block.T @ image)
    vectors, image = block @ turn, image @ turn
    residuals = np.linalg.norm(image - vectors * values, axis=0)
    return Found(vectors, values, residuals, n_products)
