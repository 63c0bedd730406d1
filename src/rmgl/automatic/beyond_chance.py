"""How well the edges of a graph agree with rows, compared with chance.

The roughness of rows u on a graph compares its edges with pairs of nodes drawn in proportion to
their degrees,

    r = sum_ij p_ij |u_i - u_j|^2 / sum_ij p_i p_j |u_i - u_j|^2
    p_ij = w_ij / sum_ij w_ij,   p_i = sum_j p_ij

so the rows of hubs count in both the numerator and the denominator. The roughness is 1 if neighbors
are unrelated. Over all permutations of the rows, it varies by chance with the standard deviation s
from Mantel's test. With z = (1 - r) / s, the share of the agreement that is not due to chance is

    f = 1 - 1 / z^2     if z > 1, and 0 otherwise

This is the positive part of the James-Stein estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from rmgl.automatic.weighing import normalized
from rmgl.edges import Vector
from rmgl.matrix import Floats, mean_square

FEWEST_NODES = 4
"""Minimum number of nodes for a comparison with chance."""


@dataclass(frozen=True)
class Agreed:
    """How well the edges of a graph agree with rows."""

    roughness: float
    """0 if neighbors have the same row, 1 if they are unrelated."""
    share: float
    """Share of the agreement that is not due to chance, from 0 to 1."""


def agreement(rows: Floats, adjacency: sparse.csr_array) -> Agreed:
    """Compare the edges of a graph with rows. Nodes without edges are ignored.

    Examples
    --------
    Two cliques with different rows:

    >>> import numpy as np
    >>> graph = sparse.csr_array(np.kron(np.eye(2), np.ones((6, 6)) - np.eye(6)))
    >>> agreement(np.repeat([[0.0], [1.0]], 6, axis=0), graph).roughness
    0.0
    """
    linked = np.flatnonzero(adjacency.sum(axis=1) > 0)
    if linked.size < FEWEST_NODES:
        return Agreed(1.0, 0.0)
    graph, own = sparse.csr_array(adjacency[linked][:, linked]), rows[linked]
    own = own - own.mean(axis=0)
    degrees = graph.sum(axis=1)
    total = float(degrees.sum())
    squares = np.square(own).sum(axis=1)
    along = float(degrees @ squares - np.einsum("nk,nk->", own, graph @ own)) / total
    apart = float(degrees @ squares) / total - float(np.square(degrees @ own / total).sum())
    if apart <= 0:
        return Agreed(1.0, 0.0)
    rough = max(0.0, along / apart)
    z = (1 - rough) / max(chance_deviation(own, graph), np.finfo(float).eps)
    return Agreed(rough, 1 - 1 / z**2 if z > 1 else 0.0)


def chance_deviation(rows: Floats, adjacency: sparse.csr_array) -> float:
    """Return the standard deviation of the roughness over all permutations of the rows, relative to
    its mean.

    The result is the same as in `rmgl.automatic.weighing.roughness_deviation`, but no table of all
    pairs is built.
    """
    n = len(rows)
    squares = np.square(rows).sum(axis=1)
    inner = rows @ rows.sum(axis=0)
    sums = n * squares + squares.sum() - 2 * inner
    of_squares = (
        2 * n * np.square(squares).sum()
        + 2 * squares.sum() ** 2
        + 4 * np.square(rows.T @ rows).sum()
        - 8 * squares @ inner
    )
    of_rows = float(sums.sum()), 2 * float(of_squares), 4 * float(np.square(sums).sum())
    degrees = adjacency.sum(axis=1)
    of_graph = (
        float(degrees.sum()),
        2 * float(np.square(adjacency.data).sum()),
        4 * float(np.square(degrees).sum()),
    )
    mean = of_graph[0] * of_rows[0] / (n * (n - 1))
    variance = max(0.0, mean_square(of_graph, of_rows, n) - mean**2)
    return float(np.sqrt(variance) / mean) if mean > 0 else 0.0


def weights_beyond_chance(shares: Vector) -> Vector:
    """Compute the weights of views from f, the share of each view's agreement with the others that
    is not due to chance.

        w_m = (1 - F) / M + F f_m / sum f        F = max f

    If no view agrees with the others, there is no way to know which one is right, and all views
    have equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> weights_beyond_chance(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    >>> weights_beyond_chance(np.array([1.0, 1.0, 0.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    most = float(np.max(shares))
    return (1 - most) / len(shares) + most * normalized(np.asarray(shares, dtype=np.float64))
