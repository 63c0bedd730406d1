"""Scaling of one view: `fit_scaler(name, X)` fits the scaler of a given name, and `choose_scale(X)` chooses a name from the data.

Sparse views stay sparse: only distances between rows matter, so their columns need no shift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.views.matrix import Matrix

EPSILON = np.finfo(np.float64).eps
Vector = NDArray[np.float64]


@record
@dataclass(frozen=True)
class Scaler:
    """A fitted scaling of a view: square roots, then (x / largest - shift) / span in each column, then rows of length one."""

    name: str
    roots: bool = False
    largest: Vector | None = None
    """The largest absolute value of each column, by which it is divided first to avoid overflow (None: columns are not scaled)."""
    shift: Vector | None = None
    span: Vector | None = None
    """The divisor of each column; infinite for a constant column, which becomes zero."""
    unit: bool = False

    def __call__(self, X: Matrix) -> Matrix:
        """Scale the rows that the scaler was fitted to, or new ones. Returns a copy, or X itself if the scaling changes nothing."""
        X = _roots(X) if self.roots else X
        if self.largest is not None and self.shift is not None and self.span is not None:
            if sparse.issparse(X):
                X = _divide_columns(_divide_columns(X, self.largest), self.span)
            else:
                X = (X / self.largest - self.shift) / self.span
        return _unit_rows(X) if self.unit else X


def fit_scaler(name: str, X: Matrix) -> Scaler:
    """Fit the scaler of that name to a view."""
    return SCALES[name](X)


def none(X: Matrix) -> Scaler:
    """No scaling."""
    return Scaler("none")


def unit(X: Matrix) -> Scaler:
    """Rows of length one; a row of zeros stays zero."""
    return Scaler("unit", unit=True)


def minmax(X: Matrix, name: str = "minmax", roots: bool = False) -> Scaler:
    """Columns from 0 to 1; a constant column becomes zero."""
    _, largest, low, high = _bounded_columns(_roots(X) if roots else X)
    return Scaler(name, roots, largest, low, np.where(high - low > 4 * EPSILON, high - low, np.inf))


def standard(X: Matrix) -> Scaler:
    """Columns with mean 0 and variance 1 (only variance 1 if X is sparse); a constant column becomes zero."""
    X, largest, low, high = _bounded_columns(X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    if sparse.issparse(X):
        n_zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
        squares = np.bincount(X.indices, weights=np.square(X.data - mean[X.indices]), minlength=X.shape[1])
        deviation = np.sqrt((squares + n_zeros * mean**2) / X.shape[0])
    else:
        deviation = np.sqrt(np.square(X - mean).mean(axis=0))
    return Scaler("standard", False, largest, mean, deviations_to_spans(deviation, low, high))


def deviations_to_spans(deviation: Vector, low: Vector, high: Vector) -> Vector:
    """What columns are divided by: their standard deviation, or infinity if they are constant."""
    return np.where(high - low > 4 * EPSILON, deviation, np.inf)


def root(X: Matrix) -> Scaler:
    """Square roots of the entries, then columns from 0 to 1; for histograms and other skewed non-negative measurements."""
    return minmax(X, "root", roots=True)


def hellinger(X: Matrix) -> Scaler:
    """Square roots of the entries, then rows of length one; for counts. Distances are Hellinger distances, up to a constant factor."""
    _roots(X)  # raises an error for negative entries
    return Scaler("hellinger", roots=True, unit=True)


SCALES = {"minmax": minmax, "root": root, "hellinger": hellinger, "unit": unit, "standard": standard, "none": none}

COUNT_COLUMNS = 100
COUNT_ZEROS = 0.7
"""A view with at least so many columns and more than this share of zeros is taken as counts,"""
FEW_NEGATIVE = 0.05
"""if none of the other entries is negative; if a smaller share than this is, as counts that were weighted (tf-idf)."""
SKEWED = 1.0
"""Median skewness of the columns above which their square roots are used."""


def choose_scale(X: Matrix) -> tuple[str, str]:
    """Choose a scale by the signs, zeros and skewness of the entries of a view. Returns its name and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> choose_scale(np.random.default_rng(0).poisson(0.1, size=(50, 200)))
    ('hellinger', 'no negative entries, 90% zeros, 200 columns: counts')
    >>> choose_scale(np.random.default_rng(0).lognormal(size=(50, 3)))[0]
    'root'
    """
    entries = X.data if sparse.issparse(X) else X
    n_nonzero, n_negative = int(np.count_nonzero(entries)), int(np.count_nonzero(entries < 0))
    return choose_scale_by(n_nonzero, n_negative, X.shape, lambda: median_skewness(X))


def choose_scale_by(n_nonzero: int, n_negative: int, shape: tuple[int, int], median_skewness: Callable[[], float]) -> tuple[str, str]:
    """Choose a scale by the numbers of entries that are not zero and that are negative, and by the skewness of the columns."""
    zeros = 1 - n_nonzero / (shape[0] * shape[1])
    if zeros > COUNT_ZEROS and shape[1] >= COUNT_COLUMNS and n_negative < FEW_NEGATIVE * n_nonzero:
        signs = f"{n_negative / n_nonzero:.1%} of the others negative" if n_negative else "no negative entries"
        size = f"{zeros:.0%} zeros, {shape[1]} columns"
        return ("unit", f"{signs}, {size}: weighted counts") if n_negative else ("hellinger", f"{signs}, {size}: counts")
    if n_negative:
        return "minmax", "negative entries"
    skewness = median_skewness()
    if skewness > SKEWED:
        return "root", f"no negative entries, columns skewed (median {skewness:.1f})"
    return "minmax", f"no negative entries, columns not skewed (median {skewness:.1f})"


def median_skewness(X: Matrix) -> float:
    """The median of |E (x - mean)^3| / deviation^3 over the columns that are not constant."""
    X, _, low, high = _bounded_columns(X)  # so that no power overflows
    moments = [np.asarray((X if power == 1 else X**power).mean(axis=0)).ravel() for power in (1, 2, 3)]
    return skewness_from(moments, low, high)


def skewness_from(moments: Sequence[Vector], low: Vector, high: Vector) -> float:
    """The median skewness of columns, from the means of their first three powers and their ranges."""
    mean, second, third = moments
    variance = second - mean**2
    varies = (high - low > 4 * EPSILON) & (variance > EPSILON)
    if not varies.any():
        return 0.0
    central = third - 3 * mean * second + 2 * mean**3
    return float(np.median(np.abs(central[varies]) / variance[varies] ** 1.5))


def _unit_rows(X: Matrix) -> Matrix:
    X = _divide_rows(X, _row_norms(X, np.inf))  # first by the largest entry, so that no square overflows
    return _divide_rows(X, _row_norms(X, 2))


def _roots(X: Matrix) -> Matrix:
    negative = (X.data if sparse.issparse(X) else X).min(initial=0.0)
    if negative < 0:
        raise ValueError(f"has negative entries (down to {negative:.3g}), which have no square root: use scale='minmax'")
    return np.sqrt(X)


def _bounded_columns(X: Matrix) -> tuple[Matrix, Vector, Vector, Vector]:
    """X with every column divided by its largest absolute value; that value; and the smallest and largest values after the division."""
    largest, low, high = bounded(*(_dense(v) for v in (X.min(axis=0), X.max(axis=0))))
    X = _divide_columns(X, largest) if sparse.issparse(X) else X / largest
    return X, largest, low, high


def bounded(low: Vector, high: Vector) -> tuple[Vector, Vector, Vector]:
    """The largest absolute value of every column from its range, and the range divided by it."""
    largest = np.maximum(np.abs(low), np.abs(high))
    largest[largest == 0] = 1.0
    return largest, low / largest, high / largest


def _dense(v: Any) -> Vector:
    return np.asarray(v.todense() if sparse.issparse(v) else v, dtype=np.float64).ravel()


def _row_norms(X: Matrix, order: float) -> Vector:
    norms = _dense(abs(X).max(axis=1)) if order == np.inf else np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
    norms[norms == 0] = 1.0
    return norms


def _divide_rows(X: Matrix, divisor: Vector) -> Matrix:
    if sparse.issparse(X):
        return sparse.csr_array((X.data / np.repeat(divisor, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return X / divisor[:, None]


def _divide_columns(X: sparse.csr_array, divisor: Vector) -> sparse.csr_array:
    return sparse.csr_array((X.data / divisor[X.indices], X.indices, X.indptr), shape=X.shape)
