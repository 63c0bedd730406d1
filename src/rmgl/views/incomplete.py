"""Entities that are missing from some views: rows of NaN, masks, or different row labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Mask = NDArray[np.bool_]
Labels = Sequence[tuple[str, list[Any]]]
"""Row labels of views, each with the name of its view."""
LabelInView = tuple[str, Any]
"""Name of a view and one of its row labels."""

ROWS_SHOWN = 5
"""Maximum number of rows listed in an error message."""
DECIMAL = re.compile(r"(?P<sign>[+-]?)0*(?P<whole>[0-9]+?)(\.0*|(?P<rest>\.[0-9]+))?")
"""A decimal number. Leading zeros and a final ".0" are outside its named groups."""
NAN_KEY = object()


# Tables with different row labels


def aligned(named: Sequence[tuple[str, Any]], how: str) -> list[tuple[str, Any]]:
    """Reorder tables to the same row labels: those in any table ("outer"), or in all ("inner").

    With "outer", rows that are missing from a table become NaN.
    """
    if how not in ("outer", "inner"):
        raise ValueError(
            f"align={how!r} is unknown; use 'outer' (entities in any view), 'inner' (entities in "
            "all views) or None"
        )
    for name, X in named:
        if not hasattr(X, "reindex"):
            raise ValueError(
                f"align={how!r} matches row labels, but view {name!r} is of type "
                f"{type(X).__name__} and has no row labels; pass DataFrames"
            )
    _, places = align_labels([(name, X.index.tolist()) for name, X in named], how)
    owner = np.argmax(np.array(places) >= 0, axis=0)  # the first table that has each label
    parts = [X.index[places[at][owner == at]] for at, (_, X) in enumerate(named)]
    first, *others = [part for part in parts if len(part)] or parts[:1]
    together = first.append(others)
    return [(name, X.reindex(together)) for name, X in named]


def align_labels(labels: Labels, how: str) -> tuple[list[Any], list[NDArray[np.intp]]]:
    """Return the common order of lists of row labels, and each label's position in every list.

    Labels that are not in a list have position -1. "outer" takes the labels in the first
    list, then the new labels in the second list, and so on. "inner" takes the labels that are in
    all lists. Raises a ValueError for labels that occur twice in a list, for lists that share no
    label with any other list, and for labels that differ only in spaces, zeros or type, because
    they would count as two entities.
    """
    rows = {name: _rows_by_label(name, of_view) for name, of_view in labels}
    if how == "inner":
        together = _in_all(rows, labels)
    else:
        check_shared_labels(labels)
        together = list(dict.fromkeys(label for known in rows.values() for label in known))
    alike = lookalikes(labels)
    if alike:
        raise ValueError(
            f"the row labels {describe_pair(*alike[0])} differ only in spaces, zeros or type "
            f"({len(alike)} such {'pairs' if len(alike) > 1 else 'pair'}), so each would count "
            "as a separate entity: write them the same way in all views"
        )
    return together, [
        np.array([known.get(label, -1) for label in together], dtype=np.intp)
        for known in rows.values()
    ]


def _rows_by_label(name: str, labels: list[Any]) -> dict[Any, int]:
    """Return the row of each label of a view. The labels must be unique."""
    rows = {_key(label): row for row, label in enumerate(labels)}
    if len(rows) < len(labels):
        repeated = next(label for row, label in enumerate(labels) if rows[_key(label)] != row)
        raise ValueError(
            f"view {name!r} has the row label {str(repeated)!r} more than once: make its row "
            "labels unique"
        )
    return rows


def _in_all(rows: Mapping[str, dict[Any, int]], labels: Labels) -> list[Any]:
    """Return the labels that are in all views, in the order of the first view."""
    (_, first), *others = rows.items()
    together = list(first)
    for name, known in others:
        together = [label for label in together if label in known]
        if not together:
            raise ValueError(
                f"align='inner': view {name!r} has no row labels in common with the views before "
                f"it{lookalike_hint(labels)}: check the labels"
            )
    return together


def _key(label: Any) -> Any:
    """Return the label as a dict key. One object represents NaN, which is not equal to itself."""
    return NAN_KEY if isinstance(label, float) and label != label else label


def check_shared_labels(labels: Labels) -> None:
    """Check that every nonempty list of labels shares a label with another list."""
    known = {name: set(map(_key, of_view)) for name, of_view in labels if of_view}
    for name, keys in known.items() if len(known) > 1 else ():
        if all(keys.isdisjoint(known[other]) for other in known if other != name):
            raise ValueError(
                f"align='outer': view {name!r} has no row labels in common with any other "
                "view, so its rows cannot be matched: check that "
                f"all views use the same labels{lookalike_hint(labels)}"
            )


def lookalikes(labels: Labels) -> list[tuple[LabelInView, LabelInView]]:
    """Find pairs of labels that differ only in surrounding spaces, leading zeros or a final ".0".

    Labels that occur in the same view are different entities, so they do not form such a pair.
    """
    holders: dict[Any, list[str]] = {}
    for name, of_view in labels:
        for label in of_view:
            holders.setdefault(_key(label), []).append(name)
    forms: dict[str, dict[tuple[str, ...], Any]] = {}
    for label, names in holders.items():
        if len(names) < len(labels):
            forms.setdefault(plain_form(label), {}).setdefault(tuple(names), label)
    pairs = []
    for alike in forms.values():
        for (first, one), (second, other) in combinations(alike.items(), 2):
            if set(first).isdisjoint(second):
                pairs.append(((first[0], one), (second[0], other)))
                break
    return pairs


def plain_form(label: Any) -> str:
    """Return a label without surrounding spaces and, if it is a number, without leading zeros
    and a trailing ".0".

    Examples
    --------
    >>> [plain_form(label) for label in (" x1", 7, "007", "7.0", "7.10", "1e5")]
    ['x1', '7', '7', '7', '7.10', '1e5']
    """
    text = str(label).strip()
    number = DECIMAL.fullmatch(text)
    if number is None:
        return text
    return f"{number['sign'].strip('+')}{number['whole']}{number['rest'] or ''}"


def describe_pair(first: LabelInView, second: LabelInView) -> str:
    """Name two labels and their views, as part of an error message."""
    return f"{first[1]!r} in view {first[0]!r} and {second[1]!r} in view {second[0]!r}"


def lookalike_hint(labels: Labels) -> str:
    """Name labels that differ only in notation, as part of an error message. Empty if there are
    none.
    """
    alike = lookalikes(labels)
    return f" ({describe_pair(*alike[0])} differ only in spaces, zeros or type)" if alike else ""


# Masks of observed rows


def check_observed(observed: Any, names: Sequence[str], index: Any = None) -> list[Mask | None]:
    """Return one Boolean row mask per view. None if all rows are observed.

    `observed` is a table of Booleans with one column per view, or a list or dict with one mask per
    view. If both the table and the views have row labels, the labels must be the same (`index`).
    """
    if observed is None:
        return [None] * len(names)
    has_labels = hasattr(observed, "index") and hasattr(observed, "iloc")
    if has_labels and index is not None and not observed.index.equals(index):
        raise ValueError(
            "the row labels of observed differ from those of the views: use the same labels in "
            "the same order (observed.loc[view.index])"
        )
    if hasattr(observed, "columns") and set(map(str, observed.columns)) == set(names):
        observed = {str(column): observed[column] for column in observed.columns}
    masks = _masks_by_name(observed, names) if isinstance(observed, Mapping) else _masks(observed)
    if len(masks) != len(names):
        raise ValueError(
            f"the number of masks or columns in observed ({len(masks)}) is not the number of "
            f"views ({len(names)}, {list(names)}): pass one for each view"
        )
    return [
        None if mask is None else check_mask(name, mask)
        for name, mask in zip(names, masks, strict=True)
    ]


def _masks_by_name(observed: Mapping[Any, Any], names: Sequence[str]) -> list[Any]:
    masks = {str(name): mask for name, mask in observed.items()}
    unknown = [name for name in masks if name not in names]
    if unknown:
        raise ValueError(
            f"observed names unknown views {unknown}: the views are {list(names)}; use these names"
        )
    return [masks.get(name) for name in names]


def _masks(observed: Any) -> list[Any]:
    if hasattr(observed, "shape"):
        table = np.asarray(observed)
        if table.ndim != 2:
            raise ValueError(
                f"observed has {table.ndim} dimension(s): pass one Boolean column for each view"
            )
        return list(table.T)
    if not isinstance(observed, list | tuple):
        raise TypeError(
            f"observed is of type {type(observed).__name__}: pass Boolean values, with one "
            "column or one mask for each view"
        )
    return list(observed)


def check_mask(name: str, mask: Any) -> Mask:
    """Return the mask of one view as a Boolean array."""
    values = np.asarray(mask)
    if values.ndim != 1 or not (values.dtype == bool or np.isin(values, (0, 1)).all()):
        raise ValueError(
            f"observed for view {name!r} must have one Boolean value (True or False) for each row"
        )
    return values.astype(bool)


# Missing rows and cells of one view


def without_missing(
    name: str, X: Any, observed: Mask | None, new: bool = False
) -> tuple[Any, NDArray[np.intp] | None, Mask | None]:
    """Set missing rows and cells to zero, and also return the observed rows and the missing cells.

    The observed rows are indices (None for all), and the missing cells are a mask (None if no cells
    are missing). Individual cells may be missing from a dense view, but not from a sparse view. A
    column without any value is zero, and not missing, unless the rows are `new`.
    """
    if observed is not None and observed.size != X.shape[0]:
        raise ValueError(
            f"observed has {observed.size} values for the {X.shape[0]} rows of view {name!r}: "
            "pass one Boolean value for each row"
        )
    if observed is None and np.isfinite(X.data if sparse.issparse(X) else X).all():
        return X, None, None
    empty = _count_by_row(np.isnan, X) == X.shape[1]
    missing = empty if observed is None else ~observed
    if (empty & ~missing).any():
        rows = np.flatnonzero(empty & ~missing)
        raise ValueError(
            f"view {name!r} is NaN in every column of rows that are True in observed= "
            f"(number of such rows: {rows.size}; first: row {rows[0]}): set them to False, or fill "
            "in their values"
        )
    if missing.any():
        X = _with_zeros(X, missing)
    _check_finite(name, X)
    present = np.flatnonzero(~missing) if missing.any() else None
    gaps = None if sparse.issparse(X) else np.isnan(X)
    if gaps is None or not gaps.any():
        return X, present, None
    X = np.where(gaps, 0.0, X)
    if not new:
        gaps[:, gaps[~missing].all(axis=0)] = False
    return X, present, gaps if gaps.any() else None


def refuse_gaps(name: str, gaps: Mask | None, advice: str) -> None:
    """Raise a ValueError if cells of a view are missing. `advice` names an alternative."""
    if gaps is not None:
        row, column = np.argwhere(gaps)[0]
        raise ValueError(_about_gaps(name, gaps.sum(axis=1), int(row), int(column), advice))


def _about_gaps(name: str, n_nan: NDArray[Any], row: int, column: int, advice: str) -> str:
    """Describe missing cells by their number in each row and the first of them."""
    return (
        f"view {name!r} contains NaN cells ({n_nan.sum()} in all) in {np.count_nonzero(n_nan)} of "
        f"{n_nan.size} rows that also have other values (first: row {row}, column {column}): "
        f"fill them (sklearn.impute), leave out these columns, {advice} or, if the entity "
        "is missing from this view, set its whole row to NaN"
    )


def _check_finite(name: str, X: Any) -> None:
    """Raise a ValueError if a view contains infinity, or NaN if it is sparse."""
    n_infinite = _count_by_row(np.isinf, X)
    if n_infinite.any():
        row = int(np.flatnonzero(n_infinite)[0])
        raise ValueError(
            f"view {name!r} contains infinity in {np.count_nonzero(n_infinite)} of {X.shape[0]} "
            f"rows (first: row {row}, column {_first_column(np.isinf, X, row)}): replace it with "
            "a finite number or, if the entity is missing, set its whole row to NaN"
        )
    n_nan = _count_by_row(np.isnan, X)
    if n_nan.any() and sparse.issparse(X):
        row = int(np.flatnonzero(n_nan)[0])
        advice = "make the view dense (toarray), which allows missing cells,"
        raise ValueError(_about_gaps(name, n_nan, row, _first_column(np.isnan, X, row), advice))


def _count_by_row(test: Any, X: Any) -> NDArray[np.intp]:
    """Count the entries in each row that pass a test."""
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[test(X.data)], minlength=X.shape[0])
    counts: NDArray[np.intp] = np.count_nonzero(test(X), axis=1)
    return counts


def _first_column(test: Any, X: Any, row: int) -> int:
    """Return the first column of a row with an entry that passes a test."""
    if sparse.issparse(X):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        return int(X.indices[entries][test(X.data[entries])][0])
    return int(np.flatnonzero(test(X[row]))[0])


def _with_zeros(X: Any, rows: Mask) -> Any:
    """Return a copy of X with these rows set to zero."""
    if not sparse.issparse(X):
        return np.where(rows[:, None], 0.0, X)
    X = sparse.csr_array(X, copy=True)
    X.data[np.repeat(rows, np.diff(X.indptr))] = 0.0
    X.eliminate_zeros()
    return X


# Rows in sentences


def named_rows(rows: NDArray[np.intp], index: NDArray[Any] | None) -> str:
    """Begin a sentence with the first rows: "row 3 is", "rows 3, 5 and 9 more are"."""
    return f"{listed_rows(rows, index)} {'are' if rows.size > 1 else 'is'}"


def listed_rows(rows: NDArray[np.intp], index: NDArray[Any] | None) -> str:
    """List the first rows by label or number: "row 3", "rows 3, 5 and 9 more"."""
    shown = [str(row) if index is None else repr(index[row]) for row in rows[:ROWS_SHOWN]]
    more = f" and {rows.size - ROWS_SHOWN} more" if rows.size > ROWS_SHOWN else ""
    return f"row{'s' if rows.size > 1 else ''} {', '.join(shown)}{more}"
