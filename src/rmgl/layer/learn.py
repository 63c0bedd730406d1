"""Learn one layer from one view."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rmgl.edges import Candidates, Edges, Vector, resolve, state_candidates
from rmgl.layer.dual_ascent import solve_dual_ascent
from rmgl.layer.newton import solve_newton
from rmgl.layer.problem import LayerProblem
from rmgl.layer.result import Layer, make_layer
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Check, number_of_workers, team_of
from rmgl.views.views import Views, is_collection_of_views, positive_per_view

EPSILON = float(np.finfo(np.float64).eps)
MOST_OF_ALL = 0.5  # of the other nodes: more edges are no neighborhood
EDGE_TOL = 0.03
EDGE_POWER = 1.5
MAX_SECANTS = 12
FAR_OFF = 1e4
SOLVERS = {"newton": solve_newton, "dual-ascent": solve_dual_ascent}


def learn_layer(
    X: Any,
    alpha: float,
    *,
    scale: str = "none",
    solver: str = "newton",
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Vector | None = None,
    candidates: Any = "auto",
    n_jobs: int | None = None,
    name: str = "layer",
) -> Layer:
    """Learn a sparse graph on which the rows of X vary smoothly.

    Solves, over edge weights w_ij >= 0 with degrees d_i and squared distances z_ij = ||x_i - x_j||^2,

        minimize   z'w + alpha (||d||^2 + 2 ||w||^2)     subject to   2 sum(w) = N

    that is tr(X'LX) + alpha ||L||_F^2 over graph Laplacians L with tr(L) = N. A small alpha gives few edges, a large
    one gives many. Multiplying the distances and alpha by the same number changes nothing.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (N, D)
        One view.
    alpha : float > 0
        Weight of the squared Frobenius norm.
    scale : {"minmax", "standard", "unit", "none"}
        What is done to X first.
    solver : {"newton", "dual-ascent"}
        "newton" takes a handful of passes over the pairs; "dual-ascent" is the iteration printed in the paper.
    tol : float
        The KKT residual to reach.
    max_iter : int, optional
        Most iterations; by default 200 for Newton and 100 000 for dual ascent.
    start : array of shape (N,), optional
        Dual vector to start from: `potentials` of a layer learned from similar data.
    candidates : "auto", "all", int, "approximate" or sparse graph
        The pairs that may carry an edge. A number asks for lists of that many nearest neighbors, which are widened until they
        prove that no other pair can carry weight, so the answer is the same (`layer.exact`); "auto" takes all pairs where they are
        cheaper. "approximate" neighbors (pynndescent) and a graph of your own (`KNeighborsTransformer`) prove nothing: `layer.exact` is
        False, and `layer.recall` says how many true neighbors of a sample of rows they hold.
    n_jobs : int, optional
        Threads that share the passes over the pairs; -1 for all cores. No more threads are used than there are cores. The result does
        not depend on it.
    name : str
        The name the layer carries.

    Returns
    -------
    Layer
        The graph with its certificate: `kkt_residual`, `gap` and `status`.

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for Clustering",
    EUSIPCO 2021, problem (6) with one view and beta = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> layer = learn_layer(X, alpha=1.0)
    >>> layer.adjacency.toarray().round(3)
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    if is_collection_of_views(X):
        raise ValueError("learn_layer takes one 2-D input; several views are for RMGL(...).fit(views)")
    find_solver(solver)
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"tol={tol!r} must be a number >= 0")
    if not (max_iter is None or (isinstance(max_iter, Integral) and max_iter >= 1)):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number >= 1, or None")
    views = Views.of({name: X}).scaled(scale)
    if start is not None and (np.shape(start) != (views.n_rows,) or not np.isfinite(start).all()):
        raise ValueError(f"start must hold {views.n_rows} finite numbers, one for each row of the view")
    alpha = float(positive_per_view(alpha, views.names, "alpha")[0])
    with team_of(number_of_workers(n_jobs)) as team:
        wanted = resolve(views.matrices[0], alpha, candidates)
        pairs = state_candidates(name, views.matrices[0], alpha, wanted, rows=team.rows)
        check_magnitudes(name, alpha, pairs.distances)
        _, layer = solve_certified(name, pairs, alpha, solver=solver, tol=tol, max_iter=max_iter, start=start)
    if layer.status != "converged":
        warnings.warn(layer.message, ConvergenceWarning, stacklevel=2)
    return layer


