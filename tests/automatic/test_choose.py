"""The automatic choice: alpha for a wanted number of edges, weights, consensus, number of clusters,
and the report on all of it.
"""

import itertools
import json
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL, learn_layer
from rmgl.automatic.cuts import modularity
from rmgl.automatic.number_of_clusters import by_silhouette
from rmgl.automatic.weighing import by_agreement, roughness, roughness_deviation
from rmgl.edges import find_candidates
from rmgl.embedding.common_graph import components
from rmgl.layer import Origin
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.storage.output import plain
from rmgl.views.halves import LEAST
from rmgl.views.views import Views
from tests.conftest import planted_views


def with_noise(seed=0, **options):
    """Planted views and one that knows nothing of the blocks."""
    views, target = planted_views(seed=seed, **options)
    return {
        **views,
        "noise": np.random.default_rng(seed + 100).normal(size=(target.size, 4)),
    }, target


def noise_views(n=150, count=2, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 5)) for _ in range(count)]


# alpha


@pytest.mark.parametrize("n_neighbors", [3, 12, 40])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("name", ["cloud", "densities", "line"])
def test_alpha_gives_the_wanted_number_of_edges(name, local, n_neighbors, rng):
    data = {
        "cloud": rng.normal(size=(200, 4)),
        "densities": np.vstack([rng.normal(size=(100, 3)), 20 + 0.01 * rng.normal(size=(100, 3))]),
        "line": rng.random((200, 1)),
    }
    for how in ("all", 20):
        pairs = find_candidates(name, data[name], None, how, local=local, n_neighbors=n_neighbors)
        _, layer = solve_for_edges(Origin(name), pairs, n_neighbors)
        assert layer.exact
        assert abs(2 * layer.n_edges / 200 / n_neighbors - 1) <= 0.03


@pytest.mark.parametrize("local", [False, True])
def test_alpha_scales_with_squared_distances_unless_they_are_locally_scaled(local, rng):
    X = rng.normal(size=(150, 3))
    alpha = [
        solve_for_edges(
            Origin("x"),
            find_candidates("x", factor * X, None, "all", local=local, n_neighbors=8),
            8,
        )[1].alpha
        for factor in (1.0, 1e-3, 300.0)
    ]
    wanted = [1.0, 1.0, 1.0] if local else [1.0, 1e-6, 9e4]
    np.testing.assert_allclose(np.divide(alpha, alpha[0]), wanted, rtol=1e-9)


def test_few_rows_get_half_of_the_others_as_neighbors_at_most(rng):
    _, layer = solve_for_edges(
        Origin("x"),
        find_candidates("x", rng.normal(size=(12, 2)), None, "all", local=True, n_neighbors=50),
        50,
    )
    assert 2 * layer.n_edges / 12 == pytest.approx(5.5, abs=1)


# Weights and layers


def test_roughness_is_the_mean_over_the_edges_beside_that_over_all_pairs(rng):
    U = rng.normal(size=(20, 3))
    W = sparse.random_array((20, 20), density=0.3, random_state=rng, format="csr")
    W = sparse.csr_array(W + W.T)
    square = np.square(U[:, None] - U).sum(axis=2)
    assert roughness(U, W) == pytest.approx(
        (W.toarray() * square).sum() / W.sum() / square.mean(), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(2))
def test_noise_counts_least_and_is_told(seed):
    views, target = with_noise(seed)
    model = RMGL(3, random_state=0).fit(views)
    assert adjusted_rand_score(target, model.labels_) == 1.0
    assert model.view_weights_.sum() == pytest.approx(1.0)
    assert model.view_weights_.argmin() == model.view_roughness_.argmax() == 2
    assert model.view_weights_[2] < 0.05
    (told,) = (text for text in model.report_.warnings if "disagrees with the others" in text)
    assert "'noise'" in told


def test_layers_are_exact_and_the_objective_never_rises():
    views, _ = with_noise(distance=3.0)
    model = RMGL(3, random_state=0).fit(views)
    assert [layer.status for layer in model.layers_] == ["converged"] * 4 + ["given"]
    for layer in model.layers_:
        assert layer.exact
        assert layer.kkt_residual <= 1e-6
        assert layer.gap <= 1e-6
        assert layer.degrees.sum() == pytest.approx(90)
    assert model.converged_
    assert (np.diff([row["objective"] for row in model.history_]) <= 0).all()


