"""Fits to views with missing cells."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.results.missing_cells import gaps_of
from rmgl.views.views import Views
from tests.conftest import planted_views
from tests.views.test_encoding import patients


def holed_views(share=0.25, seed=0, **options):
    views, target = planted_views(columns=(6, 8), **options)
    rng = np.random.default_rng(seed)
    return {
        name: np.where(rng.random(X.shape) < share, np.nan, X) for name, X in views.items()
    }, target


@pytest.fixture(scope="module")
def holed():
    views, target = holed_views()
    return RMGL(3, random_state=0).fit(views), views, target


def test_clusters_are_found_and_the_layers_are_certified(holed):
    model, _, target = holed
    assert adjusted_rand_score(target, model.labels_) > 0.95
    assert all(layer.exact and layer.solved for layer in model.layers_)


def test_the_report_counts_missing_cells(holed):
    model, views, _ = holed
    X = views["view 0"]
    n = int(np.isnan(X).sum())
    assert f"Missing cells: view 0: {n} of {X.size} ({n / X.size:.1%}), in" in str(model.report_)
    assert model.report_.views[0].gaps.n_missing == n


def test_a_row_with_a_third_of_its_cells_has_enough(rng):
    X = rng.normal(size=(20, 9))
    X[4, 3:], X[7, 2:] = np.nan, np.nan  # three cells are left, and two
    gaps = gaps_of(Views.of([X])[0], np.arange(20), None)
    assert (gaps.n_missing, gaps.n_cells, gaps.n_rows) == (13, 180, 2)
    assert (gaps.n_sparse, gaps.sparse_rows) == (1, "row 7")


def test_rows_and_pairs_with_too_little_are_warned_of():
    views, _ = planted_views(columns=(6, 8))
    X = views["view 0"]
    X[3, 1:], X[5, :1], X[5, 2:] = np.nan, np.nan, np.nan
    warnings = " ".join(RMGL(3, random_state=0).fit(views).report_.warnings)
    assert (
        "view 'view 0': 2 rows have values in fewer than a third of the cells (rows 3, 5)"
        in warnings
    )
    assert (
        "of the pairs of rows have no column in common; their distance is set to the mean"
        in warnings
    )


def test_saved_models_place_rows_with_missing_cells(holed, tmp_path):
    model, views, _ = holed
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    model.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    new = {
        name: np.where(np.arange(X.shape[1]) == 1, np.nan, X[::5] + 0.01)
        for name, X in views.items()
    }
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert adjusted_rand_score(model.labels_[::5], loaded.predict(new)) > 0.9


def test_new_rows_of_complete_views_may_lack_cells():
    views, target = planted_views(columns=(6, 8))
    model = RMGL(3, random_state=0).fit(views)
    holes = {
        name: np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
        for name, X in views.items()
    }
    assert adjusted_rand_score(target, model.predict(holes)) > 0.95
    assert adjusted_rand_score(target, model.predict({"view 1": holes["view 1"]})) > 0.9


def test_rows_too_many_for_all_distances_give_the_same_clusters(holed, monkeypatch):
    model, views, _ = holed
    monkeypatch.setattr("rmgl.automatic.spaces.fits", lambda views: False)
    for candidates in ("auto", 15, "approximate"):
        other = RMGL(3, random_state=0, candidates=candidates).fit(views)
        assert adjusted_rand_score(model.labels_, other.labels_) == 1.0
        assert all(layer.exact for layer in other.layers_)
        np.testing.assert_allclose(other.layers_[0].degrees, model.layers_[0].degrees, atol=0.05)


def test_given_parameters_and_dual_ascent(holed):
    _, views, target = holed
    model = RMGL(3, alpha=1.0, beta=1.0, random_state=0).fit(views)
    assert adjusted_rand_score(target, model.labels_) > 0.9
    half = RMGL(3, beta=1.0, random_state=0).fit(views)
    assert half.alpha_.min() > 0
    assert adjusted_rand_score(target, half.labels_) > 0.9
    assert ((half.outlier_score_ >= 0) & (half.outlier_score_ <= 1)).all()


def test_missing_rows_stay_missing_entities(holed):
    _, views, target = holed
    rows = {name: X.copy() for name, X in views.items()}
    rows["view 0"][::9] = np.nan
    model = RMGL(3, random_state=0).fit(rows)
    assert model.report_.views[0].n_missing == 10
    assert adjusted_rand_score(target, model.labels_) > 0.9
    assert adjusted_rand_score(model.labels_, model.predict(rows)) > 0.95


def test_features_are_explained_by_the_cells_that_are_there(holed):
    model, views, _ = holed
    table = model.explain(views)
    row = next(
        at for at in range(len(table)) if table.view[at] == "view 0" and table.column[at] == 2
    )
    inside = (model.labels_ == table.cluster[row]) & ~np.isnan(views["view 0"][:, 2])
    assert table.n_inside[row] == inside.sum()
    assert table.mean_inside[row] == pytest.approx(views["view 0"][inside, 2].mean())


def test_the_page_shows_models_with_missing_cells(tmp_path):
    table = patients()
    table.loc[::7, "age"] = None
    table.loc[::9, "sex"] = None
    model = RMGL(2, random_state=0).fit({"clinic": table})
    model.to_html(tmp_path / "report.html", views={"clinic": table})
    text = (tmp_path / "report.html").read_text()
    assert "sex: category (text with 2 distinct values" in text
    assert "11 of 240 (4.6%)" in text
    features = set(model.explain({"clinic": table}).feature)
    assert "sex = F" in features
    assert not any("not seen" in feature for feature in features)


def test_error_restores_the_refusal(holed):
    model, views, _ = holed
    with pytest.raises(
        ValueError, match=r"view 'view 0' contains NaN cells \(\d+ in all\).*set missing='pairwise'"
    ):
        RMGL(3, missing="error").fit(views)
    model = RMGL(3, missing="error", random_state=0).fit(planted_views(columns=(6, 8))[0])
    with pytest.raises(ValueError, match=r"contains NaN cells"):
        model.predict(views)


def test_a_resumed_fit_gives_the_same(holed, tmp_path):
    model, views, _ = holed

    def stop(row):
        return row["step"] == "consensus"

    with pytest.warns(ConvergenceWarning, match="stopped"):
        RMGL(3, random_state=0).fit(views, checkpoint=tmp_path / "steps", callback=stop)
    again = RMGL(3, random_state=0).fit(views, checkpoint=tmp_path / "steps")
    np.testing.assert_array_equal(again.labels_, model.labels_)


@settings(max_examples=8)
@given(st.floats(0.0, 0.8), st.integers(0, 100), st.booleans())
def test_any_pattern_of_missing_cells_gives_an_answer_or_a_clear_error(share, seed, mixed):
    rng = np.random.default_rng(seed)
    table = patients(24, seed)
    frame = (table if mixed else table[["age", "smoker"]].astype(float)).astype(object)
    frame = frame.mask(pd.DataFrame(rng.random(frame.shape) < share, columns=frame.columns))
    views = {
        "t": frame,
        "n": np.where(rng.random((24, 3)) < share, np.nan, rng.normal(size=(24, 3))),
    }
    try:
        model = RMGL(2, random_state=0).fit(views)
    except ValueError as error:
        known = ("missing from every view", "not missing, but needs", "constant", "like row ids")
        assert any(part in str(error) for part in known)  # noqa: PT017
        return
    assert len(model.labels_) == 24
    assert np.isfinite(model.embedding_).all()
    assert model.predict_proba(views).shape == (24, 2)
