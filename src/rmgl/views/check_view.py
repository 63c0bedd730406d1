"""Check user input for views: name the inputs, check each view, and compare all views.

`Views.of` uses this module in order: `named_inputs` names the inputs, `matched` puts inputs with
row labels or named nodes into a common order, `check_view` turns an array or table into a
`FeatureView` (other objects create their own view, see `GivenView`), and `check_same_rows` compares
the views. `per_view` reads parameters specified once or for each view.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from rmgl.checks import sound_sparse
from rmgl.views.column_blocks import split_columns
from rmgl.views.column_kinds import fit_encoding
from rmgl.views.encoding import Encoding, listed
from rmgl.views.features import FeatureView
from rmgl.views.incomplete import Mask, aligned, without_missing
from rmgl.views.view import GivenView

Named: TypeAlias = list[tuple[str, Any]]
"""User input for the views, each with the name of its view."""

NUMBERS = Encoding(())
"""Placeholder for no encoding: all columns must be numeric."""
LARGEST_WEIGHT = 1e100
"""Largest weight that users may set for a view."""
SAME_ROWS = (
    "for a missing entity, use a row of NaN, or align tables by their row labels with align='outer'"
)
SAME_NODES = (
    "a network or a distance matrix needs one row and one column per entity (empty "
    "if it has no edges), or a graph with the row labels of the tables as node names"
)


# Inputs by name


def is_given_view(item: Any) -> bool:
    """Return whether an input creates its own kind of view, unlike arrays and tables."""
    return isinstance(item, GivenView)


def is_table(X: Any) -> bool:
    """Return whether an input is a pandas DataFrame."""
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "dtypes")


def as_table(X: Any) -> Any:
    """Convert a polars or pyarrow table to pandas. Other inputs are returned unchanged."""
    is_other = hasattr(X, "to_pandas") and getattr(X, "ndim", 2) == 2 and not hasattr(X, "iloc")
    return X.to_pandas() if is_other else X


def is_collection_of_views(data: Any) -> bool:
    """Return whether an input is a dict, or a list or tuple of arrays or tables."""
    if sparse.issparse(data):  # a DOK matrix is also a dict
        return False
    if isinstance(data, Mapping):
        return True
    if not isinstance(data, list | tuple):
        return False
    return not data or any(
        is_given_view(item)
        or hasattr(item, "shape")
        or hasattr(item, "__array__")
        or (isinstance(item, list | tuple) and isinstance(next(iter(item), None), list | tuple))
        for item in data
    )


def is_dask(X: Any) -> bool:
    """Return whether an input is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def is_zarr(X: Any) -> bool:
    """Return whether an input is a zarr array or group."""
    return type(X).__module__.partition(".")[0] == "zarr"


def is_stored(X: Any) -> bool:
    """Return whether a view has to be read first: a Dask collection, a zarr array, or a path."""
    return is_dask(X) or isinstance(X, str | os.PathLike) or is_zarr(X)


def has_stored(data: Any) -> bool:
    """Return whether any of the views has to be read first (`rmgl.views.stored`)."""
    return any(map(is_stored, given_items(data)))


def has_dask(data: Any) -> bool:
    """Return whether at least one view is a Dask collection."""
    return any(map(is_dask, given_items(data)))


def given_items(data: Any) -> list[Any]:
    """Return the views of a dict, list or tuple. Any other input is a single view."""
    if isinstance(data, Mapping):
        return list(data.values())
    return list(data) if isinstance(data, list | tuple) else [data]


def named_inputs(data: Any, blocks: Any) -> Named:
    """Name the inputs of a list, tuple or dict, or the column `blocks` of one table."""
    if hasattr(data, "obs_names"):
        kind = "mudata(mdata)" if hasattr(data, "mod") else "anndata(adata, ['X', ...])"
        raise TypeError(
            f"the input is of type {type(data).__name__}, but arrays or tables were "
            f"expected: use rmgl.from_{kind}"
        )
    if is_collection_of_views(data):
        if blocks is not None:
            raise ValueError(
                "views= describes the column blocks of one 2-D input, but several views were "
                "given: set views=None"
            )
        if not isinstance(data, Mapping):
            data = {f"view_{m}": X for m, X in enumerate(data)}
        named = [(str(name), as_table(X)) for name, X in data.items()]
    elif blocks is None:
        named = [("view_0", as_table(data))]
    else:
        named = split_columns(as_table(data), blocks)
    names = [name for name, _ in named]
    if not names:
        raise ValueError("no views were given: pass at least one 2-D array")
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ, but they are {names}: rename the duplicates")
    return named


# A common order of the entities


def matched(
    named: Named, align: str | None, index: NDArray[Any] | None
) -> tuple[Named, NDArray[Any] | None]:
    """Put the entities of all inputs into a common order, and return their labels."""
    if align is not None:
        tables = dict(aligned(tables_in(named), align))
        named = [(name, tables.get(name, X)) for name, X in named]
    named, index = with_nodes_placed(named, index)
    labels = row_labels(tables_in(named)) if index is None else index
    if labels is not None:
        named = [
            (name, X.in_order(name, labels) if hasattr(X, "in_order") else X) for name, X in named
        ]
    return named, row_labels(named) if index is None else index


