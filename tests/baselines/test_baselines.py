"""The comparison methods against their formulas."""

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.linalg import block_diag
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rmgl import learn_layer
from rmgl.baselines import GDMCCA, SCGED, SCML, GLSigRep, learn_gl_sigrep
from rmgl.baselines.baseline import spectral_rows
from rmgl.baselines.gd_mcca import affinity_laplacian, common_directions, negated_operator
from rmgl.baselines.sc_ged import (
    JointProblem,
    joint_spectrum,
    most_informative,
    random_walk_eigenvectors,
    random_walk_spectrum,
)
from rmgl.baselines.sc_ml import merge_subspaces, merged_operator
from rmgl.embedding.eigenvectors import normalized_laplacian, smallest_eigenvectors
from tests.embedding.test_eigenvectors import random_graph


def projector(Q):
    return Q @ Q.T


@parametrize_with_checks([GLSigRep(3), SCML(3), SCGED(3, max_iter=20), GDMCCA(3)])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.mark.parametrize(
    "method",
    [
        SCML(3, random_state=0),
        SCGED(3, max_iter=30, tol=1e-3, random_state=0),
        GDMCCA(3, random_state=0),
    ],
)
def test_planted_blocks_are_found_from_views(planted, method):
    views, target = planted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert adjusted_rand_score(target, clone(method).fit_predict(views)) == 1.0


def test_gl_sigrep_of_one_view_and_of_all(planted):
    views, target = planted
    assert (
        adjusted_rand_score(target, GLSigRep(3, random_state=0).fit_predict(views["view 0"])) == 1.0
    )
    together = GLSigRep(3, concatenate=True, random_state=0).fit(views)
    assert adjusted_rand_score(target, together.labels_) == 1.0
    assert together.layer_.name == "view 0 + view 1"
    with pytest.raises(
        ValueError,
        match=(
            "GLSigRep learns one graph, but 2 views were given; pass one view, or set "
            "concatenate=True"
        ),
    ):
        GLSigRep(3).fit(views)


# GL-SigRep


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.5), (1.0, 0.2), (5.0, 20.0)])
def test_gl_sigrep_objective_falls_at_every_half_step(rng, alpha, beta):
    layer = learn_gl_sigrep(rng.normal(size=(40, 5)), alpha, beta, tol=1e-9)
    assert len(layer.history) == 2 * layer.n_rounds
    assert (np.diff(layer.history) <= 1e-12 * layer.history[0]).all()


def test_gl_sigrep_ends_at_a_fixed_point_of_both_steps(rng):
    X, alpha, beta = rng.normal(size=(30, 4)), 0.3, 0.5
    layer = learn_gl_sigrep(X, alpha, beta, tol=1e-14, max_iter=500, threshold=0.0)
    L = layer.laplacian.toarray()
    np.testing.assert_allclose(
        layer.smoothed, np.linalg.solve(np.eye(30) + alpha * L, X), atol=1e-10
    )
    again = learn_layer(layer.smoothed, beta / alpha)  # costs and ridge divided by alpha
    np.testing.assert_allclose(again.adjacency.toarray(), layer.adjacency.toarray(), atol=1e-5)
    Y = layer.smoothed
    value = (
        np.linalg.norm(X - Y) ** 2 + alpha * np.trace(Y.T @ L @ Y) + beta * np.linalg.norm(L) ** 2
    )
    assert layer.history[-1] == pytest.approx(value, rel=1e-10)


def test_gl_sigrep_without_smoothing_is_the_layer_problem(rng):
    X, ridge = rng.normal(size=(30, 4)), 0.5
    plain = learn_layer(X, ridge).adjacency.toarray()
    errors = [
        abs(learn_gl_sigrep(X, a, a * ridge, threshold=0.0).adjacency.toarray() - plain).max()
        for a in (1e-2, 1e-4, 1e-6)
    ]
    assert errors[-1] < 1e-5
    assert errors[0] > errors[1] > errors[2]


