"""Views of more than two thousand rows with few different ones: each has more copies, and more
equals, than lists of neighbors hold (512).
"""

import numpy as np
import pytest

from rmgl import learn_layer
from rmgl.edges.local_scaling import MOST
from tests.laws.problems import Problem, certificate
from tests.laws.test_certificates import check_claims
from tests.laws.test_invariance import assert_same


def test_a_layer_of_two_rows_with_many_copies(rng):
    """All that lists held were copies, which are as near as the last of them: there was no
    candidate pair, and no first solution.
    """
    X = np.repeat(np.eye(2), [MOST + 30, MOST + 60], axis=0)[rng.permutation(2 * MOST + 90)]
    layer = learn_layer(X, 0.5, candidates=10)
    assert layer.exact
    residual, gap, missing = certificate(layer, 2.0 * (X[:, :1] != X[:, 0]))
    assert max(residual - layer.kkt_residual, gap - layer.gap, missing) <= 1e-6


def test_a_view_where_every_row_has_many_copies(rng):
    model = Problem({"a": np.eye(3)[rng.permutation(np.arange(1650) % 3)]}).fit()
    assert check_claims(model) == len(model.layers_)
    assert np.bincount(model.labels_).tolist() == [550, 550, 550]


def few_different(n, n_different, rng, n_views=1):
    """Views with few different rows, from a handful of copies to more than lists hold."""
    counts = rng.multinomial(n, rng.dirichlet(np.full(n_different, 0.7)))
    bits = (rng.permutation(64)[:n_different, None] >> np.arange(6)) & 1
    rows = np.repeat(bits, counts, axis=0)[rng.permutation(n)].astype(float)
    return Problem(
        {
            name: rows[:, own]
            for name, own in zip("ab", np.array_split(np.arange(6), n_views), strict=False)
        }
    )


CASES = [
    pytest.param(2100, 6, 1),
    pytest.param(2100, 20, 1),
    *(pytest.param(n, m, 2, marks=pytest.mark.extended) for n, m in ((2400, 8), (3000, 40))),
]


@pytest.mark.parametrize("candidates", ["auto", 30])
@pytest.mark.parametrize(("n", "n_different", "n_views"), CASES)
def test_the_claims_of_layers_with_more_equals_than_lists_hold(
    n, n_different, n_views, candidates, rng
):
    model = few_different(n, n_different, rng, n_views).fit(candidates=candidates)
    assert check_claims(model) == sum(not layer.given for layer in model.layers_)


@pytest.mark.parametrize(("n", "n_different", "n_views"), CASES)
def test_the_order_of_rows_with_more_equals_than_lists_hold(n, n_different, n_views, rng):
    problem, order = few_different(n, n_different, rng, n_views), rng.permutation(n)
    assert_same(problem.fit(), problem.in_order(order).fit(), order)


@pytest.mark.parametrize("length", [5, 40])
def test_the_order_of_rows_of_a_single_layer_with_more_equals_than_lists_hold(length, rng):
    X, order = few_different(2100, 12, rng).views["a"], rng.permutation(2100)
    layers = [learn_layer(rows, 0.05, candidates=length) for rows in (X, X[order])]
    assert all(layer.exact for layer in layers)
    assert abs(layers[0].adjacency[order][:, order] - layers[1].adjacency).max() <= 1e-10
