"""`FeatureView`: dense or sparse rows of numbers with Euclidean distances.

Individual cells of dense rows may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound
from rmgl.edges.candidates import resolve
from rmgl.edges.gaps import Gapped
from rmgl.edges.search import Rows, dense_distances
from rmgl.edges.space import Square
from rmgl.matrix import Matrix, as_dense, padded, total_variance
from rmgl.running.threads import Check, InParts, one_part, require_memory
from rmgl.views.canonical import Keys, Vector, mixed, projected, row_keys
from rmgl.views.categories import fit_table
from rmgl.views.cloud import cloud_of
from rmgl.views.column_groups import column_groups
from rmgl.views.encoding import Encoding, left_out_sentence, unconfirmed_sentence
from rmgl.views.halves import Halves, sample_of
from rmgl.views.incomplete import Mask, refuse_gaps
from rmgl.views.scaling import (
    Scaler,
    choose_mixed,
    choose_scale,
    column_ends,
    fit_scaler,
)
from rmgl.views.view import Comparing, Indices, View

EMPTY_COLUMNS = 10
"""Minimum number of columns in a view for rows of zeros to count as missing.

In a narrow view, zeros are ordinary values.
"""
LEAST_PRESENT = 0.2
"""Minimum fraction of a view's rows that must remain if rows of zeros count as missing."""
COPIES = 4
"""Number of matrices, each the size of a view, needed for distances with missing cells."""
MOST_CLOUD_BYTES = 1 << 30
"""Maximum memory for keeping column values in a view without clusters."""
LARGEST_VALUE = 1e70
"""Largest value for which squared distances, squared again in the dual, do not overflow."""
SMALLEST_SPREAD = 1e-70
"""Smallest difference for which the squared distance, squared again in the dual, does not
underflow.
"""
NO_UNITS = "convert the columns to categories (astype('category')) and leave metric at 'euclidean'"


