"""Tables with columns of any kind: what each column is taken for, and the numbers that it becomes.

A number stays as it is, a truth value becomes 0 or 1, a date or duration a number of days, an ordered category its rank 0, 1, 2, ..., and
a category one column of zeros and ones for each of its values. The scaling of such a view (`rmgl.views.scaling.fit_mixed`) divides
measured columns by their range and zeros and ones by the square root of 2, so that every column of the table adds at most 1 to the squared
distance of two rows, and a category 0 or 1: a squared distance of Gower's kind.

A category that was not seen in fitting is zero in all columns of its own, and counted in one more column, which the view's categories
share: it differs from all that are known, by 1 as well. Cells that are missing are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.checks import Unsound
from rmgl.views.dates import days_of, days_since_1970, is_date

Vector = NDArray[np.float64]
MEASURED = ("number", "truth value", "date", "duration", "ordered category")
"""Kinds of columns that become one column of numbers."""
LEFT_OUT = "left out"
KINDS = (*MEASURED, "category", LEFT_OUT)
UNSEEN = "(a category that was not seen in fitting)"
"""The name of the column that counts such categories: it holds the square root of their number."""

ALL_DIFFERENT = 0.9
"""Share of the rows beyond which different texts are taken for row ids,"""
MANY_LEVELS, MANY_DIFFERENT = 50, 0.5
"""and the share beyond which so many texts are."""
SHOWN = 5
"""Names or values that a sentence lists."""


class LikelyIds(ValueError):
    """A column of texts that are nearly all different."""


@record
@dataclass(frozen=True)
class TableColumn:
    """One column of a table: what it was taken for, and why."""

    name: str
    kind: str
    """One of `KINDS`."""
    reason: str
    levels: tuple[str, ...] = ()
    """The values of a category as text, in their order."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of numbers that it becomes."""
        if self.kind == "category":
            return tuple(f"{self.name} = {level}" for level in self.levels)
        return () if self.kind == LEFT_OUT else (self.name,)


