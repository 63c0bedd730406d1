"""Tables with columns of any kind."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from rmgl import RMGL
from rmgl.views.column_kinds import fit_encoding
from rmgl.views.encoding import UNSEEN
from rmgl.views.halves import LEAST
from rmgl.views.views import Views

STAGES = ["I", "II", "III", "IV"]


def patients(n=40, seed=0):
    """A table of two groups, which differ in all columns."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], n // 2)
    return pd.DataFrame(
        {
            "age": 50.0 + 20 * group + rng.normal(size=n),
            "smoker": rng.random(n) < np.where(group, 0.9, 0.1),
            "sex": np.where(rng.random(n) < np.where(group, 0.9, 0.1), "F", "M"),
            "site": rng.choice(["Bonn", "Jena", "Ulm"], n),
            "stage": pd.Categorical(
                np.array(STAGES)[np.minimum(3, 2 * group + (rng.random(n) < 0.5))],
                STAGES,
                ordered=True,
            ),
            "seen": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(300 * group + rng.integers(0, 30, n), "D"),
            "hospital": "north",
        }
    )


def gower(one, other, table):
    """The slow, obvious squared distance of two rows of `patients`."""
    total = ((one["age"] - other["age"]) / (table["age"].max() - table["age"].min())) ** 2
    total += (
        float(one["smoker"] != other["smoker"])
        + float(one["sex"] != other["sex"])
        + LEAST * float(one["site"] != other["site"])  # it is unrelated to all other columns
    )
    ranks = table["stage"].cat.codes
    total += (
        (STAGES.index(one["stage"]) - STAGES.index(other["stage"])) / (ranks.max() - ranks.min())
    ) ** 2
    days = (table["seen"] - table["seen"].min()).dt.days
    return total + ((one["seen"] - other["seen"]).days / days.max()) ** 2


def test_squared_distances_are_gower_like():
    table = patients()
    views = Views.of({"clinic": table}).scaled("auto")
    found = cdist(views.matrices[0], views.matrices[0], "sqeuclidean")
    wanted = [
        [gower(one, other, table) for _, other in table.iterrows()] for _, one in table.iterrows()
    ]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_report_says_what_each_column_was_taken_for():
    table = patients()
    report = (
        RMGL(2, random_state=0)
        .fit({"clinic": table, "lab": np.random.default_rng(0).normal(size=(40, 3))})
        .report_
    )
    text = str(report)
    for sentence in (
        "Scale: clinic: minmax (numeric columns: no square-root transform, because the columns are not "
        "strongly skewed",
        "Column: clinic: 1 numeric column: age.",
        "Column: clinic: 1 Boolean column: smoker.",
        "Column: clinic: sex: category (text with 2 distinct values: F, M; distance 0 if equal, else 1).",
        "Column: clinic: stage: ordered category (4 ordered values, I < II < III < IV: by rank).",
        "Column: clinic: seen: date (from 2024-01-0",
        "Column: clinic: hospital: left out (constant: 'north' in all rows).",
    ):
        assert sentence in text
    assert "Column: lab" not in text


def test_constant_columns_of_numbers_are_named():
    table = pd.DataFrame({"x": np.arange(20.0), "y": 1.0})
    assert "Column: view_0: left out because constant: y." in str(
        RMGL(2, random_state=0).fit(table).report_
    )


def test_new_rows_get_the_fitted_encoding(tmp_path):
    table = patients()
    model = RMGL(2, random_state=0).fit({"clinic": table})
    np.testing.assert_array_equal(model.predict({"clinic": table}), model.labels_)
    shuffled = table[table.columns[::-1]].drop(columns="hospital").astype({"stage": str})
    np.testing.assert_array_equal(model.predict({"clinic": shuffled}), model.labels_)
    one_row = table.iloc[[30]].astype({"sex": "category"})
    assert model.predict({"clinic": one_row}) == model.labels_[30]
    model.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    assert [view.encoding for view in loaded.fitted_.views] == [
        view.encoding for view in model.fitted_.views
    ]
    np.testing.assert_array_equal(
        loaded.predict_proba({"clinic": shuffled}), model.predict_proba({"clinic": shuffled})
    )


