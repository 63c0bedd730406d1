"""Encode tables with columns of any type as numbers.

A number stays unchanged. A Boolean becomes 0 or 1, a date or duration a number of days, an ordered
category its rank 0, 1, 2, ..., and a category one column of zeros and ones for each of its values.
The scaling of such a view (`rmgl.views.scaling.fit_mixed`) divides measured columns by their range,
and zeros and ones by the square root of 2. Every column of the table then adds at most 1 to the
squared distance between two rows; a category adds 0 or 1. This makes the squared distance similar
to Gower's.

A value not seen during fit is zero in all columns of its category. One additional column, shared by
all categories in the view, counts such values, so that they also differ from all known values by 1.
Missing cells are NaN. `rmgl.views.column_kinds` determines the kind of each column.
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
from rmgl.views.dates import days_of, days_since_1970

Vector = NDArray[np.float64]
MEASURED = ("number", "Boolean", "date", "duration", "ordered category")
"""Kinds of columns that become one numeric column."""
LEFT_OUT = "left out"
COLUMN_KINDS = (*MEASURED, "category", LEFT_OUT)
UNSEEN = "(a category that was not seen in fitting)"
"""Name of the column with the square root of the number of categories not seen during fit."""
NAMES_SHOWN = 5
"""Maximum number of names or values listed in a sentence."""


@record
@dataclass(frozen=True)
class TableColumn:
    """One column of a table with its kind and the reason for it."""

    name: str
    kind: str
    """Kind of the column, one of `COLUMN_KINDS`."""
    reason: str
    levels: tuple[str, ...] = ()
    """Values of a category as text, in order."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the numeric columns that encode this column."""
        if self.kind == "category":
            return tuple(f"{self.name} = {level}" for level in self.levels)
        return () if self.kind == LEFT_OUT else (self.name,)

    def measure(self, values: Any) -> Vector:
        """Return the values of a measured column as numbers, with NaN for missing cells."""
        if self.kind == "ordered category":
            ranks: dict[str | None, float] = {level: at for at, level in enumerate(self.levels)}
            ranked = [ranks.get(text, np.nan) for text in _texts(values)]
            return np.array(ranked, dtype=np.float64)
        if self.kind == "date":
            return days_in(self.name, values)
        try:
            convert = days_of if self.kind == "duration" else _as_numbers
            numbers = np.asarray(convert(values), dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"column {self.name!r} was read as a {self.kind}, but "
                f"{_first_without_number(values) or error}: correct it"
            ) from error
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise ValueError(
                f"column {self.name!r} contains infinity in row {infinite[0]}: replace it with a "
                "finite number"
            )
        return numbers

    def indicate(self, values: Any) -> tuple[NDArray[np.float64], Vector]:
        """Return indicators of each level of a category, and of values not seen during fit.

        The indicators are NaN for missing cells.
        """
        places = {level: place for place, level in enumerate(self.levels)}
        codes = [-2 if text is None else places.get(text, -1) for text in _texts(values)]
        code = np.array(codes, dtype=np.intp)
        indicators = (code[:, None] == np.arange(len(self.levels))).astype(np.float64)
        indicators[code == -2] = np.nan
        return indicators, (code == -1).astype(np.float64)


@record
@dataclass(frozen=True)
class Encoding:
    """Rules that convert the columns of a table, and of new rows, to numbers."""

    columns: tuple[TableColumn, ...]

    @property
    def used(self) -> list[TableColumn]:
        """Columns that are not left out."""
        return [column for column in self.columns if column.kind != LEFT_OUT]

    @property
    def names_used(self) -> tuple[str, ...]:
        """Names of the columns that are not left out."""
        return tuple(column.name for column in self.used)

    @property
    def names_left_out(self) -> tuple[str, ...]:
        """Names of the columns that are left out."""
        return tuple(column.name for column in self.columns if column.kind == LEFT_OUT)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        names = tuple(feature for column in self.columns for feature in column.features)
        return (*names, UNSEEN) if self.has_categories else names

    @property
    def has_categories(self) -> bool:
        return any(column.kind == "category" for column in self.columns)

    @cached_property
    def measured(self) -> NDArray[np.bool_]:
        """Mask of the numeric columns that are measured, not indicators of a category."""
        return self._features_of(*MEASURED)

    @cached_property
    def unmeasured(self) -> NDArray[np.bool_]:
        """Mask of the numeric columns that hold zeros and ones, from categories or Booleans."""
        return self._features_of("category", "Boolean")

    @cached_property
    def numbers(self) -> NDArray[np.bool_]:
        """Mask of the numeric columns that were already numeric in the table."""
        return self._features_of("number")

    def _features_of(self, *kinds: str) -> NDArray[np.bool_]:
        """Return the mask of the numeric columns that come from columns of these kinds."""
        chosen = [column.kind in kinds for column in self.columns for _ in column.features]
        return np.array([*chosen, False] if self.has_categories else chosen, dtype=bool)

    @cached_property
    def first_features(self) -> NDArray[np.intp]:
        """First numeric column of each used column. If it is missing, so are the others."""
        widths = [len(column.features) for column in self.columns if column.features]
        return np.cumsum([0, *widths[:-1]], dtype=np.intp)

    def __call__(self, table: Any) -> NDArray[np.float64]:
        """Return the numbers in a table with these columns in any order, with NaN for missing
        cells.
        """
        place = self._places(table)
        n = len(table)
        parts, n_unseen = [np.empty((n, 0))], np.zeros(n)
        for column in self.used:
            values = table.iloc[:, place[column.name]]
            values = values.sparse.to_dense() if hasattr(values.dtype, "fill_value") else values
            if column.kind == "category":
                indicators, unseen = column.indicate(values)
                parts.append(indicators)
                n_unseen += unseen
            else:
                parts.append(column.measure(values)[:, None])
        if self.has_categories:
            missing = np.isnan(np.hstack(parts)).all(axis=1)
            parts.append(np.where(missing, np.nan, np.sqrt(n_unseen))[:, None])
        return np.ascontiguousarray(np.hstack(parts))

    def _places(self, table: Any) -> dict[str, int]:
        """Return the position of each column in a table. The table must have all columns seen
        during fit.
        """
        names = [str(name) for name in table.columns]
        place = {name: at for at, name in enumerate(names)}
        missing = [column.name for column in self.used if column.name not in place]
        if missing:
            raise ValueError(
                f"column {missing[0]!r} of the fitted view is missing: pass all columns seen "
                "during fit"
            )
        known = {column.name for column in self.columns}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"column {unknown[0]!r} is not in the fitted view: leave it out")
        repeated = [name for at, name in enumerate(names) if place[name] != at]
        if repeated:
            raise ValueError(f"column {repeated[0]!r} occurs more than once: rename or drop one")
        return place

    def check(self, n_features: int) -> None:
        """Raise `Unsound` if an encoding from a file has unknown kinds or different columns."""
        kinds = {column.kind for column in self.columns}
        names = {column.name for column in self.columns}
        if (
            not kinds <= set(COLUMN_KINDS)
            or len(self.features) != n_features
            or len(names) < len(self.columns)
        ):
            raise Unsound(f"the encoding of a table does not match its {n_features} columns")

    def sentences(self) -> list[str]:
        """Describe the kinds of columns: common kinds in one sentence each, others one by one."""
        sentences = []
        for kind, shown in (("number", "numeric"), ("Boolean", "Boolean")):
            names = [column.name for column in self.columns if column.kind == kind]
            if names:
                plural = "s" if len(names) > 1 else ""
                sentences.append(f"{len(names):,} {shown} column{plural}: {listed(names)}")
        for column in self.used:
            if column.kind not in ("number", "Boolean"):
                sentences.append(f"{column.name}: {column.kind} ({column.reason})")
        for column in self.columns:
            if column.kind == "number" and column.reason:
                sentences.append(f"{column.name}: number ({column.reason})")
        for column in self.columns:
            if column.kind == LEFT_OUT:
                sentences.append(f"{column.name}: left out ({column.reason})")
        return sentences


