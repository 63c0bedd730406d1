"""The interface between solvers and edge stores.

An *edge store* holds candidate pairs and no data. A solver works with `(edges, costs, alpha)`, where `costs` is a vector with
one entry per stored pair, and uses only the methods of `Edges`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.running.threads import Check

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Sums over the pairs at u, from one pass, with t_ij = u_i + u_j - z_ij."""

    excess: Vector
    """sum_j (t_ij)_+ for every node i."""
    counts: Vector
    """The number of pairs of node i with t_ij > 0."""
    squares: float
    """sum_{i<j} (t_ij)_+^2."""


@dataclass
class ActivePairs:
    """The matrix D_A + A, with A the 0/1 matrix of the active pairs; a call multiplies it by a vector.

    If few pairs are active, they are copied once, so that products need not pass over all candidates.
    """

    multiply: Callable[[Vector], Vector]
    passes: float
    """Number of passes over the candidates so far; a partial pass counts as a fraction."""
    passes_per_product: float

    def __call__(self, v: Vector) -> Vector:
        self.passes += self.passes_per_product
        return self.multiply(v)


class Edges(Protocol):
    """An edge store, as solvers use it."""

    n_nodes: int
    n_pairs: int
    max_degree: int
    """The largest number of candidate pairs that share a node."""

    def measure(self, X: NDArray[np.float64] | sparse.csr_array, check: Check = ...) -> Vector:
        """||x_i - x_j||^2 for every candidate pair, from the rows of a view or embedding. `check` is called repeatedly and may raise."""

    def entries_of(self, square: NDArray[np.float64]) -> Vector:
        """The entries of a symmetric matrix for every candidate pair."""

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        """max(z_ij / (s_i s_j), min(f_i, f_j)) for every candidate pair."""

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        """Sums for the degrees and the dual value at u, not yet divided by powers of alpha; one pass."""

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        """The matrix D_A + A of the pairs active at u; `counts` are those that `evaluate` returned."""

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        """The symmetric matrix of the t_ij that exceed `least`."""

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        """z'w = sum_{i<j} z_ij w_ij, for symmetric weights on candidate pairs."""
