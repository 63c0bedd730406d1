"""Entities that are missing from some views, given as rows of NaN, by masks, or as tables with different row labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SHOWN = 5
"""How many rows an error message lists."""
NUMBER = re.compile(r"(?P<sign>[+-]?)0*(?P<whole>[0-9]+?)(\.0*|(?P<rest>\.[0-9]+))?")
"""A number in decimal notation; leading zeros and a final ".0" are outside its named groups."""
NAN_KEY = object()


def aligned(named: Sequence[tuple[str, Any]], how: str) -> list[tuple[str, Any]]:
    """Reorder tables to the same row labels: those of any table ("outer", missing rows become NaN), or those of all tables ("inner")."""
    if how not in ("outer", "inner"):
        raise ValueError(f"align={how!r} is not known: use 'outer' (every entity of any view), 'inner' (those of all views) or None")
    for name, X in named:
        if not hasattr(X, "reindex"):
            raise ValueError(
                f"align={how!r} matches row labels, but view {name!r} is of type {type(X).__name__}, without row labels: pass DataFrames"
            )
    _, places = align_labels([(name, X.index.tolist()) for name, X in named], how)
    owner = np.argmax(np.array(places) >= 0, axis=0)  # the first table that has each label
    parts = [X.index[rows[owner == table]] for table, ((_, X), rows) in enumerate(zip(named, places, strict=True))]
    first, *others = [part for part in parts if len(part)] or parts[:1]
    together = first.append(others)
    return [(name, X.reindex(together)) for name, X in named]


def align_labels(labels: Sequence[tuple[str, list[Any]]], how: str) -> tuple[list[Any], list[NDArray[np.intp]]]:
    """The common order of named lists of row labels, and for every list the position of each label in it (-1: it does not have it).

    "outer" takes the labels of the first list, then the new ones of the second, and so on; "inner" takes those of all lists. Raises a
    ValueError for labels that occur twice in a list, lists that share no label with any other, and labels that differ only in spaces,
    zeros or type, because they would count as two entities.
    """
    rows = {name: {_key(label): row for row, label in enumerate(own)} for name, own in labels}
    for name, own in labels:
        if len(rows[name]) < len(own):
            repeated = next(label for row, label in enumerate(own) if rows[name][_key(label)] != row)
            raise ValueError(f"view {name!r} has the row label {str(repeated)!r} more than once: make its row labels unique")
    if how == "inner":
        together = list(rows[labels[0][0]])
        for name, known in list(rows.items())[1:]:
            together = [label for label in together if label in known]
            if not together:
                raise ValueError(
                    f"align='inner': view {name!r} has no row label in common with the views before it"
                    f"{lookalike_hint(labels)}: check the labels"
                )
    else:
        check_shared_labels(labels)
        together = list(dict.fromkeys(label for known in rows.values() for label in known))
    alike = lookalikes(labels)
    if alike:
        raise ValueError(
            f"the row labels {describe_pair(*alike[0])} differ only in spaces, zeros or type ({len(alike)} such "
            f"{'pairs' if len(alike) > 1 else 'pair'}), so each would count as a separate entity: write them the same way in all views"
        )
    return together, [np.array([known.get(label, -1) for label in together], dtype=np.intp) for known in rows.values()]


def _key(label: Any) -> Any:
    """The label as a dict key. NaN is not equal to itself, so one object stands for it."""
    return NAN_KEY if isinstance(label, float) and label != label else label


def check_shared_labels(labels: Sequence[tuple[str, list[Any]]]) -> None:
    """Check that every list of labels that is not empty shares one with another list."""
    known = {name: set(map(_key, own)) for name, own in labels if own}
    for name, own in known.items() if len(known) > 1 else ():
        if all(own.isdisjoint(other) for other_name, other in known.items() if other_name != name):
            raise ValueError(
                f"align='outer': view {name!r} has no row label in common with any other view, so its rows cannot be matched: check that "
                f"all views use the same labels{lookalike_hint(labels)}"
            )


def lookalikes(labels: Sequence[tuple[str, list[Any]]]) -> list[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Pairs of labels, each with the view it comes from, that differ only in surrounding spaces, leading zeros or a final ".0".

    Labels that occur in the same view are different entities, so they are not such a pair.
    """
    holders: dict[Any, list[str]] = {}
    for name, own in labels:
        for label in own:
            holders.setdefault(_key(label), []).append(name)
    forms: dict[str, dict[tuple[str, ...], Any]] = {}
    for label, names in holders.items():
        if len(names) < len(labels):
            forms.setdefault(plain_form(label), {}).setdefault(tuple(names), label)
    pairs = (next(filter(in_different_views, combinations(alike.items(), 2)), None) for alike in forms.values())
    return [((first[0], one), (second[0], other)) for (first, one), (second, other) in filter(None, pairs)]


