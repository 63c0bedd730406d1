"""What is known about all costs of a store whose costs are a vector with one entry per stored pair, or two."""

from __future__ import annotations

import numpy as np

from rmgl.edges.interface import Cheapest, Vector


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
