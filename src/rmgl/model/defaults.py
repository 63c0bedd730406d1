"""Heuristic defaults of alpha and beta for when the other one is given; if neither is, see `rmgl.automatic.choose`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.gaps import Gapped
from rmgl.edges.search import nearest_distances
from rmgl.views.matrix import total_variance

DEFAULT_NEIGHBORS = 20
COUPLING = 0.1
SAMPLE = 2000


def default_alpha(X: Any, n_neighbors: int = DEFAULT_NEIGHBORS) -> float:
    """The alpha at which a node with typical distances keeps about `n_neighbors` neighbors.

    If node i had k neighbors at squared distances z_i1 <= ... <= z_ik and the next at z_i,k+1, all nodes alike, its degree
    would be sum_j (z_i,k+1 - z_ij) / (4 alpha); it is 1 on average at alpha = mean_i sum_j (z_i,k+1 - z_ij) / 4. Beyond 2000
    rows the mean is taken over a sample of them. X is a matrix, or the space of rows with missing cells.
    """
    n = X.n_rows if isinstance(X, Gapped) else X.shape[0]
    k = min(n_neighbors, n - 2)
    if k >= 1:
        rows = np.arange(n) if n <= SAMPLE else np.sort(np.random.RandomState(0).permutation(n)[:SAMPLE])
        nearest = nearest_distances(X, rows, k + 1)
        alpha = float((nearest[:, -1:] - nearest[:, :-1]).sum(axis=1).mean() / 4)
        if alpha > 0:
            return alpha
    return (
        X.mean_distance if isinstance(X, Gapped) else 2 * total_variance(X)
    )  # too few rows, or too many duplicates: the mean squared distance


def default_beta(alpha: NDArray[np.float64], n_nodes: int, n_clusters: int, n_neighbors: int = DEFAULT_NEIGHBORS) -> float:
    """One beta for all views: a light coupling.

    Rows of Q in two clusters of N/K nodes are 2K/N apart, so beta = N/K times a cost adds about that cost to every
    edge between clusters; the cost taken is a tenth of the mean weight-giving cost alpha / n_neighbors.
    """
    return COUPLING * float(alpha.mean()) * n_nodes / (n_clusters * n_neighbors)
