"""The layout of the map: its forces are those of t-SNE, and neighbors stay together."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from rmgl.embedding.layout import neighbor_layout, neighbor_weights, pulled, pushed


def groups(sizes, spread, rng):
    """Rows around the unit vectors, and the group of each."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.eye(len(sizes))[labels] + spread * rng.normal(size=(labels.size, len(sizes))), labels


def test_weights_are_those_of_the_nearest_neighbors(rng):
    rows = rng.normal(size=(30, 3))
    expected = np.zeros((30, 30))
    for i, row in enumerate(rows):
        nearest = np.argsort(np.linalg.norm(rows - row, axis=1))[1:6]
        expected[i, nearest] = 1 / 5
    np.testing.assert_allclose(
        neighbor_weights(rows, 5).toarray(), (expected + expected.T) / 2, atol=1e-15
    )


def test_attraction_is_the_first_term_of_the_gradient_of_t_sne(rng):
    rows, places = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    weights = neighbor_weights(rows, 4)
    expected = np.zeros((20, 2))
    for i in range(20):
        for j in range(20):
            apart = places[j] - places[i]
            expected[i] += weights[i, j] * apart / (1 + apart @ apart)
    np.testing.assert_allclose(pulled(places, weights), expected, rtol=1e-12)


def test_the_mean_repulsion_is_the_second_term_of_the_gradient_of_t_sne(rng):
    """With all pairs in place of random ones it is exact."""
    places = rng.normal(size=(12, 2))
    apart = places[:, None] - places
    near = 1 / (1 + np.square(apart).sum(axis=2))
    others = ~np.eye(12, dtype=bool)
    expected = (np.square(near)[:, :, None] * apart).sum(axis=1) / near[others].mean() / 11

    class EveryShift:
        def randint(self, low, high, size):
            assert (low, high, size) == (1, 12, 11)
            return np.arange(1, 12)

    np.testing.assert_allclose(pushed(places, EveryShift(), 11), expected, rtol=1e-12)


def test_forces_of_pairs_are_opposite(rng):
    """No force moves the whole map."""
    places = rng.normal(size=(50, 2))
    assert np.abs(pushed(places, np.random.RandomState(0)).sum(axis=0)).max() < 1e-12
    weights = neighbor_weights(rng.normal(size=(50, 4)), 6)
    assert np.abs(pulled(places, weights).sum(axis=0)).max() < 1e-12


@pytest.mark.parametrize("sizes", [(40, 40, 40, 40), (100, 30, 10)])
def test_groups_are_apart_and_neighbors_together(sizes, rng):
    rows, labels = groups(sizes, 0.05, rng)
    places = neighbor_layout(rows)
    assert np.isfinite(places).all()
    nearest = NearestNeighbors(n_neighbors=5).fit(places).kneighbors(return_distance=False)
    assert (labels[nearest] == labels[:, None]).mean() > 0.95
    spreads = [places[labels == k].std(axis=0).max() for k in range(len(sizes))]
    assert min(spreads) > 0.01 * np.ptp(places)  # members are not at one point


def test_the_same_seed_gives_the_same_places(rng):
    rows, _ = groups((20, 20, 20), 0.1, rng)
    np.testing.assert_array_equal(neighbor_layout(rows, 3), neighbor_layout(rows, 3))
    assert not np.array_equal(neighbor_layout(rows, 3), neighbor_layout(rows, 4))


def test_rows_that_are_equal_have_places(rng):
    places = neighbor_layout(np.repeat(rng.normal(size=(3, 4)), 20, axis=0))
    assert np.isfinite(places).all()
    assert np.isfinite(neighbor_layout(np.ones((20, 3)))).all()


def test_progress_rises_to_the_end(rng):
    parts = []
    neighbor_layout(rng.normal(size=(30, 3)), progress=parts.append)
    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert 0.9 < parts[-1] < 1.0