def in_different_views(pair: tuple[tuple[tuple[str, ...], Any], tuple[tuple[str, ...], Any]]) -> bool:
    """Whether no view holds both labels of a pair ((views, label), (views, label))."""
    return set(pair[0][0]).isdisjoint(pair[1][0])


def plain_form(label: Any) -> str:
    """A label without surrounding spaces and, if it is a number, without leading zeros and a final ".0".

    Examples
    --------
    >>> [plain_form(label) for label in (" x1", 7, "007", "7.0", "7.10", "1e5")]
    ['x1', '7', '7', '7', '7.10', '1e5']
    """
    text = str(label).strip()
    found = NUMBER.fullmatch(text)
    return text if found is None else f"{found['sign'].strip('+')}{found['whole']}{found['rest'] or ''}"


def describe_pair(first: tuple[str, Any], second: tuple[str, Any]) -> str:
    """Two labels and their views, as part of an error message."""
    return f"{first[1]!r} in view {first[0]!r} and {second[1]!r} in view {second[0]!r}"


def lookalike_hint(labels: Sequence[tuple[str, list[Any]]]) -> str:
    """The part of an error message that names labels which differ only in notation; empty if there are none."""
    alike = lookalikes(labels)
    return f" ({describe_pair(*alike[0])} differ only in spaces, zeros or type)" if alike else ""


def check_observed(observed: Any, names: Sequence[str], index: Any = None) -> list[NDArray[np.bool_] | None]:
    """One boolean mask of rows for each view (None: all rows are observed).

    `observed` is a table of truth values with one column per view, or a list or dict with one mask per view. A table with row labels
    must have the row labels `index` of the views, if they have any.
    """
    if observed is None:
        return [None] * len(names)
    if hasattr(observed, "index") and hasattr(observed, "iloc") and index is not None and not observed.index.equals(index):
        raise ValueError("observed has other row labels than the views: use the same labels in the same order (observed.loc[view.index])")
    if hasattr(observed, "columns") and set(map(str, observed.columns)) == set(names):
        observed = {str(column): observed[column] for column in observed.columns}
    if isinstance(observed, Mapping):
        masks = {str(name): mask for name, mask in observed.items()}
        unknown = [name for name in masks if name not in names]
        if unknown:
            raise ValueError(f"observed names unknown views {unknown}: the views are {list(names)}; use these names")
        given = [masks.get(name) for name in names]
    else:
        if hasattr(observed, "shape"):
            table = np.asarray(observed)
            if table.ndim != 2:
                raise ValueError(f"observed has {table.ndim} dimension(s): give one column of truth values for each view")
            observed = list(table.T)
        if not isinstance(observed, list | tuple):
            raise TypeError(f"observed is of type {type(observed).__name__}: give truth values, one column or one mask for each view")
        given = list(observed)
    if len(given) != len(names):
        raise ValueError(f"observed has {len(given)} masks or columns for {len(names)} views {list(names)}: give one for each view")
    return [None if mask is None else check_mask(name, mask) for name, mask in zip(names, given, strict=True)]


def check_mask(name: str, mask: Any) -> NDArray[np.bool_]:
    """The mask of one view as a boolean array."""
    values = np.asarray(mask)
    if values.ndim != 1 or not (values.dtype == bool or np.isin(values, (0, 1)).all()):
        raise ValueError(f"observed for view {name!r} must hold one truth value (True or False) for each row")
    return values.astype(bool)


