"""Distances of pairs of rows of a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.interface import Vector
from rmgl.running.threads import Check

ENTRIES = 1 << 18
"""Non-zeros of the rows whose differences are taken at a time: each takes some hundred bytes on the way."""


def listed_distances(X: sparse.csr_array, left: NDArray[np.integer], right: NDArray[np.integer], check: Check = lambda: None) -> Vector:
    """The squared distances of rows left[0] and right[0], left[1] and right[1], ..., computed from differences.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 0.0]]))
    >>> listed_distances(X, np.array([0, 1]), np.array([1, 2]))
    array([4., 5.])
    """
    distances = np.empty(len(left))
    chunk = max(1, ENTRIES * X.shape[0] // max(1, X.nnz))
    for at in range(0, distances.size, chunk):
        check()
        some = slice(at, at + chunk)
        difference = X[left[some]] - X[right[some]]
        distances[some] = np.asarray((difference * difference).sum(axis=1)).ravel()
    return distances
