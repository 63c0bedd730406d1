"""The layer of a user's network, and the problem of learning it again near that network.

For the network L0, scaled to trace N, with weights w0 and degrees d0,

    alpha ||L - L0||_F^2 = alpha ||L||_F^2 - alpha sum_{i<j} (2 d0_i + 2 d0_j + 4 w0_ij) w_ij + c0

with a constant c0, so that the layer problem with costs z_ij = c - 2 alpha (d0_i + d0_j + 2 w0_ij)
has the network as its solution: at u_i = c / 2 - 2 alpha d0_i, every pair has
(u_i + u_j - z_ij) / (4 alpha) = w0_ij, and the KKT residual is zero. The constant c makes the
smallest cost zero. It changes the objective by c N / 2, because all weights sum to N / 2, but not
the solution.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rmgl.edges import Candidates, PairList, Vector
from rmgl.layer.result import Layer
from rmgl.running.threads import InParts, one_part

STRENGTH = 0.25
"""alpha times the mean edge weight, so that an edge of that weight is worth a cost of one."""


def default_alpha(layer: Layer) -> float:
    """Return the alpha at which an edge of mean weight is worth a cost of one.

    One is the cost of a typical neighbor in locally scaled distances.
    """
    return STRENGTH / float(layer.adjacency.data.mean())


def network_candidates(
    layer: Layer, alpha: float, two_steps: bool = False, in_parts: InParts = one_part
) -> Candidates:
    """Return the edges of a network as candidate pairs, with costs whose solution is the network.

    `layer` holds the network, scaled as a layer. With `two_steps`, pairs with a common neighbor are
    also candidates.
    """
    pattern = sparse.csr_array(layer.adjacency, copy=True)
    if two_steps:
        pattern = with_two_steps(pattern)
    pattern.sort_indices()
    edges = PairList(pattern, in_parts)
    costs = costs_of(alpha, layer.degrees, pattern)
    return Candidates(edges, costs - costs.min(), "given edges")


def costs_of(alpha: float, degrees: Vector, pattern: sparse.csr_array) -> Vector:
    """Compute -2 alpha (d0_i + d0_j + 2 w0_ij) for every entry of the pattern, which holds w0."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    costs: Vector = -2 * alpha * (degrees[rows] + degrees[pattern.indices] + 2 * pattern.data)
    return costs


def with_two_steps(graph: sparse.csr_array) -> sparse.csr_array:
    """Add entries of zero for all pairs with a common neighbor and no edge."""
    edges, reached = sparse.coo_array(graph), sparse.coo_array(graph @ graph)
    off_diagonal = reached.row != reached.col
    rows = np.concatenate([edges.row, reached.row[off_diagonal]])
    columns = np.concatenate([edges.col, reached.col[off_diagonal]])
    weights = np.concatenate([edges.data, np.zeros(int(off_diagonal.sum()))])
    # entries of the same pair add up
    return sparse.csr_array((weights, (rows, columns)), shape=graph.shape)