def tables_in(named: Named) -> Named:
    """Return the inputs that are arrays or tables."""
    return [(name, X) for name, X in named if not is_given_view(X)]


def with_nodes_placed(
    named: Named, index: NDArray[Any] | None
) -> tuple[Named, NDArray[Any] | None]:
    """Put networks with named nodes into the order of the row labels, or else of their nodes."""
    labels = {name: X.labels() for name, X in named if hasattr(X, "labels")}
    if not any(labels.values()):
        return named, index
    known = row_labels(named) if index is None else index
    if known is None:
        known = index = _common_nodes(named, labels)
    order = known.tolist()
    return [(name, X.placed(name, order) if labels.get(name) else X) for name, X in named], index


def _common_nodes(named: Named, labels: Mapping[str, list[Any] | None]) -> NDArray[np.object_]:
    """Return the distinct nodes of all networks, if all views are networks with named nodes."""
    unnamed = next((name for name, _ in named if not labels.get(name)), None)
    if unnamed is not None:
        name = next(name for name, names in labels.items() if names)
        raise ValueError(
            f"view {name!r}: the nodes of the network have names, but the rows of view "
            f"{unnamed!r} do not; pass tables with row labels, or name the nodes 0, 1, 2, "
            "... in the order of the rows"
        )
    nodes = dict.fromkeys(label for names in labels.values() for label in names or ())
    return np.array(list(nodes), dtype=object)


def has_row_labels(X: Any) -> bool:
    """Return whether an input is a DataFrame with an index other than 0, 1, 2, ..."""
    return hasattr(X, "iloc") and not (
        X.index.dtype.kind in "iu" and np.array_equal(X.index, np.arange(len(X.index)))
    )


def row_labels(named: Sequence[tuple[str, Any]]) -> NDArray[np.object_] | None:
    """Return the row labels of the first table that has any."""
    return next((np.asarray(X.index, dtype=object) for _, X in named if has_row_labels(X)), None)


def column_names(named: Sequence[tuple[str, Any]]) -> tuple[tuple[str, ...] | None, ...]:
    """Return the column names of each table (None without names). Empty if no table has any."""
    columns = [tuple(getattr(X, "columns", ())) for _, X in named]
    texts = [some if all(isinstance(name, str) for name in some) else () for some in columns]
    return tuple(some or None for some in texts) if any(texts) else ()


# One view


def check_view(
    name: str,
    X: Any,
    observed: Mask | None = None,
    least: int = 2,
    encoding: Encoding | None = None,
    new: bool = False,
) -> FeatureView:
    """Check one view and convert it to numbers. Errors name the view.

    Rows that are not `observed`, or are NaN in every column, are treated as missing from the view.
    Columns that are not numeric are encoded, with `encoding` if specified, or else with a new one.
    In `new` rows of a fitted view, columns without any value count as missing.
    """
    if getattr(X, "ndim", 0) == 2 and not X.shape[1]:
        raise ValueError(  # same wording as scikit-learn
            f"view {name!r}: Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 "
            "is required: pass at least one column, or remove the view"
        )
    X, encoding = _encoded(name, X, encoding)
    X = _plain(name, X)
    try:
        checked = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",  # a fixed memory order, so rounding is reproducible
            ensure_all_finite=False,
            ensure_min_samples=least,
            input_name=name,
        )
    except (ValueError, TypeError) as error:
        message = _without_arrays(str(error)) + _text_columns(X)
        raise type(error)(f"view {name!r}: {message}") from error
    checked, rows, gaps = without_missing(name, checked, observed, new)
    if sparse.issparse(checked):
        checked = sparse.csr_array(checked, dtype=np.float64, copy=True)
        checked.sum_duplicates()
    columns = None if encoding is None else encoding.features
    return FeatureView(name, checked, rows, columns, gaps, encoding)


def _encoded(name: str, X: Any, encoding: Encoding | None) -> tuple[Any, Encoding | None]:
    """Convert a table with columns of mixed types to numbers. Keep other inputs."""
    if not is_table(X):
        if encoding is not None and encoding is not NUMBERS:
            columns = listed([column.name for column in encoding.used])
            raise ValueError(
                f"view {name!r} was fitted on a table with the columns {columns}: pass a "
                "table with these columns"
            )
        return X, None
    try:
        if encoding is None and not hasattr(X, "sparse"):
            encoding = fit_encoding(X)
        if encoding is None or encoding is NUMBERS:
            return _plain_numbers(X), None
        return encoding(X), encoding
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        columns = _text_columns(X) if encoding is NUMBERS else ""
        raise kind(f"view {name!r}: {error}{columns}") from error


