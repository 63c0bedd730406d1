"""Scaling of one view: `choose_scale` chooses a scale from the data, and `fit_scaler` fits it.

Sparse views stay sparse: only distances between rows matter, so their columns need no shift. In
dense views, NaN marks a missing cell. It stays NaN, and ranges, means and norms are computed from
the other cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.matrix import Matrix, as_dense, is_sparse
from rmgl.views.encoding import Encoding

EPSILON = np.finfo(np.float64).eps
Vector = NDArray[np.float64]


@record
@dataclass(frozen=True)
class Scaler:
    """A fitted scaling of a view: it takes square roots, computes (x / largest - shift) / span in
    each column, and scales rows to length one.
    """

    name: str
    roots: bool = False
    largest: Vector | None = None
    """Largest absolute value of each column, divided by first to prevent overflow, or None."""
    shift: Vector | None = None
    span: Vector | None = None
    """Second divisor of each column. Infinite for a constant column, which becomes zero."""
    unit: bool = False
    rooted: NDArray[np.bool_] | None = None
    """Columns to take square roots of, with `roots`. None for all."""
    centered: bool = False
    """Whether to subtract the mean of each row before scaling it to length one."""
    levels: tuple[Vector, ...] | None = None
    """Sorted values of each column, if only equality matters. None for numbers."""
    parts: Vector | None = None
    """Weight of the squared differences in each column. None for full weight."""

    def __call__(self, X: Matrix) -> Matrix:
        """Scale training rows or new rows. Returns X itself if nothing changes."""
        if self.levels is not None:
            return _indicators(X, self.levels)
        X = _roots(X, self.rooted) if self.roots else X
        if self.centered:
            X = as_dense(X)
            X = X - np.nanmean(X, axis=1, keepdims=True)
        if self.largest is not None and self.shift is not None and self.span is not None:
            if sparse.issparse(X):
                X = _divide_columns(_divide_columns(X, self.largest), self.span)
            else:
                X = (X / self.largest - self.shift) / self.span
        X = X if self.parts is None else X * np.sqrt(self.parts)
        return _unit_rows(X) if self.unit else X

    def check(self, what: str, X: Matrix, most: float) -> None:
        """Raise `Unsound` unless this scaler could have scaled the rows of a view to X."""
        width = X.shape[1]
        self._check_levels(what, width)
        columns = [c for c in (self.largest, self.span, self.shift) if c is not None]
        known = self.name in SCALES or self.name in METRICS
        if not known or len(columns) not in (0, 3) or any(c.shape != (width,) for c in columns):
            raise Unsound(f"the scaler of {what} does not match its {width} columns")
        self._check_rooted(what, X)
        if self.parts is not None:
            sound_numbers(f"the column weights of {what}", self.parts, (width,))
            if not ((self.parts > 0) & (self.parts <= 1)).all():
                raise Unsound(f"a column weight of {what} is not > 0 and <= 1")
        *divisors, shift = columns or [np.zeros(0)]
        if not (np.abs(shift) <= most).all() or not all((d > 0).all() for d in divisors):
            raise Unsound(
                f"the scaler of {what} has a divisor that is not > 0, or a shift out of range"
            )

    def _check_rooted(self, what: str, X: Matrix) -> None:
        """Raise `Unsound` unless the columns selected for square roots are columns of X."""
        if self.rooted is not None and (
            self.rooted.dtype != bool or self.rooted.shape != X.shape[1:] or sparse.issparse(X)
        ):
            raise Unsound(
                f"the scaler of {what} takes square roots of columns that it does not have"
            )

    def _check_levels(self, what: str, width: int) -> None:
        """Raise `Unsound` unless the levels, if any, become this many columns."""
        if self.levels is None:
            return
        if self.name != "hamming" or width != sum(level.size + 1 for level in self.levels):
            raise Unsound(f"the values of {what} do not match its {width} columns")
        for level in self.levels:
            sound_numbers(f"the values of {what}", level, (None,))


def fit_scaler(name: str, X: Matrix) -> Scaler:
    """Fit the named scaler, or the scaler for the named metric, to a view."""
    return {**SCALES, **METRICS}[name](X)


def fit_mixed(name: str, X: Matrix, encoding: Encoding) -> Scaler:
    """Fit the named scaler to the measured columns of an encoded table.

    Zeros and ones of categories are divided by the square root of 2. Two rows with different
    categories then have a squared distance of 1 there: 1/2 from the column of each.
    """
    if name not in MIXED_SCALES:
        raise ValueError(
            f"has categories, which cannot be scaled by {name!r}: use one of "
            f"{', '.join(map(repr, ('auto', *MIXED_SCALES)))}"
        )
    measured, n = encoding.measured, X.shape[1]
    rooted = encoding.numbers if name == "root" else None
    largest, shift, span = np.ones(n), np.zeros(n), np.where(measured, 1.0, np.sqrt(2.0))
    if measured.any() and name != "none":
        fit = standard if name == "standard" else minmax
        fitted = fit((X if rooted is None else _roots(X, rooted))[:, measured])
        largest[measured] = fitted.largest
        shift[measured], span[measured] = fitted.shift, fitted.span
    return Scaler(name, name == "root", largest, shift, span, rooted=rooted)


def none(X: Matrix) -> Scaler:
    """Keep the rows unchanged."""
    return Scaler("none")


def unit(X: Matrix) -> Scaler:
    """Scale rows to length one; a row of zeros stays zero."""
    return Scaler("unit", unit=True)


def minmax(X: Matrix, name: str = "minmax", roots: bool = False) -> Scaler:
    """Scale columns to the range from 0 to 1; a constant column becomes zero."""
    _, largest, low, high = _bounded_columns(_roots(X) if roots else X)
    return Scaler(name, roots, largest, low, deviations_to_spans(high - low, low, high))


def standard(X: Matrix) -> Scaler:
    """Scale columns to mean 0 and variance 1 (only to variance 1 if X is sparse).

    A constant column becomes zero.
    """
    X, largest, low, high = _bounded_columns(X)
    mean = column_means(X)
    if is_sparse(X):
        n, width = X.shape
        n_zeros = n - np.bincount(X.indices, minlength=width)
        deviations = np.square(X.data - mean[X.indices])
        squares = np.bincount(X.indices, weights=deviations, minlength=width)
        deviation = np.sqrt((squares + n_zeros * mean**2) / n)
    else:
        deviation = np.sqrt(column_means(np.square(X - mean)))
    return Scaler("standard", False, largest, mean, deviations_to_spans(deviation, low, high))


def deviations_to_spans(deviation: Vector, low: Vector, high: Vector) -> Vector:
    """Return the divisor of each column: its standard deviation, or infinity if it is constant."""
    return np.where(high - low > 4 * EPSILON, deviation, np.inf)


def root(X: Matrix) -> Scaler:
    """Take square roots of the entries, then scale columns to the range from 0 to 1.

    Suitable for histograms and other nonnegative skewed measurements.
    """
    return minmax(X, "root", roots=True)


def hellinger(X: Matrix) -> Scaler:
    """Take square roots of counts, then scale rows to length one.

    Distances are Hellinger distances, up to a constant factor.
    """
    _roots(X)  # raises an error for negative entries
    return Scaler("hellinger", roots=True, unit=True)


SCALES = {
    "minmax": minmax,
    "root": root,
    "hellinger": hellinger,
    "unit": unit,
    "standard": standard,
    "none": none,
}
MIXED_SCALES = ("minmax", "root", "standard", "none")
"""Scales for tables with columns that are not all numeric."""


def cosine(X: Matrix) -> Scaler:
    """Scale rows to length one: squared distances are 2 (1 - cosine)."""
    return Scaler("cosine", unit=True)


def correlation(X: Matrix) -> Scaler:
    """Scale rows to mean zero and length one: squared distances are 2 (1 - correlation)."""
    return Scaler("correlation", unit=True, centered=True)


def hamming(X: Matrix) -> Scaler:
    """Take indicators of values: squared distances are the share of columns that differ."""
    columns = as_dense(X)
    return Scaler("hamming", levels=tuple(np.unique(column) for column in columns.T))


METRICS = {"cosine": cosine, "correlation": correlation, "hellinger": hellinger, "hamming": hamming}
"""Distances that are Euclidean after a transformation of the rows."""

COUNTS_WIDTH = 100
"""Minimum number of columns in a view whose entries can be treated as counts."""
COUNTS_ZEROS = 0.7
"""Share of zeros beyond which the entries of a wide view are treated as counts."""
FEW_NEGATIVE = 0.05
"""Share of negative entries below which counts are treated as weighted counts (tf-idf)."""
SKEWED = 1.0
"""Median skewness of the columns above which their square roots are used."""


def choose_scale(X: Matrix, n_gaps: int = 0) -> tuple[str, str]:
    """Choose a scale based on the signs, zeros and skewness of a view, and return its name and the
    reason.

    `n_gaps` is the number of missing cells, which are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> choose_scale(np.random.default_rng(0).poisson(0.1, size=(50, 200)))
    ('hellinger', 'no negative entries, 90% zeros, 200 columns: counts')
    >>> choose_scale(np.random.default_rng(0).lognormal(size=(50, 3)))[0]
    'root'
    """
    entries: Vector = X.data if is_sparse(X) else X
    n_nonzero = int(np.count_nonzero(entries)) - n_gaps
    n_negative = int(np.count_nonzero(entries < 0))
    return choose_scale_by(n_nonzero, n_negative, X.shape, lambda: median_skewness(X), n_gaps)


def choose_scale_by(
    n_nonzero: int,
    n_negative: int,
    shape: tuple[int, int],
    median_skewness: Callable[[], float],
    n_gaps: int = 0,
) -> tuple[str, str]:
    """Choose a scale based on the numbers of nonzero and negative entries and on the skewness."""
    zeros = 1 - n_nonzero / (shape[0] * shape[1] - n_gaps)
    if zeros > COUNTS_ZEROS and shape[1] >= COUNTS_WIDTH and n_negative < FEW_NEGATIVE * n_nonzero:
        size = f"{zeros:.0%} zeros, {shape[1]} columns"
        if not n_negative:
            return "hellinger", f"no negative entries, {size}: counts"
        signs = f"{n_negative / n_nonzero:.1%} of the nonzero entries negative"
        return "unit", f"{signs}, {size}: weighted counts"
    if n_negative:
        return "minmax", "no square-root transform, because some entries are negative"
    skewness = median_skewness()
    measured = f"median skewness of {skewness:.1f}"
    if skewness > SKEWED:
        why = "no entries are negative and the columns are strongly skewed"
        return "root", f"square-root transform, because {why}, with a {measured}"
    return (
        "minmax",
        f"no square-root transform, because the columns are not strongly skewed, with a {measured}",
    )


def choose_mixed(X: Matrix, encoding: Encoding) -> tuple[str, str]:
    """Choose the scale of a table with columns of mixed types, based on any numeric columns."""
    numbers, how, reason = X[:, encoding.numbers], "minmax", ""
    if numbers.size:
        how, reason = choose_scale(numbers, int(np.isnan(numbers).sum()))
    if how not in MIXED_SCALES:
        how, reason = "minmax", "many zeros"
    given = f"numeric columns: {reason}; " if reason else ""
    return how, f"{given}columns of mixed types, each adding at most 1 to a squared distance"


def median_skewness(X: Matrix) -> float:
    """Return the median of |E (x - mean)^3| / deviation^3 over the columns that vary."""
    X, _, low, high = _bounded_columns(X)  # prevents overflow of powers
    moments = [column_means(X if power == 1 else X**power) for power in (1, 2, 3)]
    return skewness_from(moments, low, high)


def skewness_from(moments: Sequence[Vector], low: Vector, high: Vector) -> float:
    """Return the median skewness of columns from the means of their powers and their ranges."""
    mean, second, third = moments
    variance = second - mean**2
    varies = (high - low > 4 * EPSILON) & (variance > EPSILON)
    if not varies.any():
        return 0.0
    central = third - 3 * mean * second + 2 * mean**3
    return float(np.median(np.abs(central[varies]) / variance[varies] ** 1.5))


def _roots(X: Matrix, columns: NDArray[np.bool_] | None = None) -> Matrix:
    """Take the square roots of all entries, or of those in these columns of a dense matrix."""
    entries: Vector = X.data if is_sparse(X) else X if columns is None else X[:, columns]
    negative = entries.min(initial=0.0)
    negative = np.nanmin(entries, initial=0.0) if np.isnan(negative) else negative
    if negative < 0:
        raise ValueError(
            f"has negative entries (down to {negative:.3g}), which have no square root; "
            "use scale='minmax' (and no metric)"
        )
    if columns is None:
        return np.sqrt(X)
    roots = X.copy()
    roots[:, columns] = np.sqrt(entries)
    return roots


def column_means(X: Matrix) -> Vector:
    """Return the mean of the nonmissing cells of each column."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.nanmean(X, axis=0) if np.isnan(mean).any() else mean


