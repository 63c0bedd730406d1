"""Chebyshev-filtered subspace iteration: the smallest eigenvalues of a large symmetric matrix and their eigenvectors.

A block of columns is multiplied with a polynomial of the matrix that is small on [cut, ceiling], where the unwanted eigenvalues
are, and large below; then it is made orthonormal and turned to the Ritz vectors it holds. The cut is the block's largest Ritz value.
Products with the matrix are nearly all of the work, and a block that nearly solves a neighbouring problem is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rmgl.parallel import Rows, one_part

Block = NDArray[np.float64]

LARGEST_GROWTH = 1e5  # of one filter: what orthonormalising in double precision bears easily
DEGREES = (4, 200)


class Symmetric(Protocol):
    """A symmetric matrix as this iteration sees it."""

    def times(self, V: Block) -> Block:
        """A V."""

    def recur(self, V: Block, last: Block, centre: float, factor: float) -> Block:
        """factor (A - centre) V - last, written into `last`."""


@dataclass(frozen=True)
class Products:
    """A matrix or linear operator."""

    matrix: Any

    def times(self, V: Block) -> Block:
        return self.matrix @ V

    def recur(self, V: Block, last: Block, centre: float, factor: float) -> Block:
        return np.subtract(factor * (self.matrix @ V - centre * V), last, out=last)


@dataclass(frozen=True)
class SparseLaplacian:
    """diag(diagonal) - W, for a CSR matrix W; threads share its rows."""

    weights: sparse.csr_array
    diagonal: NDArray[np.float64]
    rows: Rows = one_part

    def times(self, V: Block) -> Block:
        return self.recur(V, np.zeros(V.shape), 0.0, 1.0)

    def recur(self, V: Block, last: Block, centre: float, factor: float) -> Block:
        from rmgl import kernels

        W, block = self.weights, np.ascontiguousarray(V)

        def recur_rows(first: int, stop: int) -> None:
            kernels.laplacian_recurrence(W.indptr, W.indices, W.data, self.diagonal, block, centre, factor, first, stop, last)

        self.rows(recur_rows, W.shape[0])
        return last


@dataclass(frozen=True)
class Found:
    """Ritz pairs in ascending order, and what they took."""

    vectors: Block
    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    n_products: int


def filtered_subspace(
    matrix: Symmetric, spectrum: tuple[float, float], known: Block, start: Block, count: int, *, tol: float, max_products: int
) -> Found:
    """Eigenpairs of the smallest eigenvalues orthogonal to the known eigenvectors, from a starting block.

    All eigenvalues lie in the interval `spectrum`. Ends when the first `count` residuals are at most `tol`, or `max_products` are spent.
    """
    found = _ritz(matrix, _orthonormal(start, known), 1)
    while found.residuals[:count].max(initial=0.0) > tol and found.n_products < max_products:
        degree, block = _filtered(matrix, spectrum, found)
        found = _ritz(matrix, _orthonormal(block, known), found.n_products + degree + 1)
    return found


def _filtered(matrix: Symmetric, spectrum: tuple[float, float], found: Found) -> tuple[int, Block]:
    """The Chebyshev polynomial of [cut, ceiling] of the matrix, times the block."""
    floor, ceiling = spectrum
    cut = floor + np.clip(found.values[-1] - floor, 1e-6 * (ceiling - floor), 0.9 * (ceiling - floor))
    centre, half = (ceiling + cut) / 2, (ceiling - cut) / 2
    growth = np.arccosh((centre - floor) / half)
    degree = int(np.clip(np.arccosh(LARGEST_GROWTH) / growth, *DEGREES))
    last = found.vectors
    block = matrix.recur(last, np.zeros_like(last), centre, 1 / half)
    last = last.copy()
    for _ in range(degree - 1):
        last, block = block, matrix.recur(block, last, centre, 2 / half)
    return degree, block


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
