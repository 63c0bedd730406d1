"""What a solver may ask of an edge store.

An *edge store* holds candidate pairs and no data. A solver works with `(edges, costs, alpha)`, where `costs` is a vector with
one entry per stored pair, and asks only what `Edges` lists.
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
    """One pass over the pairs at u, with t_ij = u_i + u_j - z_ij."""

    excess: Vector
    """sum_j (t_ij)_+ for every node i."""
    counts: Vector
    """The number of pairs of node i with t_ij > 0."""
    squares: float
    """sum_{i<j} (t_ij)_+^2."""


@dataclass
class ActivePairs:
    """The matrix D_A + A, with A the 0/1 matrix of the active pairs: call it with a vector.

    Few active pairs are copied out once, so that products need not pass over all candidates.
    """

    multiply: Callable[[Vector], Vector]
    passes: float
    """Passes over the candidates so far, in units of one whole pass."""
    passes_per_product: float

    def __call__(self, v: Vector) -> Vector:
        self.passes += self.passes_per_product
        return self.multiply(v)


class Edges(Protocol):
    """What a solver may ask of an edge store."""

    n_nodes: int
    n_pairs: int
    max_degree: int
    """The largest number of candidate pairs that share a node."""

    def measure(self, X: NDArray | sparse.csr_array, check: Check = ...) -> Vector:
        """||x_i - x_j||^2 for every candidate pair: rows of a view, or of an embedding. `check` is called now and then."""

    def localized(self, distances: Vector, scales: Vector, floors: Vector) -> Vector:
        """max(z_ij / (s_i s_j), min(f_i, f_j)) for every candidate pair."""

    def evaluate(self, u: Vector, costs: Vector) -> Evaluation:
        """Degrees and dual value at u, before division by powers of alpha; one pass."""

    def active_pairs(self, u: Vector, costs: Vector, counts: Vector) -> ActivePairs:
        """The pairs active at u, where `evaluate` found `counts`, as a matrix to multiply with."""

    def active(self, u: Vector, costs: Vector, least: float) -> sparse.csr_array:
        """The symmetric matrix of the t_ij that exceed `least`."""

    def inner(self, costs: Vector, weights: sparse.csr_array) -> float:
        """z'w = sum_{i<j} z_ij w_ij, for symmetric weights on candidate pairs."""
