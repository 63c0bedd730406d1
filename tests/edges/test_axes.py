"""Leading columns: lower bounds of distances, and searches that give the same answers with them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rmgl.edges import bounds
from rmgl.edges.bounds import cheapest_width, leading_columns, projected
from rmgl.edges.space import Rows


def images(n, width=100, rank=8, seed=0):
    """Rows near a space of few dimensions, as those of images are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, width)) + 0.05 * rng.normal(
        size=(n, width)
    )
    return X - X.mean(axis=0)


def test_distances_of_leading_columns_are_lower_bounds(rng):
    X = images(80)
    axes, _ = np.linalg.qr(rng.normal(size=(100, 5)))  # any orthonormal columns
    leading = projected(X, np.square(X).sum(axis=1), axes)
    assert leading.shape == (80, 6)
    assert (cdist(leading, leading) <= cdist(X, X) + 1e-9).all()


def test_the_error_of_the_appended_length_is_within_its_allowance(rng):
    """Rows in the span of the axes but for a part of known length, which is a square root of a
    difference without digits.
    """
    turned, _ = np.linalg.qr(rng.normal(size=(100, 6)))
    rest = 10.0 ** rng.uniform(-12, -6, size=200) * (rng.random(200) < 0.5)
    X = np.column_stack([rng.normal(size=(200, 5)), rest]) @ turned.T
    norms = np.square(X).sum(axis=1)
    error = np.abs(projected(X, norms, turned[:, :5])[:, -1] - rest).max() / np.sqrt(norms.max())
    assert 0 < error <= bounds.LEADING_ERROR


def test_rows_without_leading_axes_are_not_rotated(rng):
    for X in (rng.normal(size=(5000, 30)), rng.normal(size=(5000, 100)), images(3000)):
        assert leading_columns(X, np.square(X).sum(axis=1)) is None
    X = images(5000)
    assert leading_columns(X, np.square(X).sum(axis=1)).shape == (5000, 17)
    assert cheapest_width(rng.normal(size=(2000, 70)), np.eye(70)) is None


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bounds, "AXES_SAMPLE", 300)


@pytest.mark.parametrize("some", [False, True])
def test_nearest_rows_are_the_same_with_leading_columns(small, some, rng):
    X = images(1300)
    X[100:140] = X[100]  # copies
    X[200:220] *= 30.0
    X -= X.mean(axis=0)
    rows = Rows(X)
    assert rows._leading is not None
    nodes = rng.permutation(1300)[:70] if some else np.arange(1300)
    found, bounds = rows.nearest(nodes, 12)
    square = cdist(X[nodes], X, "sqeuclidean")
    square[np.arange(nodes.size), nodes] = np.inf
    np.testing.assert_allclose(
        np.sort(np.take_along_axis(square, found, axis=1), axis=1),
        np.sort(square, axis=1)[:, :12],
        rtol=1e-4,
        atol=1e-6,
    )
    np.put_along_axis(square, found, np.inf, axis=1)
    assert (square.min(axis=1) >= bounds).all()


@pytest.mark.parametrize("some", [False, True])
def test_pairs_within_are_the_same_with_leading_columns(small, some, rng):
    X = images(1300)
    rows = Rows(X)
    assert rows._leading is not None
    nodes = rng.permutation(1300)[:70] if some else np.arange(1300)
    square = cdist(X, X, "sqeuclidean")
    scales = rng.uniform(0.8, 1.2, size=1300)
    radii = np.sort(square, axis=1)[:, 12] * rng.uniform(0.3, 0.7, size=1300)
    within = np.outer(scales, scales) * (radii[:, None] + radii)
    wanted = square < within
    np.fill_diagonal(wanted, False)
    wanted[np.setdiff1d(np.arange(1300), nodes)] = False
    found = np.zeros_like(wanted)
    left, right = rows.within(nodes, radii, scales)
    found[left, right] = found[right, left] = True
    assert found[wanted].all()
    norms = np.square(X).sum(axis=1)
    assert (square[found] <= (within + 1e-4 * (norms[:, None] + norms))[found]).all()


def test_leading_columns_need_no_further_loops(small, rng):
    """Loops are compiled once for each precision, whether products are exact or bounds."""
    from rmgl import kernels

    def signatures_after(X):
        rows = Rows(X)
        for nodes in (np.arange(1300), rng.permutation(1300)[:70]):
            found, bounds = rows.nearest(nodes, 12)
            rows.distances_to(nodes, found)
            rows.within(nodes, np.full(1300, np.median(bounds) / 2))
        rows.nearest_to(X[:9], 12)
        return rows._leading is not None, {
            name: list(getattr(kernels, name).signatures) for name in kernels.__all__
        }

    leading, known = signatures_after(images(1300, width=40))
    assert not leading
    assert signatures_after(images(1300)) == (True, known)
