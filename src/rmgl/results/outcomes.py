"""Match the rows of a table of outcomes to the entities of a fit, and check the values.

Rows are matched by row id. If the fit has no row ids, rows are matched by position. The types of
columns are the same as for tables that are clustered (`rmgl.views.column_kinds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.views.check_view import as_table, has_row_labels, is_table
from rmgl.views.column_kinds import LikelyIds, kind_of
from rmgl.views.dates import days_of
from rmgl.views.encoding import LEFT_OUT, TableColumn, cells_of, level_text, listed, quoted
from rmgl.views.incomplete import lookalikes

Vector = NDArray[np.float64]
CATEGORIES = ("category", "Boolean")
"""Types of columns with unordered values."""
MOST_LEVELS = 50
"""Maximum number of values of a category. Rarer values are merged."""
OTHERS = "(other values)"
IS_EVENT = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
"""Meaning of the cells in an event column, in lowercase."""


@dataclass(frozen=True)
class Outcome:
    """A column with one value per entity."""

    name: str
    kind: str
    """Type of the column, one of `rmgl.views.encoding.COLUMN_KINDS`."""
    values: Vector
    """Numbers, or positions of categories among the levels, with NaN for missing values. A column
    that is left out has zeros.
    """
    levels: tuple[str, ...] = ()
    note: str = ""
    """Reason why the column is left out, or remark on its values."""


@dataclass(frozen=True)
class SurvivalOutcome:
    """Survival columns: how long each entity was observed, and whether the event occurred."""

    names: tuple[str, str]
    times: Vector
    events: Vector
    """1 if the event occurred, 0 if not, NaN if unknown."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Mask of the entities that have values in both columns."""
        return np.isfinite(self.times) & np.isfinite(self.events)


@dataclass(frozen=True)
class Outcomes:
    """The columns of a table in the order of the entities."""

    columns: tuple[Outcome, ...]
    survival: SurvivalOutcome | None
    n_absent: int
    """Number of entities that are missing from the table."""
    n_unknown: int
    """Number of rows in the table that are not among the entities and were ignored."""


def outcomes_of(
    table: Any,
    index: NDArray[Any] | None,
    n_rows: int,
    time: str | None = None,
    event: str | None = None,
) -> Outcomes:
    """Check the columns of a table, and put their values in the order of the entities.

    `index` contains the ids of the entities (None if there are none). `time` and `event` name the
    two survival columns.
    """
    frame = _as_frame(table)
    rows, entities = matched_rows(frame, index, n_rows)
    ids = cells_of(frame.index[rows]) if index is not None else entities.tolist()
    matched = frame.iloc[rows]

    def placed(values: Vector) -> Vector:
        everywhere = np.full(n_rows, np.nan)
        everywhere[entities] = values
        return everywhere

    survival = None
    if time is not None or event is not None:
        pair = _survival_names(list(frame.columns), time, event)
        times, events = (matched[name] for name in pair)
        survival = SurvivalOutcome(
            pair,
            placed(_times(pair[0], times, ids)),
            placed(_events(pair[1], events, ids)),
        )
        matched = matched.drop(columns=list(pair))
    columns = tuple(_outcome(name, matched[name], placed) for name in matched.columns)
    return Outcomes(columns, survival, n_rows - len(rows), len(frame) - len(rows))


def _as_frame(table: Any) -> Any:
    """Return a pandas table with unique text column names."""
    import pandas as pd

    table = as_table(table)
    if isinstance(table, Mapping):
        table = pd.DataFrame(dict(table))
    if not is_table(table):
        raise TypeError(
            f"table is of type {type(table).__name__}; pass a DataFrame with one row per "
            "entity, or a dict of columns"
        )
    names = [str(name) for name in table.columns]
    if not names:
        raise ValueError("the table has no columns; pass the columns to compare")
    repeated = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if repeated is not None:
        raise ValueError(
            f"the table has more than one column named {repeated!r}; rename one of them"
        )
    return table.set_axis(names, axis=1)


# Rows


