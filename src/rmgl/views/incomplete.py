"""Entities that are absent from some views: told from NaN rows, from masks, or from tables with different row labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SHOWN = 5


def aligned(named: Sequence[tuple[str, Any]], how: str) -> list[tuple[str, Any]]:
    """Tables with the same row labels in the same order: all of any table ("outer", absent rows are NaN), or those of all ("inner")."""
    if how not in ("outer", "inner"):
        raise ValueError(f"align={how!r} is not known: use 'outer' (every entity of any view), 'inner' (those of all views) or None")
    for name, X in named:
        if not hasattr(X, "reindex"):
            raise ValueError(f"align={how!r} goes by row labels, but view {name!r} is a {type(X).__name__} without: pass DataFrames")
        repeated = X.index[X.index.duplicated()]
        if len(repeated):
            raise ValueError(
                f"align={how!r}: view {name!r} has the row label {str(repeated[0])!r} more than once: make its row labels unique"
            )
    together = named[0][1].index
    for name, X in named[1:]:
        together = _union(together, X.index) if how == "outer" else together[together.isin(X.index)]
        if len(together) == 0:
            raise ValueError(f"align='inner': view {name!r} has no row label in common with those before it")
    if how == "outer":
        check_ties([(name, X.index) for name, X in named if len(X)])
    return [(name, X.reindex(together)) for name, X in named]


def _union(first: Any, second: Any) -> Any:
    """All labels of the first index, then those that only the second has."""
    more = second.difference(first, sort=False)
    return second if len(first) == 0 else first if len(more) == 0 else first.append(more)


def check_ties(labels: Sequence[tuple[str, Any]]) -> None:
    """Every table shares some entity with another one."""
    for name, own in labels if len(labels) > 1 else ():
        if not any(own.isin(other).any() for other_name, other in labels if other_name != name):
            raise ValueError(
                f"align='outer': view {name!r} has no row label in common with any other view, so nothing ties them together: check that "
                "the labels are of the same kind"
            )


def check_observed(observed: Any, names: Sequence[str], index: Any = None) -> list[NDArray[np.bool_] | None]:
    """One mask of rows for each view, None where all are observed.

    Given as a table of truth values with a column for each view, or as a list or dict with one mask for each view. A table whose rows
    are labelled must have the labels `index` of the views, where they have any.
    """
    if observed is None:
        return [None] * len(names)
    if hasattr(observed, "index") and hasattr(observed, "iloc") and index is not None and not observed.index.equals(index):
        raise ValueError("observed has other row labels than the views: put its rows in the same order (observed.loc[view.index])")
    if hasattr(observed, "columns") and set(map(str, observed.columns)) == set(names):
        observed = {str(column): observed[column] for column in observed.columns}
    if isinstance(observed, Mapping):
        masks = {str(name): mask for name, mask in observed.items()}
        unknown = [name for name in masks if name not in names]
        if unknown:
            raise ValueError(f"observed names unknown views {unknown}: the views are {list(names)}")
        given = [masks.get(name) for name in names]
    else:
        if hasattr(observed, "shape"):
            table = np.asarray(observed)
            if table.ndim != 2:
                raise ValueError(f"observed has {table.ndim} dimension(s): give one column of truth values for each view")
            observed = list(table.T)
        if not isinstance(observed, list | tuple):
            raise TypeError(f"observed is a {type(observed).__name__}: give truth values, one column or one mask for each view")
        given = list(observed)
    if len(given) != len(names):
        raise ValueError(f"observed has {len(given)} masks or columns for {len(names)} views {list(names)}: give one for each view")
    return [None if mask is None else check_mask(name, mask) for name, mask in zip(names, given, strict=True)]


def check_mask(name: str, mask: Any) -> NDArray[np.bool_]:
    values = np.asarray(mask)
    if values.ndim != 1 or not (values.dtype == bool or np.isin(values, (0, 1)).all()):
        raise ValueError(f"observed for view {name!r} must hold one truth value (True or False) for each row")
    return values.astype(bool)


def without_absent(name: str, X: Any, observed: NDArray[np.bool_] | None) -> tuple[Any, NDArray[np.intp] | None]:
    """A checked view with zeros in place of absent rows, and the rows that are there (None for all); the rest must be finite."""
    if observed is not None and observed.size != X.shape[0]:
        raise ValueError(f"observed has {observed.size} truth values for the {X.shape[0]} rows of view {name!r}: give one for each row")
    if observed is None and np.isfinite(X.data if sparse.issparse(X) else X).all():
        return X, None
    n_unknown = _count_by_row(np.isnan, X)
    absent = n_unknown == X.shape[1] if observed is None else ~observed
    if observed is not None and (observed & (n_unknown == X.shape[1])).any():
        rows = np.flatnonzero(observed & (n_unknown == X.shape[1]))
        raise ValueError(
            f"view {name!r} is NaN throughout in {rows.size} row(s) that observed= says are there (first: row {rows[0]}): say False there"
        )
    if absent.any():
        X = _with_zeros(X, absent)
    _check_finite(name, X)
    return X, np.flatnonzero(~absent) if absent.any() else None


def named_rows(rows: NDArray[np.intp], index: NDArray | None) -> str:
    """A few of them by name: "row 3 is", "rows 3, 5 and 9 more are"."""
    shown = [str(row) if index is None else repr(index[row]) for row in rows[:SHOWN]]
    more = f" and {rows.size - SHOWN} more" if rows.size > SHOWN else ""
    return f"row{'s' if rows.size > 1 else ''} {', '.join(shown)}{more} {'are' if rows.size > 1 else 'is'}"


def _check_finite(name: str, X: Any) -> None:
    n_unknown, n_infinite = _count_by_row(np.isnan, X), _count_by_row(np.isinf, X)
    if n_infinite.any():
        row = int(np.flatnonzero(n_infinite)[0])
        raise ValueError(
            f"view {name!r} has infinity in {np.count_nonzero(n_infinite)} of {X.shape[0]} rows (first: row {row}, column "
            f"{_first_column(np.isinf, X, row)}): replace it by a finite number, or by NaN throughout the row if the entity is missing"
        )
    if n_unknown.any():
        row = int(np.flatnonzero(n_unknown)[0])
        raise ValueError(
            f"view {name!r} has NaN in {int(n_unknown.sum())} entries of {np.count_nonzero(n_unknown)} of {X.shape[0]} rows that hold "
            f"other values (first: row {row}, column {_first_column(np.isnan, X, row)}): fill them (sklearn.impute), leave out these "
            "columns, or, if the entity is missing from this view, make its whole row NaN"
        )


def _count_by_row(test: Any, X: Any) -> NDArray[np.intp]:
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[test(X.data)], minlength=X.shape[0])
    return np.count_nonzero(test(X), axis=1)


def _first_column(test: Any, X: Any, row: int) -> int:
    if sparse.issparse(X):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        return int(X.indices[entries][test(X.data[entries])][0])
    return int(np.flatnonzero(test(X[row]))[0])


def _with_zeros(X: Any, rows: NDArray[np.bool_]) -> Any:
    if not sparse.issparse(X):
        return np.where(rows[:, None], 0.0, X)
    X = sparse.csr_array(X, copy=True)
    X.data[np.repeat(rows, np.diff(X.indptr))] = 0.0
    X.eliminate_zeros()
    return X