def column_ends(X: Matrix) -> tuple[Vector, Vector]:
    """Return the smallest and the largest nonmissing value of each column."""
    low, high = _dense(X.min(axis=0)), _dense(X.max(axis=0))
    return (np.nanmin(X, axis=0), np.nanmax(X, axis=0)) if np.isnan(low).any() else (low, high)


def _bounded_columns(X: Matrix) -> tuple[Matrix, Vector, Vector, Vector]:
    """Divide every column by its largest absolute value. Also return this value and the range."""
    largest, low, high = bounded(*column_ends(X))
    X = _divide_columns(X, largest) if sparse.issparse(X) else X / largest
    return X, largest, low, high


def bounded(low: Vector, high: Vector) -> tuple[Vector, Vector, Vector]:
    """Return every column's largest absolute value, and its range divided by that value."""
    largest = np.maximum(np.abs(low), np.abs(high))
    largest[largest == 0] = 1.0
    return largest, low / largest, high / largest


def _indicators(X: Matrix, levels: tuple[Vector, ...]) -> sparse.csr_array:
    """Return one indicator column for each value of each column, and one for new values.

    Two rows that differ in one of D columns have a squared distance of 1/D.
    """
    columns = as_dense(X)
    starts = np.concatenate([[0], np.cumsum([known.size + 1 for known in levels])])
    places = np.empty(columns.shape, dtype=np.int64)
    for at, (column, known) in enumerate(zip(columns.T, levels, strict=True)):
        place = np.minimum(np.searchsorted(known, column), known.size - 1)
        places[:, at] = starts[at] + np.where(known[place] == column, place, known.size)
    n, width = columns.shape
    entries = np.full(n * width, np.sqrt(0.5 / width))
    pointers = width * np.arange(n + 1)
    return sparse.csr_array((entries, places.ravel(), pointers), shape=(n, int(starts[-1])))


