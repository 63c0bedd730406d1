"""Starting point and result of the solvers of the layer problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rmgl.edges import Vector
from rmgl.layer.problem import DualPoint, LayerProblem

SAMPLE_SIZE = 20_000
Status = Literal["converged", "max_iter", "stalled", "given"]

ADVICE = {
    "converged": "",
    "given": "",
    "max_iter": "raise max_iter of learn_layer; solver='newton' and a larger alpha need fewer iterations",
    "stalled": "rounding errors prevent further progress, because alpha is very small beside the costs; raise alpha or scale the data",
}


@dataclass(frozen=True)
class DualSolution:
    """The last dual point of a solver, why it stopped, and the work it did."""

    point: DualPoint
    status: Status
    n_iter: int
    n_passes: float
    """Passes over the candidate edges; a product with the Hessian counts as the share of the edges that is active."""


def starting_point(problem: LayerProblem, start: Vector | None) -> tuple[DualPoint, int]:
    """Return the warm start if an edge is active there, else the constant u of mean degree 1; also count the passes."""
    if start is None:
        return _constant_start(problem)
    point = problem.at(np.array(start, dtype=np.float64))
    if point.counts.any():
        return point, 1
    point, passes = _constant_start(problem)
    return point, passes + 1


def _constant_start(problem: LayerProblem) -> tuple[DualPoint, int]:
    """Return u = s/2 with s near the root of sum_{i<j} (s - z_ij)_+ = 2 alpha N, found by Newton's method.

    The first s comes from a sample of the costs. The left side is convex and increasing, so after one step with active pairs s is at or
    above the root, and from there it decreases to it.
    """
    target = 2 * problem.alpha * problem.n_nodes
    level = _sampled_level(problem.edges.sample(problem.costs, SAMPLE_SIZE), target / problem.edges.n_pairs)
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
            level = problem.edges.least(problem.costs) + target


def _sampled_level(sample: Vector, mean_excess: float) -> float:
    """Return the s at which (s - z)_+ has the given mean over a sample of the costs."""
    sample = np.sort(sample)
    levels = (mean_excess * sample.size + np.cumsum(sample)) / np.arange(1, sample.size + 1)
    return float(levels[np.flatnonzero(levels > sample)[-1]])