def test_listed_neighbors_and_all_pairs_give_the_same_model():
    views, _ = with_noise(sizes=(60, 60, 60), distance=4.0)
    everything, listed = (RMGL(3, candidates=how, random_state=0).fit(views) for how in ("all", 15))
    assert [layer.candidates for layer in listed.layers_] == ["certified"] * 4 + ["given"]
    np.testing.assert_array_equal(listed.labels_, everything.labels_)
    np.testing.assert_allclose(listed.view_weights_, everything.view_weights_, rtol=0.02)


@pytest.mark.parametrize("size", [30, 40])
def test_order_of_rows_and_units_of_a_view_do_not_matter(size, rng):
    views, _ = with_noise(sizes=(size,) * 3)
    model = RMGL(3, random_state=0).fit(views)
    order = rng.permutation(3 * size)
    permuted = RMGL(3, random_state=0).fit({name: X[order] for name, X in views.items()})
    assert adjusted_rand_score(permuted.labels_, model.labels_[order]) == 1.0
    np.testing.assert_allclose(permuted.view_weights_, model.view_weights_, rtol=1e-3)
    for name in views:
        for scale in ("auto", "none"):
            plain_units = (
                model if scale == "auto" else RMGL(3, scale=scale, random_state=0).fit(views)
            )
            other = RMGL(3, scale=scale, random_state=0).fit({**views, name: 1000 * views[name]})
            assert adjusted_rand_score(other.labels_, plain_units.labels_) == 1.0
            np.testing.assert_allclose(other.view_weights_, plain_units.view_weights_, rtol=1e-3)


@pytest.mark.parametrize("size", [33, 34])
def test_roughness_is_uncertain_where_entities_are_fewer_than_a_hundred(size):
    views, _ = with_noise(sizes=(size,) * 3)
    model = RMGL(3, random_state=0).fit(views)
    assert (
        (model.report_.uncertainty > 0)
        == ("There are few entities" in str(model.report_))
        == (size == 33)
    )
    certain = by_agreement(model.view_roughness_, [1.0, 1.0, LEAST], True)
    assert (model.view_weights_.min() > certain.min()) == (size == 33)  # nearer to equal


@pytest.mark.parametrize("candidates", ["all", 15])
def test_the_seed_decides_and_the_number_of_threads_does_not(candidates):
    views, _ = with_noise(distance=2.0)
    models = [
        RMGL(3, candidates=candidates, random_state=0, n_jobs=n_jobs).fit(views)
        for n_jobs in (1, 1, 2)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.labels_, models[0].labels_)
        np.testing.assert_allclose(other.view_weights_, models[0].view_weights_, rtol=1e-9)
        np.testing.assert_allclose(other.embedding_, models[0].embedding_, atol=1e-8)
        np.testing.assert_allclose(other.outlier_score_, models[0].outlier_score_, atol=1e-10)


def test_a_single_view_is_its_own_consensus(planted):
    views, target = planted
    model = RMGL(3, random_state=0).fit([views["view 0"]])
    assert [layer.name for layer in model.layers_] == ["view_0", "neighbors"]
    assert len(model.alpha_) == len(model.beta_) == 2
    assert model.view_weights_.tolist() == [1.0]
    assert not model.report_.consensus
    assert adjusted_rand_score(target, model.labels_) == 1.0


@pytest.mark.parametrize("n_neighbors", [5, 20])
def test_layers_have_about_the_wanted_number_of_edges(n_neighbors):
    views, _ = planted_views(sizes=(60, 60))
    model = RMGL(2, n_neighbors=n_neighbors, random_state=0).fit(views)
    for layer in model.layers_[:-1]:  # the neighbors have a number of their own
        assert 2 * layer.n_edges / 120 == pytest.approx(n_neighbors, rel=0.1)


def test_numbers_give_the_layers_of_the_data_alone_and_no_consensus(planted):
    views, _ = planted
    model = RMGL(3, alpha=0.5, beta=1e-12, scale="none", random_state=0).fit(views)
    assert [layer.name for layer in model.layers_] == ["view 0", "view 1"]
    assert model.view_roughness_ is None
    assert not model.report_.automatic
    for X, layer in zip(views.values(), model.layers_, strict=True):
        np.testing.assert_allclose(
            layer.adjacency.toarray(), learn_layer(X, 0.5).adjacency.toarray(), atol=1e-8
        )


