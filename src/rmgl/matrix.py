"""Functions for dense and sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
"""Labels, or the positions of rows, nodes or entities."""
Mask: TypeAlias = NDArray[np.bool_]
if TYPE_CHECKING:
    Matrix: TypeAlias = Floats | sparse.csr_array
    """A dense float64 array, or a float64 `scipy.sparse.csr_array`."""
else:
    Matrix: TypeAlias = Any  # records from files have their own checks
DIFFERENCES = 1 << 18
"""Number of nonzeros in the sparse rows that are subtracted at a time. Each nonzero needs a few
hundred bytes.
"""


def is_sparse(X: Any) -> TypeGuard[sparse.csr_array]:
    """Return whether a matrix is sparse. Unlike with SciPy's function, type checkers can infer the
    type.
    """
    return bool(sparse.issparse(X))


def as_dense(X: Matrix) -> Floats:
    """Return a matrix as a dense array. A dense array is returned unchanged."""
    return X.toarray() if is_sparse(X) else X


def padded(observed: Matrix, rows: Indices, n_rows: int) -> Matrix:
    """Put the observed rows of a view at their positions among all rows. Missing rows are zero."""
    if is_sparse(observed):
        placement = sparse.csr_array(
            (np.ones(rows.size), (rows, np.arange(rows.size))), shape=(n_rows, rows.size)
        )
        return sparse.csr_array(placement @ observed)
    X = np.zeros((n_rows, observed.shape[1]))
    X[rows] = observed
    return X


def total_variance(X: Matrix) -> float:
    """Return the sum of the column variances, which is half the mean squared distance between two
    random rows. NaN marks missing cells.
    """
    if is_sparse(X):
        return float((X * X).mean(axis=0).sum() - np.square(X.mean(axis=0)).sum())
    total = float(X.var(axis=0).sum())
    return float(np.nanvar(X, axis=0).sum()) if np.isnan(total) else total


def squared_lengths(rows: Matrix) -> Floats:
    """Return |x|^2 for every row x of a dense or sparse matrix."""
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def side_by_side(matrices: Sequence[Matrix]) -> Matrix:
    """Concatenate the columns of all matrices. The result is sparse if any of them is."""
    if any(is_sparse(X) for X in matrices):
        return sparse.csr_array(sparse.hstack(matrices))
    return np.hstack(matrices)


def square_in_order(X: Matrix, order: Indices) -> Matrix:
    """Reorder rows and columns of a square matrix. Entries of a sparse matrix stay sorted."""
    square = X[order][:, order]
    if is_sparse(square):
        square.sort_indices()
    return square


def listed_distances(
    X: sparse.csr_array,
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    check: Callable[[], None] = lambda: None,
) -> Floats:
    """Return the squared distances between rows left[0] and right[0], left[1] and right[1], and so
    on, computed from differences.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 0.0]]))
    >>> listed_distances(X, np.array([0, 1]), np.array([1, 2]))
    array([4., 5.])
    """
    distances = np.empty(len(left))
    chunk = max(1, DIFFERENCES * X.shape[0] // max(1, X.nnz))
    for at in range(0, distances.size, chunk):
        check()
        some = slice(at, at + chunk)
        difference = X[left[some]] - X[right[some]]
        distances[some] = np.asarray((difference * difference).sum(axis=1)).ravel()
    return distances


def chance_deviation(a: Floats, b: Floats) -> float:
    """Return the standard deviation of sum_ij a_ij b_p(i)p(j) over all permutations p, divided by
    its mean.

    Both matrices are symmetric with zeros on the diagonal. The variance is the one used in Mantel's
    test (1967).
    """
    n = len(a)
    if n < 4 or not a.any() or not b.any():
        return 0.0
    of_a, of_b = (
        (m.sum(), 2 * np.square(m).sum(), 4 * np.square(m.sum(axis=1)).sum()) for m in (a, b)
    )
    mean = of_a[0] * of_b[0] / (n * (n - 1))
    variance = max(0.0, mean_square(of_a, of_b, n) - mean**2)
    return float(np.sqrt(variance) / mean)


def mean_square(a: Sequence[float], b: Sequence[float], n: int) -> float:
    """Return the mean of (sum_ij a_ij b_p(i)p(j))^2 over all permutations p of n >= 4 nodes.

    Both matrices are symmetric with zeros on the diagonal. Each is described by three sums:
    sum_ij a_ij, 2 sum_ij a_ij^2 and 4 sum_i (sum_j a_ij)^2.
    """
    (a0, a1, a2), (b0, b1, b2), pairs = a, b, n * (n - 1)
    return (
        a1 * b1 / (2 * pairs)
        + (a2 - 2 * a1) * (b2 - 2 * b1) / (4 * pairs * (n - 2))
        + (a0**2 + a1 - a2) * (b0**2 + b1 - b2) / (pairs * (n - 2) * (n - 3))
    )
