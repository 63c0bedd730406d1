"""Learned layers against closed forms, laws, the other solver and CVXPY."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from rmgl import learn_layer
from rmgl.edges import AllPairs, Candidates
from rmgl.layer import SOLVERS
from rmgl.layer.dual_ascent import solve_dual_ascent
from rmgl.layer.newton import solve_newton
from rmgl.layer.wanted_edges import alpha_guess


def assert_certified(layer, tol=1e-8):
    assert layer.status == "converged"
    assert layer.kkt_residual <= tol
    assert layer.gap <= 1e-6
    assert layer.degrees.sum() == pytest.approx(layer.n_nodes, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("distance", [0.01, 1.0, 300.0])
def test_two_nodes_share_one_edge_of_weight_one(solver, distance):
    layer = learn_layer([[0.0], [distance]], alpha=0.5, solver=solver)
    assert_certified(layer)
    np.testing.assert_allclose(layer.adjacency.toarray(), [[0, 1], [1, 0]], rtol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [3, 10, 25])
def test_equal_distances_give_equal_weights(solver, n):
    layer = learn_layer(np.eye(n), alpha=0.2, solver=solver)
    assert_certified(layer)
    np.testing.assert_allclose(layer.adjacency.toarray(), (1 - np.eye(n)) / (n - 1), atol=1e-9)


def test_a_large_alpha_gives_the_complete_graph_and_a_small_one_the_closest_pairs(rng):
    X = rng.normal(size=(12, 2))
    dense = learn_layer(X, alpha=1e8)
    np.testing.assert_allclose(dense.adjacency.toarray(), (1 - np.eye(12)) / 11, atol=1e-6)
    sparse_layer = learn_layer(X, alpha=1e-4)
    i, j = np.unravel_index((squareform(pdist(X)) + 1e9 * np.eye(12)).argmin(), (12, 12))
    assert sparse_layer.adjacency[i, j] == sparse_layer.adjacency.max()
    assert sparse_layer.n_edges < 12


def layer_by_cvxpy(X, alpha):
    z = pdist(X, "sqeuclidean")
    n = len(X)
    w = cp.Variable(z.size, nonneg=True)
    i, j = np.triu_indices(n, 1)
    incidence = np.zeros((n, z.size))
    incidence[i, np.arange(z.size)] = incidence[j, np.arange(z.size)] = 1
    problem = cp.Problem(
        cp.Minimize(z @ w + alpha * (cp.sum_squares(incidence @ w) + 2 * cp.sum_squares(w))),
        [2 * cp.sum(w) == n],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return squareform(w.value), problem.value


def random_case(seed):
    """N from 10 to 120, alpha over five decades, duplicated rows and one far outlier in turn."""
    rng = np.random.default_rng(seed)
    n = int(np.linspace(10, 120, 20)[seed])
    X = rng.normal(size=(n, 1 + seed % 5))
    if seed % 3 == 0:
        X[n // 2 :] = X[: n - n // 2]
    if seed % 4 == 0:
        X[-1] += 30.0
    return X, 10.0 ** (seed % 5 - 2)


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_cvxpy(seed):
    X, alpha = random_case(seed)
    weights, value = layer_by_cvxpy(X, alpha)
    layer = learn_layer(X, alpha)
    assert_certified(layer)
    assert layer.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(layer.adjacency.toarray(), weights, atol=1e-4)


@pytest.mark.parametrize("seed", range(0, 20, 3))
def test_both_solvers_agree(seed):
    X, alpha = random_case(seed)
    newton = learn_layer(X, alpha)
    ascent = learn_layer(X, alpha, solver="dual-ascent", tol=1e-7)
    assert_certified(ascent, tol=1e-7)
    np.testing.assert_allclose(ascent.adjacency.toarray(), newton.adjacency.toarray(), atol=1e-5)
    assert newton.n_passes < ascent.n_passes


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    log_alpha=st.floats(-3, 3),
    log_scale=st.floats(-6, 6),
)
def test_scaling_law_and_node_order(seed, n, log_alpha, log_scale):
    rng = np.random.default_rng(seed)
    X, alpha, c = rng.normal(size=(n, 3)), 10.0**log_alpha, 10.0**log_scale
    layer = learn_layer(X, alpha)
    assert_certified(layer)
    scaled = learn_layer(np.sqrt(c) * X, c * alpha)
    np.testing.assert_allclose(scaled.adjacency.toarray(), layer.adjacency.toarray(), atol=1e-7)
    order = rng.permutation(n)
    permuted = learn_layer(X[order], alpha)
    np.testing.assert_allclose(
        permuted.adjacency.toarray(), layer.adjacency.toarray()[np.ix_(order, order)], atol=1e-7
    )


def test_warm_start_from_the_solution_takes_no_step(rng):
    X = rng.normal(size=(60, 4))
    for solver in SOLVERS:
        layer = learn_layer(X, 0.5, solver=solver, tol=1e-6)
        again = learn_layer(X, 0.5, solver=solver, tol=1e-6, start=layer.potentials)
        assert again.n_iter == 0
        assert again.n_passes == 1
        np.testing.assert_array_equal(again.adjacency.toarray(), layer.adjacency.toarray())


def test_a_useless_start_does_no_harm(rng):
    X = rng.normal(size=(20, 2))
    layer = learn_layer(X, 0.5, start=np.full(20, -100.0))
    assert_certified(layer)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_that_stops_early_says_so(rng, solver):
    with pytest.warns(
        ConvergenceWarning,
        match="did not converge in 1 iterations .* increase max_iter in learn_layer",
    ):
        layer = learn_layer(rng.normal(size=(30, 3)), 0.01, solver=solver, max_iter=1)
    assert layer.status == "max_iter"
    assert layer.kkt_residual > 1e-8


def test_rounding_that_stops_newton_is_reported():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e6
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer = learn_layer(X, 1e-2)
    assert layer.status == "stalled"
    assert any("increase alpha or scale the data" in str(warning.message) for warning in caught)


def test_layer_speaks_networkx_and_laplacian(rng):
    layer = learn_layer(rng.normal(size=(15, 2)), 0.3, name="mine")
    graph = layer.to_networkx()
    assert graph.name == "mine"
    assert graph.number_of_nodes() == 15
    assert graph.number_of_edges() == layer.n_edges
    laplacian = layer.laplacian
    assert laplacian.format == "csr"
    np.testing.assert_allclose(laplacian.sum(axis=1), 0, atol=1e-12)
    assert laplacian.trace() == pytest.approx(15)
    import networkx

    assert networkx.number_connected_components(graph) == layer.n_components


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "alpha=0 for view 'layer' must be a number > 0"),
        ({"alpha": "large"}, "alpha='large' for view 'layer' must be a number > 0"),
        ({"alpha": np.nan}, "alpha=nan for view 'layer'"),
        (
            {"alpha": 1, "solver": "simplex"},
            "solver='simplex' is not recognized: use one of 'newton', 'dual-ascent'",
        ),
        ({"alpha": 1, "scale": "log"}, "scale='log' for view 'layer' is unknown"),
        ({"alpha": 1, "start": np.zeros(3)}, "start must contain 10 finite numbers"),
        ({"alpha": 1, "tol": -1.0}, "tol=-1.0 must be"),
        ({"alpha": 1, "max_iter": 0}, "max_iter=0 must be"),
    ],
)
def test_bad_arguments(rng, arguments, message):
    with pytest.raises(ValueError, match=message):
        learn_layer(rng.normal(size=(10, 2)), **arguments)


def test_several_views_are_for_the_estimator(rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match="takes one view, a 2-D array"):
        learn_layer([X, X], 1.0)


def test_newton_arrives_where_phi_no_longer_falls_beyond_rounding(make_problem):
    """Far below the default tolerance, a step may lower the residual while Phi stays the same up to
    its rounding error.
    """
    for seed in range(40):
        X = np.sqrt(1e3) * np.random.default_rng(seed).normal(size=(30, 4))
        assert solve_newton(make_problem(X=X, alpha=500.0), tol=1e-10).status == "converged"


@pytest.mark.parametrize(("cost", "rounding"), [(1e-9, False), (1e-14, True)])
def test_the_first_alpha_does_not_follow_the_rounding_error_of_copies(cost, rounding):
    """20 of the 45 pairs of ten nodes hardly cost anything, and 15 are wanted, 3 a node: by its
    formula, alpha is a share of their costs.
    """
    costs = np.append(np.linspace(0.5, 1.5, 20) * cost, np.ones(25))
    edges = AllPairs(10)
    alpha = alpha_guess(Candidates(edges, costs, "all pairs"), 3.0)
    if rounding:
        assert alpha == pytest.approx(costs.mean() / 3.0)
    else:
        cheapest = np.sort(costs)
        assert alpha == pytest.approx((cheapest[15] - cheapest[:15]).sum() / 20, rel=0.15)


def test_dual_ascent_leaves_no_isolated_node_above_its_potential(make_problem):
    """The multiplier of a node without edges is not unique in the paper's dual: from too large a
    start it has to come down.
    """
    X = np.append(np.random.default_rng(0).normal(size=(20, 2)), [[100.0, 0.0]], axis=0)
    problem = make_problem(X=X, alpha=0.5)
    exact = solve_newton(problem, tol=1e-10).point
    start = exact.u.copy()
    start[-1] += 1.0
    solution = solve_dual_ascent(problem, start, tol=1e-7)
    assert solution.status == "converged"
    np.testing.assert_allclose(solution.point.u, exact.u, atol=1e-5)
