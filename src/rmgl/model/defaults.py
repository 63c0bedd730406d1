"""Heuristic defaults of alpha and beta for when the other one is given; if neither is, see `rmgl.automatic.choose`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.space import as_space
from rmgl.matrix import total_variance

DEFAULT_NEIGHBORS = 20
COUPLING = 0.1
SAMPLE = 2000


def default_alpha(X: Any, n_neighbors: int = DEFAULT_NEIGHBORS) -> float:
    """The alpha at which a node with typical distances keeps about `n_neighbors` neighbors.

    If node i had k neighbors at squared distances z_i1 <= ... <= z_ik and the next at z_i,k+1, all nodes alike, its degree
    would be sum_j (z_i,k+1 - z_ij) / (4 alpha); it is 1 on average at alpha = mean_i sum_j (z_i,k+1 - z_ij) / 4. Beyond 2000
    rows the mean is taken over a sample of them. X is a matrix or a space.
    """
    space = as_space(X)
    n = space.n_rows
    k = min(n_neighbors, n - 2)
    if k >= 1:
        rows = np.arange(n) if n <= SAMPLE else np.sort(np.random.RandomState(0).permutation(n)[:SAMPLE])
        nearest = np.sort(space.distances_to(rows, space.nearest(rows, k + 1)[0]), axis=1)
        nearest = np.maximum.accumulate(np.where(np.isfinite(nearest), nearest, 0.0), axis=1)  # the last one stands for those not given
        alpha = float((nearest[:, -1:] - nearest[:, :-1]).sum(axis=1).mean() / 4)
        if alpha > 0:
            return alpha
    return space.mean_distance if space is X else 2 * total_variance(X)  # too few rows, or too many duplicates


def default_beta(alpha: NDArray[np.float64], n_nodes: int, n_clusters: int, n_neighbors: int = DEFAULT_NEIGHBORS) -> float:
    """One beta for all views: a light coupling.

    Rows of Q in two clusters of N/K nodes are 2K/N apart, so beta = N/K times a cost adds about that cost to every
    edge between clusters; the cost taken is a tenth of the mean weight-giving cost alpha / n_neighbors.
    """
    return COUPLING * float(alpha.mean()) * n_nodes / (n_clusters * n_neighbors)
