"""Made views that each separate only some of the clusters."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

from rmgl.datasets import make_complementary_views

ARGUMENTS = {
    "grid": {"layout": "grid", "n_clusters": 9, "n_views": 2},
    "a grid of three sides": {"layout": "grid", "n_clusters": 8, "n_views": 3},
    "pairs": {"layout": "pairs", "n_clusters": 6, "n_views": 2},
    "more views than pairs": {"layout": "pairs", "n_clusters": 5, "n_views": 4},
    "random": {"layout": "random", "n_clusters": 8, "n_views": 3},
    "table": {"layout": [[0, 0, 1], [0, 1, 1]]},
}


def group_means(X, labels):
    return np.array([X[labels == label].mean(axis=0) for label in np.unique(labels)])


# Shapes


def test_views_have_names_and_shapes():
    data = make_complementary_views(
        "pairs",
        n_clusters=5,
        n_views=3,
        n_rows=70,
        n_columns=6,
        n_counts=1,
        n_noise=2,
        misleading=3.0,
        random_state=0,
    )
    wide = {"view_0": (70, 150), "view_1": (70, 6), "view_2": (70, 6)}
    assert {name: X.shape for name, X in data.views.items()} == {
        **wide,
        "noise_0": (70, 6),
        "noise_1": (70, 6),
        "misleading": (70, 6),
    }
    assert all(X.dtype == np.float64 for X in data.views.values())
    assert data.target.shape == (70,)
    assert data.groups.shape == (3, 5)


@pytest.mark.parametrize("n_rows", [9, 100, 450])
def test_clusters_are_as_large_as_one_another(n_rows):
    sizes = np.bincount(make_complementary_views(n_rows=n_rows, random_state=0).target)
    assert sizes.size == 9
    assert sizes.sum() == n_rows
    assert np.ptp(sizes) <= 1


def test_sizes_of_clusters_may_fall_from_three_to_one():
    sizes = np.bincount(
        make_complementary_views(n_clusters=4, n_rows=800, unequal=True, random_state=0).target
    )
    assert sizes.tolist() == [300, 233, 167, 100]


# Groups


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_two_clusters_are_in_different_groups_of_some_view(name, seed):
    groups = make_complementary_views(**ARGUMENTS[name], random_state=seed).groups
    for one, other in combinations(range(groups.shape[1]), 2):
        assert (groups[:, one] != groups[:, other]).any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ARGUMENTS)
def test_no_view_separates_all_clusters(name, seed):
    groups = make_complementary_views(**ARGUMENTS[name], random_state=seed).groups
    assert all(np.unique(own).size < own.size for own in groups)


def test_a_grid_has_one_coordinate_for_every_view():
    groups = make_complementary_views("grid", n_clusters=8, n_views=3, random_state=0).groups
    assert sorted(map(tuple, groups.T.tolist())) == [
        (a, b, c) for a in range(2) for b in range(2) for c in range(2)
    ]


@pytest.mark.parametrize(("n_clusters", "n_views"), [(6, 2), (6, 3), (5, 4)])
def test_a_view_of_pairs_merges_two_clusters(n_clusters, n_views):
    groups = make_complementary_views(
        "pairs", n_clusters=n_clusters, n_views=n_views, random_state=0
    ).groups
    assert [np.unique(own).size for own in groups] == [n_clusters - 1] * n_views
    merged = [np.flatnonzero(own != np.arange(n_clusters)) for own in groups]
    assert [pair.size for pair in merged] == [1] * n_views


def test_a_random_view_has_half_as_many_groups_as_clusters():
    groups = make_complementary_views("random", n_clusters=8, n_views=3, random_state=0).groups
    assert [np.bincount(own).tolist() for own in groups] == [[2] * 4] * 3


def test_a_table_is_taken_as_it_is():
    table = [[0, 0, 1, 2], [3, 1, 1, 0]]
    data = make_complementary_views(table, n_clusters=7, n_views=5, random_state=0)
    assert data.groups.tolist() == table
    assert list(data.views) == ["view_0", "view_1"]
    assert np.unique(data.target).tolist() == [0, 1, 2, 3]


# Values


def test_measurements_are_centers_of_groups_plus_noise():
    data = make_complementary_views(n_rows=9000, n_columns=3, separation=5.0, random_state=0)
    for own, X in zip(data.groups, data.views.values(), strict=True):
        group = own[data.target]
        centers = group_means(X, group)
        # the mean of 3000 rows is known to 0.02
        np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 5.0, atol=0.1)
        assert (X - centers[group]).std() == pytest.approx(1.0, abs=0.02)
        for one in range(3):  # clusters of one group have the same center
            np.testing.assert_allclose(
                group_means(X[group == one], data.target[group == one]),
                np.tile(centers[one], (3, 1)),
                atol=0.15,
            )


def test_counts_differ_from_group_to_group_and_in_their_totals():
    data = make_complementary_views([[0, 0, 1], [0, 1, 1]], n_counts=2, n_rows=3000, random_state=0)
    for own, X in zip(data.groups, data.views.values(), strict=True):
        assert (X >= 0).all()
        np.testing.assert_array_equal(X, np.round(X))
        profiles = group_means(X / X.sum(axis=1, keepdims=True), data.target)
        distances = {
            pair: np.abs(profiles[pair[0]] - profiles[pair[1]]).sum()
            for pair in combinations(range(3), 2)
        }
        (same,) = (pair for pair in distances if own[pair[0]] == own[pair[1]])
        assert all(
            distance > 5 * distances[same] for pair, distance in distances.items() if pair != same
        )
        # more than Poisson numbers alone
        assert X.sum(axis=1).std() > 1.5 * np.sqrt(X.sum(axis=1).mean())


def independent(labels, X):
    """Whether the centers of the labels differ by no more than the noise of the rows would give."""
    spread = np.square(group_means(X, labels) - X.mean(axis=0)).sum(axis=1) * np.bincount(labels)
    return spread.sum() < 2 * X.var(axis=0).sum() * (np.unique(labels).size - 1)


@pytest.mark.parametrize("seed", range(3))
def test_views_of_noise_know_nothing_of_the_target(seed):
    data = make_complementary_views(n_noise=2, random_state=seed)
    assert independent(data.target, data.views["noise_0"])
    assert independent(data.target, data.views["noise_1"])
    assert not independent(data.target, data.views["view_0"])


@pytest.mark.parametrize("seed", range(3))
def test_a_misleading_view_has_clusters_that_know_nothing_of_the_target(seed):
    data = make_complementary_views(
        "pairs", n_clusters=4, n_rows=400, n_columns=5, misleading=30.0, random_state=seed
    )
    X = data.views["misleading"]
    found = KMeans(4, n_init=10, random_state=0).fit_predict(X)
    assert np.bincount(found).tolist() == [100] * 4  # as many and as large as those of the target
    np.testing.assert_allclose(np.linalg.norm(group_means(X, found), axis=1), 30.0, atol=0.5)
    assert abs(adjusted_mutual_info_score(data.target, found)) < 0.03
    assert "misleading" not in make_complementary_views(random_state=seed).views


# Seeds


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_seed_decides(name):
    options = {**ARGUMENTS[name], "n_counts": 1, "n_noise": 1, "misleading": 2.0}
    one, same, other = (
        make_complementary_views(**options, random_state=seed) for seed in (3, 3, 4)
    )
    as_state = make_complementary_views(**options, random_state=np.random.RandomState(3))
    for key, X in one.views.items():
        np.testing.assert_array_equal(X, same.views[key])
        np.testing.assert_array_equal(X, as_state.views[key])
        assert not np.array_equal(X, other.views[key])
    np.testing.assert_array_equal(one.target, same.target)
    np.testing.assert_array_equal(one.groups, same.groups)


def test_further_views_do_not_change_the_first_ones():
    plain = make_complementary_views(random_state=0)
    more = make_complementary_views(n_noise=1, misleading=2.0, random_state=0)
    for name, X in plain.views.items():
        np.testing.assert_array_equal(X, more.views[name])


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"layout": "circle"},
            r"layout='circle' is unknown: use one of 'grid', 'pairs', 'random', or a table",
        ),
        (
            {"layout": [0, 1, 2]},
            r"layout must be .* or a table of integers >= 0 with one row for each view",
        ),
        ({"layout": [[0.5, 1.0]]}, r"layout must be .* or a table of integers"),
        ({"layout": [[-1, 0]]}, r"layout must be .* or a table of integers >= 0"),
        ({"layout": []}, r"layout must be .* or a table of integers"),
        ({"layout": [[0, 0, 1], [1, 1, 0]]}, r"two clusters share a group in every view"),
        (
            {"n_clusters": 8},
            r"n_clusters=8 must equal m \*\* n_views for an integer m \(n_views=2\), such as 9",
        ),
        ({"n_clusters": 1}, r"n_clusters=1 must be an integer of at least 2"),
        ({"n_clusters": 4.0}, r"n_clusters=4.0 must be an integer of at least 2"),
        ({"n_views": 1}, r"n_views=1 must be an integer of at least 2"),
        ({"n_views": "two"}, r"n_views='two' must be an integer of at least 2"),
        ({"n_rows": 8}, r"n_rows=8 must be an integer of at least 9"),
        ({"n_rows": 450.0}, r"n_rows=450.0 must be an integer of at least 9"),
        ({"n_columns": 0}, r"n_columns=0 must be an integer of at least 1"),
        ({"n_counts": -1}, r"n_counts=-1 must be an integer of at least 0"),
        ({"n_counts": 3}, r"n_counts=3 must be at most the number of views, 2"),
        ({"n_noise": 0.5}, r"n_noise=0.5 must be an integer of at least 0"),
        ({"separation": -1.0}, r"separation=-1.0 must be a number >= 0"),
        ({"separation": np.nan}, r"separation=nan must be a number >= 0"),
        ({"separation": "far"}, r"separation='far' must be a number >= 0"),
        ({"misleading": np.inf}, r"misleading=inf must be a number >= 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_complementary_views(random_state=0, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"layout": [[0, 0, 1], [1, 1, 0]]}, {"layout": "pairs", "n_clusters": 2, "n_views": 3}],
    ids=str,
)
def test_clusters_that_no_view_separates_are_refused_with_the_name_of_a_parameter(arguments):
    with pytest.raises(ValueError, match=r"layout|n_clusters|n_views"):
        make_complementary_views(random_state=0, **arguments)
