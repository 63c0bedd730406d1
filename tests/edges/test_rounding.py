"""Statements about rows that a search has not found hold for exact distances, also where squares
vanish in single precision.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from rmgl import learn_layer
from rmgl.edges import bounds
from rmgl.edges.bounds import Rounding
from rmgl.edges.search import Rows

SCALES = [1e-12, 1e-19, 1e-20, 1e-21, 1e-22, 1e-30, 1e-150]
"""Squares vanish in single precision below 1e-23, and have few digits below 1e-19."""
LARGEST = [1.0, 1e-8]
N = 300


def halves(rng, scale):
    return rng.normal(size=(150, 3)) * np.where(np.arange(150) % 2, 1.0, scale)[:, None]


def few_far_rows(rng, scale):
    """So few that single precision is thought to suffice."""
    return rng.normal(size=(150, 2)) * np.where(np.arange(150) < 1, 1.0, scale)[:, None]


def small_columns(rng, scale):
    X = rng.normal(size=(150, 4)) * np.array([1.0, scale, scale, scale])
    X[50:, 0] = 0.0
    return X


def all_scales(rng, scale):
    return rng.normal(size=(150, 2)) * scale ** rng.random((150, 1))


def along_few_axes(rng, scale):
    """Rows that are compared by their leading columns first."""
    X = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 70)) + 0.01 * rng.normal(size=(150, 70))
    return X * np.where(np.arange(150) < 75, 1.0, scale)[:, None]


ARRANGEMENTS = [halves, few_far_rows, small_columns, all_scales, along_few_axes]


def arranged(arrangement, scale, largest):
    """Centered rows: every one has its opposite."""
    X = largest * arrangement(np.random.default_rng(0), scale)
    return np.vstack([X, -X])


def check_bounds(space, arrangement, largest):
    """No row is nearer than the bound unless it is listed."""
    for scale in SCALES:
        X = arranged(arrangement, scale, largest)
        found, bounds = space(X).nearest(np.arange(N), 7)
        square = cdist(X, X, "sqeuclidean")
        np.fill_diagonal(square, np.inf)
        last = np.sort(square, axis=1)[:, 6]
        np.put_along_axis(square, found, np.inf, axis=1)
        assert (bounds <= square.min(axis=1) * (1 + 1e-13)).all(), scale
        assert (bounds >= 0.98 * last - 1e-12 * np.square(X).sum(axis=1) - 1e-300).all(), scale


def check_pairs(space, arrangement, largest, scaled):
    """No pair within the radii is missed."""
    for scale in SCALES:
        X = arranged(arrangement, scale, largest)
        square, factors = cdist(X, X, "sqeuclidean"), np.random.default_rng(1).uniform(0.1, 1.0, N)
        factors[5] = -0.1
        near = np.sort(square, axis=1)[:, 7]
        scales, radii = (np.sqrt(near), factors) if scaled else (np.ones(N), near * factors)
        wanted = square < scales[:, None] * scales * (radii[:, None] + radii)
        for nodes in (np.arange(N), np.arange(0, N, 3)):
            assert not missed(wanted, nodes, *space(X).within(nodes, radii, scales)).any(), scale


def check_large_radii(space):
    """Nor is one if single precision cannot hold the radii."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    radii, scales = np.full(200, 1e61), np.full(200, 1e-30)
    radii[7], scales[7] = -1e60, 1.0
    wanted = scales[:, None] * scales * (radii[:, None] + radii) > 1e3
    assert wanted[7].sum() == 199
    assert not missed(wanted, np.arange(200), *space(X).within(np.arange(200), radii, scales)).any()


def missed(wanted, nodes, left, right):
    """Which of the wanted pairs of nodes and other rows are not among those found."""
    lacking = wanted & ~np.eye(len(wanted), dtype=bool)
    lacking[left, right] = lacking[right, left] = False
    return lacking[nodes]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bounds, "AXES_SAMPLE", 100)


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_no_row_is_nearer_than_the_bound_unless_it_is_listed(small, arrangement, largest):
    check_bounds(Rows, arrangement, largest)


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("scaled", [False, True])
def test_no_pair_within_the_radii_is_missed(small, arrangement, largest, scaled):
    assert (Rows(arranged(arrangement, 1e-20, largest))._leading is not None) == (
        arrangement is along_few_axes
    )
    check_pairs(Rows, arrangement, largest, scaled)


def test_radii_too_large_for_single_precision_miss_no_pair():
    check_large_radii(Rows)


@pytest.mark.parametrize("copies", [2, 12])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-12, 1e-19, 1e-22, 1e-30, 1e-60])
def test_layers_are_exact_over_all_pairs(scale, kind, copies):
    """Costs are small: those of near rows, and of copies far away."""
    rows = np.vstack([scale * np.random.default_rng(0).normal(size=(700, 2)), np.ones((copies, 2))])
    X = np.vstack([rows, -rows])
    alpha = scale**2
    layer = learn_layer(kind(X), alpha, candidates=copies - 1)
    assert layer.exact
    u = layer.potentials
    excess = np.maximum(u[:, None] + u - cdist(X, X, "sqeuclidean"), 0.0)
    np.fill_diagonal(excess, 0.0)
    residual = np.abs(excess.sum(axis=1) / (4 * alpha) + (u - u.mean()) / (2 * alpha) - 1).max()
    assert residual == pytest.approx(layer.kkt_residual, abs=1e-10)


numbers = st.builds(
    lambda sign, exponent: sign * 10.0**exponent,
    st.sampled_from([-1.0, 0.0, 1.0]),
    st.floats(-50, 14),
)
pairs_of_numbers = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6)


@settings(max_examples=150)
@given(pairs=pairs_of_numbers, near=st.booleans())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_off_by_no_more_than_rounding(dtype, pairs, near):
    x, y = np.array(pairs).T
    y = x * (1 + 1e-6) if near else y
    exact = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True))
    norms = sum(Fraction(a) ** 2 for a in (*x, *y))
    of_x, of_y = ((row @ row / 2).astype(dtype) for row in (x, y))
    computed = -2 * Fraction(float(x.astype(dtype) @ y.astype(dtype) - of_x - of_y))
    rounding = Rounding.of(x.size, dtype)
    assert abs(computed - exact) <= Fraction(rounding.share) * norms + Fraction(rounding.floor)
