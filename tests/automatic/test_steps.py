"""Single steps of the automatic choice, with a case on both sides of every limit that
docs/defaults.md names.
"""

import numpy as np
import pytest
from scipy import sparse

from rmgl import Policy
from rmgl.automatic import choose as module
from rmgl.automatic.choose import Measured, State, can_do_with, is_complementary, measure
from rmgl.automatic.layers import Learned, Task
from rmgl.automatic.spaces import Spaces
from rmgl.automatic.weighing import same_graph
from rmgl.layer import Origin, given_layer
from rmgl.views.views import Views


def task_of(views, policy=None):
    """A task for single steps."""
    unused = dict.fromkeys(("n_neighbors", "wanted", "stores", "team", "random_state", "run"))
    return Task(spaces=Spaces(views, None), policy=policy or Policy(), **unused)


def state_of(views, n_clusters, layers=(), policy=None):
    """A state that single steps begin with."""
    return State(task_of(views, policy), list(layers), n_clusters=n_clusters)


@pytest.mark.parametrize(
    ("n_rows", "n_complete", "n_clusters", "enough"),
    [
        (60, 30, 5, True),  # half of the entities, and six for each cluster
        (60, 29, 2, False),
        (60, 36, 6, True),
        (60, 35, 6, False),
        (24, 12, None, True),  # at least two clusters
        (22, 11, None, False),
    ],
)
def test_half_of_the_entities_must_be_complete_and_six_for_each_cluster(
    n_rows, n_complete, n_clusters, enough, rng
):
    X = rng.normal(size=(n_rows, 3))
    observed = np.column_stack([np.ones(n_rows, dtype=bool), np.arange(n_rows) < n_complete])
    views = Views.of([X, X], observed=observed)
    assert can_do_with(task_of(views), views.in_all, n_clusters) == enough


@pytest.mark.parametrize(
    ("excess", "complementary"), [(0.0, False), (0.0999, False), (0.1, True), (0.5, True)]
)
def test_views_are_complementary_from_an_excess_of_a_tenth(excess, complementary, rng, monkeypatch):
    monkeypatch.setattr(module, "measure", lambda state: Measured(None, None, excess))
    views = Views.of([rng.normal(size=(20, 2))] * 2)
    assert is_complementary(state_of(views, 2)) is complementary


def links_inside(group, share, rng):
    """A graph of random edges, of which a share stays inside the groups."""
    inside = rng.permutation(np.argwhere(np.triu(group[:, None] == group, 1)))[: round(400 * share)]
    across = rng.permutation(np.argwhere(np.triu(group[:, None] != group, 1)))[
        : round(400 * (1 - share))
    ]
    left, right = np.vstack([inside, across]).T
    W = sparse.coo_array((np.ones(left.size), (left, right)), shape=(group.size, group.size))
    return sparse.csr_array(W + W.T)


def test_the_excess_is_the_roughness_of_the_views_beyond_three_times_that_of_the_consensus(
    rng, monkeypatch
):
    """An embedding of three clusters at right angles: roughness is 1.5 times the share of the edges
    between them.
    """
    group = np.repeat(np.arange(3), 40)
    graphs = [links_inside(group, share, rng) for share in (0.6, 0.7, 0.95)]
    origins = [
        Origin("a"),
        Origin("b", views=(1,)),
        Origin("consensus", "consensus", None, (0, 1), (1.0, 1.0)),
    ]
    layers = [
        Learned(None, given_layer(origin, graph))
        for origin, graph in zip(origins, graphs, strict=True)
    ]
    views = Views.of([rng.normal(size=(120, 2))] * 2)
    state = state_of(views, 3, layers, Policy(small_component=0.0))
    monkeypatch.setattr(State, "embed", lambda self, layers, weights: np.eye(3)[group])
    monkeypatch.setattr(module, "measure_on_others", lambda state, graphs: np.array([9.0, 9.0]))
    found = measure(state)
    np.testing.assert_allclose(found.roughness, 1.5 * np.array([0.4, 0.3]) + 0.005)
    weights = state.task.policy.weigh(found.roughness, np.ones(2), True)
    assert found.excess == pytest.approx(weights @ [0.6, 0.45] - 3 * 0.075)
    monkeypatch.setattr(module, "measure_on_others", lambda state, graphs: np.array([0.1, 0.1]))
    # the views agree with one another, so the consensus is wrong
    assert measure(state).excess == 0.0


@pytest.mark.parametrize(
    ("excess", "share"),
    [(0.1, 0.0), (0.25, 0.0), (0.275, 1.0), (0.3, 2.0), (0.35, 4.0), (0.9, 4.0)],
)
def test_the_share_of_the_consensus_rises_to_four_between_a_quarter_and_seven_twentieths(
    excess, share
):
    assert Policy().share_of_consensus(excess) == pytest.approx(share, abs=1e-12)


def test_a_fragment_has_fewer_members_than_three_twentieths_of_a_mean_cluster(rng):
    """Of 200 entities in 4 clusters, 7 are few and 8 are not."""
    state = state_of(Views.of([rng.normal(size=(200, 2))]), 4)
    assert 7 < state.min_cluster_size <= 8


def test_edges_are_informative_in_components_of_a_fifth_of_a_mean_cluster(rng):
    """Of 200 entities in 4 clusters, a path of 10 is enough and one of 9 is not; the edges between
    copies do not count either.
    """
    X = rng.normal(size=(200, 2))
    X[101] = X[100]
    linked = np.setdiff1d(np.arange(199), [180, 190])  # paths of 181, 10 and 9 nodes
    W = sparse.coo_array((np.ones(linked.size), (linked, linked + 1)), shape=(200, 200))
    layer = given_layer(Origin("a"), sparse.csr_array(W + W.T))
    kept = state_of(Views.of([X]), 4).informative(Learned(None, layer))
    first = np.sort(sparse.triu(kept).tocoo().row)
    np.testing.assert_array_equal(first, np.setdiff1d(linked[linked < 190], [100]))


def test_graphs_are_the_same_if_their_edges_and_weights_are():
    path = sparse.csr_array(np.diag([1.0, 2.0], 1) + np.diag([1.0, 2.0], -1))
    empty = sparse.csr_array((3, 3))
    assert same_graph(path, path.copy())
    assert not same_graph(path, 2 * path)
    assert not same_graph(path, sparse.csr_array(path.toarray()[::-1, ::-1]))
    assert same_graph(empty, empty)
    assert not same_graph(empty, empty.copy())  # those of two views that say nothing
    rows = [
        sparse.csr_array(([1.0], [2], indptr), shape=(3, 3))
        for indptr in ([0, 1, 1, 1], [0, 0, 1, 1])
    ]
    assert not same_graph(*rows)
