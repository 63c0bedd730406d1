"""How firmly entities stand in their clusters: equal to counting edges one by one."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.layer import Origin, given_layer
from rmgl.results import standing
from rmgl.results.clusters import (
    best_overlaps,
    cluster_facts,
    stability_of_clusters,
    typical_members,
)
from rmgl.results.own_neighbors import OwnNeighbors
from rmgl.results.standing import agreement_of_views, standing_of
from tests.conftest import planted_views


def graph(n, seed, empty=()):
    weights = sparse.random(n, n, density=0.2, random_state=seed, format="lil")
    for node in empty:
        weights[node, :] = weights[:, node] = 0
    half = sparse.triu(sparse.csr_array(weights), 1)
    return sparse.csr_array(half + half.T)


@pytest.fixture
def layers():
    return [
        given_layer(Origin("a"), graph(30, 0, empty=[4])),
        given_layer(Origin("b", views=(1,)), graph(30, 1, empty=[4, 5])),
    ]


LABELS = np.arange(30) % 3


def in_place(layers):
    """The edges of layers in place of the nearest neighbors in views."""
    return [OwnNeighbors(layer.adjacency) for layer in layers]


def slow_votes(adjacency, node):
    return np.array([adjacency.toarray()[node, cluster == LABELS].sum() for cluster in range(3)])


@pytest.mark.parametrize("n_rows", [7, 1 << 16])
def test_shares_are_counted_edges(layers, n_rows, monkeypatch):
    monkeypatch.setattr(standing, "ROWS", n_rows)
    beta = np.array([0.3, 0.7])
    found = standing_of(layers, beta, LABELS, 3, in_place(layers))
    for node in range(30):
        each = [slow_votes(layer.adjacency, node) for layer in layers]
        total = beta @ each
        if node == 4:
            assert np.isnan(
                [found.confidence[node], found.agreement[node], found.common.of_named[node]]
            ).all()
            assert found.common.named[node] == -1
            continue
        own, others = total[LABELS[node]], np.delete(total, LABELS[node])
        assert found.common.own[node] == pytest.approx(own / total.sum())
        assert found.confidence[node] == pytest.approx(own / (own + others.max()))
        assert found.common.named[node] == total.argmax()
        assert found.common.of_named[node] == pytest.approx(total.max() / total.sum())
        asked = [votes for votes in each if votes.any()]
        assert found.agreement[node] == pytest.approx(
            np.mean([votes.argmax() == LABELS[node] for votes in asked])
        )
    for cluster in range(3):
        members = np.flatnonzero(cluster == LABELS)
        votes = sum(slow_votes(layers[0].adjacency, node) for node in members)
        assert found.layers[0].by_cluster[cluster] == pytest.approx(votes[cluster] / votes.sum())
    assert (np.diff(found.confidence[found.doubtful]) >= 0).all()
    assert set(found.doubtful) == set(np.flatnonzero(found.confidence < standing.DOUBTFUL))


def test_weak_edges_to_all_clusters_are_no_doubt():
    """In a complete graph with heavier edges inside, the share of a cluster is small, but no other
    one comes near.
    """
    weights = np.where(LABELS[:, None] == LABELS, 5.0, 1.0) - 5.0 * np.eye(30)
    found = standing_of(
        [given_layer(Origin("a"), sparse.csr_array(weights))], np.ones(1), LABELS, 3
    )
    assert found.confidence == pytest.approx(45 / 55)
    assert found.doubtful.size == 0
    one = standing_of(
        [given_layer(Origin("a"), sparse.csr_array(weights))],
        np.ones(1),
        np.zeros(30, dtype=int),
        1,
    )
    assert (one.confidence == 1).all()


def test_entities_are_doubtful_below_three_fifths():
    """The edges of node 1 to its own cluster weigh 61 of 100, those of node 2 weigh 59."""
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 3], weights[0, 2], weights[2, 3] = 61.0, 39.0, 59.0, 41.0
    labels = np.array([0, 0, 0, 1])
    found = standing_of(
        [given_layer(Origin("a"), sparse.csr_array(weights + weights.T))], np.ones(1), labels, 2
    )
    np.testing.assert_allclose(found.confidence, [1.0, 0.61, 0.59, 0.0])
    assert found.doubtful.tolist() == [3, 2]


def test_agreement_of_views_leaves_out_entities_without_edges(layers):
    found = standing_of(layers, np.ones(2), LABELS, 3, in_place(layers)).layers
    both = np.setdiff1d(np.arange(30), [4, 5])
    matrix, chance = agreement_of_views(found)
    named = [found[view].named[both] for view in (0, 1)]
    assert chance[0, 1] == pytest.approx(np.mean(named[0][:, None] == named[1]))
    assert matrix[0, 1] == matrix[1, 0] == np.mean(found[0].named[both] == found[1].named[both])
    assert matrix[0, 0] == matrix[1, 1] == 1


def test_facts_of_clusters(layers):
    found = standing_of(layers, np.ones(2), LABELS, 3, in_place(layers))
    embedding = np.random.default_rng(0).normal(size=(30, 3))
    facts = cluster_facts(found, LABELS, embedding, None, in_place(layers))
    for cluster, fact in enumerate(facts):
        members = np.flatnonzero(cluster == LABELS)
        assert fact.size == members.size
        assert fact.stability is None
        assert set(fact.doubtful) == set(members)
        known = found.confidence[fact.doubtful]
        assert (np.diff(known[~np.isnan(known)]) >= 0).all()
        for view, layer in enumerate(layers):
            votes = sum(slow_votes(layer.adjacency, node) for node in members)
            assert fact.by_view[view].found == pytest.approx(votes[cluster] / votes.sum())
            assert (view in fact.separated_by) == (fact.by_view[view].found >= 0.7)
    assert facts[1].doubtful[-1] == 4  # nothing is known about it


def test_typical_members_are_confident_and_central():
    rows, confidence = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0.2, 0.9, np.nan, 0.8])
    assert typical_members(np.array([10, 11, 12, 13]), rows, confidence).tolist() == [11, 13]
    assert typical_members(np.empty(0, dtype=int), rows[:0], confidence[:0]).size == 0


def test_overlaps_are_those_of_sets():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    sets = [[set(np.flatnonzero(labels == k)) for k in range(4)] for labels in (first, second)]
    slow = [max(len(a & b) / len(a | b) for b in sets[1]) for a in sets[0]]
    np.testing.assert_allclose(best_overlaps(first, second, 4), slow)
    assert best_overlaps(np.zeros(3, dtype=int), np.zeros(3, dtype=int), 2).tolist() == [1, 0]


def test_clear_clusters_are_found_again_and_noise_is_not():
    views, _ = planted_views()
    model = RMGL(3, random_state=0).fit(views)
    options = (model.layers_, model.beta_, model.labels_, 3)
    assert stability_of_clusters(*options, np.empty(0, dtype=int)).min() > 0.95
    # four entities are too few for three clusters
    assert stability_of_clusters(*options, np.arange(86)) is None
    noise = {"noise": np.random.default_rng(0).normal(size=(120, 20))}
    model = RMGL(6, random_state=0).fit(noise)
    assert (
        stability_of_clusters(
            model.layers_, model.beta_, model.labels_, 6, np.empty(0, dtype=int)
        ).mean()
        < 0.8
    )


def test_agreement_by_chance_is_that_of_dealt_out_names(layers, rng):
    found = standing_of(layers, np.ones(2), LABELS, 3, in_place(layers))
    met = []
    for _ in range(4000):
        names = [rng.permutation(shares.named[shares.named >= 0]) for shares in found.layers]
        met.append(
            np.mean(
                np.concatenate(
                    [
                        name == LABELS[s.named >= 0]
                        for name, s in zip(names, found.layers, strict=True)
                    ]
                )
            )
        )
    assert found.agreement_by_chance == pytest.approx(
        np.mean(met), abs=4 * np.std(met) / np.sqrt(4000)
    )
    assert np.isnan(standing_of(layers, np.ones(2), LABELS, 3).agreement_by_chance)
