"""Damped semismooth Newton method for the dual of the layer problem.

Phi is convex and piecewise quadratic: once the set of active edges is correct, one exact step reaches the minimum. Directions are
computed by conjugate gradients with the Hessian's diagonal as preconditioner; a line search shortens steps that do not decrease Phi.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rmgl.edges import Vector
from rmgl.layer.problem import DualPoint, LayerProblem
from rmgl.layer.solution import DualSolution, starting_point
from rmgl.running.threads import Check

MAX_ITER = 200
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 40
ROUNDING = 1e-14  # relative rounding error of Phi
MAX_PRODUCTS = 500


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

    accuracy = min(0.1, max(point.residual, 0.3 * tol / point.residual))
    return conjugate_gradients(multiply, -point.gradient, problem.hessian_diagonal(point), accuracy), active.passes


def conjugate_gradients(multiply: Callable[[Vector], Vector], right: Vector, diagonal: Vector, accuracy: float) -> Vector:
    """Solve A x = right to a relative residual, for a positive definite matrix A given by its products and its diagonal.

    SciPy's function does the same, but most of its time on small problems is spent around the products.
    """
    x, residual = np.zeros_like(right), right.copy()
    target = accuracy * float(np.linalg.norm(right))
    direction = np.zeros_like(right)
    last = 1.0
    for step in range(MAX_PRODUCTS):
        if float(np.linalg.norm(residual)) <= target:
            break
        scaled = residual / diagonal
        rho = float(residual @ scaled)
        direction = scaled if step == 0 else scaled + (rho / last) * direction
        image = multiply(direction)
        length = rho / float(direction @ image)
        x += length * direction
        residual -= length * image
        last = rho
    return x


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
