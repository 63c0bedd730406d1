"""Features, their order and their values, from slow versions; bars of further columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL, Network, plots
from rmgl.plots import heatmap
from rmgl.plots.heatmap import chosen_features, standardized
from rmgl.results.explain import explain_clusters
from rmgl.views.features import FeatureView
from rmgl.views.views import Views
from tests.conftest import planted_views


def slow_choice(table, view, most):
    """Clusters name features in turn, each that of its largest effect which is not named yet."""
    named = []
    rows = [row for row in range(len(table)) if table.view[row] == view]
    clusters = sorted({table.cluster[row] for row in rows})
    while len(named) < min(most, len({table.column[row] for row in rows})):
        for cluster in clusters:
            own = [
                row
                for row in rows
                if table.cluster[row] == cluster and table.column[row] not in named
            ]
            if own and len(named) < most:
                named.append(table.column[max(own, key=lambda row: abs(table.effect_size[row]))])
    return {int(column) for column in named}


@pytest.mark.parametrize("most", [1, 2, 4, 7, 99])
def test_clusters_name_features_in_turn(rng, most):
    labels = rng.integers(0, 4, 60)
    views = [
        FeatureView(name, rng.normal(size=(60, width))) for name, width in (("a", 6), ("b", 20))
    ]
    names = [[f"f{column}" for column in range(view.matrix.shape[1])] for view in views]
    table = explain_clusters(Views(tuple(views)), labels, 4, names)
    for view in ("a", "b"):
        rows = chosen_features(table, view, most)
        assert {int(column) for column in table.column[rows]} == slow_choice(table, view, most)
        for row in rows:  # the cluster in which the values are largest
            same = (table.view == view) & (table.column == table.column[row])
            assert table.effect_size[row] == table.effect_size[same].max()
        clusters = table.cluster[rows]
        assert (np.diff(clusters) >= 0).all()


def test_values_are_standardized_rows_in_the_order_of_clusters(planted_model, planted):
    views, _ = planted
    found = plots.heatmap_data(planted_model)
    assert found.views == ["view 0"] * 3 + ["view 1"] * 5
    assert sorted(found.entities) == list(range(90))
    np.testing.assert_array_equal(found.clusters, np.sort(planted_model.labels_))
    for name, feature, values in zip(found.views, found.features, found.values, strict=True):
        column = views[name][:, int(feature.removeprefix("column "))]
        expected = (column - column.mean()) / column.std()
        np.testing.assert_allclose(values, expected[found.entities], atol=1e-9)


def test_entities_of_a_cluster_follow_their_first_principal_component(planted_model):
    found = plots.heatmap_data(planted_model)
    for cluster in range(3):
        rows = found.values[:, found.clusters == cluster].T
        centered = rows - rows.mean(axis=0)
        place = centered @ np.linalg.svd(centered)[2][0]
        steps = np.diff(place)
        assert (steps >= -1e-8).all() or (steps <= 1e-8).all()


def test_missing_rows_and_cells_are_nan_and_do_not_count():
    views, _ = planted_views()
    views["view 0"][5] = np.nan
    views["view 1"][7, 2] = np.nan
    model = RMGL(3, random_state=0).fit(views)
    found = plots.heatmap_data(model)
    at = found.entities.tolist().index(5)
    of_first = np.array(found.views) == "view 0"
    assert np.isnan(found.values[of_first, at]).all()
    assert np.isfinite(found.values[~of_first, at]).all()
    row = [*zip(found.views, found.features, strict=True)].index(("view 1", "column 2"))
    column = views["view 1"][:, 2]
    expected = (column - np.nanmean(column)) / np.nanstd(column)
    np.testing.assert_allclose(found.values[row], expected[found.entities], atol=1e-9)
    plots.plot_heatmap(model).figure.canvas.draw()


def test_sparse_and_constant_columns(planted_model):
    dense = np.array([[0.0, 5, 1e9], [2, 5, 1e9], [0, 5, 1e9], [2, 5, 1e9 + 1e-7]])
    (view,) = RMGL(2, alpha=1.0, beta=1.0, scale="none").fit(sparse.csr_array(dense)).fitted_.views
    found = standardized(view, np.array([1, 0, 2]), np.arange(4))
    np.testing.assert_allclose(found[:2], [[0, 0, 0, 0], [-1, 1, -1, 1]])
    assert (found[2] == 0).all()
    assert standardized(view, np.array([], dtype=int), np.arange(4)).shape == (0, 4)


def test_many_entities_are_sampled_and_the_picture_says_so(planted_model, monkeypatch):
    monkeypatch.setattr(heatmap, "MOST_ENTITIES", 89)
    monkeypatch.setattr(heatmap, "SAMPLED", 66)
    found = plots.heatmap_data(planted_model, {"row": np.arange(90)})
    assert np.bincount(found.clusters).tolist() == [22, 22, 22]
    np.testing.assert_array_equal(found.bars[0].values, found.entities)
    ax = plots.plot_heatmap(planted_model)
    assert ax.get_xlabel() == "66 entities (sampled from 90), ordered by cluster"
    monkeypatch.setattr(heatmap, "MOST_ENTITIES", 90)
    assert plots.plot_heatmap(planted_model).get_xlabel() == "90 entities, ordered by cluster"


def test_bars_of_numbers_dates_truth_values_and_categories(planted_model):
    days = pd.date_range("2020-01-01", periods=90)
    columns = pd.DataFrame(
        {
            "age": [np.nan, *range(1, 90)],
            "day": days,
            "sick": np.arange(90) % 2 == 0,
            "stage": [None, *["II"] * 50, *["I"] * 39],
            "id": [f"p{row % 20:02d}" for row in range(89)] + ["p00"],
            "open": [np.inf, *range(89)],
        }
    )
    found = plots.heatmap_data(planted_model, columns)
    bars = {bar.name: bar for bar in found.bars}
    np.testing.assert_array_equal(bars["age"].values, columns["age"].to_numpy()[found.entities])
    assert bars["age"].categories is bars["day"].categories is None
    np.testing.assert_array_equal(np.argsort(bars["day"].values), np.argsort(found.entities))
    assert bars["sick"].categories == ["False", "True"]
    assert bars["stage"].categories == ["I", "II"]
    at = found.entities.tolist()
    assert np.isnan(bars["stage"].values[at.index(0)])
    assert bars["stage"].values[at.index(1)] == 1
    assert bars["id"].categories[-1] == "12 others"
    assert len(bars["id"].categories) == 9
    assert "p00" in bars["id"].categories
    assert np.isnan(bars["open"].values[at.index(0)])
    ax = plots.plot_heatmap(planted_model, columns)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[:7] == ["cluster", *columns]
    assert len(names) == 7 + 8
    assert len(ax.images) == 1 + 6 + 2
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "age: 1 (light) to 89 (black)" in legend
    assert "day: 2020-01-01 (light) to 2020-03-30 (black)" in legend
    assert legend[-1] == "missing"
    assert {"stage:", "I", "II", "sick:", "False", "True"} <= set(legend)
    ax.figure.canvas.draw()


def test_missing_dates_and_lengths_of_time(planted_model):
    days = pd.Series(pd.date_range("2020-01-01", periods=90, tz="UTC"))
    days[3] = pd.NaT
    found = plots.heatmap_data(planted_model, {"day": days, "stay": days - days[0]})
    day, stay = found.bars
    expected = np.where(np.arange(90) == 3, np.nan, np.arange(90.0))[found.entities]
    np.testing.assert_allclose(stay.values, expected)
    np.testing.assert_allclose(day.values - day.values[found.entities == 0], expected)
    assert day.dates
    assert not stay.dates


def test_a_column_without_values_says_so(planted_model):
    ax = plots.plot_heatmap(planted_model, {"stage": [None] * 90, "age": np.full(90, np.nan)})
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["stage: no values", "age: no values", "missing"]
    assert plots.plot_heatmap(planted_model).get_legend() is None


def test_the_picture_has_one_block_for_each_view(planted_model):
    ax = plots.plot_heatmap(planted_model, n_features=2)
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0", "1", "2", "view 0", "view 1"]
    found = plots.heatmap_data(planted_model, n_features=2)
    clusters, *blocks = ax.images
    assert clusters.get_array().shape == (1, 90, 3)
    np.testing.assert_allclose(
        np.concatenate([block.get_array() for block in blocks]), found.values
    )


def test_a_table_is_matched_by_id():
    views, _ = planted_views()
    ids = [f"p{row}" for row in range(90)]
    model = RMGL(3, random_state=0).fit({"a": pd.DataFrame(views["view 0"], index=ids)})
    shuffled = pd.DataFrame({"row": np.arange(90)}, index=ids).sample(frac=1, random_state=0)
    more = pd.concat([shuffled, pd.DataFrame({"row": [99]}, index=["stranger"])])
    for columns in (shuffled, more, more["row"], {"row": np.arange(90)}):
        found = plots.heatmap_data(model, columns)
        np.testing.assert_array_equal(found.bars[0].values, found.entities)
    with pytest.warns(UserWarning, match="no rows for 2 of the 90 entities, whose values"):
        found = plots.heatmap_data(model, shuffled.drop(["p3", "p8"]))
    assert sorted(found.entities[np.isnan(found.bars[0].values)]) == [3, 8]
    with pytest.raises(
        ValueError, match=r"columns: none of the ids belongs to the model, whose ids look like 'p0'"
    ):
        plots.heatmap_data(model, shuffled.rename(index=str.upper))
    by_place = shuffled.reset_index(drop=True)  # its index has no id of the model
    found = plots.heatmap_data(model, by_place)
    np.testing.assert_array_equal(found.bars[0].values, by_place["row"][found.entities])
    with pytest.raises(ValueError, match=r"columns: the id 'p.* occurs twice"):
        plots.heatmap_data(model, pd.concat([shuffled, shuffled.iloc[:1]]))


def test_names_and_effects_may_be_those_of_explain(planted_model, planted):
    views, _ = planted
    names = {"view 0": ["x", "y", "z"]}
    table = planted_model.explain({"view 0": views["view 0"]}, names)
    found = plots.heatmap_data(planted_model, explanation=table)
    assert set(found.features) == {"x", "y", "z"}
    assert set(found.views) == {"view 0"}


def test_bad_input_is_refused_in_words(planted_model):
    with pytest.raises(ValueError, match="n_features=0 is not a valid number of features"):
        plots.heatmap_data(planted_model, n_features=0)
    with pytest.raises(
        TypeError, match="explanation is of type dict; pass the table returned by explain"
    ):
        plots.heatmap_data(planted_model, explanation={})
    with pytest.raises(ValueError, match=r"columns: 'age' has shape \(3,\), but the model has 90"):
        plots.heatmap_data(planted_model, {"age": [1, 2, 3]})
    with pytest.raises(TypeError, match="columns is of type list"):
        plots.heatmap_data(planted_model, [1, 2, 3])


def test_networks_alone_have_no_heat_map():
    block = np.ones((10, 10)) - np.eye(10)
    graph = sparse.csr_array(np.kron(np.eye(2), block))
    model = RMGL(2, random_state=0).fit({"links": Network(graph)})
    with pytest.raises(ValueError, match="no feature distinguishes clusters"):
        plots.heatmap_data(model)


def test_one_cluster_has_no_heat_map(planted):
    model = RMGL(1, random_state=0).fit(planted[0])
    with pytest.raises(ValueError, match="no feature distinguishes clusters"):
        plots.heatmap_data(model)


def test_tables_of_several_kinds_and_sets_of_words(rng):
    group = np.repeat([0, 1], 30)
    table = pd.DataFrame(
        {
            "size": group + 0.1 * rng.normal(size=60),
            "color": np.where(group, "red", "blue"),
            "old": rng.random(60) < 0.5,
        }
    )
    words = ((rng.random((60, 12)) < 0.3) | (np.arange(12) // 6 == group[:, None])).astype(float)
    model = RMGL(2, metric={"t": "euclidean", "words": "jaccard"}, random_state=0).fit(
        {"t": table, "words": words}
    )
    found = plots.heatmap_data(model)
    rows = {
        (view, name): row
        for row, (view, name) in enumerate(zip(found.views, found.features, strict=True))
    }
    red = (table["color"] == "red").to_numpy().astype(float)
    expected = (red - red.mean()) / red.std()
    np.testing.assert_allclose(found.values[rows["t", "color = red"]], expected[found.entities])
    first = words[:, 0]
    expected = (first - first.mean()) / first.std()
    np.testing.assert_allclose(found.values[rows["words", "column 0"]], expected[found.entities])
