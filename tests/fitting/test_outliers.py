"""Outlier scores against their formula, node by node."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.edges.space import Rows
from rmgl.placing.outliers import mean_lengths, outlier_scores
from tests.conftest import planted_views


def slow_scores(layers, spreads, present, weights):
    """The weighted mean over the views that have node i of (1 - r'_i / r_i)_+, one node at a time."""
    n = layers[0].shape[0]
    found = np.zeros(n)
    for i in range(n):
        total = weight = 0.0
        for W, spread, rows, share in zip(layers, spreads, present, weights, strict=True):
            rows = list(range(n)) if rows is None else list(rows)
            if i not in rows:
                continue
            r = dict(zip(rows, spread, strict=True))
            neighbors = [j for j in range(n) if W[i, j] > 0]
            if not neighbors:
                score = 1.0
            elif r[i] == 0:
                score = 0.0
            else:
                around = sum(W[i, j] * r[j] for j in neighbors) / sum(W[i, j] for j in neighbors)
                score = max(0.0, 1 - around / r[i])
            total += share * score
            weight += share
        found[i] = total / weight if weight > 0 else 0.0
    return found


def random_layer(rng, n, nodes=None):
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    W = np.triu(W, 1) + np.triu(W, 1).T
    if nodes is not None:
        absent = np.setdiff1d(np.arange(n), nodes)
        W[absent] = W[:, absent] = 0.0
    return W


def compare(layers, spreads, present, weights):
    found = outlier_scores([sparse.csr_array(W) for W in layers], spreads, present, weights)
    np.testing.assert_allclose(
        found, slow_scores(layers, spreads, present, weights), rtol=1e-12, atol=1e-14
    )
    assert (found >= 0).all()
    assert (found <= 1).all()
    return found


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_formula(seed):
    rng = np.random.default_rng(seed)
    layers = [random_layer(rng, 14) for _ in range(3)]
    compare(
        layers, [rng.gamma(1.0, size=14) for _ in layers], [None] * 3, rng.dirichlet(np.ones(3))
    )


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_views_that_lack_entities_are_the_formula(seed):
    rng = np.random.default_rng(seed)
    present = [np.arange(0, 9), None, np.array([2, 3, 5, 7, 11, 13])]
    layers = [random_layer(rng, 14, nodes) for nodes in present]
    spreads = [rng.gamma(1.0, size=14 if nodes is None else nodes.size) for nodes in present]
    compare(layers, spreads, present, [0.5, 0.2, 0.3])


def test_an_entity_is_judged_by_the_views_it_has(rng):
    nodes = np.arange(5)
    layers = [random_layer(rng, 8), random_layer(rng, 8, nodes)]
    spreads = [rng.gamma(1.0, size=8), rng.gamma(1.0, size=5)]
    both = compare(layers, spreads, [None, nodes], [0.3, 0.7])
    first = compare(layers[:1], spreads[:1], [None], [1.0])
    np.testing.assert_allclose(both[5:], first[5:], rtol=1e-12)


def test_weights_count_and_their_sum_does_not(rng):
    layers, spreads = (
        [random_layer(rng, 9), random_layer(rng, 9)],
        [rng.gamma(1.0, size=9), rng.gamma(1.0, size=9)],
    )
    one, other = (compare([W], [s], [None], [1.0]) for W, s in zip(layers, spreads, strict=True))
    np.testing.assert_allclose(
        compare(layers, spreads, [None, None], [1.0, 3.0]), 0.25 * one + 0.75 * other, rtol=1e-12
    )
    np.testing.assert_allclose(
        compare(layers, spreads, [None, None], [100.0, 300.0]),
        0.25 * one + 0.75 * other,
        rtol=1e-12,
    )
    np.testing.assert_array_equal(compare(layers, spreads, [None, None], [1.0, 0.0]), one)


def test_an_entity_that_only_views_without_weight_have_is_no_outlier(rng):
    nodes = np.arange(4)
    layers = [random_layer(rng, 6, nodes), random_layer(rng, 6)]
    assert compare(layers, [np.ones(4), np.ones(6)], [nodes, None], [1.0, 0.0])[4:].tolist() == [
        0.0,
        0.0,
    ]


def test_limits():
    pair = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    scores = compare([pair], [np.array([1.0, 4.0, 1.0])], [None], [1.0])
    # nearer than its neighbor; four times as far; without edges
    assert scores.tolist() == [0.0, 0.75, 1.0]
    assert compare([pair], [np.zeros(3)], [None], [1.0]).tolist() == [0.0, 0.0, 1.0]  # duplicates


def test_the_unit_of_distances_does_not_matter(rng):
    W, spread = sparse.csr_array(random_layer(rng, 10)), rng.gamma(1.0, size=10)
    one = outlier_scores([W], [spread], [None], [1.0])
    for factor in (1e-200, 1e200):
        np.testing.assert_allclose(
            outlier_scores([W], [factor * spread], [None], [1.0]), one, rtol=1e-12
        )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_mean_lengths_are_the_formula(kind, rng):
    X, W = rng.normal(size=(9, 3)), random_layer(rng, 9)
    W[4] = W[:, 4] = 0.0
    kept = sparse.csr_array(W)
    found = mean_lengths(Rows(kind(X)), kept)
    for i in range(9):
        lengths = [W[i, j] * np.sum((X[i] - X[j]) ** 2) for j in range(9)]
        assert found[i] == pytest.approx(sum(lengths) / W[i].sum() if W[i].any() else 0.0, rel=1e-9)
    assert (kept != sparse.csr_array(W)).nnz == 0


@pytest.mark.parametrize("parameters", [{}, {"alpha": 0.5, "beta": 1.0}])
def test_scores_of_a_model_follow_from_its_attributes(parameters):
    views, _ = planted_views(sizes=(12, 12), columns=(3, 4))
    observed = np.ones((24, 2), dtype=bool)
    observed[[3, 15], 1] = False
    model = RMGL(2, scale="none", random_state=0, **parameters).fit(views, observed=observed)
    layers = [layer for layer in model.layers_ if layer.role == "view"]
    spreads = []
    for X, layer in zip(views.values(), layers, strict=True):
        nodes = np.arange(24) if layer.nodes is None else layer.nodes
        if layer.scaling is None:
            spreads.append(mean_lengths(Rows(X), layer.adjacency)[nodes])
        else:
            spreads.append(layer.scaling.scales**2)
    wanted = slow_scores(
        [layer.adjacency.toarray() for layer in layers],
        spreads,
        [layer.nodes for layer in layers],
        model.view_weights_,
    )
    np.testing.assert_allclose(model.outlier_score_, wanted, rtol=1e-9, atol=1e-12)
