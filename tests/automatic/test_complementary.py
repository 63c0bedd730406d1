"""Views that each separate only some of the clusters, where entities are missing from some of them;
and a view of other clusters.
"""

import warnings
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL, Policy
from rmgl.datasets import make_complementary_views
from rmgl.metrics import normalized_mutual_info_score
from tests.conftest import assert_same, fit_with_kills


def hidden(n_rows, shares=(0.2, 0.1), seed=0):
    """Masks of two views without these shares of the rows; no row is missing from both."""
    order, observed = (
        np.random.default_rng(seed).permutation(n_rows),
        np.ones((n_rows, 2), dtype=bool),
    )
    first, second = (round(share * n_rows) for share in shares)
    observed[order[:first], 0] = observed[order[first : first + second], 1] = False
    return observed


@pytest.fixture(scope="module")
def complementary():
    return make_complementary_views(
        "pairs", n_clusters=6, n_views=2, n_counts=1, n_columns=15, random_state=0
    )


@pytest.fixture(scope="module")
def observed():
    return hidden(450)


@pytest.fixture(scope="module")
def placing_model(complementary, observed):
    return RMGL(6, random_state=0).fit(complementary.views, observed=observed)


# Who is placed


def test_the_incomplete_entities_are_placed(placing_model, observed):
    np.testing.assert_array_equal(placing_model.placed_, np.flatnonzero(~observed.all(axis=1)))
    assert placing_model.placed_.size == 135
    for layer in placing_model.layers_:
        np.testing.assert_array_equal(layer.nodes, np.flatnonzero(observed.all(axis=1)))
        assert layer.n_nodes == 450
        assert (layer.degrees[placing_model.placed_] == 0).all()
        assert layer.laplacian.trace() == pytest.approx(315)
    assert [layer.role for layer in placing_model.layers_] == [
        "view",
        "view",
        "consensus",
        "neighbors",
    ]


def test_placed_entities_have_labels_and_rows_of_the_embedding_as_new_ones_have(
    placing_model, complementary, observed
):
    new, hides = (
        {name: X[placing_model.placed_] for name, X in complementary.views.items()},
        observed[placing_model.placed_],
    )
    np.testing.assert_array_equal(
        placing_model.predict(new, observed=hides), placing_model.labels_[placing_model.placed_]
    )
    np.testing.assert_allclose(
        placing_model.transform(new, observed=hides),
        placing_model.embedding_[placing_model.placed_],
        atol=1e-12,
    )
    kept = np.delete(
        placing_model.embedding_, np.append(placing_model.placed_, placing_model.fragments_), axis=0
    )
    np.testing.assert_allclose(kept.T @ kept, np.eye(6), atol=1e-8)
    assert (placing_model.outlier_score_[placing_model.placed_] == 0).all()
    assert (placing_model.guide_[placing_model.placed_] == 0).all()
    assert placing_model.labels_.shape == placing_model.outlier_score_.shape == (450,)


def test_placing_finds_more_than_learning_from_incomplete_entities(
    placing_model, complementary, observed
):
    learned = RMGL(6, policy=Policy(complete_share=1.0), random_state=0).fit(
        complementary.views, observed=observed
    )
    assert learned.placed_.size == 0
    with_and_without = [
        normalized_mutual_info_score(complementary.target, labels)
        for labels in (placing_model.labels_, learned.labels_)
    ]
    assert with_and_without[0] > with_and_without[1]
    complete = observed.all(axis=1)
    assert (
        normalized_mutual_info_score(
            complementary.target[complete], placing_model.labels_[complete]
        )
        > 0.95
    )


def test_nobody_is_placed_where_views_share_their_clusters():
    shared = make_complementary_views([[0, 1, 2, 3]] * 2, n_rows=200, random_state=0)
    model = RMGL(4, random_state=0).fit(shared.views, observed=hidden(200))
    assert model.placed_.size == 0
    assert model.report_.n_placed == 0
    assert (sum(layer.degrees for layer in model.layers_) > 0).all()


def test_nobody_is_placed_where_nobody_is_missing(complementary):
    assert RMGL(6, random_state=0).fit(complementary.views).placed_.size == 0
    assert RMGL(6, alpha=0.5, beta=0.1, random_state=0).fit(complementary.views).placed_.size == 0