def _dense(v: Any) -> Vector:
    return np.asarray(v.todense() if sparse.issparse(v) else v, dtype=np.float64).ravel()


def _unit_rows(X: Matrix) -> Matrix:
    """Scale rows to length one, first by their largest entry to prevent overflow."""
    X = _divide_rows(X, _largest_entries(X))
    return _divide_rows(X, _row_lengths(X))


def _largest_entries(X: Matrix) -> Vector:
    largest = _dense(abs(X).max(axis=1))
    return np.nanmax(np.abs(X), axis=1, initial=0.0) if np.isnan(largest).any() else largest


def _row_lengths(X: Matrix) -> Vector:
    """Return the norm of each row, as if its missing cells were like the others."""
    lengths: Vector = np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
    if np.isnan(lengths).any():
        present = np.maximum((~np.isnan(X)).sum(axis=1), 1)
        lengths = np.sqrt(np.nansum(X * X, axis=1) * X.shape[1] / present)
    return lengths


def _divide_rows(X: Matrix, divisor: Vector) -> Matrix:
    """Divide each row by its divisor, unless the divisor is zero."""
    divisor = np.where(divisor == 0, 1.0, divisor)
    if not is_sparse(X):
        return X / divisor[:, None]
    entries = X.data / np.repeat(divisor, np.diff(X.indptr))
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def _divide_columns(X: sparse.csr_array, divisor: Vector) -> sparse.csr_array:
    return sparse.csr_array((X.data / divisor[X.indices], X.indices, X.indptr), shape=X.shape)
