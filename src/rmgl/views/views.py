"""Views: what users have, checked, named and scaled. The caller's data are never written to.

An entity may be absent from some views. A view holds zeros in place of its row then, and `present` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.views.column_blocks import split_columns
from rmgl.views.incomplete import aligned, check_observed, named_rows, without_absent
from rmgl.views.scaling import SCALES, Scaler, choose_scale, fit_scaler

Matrix: TypeAlias = Any
"""A dense float64 array, or a float64 `scipy.sparse.csr_array`."""

# Squared distances of larger values, squared again in the dual, leave the range of doubles; of smaller ones, too.
LARGEST_VALUE = 1e70
SMALLEST_SPREAD = 1e-70
LARGEST_WEIGHT = 1e100
EMPTY_COLUMNS = 10
LEAST_PRESENT = 0.2


@dataclass(frozen=True)
class Views:
    """Named matrices (dense float64, or CSR) with the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"height": np.ones((4, 2)), "color": np.eye(4)})
    >>> views.names, views.n_rows, views.n_features
    (('height', 'color'), 4, 6)
    """

    names: tuple[str, ...]
    matrices: tuple[Matrix, ...]
    present: tuple[NDArray[np.intp] | None, ...] = ()
    """For every view the rows it has something to say about, None for all; empty if that is so everywhere. Other rows are zero."""
    index: NDArray | None = None
    """The labels of the rows, where tables carry them."""
    columns: tuple[tuple[str, ...] | None, ...] = ()
    """The names of the columns of every view, None where it has none; empty if none has."""
    n_empty: tuple[int, ...] = ()
    """How many rows of each view were set aside because they hold nothing but zeros; empty if none."""

    @classmethod
    def of(cls, data: Any, blocks: Any = None, *, align: str | None = None, observed: Any = None, least: int = 2) -> Views:
        """Views from a list, tuple or dict of 2-D inputs, or from one 2-D input with its column `blocks`.

        Rows that are NaN throughout, or that the masks `observed` leave out, are absent from their view. `align` puts tables with
        different row labels together: "outer" takes every entity of any table, "inner" those of all. A view needs `least` rows.
        """
        if isinstance(data, Views):
            given = [f"{name}=" for name, value in (("observed", observed), ("align", align), ("views", blocks)) if value is not None]
            if given:
                raise ValueError(f"{given[0]} is for arrays and tables, but these views know which rows they have: leave it out")
            return data.checked(least)
        if hasattr(data, "obs_names"):
            kind = "mudata(mdata)" if hasattr(data, "mod") else "anndata(adata, ['X', ...])"
            raise TypeError(f"a {type(data).__name__} is not one table: use rmgl.from_{kind}")
        if is_collection_of_views(data):
            if blocks is not None:
                raise ValueError("views= describes the column blocks of one 2-D input, but several views were given: leave views=None")
            items = data.items() if isinstance(data, Mapping) else ((f"view_{m}", X) for m, X in enumerate(data))
            named = [(str(name), X) for name, X in items]
        elif blocks is None:
            named = [("view_0", data)]
        else:
            named = split_columns(data, blocks)
        names = tuple(name for name, _ in named)
        if not names:
            raise ValueError("no views were given: pass at least one 2-D array")
        if len(set(names)) < len(names):
            raise ValueError(f"view names must differ, but they are {list(names)}: rename the repeated one")
        if align is not None:
            if observed is not None:
                raise ValueError("observed= goes by the order of the rows, which align= changes: use one of the two")
            named = aligned(named, align)
        masks = check_observed(observed, names, next((X.index for _, X in named if _has_row_labels(X)), None))
        checked = [check_view(name, X, mask, least) for (name, X), mask in zip(named, masks, strict=True)]
        matrices, present = tuple(X for X, _ in checked), tuple(rows for _, rows in checked)
        check_same_rows(named, matrices)
        views = cls(names, matrices, present if any(rows is not None for rows in present) else (), row_labels(named), column_names(named))
        views.check_entities(least)
        return views

    def checked(self, least: int = 2) -> Views:
        """These views, if what they hold is still what it was when they were made; for views that come back from users."""
        for view, (name, X) in enumerate(zip(self.names, self.matrices, strict=True)):
            if sparse.issparse(X):
                sound_numbers(f"view {name!r}", sound_sparse(f"view {name!r}", X).data, (None,))
            else:
                sound_numbers(f"view {name!r}", X, (None, None))
            if X.shape[0] != self.n_rows:
                raise Unsound(f"view {name!r} has {X.shape[0]} rows but view {self.names[0]!r} has {self.n_rows}")
            if self.rows(view) is not None:
                sound_indices(f"the rows of view {name!r}", self.rows(view), self.n_rows)
        self.check_entities(least)
        return self

    def check_entities(self, least: int = 2) -> None:
        """Every entity is in some view, and every view has enough of them."""
        somewhere = np.zeros(self.n_rows, dtype=bool)
        for view, name in enumerate(self.names):
            rows = self.rows(view)
            if rows is not None and rows.size < least:
                raise ValueError(f"view {name!r} has {rows.size} row(s) that are not missing, and needs at least {least}: leave it out")
            somewhere[slice(None) if rows is None else rows] = True
        nowhere = np.flatnonzero(~somewhere)
        if nowhere.size:
            raise ValueError(f"{named_rows(nowhere, self.index)} missing from every view: an entity needs at least one; drop it")

    @property
    def n_rows(self) -> int:
        return self.matrices[0].shape[0]

    @property
    def n_features(self) -> int:
        """Columns of all views together."""
        return sum(X.shape[1] for X in self.matrices)

    @property
    def complete(self) -> bool:
        """Whether every view has all rows."""
        return all(rows is None for rows in self.present)

    def rows(self, view: int) -> NDArray[np.intp] | None:
        """The rows that a view has; None for all."""
        return self.present[view] if self.present else None

    def mask(self, view: int) -> NDArray[np.bool_]:
        """The same as truth values."""
        rows = self.rows(view)
        present = np.full(self.n_rows, rows is None)
        present[slice(0) if rows is None else rows] = True
        return present

    def own(self, view: int) -> Matrix:
        """The rows that a view has, without the others."""
        rows = self.rows(view)
        return self.matrices[view] if rows is None else self.matrices[view][rows]

    def without_empty_rows(self) -> Views:
        """Rows of zeros in a view of ten columns or more say nothing there: the view is taken as not having them.

        A row that is zero everywhere stays, and so do all rows of a view of which fewer than `LEAST_PRESENT` would be left.
        """
        filled = [np.asarray((X != 0).sum(axis=1)).ravel() > 0 for X in self.matrices]
        anywhere = np.any(filled, axis=0)
        present, n_empty = [], []
        for view, (X, said) in enumerate(zip(self.matrices, filled, strict=True)):
            given = self.rows(view)
            rows = np.arange(self.n_rows) if given is None else given
            left = rows[(said | ~anywhere)[rows]]
            drop = X.shape[1] >= EMPTY_COLUMNS and rows.size - left.size > 1 and left.size >= max(2, LEAST_PRESENT * rows.size)
            present.append(left if drop else given)
            n_empty.append(rows.size - left.size if drop else 0)
        if not any(n_empty):
            return self
        return replace(self, present=tuple(present), n_empty=tuple(n_empty))

    @property
    def n_missing(self) -> tuple[int, ...]:
        """How many entities each view does not have, rows of zeros not counted."""
        sizes = [self.n_rows if rows is None else rows.size for rows in map(self.rows, range(len(self.names)))]
        return tuple(self.n_rows - size - empty for size, empty in zip(sizes, self.n_empty or [0] * len(sizes), strict=True))

    def scaled(self, scale: Any) -> Views:
        """The views after `scale`: "auto", or one of the names in `rmgl.views.scaling.SCALES`, or one of these per view."""
        return self.scaled_by(self.fit_scalers([how for how, _ in self.choose_scales(scale)]))

    def fit_scalers(self, scales: Sequence[str]) -> list[Scaler]:
        """What each view's scale takes from its rows."""
        return [self._naming(view, partial(fit_scaler, how)) for view, how in enumerate(scales)]

    def scaled_by(self, scalers: Sequence[Scaler], check: bool = True) -> Views:
        """The views after their scalers."""
        matrices = tuple(self._naming(view, scaler) for view, scaler in enumerate(scalers))
        if check:
            for name, own, scaler in zip(self.names, matrices, scalers, strict=True):
                check_spread(name, own, scaler.name)
        return replace(self, matrices=tuple(self._padded(view, own) for view, own in enumerate(matrices)))

    def choose_scales(self, scale: Any) -> list[tuple[str, str]]:
        """The name of every view's scale, and why it was chosen."""
        scales = per_view(scale, self.names, "scale")
        for name, how in zip(self.names, scales, strict=True):
            if not isinstance(how, str) or how not in (*SCALES, "auto"):
                known = ", ".join(map(repr, ("auto", *SCALES)))
                raise ValueError(f"scale={how!r} for view {name!r} is not known: use one of {known}")
        return [choose_scale(self.own(view)) if how == "auto" else (how, "given") for view, how in enumerate(scales)]

    def _naming(self, view: int, work: Callable[[Matrix], Any]) -> Any:
        """The result of some work on the rows of a view; errors name the view."""
        try:
            return work(self.own(view))
        except ValueError as error:
            raise ValueError(f"view {self.names[view]!r} {error}") from error

    def _padded(self, view: int, own: Matrix) -> Matrix:
        rows = self.rows(view)
        return own if rows is None else padded(own, rows, self.n_rows)