def _plain_numbers(table: Any) -> Any:
    """Convert a table of pandas extension types (nullable, Arrow) to floats. Keep others."""
    kinds = [kind for kind in table.dtypes if not isinstance(kind, np.dtype)]
    is_plain = all(hasattr(kind, "fill_value") for kind in kinds)
    return table if is_plain else table.to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(name: str, X: Any) -> Any:
    """Convert masked arrays and tables of sparse columns. Raise an error for text or dates."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    # a table with only sparse columns
    if getattr(X, "ndim", 0) == 2 and X.shape[1] and hasattr(X, "sparse"):
        try:
            X = X.sparse.to_coo()  # scikit-learn before 1.9 would make Booleans dense
        except (ValueError, TypeError) as error:
            raise type(error)(f"view {name!r}: {error}") from error
    if sparse.issparse(X):
        # before any conversion, because the compiled code that converts trusts the indices
        return sound_sparse(f"view {name!r}", X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "USMm":
        raise ValueError(
            f"view {name!r}: could not convert {X.dtype} values (text or dates) to numbers: "
            "encode them first"
        )
    return X


def _without_arrays(message: str) -> str:
    """Remove the quoted array, which may be long, from a scikit-learn error message."""
    if message.startswith("Complex data") or message.endswith("not 'complex'"):
        return (
            "Complex data not supported: pass the real and imaginary parts, or the "
            "absolute values, as separate columns"
        )
    quoted = r" instead:\narray=.*\.\n(?=Reshape your data)"
    return re.sub(quoted, " instead. ", message, flags=re.DOTALL)


def _text_columns(X: Any) -> str:
    """Name the columns of a table that are not numeric, for the end of an error message."""
    if not hasattr(X, "select_dtypes"):
        return ""
    text = list(X.select_dtypes(exclude=["number", "bool"]).columns)
    return f" (columns that are not numeric: {text[:5]}; drop or encode them)" if text else ""


# All views


def check_same_rows(named: Named, lengths: Sequence[int]) -> None:
    """Check that all views have the same number of rows and the same row labels, if any."""
    first, first_given = named[0]
    for (name, given), length in zip(named, lengths, strict=True):
        if length != lengths[0]:
            advice = SAME_NODES if is_given_view(given) or is_given_view(first_given) else SAME_ROWS
            raise ValueError(
                f"view {name!r} has {length} rows but view {first!r} has {lengths[0]}: every view "
                f"must have the same entities in the same order; {advice}"
            )
    check_same_labels(named)


def check_same_labels(named: Named) -> None:
    """Check that tables with row labels have the same labels in the same order."""
    labeled = [(name, X.index) for name, X in named if has_row_labels(X)]
    for name, index in labeled[1:]:
        reference_name, reference = labeled[0]
        ours, theirs = np.asarray(index, dtype=object), np.asarray(reference, dtype=object)
        both_missing = (ours != ours) & (theirs != theirs)
        differs = np.flatnonzero((ours != theirs) & ~both_missing)
        if differs.size:
            row = differs[0]
            raise ValueError(
                f"row {row} of view {name!r} is labeled {index[row]!r} but {reference[row]!r} in "
                f"view {reference_name!r}: align the rows by their labels (align='outer' or "
                "'inner'), or drop the labels (reset_index) if they are meaningless"
            )


# Parameters for all views


def per_view(value: Any, names: Sequence[str], parameter: str) -> list[Any]:
    """Return one value per view from a single value, a list by position, or a dict by view name."""
    if isinstance(value, Mapping):
        value = {str(key): entry for key, entry in value.items()}
        unknown = [key for key in value if key not in names]
        missing = [name for name in names if name not in value]
        what, odd = ("names unknown", unknown) if unknown else ("has no entry for", missing)
        if odd:
            raise ValueError(
                f"{parameter} {what} views {odd}: the views are {list(names)}; pass one "
                "entry per view"
            )
        return [value[name] for name in names]
    if hasattr(value, "__array__"):  # arrays and pandas Series
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            raise ValueError(
                f"the number of entries in {parameter} ({len(value)}) is not the number of views "
                f"({len(names)}, {list(names)}): pass one value, or one per view"
            )
        return list(value)
    return [value] * len(names)


def positive_per_view(
    value: Any, names: Sequence[str], parameter: str, *, zero_allowed: bool = False
) -> NDArray[np.float64]:
    """Return one positive number per view (or zero, with `zero_allowed`). See `per_view`."""
    values = per_view(value, names, parameter)
    wanted = f"{'from 0 to' if zero_allowed else '> 0 and at most'} {LARGEST_WEIGHT:g}"
    for name, number in zip(names, values, strict=True):
        is_number = isinstance(number, Real) and not isinstance(number, bool)
        in_range = is_number and 0 <= float(number) <= LARGEST_WEIGHT
        if not in_range or (number == 0 and not zero_allowed):
            raise ValueError(f"{parameter}={number!r} for view {name!r} must be a number {wanted}")
    return np.array(values, dtype=np.float64)
