"""What is said about a view comes from its own neighbors, beside what chance would give."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL, Network, Policy
from rmgl.page.page import Given, content_of
from rmgl.results.own_neighbors import MOST_ASKED, N_NEIGHBORS, OwnNeighbors, own_neighbors, table_view
from rmgl.views.views import Views
from tests.conftest import planted_views


def slow_inside(X, labels):
    """The mean share of the nearest rows that have the same label."""
    apart = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :N_NEIGHBORS]
    return float(np.mean(labels[nearest] == labels[:, None]))


def test_the_share_inside_is_that_of_the_nearest_rows(rng):
    X, labels = rng.normal(size=(80, 3)), rng.integers(4, size=80)
    own = own_neighbors(Views.of({"a": X}))[0]
    share = own.inside(labels)
    assert share.found == pytest.approx(slow_inside(X, labels))
    dealt = [slow_inside(X, rng.permutation(labels)) for _ in range(200)]
    assert share.chance == pytest.approx(np.mean(dealt), abs=4 * np.std(dealt) / np.sqrt(50))
    assert share.deviation == pytest.approx(np.std(dealt), rel=0.5)
    by_cluster = own.by_cluster(labels, 4)
    sizes = np.bincount(labels)
    assert by_cluster[0].found == share.found
    assert share.found == pytest.approx(sum(part.found * size for part, size in zip(by_cluster[1:], sizes, strict=True)) / 80)


def test_networks_missing_rows_and_samples(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    X[:7] = np.nan
    links = sparse.csr_array(np.kron(np.eye(2), np.ones((30, 30))) - np.eye(60))
    views = Views.of({"rows": X, "links": Network(links)})
    rows, network = own_neighbors(views)
    assert rows.graph[:7].nnz == rows.graph[:, :7].nnz == 0
    np.testing.assert_allclose(np.delete(rows.graph.sum(axis=1), np.arange(7)), 1.0)
    assert network.inside(np.repeat([0, 1], 30)).found == 1.0
    assert MOST_ASKED == 5000
    monkeypatch.setattr("rmgl.results.own_neighbors.MOST_ASKED", 20)
    assert np.count_nonzero(own_neighbors(views)[0].graph.sum(axis=1)) == 20
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
    assert any("'noise' alone does not have these clusters" in warning for warning in model.report_.warnings)
    content = content_of(model, Given(), model._views)
    assert content.inside[-1] == noise.inside
    assert all(2 not in cluster.separated_by for cluster in content.clusters)


def test_clusters_that_are_a_table_of_categories_are_not_trusted(rng):
    """With equal weights they were called good."""
    status, grade = rng.integers(2, size=300), rng.integers(3, size=300)
    views = {"clinical": np.column_stack([status, grade]).astype(float), "genes": rng.normal(size=(300, 20))}
    model = RMGL(6, policy=Policy(weighing="equal"), random_state=0).fit(views)
    table = table_view(model._views, 3 * status + grade)
    assert table == 0
    assert table_view(model._views, rng.integers(6, size=300)) is None
    if table_view(model._views, model.labels_) is not None:
        assert model.report_.trust.word == "poor"
        assert "table of the few different rows of view 'clinical'" in str(model.report_.trust)
    assert model.report_.trust.word != "good"


def test_three_rows_are_not_trusted():
    model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [5.0]]})
    assert model.report_.trust.word == "poor"


def test_nothing_is_said_where_all_others_are_neighbors_or_there_is_one_cluster():
    groups = {"a": [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]}
    for n_clusters in (1, 2):
        report = RMGL(n_clusters, random_state=0).fit(groups).report_
        assert report.views[0].inside is None
        assert not any("alone does not have" in warning for warning in report.warnings)
