"""Candidates without the pairs that few later solutions need: what is proved stays proved."""

import numpy as np
import pytest

from rmgl.edges.candidates import find_candidates
from rmgl.layer.certified import solve_certified
from rmgl.layer.result import Origin
from rmgl.layer.wanted_edges import solve_for_edges


@pytest.fixture
def learned(rng):
    X = rng.normal(size=(400, 3)) * np.repeat([1.0, 6.0], 200)[:, None]
    candidates = find_candidates("x", X, None, 50, local=True, n_neighbors=12)
    return X, *solve_for_edges(Origin("x"), candidates, 12)


def costs_of_all_pairs(X, scaling):
    z = np.square(X[:, None] - X).sum(axis=2)
    local = z / np.outer(scaling.scales, scaling.scales)
    return np.maximum(local, np.minimum.outer(scaling.floors, scaling.floors))


def test_every_pair_within_the_radii_stays(learned):
    X, candidates, layer = learned
    tight = candidates.tightened(layer.potentials)
    radii = tight.neighborhoods.radii
    assert (radii >= layer.potentials).all()
    assert (radii <= candidates.neighborhoods.radii).all()
    costs = costs_of_all_pairs(X, tight.scaling)
    needed = costs * (1 + 1e-9) < radii[:, None] + radii
    np.fill_diagonal(needed, False)
    listed = tight.neighborhoods.pattern.toarray()
    assert listed[needed].all()
    assert tight.edges.n_pairs < candidates.edges.n_pairs / 2


@pytest.mark.parametrize("factor", [0.3, 1.0, 5.0])
def test_later_solutions_are_exact(learned, factor):
    X, candidates, layer = learned
    _, found = solve_certified(
        Origin("x"), candidates.tightened(layer.potentials), factor * layer.alpha, tol=1e-10
    )
    everything = find_candidates("x", X, None, "all", local=True, n_neighbors=12)
    _, exact = solve_certified(Origin("x"), everything, factor * layer.alpha, tol=1e-10)
    assert found.exact
    assert abs(found.adjacency - exact.adjacency).max() < 1e-8


def test_a_guide_or_known_labels_are_left_alone(learned):
    _, candidates, layer = learned
    guided = candidates.guided(np.zeros((400, 1)))
    assert guided.tightened(layer.potentials) is guided
    tied = candidates.with_added(lambda edges, check: np.zeros(2 * edges.n_pairs))
    assert tied.tightened(layer.potentials) is tied
