"""Draw rows from a single normal distribution: similar data without clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmgl.matrix import Matrix, as_dense


def cloud_of(
    X: Matrix, normal: NDArray[np.float64], same_columns: bool = False
) -> NDArray[np.float64]:
    """Draw rows from the normal distribution with the same means and covariances as the rows of X.

        y_i = m + sum_j g_ij (x_j - m) / sqrt(n)      g_ij independent standard normal numbers

    If only the distances matter, a cloud needs no more coordinates than rows, unless it must have
    the `same_columns`.
    """
    n = X.shape[0]
    if X.shape[1] > n and not same_columns:
        products = as_dense(X @ X.T)
        means = products.mean(axis=0)
        values, vectors = np.linalg.eigh(products - means - means[:, None] + means.mean())
        C, mean = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T, np.zeros(n)
    else:
        mean = as_dense(X).mean(axis=0)
        C = as_dense(X) - mean
    cloud: NDArray[np.float64] = mean + normal @ C / np.sqrt(n)
    return cloud
