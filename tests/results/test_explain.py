"""What distinguishes clusters: the fast table equals a slow and obvious one, for dense, sparse and
incomplete views.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.results.explain import Column, compare
from tests.conftest import planted_views


def slow_row(values, inside):
    """Effect size, means and AUC by their definitions."""
    x, y = values[inside], values[~inside]
    squares = ((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()
    effect = (x.mean() - y.mean()) / np.sqrt(squares / (values.size - 2))
    wins = (x[:, None] > y[None, :]).mean() + 0.5 * (x[:, None] == y[None, :]).mean()
    return effect, x.mean(), y.mean(), wins


@pytest.fixture(scope="module")
def with_counts():
    views, _ = planted_views()
    rng = np.random.default_rng(3)
    # zeros, ties, both signs
    counts = rng.poisson(0.4, size=(90, 8)).astype(float) - rng.poisson(0.1, size=(90, 8))
    views["counts"] = counts
    return RMGL(3, random_state=0).fit(views), views


def check_against_slow(table, views, labels, observed=None):
    assert len(table) == sum(X.shape[1] for X in views.values()) * 3
    for row in range(len(table)):
        name, column = table.view[row], table.column[row]
        seen = np.ones(90, dtype=bool) if observed is None else observed[name]
        values = np.asarray(views[name])[seen, column]
        inside = labels[seen] == table.cluster[row]
        found = [
            table.effect_size[row],
            table.mean_inside[row],
            table.mean_outside[row],
            table.auc[row],
        ]
        np.testing.assert_allclose(found, slow_row(values, inside), rtol=1e-9, atol=1e-12)
        assert (table.n_inside[row], table.n_outside[row]) == (inside.sum(), (~inside).sum())


def test_the_table_is_that_of_the_definitions(with_counts):
    model, views = with_counts
    table = model.explain(views)
    check_against_slow(table, views, model.labels_)
    for cluster in range(3):
        assert (np.diff(np.abs(table.of_cluster(cluster).effect_size)) <= 0).all()


def test_sparse_views_give_the_same_numbers(with_counts):
    model, views = with_counts
    check_against_slow(
        model.explain({**views, "counts": sparse.csr_array(views["counts"])}), views, model.labels_
    )
    stored_zero = sparse.csr_array(views["counts"])
    stored_zero.data[:5] = 0.0
    changed = {**views, "counts": stored_zero.toarray()}
    check_against_slow(model.explain({**views, "counts": stored_zero}), changed, model.labels_)


def test_missing_entities_do_not_count(with_counts):
    _, views = with_counts
    observed = np.random.default_rng(0).random((90, 3)) < 0.7
    observed[:, 0] |= ~observed.any(axis=1)
    model = RMGL(3, random_state=0).fit(views, observed=observed)
    by_name = dict(zip(views, observed.T, strict=True))
    check_against_slow(model.explain(views, observed=observed), views, model.labels_, by_name)
    with_nan = {name: np.where(by_name[name][:, None], X, np.nan) for name, X in views.items()}
    check_against_slow(model.explain(with_nan), views, model.labels_, by_name)
    # the model remembers what was missing
    check_against_slow(model.explain(views), views, model.labels_, by_name)


def test_some_views_explain_clusters_also_where_entities_are_in_none_of_them(with_counts):
    _, views = with_counts
    lost = np.arange(90) % 3 == 0
    views = {**views, "counts": np.where(lost[:, None], np.nan, views["counts"])}
    model = RMGL(3, random_state=0).fit(views)
    part = model.explain({"counts": views["counts"]})
    whole = model.explain(views)
    np.testing.assert_array_equal(part.effect_size, whole.effect_size[whole.view == "counts"])
    tables = {
        name: pd.DataFrame(X, index=[f"cell {i}" for i in range(90)]).dropna()
        for name, X in views.items()
    }
    aligned = RMGL(3, align="outer", random_state=0).fit(tables)
    of_tables, of_all = aligned.explain({"counts": tables["counts"]}), aligned.explain(tables)
    np.testing.assert_array_equal(
        of_tables.effect_size, of_all.effect_size[of_all.view == "counts"]
    )
    assert of_tables.n_inside.sum() + of_tables.n_outside.sum() == 3 * 8 * 60
    with pytest.raises(ValueError, match="row 'cell x' of view 'counts' was not in the fit"):
        aligned.explain({"counts": tables["counts"].rename(index={"cell 1": "cell x"})})


def test_saved_models_and_tables(with_counts, tmp_path):
    model, views = with_counts
    model.save(tmp_path / "m.rmgl")
    tables = {
        name: pd.DataFrame(X, columns=[f"{name} {c}" for c in range(X.shape[1])])
        for name, X in views.items()
    }
    table = RMGL.load(tmp_path / "m.rmgl").explain(tables)
    np.testing.assert_array_equal(table.effect_size, model.explain(views).effect_size)
    frame = pd.DataFrame(table.as_dict())
    assert frame["feature"][0] == f"{frame['view'][0]} {frame['column'][0]}"
    part = model.explain(
        {"counts": views["counts"]}, feature_names={"counts": [f"gene {c}" for c in range(8)]}
    )
    assert set(part.view) == {"counts"}
    assert part.feature[0] == f"gene {part.column[0]}"
    assert "gene" in str(part)
    assert len(part.top(2)) == 6
    assert len(table.top(1, by_view=True)) == 9
    best = frame.groupby(["cluster", "view"], sort=False).head(2)
    assert pd.DataFrame(table.top(2, by_view=True).as_dict()).equals(best.reset_index(drop=True))
    assert len(table.top(0)) == 0


def test_columns_that_do_not_vary():
    """No effect where nothing differs, an infinite one where the groups differ and neither varies."""
    clusters, sizes, none = np.array([0, 0, 1, 1, 1]), np.array([2, 3]), np.zeros(2, dtype=int)
    constant = compare(Column(np.full(5, 0.1), clusters, none), sizes)
    assert constant.effect_size.tolist() == [0, 0]
    assert constant.auc.tolist() == [0.5, 0.5]
    apart = compare(Column(np.array([0.3, 0.3, 0.1, 0.1, 0.1]), clusters, none), sizes)
    assert apart.effect_size.tolist() == [np.inf, -np.inf]
    assert apart.auc.tolist() == [1, 0]
    nothing_stored = compare(Column(np.empty(0), np.empty(0, dtype=int), sizes), sizes)
    assert nothing_stored.effect_size.tolist() == [0, 0]
    huge = compare(Column(np.array([1e308, -1e308, 1.0, 2.0, 3.0]), clusters, none), sizes)
    assert np.isfinite(huge.effect_size).all()


def test_a_cluster_without_observed_members_has_no_numbers():
    found = compare(
        Column(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2]), np.zeros(3, dtype=int)),
        np.array([2, 0, 1]),
    )
    assert np.isnan([found.effect_size[1], found.mean_inside[1], found.auc[1]]).all()
    assert np.isfinite(found.effect_size[[0, 2]]).all()
    alone = compare(
        Column(np.array([1.0, 2.0]), np.array([0, 0]), np.zeros(1, dtype=int)), np.array([2])
    )
    assert np.isnan(alone.effect_size).all()


def test_errors_name_the_view_or_the_parameter(with_counts):
    model, views = with_counts
    with pytest.raises(ValueError, match="views have 89 rows, but the model was fitted on 90"):
        model.explain({name: X[:-1] for name, X in views.items()})
    with pytest.raises(
        ValueError, match="view 'counts' has 7 columns, but the model was fitted on 8"
    ):
        model.explain({**views, "counts": views["counts"][:, :7]})
    with pytest.raises(ValueError, match=r"unknown views \['other'\]"):
        model.explain({"other": views["counts"]})
    with pytest.raises(
        ValueError, match="feature_names has 2 names for view 'counts', which has 8 columns"
    ):
        model.explain(views, feature_names={"counts": ["a", "b"]})
    with pytest.raises(ValueError, match=r"feature_names contains unknown views \['x'\]"):
        model.explain(views, feature_names={"x": []})
    with pytest.raises(ValueError, match="feature_names has 1 lists for 3 views"):
        model.explain(views, feature_names=[["a"]])
    with pytest.raises(TypeError, match="feature_names is of type str"):
        model.explain(views, feature_names="abc")
    with pytest.raises(ValueError, match="n=-1 is not a valid number of features"):
        model.explain(views).top(-1)


def test_rows_in_another_order_are_refused():
    views, _ = planted_views()
    tables = {
        name: pd.DataFrame(X, index=[f"cell {i}" for i in range(90)]) for name, X in views.items()
    }
    model = RMGL(3, random_state=0).fit(tables)
    with pytest.raises(ValueError, match="row 0 of the views is labeled 'cell 89', but 'cell 0'"):
        model.explain({name: table.iloc[::-1] for name, table in tables.items()})


def test_only_rows_that_the_fit_did_not_see():
    views, _ = planted_views()
    observed = np.column_stack([np.arange(90) % 2 == 0, np.arange(90) % 2 == 1])
    model = RMGL(3, alpha=1.0, beta=1.0, random_state=0).fit(views, observed=observed)
    with pytest.raises(ValueError, match="none of the views of the fit has observed rows"):
        model.explain(views, observed=~observed)


@pytest.mark.parametrize(("spread", "rounded"), [(1e-9, False), (1e-14, True)])
def test_what_clusters_vary_by_is_rounding_below_a_millionth_of_a_millionth(spread, rounded):
    """Two clusters at 0 and 1, each of two values that differ by `spread`."""
    inside = np.array([True, True, False, False])
    values = np.array([0.0, spread, 1.0, 1.0 + spread])
    found = compare(
        Column(values, (~inside).astype(np.intp), np.zeros(2, dtype=np.intp)), np.array([2, 2])
    )
    expected = -np.inf if rounded else slow_row(values, inside)[0]
    np.testing.assert_allclose(found.effect_size, [expected, -expected], rtol=1e-6)