@record
@dataclass(frozen=True)
class FeatureView(View):
    """Rows of features.

    Examples
    --------
    >>> import numpy as np
    >>> view = FeatureView("size", np.array([[0.0, 4.0], [2.0, 8.0]])).scaled("minmax")
    >>> view.matrix.tolist(), view.scaler(np.array([[1.0, 8.0]])).tolist()
    ([[0.0, 0.0], [1.0, 1.0]], [[0.5, 1.0]])
    """

    columns: tuple[str, ...] | None = None
    gaps: Mask | None = None
    encoding: Encoding | None = None
    scaler: Scaler | None = None
    """Scaler of the rows. None if they have not been scaled yet."""
    n_empty: int = 0

    def own(self) -> Matrix:
        return self.matrix if self.entities is None else self.matrix[self.entities]

    def of(self, entities: Indices) -> FeatureView:
        return replace(self._at(entities), entities=self._entities_of(entities), n_empty=0)

    def in_order(self, order: Indices) -> FeatureView:
        return replace(self._at(order), entities=self._entities_in(order))

    def _at(self, places: Indices) -> FeatureView:
        """Return the rows at these positions, with their missing cells."""
        gaps = None if self.gaps is None else self.gaps[places]
        return replace(self, matrix=self.matrix[places], gaps=gaps)

    def without(self, columns: Sequence[int]) -> FeatureView:
        rest = np.setdiff1d(np.arange(self.matrix.shape[1]), columns)
        gaps = None if self.gaps is None else self.gaps[:, rest]
        matrix = self.matrix[:, rest]
        return replace(self, matrix=matrix, gaps=gaps, columns=None, encoding=None, scaler=None)

    @property
    def filled(self) -> Mask:
        filled = super().filled
        return filled if self.gaps is None else filled | self.gaps.any(axis=1)

    def without_empty(self, filled: Mask, anywhere: Mask) -> FeatureView:
        """Treat rows of zeros as missing in views with many columns, unless too few rows would
        remain.
        """
        rows = np.arange(self.n_rows) if self.entities is None else self.entities
        left = rows[(filled | ~anywhere)[rows]]
        n_empty = rows.size - left.size
        too_few = left.size < max(2, LEAST_PRESENT * rows.size)
        if self.matrix.shape[1] < EMPTY_COLUMNS or n_empty <= 1 or too_few:
            return self
        return replace(self, entities=left, n_empty=n_empty)

    def projected(self, salt: int) -> Vector:
        return projected(self.matrix, self.gaps, salt) + self.mask

    def keys(self, some: Indices, salt: int) -> Keys:
        keys = row_keys(self.matrix[some], None if self.gaps is None else self.gaps[some], salt)
        return keys + mixed(salt, self.mask[some].astype(np.uint64))

    @property
    def relating(self) -> None:
        return None

    @property
    def rows(self) -> Matrix:
        return self.matrix

    @property
    def comparable(self) -> bool:
        return True

    def points(self) -> Any:
        gaps = self.own_gaps()
        return self.own() if gaps is None else Gapped.of(self.own(), gaps)

    def whole_space(self) -> Rows | Gapped:
        return Rows(self.matrix) if self.gaps is None else self.gapped()

    def gapped(self) -> Gapped:
        """Return the space of all rows, which may have missing cells."""
        X = self.matrix
        needed = COPIES * 8 * X.shape[0] * X.shape[1]
        require_memory(needed, f"view {self.name!r}: distances with missing cells")
        return Gapped.of(as_dense(X), self.gaps, self.entities)

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square:
        if self.gaps is not None:
            return Square.of_blocks(self.gapped(), in_parts, check)
        return Square.of(self.matrix, in_parts, check)

    def variance(self) -> float:
        return total_variance(self.measured())

    def halves(self) -> Halves:
        rows = np.arange(self.n_rows) if self.entities is None else self.entities
        some = rows[sample_of(rows.size)]
        X, gaps = self.matrix[some], None if self.gaps is None else self.gaps[some]
        return Halves(X, column_groups(X, self.encoding, self.scaler), gaps)

    def without_clusters(
        self, normal: NDArray[np.float64], random_state: np.random.RandomState
    ) -> FeatureView:
        """Draw rows from a single normal distribution with the covariances of this view.

        If at most half of the rows are distinct, the columns also keep their values: a table with
        few categories looks clustered even if there are no clusters.
        """
        X, gaps = self.own(), self.own_gaps()
        if gaps is not None:
            means = X.sum(axis=0) / np.maximum(1, (~gaps).sum(axis=0))
            X = np.where(gaps, means, as_dense(X))
        places = slice(None) if self.entities is None else self.entities
        is_small = 32 * X.shape[0] * X.shape[1] <= MOST_CLOUD_BYTES
        has_copies = is_small and gaps is None and 2 * np.unique(row_keys(X)).size <= X.shape[0]
        Y = cloud_of(X, normal[places][:, places], has_copies or gaps is not None)
        if has_copies:
            ranks = Y.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
            Y = np.take_along_axis(np.sort(as_dense(X), axis=0), ranks, axis=0)
        if gaps is not None:
            Y[gaps] = 0.0
        matrix = Y if self.entities is None else padded(Y, self.entities, self.n_rows)
        return replace(self, matrix=matrix, columns=None, encoding=None, scaler=None)

    def wanted(self, alpha: float, asked: Any) -> Any:
        return resolve(self.own(), alpha, asked)

    @property
    def words(self) -> str:
        return "features"

    @property
    def described(self) -> str:
        return f"{self.matrix.shape[1]} columns"

    def check_scale(self, how: str) -> None:
        pass

    def choose_scale(self, how: str) -> tuple[str, str]:
        if self.scaler is not None:
            return self._scaled_before(how)
        if how != "auto":
            return how, "given"
        if self.encoding is not None:
            return choose_mixed(self.measured(), self.encoding)
        return choose_scale(self.measured(), self.n_gaps)

    def _scaled_before(self, how: str) -> tuple[str, str]:
        """Return the scale of rows from an earlier fit, which are not scaled again."""
        name = self.scaler.name if self.scaler is not None else "none"
        if how not in ("auto", name):
            raise ValueError(
                f"scale={how!r} cannot be used for view {self.name!r}, because an earlier fit "
                f"scaled its rows ({name!r}); leave scale at 'auto', or fit the same rows of "
                "your original table"
            )
        return name, "as in the fit these rows come from"

    def scaled(self, how: str) -> FeatureView:
        """Scale the rows. Raise an error if they are constant, or too large or small to square."""
        if self.scaler is not None:  # rows from an earlier fit
            check_spread(self.name, self.own(), self.scaler.name)
            return self
        fit = partial(fit_scaler, how)
        if self.encoding is not None:
            fit = partial(fit_table, how, encoding=self.encoding)
        return self.scaled_by(self._apply(fit))

    def scaled_by(self, scaler: Scaler, check: bool = True) -> FeatureView:
        X, gaps = self._apply(scaler), self.own_gaps()
        if check:
            check_spread(self.name, X, scaler.name)
        X = X if gaps is None else np.where(gaps, 0.0, X)
        matrix = X if self.entities is None else padded(X, self.entities, self.n_rows)
        return replace(self, matrix=matrix, scaler=scaler)

    def _apply(self, function: Callable[[Matrix], Any]) -> Any:
        """Apply a function to the observed rows. Errors name the view."""
        try:
            return function(self.measured())
        except ValueError as error:
            raise ValueError(f"view {self.name!r} {error}") from error

    def check_metric(self, how: str, by_name: bool) -> None:
        if how not in ("hamming", "jaccard"):
            return
        advice = NO_UNITS if how == "hamming" else "use another metric"
        refuse_gaps(self.name, self.gaps, advice)
        if self.encoding is not None:
            raise ValueError(
                f"metric={how!r} for view {self.name!r} requires numeric columns, but the view "
                "has columns of other types: use 'euclidean'"
            )

    @property
    def has_levels(self) -> bool:
        """Whether every value of a column has its own indicator column, as for Hamming
        distances.
        """
        return self.scaler is not None and self.scaler.levels is not None

    @property
    def width(self) -> int:
        """Number of columns in the user's rows."""
        levels = None if self.scaler is None else self.scaler.levels
        return int(self.matrix.shape[1]) if levels is None else len(levels)

    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        if rows is None:
            return no_rows(self.name, n_new, self.width, sparse.issparse(self.matrix))
        check_columns(self, rows, self.width)
        if self.has_levels:
            refuse_gaps(self.name, rows.gaps, NO_UNITS)
        is_sparse = sparse.issparse(self.matrix) and rows.gaps is None
        X = sparse.csr_array(rows.matrix) if is_sparse else as_dense(rows.matrix)
        observed, columns = np.flatnonzero(rows.mask), rows.columns or self.columns
        return FeatureView(self.name, X, observed, columns, rows.gaps, self.encoding)

    def scaled_new(self, new: View) -> View:
        return new if self.scaler is None else new.scaled_by(self.scaler, check=False)

    def comparing(self) -> Comparing:
        gapped = cache(self.gapped)

        def compare(new: FeatureView) -> NDArray[np.float64]:
            if new.gaps is None and self.gaps is None:
                return dense_distances(new.matrix, self.matrix)
            return gapped().distances_from(as_dense(new.matrix), new.gaps)

        return compare

    @property
    def features(self) -> FeatureView:
        return self

    def with_columns(self, names: tuple[str, ...] | None) -> FeatureView:
        return self if self.columns is not None or names is None else replace(self, columns=names)

    @property
    def given_columns(self) -> tuple[str, ...] | None:
        return self.columns if self.encoding is None else self.encoding.names_used

    @property
    def unused_columns(self) -> tuple[str, ...]:
        return () if self.encoding is None else self.encoding.names_left_out

    def table_gaps(self) -> Mask:
        gaps = self.own_gaps()
        if gaps is None:
            gaps = np.zeros((self.n_own, self.matrix.shape[1]), dtype=bool)
        return gaps if self.encoding is None else gaps[:, self.encoding.first_features]

    def describe_columns(self) -> list[str]:
        sentences = [] if self.encoding is None else self.encoding.sentences()
        scaler = self.scaler
        if scaler is not None and scaler.parts is not None and self.encoding is not None:
            sentences.append(unconfirmed_sentence(self.encoding, scaler.parts))
        if scaler is not None and scaler.span is not None:
            constant = np.flatnonzero(np.isinf(scaler.span))
            if constant.size:
                sentences.append(left_out_sentence(constant, self.columns))
        return sentences

    def again(self, rows: View | None, n_new: int) -> FeatureView:
        return self.new(rows, n_new)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        X, gaps, what = self.matrix, self.gaps, f"view {self.name!r}"
        if gaps is not None and (
            sparse.issparse(X) or gaps.dtype != bool or gaps.shape != X.shape or X[gaps].any()
        ):
            raise Unsound(
                f"the missing cells of {what} do not match its {X.shape[0]} rows and "
                f"{X.shape[1]} columns, or are not zero"
            )
        if self.encoding is not None:
            self.encoding.check(X.shape[1])
        if self.scaler is not None:
            self.scaler.check(what, X, most)