def matched_rows(
    table: Any, index: NDArray[Any] | None, n_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match the rows of a table to the entities of the fit, and return the positions of both."""
    if index is None:
        _check_order(table, n_rows)
        return np.arange(n_rows), np.arange(n_rows)
    if not has_row_labels(table):
        column = column_of_ids(table, index)
        use = (
            "table.set_index(...) with the column of ids"
            if column is None
            else (f"table.set_index({column!r})")
        )
        raise ValueError(
            f"the entities of the fit have row ids, but the table has none; use {use}, or "
            "table.set_index(model.index_) if its rows are in the order of the fit"
        )
    ids, fitted = cells_of(table.index), index.tolist()
    for what, of_rows in (("the table", ids), ("the fit", fitted)):
        repeated = _first_repeated(of_rows)
        if repeated is not None:
            raise ValueError(
                f"{what} has the row id {str(repeated)!r} more than once, so rows cannot "
                "be matched; make every id unique"
            )
    place = {label: at for at, label in enumerate(fitted)}
    pairs = [(row, place[label]) for row, label in enumerate(ids) if label in place]
    alike = lookalikes([("fit", fitted), ("table", ids)])
    if alike:
        (_, one), (_, other) = alike[0]
        raise ValueError(
            f"the row ids {one!r} and {other!r} in the fit and the table differ only in "
            "spaces, zeros or type, so they do not match; write them the same way"
        )
    if not pairs:
        raise ValueError(
            "none of the row ids in the table is in the fit: the table has "
            f"{listed(list(map(str, ids)))}, and the fit has "
            f"{listed(list(map(str, fitted)))}; label the rows of the table with the ids of the fit"
        )
    rows, entities = np.array(pairs, dtype=np.intp).T
    return rows, entities


def _check_order(table: Any, n_rows: int) -> None:
    """Check that rows without ids can be matched by position."""
    if len(table) != n_rows:
        raise ValueError(
            f"the table has {len(table)} rows, but the model has {n_rows} entities; the "
            "views in the fit had no row ids, so the table must have one row per entity, in "
            "the same order"
        )
    labels = table.index
    if (
        has_row_labels(table)
        and labels.dtype.kind in "iu"
        and np.array_equal(np.sort(labels), np.arange(n_rows))
    ):
        raise ValueError(
            "the table's row numbers 0, 1, 2, ... are not in order, and the views in the fit "
            "had no row ids; use table.sort_index() if these are the row numbers in the fit, or "
            "table.reset_index(drop=True) if the rows are already in the order of the fit"
        )


def column_of_ids(table: Any, index: NDArray[Any]) -> str | None:
    """Return the column of a table that contains mostly ids from a fit. None if there is none."""
    known = set(map(str, index.tolist()))
    for name in table.columns:
        cells = set(map(level_text, cells_of(table[name])))
        if 2 * len(cells & known) > len(cells):
            return str(name)
    return None


def _first_repeated(labels: Sequence[Any]) -> Any:
    seen = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


# Columns


def _outcome(name: str, values: Any, placed: Any) -> Outcome:
    """Return one column with its type. If it cannot be compared, its note gives the reason."""
    values = values.sparse.to_dense() if hasattr(values.dtype, "fill_value") else values
    there = placed(np.where(values.notna(), 0.0, np.nan))
    try:
        column = kind_of(name, values)
    except LikelyIds:
        different = len(set(map(level_text, cells_of(values.dropna()))))
        note = f"{different:,} different strings, which look like row ids or free text"
        return Outcome(name, LEFT_OUT, there, note=note)
    except TypeError as error:
        return Outcome(name, LEFT_OUT, there, note=str(error).partition(": ")[0])
    if column.kind == LEFT_OUT:
        return Outcome(name, LEFT_OUT, there, note=column.reason)
    if column.kind == "category":
        return _category(column, values, placed)
    if values.dtype.kind == "c":
        return Outcome(name, LEFT_OUT, there, note="complex numbers")
    measured = column.measure(values)
    kind = column.kind
    if kind == "number" and np.isin(measured[np.isfinite(measured)], (0.0, 1.0)).all():
        kind = "Boolean"  # as most files write Booleans
    levels = ("False", "True") if kind == "Boolean" else column.levels
    return Outcome(name, kind, placed(measured), levels)


def _category(column: TableColumn, values: Any, placed: Any) -> Outcome:
    """Return a category. If it has too many values, the rare ones are merged."""
    import pandas as pd

    present = values.notna().to_numpy()
    place = {level: at for at, level in enumerate(column.levels)}
    own, different = pd.factorize(values[present].astype(object))
    codes = np.array([place[level_text(cell)] for cell in different], dtype=np.intp)[own]
    levels, note = column.levels, ""
    if len(levels) > MOST_LEVELS:
        kept, codes = largest_groups(codes, len(levels), MOST_LEVELS - 1)
        note = f"{len(levels) - kept.size:,} rare values are merged"
        levels = (*(levels[at] for at in kept), OTHERS)
    numbers = np.full(len(values), np.nan)
    numbers[present] = codes
    return Outcome(column.name, column.kind, placed(numbers), levels, note)


def largest_groups(
    codes: NDArray[np.intp], n_groups: int, most: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the groups with the most members, in their original order, and codes in which all
    other groups share the last one.

    Examples
    --------
    >>> import numpy as np
    >>> kept, codes = largest_groups(np.array([0, 1, 1, 2, 3, 3]), 4, most=2)
    >>> kept.tolist(), codes.tolist()
    ([1, 3], [2, 0, 0, 2, 1, 1])
    """
    sizes = np.bincount(codes, minlength=n_groups)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:most])
    renamed = np.full(n_groups, kept.size)
    renamed[kept] = np.arange(kept.size)
    return kept, renamed[codes]


