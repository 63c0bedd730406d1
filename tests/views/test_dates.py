"""Dates of the years 1 to 9999, in any form, are numbers of days."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmgl.storage.readers import read_views
from rmgl.views.column_kinds import fit_encoding
from rmgl.views.dates import days_since_1970

DATES = [
    datetime.date(1, 1, 1),
    datetime.date(4, 2, 29),
    datetime.date(1500, 3, 1),
    datetime.date(2024, 2, 29),
    datetime.date(9999, 12, 31),
]
EPOCH = datetime.date(1970, 1, 1)
FORMS = {
    "ISO texts": lambda dates: [date.isoformat() for date in dates],
    "texts with slashes": lambda dates: [date.isoformat().replace("-", "/") for date in dates],
    "texts with points": lambda dates: [
        f"{date.day}.{date.month}.{date.year:04d}" for date in dates
    ],
    "texts with times": lambda dates: [f"{date.isoformat()}T00:00:00Z" for date in dates],
    "dates": lambda dates: pd.Series(dates, dtype=object),
    "times": lambda dates: pd.Series(
        [datetime.datetime(*date.timetuple()[:3]) for date in dates], dtype=object
    ),
    "seconds": lambda dates: pd.Series(np.array(dates, dtype="datetime64[s]")),
    "microseconds": lambda dates: pd.Series(np.array(dates, dtype="datetime64[us]")),
    "in UTC": lambda dates: pd.Series(np.array(dates, dtype="datetime64[s]")).dt.tz_localize("UTC"),
    "scalars of NumPy": lambda dates: pd.Series(
        [np.datetime64(date) for date in dates], dtype=object
    ),
    "periods": lambda dates: pd.Series(
        pd.PeriodIndex([pd.Period(year=d.year, month=d.month, day=d.day, freq="D") for d in dates])
    ),
    "dates of Arrow": lambda dates: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(dates, pa.date32()))
    ),
    "times of Arrow": lambda dates: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(dates, pa.date32()).cast(pa.timestamp("us")))
    ),
}


def days(dates):
    return [(date - EPOCH).days for date in dates]


@pytest.mark.parametrize("form", FORMS)
def test_the_first_and_the_last_date_are_days(form):
    table = pd.DataFrame({"end": FORMS[form](DATES)})
    encoding = fit_encoding(table)
    assert [(column.kind, column.reason) for column in encoding.columns] == [
        ("date", "from 0001-01-01 to 9999-12-31, in days")
    ]
    assert encoding(table).ravel().tolist() == days(DATES)


@given(st.lists(st.dates(), min_size=1, max_size=5), st.sampled_from(sorted(FORMS)))
def test_any_date_is_the_number_of_its_day(dates, form):
    assert days_since_1970(pd.Series(FORMS[form](dates))).tolist() == days(dates)


@given(st.lists(st.datetimes(timezones=st.timezones()), min_size=1, max_size=5))
def test_times_with_a_time_zone_are_in_utc(times):
    wanted = [
        ((time.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) - time.utcoffset())
        / datetime.timedelta(days=1)
        for time in times
    ]
    np.testing.assert_allclose(days_since_1970(pd.Series(times, dtype=object)), wanted, rtol=1e-15)


def test_a_time_of_the_last_day_and_a_missing_date():
    found = days_since_1970(
        pd.Series(["9999-12-31 12:00", None, "9999-12-31T23:00-05:00", "2024-3-1"])
    )
    last, other = days([DATES[-1], datetime.date(2024, 3, 1)])
    assert found[[0, 2, 3]].tolist() == [last + 0.5, last + 1 + 4 / 24, other]
    assert np.isnan(found[1])
    berlin = datetime.datetime(9999, 12, 31, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    assert days_since_1970(pd.Series([berlin, None], dtype=object))[0] == last
    assert np.isnan(days_since_1970(pd.Series([None, np.nan]))).all()


@pytest.mark.parametrize("text", ["0000-01-01", "1500-02-29", "9999-13-01", "31.11.9999", "soon"])
def test_what_is_no_date_is_refused(text):
    table = pd.DataFrame({"end": ["2024-01-01", "2024-01-02"]})
    message = f"column 'end' was read as dates, but row 1 has '{text}': correct it"
    with pytest.raises(ValueError, match=message):
        fit_encoding(table)(pd.DataFrame({"end": ["2024-01-01", text, "2024-01-02"]}))


def test_a_date_in_another_notation_is_named():
    table = pd.DataFrame({"end": ["2024-01-01", "2024-01-02"]})
    message = (
        r"column 'end' was read as dates, but row 2 has a date in a different format \('1.3.2024'"
    )
    with pytest.raises(ValueError, match=message):
        fit_encoding(table)(pd.DataFrame({"end": ["2024-01-01", None, "1.3.2024"]}))


def test_numbers_are_no_dates():
    encoding = fit_encoding(pd.DataFrame({"end": ["2024-01-01", "2024-01-02"]}))
    with pytest.raises(ValueError, match="was read as dates, but row 0 has '20240101'"):
        encoding(pd.DataFrame({"end": [20240101, 20240102]}))


def test_durations_of_centuries_keep_their_sign():
    days = [1.0, 400 * 365.0, np.nan]
    seconds = np.array([86_400, 400 * 365 * 86_400, "NaT"], dtype="timedelta64[s]")
    arrow = pd.arrays.ArrowExtensionArray(pa.array(seconds))
    table = pd.DataFrame(
        {"numpy": seconds, "arrow": arrow, "short": pd.to_timedelta([86_400, 43_200, None], "s")}
    )
    found = fit_encoding(table)(table)
    np.testing.assert_array_equal(found, np.array([days, days, [1.0, 0.5, np.nan]]).T)


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx", "a.parquet", "a.feather"])
def test_a_file_may_hold_the_date_that_stands_for_no_end(name, tmp_path):
    ends = [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1), datetime.date(9999, 12, 31)] * 4
    table = pd.DataFrame({"end": pd.Series(ends, dtype=object), "x": np.arange(12.0)})
    writers = {
        "csv": table.to_csv,
        "xlsx": table.to_excel,
        "parquet": table.to_parquet,
        "feather": table.to_feather,
    }
    writers[name[2:]](tmp_path / name, **({"index": False} if name in ("a.csv", "a.xlsx") else {}))
    views = read_views([tmp_path / name])
    assert [column.kind for column in views[0].encoding.columns] == ["date", "number"]
    assert views.matrices[0][:, 0].tolist() == days(ends)