def no_rows(name: str, n_new: int, width: int, is_sparse: bool) -> FeatureView:
    """Return new entities that are all missing from the view."""
    X = sparse.csr_array((n_new, width)) if is_sparse else np.zeros((n_new, width))
    return FeatureView(name, X, np.empty(0, dtype=np.intp))


def check_columns(fitted: View, rows: View, width: int) -> None:
    """Raise a ValueError unless new rows match the number and names of the fitted columns."""
    name, n_columns = fitted.name, rows.matrix.shape[1]
    if n_columns != width:
        raise ValueError(
            f"view {name!r} has {n_columns} columns, but the model was fitted on {width}: "
            "pass the same columns in the same order"
        )
    for at, (known, given) in enumerate(
        zip(fitted.columns or (), rows.columns or (), strict=False)
    ):
        if known != given:
            raise ValueError(
                f"column {at} of view {name!r} is {given!r}, but was {known!r} in the fit: put "
                "the columns in the same order"
            )


def check_spread(name: str, X: Matrix, scale: str, n_rows: int | None = None) -> None:
    """Check that the rows of a view are not all equal, and that their distances can be squared.

    X may also consist of the smallest and largest entries of each column in a view with `n_rows`
    rows.
    """
    low, high = column_ends(X)
    largest = max(float(np.abs(high).max()), float(np.abs(low).max()))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"view {name!r} has values up to {largest:.0e}, too large to square in double "
            "precision: use scale='minmax', or divide the view by a constant c (and alpha and "
            "beta by c^2)"
        )
    spread = float((high - low).max())
    if spread == 0:
        after = "" if scale == "none" else f" after scale={scale!r}"
        raise ValueError(
            f"view {name!r} is constant{after}: all of its {n_rows or X.shape[0]} rows are "
            "equal, so it cannot separate clusters; leave it out"
        )
    if spread < SMALLEST_SPREAD:
        raise ValueError(
            f"view {name!r} varies by at most {spread:.0e}, too little to square in double "
            "precision: use scale='minmax', or multiply the view by a constant c (and alpha and "
            "beta by c^2)"
        )