def test_gl_sigrep_drops_small_edges(rng):
    X = rng.normal(size=(30, 4))
    layer = learn_gl_sigrep(X, 0.1, 0.1, threshold=0.05)
    assert layer.adjacency.data.min() >= 0.05
    assert layer.n_edges < learn_gl_sigrep(X, 0.1, 0.1, threshold=0.0).n_edges


def test_gl_sigrep_sparse_solver_agrees_with_the_dense_one(rng, monkeypatch):
    from rmgl.baselines import gl_sigrep

    X = rng.normal(size=(40, 3))
    dense = learn_gl_sigrep(X, 0.5, 0.2)
    monkeypatch.setattr(gl_sigrep, "CHOLESKY_NODES", 0)
    np.testing.assert_allclose(learn_gl_sigrep(X, 0.5, 0.2).smoothed, dense.smoothed, rtol=1e-9)


def test_gl_sigrep_says_when_it_did_not_converge(rng):
    with pytest.warns(ConvergenceWarning, match="GL-SigRep did not converge in max_iter=1 rounds"):
        learn_gl_sigrep(rng.normal(size=(20, 2)), 1.0, 1.0, max_iter=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"alpha": 1.0, "beta": 1e-20},
            r"alpha=1.0e-20 for view 'layer' is below the rounding error of squared distances",
        ),
        ({"max_iter": 0}, "max_iter=0 must be a whole number >= 1"),
        ({"tol": -1}, "tol=-1 and threshold=0.0001 must be numbers >= 0"),
        ({"threshold": None}, "threshold=None must be numbers >= 0"),
    ],
)
def test_gl_sigrep_bad_arguments(rng, arguments, message):
    with pytest.raises(ValueError, match=message):
        learn_gl_sigrep(rng.normal(size=(20, 2)), **arguments)


def test_gl_sigrep_layer_knows_both_weights(rng):
    layer = learn_gl_sigrep(rng.normal(size=(20, 2)), 0.3, 0.5)
    assert (layer.alpha, layer.beta) == (0.3, 0.5)


# SC-ML


@pytest.fixture
def three_layers(rng):
    return [sparse.csr_array(random_graph(rng, 60)) for _ in range(3)]


def test_scml_with_one_layer_is_spectral_clustering(three_layers):
    layer = three_layers[0]
    merged = merge_subspaces([layer], 4, 0.5)
    own = smallest_eigenvectors(layer, 4, normalized=True).vectors
    np.testing.assert_allclose(projector(merged), projector(own), atol=1e-8)
    labels = SCML(4, precomputed=True, random_state=0).fit_predict([layer])
    from rmgl.embedding.labels import cluster_rows

    wanted = cluster_rows(spectral_rows(layer, 4), 4, random_state=0)
    assert adjusted_rand_score(labels, wanted) == 1.0


def test_scml_operator_equals_the_dense_matrix(three_layers):
    dense = np.zeros((60, 60))
    for A in three_layers:
        W = A.toarray()
        root = np.diag(W.sum(axis=1) ** -0.5)
        L = np.eye(60) - root @ W @ root
        U = linalg.eigh(L)[1][:, :3]
        dense += L - 0.7 * U @ U.T
    operator = merged_operator(three_layers, 3, 0.7)
    np.testing.assert_allclose(operator @ np.eye(60), dense, atol=1e-8)
    np.testing.assert_allclose(operator @ np.ones(60), dense.sum(axis=1), atol=1e-8)
    np.testing.assert_allclose(
        projector(merge_subspaces(three_layers, 3, 0.7)),
        projector(linalg.eigh(dense)[1][:, :3]),
        atol=1e-7,
    )


def test_layers_can_be_given_in_three_ways(planted):
    views, target = planted
    layers = [learn_layer(X, 1.0, name=name) for name, X in views.items()]
    by_layer = SCML(3, random_state=0).fit(layers)
    assert by_layer.view_names_ == ["view 0", "view 1"]
    by_name = SCML(3, random_state=0).fit({layer.name: layer for layer in layers})
    by_matrix = SCML(3, precomputed=True, random_state=0).fit(
        [layer.adjacency.toarray() for layer in layers]
    )
    for model in (by_layer, by_name, by_matrix):
        assert adjusted_rand_score(target, model.labels_) == 1.0
        assert not hasattr(model, "layers_")


