"""What chance gives, in closed form, against all ways of dealing out the clusters."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from rmgl.results.own_neighbors import OwnNeighbors, Share


def entities_of(own):
    """The neighbors of every entity as a dense matrix, and the entities that have a place in the
    view.
    """
    points = np.arange(own.graph.shape[0]) if own.point is None else own.point
    here = np.flatnonzero(points >= 0)
    W = np.zeros((points.size, points.size))
    W[np.ix_(here, here)] = own.graph.toarray()[np.ix_(points[here], points[here])]
    np.fill_diagonal(W, 0.0)
    if own.asked is not None:
        W[~own.asked] = 0.0
    return W, here


def slow_shares(W, labels, n_clusters):
    """The share of weight inside clusters, of all entities and of those of each cluster."""
    inside = (W * (labels[:, None] == labels)).sum(axis=1)
    held, total = (
        np.bincount(labels, weights=of, minlength=n_clusters) for of in (inside, W.sum(axis=1))
    )
    with np.errstate(invalid="ignore"):
        return np.append(held.sum() / total.sum(), held / total)


def deals_of(own, labels, n_clusters, orders):
    """Those shares with the clusters of the entities in the view in other orders."""
    W, here = entities_of(own)
    dealt, shares = labels.copy(), []
    for order in orders:
        dealt[here] = labels[here][list(order)]
        shares.append(slow_shares(W, dealt, n_clusters))
    return np.array(shares)


def numbers(shares):
    return np.array([[share.found, share.chance, share.deviation] for share in shares]).T


LABELS = {
    "two": [0, 0, 0, 1, 1, 1, 1],
    "three": [0, 1, 2, 0, 1, 0, 0],
    "one of one": [0, 0, 0, 0, 0, 0, 1],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_chance_is_the_mean_and_deviation_over_all_deals(labels, rng):
    """Weights in any direction, also where rows do not sum to one."""
    labels = np.array(labels)
    W = rng.random((7, 7)) * (rng.random((7, 7)) < 0.7)
    np.fill_diagonal(W, 0.0)
    for graph in (W, W / W.sum(axis=1, keepdims=True)):
        own = OwnNeighbors(sparse.csr_array(graph))
        found, chance, deviation = numbers(own.by_cluster(labels, labels.max() + 1))
        dealt = deals_of(own, labels, labels.max() + 1, permutations(range(7)))
        np.testing.assert_allclose(found, slow_shares(graph, labels, labels.max() + 1), rtol=1e-12)
        np.testing.assert_allclose(chance[0], dealt[:, 0].mean(), rtol=1e-10)
        np.testing.assert_allclose(deviation[0], dealt[:, 0].std(), rtol=1e-8)
    np.testing.assert_allclose(chance, dealt.mean(axis=0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(deviation, dealt.std(axis=0), rtol=1e-8, atol=1e-12)


def test_points_of_several_entities_stand_for_each_of_them(rng):
    point, labels = np.array([0, 0, 1, 1, 1, 2, -1, 3]), np.array([0, 1, 0, 0, 1, 1, 1, 0])
    graph = rng.random((4, 4)) * (1 - np.diag([0.0, 0.0, 1.0, 1.0]))
    for asked in (None, np.array([True, False, True, True, False, True, True, False])):
        own = OwnNeighbors(sparse.csr_array(graph), point, asked)
        found, chance, deviation = numbers(own.by_cluster(labels, 2))
        dealt = deals_of(own, labels, 2, permutations(range(7)))
        np.testing.assert_allclose(found, slow_shares(entities_of(own)[0], labels, 2), rtol=1e-12)
        assert chance[0] == pytest.approx(dealt[:, 0].mean(), rel=1e-10)
        assert deviation[0] == pytest.approx(dealt[:, 0].std(), rel=1e-8)
        np.testing.assert_allclose(
            own.votes(labels, 2).sum(axis=1), entities_of(own)[0].sum(axis=1), atol=1e-12
        )


def test_single_clusters_where_some_entities_are_asked(rng):
    """The members that are asked are then not the same in all deals, and the deviation is that of a
    ratio of large sums.
    """
    n, labels = 400, np.repeat([0, 1, 2], [200, 120, 80])
    asked = rng.random(n) < 0.5
    graph = sparse.csr_array(
        np.where(rng.random((n, n)) < 0.1, rng.random((n, n)), 0.0) * (1 - np.eye(n))
    )
    own = OwnNeighbors(graph, None, asked)
    _, chance, deviation = numbers(own.by_cluster(labels, 3))
    dealt = deals_of(own, labels, 3, [rng.permutation(n) for _ in range(2000)])
    np.testing.assert_allclose(chance, dealt.mean(axis=0), rtol=0.01)
    np.testing.assert_allclose(deviation, dealt.std(axis=0), rtol=0.05)


@pytest.mark.parametrize(
    ("n", "labels"),
    [
        (9, np.zeros(9, dtype=int)),
        (9, np.repeat([0, 1, 2], 3)),
        (3, np.array([0, 0, 1])),
        (2, np.array([0, 1])),
    ],
    ids=["one cluster", "all others are neighbors", "three entities", "two entities"],
)
def test_chance_may_leave_no_room(n, labels):
    share = OwnNeighbors(sparse.csr_array((1.0 - np.eye(n)) / (n - 1))).inside(labels)
    assert share.found == pytest.approx(share.chance, abs=1e-12)
    assert share.deviation == 0.0
    assert not share.leaves_room
    assert not share.is_more


def test_more_than_chance_is_three_deviations():
    assert Share(0.5601, 0.5, 0.02).is_more
    assert not Share(0.5599, 0.5, 0.02).is_more
    assert not Share(np.nan, 0.5, 0.02).is_more
    assert not Share(1.0, 0.5, 0.0).is_more
