"""RMGL: its laws, and the scikit-learn contract."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rmgl import RMGL, learn_layer
from tests.conftest import planted_views


def expected_failures(estimator):
    """One check takes whatever has a `predict_proba` for a classifier, and wants a column for each
    of the four classes of its `y`.
    """
    reason = "RMGL looks for as many clusters as n_clusters says, not for the classes of y"
    return {"check_estimator_sparse_array": reason, "check_estimator_sparse_matrix": reason}


@parametrize_with_checks([RMGL()], expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tiny random data: fragments, distinct points
        check(estimator)


def projector(Q):
    return Q @ Q.T


def assert_history_falls(model):
    objective = [row["objective"] for row in model.history_]
    assert (np.diff(objective) <= 0).all()
    for row in model.history_:
        assert row["objective"] == pytest.approx(
            row["smoothness"] + row["ridge"] + row["coupling"], rel=1e-12
        )


def test_finds_planted_blocks(planted):
    views, target = planted
    model = RMGL(3, random_state=0).fit(views)
    assert adjusted_rand_score(target, model.labels_) == 1.0
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-9)
    assert model.converged_
    assert model.view_names_ == ["view 0", "view 1"]
    assert model.n_features_in_ == 8
    assert [layer.name for layer in model.layers_] == [*model.view_names_, "consensus", "neighbors"]
    assert len(model.alpha_) == len(model.beta_) == 4
    assert len(model.view_weights_) == 2
    assert_history_falls(model)


def test_history_has_one_row_per_half_step(planted):
    model = RMGL(3, random_state=0).fit(planted[0])
    steps = [(row["iteration"], row["step"]) for row in model.history_]
    rounds = [(k, step) for k in range(1, model.n_iter_ + 1) for step in ("layers", "embedding")]
    assert steps == [(0, "start"), *rounds, (model.n_iter_, "certificate")]
    assert np.all(np.diff([row["seconds"] for row in model.history_]) >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_objective_never_rises(seed):
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.random((50, 9))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RMGL(
            4, alpha=1.0, beta=[1.0, 10.0, 100.0], tol=0, max_iter=30, scale="none", random_state=0
        ).fit(views)
    assert_history_falls(model)


def test_joint_objective_is_the_matrix_expression(planted):
    views, _ = planted
    model = RMGL(3, alpha=[1.0, 2.0], beta=[3.0, 4.0], scale="none", random_state=0).fit(views)
    expected = 0.0
    for X, layer, alpha, beta in zip(
        views.values(), model.layers_, [1.0, 2.0], [3.0, 4.0], strict=True
    ):
        L, Q = layer.laplacian.toarray(), model.embedding_
        expected += (
            np.trace(X.T @ L @ X) + alpha * np.linalg.norm(L) ** 2 + beta * np.trace(Q.T @ L @ Q)
        )
    assert model.history_[-1]["objective"] == pytest.approx(expected, rel=1e-10)
    combined = sum(
        beta * layer.laplacian.toarray()
        for layer, beta in zip(model.layers_, [3.0, 4.0], strict=True)
    )
    np.testing.assert_allclose(
        combined @ model.embedding_, model.embedding_ * model.eigenvalues_, atol=1e-6
    )


def test_large_beta_gives_exactly_k_components_and_their_indicators(planted):
    views, target = planted
    model = RMGL(3, alpha=0.5, beta=1e3, random_state=0).fit(views)
    assert [layer.n_components for layer in model.layers_] == [3, 3]
    indicators = np.eye(3)[target] / np.sqrt(30)
    np.testing.assert_allclose(projector(model.embedding_), projector(indicators), atol=1e-9)


def test_beta_zero_learns_the_layer_of_the_data_alone(planted):
    views, _ = planted
    model = RMGL(3, alpha=0.7, beta=[0, 1], scale="none", random_state=0).fit(views)
    alone = learn_layer(views["view 0"], 0.7)
    np.testing.assert_allclose(
        model.layers_[0].adjacency.toarray(), alone.adjacency.toarray(), atol=1e-8
    )


def fit_numbers(views, **parameters):
    options = {
        "alpha": 0.5,
        "beta": 1.0,
        "scale": "none",
        "random_state": 0,
        "tol": 1e-10,
        "max_iter": 500,
    } | parameters
    return RMGL(3, **options).fit(views)


def test_every_view_twice_changes_nothing(planted):
    views, _ = planted
    once = fit_numbers(list(views.values()), beta=2.0)
    twice = fit_numbers(list(views.values()) * 2, beta=2.0)
    np.testing.assert_allclose(projector(twice.embedding_), projector(once.embedding_), atol=1e-6)
    for m in range(4):
        np.testing.assert_allclose(
            twice.layers_[m].adjacency.toarray(), once.layers_[m % 2].adjacency.toarray(), atol=1e-6
        )


def test_scale_law(planted):
    views, _ = planted
    model = fit_numbers(views)
    scaled = fit_numbers({name: 10 * X for name, X in views.items()}, alpha=50.0, beta=100.0)
    np.testing.assert_allclose(projector(scaled.embedding_), projector(model.embedding_), atol=1e-6)
    np.testing.assert_allclose(
        scaled.layers_[0].adjacency.toarray(), model.layers_[0].adjacency.toarray(), atol=1e-6
    )


@pytest.mark.parametrize("factor", [1e-20, 1e-5, 1e5, 1e20])
def test_default_parameters_follow_the_scale_law(planted, factor):
    views, _ = planted
    times = {name: factor * X for name, X in views.items()}
    for numbers in ({"alpha": 0.5}, {"beta": 0.5}):
        model = RMGL(3, scale="none", random_state=0, **numbers).fit(views)
        numbers = {name: factor**2 * number for name, number in numbers.items()}
        scaled = RMGL(3, scale="none", random_state=0, **numbers).fit(times)
        np.testing.assert_allclose(scaled.alpha_, factor**2 * model.alpha_, rtol=1e-9)
        np.testing.assert_allclose(scaled.beta_, factor**2 * model.beta_, rtol=1e-9)
        np.testing.assert_array_equal(scaled.labels_, model.labels_)
        assert scaled.history_[-1]["eigen_residual"] <= 1e-9


@pytest.mark.parametrize("factor", [1e-20, 1e-5, 1e5, 1e20])
def test_the_automatic_choice_has_no_scale(planted, factor):
    views, _ = planted
    model = RMGL(3, scale="none", random_state=0).fit(views)
    scaled = RMGL(3, scale="none", random_state=0).fit(
        {name: factor * X for name, X in views.items()}
    )
    np.testing.assert_allclose(scaled.alpha_, model.alpha_, rtol=1e-9)
    np.testing.assert_allclose(scaled.beta_, model.beta_, rtol=1e-9)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    assert scaled.history_[-1]["eigen_residual"] <= 1e-9


def test_order_of_views_and_of_nodes(planted, rng):
    views, _ = planted
    model = fit_numbers(views, alpha={"view 0": 0.3, "view 1": 0.6})
    turned = fit_numbers(dict(reversed(views.items())), alpha={"view 0": 0.3, "view 1": 0.6})
    np.testing.assert_allclose(projector(turned.embedding_), projector(model.embedding_), atol=1e-6)
    order = rng.permutation(90)
    permuted = fit_numbers(
        {name: X[order] for name, X in views.items()}, alpha={"view 0": 0.3, "view 1": 0.6}
    )
    np.testing.assert_allclose(
        projector(permuted.embedding_), projector(model.embedding_)[np.ix_(order, order)], atol=1e-6
    )
    assert adjusted_rand_score(permuted.labels_, model.labels_[order]) == 1.0


@pytest.mark.parametrize("solver", ["newton", "dual-ascent"])
def test_results_do_not_depend_on_the_number_of_threads(planted, solver):
    views, _ = planted
    views = {**views, "view 2": np.sqrt(np.abs(views["view 0"]))}
    one, two, many = (
        RMGL(3, random_state=0, n_jobs=n_jobs, solver=solver).fit(views) for n_jobs in (1, 2, -1)
    )
    for other in (two, many):
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-10)
        for layer, same in zip(other.layers_, one.layers_, strict=True):
            np.testing.assert_allclose(
                layer.adjacency.toarray(), same.adjacency.toarray(), atol=1e-10
            )


def test_both_solvers_give_the_same_model(planted):
    views, _ = planted
    newton = fit_numbers(views, max_iter=20, tol=1e-6)
    ascent = fit_numbers(views, max_iter=20, tol=1e-6, solver="dual-ascent")
    np.testing.assert_allclose(
        projector(ascent.embedding_), projector(newton.embedding_), atol=1e-5
    )


def test_kinds_of_input_agree(planted):
    views, _ = planted
    model = RMGL(3, random_state=0).fit(views)
    for given in (
        list(views.values()),
        tuple(views.values()),
        [pd.DataFrame(X) for X in views.values()],
        [sparse.csr_array(X) for X in views.values()],
        [np.asfortranarray(X) for X in views.values()],
    ):
        np.testing.assert_array_equal(RMGL(3, random_state=0).fit_predict(given), model.labels_)
    table = np.hstack(list(views.values()))
    np.testing.assert_array_equal(
        RMGL(3, views=[3, 5], random_state=0).fit_predict(table), model.labels_
    )
    frame = pd.DataFrame(table, columns=list("abcdefgh"))
    blocks = RMGL(3, views={"x": list("abc"), "y": slice(3, 8)}, random_state=0).fit(frame)
    np.testing.assert_array_equal(blocks.labels_, model.labels_)
    assert blocks.view_names_ == ["x", "y"]
    assert blocks.feature_names_in_.tolist() == list("abcdefgh")
    assert not hasattr(blocks.set_params(views=None).fit(views), "feature_names_in_")


@pytest.mark.parametrize(
    "parameters", [{}, {"candidates": 10}, {"alpha": 0.5, "beta": 1.0, "scale": "none"}]
)
def test_the_order_of_an_array_in_memory_changes_no_bit(planted, parameters):
    """Rows or columns one after the other, as NumPy and pandas store them, and every second column
    of a wider array.
    """
    views, _ = planted
    model = RMGL(3, random_state=0, **parameters).fit(views)
    wider = {name: np.repeat(X, 2, axis=1)[:, ::2] for name, X in views.items()}
    for given in (wider, {name: np.asfortranarray(X) for name, X in views.items()}):
        other = RMGL(3, random_state=0, **parameters).fit(given)
        np.testing.assert_array_equal(other.embedding_, model.embedding_)
        np.testing.assert_array_equal(other.outlier_score_, model.outlier_score_)
        np.testing.assert_array_equal(other.transform(given), model.transform(views))
        for ours, theirs in zip(other.layers_, model.layers_, strict=True):
            np.testing.assert_array_equal(ours.adjacency.data, theirs.adjacency.data)


def test_fit_leaves_its_input_bit_identical(planted):
    views, _ = planted
    kept = {name: X.copy() for name, X in views.items()}
    RMGL(3, random_state=0).fit(views)
    assert list(views) == list(kept)
    for name, X in kept.items():
        np.testing.assert_array_equal(views[name], X)


def test_clone_and_pickle(planted):
    views, _ = planted
    model = RMGL(3, alpha={"view 0": 1.0, "view 1": 2.0}, random_state=0).fit(views)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    np.testing.assert_array_equal(
        copy.layers_[1].adjacency.toarray(), model.layers_[1].adjacency.toarray()
    )
    np.testing.assert_array_equal(clone(model).fit_predict(views), model.labels_)


def test_set_output(planted):
    table = pd.DataFrame(
        np.hstack(list(planted[0].values())), index=[f"cell{i}" for i in range(90)]
    )
    table.columns = table.columns.astype(str)
    found = (
        RMGL(3, views=[3, 5], random_state=0).set_output(transform="pandas").fit_transform(table)
    )
    assert found.columns.tolist() == ["rmgl0", "rmgl1", "rmgl2"]
    assert found.index.tolist() == table.index.tolist()


def test_pipeline_and_grid_search_over_column_blocks(planted):
    views, target = planted
    table = np.hstack(list(views.values()))
    pipeline = make_pipeline(StandardScaler(), RMGL(3, views=[3, 5], scale="none", random_state=0))
    assert adjusted_rand_score(target, pipeline.fit_predict(table)) == 1.0

    def score(estimator, X, y):
        return adjusted_rand_score(y, estimator.fit_predict(X))

    everything = [(np.arange(90), np.arange(90))]
    search = GridSearchCV(
        RMGL(3, views=[3, 5], random_state=0),
        {"alpha": [0.1, 1.0, [0.5, 2.0]]},
        scoring=score,
        cv=everything,
    )
    search.fit(table, target)
    assert search.best_score_ == 1.0


def test_too_few_rounds_warn_and_say_what_to_change(rng):
    with pytest.warns(
        ConvergenceWarning, match=r"did not converge in max_iter=1 rounds; raise max_iter"
    ):
        model = RMGL(3, alpha=1.0, beta=50.0, max_iter=1, tol=1e-12, random_state=0).fit(
            [rng.normal(size=(60, 3))]
        )
    assert not model.converged_
    assert model.n_iter_ == 1


def test_inaccurate_eigenvectors_are_told(rng, monkeypatch):
    from rmgl.embedding import eigenvectors as embedding
    from rmgl.embedding import lanczos

    monkeypatch.setattr(embedding, "DENSE_NODES", 0)
    monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
    monkeypatch.setattr(embedding, "DENSE_RESCUE_NODES", 0)
    monkeypatch.setattr(embedding, "MAX_PRODUCTS", 1)
    with (
        pytest.warns(
            ConvergenceWarning, match="eigenvectors of the embedding have a relative residual"
        ),
        pytest.warns(ConvergenceWarning, match="did not converge in 1 matrix products"),
    ):
        model = RMGL(3, random_state=0, max_iter=2, tol=1.0).fit([rng.normal(size=(200, 3))])
    assert not model.converged_


def test_fragments_are_told():
    views, _ = planted_views(sizes=(20, 20, 20))
    with pytest.warns(
        UserWarning, match="more than n_clusters=3, so isolated nodes and small fragments"
    ):
        RMGL(3, alpha=1e-6, beta=1e-6, random_state=0).fit(views)


def test_verbose_shows_a_bar(planted, capsys):
    """One that names the stages, and says how much time was spent and is left."""
    RMGL(3, random_state=0, verbose=1).fit(planted[0])
    shown = capsys.readouterr().err
    places = [
        shown.index(stage)
        for stage in ("scaling", "neighbors", "layers", "embedding", "clusters", "done")
    ]
    assert places == sorted(places)
    assert "elapsed, about" in shown
    assert "100%" in shown
    RMGL(3, random_state=0).fit(planted[0])
    assert capsys.readouterr().err == ""


def test_memory_is_checked_before_distances_are_allocated(planted, monkeypatch):
    from rmgl.running import threads

    monkeypatch.setattr(threads, "available_memory", lambda: 1000)
    with pytest.raises(
        MemoryError, match=r"2 view\(s\): all 4,005 pairs of 90 rows need at least .*candidates=20"
    ):
        RMGL(3, alpha=1.0).fit(planted[0])
    # and the consensus
    with pytest.raises(MemoryError, match=r"3 view\(s\): all 4,005 pairs of 90 rows"):
        RMGL(3).fit(planted[0])
    # two views, two threads, two more
    monkeypatch.setattr(threads, "available_memory", lambda: 8 * 4005 * 6)
    RMGL(3, alpha=1.0, n_jobs=64).fit(planted[0])


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_the_last_round_is_tight_however_few_there_are(max_iter, rng):
    y = rng.integers(4, size=600)
    views = [3.0 * rng.normal(size=(4, 5))[y] + rng.normal(size=(600, 5)) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RMGL(
            4, candidates=10, beta=[0.5, 0.0], max_iter=max_iter, tol=0.0, random_state=0
        ).fit(views)
    assert max(layer.kkt_residual for layer in model.layers_) <= 1e-8
    assert model.history_[-2]["eigen_residual"] <= 1e-8
    assert (np.diff([row["objective"] for row in model.history_]) <= 0).all()


def test_small_clusters_survive_the_sample_of_many_rows(rng, monkeypatch):
    from rmgl.embedding import labels as clustering

    monkeypatch.setattr(clustering, "SAMPLED_ROWS", 500)
    sizes = (3000, 2990, 10)
    y = np.repeat(np.arange(3), sizes)
    rows = np.eye(3)[y] / np.sqrt(sizes)[y][:, None] + 1e-4 * rng.normal(size=(6000, 3))
    for seed in range(5):
        assert sorted(
            np.bincount(clustering.cluster_rows(rows, 3, random_state=seed)).tolist()
        ) == sorted(sizes)