def test_nothing_of_an_earlier_fit_remains(planted):
    views, _ = planted
    model = SCML(3, random_state=0).fit(views)
    assert len(model.layers_) == 2
    model.fit([learn_layer(X, 1.0, name=name) for name, X in views.items()])
    assert not hasattr(model, "layers_")


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({}, [], "no views were given"),
        ({}, {}, "no views were given"),
        (
            {"precomputed": True, "views": [2, 2]},
            np.ones((4, 4)),
            "layers were given: set views=None",
        ),
        (
            {},
            [learn_layer(np.eye(4), 1.0), np.eye(4)],
            "some inputs are Layer objects and some are not",
        ),
        ({}, [learn_layer(np.eye(4), 1.0)] * 2, "layer names must differ"),
    ],
)
def test_bad_collections_of_layers(options, given, message):
    with pytest.raises(ValueError, match=message):
        SCML(2, **options).fit(given)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            [np.ones((4, 3))],
            r"layer 'view_0' has shape \(4, 3\): an adjacency matrix must be square",
        ),
        ([-np.ones((4, 4))], "layer 'view_0' has negative weights"),
        (
            [np.triu(np.ones((4, 4)), 1)],
            r"layer 'view_0' is not symmetric \(entries \(0, 1\) and \(1, 0\) differ\)",
        ),
        ([np.ones((4, 4)), np.ones((5, 5))], "view 'view_1' has 5 rows but view 'view_0' has 4"),
    ],
)
def test_bad_layers(layers, message):
    with pytest.raises(ValueError, match=message):
        SCML(2, precomputed=True).fit(layers)


def disconnected_layers():
    """Layers with isolated nodes, components and, being copies of one block, repeated eigenvalues."""
    block = random_graph(np.random.default_rng(5), 12)
    first = block_diag(block, block, block, [[0.0]], [[0.0]])
    second = block_diag(block, block, block, [[0.0, 1.0], [1.0, 0.0]])
    return [sparse.csr_array(first), sparse.csr_array(second)]


@pytest.mark.parametrize("method", [SCML, SCGED])
def test_disconnected_layers_isolated_nodes_and_repeated_eigenvalues(method):
    layers = disconnected_layers()
    options = {} if method is SCML else {"max_iter": 30}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = method(3, precomputed=True, random_state=0, **options).fit(layers)
    assert np.isfinite(model.embedding_).all()
    assert adjusted_rand_score(model.labels_[:36], np.repeat([0, 1, 2], 12)) == 1.0
    np.testing.assert_array_equal(normalized_laplacian(layers[0]).toarray()[-2:], 0)


# SC-GED


def slow_objective(spectra, P, Q, ridge, inverse):
    dense = [
        s.laplacian.toarray() if sparse.issparse(s.laplacian) else s.laplacian for s in spectra
    ]
    misfit = sum(
        np.linalg.norm(L - P @ np.diag(s.values) @ Q) ** 2
        for L, s in zip(dense, spectra, strict=True)
    )
    norms = np.linalg.norm(P) ** 2 + np.linalg.norm(Q) ** 2
    return (
        0.5 * misfit + ridge / 2 * norms + inverse / 2 * np.linalg.norm(P @ Q - np.eye(len(P))) ** 2
    )


@pytest.fixture
def small_graphs(rng):
    return [sparse.csr_array(random_graph(rng, 7)) for _ in range(3)]


@pytest.fixture
def small_spectra(small_graphs):
    return [random_walk_spectrum(graph) for graph in small_graphs]


