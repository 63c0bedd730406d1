"""Dual ascent: the paper's algorithm for the multipliers (RMGL paper, Section IV-A).

The paper keeps the diagonal of L as separate unknowns: l = (l_ii, l_ij) >= 0 with the
constraints C l = d, that is sum_i l_ii = N (multiplier mu_0) and l_ii = sum_j l_ij (multiplier
nu_i), and repeats

    l  = { diag(p)^-1 (C' mu - r) }_+            p = 2 alpha on the diagonal, 4 alpha off it
    mu = mu - rho (C l - d)

With u_i = R_ii - nu_i this reads

    l_ii = (mu_0 - u_i)_+ / (2 alpha)            mu_0 = mu_0 - rho (sum_i l_ii - N)
    l_ij = (u_i + u_j - z_ij)_+ / (4 alpha)      u_i  = u_i + rho (l_ii - sum_j l_ij)

A node without edges has l_ii = 0 for every u_i >= mu_0, where the iteration would stall. Then u_i
is lowered to mu_0, which cannot lower the dual, because its derivative there is -sum_j l_ij <= 0.

This is gradient ascent on a concave function with a Lipschitz gradient, so it converges for every
rho in (0, 2 / ||C diag(p)^-1 C'||). If at most `max_degree` pairs share a node, that norm is at
most the larger eigenvalue of [[N, sqrt(N)], [sqrt(N), 1 + max_degree]] / (2 alpha); over all pairs
it equals this bound, (N + sqrt(N)) / (2 alpha).
"""

from __future__ import annotations

import numpy as np

from rmgl.edges import Vector
from rmgl.layer.newton import starting_point
from rmgl.layer.problem import DualSolution, LayerProblem
from rmgl.running.threads import Check, no_check

MAX_ASCENT_STEPS = 100_000
STEP_FACTOR = 1.5
"""The step size times the Lipschitz constant; the iteration converges below 2."""


def step_size(problem: LayerProblem) -> float:
    """Return the step size rho = 1.5 / (upper bound of ||C diag(p)^-1 C'||)."""
    n, degree = problem.n_nodes, problem.edges.max_degree
    bound = np.linalg.eigvalsh([[n, np.sqrt(n)], [np.sqrt(n), 1 + degree]])[-1]
    return STEP_FACTOR * 2 * problem.alpha / float(bound)


def solve_dual_ascent(
    problem: LayerProblem,
    start: Vector | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    check: Check = no_check,
) -> DualSolution:
    """Maximize the dual by gradient ascent until the KKT residual is at most `tol`."""
    point, n_passes = starting_point(problem, start)
    limit = MAX_ASCENT_STEPS if max_iter is None else max_iter
    alpha, n, rho = problem.alpha, problem.n_nodes, step_size(problem)
    trace_multiplier = point.u.mean() + 2 * alpha
    for n_iter in range(limit + 1):
        check()
        if point.residual <= tol:
            return DualSolution(point, "converged", n_iter, n_passes + n_iter)
        if n_iter == limit:
            break
        diagonal = np.maximum(trace_multiplier - point.u, 0.0) / (2 * alpha)
        degrees = point.gradient + 1 - (point.u - point.u.mean()) / (2 * alpha)
        trace_multiplier -= rho * (diagonal.sum() - n)
        point = problem.at(np.minimum(point.u + rho * (diagonal - degrees), trace_multiplier))
    return DualSolution(point, "max_iter", limit, n_passes + limit)