def padded(own: Matrix, rows: NDArray[np.intp], n_rows: int) -> Matrix:
    """The rows of a view among all, zeros in place of those it does not have."""
    if sparse.issparse(own):
        everyone = sparse.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))), shape=(n_rows, rows.size))
        return sparse.csr_array(everyone @ own)
    X = np.zeros((n_rows, own.shape[1]))
    X[rows] = own
    return X


def per_view(value: Any, names: Sequence[str], parameter: str) -> list[Any]:
    """One value per view from a single value, a list in the order of the views, or a dict by view name."""
    if isinstance(value, Mapping):
        value = {str(key): entry for key, entry in value.items()}
        unknown = [key for key in value if key not in names]
        missing = [name for name in names if name not in value]
        if unknown or missing:
            problem = f"names unknown views {unknown}" if unknown else f"has no entry for views {missing}"
            raise ValueError(f"{parameter} {problem}: the views are {list(names)}")
        return [value[name] for name in names]
    if hasattr(value, "__array__"):  # arrays and pandas Series
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            raise ValueError(
                f"{parameter} has {len(value)} entries for {len(names)} views {list(names)}: give one value, or one for each view"
            )
        return list(value)
    return [value] * len(names)


def positive_per_view(value: Any, names: Sequence[str], parameter: str, *, zero_allowed: bool = False) -> NDArray[np.float64]:
    """`per_view` for numbers above zero (or from zero on)."""
    values = per_view(value, names, parameter)
    wanted = f"a number from 0 to {LARGEST_WEIGHT:g}" if zero_allowed else f"a number > 0 and at most {LARGEST_WEIGHT:g}"
    for name, number in zip(names, values, strict=True):
        is_number = isinstance(number, Real) and not isinstance(number, bool) and 0 <= float(number) <= LARGEST_WEIGHT
        if not is_number or (number == 0 and not zero_allowed):
            raise ValueError(f"{parameter}={number!r} for view {name!r} must be {wanted}")
    return np.array(values, dtype=np.float64)


