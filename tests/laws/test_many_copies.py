"""Views of more than two thousand rows with few different ones: each has more copies, and more equals, than lists of neighbors hold (512)."""

import warnings

import numpy as np

from rmgl import RMGL, learn_layer
from rmgl.edges.ties import MOST
from tests.laws.problems import certificate
from tests.laws.test_certificates import check_claims


def fit(views, n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RMGL(n_clusters, random_state=0).fit(views)


def test_a_layer_of_two_rows_with_many_copies(rng):
    """All that lists held were copies, which are as near as the last of them: there was no candidate pair, and no first solution."""
    X = np.repeat(np.eye(2), [MOST + 30, MOST + 60], axis=0)[rng.permutation(2 * MOST + 90)]
    layer = learn_layer(X, 0.5, candidates=10)
    assert layer.exact
    residual, gap, missing = certificate(layer, 2.0 * (X[:, :1] != X[:, 0]))
    assert max(residual - layer.kkt_residual, gap - layer.gap, missing) <= 1e-6


def test_a_view_where_every_row_has_many_copies(rng):
    model = fit({"a": np.eye(3)[rng.permutation(np.arange(1650) % 3)]}, 3)
    assert check_claims(model) == len(model.layers_)
    assert np.bincount(model.labels_).tolist() == [550, 550, 550]
