"""`FeatureView`: rows of numbers, dense or sparse, whose distances are Euclidean. Single cells of dense rows may be missing."""

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
from rmgl.matrix import Matrix, padded, total_variance
from rmgl.running.memory import require_memory
from rmgl.running.threads import Check, InParts, one_part
from rmgl.views.columns import Encoding, left_out_sentence
from rmgl.views.hashing import Keys, Vector, mixed, projected, row_keys
from rmgl.views.incomplete import refuse_gaps
from rmgl.views.scaling import Scaler, choose_mixed, choose_scale, fit_mixed, fit_scaler
from rmgl.views.spread import check_spread
from rmgl.views.view import Comparing, Indices, View

EMPTY_COLUMNS = 10
"""A row of zeros is taken as missing only in views of at least so many columns: in a narrow view zeros are ordinary values."""
LEAST_PRESENT = 0.2
"""Rows of zeros are not taken as missing where less than this share of a view's rows would remain."""
COPIES = 4
"""Matrices of the size of a view that distances with missing cells take."""
NO_UNITS = "make the columns categories (astype('category')) and leave metric at 'euclidean'"


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
    gaps: NDArray[np.bool_] | None = None
    encoding: Encoding | None = None
    scaler: Scaler | None = None
    """How the rows were scaled (None: not yet)."""
    n_empty: int = 0

    def own(self) -> Matrix:
        return self.matrix if self.entities is None else self.matrix[self.entities]

    def of(self, entities: Indices) -> FeatureView:
        gaps = None if self.gaps is None else self.gaps[entities]
        return replace(self, matrix=self.matrix[entities], entities=self._entities_of(entities), gaps=gaps, n_empty=0)

    def in_order(self, order: Indices) -> FeatureView:
        gaps = None if self.gaps is None else self.gaps[order]
        return replace(self, matrix=self.matrix[order], entities=self._entities_in(order), gaps=gaps)

    def without(self, columns: Sequence[int]) -> FeatureView:
        rest = np.setdiff1d(np.arange(self.matrix.shape[1]), columns)
        gaps = None if self.gaps is None else self.gaps[:, rest]
        return replace(self, matrix=self.matrix[:, rest], gaps=gaps, columns=None, encoding=None, scaler=None)

    @property
    def filled(self) -> NDArray[np.bool_]:
        filled = super().filled
        return filled if self.gaps is None else filled | self.gaps.any(axis=1)

    def without_empty(self, filled: NDArray[np.bool_], anywhere: NDArray[np.bool_]) -> FeatureView:
        """Rows of zeros are missing in views of many columns, unless too few would remain."""
        rows = np.arange(self.n_rows) if self.entities is None else self.entities
        left = rows[(filled | ~anywhere)[rows]]
        n_empty = rows.size - left.size
        if self.matrix.shape[1] < EMPTY_COLUMNS or n_empty <= 1 or left.size < max(2, LEAST_PRESENT * rows.size):
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
        """The space of all rows, in which cells may be missing."""
        X = self.matrix
        require_memory(COPIES * 8 * X.shape[0] * X.shape[1], f"view {self.name!r}: distances with missing cells")
        return Gapped.of(X.toarray() if sparse.issparse(X) else X, self.gaps, self.entities)

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square:
        if self.gaps is not None:
            return Square.of_blocks(self.gapped(), in_parts, check)
        return Square.of(self.matrix, in_parts, check)

    def variance(self) -> float:
        return total_variance(self.measured())

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
        if how != "auto":
            return how, "given"
        return choose_scale(self.measured(), self.n_gaps) if self.encoding is None else choose_mixed(self.measured(), self.encoding)

    def scaled(self, how: str) -> FeatureView:
        """Refuses rows that are constant, or too large or small to square."""
        fit = partial(fit_scaler, how) if self.encoding is None else partial(fit_mixed, how, encoding=self.encoding)
        return self.scaled_by(self._apply(fit))

    def scaled_by(self, scaler: Scaler, check: bool = True) -> FeatureView:
        own, gaps = self._apply(scaler), self.own_gaps()
        if check:
            check_spread(self.name, own, scaler.name)
        own = own if gaps is None else np.where(gaps, 0.0, own)
        return replace(self, matrix=own if self.entities is None else padded(own, self.entities, self.n_rows), scaler=scaler)

    def _apply(self, function: Callable[[Matrix], Any]) -> Any:
        """Apply a function to the observed rows; its errors name the view."""
        try:
            return function(self.measured())
        except ValueError as error:
            raise ValueError(f"view {self.name!r} {error}") from error

    def check_metric(self, how: str, by_name: bool) -> None:
        if how in ("hamming", "jaccard"):
            refuse_gaps(self.name, self.gaps, NO_UNITS if how == "hamming" else "use another metric")
            if self.encoding is not None:
                raise ValueError(f"metric={how!r} for view {self.name!r}, which has columns of other kinds than numbers: use 'euclidean'")

    @property
    def has_levels(self) -> bool:
        """Whether there is a column of numbers for each value of a column, as for Hamming distances."""
        return self.scaler is not None and self.scaler.levels is not None

    @property
    def width(self) -> int:
        """Number of columns of the rows as they were given."""
        levels = None if self.scaler is None else self.scaler.levels
        return int(self.matrix.shape[1]) if levels is None else len(levels)

    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        if rows is None:
            return no_rows(self.name, n_new, self.width, sparse.issparse(self.matrix))
        check_columns(self, rows, self.width)
        X = rows.matrix
        if sparse.issparse(self.matrix) and rows.gaps is None:
            X = sparse.csr_array(X)
        elif sparse.issparse(X):
            X = X.toarray()
        return FeatureView(self.name, X, np.flatnonzero(rows.mask), rows.columns or self.columns, rows.gaps, self.encoding)

    def scaled_new(self, new: View) -> View:
        return new if self.scaler is None else new.scaled_by(self.scaler, check=False)

    def comparing(self) -> Comparing:
        gapped = cache(self.gapped)

        def compare(new: FeatureView) -> NDArray[np.float64]:
            if new.gaps is None and self.gaps is None:
                return dense_distances(new.matrix, self.matrix)
            return gapped().distances_from(new.matrix.toarray() if sparse.issparse(new.matrix) else new.matrix, new.gaps)

        return compare

    @property
    def features(self) -> FeatureView:
        return self

    def with_columns(self, names: tuple[str, ...] | None) -> FeatureView:
        return self if self.columns is not None or names is None else replace(self, columns=names)

    def table_gaps(self) -> NDArray[np.bool_]:
        gaps = self.own_gaps()
        if gaps is None:
            n_columns = self.matrix.shape[1] if self.encoding is None else self.encoding.first_features.size
            return np.zeros((self.n_own, n_columns), dtype=bool)
        return gaps if self.encoding is None else gaps[:, self.encoding.first_features]

    def describe_columns(self) -> list[str]:
        said = [] if self.encoding is None else self.encoding.sentences()
        span = None if self.scaler is None else self.scaler.span
        constant = np.empty(0, dtype=np.intp) if span is None else np.flatnonzero(np.isinf(span))
        return [*said, left_out_sentence(constant, self.columns)] if constant.size else said

    def again(self, rows: View | None, n_new: int) -> FeatureView:
        return self.new(rows, n_new)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        X, gaps, what = self.matrix, self.gaps, f"view {self.name!r}"
        if gaps is not None and (sparse.issparse(X) or gaps.dtype != bool or gaps.shape != X.shape or X[gaps].any()):
            raise Unsound(f"the missing cells of {what} do not fit its {X.shape[0]} rows and {X.shape[1]} columns, or are not zero there")
        if self.encoding is not None:
            self.encoding.check(X.shape[1])
        if self.scaler is not None:
            self.scaler.check(what, X, most)