@record
@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become numbers; fitted to one table, and applied to new rows."""

    columns: tuple[TableColumn, ...]

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        named = tuple(feature for column in self.columns for feature in column.features)
        return (*named, UNSEEN) if self.has_categories else named

    @property
    def has_categories(self) -> bool:
        return any(column.kind == "category" for column in self.columns)

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Which columns of numbers are measured, and not zeros and ones of a category."""
        kinds = [column.kind in MEASURED for column in self.columns for _ in column.features]
        return np.array([*kinds, False] if self.has_categories else kinds, dtype=bool)

    @cached_property
    def first_features(self) -> NDArray[np.intp]:
        """The first column of numbers of each column of the table that is not left out; its others are missing where it is."""
        widths = [len(column.features) for column in self.columns if column.features]
        return np.cumsum([0, *widths[:-1]], dtype=np.intp)

    @cached_property
    def numbers(self) -> NDArray[np.bool_]:
        """Which columns were numbers in the table."""
        kinds = [column.kind == "number" for column in self.columns for _ in column.features]
        return np.array([*kinds, False] if self.has_categories else kinds, dtype=bool)

    def __call__(self, table: Any) -> NDArray[np.float64]:
        """The numbers of a table with these columns, in any order; NaN where a cell is missing."""
        place = self._places(table)
        n = len(table)
        parts, n_unseen = [np.empty((n, 0))], np.zeros(n)
        for column in self.columns:
            if column.kind == LEFT_OUT:
                continue
            values = table.iloc[:, place[column.name]]
            values = values.sparse.to_dense() if hasattr(values.dtype, "fill_value") else values
            if column.kind == "category":
                indicators, unseen = _indicators(values, column.levels)
                parts.append(indicators)
                n_unseen += unseen
            else:
                parts.append(_measured(column, values)[:, None])
        if self.has_categories:
            missing = np.isnan(np.hstack(parts)).all(axis=1)
            parts.append(np.where(missing, np.nan, np.sqrt(n_unseen))[:, None])
        return np.ascontiguousarray(np.hstack(parts))

    def _places(self, table: Any) -> dict[str, int]:
        """The position of every column in a table; raises a ValueError if it has not the columns of the fit."""
        if not is_table(table):
            used = [column.name for column in self.columns if column.kind != LEFT_OUT]
            raise ValueError(f"it was fitted on a table with the columns {_listed(used)}: give a table with these columns")
        names = [str(name) for name in table.columns]
        place = {name: at for at, name in enumerate(names)}
        known = {column.name for column in self.columns}
        missing = [column.name for column in self.columns if column.kind != LEFT_OUT and column.name not in place]
        unknown = [name for name in names if name not in known]
        if missing:
            raise ValueError(f"it has no column {missing[0]!r}, which the fitted view has: give the columns of the fit")
        if unknown or len(place) < len(names):
            odd = unknown[0] if unknown else next(name for at, name in enumerate(names) if place[name] != at)
            problem = "which the fitted view does not have" if unknown else "which occurs more than once"
            raise ValueError(f"it has a column {odd!r}, {problem}: leave it out")
        return place

    def check(self, n_features: int) -> None:
        """Raise `Unsound` if an encoding read from a file does not have so many columns of numbers, or is of an unknown kind."""
        kinds = {column.kind for column in self.columns}
        if not kinds <= set(KINDS) or len(self.features) != n_features or len({column.name for column in self.columns}) < len(self.columns):
            raise Unsound(f"the encoding of a table does not fit its {n_features} columns")

    def sentences(self) -> list[str]:
        """What the columns were taken for, and why: kinds of many columns in one sentence, others one by one."""
        found = []
        for kind in ("number", "truth value"):
            names = [column.name for column in self.columns if column.kind == kind]
            if names:
                found.append(f"{len(names):,} {kind}{'s' if len(names) > 1 else ''}: {_listed(names)}")
        others = [column for column in self.columns if column.kind not in ("number", "truth value", LEFT_OUT)]
        found += [f"{column.name}: {column.kind} ({column.reason})" for column in others]
        found += [f"{column.name}: number ({column.reason})" for column in self.columns if column.kind == "number" and column.reason]
        left_out = [column for column in self.columns if column.kind == LEFT_OUT]
        return found + [f"{column.name}: left out ({column.reason})" for column in left_out]


def left_out_sentence(constant: NDArray[np.intp], names: Sequence[str] | None) -> str:
    """What is said of constant columns of a view of numbers."""
    shown = [f"column {at}" if names is None else names[at] for at in constant[: SHOWN + 1].tolist()]
    more = f" and {constant.size - SHOWN:,} more" if constant.size > SHOWN else ""
    return f"left out, because constant: {', '.join(map(_short, shown[:SHOWN]))}{more}"


def is_table(X: Any) -> bool:
    """Whether the input is a pandas DataFrame."""
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "dtypes")


def as_table(X: Any) -> Any:
    """A polars or pyarrow table as a pandas one; other inputs as they are."""
    return X.to_pandas() if hasattr(X, "to_pandas") and getattr(X, "ndim", 2) == 2 and not hasattr(X, "iloc") else X


def fit_encoding(table: Any) -> Encoding | None:
    """Decide what the columns of a table are taken for; None if all of them are numbers or truth values already."""
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    plain = ("integer", "floating", "mixed-integer-float", "boolean", "empty", "decimal", "complex")
    if all(
        is_numeric_dtype(kind) or is_bool_dtype(kind) or (kind == np.dtype(object) and infer_dtype(table.iloc[:, at], skipna=True) in plain)
        for at, kind in enumerate(table.dtypes)
    ):
        return None
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        repeated = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"column {repeated!r} occurs more than once: rename one of them")
    columns = tuple(_take(name, table.iloc[:, at]) for at, name in enumerate(names))
    if all(column.kind == LEFT_OUT for column in columns):
        reasons = _listed([f"{column.name} ({column.reason})" for column in columns])
        raise ValueError(f"no column is left: {reasons}; leave the view out")
    return Encoding(columns)


