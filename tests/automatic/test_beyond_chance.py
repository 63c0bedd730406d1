"""Agreement beyond chance, and what networks gain from it."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, Network
from rmgl.automatic.beyond_chance import agreement, chance_deviation, weights_beyond_chance
from rmgl.automatic.weighing import roughness_deviation
from rmgl.metrics import normalized_mutual_info_score


def network(rng, group, degree=6.0, between=0.2):
    """Links by groups, with hubs and leaves: a share `between` of them leads anywhere."""
    n, sizes = group.size, np.bincount(group)
    wanted = np.minimum((1 - rng.random(n)) ** -0.7, 10.0)
    wanted /= wanted.mean()
    inside = (group[:, None] == group) * (1 - between) * n / sizes[group][:, None]
    chances = np.outer(wanted, wanted) * degree / n * (inside + between)
    A = np.triu(rng.random((n, n)) < chances, 1).astype(float)
    return A + A.T


def nmi(group, *views, n_clusters=None, **named):
    n_clusters = n_clusters or int(group.max()) + 1
    model = RMGL(n_clusters, random_state=0).fit(list(views) if views else named)
    return normalized_mutual_info_score(group, model.labels_), model


def linked(group, *graphs):
    """What belongs to entities that have a link in some graph."""
    kept = np.flatnonzero(sum(graphs).any(axis=1))
    return group[kept], [Network(graph[np.ix_(kept, kept)]) for graph in graphs]


def test_deviation_is_that_of_all_pairs(rng):
    A = sparse.csr_array(network(rng, np.repeat([0, 1], 20)))
    rows = rng.normal(size=(40, 3))
    # one is relative to the mean over pairs of two nodes, the other to that over all pairs
    assert chance_deviation(rows, A) * 40 / 39 == pytest.approx(roughness_deviation(rows, A))


def test_roughness_is_measured_against_pairs_drawn_by_degree(rng):
    A = network(rng, np.repeat([0, 1], 15))
    kept = A.any(axis=1)
    A = A[np.ix_(kept, kept)]
    rows, degrees = rng.normal(size=(len(A), 2)), A.sum(axis=1)
    apart = np.square(rows[:, None] - rows).sum(axis=2)
    by_degree = np.outer(degrees, degrees) / degrees.sum() ** 2
    expected = (A * apart).sum() / A.sum() / (by_degree * apart).sum()
    assert agreement(rows, sparse.csr_array(A)).roughness == pytest.approx(expected)


def test_agreement_is_beyond_chance_only_where_links_follow_the_rows(rng):
    group = np.repeat([0, 1, 2], 60)
    rows = 3 * np.eye(3)[group] + rng.normal(size=(180, 3))
    follows, ignores = (sparse.csr_array(network(rng, group, between=b)) for b in (0.2, 1.0))
    assert agreement(rows, follows).share > 0.9
    shares = [
        agreement(rows[np.random.default_rng(seed).permutation(180)], ignores).share
        for seed in range(40)
    ]
    assert np.mean(shares) < 0.2
    assert agreement(rows, sparse.csr_array((180, 180))).share == 0.0
    assert agreement(np.ones((180, 2)), follows).share == 0.0


def test_weights_move_toward_equal_as_views_agree_less():
    for least in np.linspace(0.0, 1.0, 6):
        weights = weights_beyond_chance(np.array([least, 0.0]))
        assert weights.sum() == pytest.approx(1.0)
        assert weights[0] == pytest.approx((1 + least) / 2)
    np.testing.assert_allclose(weights_beyond_chance(np.full(4, 0.3)), 0.25)


def test_hubs_and_leaves_do_not_hide_the_groups():
    """29 pupils in two groups, as in small studies; the mean over draws."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        group = np.repeat([0, 1], [12, 17])
        group, views = linked(group, *(network(rng, group, 6.0, 0.15) for _ in range(3)))
        found.append(nmi(group, *views)[0])
    assert np.mean(found) > 0.9


def test_many_small_components_take_no_clusters():
    """The mean over draws: 0.64 with a standard error of 0.03."""
    scores, components = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(4), 120)
        group, views = linked(group, network(rng, group, 2.6, 0.15))
        score, model = nmi(group, *views)
        scores.append(score)
        components.append(model.layers_[0].n_components)
        assert np.bincount(model.labels_).min() > 50
    assert components[0] > 10
    assert np.mean(scores) > 0.5


def test_networks_of_noise_lose_their_weight():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(3), 80)
    graphs = [network(rng, group, 7.0, between) for between in (0.25, 0.25, 1.0)]
    group, views = linked(group, *graphs)
    score, model = nmi(group, *views)
    assert model.view_weights_[2] < 0.1
    assert score > 0.8


def test_a_network_given_twice_counts_as_one():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(3), 40)
    group, (view,) = linked(group, network(rng, group, 8.0, 0.2))
    _, once = nmi(group, view)
    _, twice = nmi(group, view, view)
    np.testing.assert_array_equal(once.labels_, twice.labels_)
    np.testing.assert_allclose(twice.view_weights_, 0.5)


def test_layers_of_networks_stay_as_given_and_feasible(rng):
    group, (view,) = linked(np.repeat([0, 1], 25), network(rng, np.repeat([0, 1], 25)))
    model = nmi(group, view)[1]
    (layer,) = model.layers_
    assert layer.adjacency.sum() == pytest.approx(layer.n_nodes)
    factor = layer.n_nodes / view.graph.sum()
    np.testing.assert_allclose(layer.adjacency.toarray(), factor * view.graph)
    Q, C = model.embedding_, np.diag(model.balance_.mass)
    np.testing.assert_allclose(Q.T @ C @ Q, np.eye(2), atol=1e-6)
    degrees = layer.degrees + 0.1
    np.testing.assert_allclose(model.balance_.mass, degrees / degrees.mean())


def test_new_nodes_and_saved_models_have_masses(rng, tmp_path):
    group = np.repeat([0, 1], 30)
    group, (view,) = linked(group, network(rng, group, 8.0, 0.1))
    model = nmi(group, view)[1]
    new = view.graph[:5] * 1.7  # other weights, so that none is a copy of a fitted row
    np.testing.assert_array_equal(model.predict([new]), model.labels_[:5])
    model.save(tmp_path / "model.rmgl")
    loaded = RMGL.load(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(loaded.balance_.mass, model.balance_.mass)
    np.testing.assert_array_equal(loaded.transform([new]), model.transform([new]))


def test_rows_are_smoothed_only_along_networks_that_follow_them():
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(4), 60)
    words = rng.poisson(np.where(np.arange(80) // 20 == group[:, None], 0.6, 0.2)).astype(float)
    alone, _ = nmi(group, words)
    for between, is_smoothed in ((0.2, True), (1.0, False)):
        links = Network(network(rng, group, 4.0, between))
        score, model = nmi(group, words=words, links=links)
        share = max(layer.network_share for layer in model.layers_)
        assert (share > 0.5) == is_smoothed
        assert (share == 0.0) == (not is_smoothed)
        assert score > alone - 0.1
        assert model.balance_ is None