def no_rows(name: str, n_new: int, width: int, is_sparse: bool) -> FeatureView:
    """New entities none of which is in the view."""
    X = sparse.csr_array((n_new, width)) if is_sparse else np.zeros((n_new, width))
    return FeatureView(name, X, np.empty(0, dtype=np.intp))


def no_features(rows: View | None, name: str, n_new: int) -> FeatureView:
    """Entities of a kind of view that has no features; `rows` says which of them are given."""
    return FeatureView(name, np.zeros((n_new, 0)), np.empty(0, dtype=np.intp) if rows is None else rows.entities)


def check_columns(fitted: View, rows: View, width: int) -> None:
    """Raise a ValueError unless new rows have so many columns and, where both have names, those of the fitted view."""
    name, n_columns = fitted.name, rows.matrix.shape[1]
    if n_columns != width:
        raise ValueError(
            f"view {name!r} has {n_columns} columns, but the model was fitted on {width}: give the same columns in the same order"
        )
    known, found = fitted.columns, rows.columns
    if known is not None and found is not None and known != found:
        wrong = next(at for at, (ours, theirs) in enumerate(zip(known, found, strict=True)) if ours != theirs)
        raise ValueError(
            f"column {wrong} of view {name!r} is {found[wrong]!r}, but {known[wrong]!r} in the fitted one: put columns in the same order"
        )
