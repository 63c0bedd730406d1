"""Clusters are compared with those of data without any."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist

from rmgl import RMGL, Network, Precomputed
from rmgl.results import one_cloud
from rmgl.results.one_cloud import separation_of, weight_inside, without_clusters
from rmgl.views.cloud import cloud_of
from rmgl.views.views import Views
from tests.conftest import planted_views

N = 120


def separation(views, n_clusters=3, **parameters):
    return separation_of(RMGL(n_clusters, random_state=0, **parameters).fit(views).fitted_)


def drawn(views, seed=0):
    return without_clusters(Views.of(views).scaled("none"), np.random.RandomState(seed))


@pytest.mark.parametrize("n_columns", [5, 40])
def test_a_cloud_with_given_numbers_is_a_linear_map_of_the_rows(n_columns, rng):
    """With sqrt(n) times the unit matrix for normal numbers, the rows themselves come back, but for
    a rotation if they are wide.
    """
    X = rng.normal(size=(20, n_columns)) + 7
    Y = cloud_of(X, np.sqrt(20) * np.eye(20))
    np.testing.assert_allclose(pdist(Y), pdist(X), rtol=1e-9)
    if n_columns < 20:
        np.testing.assert_allclose(Y, X, rtol=1e-12)


def test_a_cloud_has_the_means_and_covariances_of_the_rows(rng):
    """Over 300 draws, within five standard errors."""
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + [1.0, 2.0, 3.0]
    clouds = np.array([cloud_of(X, rng.normal(size=(60, 60))) for _ in range(300)])
    covariances = np.einsum("sni,snj->sij", clouds - X.mean(axis=0), clouds - X.mean(axis=0)) / 60
    error = covariances.std(axis=0) / np.sqrt(300)
    assert (np.abs(covariances.mean(axis=0) - np.cov(X.T, bias=True)) < 5 * error).all()
    means = clouds.mean(axis=1)
    assert (np.abs(means.mean(axis=0) - X.mean(axis=0)) < 5 * means.std(axis=0) / 300**0.5).all()


def test_views_of_one_cloud_have_in_common_what_they_had(rng):
    X = rng.normal(size=(N, 3))
    first, second = drawn({"a": X, "b": 2 * X}).matrices
    np.testing.assert_allclose(second - second.mean(axis=0), 2 * (first - first.mean(axis=0)))


def test_columns_of_a_table_keep_their_values(rng):
    X = rng.integers(3, size=(N, 2)).astype(float)
    (Y,) = drawn({"a": X}).matrices
    np.testing.assert_array_equal(np.sort(Y, axis=0), np.sort(X, axis=0))


def test_wide_tables_and_wide_rows_with_missing_cells_keep_their_columns(rng):
    X = (rng.integers(2, size=(4, 150)) * 1.0)[rng.integers(4, size=N)]
    (Y,) = drawn({"a": X}).matrices
    np.testing.assert_array_equal(np.sort(Y, axis=0), np.sort(X, axis=0))
    X = rng.normal(size=(N, 150))
    X[3, 7] = np.nan
    view = drawn({"a": X})[0]
    assert view.matrix.shape == X.shape
    assert view.matrix[3, 7] == 0


def test_a_network_keeps_its_degrees(rng):
    W = np.triu(rng.random((N, N)) < 0.1, 1)
    (Y,) = drawn({"links": Network(W + W.T.astype(float))}).matrices
    assert sparse.issparse(Y)
    assert abs(Y - Y.T).max() == 0
    degrees = (W + W.T).sum(axis=1)
    # an edge that would join a node with itself is dropped
    lost = degrees - Y.sum(axis=1)
    assert (lost >= 0).all()
    assert lost.sum() < 0.05 * degrees.sum()


def test_distances_are_those_of_a_cloud_of_points(rng):
    X = rng.normal(size=(40, 3))
    view = drawn({"a": Precomputed(cdist(X, X))})[0]
    normal = np.random.RandomState(0).normal(size=(40, 40))
    Y = cloud_of(X, normal)
    # the coordinates are others, so that only sizes are the same
    assert view.matrix.mean() == pytest.approx(cdist(Y, Y, "sqeuclidean").mean(), rel=0.3)
    assert (view.matrix == view.matrix.T).all()


def test_clear_clusters_are_separated_and_one_cloud_is_not():
    views, _ = planted_views()
    assert separation(views) > 0.9
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        found.append(separation([rng.normal(size=(N, 4)), rng.normal(size=(N, 6))]))
    assert np.mean(found) < 0.2  # 0.09 with a standard error of 0.04


def test_two_halves_of_an_elongated_cloud_are_not_separated():
    """They are found again for the most part, and mean nothing: the separation is 0.17 with a
    standard error of 0.05.
    """
    found = []
    for seed in range(18):
        rng = np.random.default_rng(seed)
        factor = rng.normal(size=(N, 1))  # all columns follow it
        model = RMGL(2, random_state=0).fit([factor + 0.3 * rng.normal(size=(N, 6))])
        found.append((model.report_.refits.resampled, model.report_.refits.separation))
    stability, separated = np.mean(found, axis=0)
    assert stability > 0.5
    assert separated < 0.2


def test_the_order_of_the_rows_does_not_matter(rng):
    views, _ = planted_views(distance=1.0)
    order = rng.permutation(90)
    again = {name: X[order] for name, X in views.items()}
    assert separation(again) == pytest.approx(separation(views), abs=1e-9)


def test_a_sample_stands_for_many_entities(monkeypatch):
    views, _ = planted_views()
    whole = separation(views)
    monkeypatch.setattr(one_cloud, "MOST_FITTED", 60)
    sizes = []

    def seen(fitted):
        sizes.append(fitted.n_rows)
        return weight_inside(fitted)

    monkeypatch.setattr(one_cloud, "weight_inside", seen)
    assert separation(views) == pytest.approx(whole, abs=0.1)
    assert sizes == [60, 60]


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": 0.5, "beta": 0.1},
        {"candidates": 15},
        {"candidates": np.int64(15)},
        {"metric": "cosine"},
    ],
)
def test_clusters_of_any_fit_are_compared(parameters):
    assert separation(planted_views()[0], **parameters) > 0.5


def test_missing_rows_cells_and_networks_are_compared(rng):
    views, target = planted_views()
    views = {name: X.copy() for name, X in views.items()}
    first = next(iter(views))
    views[first][:10] = np.nan
    assert separation(views) > 0.5
    views[first][:20, 0] = np.nan
    assert separation(views) > 0.5
    links = (target[:, None] == target) & (rng.random((90, 90)) < 0.3)
    views["links"] = Network(np.triu(links, 1) + np.triu(links, 1).T.astype(float))
    assert separation(views) > 0.5


def test_clusters_without_links_between_them_are_no_better_than_those_of_a_cloud_without():
    """Both graphs fall into components, whatever the rows are."""
    pairs = np.kron(np.eye(N // 2), [[0.0, 1.0], [1.0, 0.0]])
    with pytest.warns(UserWarning, match="more than n_clusters"):
        model = RMGL(3, random_state=0).fit({"links": Network(pairs)})
    assert separation_of(model.fitted_) < 0.2


def test_a_fit_that_does_not_depend_on_the_rows_alone_is_compared_with_nothing(rng):
    views, target = planted_views()
    pairs = sparse.csr_array(rng.random((90, 90)) < 0.5)
    model = RMGL(3, candidates=pairs + pairs.T, random_state=0).fit(views)
    assert separation_of(model.fitted_) is None
    assert model.report_.trust.word == "fair"
    assert separation(views, components=True) is None
    assert separation(views, n_clusters=1) is None
    known = np.where(np.arange(90) % 3 == 0, rng.permutation(target), -1)
    tied = RMGL(3, random_state=0).fit(views, known)
    assert separation_of(tied.fitted_) is None
    with pytest.warns(UserWarning, match="was stopped"):
        stopped = RMGL(3, random_state=0).fit(views, callback=lambda row: True)
    assert separation_of(stopped.fitted_) is None


def test_a_sample_stands_for_all_only_where_it_is_like_them(monkeypatch):
    monkeypatch.setattr(one_cloud, "MOST_FITTED", 60)
    views, target = planted_views()
    assert separation(views, alpha=0.5, beta=0.1) is None
    assert separation(views, min_cluster_size=5) is None
    assert separation(views, n_clusters=31) is None
    links = np.triu(target[:, None] == target, 1)
    assert separation({**views, "links": Network(links + links.T.astype(float))}) is None


def test_a_view_without_variation_in_the_sample_is_compared_with_nothing(monkeypatch):
    """Twenty of 90 entities are drawn: a single one among zeros is not among them in most cases."""
    monkeypatch.setattr(one_cloud, "MOST_FITTED", 20)
    views = planted_views()[0]
    found = [separation({**views, "rare": np.eye(90)[:, [at]]}) for at in range(0, 90, 9)]
    assert sum(one is None for one in found) >= 5
    monkeypatch.setattr(one_cloud, "MOST_FITTED", 90)
    assert separation({**views, "rare": np.eye(90)[:, :1]}) is not None


def test_distances_of_few_different_entities_are_compared_with_nothing(rng):
    X = rng.integers(2, size=(N, 3)).astype(float)
    assert drawn({"a": Precomputed(cdist(X, X))}) is None
