"""What chance gives: the share of neighbors in the same cluster if the clusters were dealt out to the entities at random.

Let W_ij be the weight of entity j among the neighbors of entity i, r_i = sum_j W_ij and c_i = sum_j W_ji. With clusters of sizes n_k dealt
out to n entities in all possible ways, the weight X = sum_ij W_ij [i and j in the same cluster] has a mean and a variance in closed form,
those of the test of Mantel (1967) for the symmetric matrix (W + W')/2 and the zeros and ones of "in the same cluster":

    mean of X = sum_ij W_ij * sum_k n_k (n_k - 1) / (n (n - 1))

For one cluster k the share is X_k / Y_k, where X_k is the weight inside of it and Y_k = sum of r_i over its members. Y_k is the same in all
deals if all entities have neighbors; otherwise the variance of X_k / Y_k is that of X_k - c Y_k, c = (n_k - 1) / (n - 1), divided by the
square of the mean of Y_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.automatic.weighing import mean_square

Vector = NDArray[np.float64]
SURE = 3.0
"""Standard deviations above chance from which a share is more than chance."""
ROUNDING = 1e-12
"""Variance, as a share of the squares that it is a difference of, up to which it is a rounding error."""


@record
@dataclass(frozen=True)
class Share:
    """A share of neighbors in the same cluster, beside the share that chance gives."""

    found: float
    """NaN if it was not measured."""
    chance: float
    """The mean over all deals of the clusters to the entities."""
    deviation: float
    """The standard deviation over these deals."""

    @property
    def is_more(self) -> bool:
        """Whether it is more than chance."""
        return bool(self.found > self.chance + SURE * self.deviation) and self.leaves_room

    @property
    def leaves_room(self) -> bool:
        """Whether the share depends on the clusters: not if there is one, or if all other entities are neighbors."""
        return bool(self.deviation > 0)


@dataclass(frozen=True)
class Deals:
    """What mean and variance over all deals depend on: sums over the neighbors W of n entities, of which none is its own neighbor."""

    n: int
    total: float
    """sum_ij W_ij"""
    squares: float
    """sum_ij W_ij^2 + W_ij W_ji"""
    degrees: float
    """sum_i (r_i + c_i)^2"""
    out_squares: float
    """sum_i r_i^2"""
    out_degrees: float
    """sum_i r_i (r_i + c_i)"""

    def inside_all(self, sizes: NDArray[np.intp]) -> tuple[float, float]:
        """Mean and standard deviation of the share of weight inside clusters of given sizes."""
        if self.n < 2 or self.total == 0:
            return float("nan"), float("nan")
        chance = float(sizes @ (sizes - 1.0)) / (self.n * (self.n - 1.0))
        square = self._square(sizes)
        return chance, deviation(square - (chance * self.total) ** 2, square) / self.total

    def inside_one(self, size: int) -> tuple[float, float]:
        """Mean and standard deviation of the share of the weight of the members of one cluster of a given size that is inside of it."""
        if self.n < 2 or self.total == 0 or size == 0:
            return float("nan"), float("nan")
        n, chance = self.n, (size - 1) / (self.n - 1)
        one, two = size / n, size / n * chance
        three = two * (size - 2) / max(n - 2, 1)
        weight, members = two * self.total, one * self.total
        square, of_members = self._square(np.array([size])), one * self.out_squares + two * (self.total**2 - self.out_squares)
        product = two * self.out_degrees + three * (self.total**2 - self.out_degrees)
        variance = (square - weight**2) - 2 * chance * (product - weight * members) + chance**2 * (of_members - members**2)
        return chance, deviation(variance, square) / members

    def _square(self, sizes: NDArray[np.intp]) -> float:
        """The mean square of the weight inside clusters; 0 where entities are too few for it to vary."""
        if self.n < 4:
            return 0.0
        pairs = sizes * (sizes - 1.0)
        same = (float(pairs.sum()), 2 * float(pairs.sum()), 4 * float(pairs @ (sizes - 1.0)))
        return mean_square((self.total, self.squares, self.degrees), same, self.n)


def deviation(variance: float, square: float) -> float:
    """The standard deviation, 0 if the variance is a rounding error."""
    return float(np.sqrt(variance)) if variance > ROUNDING * square else 0.0