def test_one_number_is_enough_to_leave_the_automatic_choice(planted):
    for numbers in ({"alpha": 0.5}, {"beta": 0.5}):
        model = RMGL(3, random_state=0, **numbers).fit(planted[0])
        assert len(model.layers_) == 2
        assert not model.report_.automatic


@pytest.mark.parametrize("name", ["consensus", "neighbors"])
def test_a_view_may_be_called_as_another_layer(name, planted):
    views, target = planted
    model = RMGL(3, random_state=0).fit({name: views["view 0"], "b": views["view 1"]})
    assert [layer.role for layer in model.layers_] == ["view", "view", "consensus", "neighbors"]
    assert len({layer.name for layer in model.layers_}) == 4
    assert adjusted_rand_score(target, model.labels_) == 1.0


# Rows that a view does not have


def with_empty_rows(share=0.2, seed=0):
    """Three planted views, each without a share of the rows, never all three without the same one."""
    rng = np.random.default_rng(seed)
    views, target = planted_views(columns=(12, 15, 20), seed=seed)
    order, count = rng.permutation(target.size), round(share * target.size)
    empty = {name: np.sort(order[m * count : (m + 1) * count]) for m, name in enumerate(views)}
    for name, rows in empty.items():
        views[name][rows] = 0.0
    return views, target, empty


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("candidates", ["auto", 15])
@pytest.mark.parametrize(
    ("share", "consensus"), [(0.1, ["consensus"]), (0.2, [])], ids=["a tenth", "a fifth"]
)
def test_labels_are_found_without_some_rows_of_every_view(kind, candidates, share, consensus):
    views, target, empty = with_empty_rows(share)
    model = RMGL(3, candidates=candidates, random_state=0).fit(
        {name: kind(X) for name, X in views.items()}
    )
    assert adjusted_rand_score(target, model.labels_) == 1.0
    assert [layer.name for layer in model.layers_] == [*views, *consensus, "neighbors"]
    for layer, rows in zip(model.layers_, empty.values(), strict=False):
        assert layer.n_nodes == 90
        assert (layer.degrees[rows] == 0).all()
        assert layer.laplacian.trace() == pytest.approx(90 - rows.size)
        assert layer.kkt_residual <= 1e-6
    for layer in model.layers_[3:]:  # those of all views
        assert layer.laplacian.trace() == pytest.approx(90)
    assert ((model.outlier_score_ >= 0) & (model.outlier_score_ <= 1)).all()
    assert (np.diff([row["objective"] for row in model.history_]) <= 0).all()


def test_empty_rows_say_as_little_in_a_permuted_view(rng):
    views, _, _ = with_empty_rows()
    order = rng.permutation(90)
    model = RMGL(3, random_state=0).fit(views)
    permuted = RMGL(3, random_state=0).fit({name: X[order] for name, X in views.items()})
    assert adjusted_rand_score(permuted.labels_, model.labels_[order]) == 1.0


# The report


def test_the_report_names_every_view_scale_and_warning():
    views, _ = with_noise()
    views["counts"] = np.random.default_rng(0).poisson(0.1, size=(90, 150)).astype(float)
    model = RMGL(
        3, scale={**dict.fromkeys(views, "auto"), "view 0": "standard"}, random_state=0
    ).fit(views)
    report = model.report_
    text = str(report)
    assert [view.scale for view in report.views] == ["standard", "minmax", "minmax", "hellinger"]
    assert report.views[0].scale_reason == "given"
    assert report.warnings
    for view in report.views:
        assert f"Scale: {view.name}: {view.scale} ({view.scale_reason})." in text
    for warning in report.warnings:
        assert f"Warning: {warning}" in text
    assert "90 entities, 4 views, 3 clusters, as requested." in text
    assert "exact solutions over all pairs" in text
    assert [view.weight for view in report.views] == model.view_weights_.tolist()


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_the_report_is_plain_data(n_clusters):
    views, _ = with_noise()
    report = RMGL(n_clusters, random_state=0).fit(views).report_
    read = json.loads(json.dumps(plain(report.as_dict()), allow_nan=False))
    assert read["n_clusters"] == 3
    assert [view["name"] for view in read["views"]] == list(views)
    assert read["warnings"] == report.warnings
    assert 0 <= read["eigengap"] <= 1
    assert 0 <= read["within"] <= 1