@pytest.mark.parametrize(
    ("policy", "n_placed"),
    [
        (Policy(complete_share=0.69), 135),
        (Policy(complete_share=0.71), 0),
        (Policy(complementary=1.0), 0),
        (Policy(consensus="never"), 0),
    ],
    ids=[
        "enough are complete",
        "too few are complete",
        "complementary views are not looked for",
        "no consensus",
    ],
)
def test_the_policy_says_whether_entities_are_placed(policy, n_placed, complementary, observed):
    assert (
        RMGL(6, policy=policy, random_state=0)
        .fit(complementary.views, observed=observed)
        .placed_.size
        == n_placed
    )


@pytest.mark.parametrize(
    "parameters", [{"candidates": 15}, {"components": True}, {"n_clusters": "auto"}], ids=str
)
def test_entities_are_placed_however_layers_are_learned(
    parameters, placing_model, complementary, observed
):
    other = RMGL(**{"n_clusters": 6, "random_state": 0, **parameters}).fit(
        complementary.views, observed=observed
    )
    np.testing.assert_array_equal(other.placed_, placing_model.placed_)
    assert set(other.labels_) == set(range(other.n_clusters_))
    assert all((layer.degrees[placing_model.placed_] == 0).all() for layer in other.layers_)
    if "n_clusters" in parameters:
        assert other.number_.parts.shape == (other.number_.resolutions.size, 315)
    if "candidates" in parameters:
        assert all(layer.exact for layer in other.layers_)
        assert adjusted_rand_score(other.labels_, placing_model.labels_) > 0.95