def is_collection_of_views(data: Any) -> bool:
    """True for a dict, and for a list or tuple that holds arrays or tables rather than rows of numbers."""
    if sparse.issparse(data):  # a DOK matrix is a dict, too
        return False
    if isinstance(data, Mapping):
        return True
    if not isinstance(data, list | tuple):
        return False
    return not data or any(hasattr(item, "shape") or hasattr(item, "__array__") or _nesting(item) >= 2 for item in data)


def _nesting(item: Any) -> int:
    depth = 0
    while isinstance(item, list | tuple) and depth < 3:
        depth += 1
        item = item[0] if item else None
    return depth


def check_view(name: str, X: Any, observed: NDArray[np.bool_] | None = None, least: int = 2) -> tuple[Matrix, NDArray[np.intp] | None]:
    """One view as a dense float64 array or a CSR array with finite entries, and the rows it has, None for all; errors name the view.

    Rows that are not `observed`, or are NaN throughout, are not in the view: they are zero in what is returned.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if getattr(X, "ndim", 0) == 2 and X.shape[1] and hasattr(X, "sparse"):  # a table whose columns are all sparse
        try:
            X = X.sparse.to_coo()  # here, because scikit-learn before 1.9 makes truth values dense
        except (ValueError, TypeError) as error:
            raise type(error)(f"view {name!r}: {error}") from error
    if sparse.issparse(X):
        X = sound_sparse(f"view {name!r}", X)  # before anything is converted: conversions are compiled code, too
    if isinstance(X, np.ndarray) and X.dtype.kind in "USMm":
        raise ValueError(f"view {name!r}: could not convert {X.dtype} values (text or dates) to numbers: encode them first")
    try:
        checked = check_array(
            X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=least, input_name=name
        )  # one order in memory, so that sums are rounded in one way
    except (ValueError, TypeError) as error:
        raise type(error)(f"view {name!r}: {_without_arrays(str(error))}{_text_columns(X)}") from error
    checked, present = without_absent(name, checked, observed)
    if sparse.issparse(checked):
        checked = sparse.csr_array(checked, dtype=np.float64, copy=True)
        checked.sum_duplicates()
    return checked, present


def _without_arrays(message: str) -> str:
    """What scikit-learn says of an input, without the input itself, which may be long."""
    if message.startswith("Complex data") or message.endswith("not 'complex'"):
        return "Complex data not supported: give the real and imaginary parts, or the sizes, as columns of their own"
    return re.sub(r" instead:\narray=.*\.\n(?=Reshape your data)", " instead. ", message, flags=re.DOTALL)


def _text_columns(X: Any) -> str:
    """The columns of a table that are not numbers, as the end of an error message."""
    if not hasattr(X, "select_dtypes"):
        return ""
    text = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    return f" (columns that are not numbers: {text[:5]}; drop or encode them)" if text else ""


def check_same_rows(named: list[tuple[str, Any]], matrices: tuple[Matrix, ...]) -> None:
    """All views have the same number of rows and, where tables carry row labels, the same labels in the same order."""
    first_name, first = named[0][0], matrices[0]
    for (name, _), X in zip(named, matrices, strict=True):
        if X.shape[0] != first.shape[0]:
            raise ValueError(
                f"view {name!r} has {X.shape[0]} rows but view {first_name!r} has {first.shape[0]}: "
                "every view needs the same entities in the same order (a missing entity is a row of NaN; tables with row labels are put "
                "together by align='outer')"
            )
    labeled = [(name, X.index) for name, X in named if _has_row_labels(X)]
    for name, index in labeled[1:]:
        reference_name, reference = labeled[0]
        ours, theirs = np.asarray(index, dtype=object), np.asarray(reference, dtype=object)
        both_missing = (ours != ours) & (theirs != theirs)
        differs = np.flatnonzero((ours != theirs) & ~both_missing)
        if differs.size:
            row = differs[0]
            raise ValueError(
                f"row {row} of view {name!r} is labeled {index[row]!r} but {reference[row]!r} in view {reference_name!r}: "
                "put the rows together by their labels (align='outer' or 'inner'), or drop the labels (reset_index) if they mean nothing"
            )


def row_labels(named: Sequence[tuple[str, Any]]) -> NDArray | None:
    """The row labels of the first table that carries any."""
    return next((np.asarray(X.index, dtype=object) for _, X in named if _has_row_labels(X)), None)


def column_names(named: Sequence[tuple[str, Any]]) -> tuple[tuple[str, ...] | None, ...]:
    """The names of the columns of tables whose columns have names."""
    names = [tuple(X.columns) if hasattr(X, "columns") and all(isinstance(c, str) for c in X.columns) else None for _, X in named]
    return tuple(names) if any(names) else ()


def _has_row_labels(X: Any) -> bool:
    """A DataFrame whose index is more than a count of its rows."""
    return hasattr(X, "iloc") and not (X.index.dtype.kind in "iu" and np.array_equal(X.index, np.arange(len(X.index))))


def check_spread(name: str, X: Matrix, scale: str) -> None:
    """Refuse a view that says nothing (all rows equal) or whose squared distances leave the range of doubles."""
    high, low = X.max(axis=0), X.min(axis=0)
    high, low = (np.asarray(v.todense() if sparse.issparse(v) else v).ravel() for v in (high, low))
    largest = max(float(np.abs(high).max()), float(np.abs(low).max()))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"view {name!r} has values up to {largest:.0e}, too large to square in double precision: "
            "use scale='minmax', or divide the view by a constant c (and alpha and beta by c^2)"
        )
    spread = float((high - low).max())
    if spread == 0:
        after = "" if scale == "none" else f" after scale={scale!r}"
        raise ValueError(
            f"view {name!r} is constant{after}: all its {X.shape[0]} rows are equal, so it says nothing about clusters; leave it out"
        )
    if spread < SMALLEST_SPREAD:
        raise ValueError(
            f"view {name!r} varies by at most {spread:.0e}, too little to square in double precision: "
            "use scale='minmax', or multiply the view by a constant c (and alpha and beta by c^2)"
        )


def total_variance(X: Matrix) -> float:
    """Sum of the variances of the columns: half the mean squared distance of two random rows."""
    if sparse.issparse(X):
        return float((X * X).mean(axis=0).sum() - np.square(X.mean(axis=0)).sum())
    return float(X.var(axis=0).sum())


def side_by_side(matrices: Sequence[Matrix]) -> Matrix:
    """All columns of all matrices in one; sparse if one of them is."""
    if any(sparse.issparse(X) for X in matrices):
        return sparse.csr_array(sparse.hstack(matrices))
    return np.hstack(matrices)
