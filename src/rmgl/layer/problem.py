"""The layer problem: its objective, its dual and the KKT residual. Nothing here iterates.

With edge weights w_ij >= 0 on the candidate pairs, degrees d_i = sum_j w_ij and edge costs z_ij,

    minimize   z'w + alpha (||d||^2 + 2 ||w||^2)     subject to   w >= 0,  2 sum(w) = N       (P)

which is tr(LR) + alpha ||L||_F^2 over graph Laplacians L with tr(L) = N. Its dual is unconstrained
in N unknowns:

    Phi(u)  = sum_{i<j} (u_i + u_j - z_ij)_+^2 / (8 alpha) + ||u - mean(u)||^2 / (4 alpha) - sum(u)
    w_ij    = (u_i + u_j - z_ij)_+ / (4 alpha)
    grad_i  = d_i + (u_i - mean(u)) / (2 alpha) - 1
    Hess    = (D_A + A) / (4 alpha) + (I - 11'/N) / (2 alpha)

where A is the 0/1 matrix of the pairs with w > 0, and D_A the diagonal matrix of its row sums. The
minimum of (P) is alpha N - min Phi, so alpha N - Phi(u) is a lower bound for every u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from rmgl.edges import ActivePairs, Costs, PairStore, Vector

NEGLIGIBLE_WEIGHT = 1e-10
"""Smaller weights are zero up to any tolerance that a solver reaches; the mean degree is 1."""
Status = Literal["converged", "max_iter", "stalled", "given"]


@dataclass(frozen=True)
class DualPoint:
    """A dual vector u, with its dual value and gradient, computed in one pass over the pairs."""

    u: Vector
    value: float
    """Phi(u)."""
    gradient: Vector
    counts: Vector
    """Number of active pairs at each node."""

    @property
    def residual(self) -> float:
        """KKT residual max_i |grad_i|, in units of the mean degree; zero at the solution."""
        return float(np.abs(self.gradient).max())


@dataclass(frozen=True)
class DualSolution:
    """The last dual point of a solver, why the solver stopped, and the work it did."""

    point: DualPoint
    status: Status
    n_iter: int
    n_passes: float
    """Passes over the candidate pairs; a Hessian product counts as the share of active pairs."""


@dataclass(frozen=True)
class LayerProblem:
    """The layer problem (P) for given candidate pairs, costs and alpha.

    Examples
    --------
    Two nodes: the only edge gets all the weight.

    >>> import numpy as np
    >>> from rmgl.edges import AllPairs
    >>> problem = LayerProblem(AllPairs(2), costs=np.array([3.0]), alpha=0.5)
    >>> point = problem.at(np.array([2.5, 2.5]))     # u_i + u_j - z = 4 alpha
    >>> point.residual
    0.0
    >>> problem.weights(point.u).toarray()
    array([[0., 1.],
           [1., 0.]])
    """

    edges: PairStore
    costs: Costs
    alpha: float

    @property
    def n_nodes(self) -> int:
        return self.edges.n_nodes

    def at(self, u: Vector) -> DualPoint:
        """Compute the dual value and gradient at u, in one pass over the pairs."""
        alpha, sums = self.alpha, self.edges.evaluate(u, self.costs)
        deviation = u - u.mean()
        value = sums.squares / (8 * alpha) + deviation @ deviation / (4 * alpha) - u.sum()
        gradient = sums.excess / (4 * alpha) + deviation / (2 * alpha) - 1
        return DualPoint(u, float(value), gradient, sums.counts)

    def active_pairs(self, point: DualPoint) -> ActivePairs:
        """Return the matrix D_A + A at a point."""
        return self.edges.active_pairs(point.u, self.costs, point.counts)

    def hessian_product(self, active: ActivePairs, v: Vector) -> Vector:
        """Multiply the Hessian by v, given the pairs active at u."""
        product: Vector = active(v) / (4 * self.alpha) + (v - v.mean()) / (2 * self.alpha)
        return product

    def hessian_diagonal(self, point: DualPoint) -> Vector:
        """Return the diagonal of the Hessian, without the mean term."""
        return point.counts / (4 * self.alpha) + (1 - 1 / self.n_nodes) / (2 * self.alpha)

    def lower_bound(self, point: DualPoint) -> float:
        """Return alpha N - Phi(u), a lower bound on the objective of every feasible layer."""
        return self.alpha * self.n_nodes - point.value

    def weights(self, u: Vector) -> sparse.csr_array:
        """Return the edge weights w(u), rescaled so that 2 sum(w) = N exactly."""
        adjacency = self.edges.active(u, self.costs, NEGLIGIBLE_WEIGHT * 4 * self.alpha)
        total = adjacency.data.sum()
        if total > 0:
            adjacency.data *= self.n_nodes / total
        return adjacency

    def objective(self, adjacency: sparse.csr_array) -> float:
        """Return z'w + alpha (||d||^2 + 2 ||w||^2)."""
        return self.edges.inner(self.costs, adjacency) + self.alpha * squared_norm(adjacency)


def squared_norm(adjacency: sparse.csr_array) -> float:
    """Return ||L||_F^2 = ||d||^2 + 2 ||w||^2 for the Laplacian L of an adjacency matrix."""
    degrees = adjacency.sum(axis=1)
    return float(degrees @ degrees + adjacency.data @ adjacency.data)