def test_the_report_speaks_of_given_numbers(planted):
    text = str(RMGL(3, alpha=0.5, beta=0.1, random_state=0).fit(planted[0]).report_)
    assert "alpha, beta: set by you" in text
    assert "Roughness measures" not in text


def test_well_separated_blocks_give_no_warnings(planted):
    assert RMGL(3, random_state=0).fit(planted[0]).report_.warnings == []


def test_noise_alone_is_told():
    report = RMGL(3, random_state=0).fit(noise_views()).report_
    assert report.trust.word == "poor"
    assert report.refits.separation < 0.2


# Outliers


@pytest.mark.parametrize("numbers", [{}, {"alpha": 0.5, "beta": 0.1}])
def test_a_row_far_out_has_the_largest_outlier_score(numbers):
    views, _ = planted_views()
    for X in views.values():
        X[7] += 20.0
        X[40:45] = X[40]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the row may be a fragment of its own
        score = RMGL(3, random_state=0, **numbers).fit(views).outlier_score_
    assert ((score >= 0) & (score <= 1)).all()
    assert score.argmax() == 7
    assert score[7] > 0.8
    assert (score[40:45] < 0.3).all()
    assert np.median(score) < 0.3


def test_a_row_far_out_in_one_view_still_stands_out():
    views, _ = planted_views()
    views["view 0"][7] += 20.0
    assert RMGL(3, random_state=0).fit(views).outlier_score_.argmax() == 7


# Number of clusters


@pytest.mark.parametrize("size", [30, 60])
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_the_planted_number_of_clusters_is_found(n_clusters, size):
    views, target = planted_views(sizes=(size,) * n_clusters, columns=(5, 6))
    model = RMGL("auto", random_state=0).fit(views)
    number = model.number_
    assert model.n_clusters_ == number.chosen == n_clusters
    assert adjusted_rand_score(target, model.labels_) == 1.0
    assert model.embedding_.shape[1] == n_clusters
    assert number.confidence == ("high" if n_clusters * size >= 100 else "low")
    assert (
        number.candidates.size
        == number.modularity.size
        == number.eigengap.size
        == number.stability.size
    )
    assert number.candidates[0] == 2
    assert number.stability[n_clusters - 2] >= 0.9
    assert number.eigengap[n_clusters - 2] == number.eigengap.max()
    assert number.reason in str(model.report_)


def test_the_search_for_the_number_ends_with_the_time(planted):
    """The first number is tried in any case, and the fit says that it was stopped."""
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = RMGL("auto", random_state=0, max_seconds=1e-9).fit(planted[0])
    assert model.number_.candidates.tolist() == [2]
    assert model.n_clusters_ == 2
    assert model.number_.confidence == "low"


def test_the_number_of_clusters_of_noise_is_uncertain():
    model = RMGL("auto", random_state=0).fit(noise_views())
    assert model.number_.confidence == "low"
    assert any("the number of clusters is uncertain" in text for text in model.report_.warnings)


def test_the_number_of_clusters_needs_the_automatic_choice(planted):
    for numbers in ({"alpha": 1.0}, {"beta": 1.0}, {"alpha": 1.0, "beta": 1.0}):
        with pytest.raises(
            ValueError, match=r"n_clusters='auto' requires alpha='auto' and beta='auto'"
        ):
            RMGL("auto", **numbers).fit(planted[0])


def test_two_rows_have_no_number_of_clusters(rng):
    with pytest.raises(ValueError, match=r"n_clusters='auto' requires at least 3 rows"):
        RMGL("auto").fit(rng.normal(size=(2, 3)))


def test_modularity_is_the_double_sum(rng):
    W = sparse.random_array((25, 25), density=0.2, random_state=rng, format="csr")
    W = sparse.csr_array(W + W.T - 2 * sparse.diags_array(W.diagonal()))
    W.eliminate_zeros()
    labels = rng.integers(3, size=25)
    degrees, total = W.toarray().sum(axis=1), W.sum()
    slow = sum(
        W.toarray()[i, j] - degrees[i] * degrees[j] / total
        for i in range(25)
        for j in range(25)
        if labels[i] == labels[j]
    )
    assert modularity(W, labels) == pytest.approx(slow / total, rel=1e-12)
    networkx = pytest.importorskip("networkx")
    parts = [set(np.flatnonzero(labels == k).tolist()) for k in range(3)]
    assert modularity(W, labels) == pytest.approx(
        networkx.community.modularity(networkx.from_scipy_sparse_array(W), parts), rel=1e-9
    )


