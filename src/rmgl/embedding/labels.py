"""From embedding to labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from rmgl.running.threads import single_threaded

SAMPLE = 50_000


def cluster_rows(embedding: NDArray[np.float64], n_clusters: int, *, n_init: int = 10, random_state=None) -> NDArray[np.intp]:
    """k-means on the rows of the embedding, the best of `n_init` starts.

    Beyond 50 000 rows the starts are tried on that many of them, drawn at random, and the best goes on with all rows, beside one start
    from all rows, which finds clusters too small for the sample.
    """
    generator = check_random_state(random_state)
    with single_threaded("openmp"):  # sums in one order, whatever the number of threads
        if embedding.shape[0] <= SAMPLE:
            return KMeans(n_clusters, n_init=n_init, random_state=generator).fit_predict(embedding)
        sample = embedding[generator.permutation(embedding.shape[0])[:SAMPLE]]
        centers = KMeans(n_clusters, n_init=n_init, random_state=generator).fit(sample).cluster_centers_
        starts = (KMeans(n_clusters, init=centers, n_init=1), KMeans(n_clusters, n_init=1, random_state=generator))
        return min((start.fit(embedding) for start in starts), key=lambda fitted: fitted.inertia_).labels_