def test_given_graphs_are_cut_to_the_complete_entities(placing_model, complementary, observed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # exact among the given candidates only
        given = RMGL(6, candidates=sparse.csr_array(np.ones((450, 450))), random_state=0).fit(
            complementary.views, observed=observed
        )
    np.testing.assert_array_equal(given.placed_, placing_model.placed_)
    assert adjusted_rand_score(given.labels_, placing_model.labels_) > 0.95


def test_tables_of_some_of_the_entities_keep_the_order_of_their_labels(
    placing_model, complementary, observed
):
    names = [f"cell {row:03d}" for row in range(450)]
    tables = {
        name: pd.DataFrame(X, index=names)[observed[:, m]]
        for m, (name, X) in enumerate(complementary.views.items())
    }
    other = RMGL(6, align="outer", random_state=0).fit(tables)
    rows = np.array([int(label.split()[1]) for label in other.index_])
    assert sorted(rows[other.placed_]) == placing_model.placed_.tolist()
    assert adjusted_rand_score(other.labels_, placing_model.labels_[rows]) > 0.95


# What is told


def test_the_report_says_how_many_were_placed(placing_model):
    assert placing_model.report_.n_placed == 135
    assert placing_model.report_.n_rows == 450
    text = str(placing_model.report_)
    assert text.startswith("450 entities, 2 views, 6 clusters, as requested.")
    assert "135 entities are missing from a view." in text
    assert "learned without them, from the 315 other entities" in text
    assert not any("not connected" in warning for warning in placing_model.report_.warnings)


def test_the_report_says_how_many_are_missing_from_each_view(placing_model):
    assert [view.n_missing for view in placing_model.report_.views] == [90, 45]
    assert "90 entities are missing from this view" in str(placing_model.report_)


# Files and new rows


def test_a_saved_model_is_the_same(placing_model, complementary, observed, tmp_path):
    placing_model.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    assert_same(loaded, placing_model)
    np.testing.assert_array_equal(
        loaded.predict_proba(complementary.views, observed=observed, by_view=True),
        placing_model.predict_proba(complementary.views, observed=observed, by_view=True),
    )
    np.testing.assert_array_equal(
        loaded.transform(complementary.views, observed=observed),
        placing_model.transform(complementary.views, observed=observed),
    )


def test_fitted_rows_keep_their_labels_and_new_ones_find_theirs(
    placing_model, complementary, observed
):
    assert (
        placing_model.predict(complementary.views, observed=observed) == placing_model.labels_
    ).mean() >= 0.99
    rng = np.random.default_rng(5)
    counts, measured = complementary.views.values()
    moved = {
        "view_0": counts + rng.poisson(0.02, size=counts.shape),
        "view_1": measured + 0.3 * rng.normal(size=measured.shape),
    }
    assert normalized_mutual_info_score(complementary.target, placing_model.predict(moved)) > 0.9
    for name, X in moved.items():
        assert placing_model.predict({name: X}).shape == (450,)
        assert np.isfinite(placing_model.transform({name: X})).all()


@pytest.fixture(scope="module")
def cells():
    """Views that disagree so much that their layers are learned with costs of the consensus."""
    data = make_complementary_views(
        "grid", n_clusters=9, n_views=2, separation=4.5, n_columns=5, random_state=0
    )
    return data, RMGL(9, random_state=0).fit(data.views, observed=hidden(450))


def test_costs_of_the_consensus_are_those_of_the_complete_entities(
    cells, observed, tmp_path, monkeypatch
):
    data, model = cells
    assert model.placed_.size == 135
    assert model.layers_[0].consensus_share == model.layers_[1].consensus_share > 0
    complete = observed.all(axis=1)
    assert normalized_mutual_info_score(data.target[complete], model.labels_[complete]) > 0.9
    predicted = model.predict(data.views, observed=observed)
    assert (predicted == model.labels_).mean() >= 0.99
    model.save(tmp_path / "m.rmgl")
    np.testing.assert_array_equal(
        RMGL.load(tmp_path / "m.rmgl").predict(data.views, observed=observed), predicted
    )
    monkeypatch.setattr("rmgl.placing.placement.ALL_ROWS", 10)  # only the nearest rows are compared
    np.testing.assert_array_equal(model.predict(data.views, observed=observed), predicted)


def test_a_file_with_a_layer_of_placed_entities_is_refused(cells, tmp_path):
    model = copy(cells[1])
    first = model.layers_[0]
    others = np.sort(np.append(first.nodes[1:], model.placed_[0]))
    model.layers_ = [replace(first, nodes=others), *model.layers_[1:]]
    model.save(tmp_path / "m.rmgl")
    with pytest.raises(ValueError, match="or layers were learned on them"):
        RMGL.load(tmp_path / "m.rmgl")


@pytest.mark.parametrize("placed", [[450], [-1], [[3]]], ids=str)
def test_a_file_with_placed_entities_that_there_are_not_is_refused(placed, placing_model, tmp_path):
    changed = copy(placing_model)
    changed.placed_ = np.array(placed)
    changed.save(tmp_path / "m.rmgl")
    with pytest.raises(ValueError, match="the entities that were placed"):
        RMGL.load(tmp_path / "m.rmgl")


# Checkpoints


@pytest.mark.parametrize("n_clusters", [6, pytest.param("auto", marks=pytest.mark.extended)])
def test_a_run_stopped_after_every_step_ends_the_same(
    n_clusters, complementary, observed, tmp_path, monkeypatch
):
    fit = partial(
        RMGL(n_clusters, candidates=20, random_state=0).fit, complementary.views, observed=observed
    )
    whole = fit()
    model, written = fit_with_kills(partial(fit, checkpoint=tmp_path / "steps"), monkeypatch)
    assert_same(model, whole)
    assert model.placed_.size
    assert any(step.startswith("within-") for step in written)


# A view of other clusters


def test_a_misleading_view_does_not_decide():
    data = make_complementary_views(
        [[0, 1, 2, 3]] * 2, separation=4.0, misleading=9.0, n_columns=6, n_rows=240, random_state=2
    )
    spreads = {name: X.var(axis=0).sum() for name, X in data.views.items()}
    # it dominates the distances
    assert spreads["misleading"] > spreads["view_0"] + spreads["view_1"]
    model = RMGL(4, random_state=0).fit(data.views)
    assert normalized_mutual_info_score(data.target, model.labels_) > 0.9
    assert model.view_weights_.argmin() == 2
    alone = RMGL(4, random_state=0).fit([data.views["misleading"]])
    assert normalized_mutual_info_score(data.target, alone.labels_) < 0.1
