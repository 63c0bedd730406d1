"""What else differs between the clusters: rows are matched by id, kinds of columns get their tests,
and columns that were used in the fit or cannot be compared are named.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from rmgl import RMGL
from rmgl.results.group_tests import compare_categories, compare_numbers
from rmgl.results.outcomes import MOST_LEVELS
from rmgl.results.used_columns import bits_of_order
from tests.conftest import planted_views

N = 90


@pytest.fixture(scope="module")
def views():
    """Two tables of 90 patients in three blocks, one with categories."""
    arrays, target = planted_views()
    ids = [f"p{row}" for row in range(N)]
    first = pd.DataFrame(arrays["view 0"], columns=["g0", "g1", "g2"], index=ids)
    second = pd.DataFrame(arrays["view 1"], columns=[f"m{at}" for at in range(5)], index=ids)
    second["site"] = np.array(["north", "south"])[(target + np.arange(N)) % 2]
    second["country"] = "one"
    return {"genes": first, "clinic": second}


@pytest.fixture(scope="module")
def model(views):
    return RMGL(3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def table(model):
    """Columns of all kinds that had no part in the fit."""
    rng, labels = np.random.default_rng(5), model.labels_
    days = pd.to_timedelta(rng.integers(0, 900, N), unit="D")
    stages = ["I", "II", "III"]
    return pd.DataFrame(
        {
            "age": 50 + 6 * labels + 8 * rng.normal(size=N),
            "sex": rng.choice(["F", "M"], N),
            "stage": pd.Categorical(
                np.array(stages)[np.clip(labels + rng.integers(-1, 2, N), 0, 2)],
                categories=stages,
                ordered=True,
            ),
            "smoker": rng.random(N) < 0.2 + 0.3 * labels,
            "seen": pd.Timestamp("2020-01-01") + days,
            "stay": days,
            "months": rng.exponential(24 / (1 + labels)).round(1),
            "died": (rng.random(N) < 0.7).astype(int),
        },
        index=model.index_,
    )


SURVIVAL = {"time": "months", "event": "died"}


def test_every_kind_of_column_has_its_test(model, table):
    found = model.associate(table, **SURVIVAL)
    labels = model.labels_
    kinds = {row.column: (row.kind, row.test) for row in found}
    assert kinds == {
        "age": ("number", "Kruskal-Wallis"),
        "sex": ("category", "chi-squared"),
        "stage": ("ordered category", "Kruskal-Wallis"),
        "smoker": ("Boolean", "chi-squared"),
        "seen": ("date", "Kruskal-Wallis"),
        "stay": ("duration", "Kruskal-Wallis"),
        "survival (months, died)": ("survival", "log-rank"),
    }
    for name, numbers in (
        ("age", table["age"]),
        ("stage", table["stage"].cat.codes),
        ("seen", table["seen"].astype("int64")),
        ("stay", table["stay"].astype("int64")),
    ):
        wanted = stats.kruskal(*(numbers[labels == k] for k in range(3)))
        row = found[name]
        assert (row.statistic, row.p_value) == pytest.approx((wanted.statistic, wanted.pvalue))
        assert row.effect_size == pytest.approx(wanted.statistic / (N - 1))
    for name in ("sex", "smoker"):
        counts = pd.crosstab(labels, table[name].to_numpy())
        wanted = stats.chi2_contingency(counts, correction=False)
        assert found[name].statistic == pytest.approx(wanted.statistic)
        assert found[name].p_value == pytest.approx(wanted.pvalue)
    assert all(row.n == (30, 30, 30) and row.n_missing == 0 for row in found)
    p = np.array([row.p_value for row in found])
    assert (np.diff(p) >= 0).all()
    np.testing.assert_allclose(
        [row.q_value for row in found], stats.false_discovery_control(p), rtol=1e-12
    )


def test_values_are_told_in_words(model, table):
    found, first = model.associate(table, **SURVIVAL), model.labels_ == 0
    low, median, high = np.quantile(table["age"][first], [0.25, 0.5, 0.75])
    assert found["age"].values[0] == f"{median:.4g} ({low:.4g} to {high:.4g})"
    assert found["smoker"].values[0] == f"{table['smoker'][first].mean():.0%} True"
    assert set(found["stage"].values[0].replace("(", "").replace(")", "").split(" to ")) <= {
        "I I",
        "I",
        "II",
        "III",
    }
    middle = table["seen"][first].quantile(0.5)
    assert found["seen"].values[0].startswith(str(middle.date()))
    assert "days" in found["stay"].values[0]
    assert found["survival (months, died)"].values[0].startswith("median ")
    shares = table["sex"][first].value_counts(normalize=True)
    assert f"F {shares['F']:.0%}" in found["sex"].values[0]


def test_rows_are_matched_by_id(model, table):
    wanted = model.associate(table, **SURVIVAL)
    shuffled = table.sample(frac=1, random_state=0)
    assert str(model.associate(shuffled, **SURVIVAL)) == str(wanted)
    strangers = table.iloc[:4].rename(index=lambda name: f"q{name}")
    found = model.associate(pd.concat([shuffled, strangers]), **SURVIVAL)
    assert (found.n_absent, found.n_unknown) == (0, 4)
    assert found["age"].p_value == wanted["age"].p_value
    assert "4 rows in the table are not in the fit" in str(found)
    some = model.associate(shuffled.iloc[:-10], **SURVIVAL)
    assert (some.n_absent, some.n_unknown) == (10, 0)
    assert all(row.n_missing == 10 for row in some)
    assert "10 of the 90 entities are missing from the table" in str(some)
    kept = table.index.isin(shuffled.index[:-10])
    alone = compare_numbers(table["age"].to_numpy()[kept], model.labels_[kept])
    assert some["age"].p_value == pytest.approx(alone.p_value)


def test_a_saved_model_gives_the_same(model, table, tmp_path):
    model.save(tmp_path / "model.rmgl")
    loaded = RMGL.load(tmp_path / "model.rmgl")
    assert str(loaded.associate(table, **SURVIVAL)) == str(model.associate(table, **SURVIVAL))
    with pytest.raises(ValueError, match="column 'g0' was used in the fit"):
        loaded.associate(table.assign(g0=1))


def test_other_tables_and_dicts_are_taken(planted_model, table):
    plain = table.drop(columns=["stage", "stay"]).reset_index(drop=True)
    wanted = str(planted_model.associate(plain, **SURVIVAL))
    assert str(planted_model.associate(plain.to_dict("list"), **SURVIVAL)) == wanted
    polars = pytest.importorskip("polars")
    assert str(planted_model.associate(polars.from_pandas(plain), **SURVIVAL)) == wanted


def test_without_ids_rows_are_taken_in_order(planted_model, table):
    plain = table.reset_index(drop=True)
    wanted = planted_model.associate(plain)["age"].p_value
    assert planted_model.associate(table)["age"].p_value == wanted  # its labels mean nothing here
    with pytest.raises(ValueError, match="has 89 rows, but the model has 90 entities"):
        planted_model.associate(plain.iloc[:-1])
    with pytest.raises(ValueError, match="are not in order"):
        planted_model.associate(plain.sample(frac=1, random_state=0))


def test_missing_values_and_empty_clusters_are_told(model, table):
    labels = model.labels_
    changed = table[["age", "sex"]].assign(
        gappy=table["age"].where(np.arange(N) % 3 > 0) ** 2,
        absent=np.where(labels == 1, np.nan, table["age"] ** 3),
        alone=np.where(labels == 2, table["age"] ** 3, np.nan),
        nowhere=np.nan,
        constant="yes",
        free=[f"note {row}" for row in range(N)],
        odd=[[row] for row in range(N)],
    )
    found = model.associate(changed)
    for row in found:
        assert (row.p_value == row.p_value) == bool(row.test)
        assert row.test or row.note, "a row without a test says why"
        assert sum(row.n) + row.n_missing == N
    assert found["gappy"].n_missing == 30
    assert found["absent"].note == "no value in cluster 1, not included in the test"
    assert (found["absent"].df, found["absent"].values[1]) == (1, "no value")
    assert found["alone"].note == "not compared: only cluster 2 has values"
    assert found["nowhere"].note == "no row has a value"
    assert found["constant"].note == "constant: 'yes' in all rows"
    assert "90 different strings" in found["free"].note
    assert "values of type list" in found["odd"].note
    assert {row.column for row in found.rows[-5:]} == {
        "alone",
        "nowhere",
        "constant",
        "free",
        "odd",
    }


def test_one_column_does_not_change_the_p_value_of_another(model, table):
    rare = table.assign(rare=np.random.default_rng(1).choice(list("abcdefghijkl"), N))
    together = model.associate(rare)
    assert together["rare"].test == "chi-squared by permutation"
    assert model.associate(rare[["rare"]])["rare"].p_value == together["rare"].p_value
    other = model.associate(rare[["rare"]], random_state=1)["rare"]
    assert other.p_value != together["rare"].p_value
    assert other.statistic == together["rare"].statistic


def test_pairs_are_the_same_tests_of_two_clusters(model, table):
    assert model.associate(table).pairs == ()
    found = model.associate(table[["age", "sex", "months", "died"]], pairwise=True, **SURVIVAL)
    pairs = found.pairs_frame()
    assert len(pairs) == 3 * 3
    for pair in found.pairs:
        own = np.isin(model.labels_, [pair.first, pair.second])
        if pair.column == "age":
            wanted = compare_numbers(table["age"].to_numpy()[own], model.labels_[own])
            u = stats.mannwhitneyu(
                table["age"][model.labels_ == pair.first],
                table["age"][model.labels_ == pair.second],
                use_continuity=False,
                method="asymptotic",
            )
            assert pair.p_value == pytest.approx(u.pvalue)
        elif pair.column == "sex":
            codes = (table["sex"] == "M").to_numpy(float)
            wanted = compare_categories(codes[own], model.labels_[own])
        else:
            assert pair.test == "log-rank"
            continue
        assert pair.p_value == wanted.p_value
    np.testing.assert_allclose(
        pairs["q_value"], stats.false_discovery_control(pairs["p_value"]), rtol=1e-12
    )


def test_many_values_of_a_category_are_joined(planted_model):
    names = np.array([f"city {at}" for at in range(70)])
    column = np.append(np.resize(names[:3], 20), names)
    found = planted_model.associate({"city": column})
    assert "look like row ids" in found["city"].note  # 70 different ones among 90
    n, rng = 200, np.random.default_rng(0)
    X = np.repeat([[0.0], [9.0]], n // 2, axis=0) + rng.normal(size=(n, 2))
    column = np.append(np.resize(names[:3], n - 70), names)
    row = RMGL(2, random_state=0).fit([X]).associate({"city": column})["city"]
    assert row.note.startswith(f"{70 - MOST_LEVELS + 1} rare values are merged")
    assert row.df == MOST_LEVELS - 1


def test_the_table_as_text_data_and_html(model, table):
    hostile = "<script>alert(1)</script>" + "x" * 100
    renamed = table.rename(columns={"sex": hostile})
    found = model.associate(renamed, **SURVIVAL)
    frame = found.to_frame()
    assert frame.to_dict("list").keys() == found.as_dict().keys()
    assert frame["n_0"].tolist() == [30] * len(found)
    assert len(found) == 7
    assert max(map(len, str(found).splitlines())) < 320
    assert "cluster entities  events expected" in str(found)
    shown = found._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    with pytest.raises(KeyError, match="no column 'nothing'"):
        found["nothing"]


@pytest.mark.parametrize("column", ["g1", "m3", "site"])
def test_columns_of_the_fit_are_refused_by_name(model, table, column):
    with pytest.raises(ValueError, match=f"column '{column}' was used in the fit") as error:
        model.associate(table.assign(**{column: range(N)}))
    assert "a p-value would be meaningless" in str(error.value)
    assert "rename it" in str(error.value)


def test_a_column_that_the_fit_left_out_is_not_one_that_it_used(model, table):
    assert model.associate(table.assign(country=["a", "b", "c"] * 30))["country"].test


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(lambda views: views["genes"]["g1"], id="itself"),
        pytest.param(lambda views: 3 - 7 * views["genes"]["g1"], id="reversed"),
        pytest.param(lambda views: np.exp(views["clinic"]["m2"]), id="in another unit"),
        pytest.param(lambda views: views["clinic"]["site"], id="category"),
        pytest.param(lambda views: views["clinic"]["site"] == "south", id="Boolean"),
        pytest.param(
            lambda views: views["genes"]["g1"].where(np.arange(N) % 4 > 0), id="with gaps"
        ),
    ],
)
def test_columns_of_the_fit_are_refused_by_content(model, views, table, copy):
    again = table.assign(another=copy(views)).sample(frac=1, random_state=3)
    with pytest.raises(ValueError, match="column 'another' was used in the fit: it orders"):
        model.associate(again)


def test_times_and_events_of_the_fit_are_refused(model, views, table):
    with pytest.raises(ValueError, match="column 'months' was used in the fit"):
        model.associate(
            table.assign(months=views["genes"]["g0"] - views["genes"]["g0"].min()), **SURVIVAL
        )
    with pytest.raises(ValueError, match="column 'died' was used in the fit"):
        model.associate(table.assign(died=views["clinic"]["site"] == "north"), **SURVIVAL)


def test_content_is_compared_in_sparse_views_and_views_with_gaps():
    rng = np.random.default_rng(0)
    target = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + 5 * target[:, None]
    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    counts = sparse.csr_array(rng.poisson(1.5, size=(120, 30)) * (1 + 2 * target[:, None]))
    model = RMGL(2, random_state=0).fit({"holes": holes, "counts": counts})
    for given in (holes[:, 2], counts.toarray()[:, 7].astype(float)):
        with pytest.raises(ValueError, match="was used in the fit: it orders"):
            model.associate({"again": given})
    model.associate(
        {"other": np.where(np.isnan(holes[:, 2]), 0, holes[:, 2] + rng.normal(size=120))}
    )


def test_a_rare_value_may_be_the_same_by_chance():
    """One patient with a mutation and with a side effect: the columns are equal, and not the
    same."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [6.0]], 40, axis=0) + rng.normal(size=(80, 3))
    X = np.hstack([X, np.eye(80)[:, [7]]])
    model = RMGL(2, random_state=0).fit([X])
    assert bits_of_order(np.sort(X[:, 3])) < 20
    assert model.associate({"side effect": np.arange(80) == 7})["side effect"].test


