"""The layer problem: what it asks, its dual, and how far a point is from the answer. Nothing here iterates.

With edge weights w_ij >= 0 on the candidate pairs, degrees d_i = sum_j w_ij and edge costs z_ij,

    minimize   z'w + alpha (||d||^2 + 2 ||w||^2)     subject to   w >= 0,  2 sum(w) = N            (P)

which is tr(LR) + alpha ||L||_F^2 over graph Laplacians L with tr(L) = N. Its dual is unconstrained in N unknowns:

    Phi(u)  = sum_{i<j} (u_i + u_j - z_ij)_+^2 / (8 alpha) + ||u - mean(u)||^2 / (4 alpha) - sum(u)
    w_ij    = (u_i + u_j - z_ij)_+ / (4 alpha)
    grad_i  = d_i + (u_i - mean(u)) / (2 alpha) - 1
    Hess    = (D_A + A) / (4 alpha) + (I - 11'/N) / (2 alpha)        A: 0/1 matrix of the pairs with w > 0

The minimum of (P) is alpha N - min Phi, so alpha N - Phi(u) is a lower bound for every u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rmgl.edges import ActivePairs, Edges, Vector

# Mean degree is 1; a weight this small cannot be told from zero at any tolerance a solver reaches.
NEGLIGIBLE_WEIGHT = 1e-10


@dataclass(frozen=True)
class DualPoint:
    """A dual vector u with what one pass over the edges says about it."""

    u: Vector
    value: float
    """Phi(u)."""
    gradient: Vector
    counts: Vector
    """The number of active pairs at each node."""

    @property
    def residual(self) -> float:
        """The KKT residual max_i |grad_i|: zero exactly at the solution, in units of the mean degree 1."""
        return float(np.abs(self.gradient).max())


@dataclass(frozen=True)
class LayerProblem:
    """Problem (P) for given candidate edges, costs and alpha.

    Examples
    --------
    Two nodes: all the weight goes to the one edge there is.

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

    edges: Edges
    costs: Vector
    alpha: float

    @property
    def n_nodes(self) -> int:
        return self.edges.n_nodes

    def at(self, u: Vector) -> DualPoint:
        """Dual value and gradient at u: one pass over the edges."""
        found = self.edges.evaluate(u, self.costs)
        deviation = u - u.mean()
        value = found.squares / (8 * self.alpha) + deviation @ deviation / (4 * self.alpha) - u.sum()
        gradient = found.excess / (4 * self.alpha) + deviation / (2 * self.alpha) - 1
        return DualPoint(u, float(value), gradient, found.counts)

    def active_pairs(self, point: DualPoint) -> ActivePairs:
        """D_A + A at a point."""
        return self.edges.active_pairs(point.u, self.costs, point.counts)

    def hessian_product(self, active: ActivePairs, v: Vector) -> Vector:
        """Hess v, given the pairs active at u."""
        return active(v) / (4 * self.alpha) + (v - v.mean()) / (2 * self.alpha)

    def hessian_diagonal(self, point: DualPoint) -> Vector:
        return point.counts / (4 * self.alpha) + (1 - 1 / self.n_nodes) / (2 * self.alpha)

    def lower_bound(self, point: DualPoint) -> float:
        """A number that no feasible layer can get below."""
        return self.alpha * self.n_nodes - point.value

    def weights(self, u: Vector) -> sparse.csr_array:
        """The feasible layer nearest to u: w(u) rescaled so that 2 sum(w) = N exactly."""
        adjacency = self.edges.active(u, self.costs, NEGLIGIBLE_WEIGHT * 4 * self.alpha)
        total = adjacency.data.sum()
        if total > 0:
            adjacency.data *= self.n_nodes / total
        return adjacency

    def objective(self, adjacency: sparse.csr_array) -> float:
        """z'w + alpha (||d||^2 + 2 ||w||^2)."""
        return self.edges.inner(self.costs, adjacency) + self.alpha * squared_norm(adjacency)


def squared_norm(adjacency: sparse.csr_array) -> float:
    """||L||_F^2 = ||d||^2 + 2 ||w||^2 of the Laplacian of a symmetric adjacency matrix."""
    degrees = adjacency.sum(axis=1)
    return float(degrees @ degrees + adjacency.data @ adjacency.data)
