"""Agreement of clusters with known classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["clustering_accuracy", "normalized_mutual_info_score"]


def clustering_accuracy(target: ArrayLike, labels: ArrayLike) -> float:
    """Return the fraction of rows that are correctly clustered under the best one-to-one matching
    of clusters to classes.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [5, 5, 3, 5])
    0.75
    """
    table = contingency_matrix(target, labels)
    return float(table[linear_sum_assignment(-table)].sum() / np.size(labels))