def test_an_unseen_category_differs_from_all_by_one():
    table = pd.DataFrame(
        {"x": np.linspace(0, 1, 12), "a": ["p", "q", "r"] * 4, "b": ["s", "t"] * 6}
    )
    views = Views.of({"t": table})
    scaled = views.scaled("minmax")[0]
    new = pd.DataFrame({"x": [0.0, 0.0, 0.0], "a": ["p", "new", "new"], "b": ["s", "s", "other"]})
    known = scaled.matrix
    there = (
        Views.of({"t": new}, encodings={"t": views[0].encoding})[0]
        .scaled_by(scaled.scaler, check=False)
        .matrix
    )
    categories = np.delete(
        cdist(there, known, "sqeuclidean") - (known[:, 0] - 0.0) ** 2, [], axis=1
    )
    same_b = (table["b"] == "s").to_numpy()
    np.testing.assert_allclose(categories[1], 1.0 + ~same_b, atol=1e-12)
    np.testing.assert_allclose(categories[2], 2.0, atol=1e-12)


def test_other_tables_work_like_pandas():
    table = patients()
    wanted = Views.of({"t": table}).scaled("auto").matrices[0]
    other = table.convert_dtypes(dtype_backend="pyarrow").astype({"stage": table["stage"].dtype})
    for given_table in (table.convert_dtypes(), other, pa.Table.from_pandas(table)):
        np.testing.assert_allclose(
            Views.of({"t": given_table}).scaled("auto").matrices[0], wanted, atol=1e-12
        )
    pieces = Views.of(pa.Table.from_pandas(table), {"a": ["age", "sex"], "b": ["site"]})
    assert pieces.names == ("a", "b")
    assert pieces[1].columns == ("site = Bonn", "site = Jena", "site = Ulm", UNSEEN)


def test_polars():
    pl = pytest.importorskip("polars")
    table = patients().drop(columns="stage")
    table.loc[3, "sex"] = None
    table.loc[5, "age"] = None
    wanted = Views.of({"t": table})
    found = Views.of({"t": pl.DataFrame(table.to_dict("list"))})
    assert [column.kind for column in found[0].encoding.columns] == [
        column.kind for column in wanted[0].encoding.columns
    ]
    np.testing.assert_allclose(found.matrices[0], wanted.matrices[0])
    np.testing.assert_array_equal(found[0].gaps, wanted[0].gaps)
    assert not Views.of({"t": pl.DataFrame({"x": [1, 2, None, 4], "y": [1.0, 2.0, 3.0, 4.0]})})[
        0
    ].encoding


def test_types_of_pandas_become_the_same_numbers():
    X = np.arange(24.0).reshape(8, 3)
    nullable = pd.DataFrame(X).astype("Int64")
    views = Views.of({"t": nullable})
    assert views[0].encoding is None
    np.testing.assert_array_equal(views.matrices[0], X)
    thin = pd.DataFrame(np.eye(8)).astype(pd.SparseDtype(float, 0.0))
    assert sparse.issparse(Views.of({"t": thin}).matrices[0])
    mixed = thin.assign(sex=["F", "M"] * 4).rename(columns=str)
    np.testing.assert_array_equal(Views.of({"t": mixed}).matrices[0][:, :8], np.eye(8))


def test_dates_in_any_form_are_the_same_days():
    stamps = pd.date_range("2023-11-01", periods=10, freq="5D")
    forms = {
        "stamps": stamps,
        "zone": stamps.tz_localize("UTC").tz_convert("Asia/Tokyo"),
        "dates": [stamp.date() for stamp in stamps],
        "text": stamps.strftime("%Y-%m-%d"),
        "slashes": stamps.strftime("%Y/%m/%d"),
        "german": stamps.strftime("%d.%m.%Y"),
        "period": stamps.to_period("D"),
    }
    table = pd.DataFrame(forms)
    encoding = fit_encoding(table)
    assert {column.kind for column in encoding.columns} == {"date"}
    np.testing.assert_array_equal(
        encoding(table),
        np.repeat((stamps - pd.Timestamp(0)).days.to_numpy(float)[:, None], len(forms), axis=1),
    )
    waits = pd.DataFrame(
        {
            "wait": pd.to_timedelta([12, 24, 48], "h"),
            "code": ["1", "2.5", "7"],
            "who": ["a", "b", "a"],
        }
    )
    encoding = fit_encoding(waits)
    assert [column.kind for column in encoding.columns] == ["duration", "number", "category"]
    np.testing.assert_array_equal(encoding(waits)[:, :2], [[0.5, 1], [1, 2.5], [2, 7]])