def check_magnitudes(name: str, alpha: float, distances: Vector, beta: float = 0.0) -> None:
    """Refuse an alpha that rounding of the costs would drown."""
    largest = max(float(distances.max()), beta)
    if alpha < EPSILON * largest:
        cause = f"beta={beta:.1e}" if beta == largest else f"squared distances up to {largest:.1e}"
        raise ValueError(
            f"alpha={alpha:.1e} for view {name!r} is below the rounding of {cause}, so no layer can be computed: "
            f"raise alpha to {1e3 * EPSILON * largest:.1e} or more, lower beta, or put the views on one scale (scale='minmax')"
        )


def find_solver(solver: str):
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known: use one of {', '.join(map(repr, SOLVERS))}")
    return SOLVERS[solver]


def solve_certified(
    name: str,
    candidates: Candidates,
    alpha: float,
    *,
    added: Callable[[Edges], Vector] | None = None,
    solver: str = "newton",
    start: Vector | None = None,
    certified: bool = True,
    check: Check = lambda: None,
    **options: Any,
) -> tuple[Candidates, Layer]:
    """Solve the layer problem with costs distances (+ added(edges)), on more candidates until they prove that they suffice.

    Not `certified`, on the given candidates: good enough for a layer that is not the last.
    """
    n_iter, n_passes, clock = 0, 0.0, Stopwatch()
    solve = find_solver(solver)
    while True:
        with clock("layers"):
            costs = candidates.distances if added is None else candidates.distances + added(candidates.edges)
            problem = LayerProblem(candidates.edges, costs, alpha)
            solution = solve(problem, start=start, check=check, **options)
        n_iter, n_passes = n_iter + solution.n_iter, n_passes + solution.n_passes
        with clock("neighbors"):
            wider = candidates.extended(solution.point.u, check) if certified else candidates
        if wider is candidates:
            with clock("layers"):
                layer = make_layer(name, problem, replace(solution, n_iter=n_iter, n_passes=n_passes))
            return candidates, replace(layer, candidates=candidates.reason, recall=candidates.recall, seconds=clock.seconds)
        candidates, start = wider, solution.point.u


def solve_for_edges(
    name: str,
    candidates: Candidates,
    n_neighbors: float,
    *,
    last: Layer | None = None,
    tol: float = 1e-4,
    check: Check = lambda: None,
    **options: Any,
) -> tuple[Candidates, Layer]:
    """The layer in which a node has `n_neighbors` edges on average, to a few parts in a hundred; its alpha is solved for.

    The number of edges rises with alpha nearly like a power of it: a secant rule on logarithms, with the last potentials as start. A layer
    of nearly the same costs is the `last` one to start from.
    """
    n = candidates.edges.n_nodes
    wanted = min(float(n_neighbors), MOST_OF_ALL * (n - 1))
    guess = alpha_guess(candidates, wanted)
    alpha, start = (guess, None) if last is None else (last.alpha, last.potentials)
    power = EDGE_POWER
    nearest: Layer | None = None
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    for _ in range(MAX_SECANTS):
        candidates, layer = solve_certified(name, candidates, alpha, tol=tol, start=start, check=check, **options)
        found, start = 2 * layer.n_edges / n, layer.potentials
        if nearest is None or abs(found - wanted) < abs(2 * nearest.n_edges / n - wanted):
            nearest = layer
        if abs(found / wanted - 1) <= EDGE_TOL:
            break
        point = (np.log(alpha), np.log(max(found, 1 / n)))
        below, above = (point, above) if found < wanted else (below, point)
        if below is not None and above is not None:
            share = (np.log(wanted) - below[1]) / (above[1] - below[1])
            alpha = float(np.exp(below[0] + np.clip(share, 0.05, 0.95) * (above[0] - below[0])))
        else:
            alpha *= (wanted / max(found, 1 / n)) ** power
            power *= EDGE_POWER  # the next step on the same side is a bolder one
        if not guess / FAR_OFF <= alpha <= guess * FAR_OFF:  # no alpha gives that many
            break
    assert nearest is not None
    return candidates, nearest


def alpha_guess(candidates: Candidates, n_neighbors: float) -> float:
    """The alpha at which a constant u has active pairs for `n_neighbors` edges a node and mean degree 1."""
    costs = candidates.distances
    share = n_neighbors * candidates.edges.n_nodes / (2 * candidates.edges.n_pairs)
    place = min(int(share * costs.size), costs.size // 2)
    costs = np.partition(costs, place)
    excess = float((costs[place] - costs[:place]).sum()) * candidates.edges.n_pairs / costs.size
    alpha = excess / (2 * candidates.edges.n_nodes)
    return alpha if alpha > 0 else float(costs.mean()) or 1.0


def solve_layer(name: str, problem: LayerProblem, *, solver: str = "newton", **options: Any) -> Layer:
    """Solve a stated layer problem and wrap the answer with its certificate."""
    return make_layer(name, problem, find_solver(solver)(problem, **options))
