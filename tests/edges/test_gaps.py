"""Distances of rows with missing cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

from rmgl import learn_layer
from rmgl.edges import gaps as module
from rmgl.edges.gaps import Gapped, Summed
from rmgl.edges.space import Square
from rmgl.edges.stores import AllPairs, PairList, union_of


def holed(n=40, columns=5, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) * rng.uniform(0.5, 2, columns) + rng.normal(size=columns)
    gaps = rng.random(X.shape) < share
    return np.where(gaps, 0.0, X), gaps


def obvious(X, gaps):
    """The formula, pair by pair and column by column."""
    n, width = X.shape
    usual = [2 * np.var(X[~gaps[:, k], k]) if (~gaps[:, k]).any() else 0.0 for k in range(width)]
    means = [np.mean(X[~gaps[:, k], k]) if (~gaps[:, k]).any() else 0.0 for k in range(width)]
    # c: the usual difference of one column
    total, c = sum(usual), sum(usual) / max(1, np.count_nonzero(usual))
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            shared = [k for k in range(width) if not gaps[i, k] and not gaps[j, k]]
            apart, known = (
                sum((X[i, k] - X[j, k]) ** 2 for k in shared),
                sum(usual[k] for k in shared),
            )
            one_lacks = sum(
                (X[i if gaps[j, k] else j, k] - means[k]) ** 2
                for k in range(width)
                if gaps[i, k] != gaps[j, k]
            )
            if i != j:
                scaled_up = (total - known) * (apart + c) / (known + c) if total > 0 else 0.0
                distances[i, j] = apart + (max(scaled_up, one_lacks) if known > 0 else scaled_up)
    return distances


@settings(max_examples=25)
@given(
    st.integers(2, 12),
    st.integers(1, 5),
    st.floats(0, 0.9),
    st.integers(0, 1000),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_three_products_are_the_formula(n, columns, share, seed, unit):
    X, gaps = holed(n, columns, share, seed)
    X = unit * X
    X[0] = X[1] = np.where(gaps[0] & gaps[1], 0.0, X[0])  # near copies
    gaps[1] = gaps[0]
    X[gaps] = 0.0
    space, wanted = Gapped.of(X, gaps), obvious(X, gaps)
    scale = max(wanted.max(), 1e-300)
    found = space.block(np.arange(n))
    np.fill_diagonal(found, 0.0)
    np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-10)
    np.testing.assert_allclose(
        Square.of_blocks(space).distances / scale, wanted / scale, atol=1e-10
    )
    np.testing.assert_allclose(
        space.measure(AllPairs(n)) / scale, squareform(wanted, checks=False) / scale, atol=1e-10
    )
    left, right = np.triu_indices(n, 1)
    np.testing.assert_allclose(
        space.pairs(left, right) / scale, wanted[left, right] / scale, atol=1e-10
    )
    np.testing.assert_array_equal(space.pairs(left, right), space.pairs(right, left))


def test_without_gaps_they_are_squared_distances():
    X, _ = holed()
    wanted = Square.of(X).distances
    np.testing.assert_allclose(Square.of_blocks(Gapped.of(X, None)).distances, wanted, atol=1e-12)


def test_they_estimate_the_full_distances():
    X, _ = holed(200, 60, seed=1)
    gaps = np.random.default_rng(2).random(X.shape) < 0.3
    estimated = Square.of_blocks(Gapped.of(np.where(gaps, 0.0, X), gaps)).distances
    assert abs(estimated.sum() / Square.of(X).distances.sum() - 1) < 0.01


def test_rows_that_share_no_column_have_the_mean_distance():
    X, gaps = holed(30, 4, 0.0)
    gaps[0], gaps[1] = [True, True, False, False], [False, False, True, True]
    X[gaps] = 0.0
    space = Gapped.of(X, gaps)
    assert space.pairs(np.array([0]), np.array([1])) == pytest.approx(space.mean_distance)


def test_searches_are_exact_in_blocks_of_any_size(monkeypatch):
    X, gaps = holed(50)
    wanted = obvious(X, gaps)
    np.fill_diagonal(wanted, np.inf)
    for entries in (1, 120, 1 << 20):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", entries)
        space = Gapped.of(X, gaps)
        neighbors, bounds = space.nearest(np.arange(50), 6)
        ordered = np.sort(wanted, axis=1)
        found = space.distances_to(np.arange(50), neighbors)
        np.testing.assert_allclose(np.sort(found, axis=1), ordered[:, :6])
        assert (bounds <= ordered[:, 6]).all()
        radii, scales = np.linspace(0.1, 1.5, 50), np.linspace(0.8, 1.2, 50)
        pairs = set(
            zip(
                *(part.tolist() for part in space.within(np.arange(50), radii, scales)), strict=True
            )
        )
        reach = np.outer(scales, scales) * (radii[:, None] + radii)
        assert pairs == set(
            zip(*(part.tolist() for part in np.nonzero(wanted < reach)), strict=True)
        )
        edges = PairList(union_of(*space.within(np.arange(50), radii, scales), 50))
        np.testing.assert_allclose(space.measure(edges), edges.entries_of(wanted))
    assert np.isinf(space.nearest(np.arange(3), 49)[1]).all()


def test_spaces_side_by_side_are_summed():
    (X, gaps), (Y, _) = holed(), holed(columns=3, seed=1)
    parts = [Gapped.of(X, gaps), Gapped.of(Y, None)]
    space = Summed(parts, [0.5, 2.0])
    some = np.arange(3, 9)
    wanted = 0.25 * parts[0].block(np.arange(40)) + 4 * parts[1].block(np.arange(40))
    np.testing.assert_allclose(space.block(some), wanted[some])
    np.testing.assert_allclose(space.among(some).block(np.arange(6)), wanted[np.ix_(some, some)])
    np.testing.assert_allclose(
        space.pairs(np.array([0, 1]), np.array([5, 7])), [wanted[0, 5], wanted[1, 7]]
    )


def test_new_rows_are_compared_in_the_same_way():
    X, gaps = holed(30)
    space = Gapped.of(X, gaps)
    found = space.distances_from(X, gaps)
    assert (np.diag(found) == 0).all()
    off = ~np.eye(30, dtype=bool)
    np.testing.assert_allclose(found[off], obvious(X, gaps)[off])


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_lists_give_the_certified_solution_over_all_pairs(share):
    X, gaps = holed(120, 4, share)
    Y = np.where(gaps, np.nan, X)
    Y[gaps.all(axis=1), 0] = 1.0
    over_all, listed = learn_layer(Y, 5.0, candidates="all"), learn_layer(Y, 5.0, candidates=4)
    assert over_all.status == listed.status == "converged"
    assert listed.exact
    assert listed.candidates == "certified"
    assert max(listed.kkt_residual, over_all.kkt_residual) <= 1e-8
    np.testing.assert_allclose(listed.adjacency.toarray(), over_all.adjacency.toarray(), atol=1e-6)


def test_bounds_hold_in_spite_of_rounding(rng):
    """All distances are equal, up to rounding: those of rows that are not listed may come out below
    the last one that is.
    """
    X = 0.37 * np.linalg.qr(rng.normal(size=(40, 40)))[0]
    space = Gapped.of(X, None)
    neighbors, bounds = space.nearest(np.arange(40), 6)
    for node in range(40):
        others = np.setdiff1d(np.arange(40), [node, *neighbors[node]])
        exact = space.pairs(np.full(others.size, node), others)
        assert (bounds[node] <= exact).all()
        assert bounds[node] > 0.999 * exact.max()