def test_the_number_of_components_is_the_number_of_clusters():
    block = np.ones((12, 12)) - np.eye(12)
    graph = sparse.csr_array(sparse.block_diag([block] * 4))
    found = by_silhouette(graph, np.random.RandomState(0))
    assert found.chosen == 4
    assert found.rivals == [4]
    assert found.modularity[2] == pytest.approx(0.75)
    assert found.stability[2] == pytest.approx(1.0)


# Components


@pytest.mark.parametrize("distance", [6.0, 3.0])
@pytest.mark.parametrize("noise", [False, True])
def test_components_are_the_labels(distance, noise):
    views, target = with_noise(distance=distance) if noise else planted_views(distance=distance)
    model = RMGL(3, components=True, random_state=0).fit(views)
    for layer in model.layers_:
        assert layer.n_components == 3
        assert adjusted_rand_score(components(layer.adjacency)[1], model.labels_) == 1.0
        assert layer.kkt_residual <= 1e-6
    assert adjusted_rand_score(target, model.labels_) > 0.95


def test_components_with_numbers_raise_beta(planted):
    views, target = planted
    model = RMGL(3, alpha=20.0, beta=0.01, components=True, random_state=0).fit(views)
    assert (model.beta_ > 0.01).all()
    assert [layer.n_components for layer in model.layers_] == [3, 3]
    assert adjusted_rand_score(target, model.labels_) == 1.0


def test_copies_of_rows_do_not_take_clusters():
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(4), 60)
    copied = np.concatenate([np.arange(240), np.repeat([0, 70, 130], 12)])
    views = [
        rng.normal(size=(4, width))[target] * 3 + rng.normal(size=(240, width)) for width in (6, 9)
    ]
    model = RMGL(4, random_state=0).fit([X[copied] for X in views])
    assert adjusted_rand_score(target[copied], model.labels_) > 0.9


def test_the_costs_of_the_layers_follow_from_public_attributes(planted):
    views, _ = planted
    model = RMGL(3, random_state=0, candidates="all").fit(views)
    scaled = Views.of(views).scaled("auto")
    square = [
        np.square(rows[:, None] - rows).sum(axis=2) for rows in (model.guide_, model.embedding_)
    ]
    for m, X in enumerate(scaled.matrices):
        scaling, u, alpha = model.local_scaling_[m], model.layers_[m].potentials, model.alpha_[m]
        z = np.square(X[:, None] - X).sum(axis=2) / np.outer(scaling.scales, scaling.scales)
        costs = (
            np.maximum(z, np.minimum.outer(scaling.floors, scaling.floors))
            + square[0]
            + model.beta_[m] * square[1]
        )
        weights = np.maximum(u[:, None] + u - costs, 0) / (4 * alpha)
        np.fill_diagonal(weights, 0)
        gradient = weights.sum(axis=1) + (u - u.mean()) / (2 * alpha) - 1
        assert np.abs(gradient).max() < 1e-5
        np.testing.assert_allclose(model.layers_[m].adjacency.toarray(), weights, atol=1e-4)


@pytest.mark.parametrize("n", [4, 5, 30])
def test_the_deviation_of_roughness_is_that_over_all_orders_of_the_rows(n, rng):
    rows = rng.normal(size=(n, 3))
    W = sparse.random(n, n, density=0.6, random_state=1).toarray()
    W = sparse.csr_array(np.triu(W, 1) + np.triu(W, 1).T)
    orders = (
        list(itertools.permutations(range(n)))
        if n <= 5
        else [rng.permutation(n) for _ in range(20_000)]
    )
    slow = np.std([roughness(rows[list(order)], W) for order in orders])
    assert roughness_deviation(rows, W) == pytest.approx(slow, rel=1e-9 if n <= 5 else 0.02)


def test_nothing_varies_without_edges_or_distances(rng):
    assert roughness_deviation(rng.normal(size=(9, 2)), sparse.csr_array((9, 9))) == 0.0
    assert roughness_deviation(np.ones((9, 2)), sparse.csr_array(1.0 - np.eye(9))) == 0.0
