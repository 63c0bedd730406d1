"""Determine the kind of values in each column of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmgl.views.dates import is_date
from rmgl.views.encoding import (
    LEFT_OUT,
    NAMES_SHOWN,
    Encoding,
    TableColumn,
    cells_of,
    days_in,
    level_text,
    listed,
    quoted,
)
from rmgl.views.scales import known_scale

ALL_DIFFERENT = 0.9
"""Minimum ratio of distinct strings to rows at which a column is treated as row ids."""
MANY_LEVELS = 50
"""Number of distinct strings beyond which a smaller ratio is enough to be treated as row ids."""
MANY_DIFFERENT = 0.5
"""Ratio beyond which more than `MANY_LEVELS` distinct strings are treated as row ids."""


class LikelyIds(ValueError):
    """Raised for a column of strings that are nearly all distinct."""


def fit_encoding(table: Any) -> Encoding | None:
    """Determine the kind of each column in a table. None if all are numeric or Boolean."""
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    plain = ("integer", "floating", "mixed-integer-float", "boolean", "empty", "decimal", "complex")
    if all(
        is_numeric_dtype(kind)
        or is_bool_dtype(kind)
        or (kind == np.dtype(object) and infer_dtype(table.iloc[:, at], skipna=True) in plain)
        for at, kind in enumerate(table.dtypes)
    ):
        return None
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        repeated = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"column {repeated!r} occurs more than once; rename one of them")
    encoding = Encoding(tuple(kind_of(name, table.iloc[:, at]) for at, name in enumerate(names)))
    if not encoding.used:
        reasons = listed([f"{column.name} ({column.reason})" for column in encoding.columns])
        raise ValueError(f"no columns remain ({reasons}); leave the view out")
    return encoding


def likely_ids(table: Any) -> list[str]:
    """Return the columns of a table that look like row ids or free text."""
    names = []
    for at, name in enumerate(table.columns):
        try:
            kind_of(str(name), table.iloc[:, at])
        except LikelyIds:
            names.append(str(name))
        except (ValueError, TypeError):
            pass
    return names


def kind_of(name: str, values: Any) -> TableColumn:
    """Determine the kind of one column."""
    from pandas.api.types import (
        is_bool_dtype,
        is_datetime64_any_dtype,
        is_numeric_dtype,
        is_timedelta64_dtype,
    )

    kind, present = values.dtype, values[values.notna()]
    if not len(present):
        return TableColumn(name, LEFT_OUT, "no row has a value")
    is_number = is_numeric_dtype(kind) and not is_bool_dtype(kind)
    different = set() if is_number else set(map(level_text, cells_of(present)))
    if (present.nunique() if is_number else len(different)) == 1:
        return TableColumn(name, LEFT_OUT, f"constant: {quoted(present.iloc[0])} in all rows")
    if getattr(kind, "ordered", False):
        return _ordered(name, tuple(map(level_text, kind.categories)))
    if hasattr(kind, "categories"):
        return _category(name, different, len(present), "a categorical column")
    if is_bool_dtype(kind):
        return TableColumn(name, "Boolean", "")
    if is_number:
        return TableColumn(name, "number", "")
    if is_datetime64_any_dtype(kind) or hasattr(kind, "freq"):
        return _date(name, values)
    if is_timedelta64_dtype(kind):
        return TableColumn(name, "duration", "in days")
    return _kind_of_objects(name, values, present, different)


def _kind_of_objects(name: str, values: Any, present: Any, different: set[str]) -> TableColumn:
    """Determine the kind of a column of text or other objects from its distinct values as text."""
    import pandas as pd

    content = pd.api.types.infer_dtype(present, skipna=True)
    if content == "boolean":
        return TableColumn(name, "Boolean", "")
    if content in ("integer", "floating", "mixed-integer-float", "decimal"):
        return TableColumn(name, "number", "")
    if content in ("date", "datetime", "datetime64"):
        return _date(name, values)
    if content in ("timedelta", "timedelta64"):
        return TableColumn(name, "duration", "in days")
    if content not in ("string", "mixed-integer"):
        types = sorted({type(value).__name__ for value in present.iloc[:1000]})
        raise TypeError(
            f"column {name!r} has values of type {', '.join(types)}, but only numbers, "
            "text, Booleans, categories and dates are supported; convert the column, "
            "or leave it out"
        )
    if pd.to_numeric(pd.Series(list(different), dtype=object), errors="coerce").notna().all():
        return TableColumn(name, "number", "text with a number in every row")
    if all(map(is_date, different)):
        try:
            return _date(name, values)
        except ValueError:  # such as 2024-13-45
            pass
    scale = known_scale(different)
    return (
        _category(name, different, len(present), "text") if scale is None else _ordered(name, scale)
    )


def _ordered(name: str, levels: tuple[str, ...]) -> TableColumn:
    """Return an ordered category with these levels."""
    shown = levels
    if len(levels) > NAMES_SHOWN:
        shown = (*levels[: NAMES_SHOWN - 1], "...", levels[-1])
    reason = f"{len(levels)} ordered values, {' < '.join(shown)}: by rank"
    return TableColumn(name, "ordered category", reason, levels)


def _category(name: str, different: set[str], n: int, what: str) -> TableColumn:
    """Return a category from its distinct values in n rows, unless there are too many."""
    levels = tuple(sorted(different))
    if len(levels) >= ALL_DIFFERENT * n or (
        len(levels) > MANY_LEVELS and len(levels) > MANY_DIFFERENT * n
    ):
        raise LikelyIds(
            f"column {name!r} has {len(levels):,} distinct values in {n:,} rows, so it "
            "looks like row ids or free text; if it identifies the rows, use it as the "
            f"row labels (set_index({name!r}); --id {name} on the command line); "
            "otherwise leave it out"
        )
    reason = (
        f"{what} with {len(levels):,} distinct values: {listed(levels)}; "
        "distance 0 if equal, else 1"
    )
    return TableColumn(name, "category", reason, levels)


def _date(name: str, values: Any) -> TableColumn:
    days = days_in(name, values)
    ends = (np.nanmin(days), np.nanmax(days))
    first, last = (np.datetime64(int(np.floor(end)), "D") for end in ends)
    return TableColumn(name, "date", f"from {first} to {last}, in days")