def test_bits_of_order_count_orders():
    from math import comb, factorial

    assert bits_of_order(np.arange(6.0)) == pytest.approx(np.log2(factorial(6)))
    assert bits_of_order(np.repeat([0.0, 1.0], [3, 5])) == pytest.approx(np.log2(comb(8, 3)))
    assert bits_of_order(np.empty(0)) == 0


BAD = {
    "one of two": (lambda t: t, {"time": "months"}, "time= was passed without event="),
    "the other": (lambda t: t, {"event": "died"}, "event= was passed without time="),
    "unknown": (lambda t: t, {"time": "x", "event": "died"}, "time='x' is not a column"),
    "the same": (lambda t: t, {"time": "died", "event": "died"}, "both name 'died'"),
    "negative": (
        lambda t: t.assign(months=t["months"].where(t.index != "p8", -2)),
        SURVIVAL,
        "time='months' is -2 in row 'p8'",
    ),
    "infinite": (
        lambda t: t.assign(months=t["months"].where(t.index != "p8", np.inf)),
        SURVIVAL,
        "time='months' is inf in row 'p8'",
    ),
    "text": (
        lambda t: t.assign(months=t["months"].astype(object).where(t.index != "p8", "long")),
        SURVIVAL,
        "time='months': the value 'long' in row 'p8' is not a number",
    ),
    "date": (lambda t: t, {"time": "seen", "event": "died"}, "has datetime64"),
    "events 1 and 2": (
        lambda t: t.assign(died=t["died"] + 1),
        SURVIVAL,
        "is '2' in row 'p[0-9]*', but an event must be true or false, or 1 or 0",
    ),
    "events of words": (
        lambda t: t.assign(died=np.where(t["died"] > 0, "dead", "alive")),
        SURVIVAL,
        "event='died' is '(dead|alive)'",
    ),
    "ids that do not meet": (
        lambda t: t.rename(index=lambda name: f"patient {name}"),
        {},
        "none of the row ids in the table is in the fit: the table has patient p0",
    ),
    "ids that look alike": (
        lambda t: t.rename(index=lambda name: f"{name} "),
        {},
        "'p0' and 'p0 ' in the fit and the table differ only in spaces",
    ),
    "ids that repeat": (lambda t: pd.concat([t, t]), {}, "the row id 'p0' more than once"),
    "no ids": (lambda t: t.reset_index(drop=True), {}, r"use table.set_index\(...\)"),
    "ids as a column": (
        lambda t: t.rename_axis("patient").reset_index(),
        {},
        r"table.set_index\('patient'\)",
    ),
    "no column": (lambda t: t[[]], {}, "the table has no column"),
    "a column twice": (
        lambda t: t.rename(columns={"age": "sex"}),
        {},
        "more than one column named 'sex'",
    ),
    "infinity": (
        lambda t: t.assign(age=np.inf).assign(age=lambda u: u["age"].where(u.index != "p3", 1.0)),
        {},
        "column 'age' contains infinity",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(model, table, case):
    change, options, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        model.associate(change(table), **options)


def test_what_is_no_table_is_refused(model):
    with pytest.raises(TypeError, match="table is of type ndarray; pass a DataFrame"):
        model.associate(np.ones((N, 2)))


@pytest.mark.parametrize(
    ("change", "n_missing", "reason"),
    [
        (lambda t: t.assign(months=t["months"].where(t.index != "p8")), 1, ""),
        (lambda t: t.assign(died=t["died"].where(t.index != "p8")), 1, ""),
        (lambda t: t.assign(died=0), 0, "not compared: no event occurred"),
        (lambda t: t.assign(months=4.0, died=1), 0, "not compared: only one cluster is at risk"),
        (lambda t: t.assign(months=np.nan), 90, "not compared: no entity has a value"),
    ],
)
def test_survival_that_is_missing_or_cannot_be_compared_says_so(
    model, table, change, n_missing, reason
):
    found = model.associate(change(table), **SURVIVAL)
    row = found["survival (months, died)"]
    assert row.n_missing == n_missing
    assert row.note.startswith(reason)
    assert bool(row.test) != bool(reason)
    assert found.survival is not None
    assert sum(curve.n for curve in found.survival.curves) == N - n_missing


@pytest.mark.parametrize(
    "died",
    [
        lambda d: d > 0,
        lambda d: d.astype(float),
        lambda d: d.map({0: "False", 1: "TRUE"}),
        lambda d: d.astype("boolean"),
        lambda d: d.astype(str),
    ],
)
def test_events_may_be_written_in_several_ways(model, table, died):
    wanted = model.associate(table, **SURVIVAL)["survival (months, died)"]
    found = model.associate(table.assign(died=died(table["died"])), **SURVIVAL)
    assert repr(found["survival (months, died)"]) == repr(wanted)


def test_durations_are_times_in_days(model, table):
    found = model.associate(table, time="stay", event="died")
    days = model.associate(table.assign(stay=table["stay"].dt.days), time="stay", event="died")
    assert str(found.survival) == str(days.survival)


def odd_column(rng, n):
    """A column of any kind, with few or many values, some or nearly all of them missing."""
    codes = rng.integers(0, rng.choice([1, 2, 3, 8, 60]), n)
    values = pd.Series(
        {
            0: codes.astype(float) * 10.0 ** rng.integers(-300, 300),
            1: np.array([f"value {code}" for code in codes], dtype=object),
            2: codes % 2 == 0,
            3: pd.Timestamp("1900-01-01") + pd.to_timedelta(codes * 97, unit="D"),
            4: pd.Categorical.from_codes(codes, np.arange(60), ordered=True),
            5: rng.exponential(size=n) ** 9,
        }[int(rng.integers(6))]
    )
    missing = rng.random(n) < rng.choice([0.0, 0.3, 0.95, 1.0])
    return values.astype(object).where(~missing) if values.dtype == bool else values.where(~missing)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("error")
def test_any_column_has_numbers_in_range_or_a_reason(planted_model, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"column {at}": odd_column(rng, N) for at in range(6)})
    table["time"] = np.where(rng.random(N) < 0.2, np.nan, rng.integers(0, 5, N))
    table["event"] = rng.choice([0, 1, np.nan], N, p=[0.5, 0.4, 0.1])
    found = planted_model.associate(table, time="time", event="event", pairwise=True)
    assert len(found) == 7
    for row in (*found, *found.pairs):
        if row.test:
            assert 0 <= row.p_value <= row.q_value <= 1
            assert row.statistic >= -1e-9
            assert not row.effect or 0 <= row.effect_size <= 1
        else:
            assert row.note
    for row in found:
        assert sum(row.n) + row.n_missing == N
        assert all(
            bool(value == "no value") == (n == 0)
            for value, n in zip(row.values, row.n, strict=True)
        )
    assert str(found)
    assert found._repr_html_()
