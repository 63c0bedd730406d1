"""From embedding to labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans


def cluster_rows(embedding: NDArray[np.float64], n_clusters: int, *, n_init: int = 10, random_state=None) -> NDArray[np.intp]:
    """k-means on the rows of the embedding, the best of `n_init` starts."""
    return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit_predict(embedding)
