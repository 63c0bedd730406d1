"""What the page says about features: dates, shares, the sides of binary columns, and the values
that points are colored by.
"""

import re
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.page import features as features_module
from rmgl.page.columns import check_columns
from rmgl.page.content import features_of
from rmgl.page.features import MISSING, STEPS, point_features
from rmgl.page.heading import about_data, contents, page_title
from rmgl.page.page import Given, content_of, page_of
from rmgl.page.sections import distinguishing, tiles
from rmgl.page.words import what_trust_rests_on
from rmgl.results.clusters import Refits
from rmgl.results.findings import Finding
from rmgl.results.trust import Trust
from tests.page.conftest import HOSTILE
from tests.page.test_page import data_of


@pytest.fixture(scope="module")
def patients():
    """Two groups in a table of many kinds; its first cell of weight is missing."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 30)
    table = pd.DataFrame(
        {
            "weight": rng.normal(70 + 20 * group, 3),
            "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(200 * group, "D"),
            "smoker": np.where(rng.random(60) < 0.1 + 0.8 * group, "yes", "no"),
            "city": np.array(["Lima", "Oslo", "Rome"])[rng.integers(0, 3, 60)],
            "insured": rng.random(60) < 0.9 - 0.8 * group,
        },
        index=[f"p{row}" for row in range(60)],
    )
    table.loc["p0", "weight"] = np.nan
    return RMGL(2, random_state=0).fit({"clinic": table}), table


@pytest.fixture(scope="module")
def content(patients):
    model, table = patients
    views = model._views_again({"clinic": table}, None)
    return content_of(model.fitted_, model.report_, Given(views=views, name="first <cohort>"))


def test_dates_and_shares_are_marked_and_binary_columns_have_one_side(content):
    for cluster in range(2):
        rows = {row["feature"]: row for row in features_of(content, cluster)}
        smoker = [name for name in rows if name.startswith("smoker")]
        assert len(smoker) == 1
        assert rows[smoker[0]]["effect"] > 0
        assert rows[smoker[0]]["kind"] == rows["insured"]["kind"] == "share"
        assert rows["visit"]["kind"] == "date"
        assert rows["weight"]["kind"] == "number"


@pytest.mark.parametrize(
    ("kind", "more", "less"),
    [
        ("number", "higher", "lower"),
        ("share", "more often", "less often"),
        ("date", "later", "earlier"),
    ],
)
def test_what_stands_out_is_said_in_words_that_suit_its_kind(content, kind, more, less):
    table = content.explanation
    drawn = [{**found, "kind": kind} for found in content.distributions]
    for cluster in range(2):
        first = table.of_cluster(cluster)
        words = more if first.effect_size[0] > 0 else less
        found = distinguishing(replace(content, distributions=drawn), cluster)
        assert found == f"{words} {first.feature[0]}"


def test_scaled_features_are_plain_numbers(patients):
    model, _ = patients
    kept = content_of(model.fitted_, model.report_, Given())
    assert {row["kind"] for row in features_of(kept, 0)} == {"number"}


def test_points_hold_the_values_of_all_features(content, patients):
    _, table = patients
    facts, arrays = data_of(page_of(content))
    names = [feature["name"] for feature in facts["features"]]
    assert names == [
        *("weight", "visit", "smoker = no", "city = Lima", "city = Oslo", "city = Rome"),
        "insured",
    ]
    assert facts["n_features"] == len(names)
    weight = facts["features"][0]
    assert arrays["feature_0"][0] == MISSING
    step = (weight["high"] - weight["low"]) / STEPS
    np.testing.assert_allclose(
        weight["low"] + step * arrays["feature_0"][1:], table["weight"].to_numpy()[1:], atol=step
    )
    assert facts["features"][1]["kind"] == "date"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_where_features_are_many_those_of_the_largest_effects_stay(monkeypatch, form):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    first = rng.normal(size=(40, 6)) + np.outer(group, [0, 5, 0, 0, 9, 0])
    second = rng.normal(size=(40, 3)) + np.outer(group, [0.5, 3, 0])
    views = {"first": form(first), "second": second}
    model = RMGL(2, random_state=0).fit(views)
    checked, table = model._views_again(views, None), model.explain(views)
    monkeypatch.setattr(features_module, "MOST_VALUES", 3 * 40)
    found, count = point_features(table, checked, np.arange(40), own_units=True)
    assert count == 9
    assert [(feature.view, feature.name) for feature in found] == [
        ("first", "column 1"),
        ("first", "column 4"),
        ("second", "column 1"),
    ]


def test_columns_of_dates_are_dates():
    days = pd.Series(pd.to_datetime(["1970-01-02", None, "2024-02-29"]))
    plain = [date(1970, 1, 2), None, date(2024, 2, 29)]
    for given in (days, days.dt.tz_localize("UTC"), np.array(plain, dtype=object)):
        (column,) = check_columns({"seen": given}, 3)
        assert (column.kind, column.categories) == ("date", None)
        np.testing.assert_array_equal(column.values, np.float32([1, np.nan, 19782]))
    (texts,) = check_columns({"empty": np.array([None, None], dtype=object)}, 2)
    assert texts.categories == ["None"]


def test_the_name_the_date_and_the_contents_are_at_the_top(content, patients):
    text = page_of(content)
    head = text[text.index("<body>") : text.index('id="explore"')]
    assert "first &lt;cohort&gt;" in head
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\d">', head)
    assert about_data(content, date(2026, 3, 1)).endswith(
        'datetime="2026-03-01">2026-03-01</time></p>'
    )
    assert "<title>first &lt;cohort&gt;: 2 clusters of 60 entities in 1 view</title>" in text
    assert page_title(content).startswith("first <cohort>: 2 clusters")
    places = re.findall('href="#([a-z]+)"', contents(content))
    assert all(f'id="{place}"' in text for place in places)
    assert "associations" not in places
    model, _ = patients
    found = model.associate(pd.DataFrame({"age": np.arange(60.0)}, index=model.index_))
    more = content_of(model.fitted_, model.report_, Given(associations=found))
    assert "#associations" in contents(more)
    assert "<b>" not in about_data(more, date(2026, 3, 1))


def test_a_name_is_one_line_of_text(patients):
    model, _ = patients
    content = content_of(model.fitted_, model.report_, Given(name=f"a\n b {HOSTILE}"))
    assert content.name.startswith("a b <script>")
    assert "<script>window" not in page_of(content)
    with pytest.raises(TypeError, match="name is of type int; pass the name of the data as text"):
        content_of(model.fitted_, model.report_, Given(name=3))


def test_the_tile_shows_what_the_verdict_rests_on(content):
    report = content.report
    refits = report.refits
    strength = refits.resampled * np.sqrt(refits.separation)
    assert f"strength {strength:.2f} (0: none, 1: complete)" in tiles(content)
    assert f"separation {refits.separation:.2f}" in tiles(content)
    known = Refits(resampled=0.9)
    for kind, refits, words in (
        ("stable, not compared", known, "stability 0.90 (1: identical); separation unknown"),
        ("one cluster", None, "there is only one cluster"),
        ("table", known, "the clusters only repeat a few categorical columns"),
        ("sentence", None, "see the reasons above"),
    ):
        other = SimpleNamespace(trust=Trust("fair", [Finding(kind, "fair")]), refits=refits)
        assert what_trust_rests_on(other) == words
    assert what_trust_rests_on(SimpleNamespace(trust=None)) == "not assessed"
