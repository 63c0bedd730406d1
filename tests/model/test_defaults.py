"""Heuristic defaults of alpha and beta against their formulas."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.model import problems as defaults
from rmgl.model.problems import default_alpha, default_beta


def slow_alpha(X, k):
    """The mean over all nodes of sum_j (z_i,k+1 - z_ij) / 4, over the k nearest."""
    total = 0.0
    for i in range(len(X)):
        z = sorted(float(np.sum((X[i] - X[j]) ** 2)) for j in range(len(X)) if j != i)
        total += sum(z[k] - z[j] for j in range(k)) / 4
    return total / len(X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [1, 5, 18])
def test_alpha_is_the_formula(k, kind, rng):
    X = rng.normal(size=(20, 3))
    assert default_alpha(kind(X), k) == pytest.approx(slow_alpha(X, k), rel=1e-9)


def test_alpha_of_fewer_rows_than_neighbors_takes_as_many_as_there_are(rng):
    X = rng.normal(size=(12, 3))
    assert (
        default_alpha(X, 20) == default_alpha(X, 10) == pytest.approx(slow_alpha(X, 10), rel=1e-9)
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_alpha_of_duplicates_or_of_two_rows_is_the_mean_squared_distance(kind):
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert default_alpha(kind(X)) == pytest.approx(2 * X.var(axis=0).sum(), rel=1e-12)
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    # twice the variance of a coin
    assert default_alpha(kind(X), 10) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-50, 1e50])
def test_alpha_has_the_unit_of_squared_distances(factor, rng):
    X = rng.normal(size=(25, 3))
    assert default_alpha(factor * X, 5) == pytest.approx(factor**2 * default_alpha(X, 5), rel=1e-9)


def test_alpha_of_many_rows_is_that_of_a_sample(rng, monkeypatch):
    X = rng.normal(size=(300, 2))
    whole = default_alpha(X, 8)
    monkeypatch.setattr(defaults, "SAMPLED_SPREADS", 100)
    sampled = default_alpha(X, 8)
    assert sampled != whole
    assert sampled == pytest.approx(whole, rel=0.5)
    assert default_alpha(X, 8) == sampled


def test_beta_is_the_formula_and_follows_alpha():
    alpha = np.array([1.0, 2.0, 6.0])
    assert default_beta(alpha, 90, 3, 15) == pytest.approx(0.1 * 3.0 * 90 / (3 * 15), rel=1e-12)
    assert default_beta(7 * alpha, 90, 3, 15) == pytest.approx(
        7 * default_beta(alpha, 90, 3, 15), rel=1e-12
    )


@pytest.mark.parametrize("given", [{"alpha": 2.0}, {"beta": 2.0}])
def test_one_number_gets_the_default_of_the_other(given, rng):
    views = [rng.normal(size=(30, 3)), rng.normal(size=(30, 4))]
    model = RMGL(2, scale="none", n_neighbors=8, random_state=0, **given).fit(views)
    if "alpha" in given:
        np.testing.assert_allclose(
            model.beta_, default_beta(np.array([2.0, 2.0]), 30, 2, 8), rtol=1e-12
        )
    else:
        np.testing.assert_allclose(model.alpha_, [slow_alpha(X, 8) for X in views], rtol=1e-9)
