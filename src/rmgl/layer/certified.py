"""Solve a layer problem on candidate pairs, and certify that it is solved over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from rmgl.edges import Candidates, Costs, PairStore, Vector
from rmgl.layer.dual_ascent import solve_dual_ascent
from rmgl.layer.newton import solve_newton
from rmgl.layer.problem import DualSolution, LayerProblem
from rmgl.layer.result import Layer, Origin, make_layer
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Check, no_check

EPSILON = float(np.finfo(np.float64).eps)
SMALLEST_ALPHA = 1e-300
Solver: TypeAlias = Callable[..., DualSolution]
SOLVERS: dict[str, Solver] = {"newton": solve_newton, "dual-ascent": solve_dual_ascent}


def solve_certified(
    origin: Origin,
    candidates: Candidates,
    alpha: float,
    *,
    added: Callable[[PairStore], Costs] | None = None,
    solver: str = "newton",
    start: Vector | None = None,
    certified: bool = True,
    check: Check = no_check,
    **options: Any,
) -> tuple[Candidates, Layer]:
    """Solve the layer problem, adding candidates until no other pair can carry weight.

    The costs are the distances of the candidate pairs, plus `added(edges)` if specified.
    `certified=False` solves once, on the initial candidates: enough for a layer that a later round
    replaces.
    """
    n_iter, n_passes, clock = 0, 0.0, Stopwatch()
    solve = find_solver(solver)
    with clock("layers"):
        costs = candidates.distances
        if added is not None:
            costs = costs + added(candidates.edges)
    while True:
        with clock("layers"):
            problem = LayerProblem(candidates.edges, costs, alpha)
            solution = solve(problem, start=start, check=check, **options)
            # potentials from other costs may be too far off
            if solution.status == "stalled" and start is not None:
                n_iter, n_passes = n_iter + solution.n_iter, n_passes + solution.n_passes
                solution = solve(problem, check=check, **options)
        n_iter, n_passes = n_iter + solution.n_iter, n_passes + solution.n_passes
        with clock("neighbors"):
            wider = candidates.extended(solution.point.u, check) if certified else candidates
        if wider is candidates:
            with clock("layers"):
                solution = replace(solution, n_iter=n_iter, n_passes=n_passes)
                layer = make_layer(origin, problem, solution)
            return candidates, replace(
                layer,
                candidates=candidates.reason,
                recall=candidates.recall,
                scaling=candidates.scaling,
                seconds=clock.seconds,
            )
        with clock("layers"):
            costs = extended_costs(costs, wider, added)
        candidates, start = replace(wider, growth=None), solution.point.u


def extended_costs(
    costs: Costs, wider: Candidates, added: Callable[[PairStore], Costs] | None
) -> Costs:
    """Compute the costs of extended candidates from the earlier costs and `added`."""
    if added is None:
        return wider.distances
    growth = wider.growth
    if growth is None:
        return wider.distances + added(wider.edges)
    return growth.carried(costs, growth.new_of(wider.distances) + added(growth.pairs))


def solve_layer(
    origin: Origin, problem: LayerProblem, *, solver: str = "newton", **options: Any
) -> Layer:
    """Solve a layer problem and return the layer with its certificate."""
    return make_layer(origin, problem, find_solver(solver)(problem, **options))


def check_magnitudes(name: str, alpha: float, distance: float, beta: float = 0.0) -> None:
    """Raise a ValueError if alpha is too small for division or relative to the costs.

    Costs are rounded: alpha must exceed the rounding errors of the distance and of beta.
    """
    if alpha < SMALLEST_ALPHA:
        raise ValueError(
            f"alpha={alpha:.1e} for view {name!r} is too small to divide by in double "
            f"precision: raise it to {SMALLEST_ALPHA:.0e} or more"
        )
    largest = max(distance, beta)
    if alpha < EPSILON * largest:
        cause = f"beta={beta:.1e}" if beta == largest else f"squared distances up to {largest:.1e}"
        raise ValueError(
            f"alpha={alpha:.1e} for view {name!r} is below the rounding error of {cause}, so "
            "no layer can be computed: "
            f"raise alpha to {1e3 * EPSILON * largest:.1e} or more, lower beta, or put the "
            "views on the same scale (scale='minmax')"
        )


def find_solver(solver: str) -> Solver:
    """Return the solver with this name."""
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(
            f"solver={solver!r} is not recognized: use one of {', '.join(map(repr, SOLVERS))}"
        )
    return SOLVERS[solver]
