"""Parts of a graph found anew on some of its nodes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl.embedding.resampling import four_fifths, parts_of

GROUP = np.repeat(np.arange(4), 10)
GRAPH = sparse.csr_array(
    (GROUP[:, None] == GROUP)
    - np.eye(40)
    + 0.01 * (GROUP[:, None] // 2 == GROUP // 2) * (GROUP[:, None] != GROUP)
)


@pytest.mark.parametrize(("n", "drawn"), [(100, 80), (10, 8), (3, 2), (2, 2)])
def test_four_fifths_are_drawn_without_repetition_and_in_order(n, drawn):
    nodes = 7 * np.arange(n)
    found = four_fifths(nodes, np.random.RandomState(0))
    assert found.size == drawn
    assert (np.diff(found) > 0).all()
    assert np.isin(found, nodes).all()


def test_draws_differ():
    random_state = np.random.RandomState(0)
    assert not np.array_equal(
        four_fifths(np.arange(50), random_state), four_fifths(np.arange(50), random_state)
    )


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("dense", [True, False])
def test_the_parts_are_those_of_the_nodes_that_were_drawn(normalized, dense):
    nodes = four_fifths(np.arange(40), np.random.RandomState(1))
    graph = GRAPH.toarray() if dense else GRAPH
    two, four = parts_of(
        graph, nodes, [2, 4], np.random.RandomState(0), tol=1e-8, normalized=normalized
    )
    assert adjusted_rand_score(GROUP[nodes] // 2, two) == 1.0
    assert adjusted_rand_score(GROUP[nodes], four) == 1.0


def test_there_are_not_more_parts_than_nodes():
    (found,) = parts_of(GRAPH, np.array([0, 10, 20]), [5], np.random.RandomState(0), tol=1e-8)
    assert sorted(found.tolist()) == [0, 1, 2]
