"""Convert dates in the years 1 to 9999 to days, even outside the range of pandas types.

Most versions of pandas convert strings and Python dates to nanoseconds, which cover 1677 to 2262.
Dates such as 9999-12-31, which many tables use for an unknown end date, are therefore shifted to
another year: the calendar repeats every 400 years.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.datetime64]
DAY = np.timedelta64(1, "D")
TIME = r"[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?"
DATE = re.compile(rf"\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}({TIME})?|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}")
"""Dates with an unambiguous order of year, month and day: 2024-03-01, 2024/3/1 8:30, and
1.3.2024.
"""
YEAR = re.compile(r"^\d{4}(?=-)|(?<=\.)\d{4}$")
"""Year of a date written with hyphens or periods."""
CYCLE, CYCLE_DAYS = 400, 146_097
"""Number of years after which weekdays and leap years repeat, and the number of days in them."""
SAFE = 1800
"""First year of a complete cycle that all pandas types can represent."""


def is_date(text: str) -> bool:
    """Return whether a string is a date with an unambiguous order of year, month and day."""
    return DATE.fullmatch(text.strip()) is not None


def days_since_1970(values: Any) -> NDArray[np.float64]:
    """Return a column of dates as days since 1970, with NaN for missing cells.

    Dates with a time zone are converted to UTC. Raises a ValueError, TypeError or OverflowError for
    a cell that is not a date.
    """
    present = values.notna().to_numpy()
    days = np.full(len(values), np.nan)
    days[present] = (_moments(values[present]) - np.datetime64(0, "us")) / DAY
    return days


def days_of(values: Any) -> NDArray[np.float64]:
    """Return a column of durations in days.

    Durations keep their unit, because centuries in seconds would overflow in nanoseconds.
    """
    import pandas as pd

    durations = pd.to_timedelta(values)
    unit = getattr(durations.dtype, "numpy_dtype", durations.dtype)  # unit of Arrow types
    return np.asarray(durations.to_numpy(dtype=unit) / DAY)


def _moments(values: Any) -> Moments:
    """Return the points in time of a column without missing values."""
    from pandas.api.types import infer_dtype, is_datetime64_any_dtype

    if hasattr(values.dtype, "freq"):
        return np.asarray(values.dt.asfreq("us", how="start").array.asi8).astype("datetime64[us]")
    if is_datetime64_any_dtype(values.dtype):
        return np.asarray(values.to_numpy(dtype="datetime64[us]"))
    if infer_dtype(values) == "string":
        return _moments_of_texts([text.strip().replace("/", "-") for text in values])
    return np.array([_moment(value) for value in values], dtype="datetime64[us]")


def _moments_of_texts(texts: list[str]) -> Moments:
    """Return the points in time of dates written with hyphens, or all with periods."""
    import pandas as pd

    order = "ISO8601" if any("-" in text for text in texts) else "%d.%m.%Y"
    moved = [_in_safe_year(text) for text in texts]
    stamps = pd.to_datetime(pd.Series([text for text, _ in moved]), utc=True, format=order)
    cycles = np.array([cycles for _, cycles in moved], dtype=np.int64)
    return np.asarray(stamps.to_numpy(dtype="datetime64[us]") + cycles * CYCLE_DAYS * DAY)


def _in_safe_year(text: str) -> tuple[str, int]:
    """Shift the year of a date by whole cycles into the range of pandas.

    Also returns the number of cycles.

    Examples
    --------
    >>> _in_safe_year("9999-12-31"), _in_safe_year("1.3.2024"), _in_safe_year("0004-02-29")
    (('1999-12-31', 20), ('1.3.2024', 0), ('2004-02-29', -5))
    """
    year = YEAR.search(text)
    if year is None:  # not a date; pandas raises the error
        return text, 0
    if int(year[0]) == 0:
        raise ValueError(f"{text!r} is in the year 0, but dates start with the year 1")
    cycles, rest = divmod(int(year[0]) - SAFE, CYCLE)
    return f"{text[: year.start()]}{SAFE + rest}{text[year.end() :]}", cycles


def _moment(value: Any) -> np.datetime64:
    """Return a Python, NumPy or pandas date or time as a point in UTC, without a time zone."""
    offset = value.utcoffset() if getattr(value, "tzinfo", None) is not None else None
    local = value if offset is None else value.replace(tzinfo=None)
    moment = np.datetime64(local).astype("datetime64[us]")
    return np.datetime64(moment if offset is None else moment - np.timedelta64(offset))
