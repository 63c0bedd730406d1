"""Layers with a wanted number of edges where pairs are equally cheap, so that no alpha gives it."""

import numpy as np
import pytest

from rmgl.edges import find_candidates
from rmgl.edges.space import Square
from rmgl.layer import Origin
from rmgl.layer.wanted_edges import solve_for_edges


def test_a_layer_of_all_equals_is_nearer_to_what_is_wanted_than_one_edge():
    """One pair is cheaper than all others: a layer has that edge alone, or also those of all other
    nodes with one another.
    """
    costs = np.ones((30, 30)) - np.eye(30)
    costs[0, 1] = costs[1, 0] = 0.5
    _, layer = solve_for_edges(Origin("x"), find_candidates("x", Square(costs), None, "all"), 4)
    assert layer.exact
    assert layer.n_edges >= 28 * 27 // 2


def test_pairs_of_copies_make_few_candidates_of_others():
    """64 different rows with about a hundred copies each: the edges are between copies, and few
    other pairs are looked at.
    """
    X = (np.random.default_rng(0).random((6000, 6)) < 0.3).astype(float)
    counts = np.unique(X, axis=0, return_counts=True)[1]
    n_copies = int((counts * (counts - 1)).sum()) // 2
    candidates, layer = solve_for_edges(
        Origin("x"), find_candidates("x", X, None, 45, local=True, n_neighbors=12), 12
    )
    assert layer.exact
    assert layer.n_edges == n_copies
    assert candidates.edges.n_pairs < 2 * n_copies


def test_pairs_that_a_certificate_needs_are_refused_where_memory_does_not_do(monkeypatch, rng):
    monkeypatch.setattr("rmgl.running.threads.available_memory", lambda: 200_000)
    candidates = find_candidates("x", rng.normal(size=(300, 2)), None, 3)
    with pytest.raises(MemoryError, match="pairs that a certificate needs"):
        solve_for_edges(Origin("x"), candidates, 100)
