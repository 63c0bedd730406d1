"""What is said about a view comes from its own neighbors, beside what chance would give."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL, Network, Precomputed
from rmgl.page.page import Given, content_of
from rmgl.results.own_neighbors import ASKED_NEIGHBORS, MOST_ASKED, OwnNeighbors, own_neighbors
from rmgl.views.views import Views
from tests.conftest import planted_views


def slow_inside(X, labels):
    """The mean share of the nearest rows that have the same label."""
    apart = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :ASKED_NEIGHBORS]
    return float(np.mean(labels[nearest] == labels[:, None]))


def test_the_share_inside_is_that_of_the_nearest_rows(rng):
    X, labels = rng.normal(size=(80, 3)), rng.integers(4, size=80)
    own = own_neighbors(Views.of({"a": X}))[0]
    share = own.inside(labels)
    assert share.found == pytest.approx(slow_inside(X, labels))
    dealt = [slow_inside(X, rng.permutation(labels)) for _ in range(200)]
    assert share.chance == pytest.approx(np.mean(dealt), abs=4 * np.std(dealt) / np.sqrt(200))
    assert share.deviation == pytest.approx(np.std(dealt), rel=0.2)
    sizes = np.bincount(labels)
    assert share.chance == pytest.approx((sizes * (sizes - 1)).sum() / (80 * 79), rel=1e-12)
    by_cluster = own.by_cluster(labels, 4)
    assert by_cluster[0].found == share.found
    assert share.found == pytest.approx(
        sum(part.found * size for part, size in zip(by_cluster[1:], sizes, strict=True)) / 80
    )


def test_networks_missing_rows_and_samples(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    X[:7] = np.nan
    links = sparse.csr_array(np.kron(np.eye(2), np.ones((30, 30))) - np.eye(60))
    views = Views.of({"rows": X, "links": Network(links)})
    rows, network = own_neighbors(views)
    assert (rows.point >= 0).tolist() == [False] * 7 + [True] * 53
    missing = rows.votes(np.arange(60) < 7, 2)  # the first ones have no neighbors, and are none
    np.testing.assert_allclose(
        missing.toarray(), np.column_stack([np.arange(60) >= 7, np.zeros(60)])
    )
    assert network.inside(np.repeat([0, 1], 30)).found == 1.0
    assert MOST_ASKED == 5000
    monkeypatch.setattr("rmgl.results.own_neighbors.MOST_ASKED", 20)
    asked = [own.asked for own in own_neighbors(views)]
    assert np.count_nonzero(asked[0]) == 20
    np.testing.assert_array_equal(*asked)  # the same entities in all views
    for own in own_neighbors(views):
        np.testing.assert_allclose(
            own.votes(np.zeros(60, dtype=int), 1).toarray()[:, 0], asked[0] & (own.point >= 0)
        )
    empty = OwnNeighbors(sparse.csr_array((5, 5))).inside(np.zeros(5, dtype=int))
    assert np.isnan(empty.found)
    assert not empty.is_more


@pytest.mark.parametrize("n_columns", [1, 2, 5, 20, 80])
@pytest.mark.parametrize("n_rows", [30, 100])
def test_noise_beside_clusters_gets_no_more_than_chance(n_rows, n_columns):
    """With learned layers, 96 % of the edge weight of such a view lay inside clusters."""
    views, _ = planted_views(sizes=(n_rows,) * 3)
    views["noise"] = np.random.default_rng(1).normal(size=(3 * n_rows, n_columns))
    model = RMGL(3, random_state=0).fit(views)
    *clear, noise = model.report_.views
    assert noise.inside.found <= noise.inside.chance + 3 * noise.inside.deviation
    assert all(view.inside.is_more for view in clear)
    assert any(
        "'noise' alone does not show these clusters" in warning
        for warning in model.report_.warnings
    )
    content = content_of(model.fitted_, model.report_, Given())
    assert content.inside[-1] == noise.inside
    assert all(2 not in cluster.separated_by for cluster in content.clusters)


def slow_shares(X, labels):
    """The mean share of the 12 nearest rows in the same cluster, those that are tied for the last
    places sharing them.
    """
    shares = []
    for i, row in enumerate(X):
        apart = np.delete(np.square(X - row).sum(axis=1), i)
        same = np.delete(labels, i) == labels[i]
        last = np.sort(apart)[ASKED_NEIGHBORS - 1]
        nearer, tied = apart < last, apart == last
        shares.append(
            (same[nearer].sum() + (ASKED_NEIGHBORS - nearer.sum()) * same[tied].mean())
            / ASKED_NEIGHBORS
        )
    return float(np.mean(shares))


@pytest.mark.parametrize("n_copies", [1, 5, 30])
def test_copies_are_neighbors_that_share_places(n_copies, rng):
    X = np.repeat(rng.integers(4, size=(40, 2)).astype(float), n_copies, axis=0)
    labels = rng.integers(3, size=len(X))
    (own,) = own_neighbors(Views.of({"a": X}))
    assert own.graph.shape[0] == len(np.unique(X, axis=0))
    assert own.inside(labels).found == pytest.approx(slow_shares(X, labels), rel=1e-12)


def test_views_of_many_copies_have_neighbors(rng):
    """Nothing was said about a view with more than 512 copies of each row."""
    X = rng.integers(2, size=(6000, 2)).astype(float)
    own = own_neighbors(Views.of({"a": X, "b": rng.integers(3, size=(6000, 1)).astype(float)}))
    labels = (2 * X[:, 0] + X[:, 1]).astype(int)
    assert own[0].inside(labels).found == pytest.approx(1.0)
    assert own[0].inside(labels).is_more
    assert 0.2 < own[1].inside(labels).found < 0.3
    assert not own[1].inside(labels).is_more


def test_many_copies_with_missing_cells_and_distances_have_neighbors(rng):
    X = rng.integers(2, size=(1500, 2)).astype(float)
    labels = (2 * X[:, 0] + X[:, 1]).astype(int)
    apart = np.abs(X[:, None] - X).sum(axis=2)
    X[rng.random(1500) < 0.01, 0] = np.nan
    for own in own_neighbors(Views.of({"gaps": X, "apart": Precomputed(apart)})):
        assert own.graph.shape[0] <= 6
        assert own.inside(labels).found > 0.95


def test_all_rows_may_be_the_same():
    own = own_neighbors(Views.of({"a": np.ones((9, 2))}))[0]
    share = own.inside(np.repeat([0, 1], [4, 5]))
    assert share.found == pytest.approx(share.chance)
    assert not share.leaves_room


def test_more_different_rows_than_can_be_listed_say_nothing():
    own = own_neighbors(Views.of({"a": sparse.csr_array(np.eye(700))}))[0]
    assert np.isnan(own.inside(np.arange(700) % 2).found)


def test_the_sample_does_not_depend_on_the_order_of_the_rows(rng):
    data = {"a": rng.normal(size=(6000, 2)), "b": rng.integers(3, size=(6000, 4)).astype(float)}
    labels, order = rng.integers(3, size=6000), rng.permutation(6000)
    first, second = (
        own_neighbors(Views.of(views))
        for views in (data, {name: X[order] for name, X in data.items()})
    )
    for own, other in zip(first, second, strict=True):
        assert np.count_nonzero(own.asked) == MOST_ASKED
        np.testing.assert_array_equal(own.asked[order], other.asked)
        for one, two in zip(
            own.by_cluster(labels, 3), other.by_cluster(labels[order], 3), strict=True
        ):
            assert (one.found, one.chance, one.deviation) == pytest.approx(
                (two.found, two.chance, two.deviation), rel=1e-9
            )


NOISE = {
    "numbers": lambda generator, n: generator.normal(size=(n, 3)),
    "many columns": lambda generator, n: generator.normal(size=(n, 200 if n < 1000 else 20)),
    "one number": lambda generator, n: generator.normal(size=(n, 1)),
    "heavy tails": lambda generator, n: generator.standard_cauchy(size=(n, 2)),
    "two bits": lambda generator, n: generator.integers(2, size=(n, 2)).astype(float),
    "categories": lambda generator, n: generator.integers(4, size=(n, 3)).astype(float),
    "mostly zeros": lambda generator, n: sparse.csr_array(
        generator.poisson(0.2, size=(n, 12)).astype(float)
    ),
    "gaps": lambda generator, n: np.where(
        generator.random((n, 4)) < [0.0, 0.2, 0.2, 0.4], np.nan, generator.normal(size=(n, 4))
    ),
}


@pytest.mark.parametrize("n", [14, 20, 40, 100, 400, 2000, 7000])
@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_any_size_gets_no_more_than_chance(kind, n):
    """Clusters of any sizes that know nothing of the view; of gaps, few enough entities for all
    pairs.
    """
    generator = np.random.default_rng([n, len(kind)])
    n = min(n, 1000) if kind == "gaps" else n
    (own,) = own_neighbors(Views.of({"noise": NOISE[kind](generator, n)}))
    for n_clusters in (2, 3, 7):
        labels = np.sort(generator.integers(n_clusters, size=n) * generator.integers(2, size=n))[
            generator.permutation(n)
        ]
        share = own.inside(labels)
        assert share.deviation > 0
        assert share.found <= share.chance + 3 * share.deviation


@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_any_kind_beside_clusters_gets_no_more_than_chance(kind, monkeypatch):
    """In whole fits, from a sample of the entities."""
    monkeypatch.setattr("rmgl.results.own_neighbors.MOST_ASKED", 200)
    views, target = planted_views(sizes=(100, 100, 100), distance=8.0)
    views["noise"] = NOISE[kind](np.random.default_rng(2), 300)
    model = RMGL(3, random_state=0).fit(views)
    assert adjusted_rand_score(target, model.labels_) > 0.95
    *clear, noise = model.report_.views
    assert noise.inside.found <= noise.inside.chance + 3 * noise.inside.deviation
    assert all(view.inside.is_more for view in clear)
    assert any(
        "'noise' alone does not show these clusters" in warning
        for warning in model.report_.warnings
    )


def test_what_noise_gets_is_spread_as_chance_says():
    """Standard scores of many views of noise have mean 0 and deviation 1."""
    generator, scores = np.random.default_rng(0), []
    for _ in range(300):
        n = int(generator.integers(20, 120))
        labels = generator.integers(3, size=n)
        for own in own_neighbors(
            Views.of(
                {
                    "a": generator.normal(size=(n, 2)),
                    "b": generator.integers(3, size=(n, 2)).astype(float),
                }
            )
        ):
            share = own.inside(labels)
            scores.append((share.found - share.chance) / share.deviation)
    assert abs(np.mean(scores)) < 4 / np.sqrt(300)
    assert 0.9 < np.std(scores) < 1.1


def test_three_rows_are_not_trusted():
    model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [5.0]]})
    assert model.report_.trust.word == "poor"


def test_nothing_is_said_where_all_others_are_neighbors_or_there_is_one_cluster():
    groups = {"a": [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]}
    for n_clusters in (1, 2):
        report = RMGL(n_clusters, random_state=0).fit(groups).report_
        assert report.views[0].inside is None
        assert not any("alone does not show" in warning for warning in report.warnings)
