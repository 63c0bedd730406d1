"""Spaces whose distances are all known, and candidates that are checked against all other pairs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, squareform

from rmgl.edges import find_candidates
from rmgl.edges.neighborhoods import Checked
from rmgl.edges.space import Rows, Square, copies
from rmgl.edges.stores import PairList
from rmgl.layer import Origin
from rmgl.layer.certified import solve_certified
from rmgl.layer.wanted_edges import solve_for_edges
from tests.edges.test_candidates import adversaries, searched

KINDS = [np.asarray, sparse.csr_array]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plane", "clusters", "duplicates"])
def test_squares_hold_the_distances_of_all_rows(name, kind):
    X = searched(name)
    found = Square.of(kind(X)).distances
    np.testing.assert_allclose(
        found, cdist(X, X, "sqeuclidean"), rtol=1e-9, atol=1e-9 * np.square(X).sum(axis=1).max()
    )
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_at_distance_zero_and_near_copies_are_not(kind, rng):
    X = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < 0.2)
    X[10:20] = X[10]
    X[20] = X[10] + 1e-9 * (X[10] != 0)
    found = Square.of(kind(X)).distances
    assert (found[10:20, 10:20] == 0).all()
    np.testing.assert_allclose(found[20, 10:20], 1e-18 * (X[10] != 0).sum(), rtol=1e-5)
    np.testing.assert_array_equal(copies(kind(X))[8:22], [8, 9, *[10] * 10, 20, 21])


@pytest.mark.parametrize("some", [False, True])
def test_squares_know_the_nearest_points(some, rng):
    X = searched("clusters")
    nodes = rng.permutation(len(X))[:40] if some else np.arange(len(X))
    (found, bounds), (expected, _) = (
        space.nearest(nodes, 9) for space in (Square.of(X), Rows.of(X))
    )
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
    np.testing.assert_allclose(bounds, Square.of(X).distances_to(nodes, found).max(axis=1))


def slow_missing(square, scales, floors, guide, u, pattern):
    costs = np.maximum(
        square / np.outer(scales, scales), np.minimum(floors[:, None], floors)
    ) + cdist(guide, guide, "sqeuclidean")
    excess = u[:, None] + u - costs
    excess[pattern.toarray() | np.eye(len(u), dtype=bool)] = 0.0
    return np.maximum(excess, 0.0)


@pytest.mark.parametrize("most", [2, 100])
def test_missing_pairs_are_those_that_would_carry_weight(most, rng):
    n = 150
    square = squareform(rng.random(n * (n - 1) // 2))
    scales, floors, u, guide = (
        rng.uniform(0.5, 1.0, n),
        rng.uniform(0.0, 0.4, n),
        rng.uniform(0.0, 0.6, n),
        0.2 * rng.normal(size=(n, 3)),
    )
    pattern = sparse.csr_array(square < 0.1)
    pattern.setdiag(False)
    pattern.eliminate_zeros()
    excess = slow_missing(square, scales, floors, guide, u, pattern)
    left, right = Square(square).missing(u, PairList(pattern), scales, floors, guide, most)
    assert left.size > n
    for node in range(n):
        wanted = np.argsort(-excess[node])[: min(most, np.count_nonzero(excess[node]))]
        assert set(right[left == node].tolist()) == set(wanted.tolist())


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("name", adversaries())
def test_checked_layers_are_those_over_all_pairs(name, local, guided):
    X = adversaries()[name]
    square = Square.of(X)
    listed, everything = (
        find_candidates("x", square, None, how, local=local, n_neighbors=8) for how in (3, "all")
    )
    if guided:
        guide = np.random.default_rng(1).normal(size=(len(X), 2)) * np.sqrt(
            everything.distances.mean()
        )
        listed, everything = listed.guided(guide), everything.guided(guide)
    assert isinstance(listed.neighborhoods, Checked)
    alpha = solve_for_edges(Origin("x"), everything, 8)[1].alpha
    _, found = solve_certified(Origin("x"), listed, alpha)
    _, expected = solve_certified(Origin("x"), everything, alpha)
    assert found.candidates == "certified"
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(found.adjacency.toarray(), expected.adjacency.toarray(), atol=1e-6)


def test_long_lists_are_shortened_without_a_change_of_the_layer(rng):
    X = rng.normal(size=(400, 60))
    square = Square.of(X)
    listed = find_candidates("x", square, None, 200, local=True, n_neighbors=8)
    candidates, layer = solve_for_edges(Origin("x"), listed, 8)
    assert candidates.edges.n_pairs < listed.edges.n_pairs / 2
    _, again = solve_certified(Origin("x"), candidates, layer.alpha, start=layer.potentials)
    np.testing.assert_allclose(again.adjacency.toarray(), layer.adjacency.toarray(), atol=1e-3)
    assert candidates.nearest(square, 5) is None  # the nearest points need not be among them
