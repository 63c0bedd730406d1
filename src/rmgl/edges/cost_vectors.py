"""What stores have in common whose costs are a vector with one entry per stored pair, or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.interface import Cheapest, Vector
from rmgl.running.threads import InParts


class CostVectors:
    """The part of an edge store that looks at its costs, which are vectors."""

    n_pairs: int

    def least(self, costs: Vector) -> float:
        return float(costs.min())

    def largest(self, costs: Vector) -> float:
        return float(costs.max())

    def sample(self, costs: Vector, size: int) -> Vector:
        return costs[:: max(1, costs.size // size)]

    def cheapest(self, costs: Vector, share: float) -> Cheapest:
        place = min(int(share * costs.size), costs.size // 2)
        costs = np.partition(costs, place)
        excess = float((costs[place] - costs[:place]).sum()) * self.n_pairs / costs.size
        return Cheapest(excess, float(costs.mean()))


def multiplier(starts: NDArray[np.integer[Any]], found: NDArray[np.integer[Any]], in_parts: InParts) -> Callable[[Vector], Vector]:
    """The product of D_A + A with a vector, for the active pairs of a symmetric CSR pattern."""
    from rmgl import kernels

    def multiply(v: Vector) -> Vector:
        out = np.empty(v.size)
        in_parts(lambda first, stop: kernels.pattern_product(starts, found, v, first, stop, out), v.size)
        return out

    return multiply
