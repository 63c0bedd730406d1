"""Damped semismooth Newton method for the dual of the layer problem.

Phi is convex and piecewise quadratic: once the set of active edges is correct, one exact step
reaches the minimum. Directions are computed by conjugate gradients with the Hessian's diagonal as
preconditioner; a line search shortens steps that do not decrease Phi.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rmgl.edges import Vector
from rmgl.layer.problem import DualPoint, DualSolution, LayerProblem
from rmgl.running.threads import Check, no_check

MAX_NEWTON_STEPS = 200
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 40
DUAL_ROUNDING = 1e-14
"""Relative rounding error of Phi."""
MAX_CG_PRODUCTS = 500
SAMPLED_COSTS = 20_000
"""Number of costs sampled for the first guess of a constant starting point."""


def solve_newton(
    problem: LayerProblem,
    start: Vector | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    check: Check = no_check,
) -> DualSolution:
    """Minimize Phi(u) until the KKT residual is at most `tol`, with no steps if it already is."""
    point, passes = starting_point(problem, start)
    n_passes = float(passes)
    limit = MAX_NEWTON_STEPS if max_iter is None else max_iter
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


def _newton_direction(
    problem: LayerProblem, point: DualPoint, tol: float, check: Check
) -> tuple[Vector, float]:
    """Solve Hess p = -grad by conjugate gradients, and count the passes over the pairs.

    The accuracy increases as the residual falls, but not beyond what `tol` requires. The truncated
    solution is still a descent direction.
    """
    active = problem.active_pairs(point)

    def multiply(v: Vector) -> Vector:
        check()
        return problem.hessian_product(active, v)

    accuracy = min(0.1, max(point.residual, 0.3 * tol / point.residual))
    diagonal = problem.hessian_diagonal(point)
    return conjugate_gradients(multiply, -point.gradient, diagonal, accuracy), active.passes


def conjugate_gradients(
    multiply: Callable[[Vector], Vector], right: Vector, diagonal: Vector, accuracy: float
) -> Vector:
    """Solve A x = right, for a positive definite matrix A, to the relative residual `accuracy`.

    `multiply(v)` returns A v, and `diagonal` is the diagonal of A. SciPy's function does the same,
    but on small problems it spends most of its time outside the products.
    """
    x, residual = np.zeros_like(right), right.copy()
    target = accuracy * float(np.linalg.norm(right))
    direction = np.zeros_like(right)
    last = 1.0
    for step in range(MAX_CG_PRODUCTS):
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


def _line_search(
    problem: LayerProblem, point: DualPoint, direction: Vector
) -> tuple[DualPoint | None, int]:
    """Return a point where Phi is low enough, or None, and the number of trials.

    Steps begin at 1 and are shortened by the secant rule on the slope.
    """
    slope = float(point.gradient @ direction)
    rounding = DUAL_ROUNDING * abs(point.value)
    step = 1.0
    for trials in range(1, MAX_HALVINGS + 1):
        following = problem.at(point.u + step * direction)
        value = following.value
        enough = value <= point.value + SUFFICIENT_DECREASE * step * slope and value < point.value
        at_rounding = value <= point.value + rounding and following.residual < point.residual
        if slope < 0 and (enough or at_rounding):
            return following, trials
        new_slope = float(following.gradient @ direction)
        secant = slope / (slope - new_slope) if new_slope > slope else 0.5
        step *= min(max(secant, 0.1), 0.5)
    return None, MAX_HALVINGS


def starting_point(problem: LayerProblem, start: Vector | None) -> tuple[DualPoint, int]:
    """Return the point where a solver starts, and the number of passes needed to find it.

    It is `start` if any pair is active there, otherwise the constant u with mean degree 1.
    """
    if start is None:
        return _constant_start(problem)
    point = problem.at(np.array(start, dtype=np.float64))
    if point.counts.any():
        return point, 1
    point, passes = _constant_start(problem)
    return point, passes + 1


def _constant_start(problem: LayerProblem) -> tuple[DualPoint, int]:
    """Return u = s/2 with s near the root of sum_{i<j} (s - z_ij)_+ = 2 alpha N.

    The first s comes from a sample of the costs, and Newton's method improves it. The left side is
    convex and increasing, so after one step with active pairs s is at or above the root, and then
    decreases to it.
    """
    edges, target = problem.edges, 2 * problem.alpha * problem.n_nodes
    level = _sampled_level(edges.sample(problem.costs, SAMPLED_COSTS), target / edges.n_pairs)
    passes = 0
    while True:
        passes += 1
        point = problem.at(np.full(problem.n_nodes, level / 2))
        mean_degree = 1 + point.gradient.mean()
        if abs(mean_degree - 1) <= 0.1 or (passes >= 100 and point.counts.any()):
            return point, passes
        if point.counts.any():
            level -= target * (mean_degree - 1) / (point.counts.sum() / 2)
        else:
            level = edges.least(problem.costs) + target


def _sampled_level(sample: Vector, mean_excess: float) -> float:
    """Return the s at which (s - z)_+ has the mean `mean_excess` over a sample of the costs."""
    sample = np.sort(sample)
    levels = (mean_excess * sample.size + np.cumsum(sample)) / np.arange(1, sample.size + 1)
    return float(levels[np.flatnonzero(levels > sample)[-1]])
