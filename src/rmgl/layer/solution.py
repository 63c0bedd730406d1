"""What a solver of the layer problem returns, and where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rmgl.edges import Vector
from rmgl.layer.problem import DualPoint, LayerProblem

SAMPLE = 20_000
Status = Literal["converged", "max_iter", "stalled"]

ADVICE = {
    "converged": "",
    "max_iter": "raise max_iter of learn_layer; solver='newton' and a larger alpha need fewer iterations",
    "stalled": "rounding leaves no further progress: alpha is very small beside the costs, so raise alpha or scale the data",
}


@dataclass(frozen=True)
class DualSolution:
    """The last dual point of a solver, how it stopped and what it cost."""

    point: DualPoint
    status: Status
    n_iter: int
    n_passes: float
    """Passes over the candidate edges: evaluations and Hessian products, the latter by the share of the edges they touch."""


def starting_point(problem: LayerProblem, start: Vector | None) -> tuple[DualPoint, int]:
    """The warm start if an edge is active there, else the constant u of mean degree 1; and the passes it took."""
    if start is None:
        return _constant_start(problem)
    point = problem.at(np.array(start, dtype=np.float64))
    if point.counts.any():
        return point, 1
    point, passes = _constant_start(problem)
    return point, passes + 1


def _constant_start(problem: LayerProblem) -> tuple[DualPoint, int]:
    """u = s/2 with s near the root of sum_{i<j} (s - z_ij)_+ = 2 alpha N: guessed from a sample of the costs, then by Newton's method.

    The left side is convex and rises: a step from where pairs are active leads to the root or beyond it, and from there down to it.
    """
    target = 2 * problem.alpha * problem.n_nodes
    level = _sampled_level(problem.costs, target / problem.edges.n_pairs)
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
            level = float(problem.costs.min()) + target


def _sampled_level(costs: Vector, mean_excess: float) -> float:
    """The s at which (s - z)_+ has the given mean over a sample of the costs."""
    sample = np.sort(costs[:: max(1, costs.size // SAMPLE)])
    levels = (mean_excess * sample.size + np.cumsum(sample)) / np.arange(1, sample.size + 1)
    return float(levels[np.flatnonzero(levels > sample)[-1]])