def test_random_walk_spectrum_rebuilds_the_laplacian(rng):
    for A in (
        random_graph(rng, 9),
        random_graph(rng, 60, density=0.02),
        disconnected_layers()[0].toarray(),
    ):
        s = random_walk_spectrum(sparse.csr_array(A))
        V, inverse = random_walk_eigenvectors(sparse.csr_array(A))
        degrees = A.sum(axis=1)
        wanted = (
            np.diag((degrees > 0).astype(float)) - A / np.where(degrees > 0, degrees, 1)[:, None]
        )
        np.testing.assert_allclose(
            s.laplacian.toarray() if sparse.issparse(s.laplacian) else s.laplacian,
            wanted,
            atol=1e-12,
        )
        np.testing.assert_allclose(V @ np.diag(s.values) @ inverse, wanted, atol=1e-10)
        np.testing.assert_allclose(V @ inverse, np.eye(len(A)), atol=1e-10)
        assert (np.diff(s.values) >= -1e-12).all()


def test_random_walk_eigenvectors_begin_with_the_largest_components():
    V, _ = random_walk_eigenvectors(disconnected_layers()[0])
    assert [np.flatnonzero(V[:, k]).tolist() for k in range(3)] == [
        list(range(start, start + 12)) for start in (0, 12, 24)
    ]


def test_scged_objective_and_gradients(small_spectra, rng):
    """The closed form of each block is where the finite-difference gradient of the slow objective
    vanishes.
    """
    problem = JointProblem(small_spectra, 0.5, 10.0)
    P, Q = rng.normal(size=(7, 7)), rng.normal(size=(7, 7))
    slow = slow_objective(small_spectra, P, Q, 0.5, 10.0)
    assert problem.objective(P.T @ P, Q @ Q.T, P, problem.target_P(Q)) == pytest.approx(
        slow, rel=1e-12
    )
    assert problem.objective(P.T @ P, Q @ Q.T, Q, problem.target_Q(P)) == pytest.approx(
        slow, rel=1e-12
    )

    H_P = (Q @ Q.T) * problem.weights + 0.5 * np.eye(7)
    gradient_P = P @ H_P - problem.target_P(Q)
    numeric_P = approx_fprime(
        P.ravel(), lambda p: slow_objective(small_spectra, p.reshape(7, 7), Q, 0.5, 10.0), 1e-6
    )
    np.testing.assert_allclose(gradient_P.ravel(), numeric_P, rtol=1e-3, atol=1e-2)
    H_Q = (P.T @ P) * problem.weights + 0.5 * np.eye(7)
    gradient_Q = H_Q @ Q - problem.target_Q(P)
    numeric_Q = approx_fprime(
        Q.ravel(), lambda q: slow_objective(small_spectra, P, q.reshape(7, 7), 0.5, 10.0), 1e-6
    )
    np.testing.assert_allclose(gradient_Q.ravel(), numeric_Q, rtol=1e-3, atol=1e-2)


def test_scged_objective_falls_at_every_block_step(small_graphs, small_spectra):
    found = joint_spectrum(
        small_spectra, *random_walk_eigenvectors(small_graphs[0]), 0.5, 100.0, tol=0, max_iter=40
    )
    assert len(found.history) == 81
    assert (np.diff(found.history) <= 1e-12 * found.history[0]).all()
    assert found.history[-1] == pytest.approx(
        slow_objective(small_spectra, found.P, found.Q, 0.5, 100.0), rel=1e-10
    )


def test_scged_starts_from_the_layer_that_agrees_most_with_the_others(rng):
    target = np.repeat([0, 1, 2], 15)
    same = (target[:, None] == target) * 1.0
    good = [
        sparse.csr_array(same * random_graph(rng, 45, density=0.9) + 0.01 * random_graph(rng, 45))
        for _ in range(2)
    ]
    noise = sparse.csr_array(random_graph(rng, 45))
    assert most_informative([noise, *good], 3) in (1, 2)
    assert most_informative([noise], 3) == 0


# GD-MCCA


def dense_gdmcca(matrices, gamma, epsilon, L):
    total = -gamma * L
    for X in matrices:
        X = X - X.mean(axis=0)
        K = X @ X.T
        ridge = epsilon * np.square(linalg.svdvals(X)).mean()
        total = total + np.linalg.solve(K + ridge * np.eye(len(K)), K)
    return total