# Survival


def _survival_names(names: Sequence[str], time: Any, event: Any) -> tuple[str, str]:
    """Check and return the names of the two survival columns."""
    for parameter, name, other in (("time", time, "event"), ("event", event, "time")):
        if name is None:
            raise ValueError(
                f"{other}= was passed without {parameter}=; survival analysis requires a time "
                "column and an event column"
            )
        if str(name) not in names:
            raise ValueError(
                f"{parameter}={str(name)!r} is not a column of the table; choose one of its "
                f"columns: {listed(names)}"
            )
    if str(time) == str(event):
        raise ValueError(f"time= and event= both name {str(time)!r}; choose two different columns")
    return str(time), str(event)


def _times(name: str, values: Any, ids: Any) -> Vector:
    """Return times as numbers, durations in days, with NaN for missing values."""
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_timedelta64_dtype

    if is_datetime64_any_dtype(values.dtype) or is_bool_dtype(values.dtype):
        raise ValueError(
            f"time={name!r} has {values.dtype} values; use the time from the start to the "
            "event or the last observation, as a number or a duration"
        )
    if is_timedelta64_dtype(values.dtype):
        times = days_of(values)
    else:
        numbers = pd.to_numeric(values, errors="coerce")
        odd = np.flatnonzero((numbers.isna() & values.notna()).to_numpy())
        if odd.size:
            raise ValueError(
                f"time={name!r}: the value {quoted(values.iloc[odd[0]])} in row {ids[odd[0]]!r} is "
                "not a number; correct it or leave the cell empty"
            )
        times = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero((times < 0) | np.isinf(times))
    if bad.size:
        raise ValueError(
            f"time={name!r} is {times[bad[0]]:g} in row {ids[bad[0]]!r}, but times must "
            "be finite and nonnegative; correct it, or leave it empty"
        )
    return np.asarray(times, dtype=np.float64)


def _events(name: str, values: Any, ids: Any) -> Vector:
    """Return events as ones and zeros, with NaN for missing values."""
    found = np.full(len(values), np.nan)
    cells = cells_of(values)
    for row in np.flatnonzero(values.notna().to_numpy()).tolist():
        cell = cells[row]
        known = IS_EVENT.get(level_text(cell).strip().lower())
        if known is None:
            raise ValueError(
                f"event={name!r} is {quoted(cell)} in row {ids[row]!r}, but an event must "
                "be true or false, or 1 or 0; use 1 if it occurred and 0 if not"
            )
        found[row] = known
    return found
