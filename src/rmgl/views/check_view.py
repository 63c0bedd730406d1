"""Checks of what users pass as views: of each view alone, and of all together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from rmgl.checks import sound_sparse
from rmgl.views.columns import Encoding, fit_encoding, is_table, plain_numbers
from rmgl.views.features import FeatureView
from rmgl.views.incomplete import without_missing
from rmgl.views.view import View

SAME_ROWS = "give a missing entity a row of NaN, or align tables by their row labels with align='outer'"
SAME_NODES = (
    "give a network or a matrix of distances a row and a column for each entity (without edges if there are none), or a graph whose nodes "
    "are named by the row labels of the tables"
)


def is_collection_of_views(data: Any) -> bool:
    """True for a dict, and for a list or tuple that holds arrays or tables rather than rows of numbers."""
    if sparse.issparse(data):  # a DOK matrix is also a dict
        return False
    if isinstance(data, Mapping):
        return True
    if not isinstance(data, list | tuple):
        return False
    return not data or any(
        is_given_view(item) or hasattr(item, "shape") or hasattr(item, "__array__") or _nesting(item) >= 2 for item in data
    )


@runtime_checkable
class GivenView(Protocol):
    """What users pass for a view that is no array or table, such as `rmgl.Network` and `rmgl.Precomputed`.

    It may also have methods that match its entities with the row labels of tables: `labels()` and `placed(name, index)`, or
    `in_order(name, index)`.
    """

    def to_view(self, name: str, observed: NDArray[np.bool_] | None) -> View:
        """The view of that name, checked; entities that are not `observed` are missing from it (None: all are observed)."""


def is_given_view(item: Any) -> bool:
    """Whether a view is no array or table, but makes a view of its own kind."""
    return isinstance(item, GivenView)


def _nesting(item: Any) -> int:
    depth = 0
    while isinstance(item, list | tuple) and depth < 3:
        depth += 1
        item = item[0] if item else None
    return depth


NUMBERS = Encoding(())
"""Stands for no encoding: all columns must be numbers."""


def check_view(
    name: str, X: Any, observed: NDArray[np.bool_] | None = None, least: int = 2, encoding: Encoding | None = None
) -> FeatureView:
    """Check one view, and turn it into numbers; errors name the view.

    Rows that are not `observed`, or are NaN in every column, are missing from the view. Columns of a table that are not numbers are
    encoded: by the given `encoding`, which was fitted to another table, or by a new one.
    """
    if getattr(X, "ndim", 0) == 2 and not X.shape[1]:
        found = f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required"  # as scikit-learn says it
        raise ValueError(f"view {name!r}: {found}: give at least one column, or leave the view out")
    X, encoding = _encoded(name, X, encoding)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if getattr(X, "ndim", 0) == 2 and X.shape[1] and hasattr(X, "sparse"):  # a table whose columns are all sparse
        try:
            X = X.sparse.to_coo()  # here, because scikit-learn before 1.9 makes truth values dense
        except (ValueError, TypeError) as error:
            raise type(error)(f"view {name!r}: {error}") from error
    if sparse.issparse(X):
        X = sound_sparse(f"view {name!r}", X)  # before any conversion: conversions are compiled code and trust the indices
    if isinstance(X, np.ndarray) and X.dtype.kind in "USMm":
        raise ValueError(f"view {name!r}: could not convert {X.dtype} values (text or dates) to numbers: encode them first")
    try:
        checked = check_array(
            X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=least, input_name=name
        )  # one order in memory, so that sums are rounded in one way
    except (ValueError, TypeError) as error:
        raise type(error)(f"view {name!r}: {_without_arrays(str(error))}{_text_columns(X)}") from error
    checked, rows, gaps = without_missing(name, checked, observed)
    if sparse.issparse(checked):
        checked = sparse.csr_array(checked, dtype=np.float64, copy=True)
        checked.sum_duplicates()
    return FeatureView(name, checked, rows, None if encoding is None else encoding.features, gaps, encoding)


def _encoded(name: str, X: Any, encoding: Encoding | None) -> tuple[Any, Encoding | None]:
    """The numbers of a table with columns of several kinds, and how they were encoded; other inputs as they are."""
    try:
        if encoding is not None and encoding is not NUMBERS:
            return encoding(X), encoding
        if not is_table(X) or not X.shape[1]:
            return X, None
        found = None if encoding is NUMBERS or hasattr(X, "sparse") else fit_encoding(X)
        if found is None:
            return plain_numbers(X), None
        return found(X), found
    except (ValueError, TypeError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"view {name!r}: {error}{_text_columns(X) if encoding is NUMBERS else ''}"
        ) from error


def _without_arrays(message: str) -> str:
    """An error message of scikit-learn without the array that it quotes, which may be long."""
    if message.startswith("Complex data") or message.endswith("not 'complex'"):
        return "Complex data not supported: give the real and imaginary parts, or the absolute values, as separate columns"
    return re.sub(r" instead:\narray=.*\.\n(?=Reshape your data)", " instead. ", message, flags=re.DOTALL)


def _text_columns(X: Any) -> str:
    """The columns of a table that are not numbers, as the end of an error message."""
    if not hasattr(X, "select_dtypes"):
        return ""
    text = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    return f" (columns that are not numbers: {text[:5]}; drop or encode them)" if text else ""


def check_same_rows(named: list[tuple[str, Any]], lengths: Sequence[int]) -> None:
    """Check that all views have the same number of rows and, where tables have row labels, the same labels in the same order."""
    for (name, given), length in zip(named, lengths, strict=True):
        if length != lengths[0]:
            square = is_given_view(given) or is_given_view(named[0][1])
            raise ValueError(
                f"view {name!r} has {length} rows but view {named[0][0]!r} has {lengths[0]}: every view needs the same entities in "
                f"the same order; {SAME_NODES if square else SAME_ROWS}"
            )
    check_same_labels(named)


def check_same_labels(named: list[tuple[str, Any]]) -> None:
    """Check that tables of as many rows that have row labels have the same labels in the same order."""
    labeled = [(name, X.index) for name, X in named if has_row_labels(X)]
    for name, index in labeled[1:]:
        reference_name, reference = labeled[0]
        ours, theirs = np.asarray(index, dtype=object), np.asarray(reference, dtype=object)
        both_missing = (ours != ours) & (theirs != theirs)
        differs = np.flatnonzero((ours != theirs) & ~both_missing)
        if differs.size:
            row = differs[0]
            raise ValueError(
                f"row {row} of view {name!r} is labeled {index[row]!r} but {reference[row]!r} in view {reference_name!r}: "
                "align the rows by their labels (align='outer' or 'inner'), or drop the labels (reset_index) if they mean nothing"
            )


def row_labels(named: Sequence[tuple[str, Any]]) -> NDArray[np.object_] | None:
    """The row labels of the first table that has any."""
    return next((np.asarray(X.index, dtype=object) for _, X in named if has_row_labels(X)), None)


def column_names(named: Sequence[tuple[str, Any]]) -> tuple[tuple[str, ...] | None, ...]:
    """The column names of the tables whose columns have names, None for other views; empty if no view has names."""
    names = [tuple(X.columns) if hasattr(X, "columns") and all(isinstance(c, str) for c in X.columns) else None for _, X in named]
    return tuple(names) if any(names) else ()


def has_row_labels(X: Any) -> bool:
    """Whether the input is a DataFrame whose index is not just 0, 1, 2, ..."""
    return hasattr(X, "iloc") and not (X.index.dtype.kind in "iu" and np.array_equal(X.index, np.arange(len(X.index))))