def dense_affinity_laplacian(X):
    K = X @ X.T
    A = K / K.sum(axis=1)[:, None]
    A = (A + A.T) / 2
    return np.diag(A.sum(axis=1)) - A


@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0])
def test_gdmcca_equals_the_dense_formula(rng, gamma):
    matrices = [rng.random((40, 5)), rng.random((40, 8))]
    L = dense_affinity_laplacian(matrices[1])
    dense = dense_gdmcca(matrices, gamma, 0.1, L)
    penalty = affinity_laplacian(lambda V: matrices[1] @ (matrices[1].T @ V), 40, "b")
    np.testing.assert_allclose(penalty.laplacian @ np.eye(40), L, atol=1e-12)
    assert np.linalg.eigvalsh(L)[-1] <= penalty.bound
    np.testing.assert_allclose(
        negated_operator(matrices, gamma, 0.1, penalty) @ np.eye(40), -dense, atol=1e-10
    )
    wanted = linalg.eigh(dense)[1][:, -3:]
    found = common_directions(matrices, 3, gamma, 0.1, penalty)
    np.testing.assert_allclose(projector(found), projector(wanted), atol=1e-8)


def test_gdmcca_without_graph_weight_is_plain_mcca(rng):
    views = {"a": rng.random((30, 4)), "b": rng.random((30, 6))}
    plain = GDMCCA(3, graph=None, random_state=0).fit(views)
    weightless = GDMCCA(3, gamma=0.0, graph="b", random_state=0).fit(views)
    np.testing.assert_allclose(
        projector(weightless.embedding_), projector(plain.embedding_), atol=1e-9
    )


def test_gdmcca_graph_by_name_by_layer_and_by_matrix(planted):
    views, target = planted
    layer = learn_layer(views["view 0"], 1.0)
    for graph in ("view 1", layer, layer.adjacency, layer.adjacency.toarray()):
        assert (
            adjusted_rand_score(target, GDMCCA(3, graph=graph, random_state=0).fit_predict(views))
            == 1.0
        )
    with pytest.raises(
        ValueError, match=r"graph='view 7' is not a view; the views are \['view 0', 'view 1'\]"
    ):
        GDMCCA(3, graph="view 7").fit(views)
    with pytest.raises(ValueError, match="graph has 4 nodes, but the views have 90 rows"):
        GDMCCA(3, graph=np.ones((4, 4))).fit(views)


def test_gdmcca_takes_the_same_graph_by_name_and_by_matrix(rng):
    views = {"a": rng.random((30, 4)), "b": rng.random((30, 6))}
    scaled = (views["b"] - views["b"].min(axis=0)) / np.ptp(views["b"], axis=0)
    similarity = scaled @ scaled.T
    by_name = GDMCCA(3, graph="b", gamma=2.0, random_state=0).fit(views)
    penalty = affinity_laplacian(lambda V: similarity @ V, 30, "graph")
    matrices = [(X - X.min(axis=0)) / np.ptp(X, axis=0) for X in views.values()]
    by_matrix = common_directions(matrices, 3, 2.0, 0.1, penalty)
    np.testing.assert_allclose(projector(by_name.embedding_), projector(by_matrix), atol=1e-8)


def test_gdmcca_refuses_a_graph_of_negative_similarities(rng):
    with pytest.raises(
        ValueError, match=r"graph='g': the similarities of row \d+ have a negative sum"
    ):
        affinity_laplacian(lambda V: -V, 5, "g")


def test_gdmcca_graph_may_have_isolated_nodes():
    penalty = affinity_laplacian(lambda V: np.diag([1.0, 2.0, 0.0])[[1, 0, 2]] @ V, 3, "g")
    assert np.isfinite(penalty.laplacian @ np.eye(3)).all()


def test_spectral_rows_are_those_of_the_normalized_laplacian(rng):
    A = random_graph(rng, 30)
    rows = spectral_rows(sparse.csr_array(A), 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    root = A.sum(axis=1) ** -0.5
    wanted = linalg.eigh(np.eye(30) - root[:, None] * A * root)[1][:, :3]
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, wanted @ wanted.T, atol=1e-8)
