"""Labels of the rows of an embedding some of which are known: k-means that starts from them and keeps them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

MAX_ITER = 100


def label_with_known(
    rows: NDArray[np.float64], found: NDArray[np.intp], known: NDArray[np.intp], n_clusters: int, aside: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """Labels that agree with all known ones (-1: unknown), from those that k-means has `found` without them.

    The clusters that were found are matched with the classes so that most known labels agree. k-means goes on from there, the center of a
    class being the mean of its known rows at first, and known labels stay. Rows `aside` have no part in the centers.
    """
    labels = matched(found, known, n_clusters)
    inside = np.ones(len(rows), dtype=bool) if aside is None else ~aside
    fixed = known >= 0
    centers = np.array([_mean(rows, inside & fixed & (known == k), inside & (labels == k)) for k in range(n_clusters)])
    for _ in range(MAX_ITER):
        new = np.where(fixed, known, cdist(rows, centers).argmin(axis=1))
        if (new == labels).all():
            break
        labels = new
        centers = np.array(
            [rows[inside & (labels == k)].mean(axis=0) if (inside & (labels == k)).any() else centers[k] for k in range(n_clusters)]
        )
    return np.where(fixed, known, labels).astype(np.intp)


def matched(found: NDArray[np.intp], known: NDArray[np.intp], n_clusters: int) -> NDArray[np.intp]:
    """The found clusters, numbered so that most known labels agree.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([0, 0, 1, 1]), np.array([-1, 1, -1, -1]), 2)
    array([1, 1, 0, 0])
    """
    fixed = known >= 0
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (found[fixed], known[fixed]), 1.0)
    _, numbers = linear_sum_assignment(-counts)
    renumbered: NDArray[np.intp] = numbers[found]
    return renumbered


def _mean(rows: NDArray[np.float64], first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean of the rows of the first mask that has any; the origin if none has."""
    chosen = first if first.any() else second
    mean: NDArray[np.float64] = rows[chosen].mean(axis=0) if chosen.any() else np.zeros(rows.shape[1])
    return mean