def likely_ids(table: Any) -> list[str]:
    """The columns of a table that look like row ids or free text."""

    def is_likely(name: Any, values: Any) -> bool:
        try:
            _take(str(name), values)
        except LikelyIds:
            return True
        except (ValueError, TypeError):
            pass
        return False

    return [str(name) for at, name in enumerate(table.columns) if is_likely(name, table.iloc[:, at])]


def plain_numbers(table: Any) -> Any:
    """A table of numbers whose types are pandas' own (nullable, Arrow) as an array of floats; other tables as they are."""
    if any(not isinstance(kind, np.dtype) and not hasattr(kind, "fill_value") for kind in table.dtypes):
        return table.to_numpy(dtype=np.float64, na_value=np.nan)
    return table


def _take(name: str, values: Any) -> TableColumn:
    """Decide what one column is taken for."""
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

    kind, present = values.dtype, values[values.notna()]
    if not len(present):
        return TableColumn(name, LEFT_OUT, "no row has a value")
    ordered = bool(getattr(kind, "ordered", False))
    is_number = is_numeric_dtype(kind) and not is_bool_dtype(kind)
    different = set() if is_number else set(map(level_text, cells_of(present)))
    if (present.nunique() if is_number else len(different)) == 1:
        return TableColumn(name, LEFT_OUT, f"constant: {_shown(level_text(present.iloc[0]))} in all rows")
    if ordered:
        levels = tuple(map(level_text, kind.categories))
        return TableColumn(name, "ordered category", f"{len(levels)} ordered values, {' < '.join(_some(levels))}: by rank", levels)
    if hasattr(kind, "categories"):
        return _category(name, different, len(present), "a categorical column")
    if is_bool_dtype(kind):
        return TableColumn(name, "truth value", "")
    if is_numeric_dtype(kind):
        return TableColumn(name, "number", "")
    if is_datetime64_any_dtype(kind) or hasattr(kind, "freq"):
        return _date(name, values)
    if is_timedelta64_dtype(kind):
        return TableColumn(name, "duration", "in days")
    return _take_objects(name, values, present, different)


def _take_objects(name: str, values: Any, present: Any, different: set[str]) -> TableColumn:
    """Decide what a column of texts or other objects is taken for, by its different values as text."""
    import pandas as pd

    found = pd.api.types.infer_dtype(present, skipna=True)
    if found == "boolean":
        return TableColumn(name, "truth value", "")
    if found in ("integer", "floating", "mixed-integer-float", "decimal"):
        return TableColumn(name, "number", "")
    if found in ("date", "datetime", "datetime64"):
        return _date(name, values)
    if found in ("timedelta", "timedelta64"):
        return TableColumn(name, "duration", "in days")
    if found not in ("string", "mixed-integer"):
        kinds = sorted({type(value).__name__ for value in present.iloc[:1000]})
        raise TypeError(
            f"column {name!r} holds values of type {', '.join(kinds)}, which are no numbers, texts, truth values, categories or dates: "
            "convert the column, or leave it out"
        )
    if pd.to_numeric(pd.Series(list(different), dtype=object), errors="coerce").notna().all():
        return TableColumn(name, "number", "text that holds a number in every row")
    if all(map(is_date, different)):
        try:
            return _date(name, values)
        except ValueError:  # 2024-13-45
            pass
    return _category(name, different, len(present), "text")


