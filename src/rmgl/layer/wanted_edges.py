"""The layer in which a node has a wanted number of edges on average: alpha is solved for."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmgl.edges import Candidates
from rmgl.layer.certified import solve_certified
from rmgl.layer.result import Layer, Origin
from rmgl.running.threads import Check

MOST_OF_ALL = 0.5
"""Share of the other nodes beyond which edges no longer describe a neighborhood."""
EDGE_TOL = 0.03
"""Relative accuracy of the number of edges."""
EDGE_POWER = 1.5
"""First guess of the power of alpha with which the number of edges rises."""
MAX_SECANTS = 12
FAR_OFF = 1e4
"""Factor from the first guess of alpha beyond which no alpha is expected to give the wanted number."""


def solve_for_edges(
    origin: Origin,
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
    alpha, start = (guess, None) if last is None or drowned(last.alpha, candidates) else (last.alpha, last.potentials)
    power = EDGE_POWER
    nearest: Layer | None = None
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    for _ in range(MAX_SECANTS):
        candidates, layer = solve_certified(origin, candidates, alpha, tol=tol, start=start, check=check, **options)
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
        if not guess / FAR_OFF <= alpha <= guess * FAR_OFF or drowned(alpha, candidates):  # no alpha gives that many
            break
    assert nearest is not None
    return candidates, nearest


def drowned(alpha: float, candidates: Candidates) -> bool:
    """Whether alpha is lost in the rounding of even the smallest cost, so that no constant u has mean degree 1."""
    least = float(candidates.distances.min())
    return least + 2 * alpha * candidates.edges.n_nodes == least


def alpha_guess(candidates: Candidates, n_neighbors: float) -> float:
    """The alpha at which a constant u has active pairs for `n_neighbors` edges a node and mean degree 1."""
    costs = candidates.distances
    share = n_neighbors * candidates.edges.n_nodes / (2 * candidates.edges.n_pairs)
    place = min(int(share * costs.size), costs.size // 2)
    costs = np.partition(costs, place)
    excess = float((costs[place] - costs[:place]).sum()) * candidates.edges.n_pairs / costs.size
    alpha = excess / (2 * candidates.edges.n_nodes)
    return alpha if alpha > 0 else float(costs.mean()) or 1.0