def rows(**columns):
    return {"t": pd.DataFrame(columns)}


NAMES = [f"patient {i}" for i in range(20)]
X = np.arange(20.0)
REFUSED = {
    "ids": (
        rows(x=X, who=NAMES),
        {},
        r"view 't': column 'who' has 20 distinct values in 20 rows.*set_index\('who'\); --id who",
    ),
    "ids as category": (
        rows(x=X, who=pd.Categorical(NAMES)),
        {},
        r"column 'who' has 20 distinct values in 20 rows",
    ),
    "nothing left": (
        rows(a=["x"] * 20, b=[None] * 20),
        {},
        r"no columns remain \(a \(constant: 'x' in all rows\), b \(no row has a value\)\)",
    ),
    "objects": (rows(x=X, o=[[1], {2}] * 10), {}, r"column 'o' has values of type list, set"),
    "unit": (
        rows(x=X, s=["F", "M"] * 10),
        {"scale": "unit"},
        r"view 't' has categories, which cannot be scaled by 'unit': use one of 'auto'",
    ),
    "infinity": (
        rows(x=np.where(X == 3, np.inf, X), s=["F", "M"] * 10),
        {},
        r"column 'x' contains infinity in row 3",
    ),
    "name twice": (
        {"t": pd.DataFrame([[1.0, "a"], [2.0, "b"]] * 5, columns=["p", "p"])},
        {},
        r"column 'p' occurs more than once",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_tables(name):
    data, parameters, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        RMGL(2, **parameters).fit(data)


NEW = {
    "an array": (
        np.ones((2, 2)),
        r"view 't' was fitted on a table with the columns x, s: pass a table",
    ),
    "fewer columns": (
        pd.DataFrame({"x": X}),
        r"view 't': column 's' of the fitted view is missing",
    ),
    "more columns": (
        pd.DataFrame({"x": X, "s": "F", "z": 1}),
        r"view 't': column 'z' is not in the fitted view",
    ),
    "text for a number": (
        pd.DataFrame({"x": ["1", "two"], "s": "F"}),
        r"column 'x' was read as a number, but row 1 has 'two'",
    ),
}


@pytest.mark.parametrize("name", NEW)
def test_refused_new_rows(name):
    data, message = NEW[name]
    encoding = Views.of(rows(x=X, s=["F", "M"] * 10))[0].encoding
    with pytest.raises(ValueError, match=message):
        Views.of({"t": data}, encodings={"t": encoding}, least=0)


def test_text_in_new_rows_of_numbers_is_refused():
    model = RMGL(2, random_state=0).fit({"t": pd.DataFrame({"x": X})})
    with pytest.raises(ValueError, match=r"view 't': .*columns that are not numeric: \['x'\]"):
        model.predict({"t": pd.DataFrame({"x": ["F", "M"]})})


COLUMNS = {
    "number": st.floats(-1e6, 1e6),
    "truth": st.booleans(),
    "text": st.sampled_from(["red", "green", "blue", "1", ""]),
    "date": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    "rank": st.sampled_from(STAGES),
}


@st.composite
def tables(draw):
    n = draw(st.integers(20, 30))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    columns = {}
    for at, kind in enumerate(kinds):
        values = draw(st.lists(st.none() | COLUMNS[kind], min_size=n, max_size=n))
        columns[f"{kind} {at}"] = (
            pd.Categorical(values, STAGES, ordered=True) if kind == "rank" else values
        )
    return pd.DataFrame(columns)


@settings(max_examples=30)
@given(tables())
def test_any_mixed_table_becomes_numbers_that_each_add_at_most_one(table):
    try:
        views = Views.of({"t": table}, least=0)
    except ValueError as error:
        refusals = ("no columns remain", "missing from every view", "looks like row ids")
        assert any(words in str(error) for words in refusals)  # noqa: PT017
        return
    encoding = views[0].encoding
    if encoding is None:
        return
    X = np.where(
        np.isnan(scaled := views[0].scaled("minmax").scaler(views[0].measured())), 0.0, scaled
    )
    assert len(encoding.features) == X.shape[1] == len(views[0].columns)
    assert cdist(X, X, "sqeuclidean").max() <= table.shape[1] + 1e-9
    again = Views.of({"t": table}, least=0, encodings={"t": encoding})
    np.testing.assert_array_equal(again.matrices[0], views.matrices[0])
