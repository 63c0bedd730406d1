"""The layer problem: derivatives, bounds and what a layer must satisfy."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rmgl.edges import AllPairs
from rmgl.layer import LayerProblem
from rmgl.layer.certified import check_magnitudes
from rmgl.layer.dual_ascent import step_size
from rmgl.layer.newton import solve_newton


def test_gradient_is_the_finite_difference_of_the_dual_value(make_problem, rng):
    problem = make_problem(n=12)
    u = 1.0 + rng.random(12)
    numeric = approx_fprime(u, lambda x: problem.at(x).value, 1e-6)
    np.testing.assert_allclose(problem.at(u).gradient, numeric, atol=1e-4)


def test_hessian_is_the_finite_difference_of_the_gradient(make_problem, rng):
    problem = make_problem(n=12)
    point = problem.at(1.0 + rng.random(12))
    hessian = np.array(
        [problem.hessian_product(problem.active_pairs(point), column) for column in np.eye(12)]
    ).T
    numeric = np.array(
        [
            (problem.at(point.u + 1e-7 * e).gradient - problem.at(point.u - 1e-7 * e).gradient)
            / 2e-7
            for e in np.eye(12)
        ]
    ).T
    np.testing.assert_allclose(hessian, numeric, atol=1e-6)
    np.testing.assert_allclose(np.diag(hessian), problem.hessian_diagonal(point), rtol=1e-12)
    assert np.linalg.eigvalsh(hessian)[0] > 0


def test_every_dual_point_bounds_every_feasible_layer(make_problem, rng):
    problem = make_problem(n=15)
    best = problem.objective(problem.weights(solve_newton(problem).point.u))
    for _ in range(20):
        bound = problem.lower_bound(problem.at(rng.normal(size=15) * 3))
        other = problem.objective(problem.weights(2.0 + 3 * rng.random(15)))
        assert bound <= best * (1 + 1e-12)
        assert other >= best * (1 - 1e-12)


def test_objective_is_the_matrix_expression(make_problem, rng):
    X = rng.normal(size=(10, 3))
    problem = make_problem(X=X, alpha=0.7)
    adjacency = problem.weights(2.0 + rng.random(10))
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency.toarray()
    expected = np.trace(X.T @ laplacian @ X) + 0.7 * np.linalg.norm(laplacian) ** 2
    assert problem.objective(adjacency) == pytest.approx(expected, rel=1e-12)
    assert np.trace(laplacian) == pytest.approx(10, rel=1e-12)


def test_weights_below_a_ten_billionth_of_the_mean_degree_are_no_edges():
    """Three pairs whose costs are below u_i + u_j by 4 alpha times their weight."""
    alpha, weights = 0.25, np.array([1.0, 2e-10, 5e-11])
    problem = LayerProblem(AllPairs(3), 2.0 - 4 * alpha * weights, alpha)
    found = problem.weights(np.ones(3)).toarray()
    # they sum to three, seen from both ends
    np.testing.assert_allclose(found[0], [0.0, 1.5, 3e-10], rtol=1e-5)
    assert found[1, 2] == 0.0


@pytest.mark.parametrize("distance", [1.0, 1e6])
def test_alpha_must_not_be_below_the_rounding_error_of_the_costs(distance):
    """The spacing of doubles just above the largest cost, which alpha would be added to."""
    spacing = np.spacing(1.0) * distance
    assert distance + spacing > distance
    check_magnitudes("a", 1.01 * spacing, distance)
    with pytest.raises(ValueError, match="below the rounding error of squared distances"):
        check_magnitudes("a", 0.99 * spacing, distance)
    check_magnitudes("a", 1.01 * spacing, 0.0, beta=distance)
    with pytest.raises(ValueError, match="below the rounding error of beta"):
        check_magnitudes("a", 0.99 * spacing, 0.0, beta=distance)


def test_alpha_must_not_be_too_small_to_divide_by():
    check_magnitudes("a", 1.1e-300, 1e-290)
    with pytest.raises(
        ValueError, match="too small to divide by in double precision: raise it to 1e-300 or more"
    ):
        check_magnitudes("a", 0.9e-300, 1e-290)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_step_size_of_dual_ascent_is_below_two_over_the_lipschitz_constant(make_problem, n):
    """The constant is ||C diag(p)^-1 C'|| with C as the paper writes it, built densely here."""
    alpha = 0.3
    problem = make_problem(n=n, alpha=alpha)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    C = np.zeros((n + 1, n + len(pairs)))
    C[0, :n] = 1
    C[1:, :n] = np.eye(n)
    for column, (i, j) in enumerate(pairs, start=n):
        C[1 + i, column] = C[1 + j, column] = -1
    p = np.concatenate([np.full(n, 2 * alpha), np.full(len(pairs), 4 * alpha)])
    lipschitz = np.linalg.norm(C / p @ C.T, 2)
    assert step_size(problem) == pytest.approx(1.5 / lipschitz, rel=1e-9)