def _category(name: str, different: set[str], n: int, what: str) -> TableColumn:
    """A category by its different values in n rows; a ValueError if they are too many."""
    levels = tuple(sorted(different))
    if len(levels) >= ALL_DIFFERENT * n or (len(levels) > MANY_LEVELS and len(levels) > MANY_DIFFERENT * n):
        raise LikelyIds(
            f"column {name!r} holds {len(levels):,} different values in {n:,} rows, so it looks like row ids or free text, which no two "
            f"rows have in common: if it names the rows, make it the row labels (set_index({name!r}); --id {name} on the command line); "
            "else leave it out"
        )
    return TableColumn(name, "category", f"{what} with {len(levels):,} different values: {_listed(levels)}; 0 if equal, else 1", levels)


def _date(name: str, values: Any) -> TableColumn:
    days = _days(name, values)
    first, last = (np.datetime64(int(np.floor(end)), "D") for end in (np.nanmin(days), np.nanmax(days)))
    return TableColumn(name, "date", f"from {first} to {last}, in days")


def level_text(value: Any) -> str:
    """A value of a category as text: whole numbers are written alike, whatever their type.

    Examples
    --------
    >>> [level_text(value) for value in (1, 1.0, "F", True, 0.5)]
    ['1', '1', 'F', 'True', '0.5']
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _measured(column: TableColumn, values: Any) -> Vector:
    """The numbers of a column that becomes one column of numbers."""
    if column.kind == "ordered category":
        ranks = {level: float(rank) for rank, level in enumerate(column.levels)}
        return np.array([ranks.get(level_text(value), np.nan) if have else np.nan for value, have in _cells(values)], dtype=np.float64)
    if column.kind == "date":
        return _days(column.name, values)
    if column.kind == "duration":
        return _checked(column, values, lambda: days_of(values))
    return _checked(column, values, lambda: _as_numbers(values))


def _as_numbers(values: Any) -> Vector:
    import pandas as pd

    numbers = pd.to_numeric(values)
    found: Vector = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def _checked(column: TableColumn, values: Any, convert: Any) -> Vector:
    """Converted values; a ValueError that names the column, and the first row that cannot be converted, or is infinite."""
    try:
        found = np.asarray(convert(), dtype=np.float64)
    except (ValueError, TypeError) as error:
        import pandas as pd

        bad = pd.to_numeric(values.astype(object), errors="coerce").isna() & values.notna()
        rows = np.flatnonzero(bad.to_numpy())
        where = f"row {rows[0]} holds {_shown(level_text(values.iloc[rows[0]]))}" if rows.size else str(error)
        raise ValueError(f"column {column.name!r} was taken for a {column.kind}, but {where}: correct it") from error
    infinite = np.flatnonzero(np.isinf(found))
    if infinite.size:
        raise ValueError(f"column {column.name!r} has infinity in row {infinite[0]}: replace it with a finite number")
    return found


def _days(name: str, values: Any) -> Vector:
    """Days since 1970 of a column of dates, in UTC where they have a time zone."""
    try:
        return days_since_1970(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"column {name!r} was taken for dates, but holds something else ({error}): correct it") from error


def _indicators(values: Any, levels: Sequence[str]) -> tuple[NDArray[np.float64], Vector]:
    """Zeros and ones for each level, NaN where the cell is missing; and a one for every row with a category that is not a level."""
    places = {level: place for place, level in enumerate(levels)}
    codes = np.array([places.get(level_text(value), -1) if have else -2 for value, have in _cells(values)], dtype=np.intp)
    indicators = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
    indicators[codes == -2] = np.nan
    return indicators, (codes == -1).astype(np.float64)


def _cells(values: Any) -> Any:
    """Pairs of a cell and whether it holds a value."""
    return zip(cells_of(values), values.notna().tolist(), strict=True)


def cells_of(values: Any) -> list[Any]:
    """The cells of a pandas column or index; the values of a category are shared by its cells, and not copied."""
    found: list[Any] = (values.astype(object) if hasattr(values.dtype, "categories") else values).tolist()
    return found


def _some(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) <= SHOWN else [*names[: SHOWN - 1], "...", names[-1]]


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(_short, names[:SHOWN])) + more


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def _shown(text: str) -> str:
    return repr(_short(text))
