"""New rows that belong to no cluster, by their outlier scores."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

import rmgl
from rmgl import RMGL
from tests.conftest import planted_views

GIVEN = {"alpha": 2.0, "beta": 1e-12, "scale": "none"}


def split(parameters=None, seed=0):
    views, target = planted_views(sizes=(40, 40, 40), columns=(4, 5), seed=seed)
    order = np.random.default_rng(seed).permutation(target.size)
    old, new = order[30:], order[:30]
    model = RMGL(3, random_state=0, **(parameters or {})).fit(
        {name: X[old] for name, X in views.items()}
    )
    return model, {name: X[new] for name, X in views.items()}


def one_node_weights(costs, potentials, alpha):
    """The weights of a new node, by bisection on u."""
    low, high = -1e6, 1e6
    for _ in range(200):
        u = (low + high) / 2
        left = np.maximum(u + potentials - costs, 0).sum() / (4 * alpha)
        low, high = (low, u) if left + (u - potentials.mean()) / (2 * alpha) > 1 else (u, high)
    return np.maximum(u + potentials - costs, 0) / (4 * alpha)


def test_scores_are_the_formula_of_the_fit():
    """Without scales: r is the mean squared length of the edges of a row, r' that of its neighbors,
    and the score is the mean of (1 - r' / r)_+ by the weights of the views.
    """
    views, _ = planted_views(sizes=(20, 20), columns=(3, 4))
    model = RMGL(2, random_state=0, **GIVEN).fit(views)
    rng = np.random.default_rng(1)
    new = {name: 1.5 * X[:8] + rng.normal(size=(8, X.shape[1])) for name, X in views.items()}
    wanted = np.zeros(8)
    for (name, X), layer, weight in zip(
        views.items(), model.layers_, model.view_weights_, strict=False
    ):
        W, Z = layer.adjacency.toarray(), cdist(X, X, "sqeuclidean")
        fitted = (W * Z).sum(axis=1) / W.sum(axis=1)
        for row, z in enumerate(cdist(new[name], X, "sqeuclidean")):
            w = one_node_weights(z, layer.potentials, 2.0)
            score = 1.0 if w.sum() == 0 else max(0.0, 1 - (w @ fitted) / (w @ z))
            wanted[row] += weight * score
    assert wanted.max() == 1  # without edges in any view
    assert ((wanted > 0.1) & (wanted < 0.9)).sum() >= 3
    np.testing.assert_allclose(model.score_samples(new), wanted, atol=1e-6)


def test_with_scales_the_spread_of_a_row_is_its_squared_scale():
    model, new = split()
    (layer, *_), X = model.layers_, model.fitted_.views[0].matrix
    rows = model.fitted_.views[0].scaler(new["view 0"])
    found = model.score_samples({"view 0": new["view 0"]})
    z = cdist(rows, X, "sqeuclidean")
    scales = layer.scaling.of_new(np.broadcast_to(np.arange(90), z.shape), z).scales
    for row in range(30):  # bounds: the neighbors have spreads of fitted rows
        low, high = layer.scaling.scales.min() ** 2, layer.scaling.scales.max() ** 2
        r = scales[row] ** 2
        assert max(0.0, 1 - high / r) - 1e-12 <= found[row] <= max(0.0, 1 - low / r) + 1e-12


@pytest.mark.parametrize("parameters", [{}, GIVEN, {"candidates": 12}], ids=str)
def test_fitted_rows_have_their_own_scores(parameters):
    model, _ = split(parameters)
    views, target = planted_views(sizes=(40, 40, 40), columns=(4, 5))
    order = np.random.default_rng(0).permutation(target.size)
    again = {name: X[order[30:]] for name, X in views.items()}
    np.testing.assert_allclose(model.score_samples(again), model.outlier_score_, atol=1e-12)


def test_scores_grow_with_the_distance_and_stay_within_one():
    model, new = split()
    first = {name: X[:1] for name, X in new.items()}
    scores = [
        model.score_samples({name: X + far for name, X in first.items()})[0]
        for far in (20.0, 50.0, 200.0, 1e4, 1e8)
    ]
    assert (np.diff(scores) >= 0).all()
    assert scores[-1] <= 1
    assert scores[-1] > 0.99


@pytest.mark.parametrize("parameters", [{}, GIVEN], ids=str)
def test_unknown_is_a_quantile_of_the_fitted_scores(parameters):
    model, new = split(parameters)
    far = {name: np.vstack([X, X[:5] + 40.0]) for name, X in new.items()}
    scores, plain = model.score_samples(far), model.predict(far)
    for share in (0.5, 0.9, 0.99, 1.0):
        ordered = np.sort(model.outlier_score_)
        limit = ordered[int(np.ceil(share * (ordered.size - 1)))]
        wanted = np.where(scores > limit, -1, plain)
        np.testing.assert_array_equal(model.predict(far, unknown=share), wanted)
    assert (model.predict(far, unknown=1.0)[30:] == -1).all()
    assert (plain >= 0).all()


def test_no_fitted_row_is_unknown_at_one_and_the_stated_share_below():
    model, _ = split()
    views, target = planted_views(sizes=(40, 40, 40), columns=(4, 5))
    order = np.random.default_rng(0).permutation(target.size)
    again = {name: X[order[30:]] for name, X in views.items()}
    np.testing.assert_array_equal(model.predict(again, unknown=1.0), model.labels_)
    lost = (model.predict(again, unknown=0.9) == -1).mean()
    assert 0 < lost <= 0.1


def test_a_cluster_that_the_fit_did_not_see_is_unknown():
    """The rows of each cluster that is left out are farther from the others than these are from one
    another, although they are close together.
    """
    views, target = planted_views(sizes=(40, 40, 40), columns=(4, 5))
    aucs, lost, found = [], [], []
    for left_out in range(3):
        known, every = target != left_out, np.arange(target.size) % 3 == 0
        model = RMGL(2, random_state=0).fit({name: X[known & ~every] for name, X in views.items()})
        new = {name: X[every] for name, X in views.items()}
        is_new = target[every] == left_out
        aucs.append(roc_auc_score(is_new, model.score_samples(new)))
        unknown = model.predict(new, unknown=0.99) == -1
        lost.append(unknown[~is_new].mean())
        found.append(unknown[is_new].mean())
    assert np.mean(aucs) > 0.99
    assert np.mean(found) > 0.9
    assert np.mean(lost) < 0.1


def test_rows_are_scored_one_by_one_by_the_views_they_have():
    model, new = split()
    observed = np.random.default_rng(2).random((30, 2)) < 0.7
    observed[:, 0] |= ~observed.any(axis=1)
    together = model.score_samples(new, observed=observed)
    one_by_one = [
        model.score_samples({n: X[[row]] for n, X in new.items()}, observed=observed[[row]])[0]
        for row in range(30)
    ]
    np.testing.assert_allclose(together, one_by_one, atol=1e-9)
    weights = model.view_weights_
    alone = [model.score_samples({name: X}) for name, X in new.items()]
    both = model.score_samples(new)
    # edges of a row differ a little with its place in the embedding, which all views have a part in
    mean = (weights[0] * alone[0] + weights[1] * alone[1]) / weights.sum()
    np.testing.assert_allclose(both, mean, atol=0.1)


def test_lists_of_neighbors_give_the_same_scores(monkeypatch):
    model, new = split()
    everyone = model.score_samples(new)
    monkeypatch.setattr("rmgl.placing.placement.ALL_ROWS", 10)
    monkeypatch.setattr("rmgl.placing.new_edges.MIN_LISTED", 40)
    np.testing.assert_allclose(model.score_samples(new), everyone, atol=1e-6)


def test_a_saved_model_gives_the_same_scores(tmp_path):
    model, new = split()
    model.save(tmp_path / "m.rmgl")
    again = RMGL.load(tmp_path / "m.rmgl")
    np.testing.assert_array_equal(again.score_samples(new), model.score_samples(new))
    np.testing.assert_array_equal(again.predict(new, unknown=0.9), model.predict(new, unknown=0.9))


def test_rows_in_networks_alone_have_no_distances():
    views, _ = planted_views(sizes=(20, 20), columns=(3,))
    block = np.kron(np.eye(2), np.ones((20, 20))) - np.eye(40)
    model = RMGL(2, random_state=0).fit(
        {"x": views["view 0"], "links": rmgl.Network(sparse.csr_array(block))}
    )
    edges = sparse.csr_array(block[:3])
    assert model.score_samples({"links": edges}).tolist() == [0.0] * 3
    assert (model.predict({"links": edges}, unknown=0.5) >= 0).all()


def test_no_rows_have_no_scores():
    model, new = split()
    none = {name: X[:0] for name, X in new.items()}
    assert model.score_samples(none).shape == (0,)
    assert model.predict(none, unknown=0.9).shape == (0,)


@pytest.mark.parametrize("share", [0, -0.1, 1.01, "0.9", True, np.nan])
def test_a_share_out_of_range_is_refused(share):
    model, new = split()
    with pytest.raises(
        ValueError, match=r"unknown=.* is not a valid fraction of the entities in the fit"
    ):
        model.predict(new, unknown=share)
