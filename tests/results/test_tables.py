"""Clusters that are a table of categories."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL, Policy, Precomputed
from rmgl.results.tables import CELL_MEMBERS, FEW, cross_table, rest_has_clusters
from rmgl.views.views import Views
from tests.conftest import planted_views


@pytest.fixture
def columns(rng):
    return rng.integers(2, size=(3, 300)) + np.array([[0], [0], [5]])


def noise(rng, n_columns=6):
    return rng.normal(size=(300, n_columns))


def said(views, labels):
    table = cross_table(views, labels)
    return table and str(table), table and rest_has_clusters(views, table, labels)


def test_one_two_and_three_columns_are_found_among_others(columns, rng):
    er, grade, sex = columns
    views = Views.of(
        {"clinical": np.column_stack([noise(rng, 2), sex, er, grade]), "genes": noise(rng)}
    )
    names = [f"column {at} of view 'clinical'" for at in (2, 3, 4)]
    assert said(views, er) == (names[1], False)
    assert said(views, 2 * er + grade) == (" x ".join(names[1:]), False)
    assert said(views, 4 * er + 2 * grade + sex - 5) == (" x ".join(names), False)
    # clusters may be several cells
    assert said(views, np.minimum(2 * er + grade, 2)) == (" x ".join(names[1:]), False)
    assert cross_table(views, rng.integers(4, size=300)) is None


def test_columns_may_be_of_different_views(columns, rng):
    er, grade, sex = columns
    views = Views.of(
        {
            "tumor": np.column_stack([er, rng.normal(size=300)]),
            "grade": grade[:, None],
            "sex": sex[:, None],
        }
    )
    expected = "column 0 of view 'tumor' x column 0 of view 'grade' x column 0 of view 'sex'"
    assert said(views, 4 * er + 2 * grade + sex - 5) == (expected, False)


def test_categories_have_their_names_and_whole_rows_are_the_last_resort(columns, rng):
    er, grade, sex = columns
    table = pd.DataFrame(
        {
            "age": rng.normal(size=300),
            "er": np.array(["no", "yes"])[er],
            "grade": np.array(["I", "II"])[grade],
        }
    )
    views = Views.of({"clinical": table, "genes": noise(rng)})
    assert said(views, 2 * er + grade) == (
        "'er' of view 'clinical' x 'grade' of view 'clinical'",
        False,
    )
    bits = np.column_stack([er, grade, sex - 5, rng.integers(2, size=300)])
    names = said(Views.of({"bits": bits, "genes": noise(rng)}), bits @ [8, 4, 2, 1])
    assert names == ("the distinct rows of view 'bits'", False)


def test_missing_cells_and_entities_are_values_of_their_own(columns, rng):
    er, grade, _ = columns
    X = np.column_stack([er, rng.normal(size=300)]).astype(float)
    X[::3, 0] = np.nan
    levels = np.where(np.isnan(X[:, 0]), 2, er)
    assert said(Views.of({"a": X, "b": noise(rng)}), levels)[0] == "column 0 of view 'a'"
    X = grade[:, None].astype(float)
    X[::4] = np.nan
    levels = np.where(np.isnan(X[:, 0]), 2, grade)
    assert said(Views.of({"a": X, "b": noise(rng)}), levels)[0] == "column 0 of view 'a'"


def test_a_few_different_rows_are_no_table_by_themselves(rng):
    """Up to three rows for each cluster were, whatever they were: all of them share a cluster with
    their copies, as there are none.
    """
    X = rng.normal(size=(FEW * 8, 2))
    assert cross_table(Views.of({"a": X}), np.arange(FEW * 8) % 8) is None
    copies = np.repeat(X[:16], [CELL_MEMBERS - 1] * 16, axis=0)
    assert (
        cross_table(Views.of({"a": copies}), np.repeat(np.arange(16), CELL_MEMBERS - 1) % 8) is None
    )


def test_nearly_all_in_one_cluster_is_no_table(columns, rng):
    labels = np.zeros(300, dtype=int)
    labels[:3] = 1
    assert cross_table(Views.of({"a": columns.T.astype(float), "b": noise(rng)}), labels) is None
    assert cross_table(Views.of({"a": columns.T.astype(float)}), np.zeros(300, dtype=int)) is None


def test_the_rest_may_have_the_clusters_without_the_table(columns, rng):
    er, grade, _ = columns
    labels, centers = 2 * er + grade, rng.normal(scale=20, size=(4, 5))
    clear = centers[labels] + rng.normal(size=(300, 5))
    one_view = Views.of({"a": np.column_stack([er, grade, clear])})
    assert said(one_view, labels) == ("column 0 of view 'a' x column 1 of view 'a'", True)
    assert said(Views.of({"a": np.column_stack([er, grade]), "b": clear}), labels)[1]
    again = Views.of({"a": np.column_stack([er, grade]), "b": np.column_stack([3 * er, grade])})
    assert not said(again, labels)[1]  # the same categories once more
    bits = np.eye(4)[labels]
    again = Views.of(
        {"a": np.column_stack([er, grade]), "b": Precomputed(cdist(bits, bits), kind="distance")}
    )
    assert not said(again, labels)[1]  # by their distances
    again = Views.of({"a": np.column_stack([er, grade]), "b": bits}).with_metrics(
        {"a": "euclidean", "b": "jaccard"}
    )
    assert not said(again, labels)[1]


def test_columns_of_one_category_are_one_column(columns, rng):
    """The columns that a table did not take said the same once more, and were taken for the rest of
    the data.
    """
    er, grade, _ = columns
    level, bits = rng.integers(4, size=300), rng.integers(2, size=(300, 4))
    coded = np.column_stack(
        [bits[:, :2], np.eye(2)[er], np.eye(4)[level], bits[:, 2:], grade]
    ).astype(float)
    views = Views.of({"a": coded, "b": noise(rng)})
    assert said(views, er) == ("column 2 to column 3 of view 'a'", False)
    assert said(views, np.minimum(level, 1)) == ("column 4 to column 7 of view 'a'", False)
    expected = (
        "column 2 to column 3 of view 'a' x column 4 to column 7 of view 'a' x column 10 of view "
        "'a'"
    )
    assert said(views, 8 * grade + 4 * er + level) == (expected, False)
    named = Views.of({"a": pd.DataFrame(coded, columns=list("uvnyjklmwxg")), "b": noise(rng)})
    assert said(named, er) == ("'n' to 'y' of view 'a'", False)
    clear = np.column_stack(
        [coded, rng.normal(scale=20, size=(2, 5))[er] + rng.normal(size=(300, 5))]
    )
    assert said(Views.of({"a": clear}), er)[1]


@pytest.mark.parametrize("asked", [80, 5000])
def test_columns_with_hamming_distances_are_those_of_the_caller(asked, columns, rng, monkeypatch):
    """They have a column of numbers for each value, of which a table took some."""
    monkeypatch.setattr("rmgl.results.own_neighbors.MOST_ASKED", asked)
    er, grade, _ = columns
    X = np.column_stack([rng.integers(4, size=(300, 2)), er, 3 * grade, rng.normal(size=(300, 1))])
    views = Views.of({"a": pd.DataFrame(X, columns=list("abcde")), "b": noise(rng)}).scaled(
        {"a": "hamming", "b": "none"}
    )
    assert said(views, er) == ("'c' of view 'a'", False)
    assert said(views, 2 * er + grade) == ("'c' of view 'a' x 'd' of view 'a'", False)
    observed = np.arange(300) % 5 > 0
    incomplete = Views.of({"a": X, "b": noise(rng)}, observed={"a": observed}).scaled(
        {"a": "hamming", "b": "none"}
    )
    assert said(incomplete, np.where(observed, er, 2)) == ("column 2 of view 'a'", False)


def test_rows_with_jaccard_distances_have_columns(columns, rng):
    er, grade, _ = columns
    labels, bits = (
        2 * er + grade,
        np.column_stack([columns.T - [0, 0, 5], np.ones(300), rng.integers(2, size=(300, 2))]),
    )
    metrics = {"a": "jaccard", "b": "euclidean"}
    views = Views.of({"a": bits, "b": noise(rng)}).with_metrics(metrics)
    assert said(views, labels) == ("column 0 of view 'a' x column 1 of view 'a'", False)
    clear = rng.random((300, 60)) < np.where(rng.integers(2, size=(4, 60)), 0.9, 0.1)[labels]
    views = Views.of({"a": np.hstack([bits, clear]), "b": noise(rng)}).with_metrics(metrics)
    assert said(views, labels) == ("column 0 of view 'a' x column 1 of view 'a'", True)
    incomplete = Views.of(
        {"a": bits, "b": noise(rng)}, observed={"a": np.arange(300) % 5 > 0}
    ).with_metrics(metrics)
    assert said(incomplete, np.where(np.arange(300) % 5, er, 2))[0] == "column 0 of view 'a'"


def test_the_order_of_the_rows_does_not_matter(columns, rng, monkeypatch):
    monkeypatch.setattr("rmgl.results.own_neighbors.MOST_ASKED", 80)
    er, grade, sex = columns
    data, labels = (
        {"a": np.column_stack([er, grade, sex]).astype(float), "b": noise(rng)},
        2 * er + grade,
    )
    order = rng.permutation(300)
    assert said(Views.of(data), labels) == said(
        Views.of({name: X[order] for name, X in data.items()}), labels[order]
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_clusters_that_are_a_table_of_categories_are_not_trusted(seed):
    """With equal weights they were called good where a few entities are in other cells; the first
    three are exact tables.
    """
    generator = np.random.default_rng(seed)
    status, grade = generator.integers(2, size=300), generator.integers(3, size=300)
    generator.integers(2, size=300)
    views = {
        "clinical": np.column_stack([status, grade]).astype(float),
        "genes": generator.normal(size=(300, 20)),
    }
    model = RMGL(6, policy=Policy(weighing="equal"), random_state=0).fit(views)
    assert model.report_.trust.word == "poor"
    reason = (
        "the clusters are the cross-tabulation of column 0 of view 'clinical' x column 1 of view "
        "'clinical', and add nothing to it"
    )
    assert model.report_.trust.reasons[0] == reason


@pytest.mark.parametrize("seed", [0, 1])
def test_tables_of_categories_with_jaccard_distances_are_not_trusted(seed):
    """They were called good."""
    generator = np.random.default_rng(seed)
    status, grade = generator.integers(2, size=300), generator.integers(3, size=300)
    views = {
        "a": np.hstack([np.eye(2)[status], np.eye(3)[grade]]),
        "b": generator.normal(size=(300, 20)),
    }
    metrics = {"a": "jaccard", "b": "euclidean"}
    model = RMGL(6, metric=metrics, policy=Policy(weighing="equal"), random_state=0).fit(views)
    assert adjusted_rand_score(3 * status + grade, model.labels_) == 1.0
    table = "column 0 to column 1 of view 'a' x column 2 to column 4 of view 'a'"
    said = str(model.report_.trust)
    assert said.startswith(
        f"poor. The clusters are the cross-tabulation of {table}, and add nothing to it"
    )


@pytest.mark.parametrize("metric", ["euclidean", "hamming"])
@pytest.mark.parametrize("n_levels", [2, 3])
def test_a_category_beside_bits_is_not_trusted(metric, n_levels):
    """It was called good, but for three levels and Euclidean distances: two of them were taken by
    the table, and the third was left.
    """
    generator = np.random.default_rng(0)
    level, bits = generator.integers(n_levels, size=300), generator.integers(2, size=(300, 2))
    model = RMGL(n_levels, metric=metric, random_state=0).fit(
        np.hstack([np.eye(n_levels)[level], bits])
    )
    assert adjusted_rand_score(level, model.labels_) == 1.0
    reason = (
        f"The clusters are the cross-tabulation of column 0 to column {n_levels - 1} of view "
        "'view_0', and add nothing to it"
    )
    assert str(model.report_.trust).startswith(f"poor. {reason}")


def test_two_views_of_one_category_each_are_not_trusted(columns):
    er, grade, _ = columns
    report = (
        RMGL(4, random_state=0)
        .fit({"er": er[:, None].astype(float), "grade": grade[:, None].astype(float)})
        .report_
    )
    assert report.trust.word == "poor"
    assert "the cross-tabulation of column 0 of view 'er' x column 0 of view 'grade'" in str(
        report.trust
    )


def test_clusters_that_other_views_have_are_trusted():
    views, target = planted_views(sizes=(60, 60, 60), distance=8.0)
    plain = RMGL(3, random_state=0).fit(views).report_.trust
    views["named"] = np.column_stack([target, np.random.default_rng(0).normal(size=180)])
    model = RMGL(3, random_state=0).fit(views)
    assert str(cross_table(model.fitted_.views, model.labels_)) == "column 0 of view 'named'"
    assert plain.word == "good"
    assert "cross-tabulation" not in str(model.report_.trust)


def test_tables_of_many_clusters_take_little_memory(rng):
    """Three columns of 180 values each have nearly six million cells, and had a count for each of
    60 clusters: 2.8 GB.
    """
    views, labels = (
        Views.of({"a": rng.integers(180, size=(600, 3)).astype(float)}),
        np.arange(600) % 60,
    )
    tracemalloc.start()
    try:
        assert cross_table(views, labels) is None
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_few_different_rows_are_not_called_a_table(rng):
    report = (
        RMGL(10, random_state=0)
        .fit({"a": rng.normal(size=(25, 3)), "b": rng.normal(size=(25, 3))})
        .report_
    )
    assert "cross-tabulation" not in str(report.trust)