def unconfirmed_sentence(encoding: Encoding, parts: Vector) -> str:
    """Describe the columns with reduced weight, based on the weights of the numeric columns."""
    taken = [column.name for column in encoding.columns if column.features]
    less = np.flatnonzero(parts[encoding.first_features] < 1)
    names = listed([taken[at] for at in less.tolist()])
    which = "it" if less.size == 1 else "them"
    return f"{names}: reduced weight, because the other columns do not support {which}"


def left_out_sentence(constant: NDArray[np.intp], names: Sequence[str] | None) -> str:
    """Describe the constant columns of a numeric view."""
    columns = [f"column {at}" if names is None else names[at] for at in constant.tolist()]
    return f"left out because constant: {listed(columns)}"


def days_in(name: str, values: Any) -> Vector:
    """Return a column of dates as days since 1970, in UTC if they have a time zone."""
    try:
        return days_since_1970(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"column {name!r} was read as dates, but {_first_without_date(values)}: correct it"
        ) from error


def level_text(value: Any) -> str:
    """Return a category value as text. Whole numbers are written the same way regardless of type.

    Examples
    --------
    >>> [level_text(value) for value in (1, 1.0, "F", True, 0.5)]
    ['1', '1', 'F', 'True', '0.5']
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def cells_of(values: Any) -> list[Any]:
    """Return the cells of a pandas column or index, without copying the values of a category."""
    is_category = hasattr(values.dtype, "categories")
    cells: list[Any] = (values.astype(object) if is_category else values).tolist()
    return cells


def _texts(values: Any) -> list[str | None]:
    """Return the cells of a pandas column as text, with None for missing cells."""
    pairs = zip(cells_of(values), values.notna().tolist(), strict=True)
    return [level_text(value) if present else None for value, present in pairs]


def _as_numbers(values: Any) -> Vector:
    import pandas as pd

    numbers: Vector = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _first_without_date(values: Any) -> str:
    """Name the first row with a cell that is not a date, by bisection."""
    first, stop = 0, len(values)
    while stop - first > 1:
        middle = (first + stop) // 2
        first, stop = (first, middle) if _not_dates(values.iloc[first:middle]) else (middle, stop)
    if _not_dates(values.iloc[first:stop]):
        return f"row {first} has {quoted(values.iloc[first])}"
    return f"row {first} has a date in a different format ({quoted(values.iloc[first])})"


def _not_dates(values: Any) -> bool:
    """Return whether any cell of a column is not a date."""
    try:
        days_since_1970(values)
    except (ValueError, TypeError, OverflowError):
        return True
    return False


def _first_without_number(values: Any) -> str:
    """Name the first row with a cell that is not a number. Empty if there is none."""
    import pandas as pd

    bad = pd.to_numeric(values.astype(object), errors="coerce").isna() & values.notna()
    rows = np.flatnonzero(bad.to_numpy())
    return f"row {rows[0]} has {quoted(values.iloc[rows[0]])}" if rows.size else ""


def listed(names: Sequence[str]) -> str:
    """List the first few names, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(map(_short, names[:NAMES_SHOWN])) + more


def quoted(value: Any) -> str:
    """Return the text of a cell in quotes, shortened if it is long."""
    return repr(_short(level_text(value)))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