def without_missing(name: str, X: Any, observed: NDArray[np.bool_] | None) -> tuple[Any, NDArray[np.intp] | None, NDArray[np.bool_] | None]:
    """A view with zeros for its missing rows and cells, the indices of the observed rows (None: all), and its missing cells (None: none).

    Single cells of a dense view may be missing, those of a sparse one may not. A column without any value is zero, and not missing.
    """
    if observed is not None and observed.size != X.shape[0]:
        raise ValueError(f"observed has {observed.size} truth values for the {X.shape[0]} rows of view {name!r}: give one for each row")
    if observed is None and np.isfinite(X.data if sparse.issparse(X) else X).all():
        return X, None, None
    n_nan = _count_by_row(np.isnan, X)
    missing = n_nan == X.shape[1] if observed is None else ~observed
    if observed is not None and (observed & (n_nan == X.shape[1])).any():
        rows = np.flatnonzero(observed & (n_nan == X.shape[1]))
        raise ValueError(
            f"view {name!r} is NaN in every column of {rows.size} row(s) that are True in observed= (first: row {rows[0]}): "
            "set them to False, or fill in their values"
        )
    if missing.any():
        X = _with_zeros(X, missing)
    _check_finite(name, X)
    present = np.flatnonzero(~missing) if missing.any() else None
    gaps = None if sparse.issparse(X) else np.isnan(X)
    if gaps is None or not gaps.any():
        return X, present, None
    X = np.where(gaps, 0.0, X)
    gaps[:, gaps[~missing].all(axis=0)] = False
    return X, present, gaps if gaps.any() else None


def refuse_gaps(name: str, gaps: NDArray[np.bool_] | None, advice: str) -> None:
    """Raise a ValueError if cells of a view are missing; `advice` says what else can be done."""
    if gaps is not None:
        row, column = np.argwhere(gaps)[0]
        raise ValueError(_about_gaps(name, int(gaps.sum()), int(gaps.any(axis=1).sum()), len(gaps), int(row), int(column), advice))


def _about_gaps(name: str, n_cells: int, n_rows: int, n: int, row: int, column: int, advice: str) -> str:
    return (
        f"view {name!r} has NaN in {n_cells} entries of {n_rows} of {n} rows that hold other values (first: row {row}, column {column}): "
        f"fill them (sklearn.impute), leave out these columns, {advice} or, if the entity is missing from this view, set its whole row "
        "to NaN"
    )


def named_rows(rows: NDArray[np.intp], index: NDArray[Any] | None) -> str:
    """The first rows by label or number, as the start of a sentence: "row 3 is", "rows 3, 5 and 9 more are"."""
    return f"{listed_rows(rows, index)} {'are' if rows.size > 1 else 'is'}"


def listed_rows(rows: NDArray[np.intp], index: NDArray[Any] | None) -> str:
    """The first rows by label or number: "row 3", "rows 3, 5 and 9 more"."""
    shown = [str(row) if index is None else repr(index[row]) for row in rows[:SHOWN]]
    more = f" and {rows.size - SHOWN} more" if rows.size > SHOWN else ""
    return f"row{'s' if rows.size > 1 else ''} {', '.join(shown)}{more}"


def _check_finite(name: str, X: Any) -> None:
    n_nan, n_infinite = _count_by_row(np.isnan, X), _count_by_row(np.isinf, X)
    if n_infinite.any():
        row = int(np.flatnonzero(n_infinite)[0])
        raise ValueError(
            f"view {name!r} has infinity in {np.count_nonzero(n_infinite)} of {X.shape[0]} rows (first: row {row}, column "
            f"{_first_column(np.isinf, X, row)}): replace it with a finite number or, if the entity is missing, set its whole row to NaN"
        )
    if n_nan.any() and sparse.issparse(X):
        row = int(np.flatnonzero(n_nan)[0])
        place = (row, _first_column(np.isnan, X, row))
        advice = "make the view dense (toarray), where single cells may be missing,"
        raise ValueError(_about_gaps(name, int(n_nan.sum()), int(np.count_nonzero(n_nan)), X.shape[0], *place, advice))


def _count_by_row(test: Any, X: Any) -> NDArray[np.intp]:
    """Number of entries in each row that pass a test."""
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[test(X.data)], minlength=X.shape[0])
    counts: NDArray[np.intp] = np.count_nonzero(test(X), axis=1)
    return counts


def _first_column(test: Any, X: Any, row: int) -> int:
    """The first column of a row whose entry passes a test."""
    if sparse.issparse(X):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        return int(X.indices[entries][test(X.data[entries])][0])
    return int(np.flatnonzero(test(X[row]))[0])


def _with_zeros(X: Any, rows: NDArray[np.bool_]) -> Any:
    """A copy of X with the given rows set to zero."""
    if not sparse.issparse(X):
        return np.where(rows[:, None], 0.0, X)
    X = sparse.csr_array(X, copy=True)
    X.data[np.repeat(rows, np.diff(X.indptr))] = 0.0
    X.eliminate_zeros()
    return X
