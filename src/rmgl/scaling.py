"""Scaling of one view: `SCALES[name](X)` is a scaled copy.

Sparse stays sparse: only distances between rows matter, so columns need no shift.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

EPSILON = np.finfo(np.float64).eps


def none(X):
    """The view as it is."""
    return X


def unit(X):
    """Rows of length one; a row of zeros stays zero."""
    X = _divide_rows(X, _row_norms(X, np.inf))  # first by the largest entry, so that no square overflows
    return _divide_rows(X, _row_norms(X, 2))


def minmax(X):
    """Columns from 0 to 1; a constant column becomes zero."""
    X, low, high = _bounded_columns(X)
    span = np.where(high - low > 4 * EPSILON, high - low, np.inf)
    return _divide_columns(X, span) if sparse.issparse(X) else (X - low) / span


def standard(X):
    """Columns with mean 0 and variance 1 (variance 1 where X is sparse); a constant column becomes zero."""
    X, low, high = _bounded_columns(X)
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(np.asarray((X * X).mean(axis=0)).ravel() - mean**2, 0))
        return _divide_columns(X, np.where(high - low > 4 * EPSILON, deviation, np.inf))
    X = X - X.mean(axis=0)
    deviation = np.sqrt((X * X).mean(axis=0))
    return X / np.where(high - low > 4 * EPSILON, deviation, np.inf)


SCALES = {"minmax": minmax, "standard": standard, "unit": unit, "none": none}


def _bounded_columns(X):
    """X with every column divided by its largest absolute value, and the new least and largest values."""
    low, high = (_dense(v) for v in (X.min(axis=0), X.max(axis=0)))
    largest = np.maximum(np.abs(low), np.abs(high))
    largest[largest == 0] = 1.0
    X = _divide_columns(X, largest) if sparse.issparse(X) else X / largest
    return X, low / largest, high / largest


def _dense(v) -> NDArray[np.float64]:
    return np.asarray(v.todense() if sparse.issparse(v) else v, dtype=np.float64).ravel()


def _row_norms(X, order: float) -> NDArray[np.float64]:
    norms = _dense(abs(X).max(axis=1)) if order == np.inf else np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
    norms[norms == 0] = 1.0
    return norms


def _divide_rows(X, divisor: NDArray[np.float64]):
    if sparse.issparse(X):
        return sparse.csr_array((X.data / np.repeat(divisor, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return X / divisor[:, None]


def _divide_columns(X, divisor: NDArray[np.float64]):
    return sparse.csr_array((X.data / divisor[X.indices], X.indices, X.indptr), shape=X.shape)
