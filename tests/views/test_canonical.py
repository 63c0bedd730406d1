"""The canonical order of entities: the same data in another order are, in canonical order, the same
data.
"""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from rmgl import Network
from rmgl.views import canonical
from rmgl.views.canonical import canonical_order
from rmgl.views.views import Views


def canonical_form(*matrices):
    """Networks with their nodes in canonical order, as bytes that can be compared."""
    order = canonical_order(
        Views.of([Network(sparse.csr_array(matrix)) for matrix in matrices])
    ).order
    return [np.asarray(matrix)[np.ix_(order, order)].tobytes() for matrix in matrices]


def has_one_form(*matrices, n_orders=4):
    """Whether networks have one canonical form in several orders of their nodes."""
    orders = [np.random.default_rng(seed).permutation(len(matrices[0])) for seed in range(n_orders)]
    forms = [
        canonical_form(*(matrix[np.ix_(order, order)] for matrix in matrices)) for order in orders
    ]
    return all(form == forms[0] for form in forms)


def matrix_of(graph):
    return nx.to_numpy_array(graph)


REGULAR = [
    pytest.param(degree, n, seed, id=f"{degree}-{n}-{seed}")
    for degree, n in ((3, 60), (4, 60), (4, 300))
    for seed in range(4)
]


@pytest.mark.parametrize(("degree", "n", "seed"), REGULAR)
def test_random_regular_networks(degree, n, seed):
    assert has_one_form(matrix_of(nx.random_regular_graph(degree, n, seed=seed)))


def test_a_cubic_network_without_short_cycles():
    """Its nodes are in no triangle and in no square: walks of two steps alone tell nothing."""
    networks = (matrix_of(nx.random_regular_graph(3, 40, seed=seed)) for seed in range(500))
    longer = next(
        W for W in networks if not (W @ W * W).any() and (W @ W - 3 * np.eye(40)).max() == 1
    )
    assert has_one_form(longer)


SYMMETRIC = {
    "cycle": nx.cycle_graph(150),
    "path": nx.path_graph(151),
    "torus": nx.grid_2d_graph(6, 9, periodic=True),
    "hypercube": nx.hypercube_graph(5),
    "star": nx.star_graph(80),
    "tree": nx.balanced_tree(3, 3),
    "cliques in a ring": nx.connected_caveman_graph(5, 6),
    "separate triangles": nx.disjoint_union_all([nx.cycle_graph(3)] * 20),
    "separate cycles of several lengths": nx.disjoint_union_all(
        [nx.cycle_graph(length) for length in (3, 4, 5, 6, 7) * 2]
    ),
    "strongly regular": nx.line_graph(nx.complete_bipartite_graph(4, 4)),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_any_of_several_nodes_that_are_exchangeable_may_be_first(name):
    assert has_one_form(matrix_of(SYMMETRIC[name]))


def test_two_networks_are_told_apart_by_what_they_have_in_common():
    """A ring and its second neighbors: each alone is symmetric, and so are both; with one edge more
    in one of them, nothing is.
    """
    ring, second = (matrix_of(nx.circulant_graph(24, [step])) for step in (1, 2))
    assert has_one_form(ring, second)
    second[0, 7] = second[7, 0] = 1.0
    assert has_one_form(ring, second)
    one, other = (matrix_of(nx.random_regular_graph(3, 30, seed=seed)) for seed in (1, 2))
    assert has_one_form(one, other)


def test_little_work_still_gives_an_order(monkeypatch):
    """Where a network is too large for more, its nodes stay in the order of the caller as far as
    color refinement cannot tell them apart.
    """
    monkeypatch.setattr(canonical, "WORK", 0)
    ring = matrix_of(nx.cycle_graph(90))
    np.testing.assert_array_equal(
        canonical_order(Views.of([Network(sparse.csr_array(ring))])).order, np.arange(90)
    )


def test_nodes_without_links_count_as_work(monkeypatch):
    """A round looks at all entities: 1000 linked pairs among 50 000 took 49 s, because only links
    were counted.
    """
    n_rounds, of_others = [], canonical.of_others
    monkeypatch.setattr(
        canonical, "of_others", lambda *given: n_rounds.append(1) or of_others(*given)
    )
    monkeypatch.setattr(canonical, "WORK", 20_000)
    links = nx.disjoint_union_all([nx.path_graph(2)] * 60 + [nx.path_graph(1)] * 280)
    canonical_order(
        Views.of([Network(sparse.csr_array(matrix_of(links))), np.arange(400)[:, None] // 200])
    )
    assert len(n_rounds) <= 20_000 / 400
