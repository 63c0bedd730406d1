"""Scaling of one view: `fit_scaler(name, X)` learns what is done to its rows; `choose_scale(X)` is the name that suits it.

Sparse stays sparse: only distances between rows matter, so columns need no shift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record

EPSILON = np.finfo(np.float64).eps
Vector = NDArray[np.float64]


@record
@dataclass(frozen=True)
class Scaler:
    """What is done to the rows of a view: square roots, then (x / largest - shift) / span by column, then rows of length one."""

    name: str
    roots: bool = False
    largest: Vector | None = None
    """The largest absolute value of each column, by which it is divided first, so that nothing overflows; None to leave columns alone."""
    shift: Vector | None = None
    span: Vector | None = None
    """Infinite for a constant column, which becomes zero."""
    unit: bool = False

    def __call__(self, X):
        """A scaled copy of rows of the view, those it was learned from or others (the same object where nothing is to be done)."""
        X = _roots(X) if self.roots else X
        if self.largest is not None and self.shift is not None and self.span is not None:
            if sparse.issparse(X):
                X = _divide_columns(_divide_columns(X, self.largest), self.span)
            else:
                X = (X / self.largest - self.shift) / self.span
        return _unit_rows(X) if self.unit else X


def fit_scaler(name: str, X) -> Scaler:
    """The scaler of that name, with what it takes from the columns of a view."""
    return SCALES[name](X)


def none(X) -> Scaler:
    """The view as it is."""
    return Scaler("none")


def unit(X) -> Scaler:
    """Rows of length one; a row of zeros stays zero."""
    return Scaler("unit", unit=True)


def minmax(X, name: str = "minmax", roots: bool = False) -> Scaler:
    """Columns from 0 to 1; a constant column becomes zero."""
    _, largest, low, high = _bounded_columns(_roots(X) if roots else X)
    return Scaler(name, roots, largest, low, np.where(high - low > 4 * EPSILON, high - low, np.inf))


def standard(X) -> Scaler:
    """Columns with mean 0 and variance 1 (variance 1 where X is sparse); a constant column becomes zero."""
    X, largest, low, high = _bounded_columns(X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    if sparse.issparse(X):
        deviation = np.sqrt(np.maximum(np.asarray((X * X).mean(axis=0)).ravel() - mean**2, 0))
    else:
        deviation = np.sqrt(np.square(X - mean).mean(axis=0))
    return Scaler("standard", False, largest, mean, np.where(high - low > 4 * EPSILON, deviation, np.inf))


def root(X) -> Scaler:
    """Square roots of the entries, then columns from 0 to 1; for histograms and other skewed non-negative measurements."""
    return minmax(X, "root", roots=True)


def hellinger(X) -> Scaler:
    """Square roots of the entries, then rows of length one; for counts. Distances are then those of Hellinger between profiles."""
    _roots(X)
    return Scaler("hellinger", roots=True, unit=True)


SCALES = {"minmax": minmax, "root": root, "hellinger": hellinger, "unit": unit, "standard": standard, "none": none}

COUNT_COLUMNS = 100
COUNT_ZEROS = 0.8
SKEWED = 1.0


def choose_scale(X) -> tuple[str, str]:
    """The name of the scale that suits a view, and why: from the signs, zeros and skewness of its entries.

    Examples
    --------
    >>> import numpy as np
    >>> choose_scale(np.random.default_rng(0).poisson(0.1, size=(50, 200)))
    ('hellinger', 'no negative entries, 90% zeros, 200 columns: counts')
    >>> choose_scale(np.random.default_rng(0).lognormal(size=(50, 3)))[0]
    'root'
    """
    if (X.data if sparse.issparse(X) else X).min(initial=0.0) < 0:
        return "minmax", "negative entries"
    zeros = 1 - (X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)) / (X.shape[0] * X.shape[1])
    if zeros > COUNT_ZEROS and X.shape[1] >= COUNT_COLUMNS:
        return "hellinger", f"no negative entries, {zeros:.0%} zeros, {X.shape[1]} columns: counts"
    skewness = median_skewness(X)
    if skewness > SKEWED:
        return "root", f"no negative entries, columns skewed (median {skewness:.1f})"
    return "minmax", f"no negative entries, columns not skewed (median {skewness:.1f})"


def median_skewness(X) -> float:
    """The median over the columns that vary of |E (x - mean)^3| / deviation^3."""
    X, _, low, high = _bounded_columns(X)  # nothing overflows
    moments = [np.asarray((X if power == 1 else X**power).mean(axis=0)).ravel() for power in (1, 2, 3)]
    mean, second, third = moments
    variance = second - mean**2
    varies = (high - low > 4 * EPSILON) & (variance > EPSILON)
    if not varies.any():
        return 0.0
    central = third - 3 * mean * second + 2 * mean**3
    return float(np.median(np.abs(central[varies]) / variance[varies] ** 1.5))


def _unit_rows(X):
    X = _divide_rows(X, _row_norms(X, np.inf))  # first by the largest entry, so that no square overflows
    return _divide_rows(X, _row_norms(X, 2))


def _roots(X):
    negative = (X.data if sparse.issparse(X) else X).min(initial=0.0)
    if negative < 0:
        raise ValueError(f"has negative entries (down to {negative:.3g}), which have no square root: use scale='minmax'")
    return np.sqrt(X)


def _bounded_columns(X):
    """X with every column divided by its largest absolute value; that value; and the new least and largest values."""
    low, high = (_dense(v) for v in (X.min(axis=0), X.max(axis=0)))
    largest = np.maximum(np.abs(low), np.abs(high))
    largest[largest == 0] = 1.0
    X = _divide_columns(X, largest) if sparse.issparse(X) else X / largest
    return X, largest, low / largest, high / largest


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
