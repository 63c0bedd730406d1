"""Damped semismooth Newton method for the dual of the layer problem.

Phi is convex and piecewise quadratic: once the set of active edges is correct, one exact step reaches the minimum. Directions are
computed by conjugate gradients with the Hessian's diagonal as preconditioner; a line search shortens steps that do not decrease Phi.
"""

from __future__ import annotations

from scipy.sparse.linalg import LinearOperator, cg

from rmgl.edges import Vector
from rmgl.layer.problem import DualPoint, LayerProblem
from rmgl.layer.solution import DualSolution, starting_point
from rmgl.running.threads import Check

MAX_ITER = 200
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 40
ROUNDING = 1e-14  # relative rounding error of Phi


def solve_newton(
    problem: LayerProblem,
    start: Vector | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    check: Check = lambda: None,
) -> DualSolution:
    """Minimize Phi(u) until the KKT residual is at most `tol`. A start from the solution takes 0 steps."""
    point, passes = starting_point(problem, start)
    n_passes = float(passes)
    limit = MAX_ITER if max_iter is None else max_iter
    for n_iter in range(limit + 1):
        check()
        if point.residual <= tol:
            return DualSolution(point, "converged", n_iter, n_passes)
        if n_iter == limit:
            break
        direction, direction_passes = _newton_direction(problem, point, tol, check)
        following, trials = _line_search(problem, point, direction)
        n_passes += direction_passes + trials
        if following is None:
            return DualSolution(point, "stalled", n_iter, n_passes)
        point = following
    return DualSolution(point, "max_iter", limit, n_passes)


def _newton_direction(problem: LayerProblem, point: DualPoint, tol: float, check: Check) -> tuple[Vector, float]:
    """Solve Hess p = -grad by conjugate gradients, and count the passes over the edges.

    The accuracy increases as the residual falls, but not beyond what `tol` requires. Truncated, it is still a descent direction.
    """
    active = problem.active_pairs(point)

    def multiply(v: Vector) -> Vector:
        check()
        return problem.hessian_product(active, v)

    n = problem.n_nodes
    diagonal = problem.hessian_diagonal(point)
    hessian = LinearOperator((n, n), matvec=multiply, dtype=float)
    jacobi = LinearOperator((n, n), matvec=lambda v: v / diagonal, dtype=float)
    accuracy = min(0.1, max(point.residual, 0.3 * tol / point.residual))
    direction, _ = cg(hessian, -point.gradient, rtol=accuracy, atol=0.0, maxiter=500, M=jacobi)
    return direction, active.passes


def _line_search(problem: LayerProblem, point: DualPoint, direction: Vector) -> tuple[DualPoint | None, int]:
    """Shorten the step, from 1 and by the secant rule on the slope, until Phi decreases enough; also count the trials."""
    slope = float(point.gradient @ direction)
    rounding = ROUNDING * abs(point.value)
    step = 1.0
    for trials in range(1, MAX_HALVINGS + 1):
        following = problem.at(point.u + step * direction)
        enough = following.value <= point.value + SUFFICIENT_DECREASE * step * slope
        at_rounding = following.value <= point.value + rounding and following.residual < point.residual
        if slope < 0 and ((enough and following.value < point.value) or at_rounding):
            return following, trials
        new_slope = float(following.gradient @ direction)
        secant = slope / (slope - new_slope) if new_slope > slope else 0.5
        step *= min(max(secant, 0.1), 0.5)
    return None, MAX_HALVINGS
