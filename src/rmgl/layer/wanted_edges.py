"""Find the alpha at which the nodes of a layer have a specified average number of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmgl.edges import Candidates
from rmgl.layer.certified import solve_certified
from rmgl.layer.result import Layer, Origin
from rmgl.running.threads import Check, no_check

MAX_NEIGHBOR_SHARE = 0.5
"""Largest number of edges per node, as a share of the other nodes."""
EDGE_TOL = 0.03
"""Relative accuracy of the number of edges."""
EDGE_POWER = 1.5
"""First assumed exponent, and the factor by which it grows while trials stay on one side."""
MAX_SECANTS = 12
MAX_ALPHA_FACTOR = 1e4
"""The search ends when alpha differs from the first guess by more than this factor."""

LEAST_GUESS = 1e-12
"""Share of the mean cost below which a guess is only the rounding error of zero costs."""


def solve_for_edges(
    origin: Origin,
    candidates: Candidates,
    n_neighbors: float,
    *,
    last: Layer | None = None,
    tol: float = 1e-4,
    check: Check = no_check,
    **options: Any,
) -> tuple[Candidates, Layer]:
    """Learn the layer whose nodes have `n_neighbors` edges on average, within 3%.

    The number of edges grows nearly like a power of alpha, so a secant rule on logarithms finds
    alpha. Each solve starts from the last potentials; the first starts from `last`, a layer with
    similar costs, if there is one.
    """
    n = candidates.edges.n_nodes
    wanted = min(float(n_neighbors), MAX_NEIGHBOR_SHARE * (n - 1))
    guess = alpha_guess(candidates, wanted)
    alpha, start = guess, None
    if last is not None and not below_rounding(last.alpha, candidates):
        alpha, start = last.alpha, last.potentials
    power = EDGE_POWER
    nearest: Layer | None = None
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    for _ in range(MAX_SECANTS):
        candidates, layer = solve_certified(
            origin, candidates, alpha, tol=tol, start=start, check=check, **options
        )
        candidates = candidates.pruned(layer.potentials)
        n_found, start = 2 * layer.n_edges / n, layer.potentials
        if nearest is None or off_by(layer, wanted) < off_by(nearest, wanted):
            nearest = layer
        if abs(n_found / wanted - 1) <= EDGE_TOL:
            break
        point = (np.log(alpha), np.log(max(n_found, 1 / n)))
        below, above = (point, above) if n_found < wanted else (below, point)
        if below is not None and above is not None:
            share = (np.log(wanted) - below[1]) / (above[1] - below[1])
            alpha = float(np.exp(below[0] + np.clip(share, 0.05, 0.95) * (above[0] - below[0])))
        else:
            alpha *= (wanted / max(n_found, 1 / n)) ** power
            power *= EDGE_POWER  # a longer step next time, if it is still on the same side
        in_range = guess / MAX_ALPHA_FACTOR <= alpha <= guess * MAX_ALPHA_FACTOR
        if not in_range or below_rounding(alpha, candidates):
            break
    assert nearest is not None
    return candidates, nearest


def off_by(layer: Layer, wanted: float) -> float:
    """Measure how far a layer is from the wanted number of edges: the logarithm of the ratio.

    Half as many edges are as bad as twice as many.
    """
    return float(abs(np.log(max(2 * layer.n_edges, 1) / (wanted * layer.adjacency.shape[0]))))


def below_rounding(alpha: float, candidates: Candidates) -> bool:
    """Check whether alpha is lost in the rounding of even the smallest cost.

    In that case, no constant u has mean degree 1.
    """
    least = candidates.edges.least(candidates.distances)
    return least + 2 * alpha * candidates.edges.n_nodes == least


def alpha_guess(candidates: Candidates, n_neighbors: float) -> float:
    """Guess the alpha where constant u has mean degree 1 and `n_neighbors` active pairs per node.

    If that many pairs are equally cheap, no such alpha exists. Any small alpha then gives a layer
    of these pairs; a large alpha would first turn many other pairs into candidates, because
    potentials differ by up to 2 alpha between nodes.
    """
    edges = candidates.edges
    share = n_neighbors * edges.n_nodes / (2 * edges.n_pairs)
    cheapest = edges.cheapest(candidates.distances, share)
    alpha = cheapest.excess / (2 * edges.n_nodes)
    return alpha if alpha > LEAST_GUESS * cheapest.mean else cheapest.mean / n_neighbors or 1.0
