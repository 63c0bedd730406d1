"""Cluster labels from the rows of an embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from rmgl.running.threads import single_threaded

SAMPLE_SIZE = 50_000


def cluster_rows(
    embedding: NDArray[np.float64], n_clusters: int, *, n_init: int = 10, random_state: int | np.random.RandomState | None = None
) -> NDArray[np.intp]:
    """Cluster the rows of the embedding by k-means, the best of `n_init` initializations.

    With more than 50,000 rows, the initializations run on a random sample of that size and the best one continues on all rows. One more
    initialization from all rows can find clusters that are too small for the sample; the better of the two is returned.
    """
    generator = check_random_state(random_state)
    # k-means sets the threads of BLAS, too; several at once would each restore what they found
    with single_threaded("blas"), single_threaded("openmp"):  # the order of sums does not depend on the number of threads
        if embedding.shape[0] <= SAMPLE_SIZE:
            labels: NDArray[np.intp] = KMeans(n_clusters, n_init=n_init, random_state=generator).fit_predict(embedding)
            return labels
        sample = embedding[generator.permutation(embedding.shape[0])[:SAMPLE_SIZE]]
        centers = KMeans(n_clusters, n_init=n_init, random_state=generator).fit(sample).cluster_centers_
        starts = (KMeans(n_clusters, init=centers, n_init=1), KMeans(n_clusters, n_init=1, random_state=generator))
        labels = min((start.fit(embedding) for start in starts), key=lambda fitted: fitted.inertia_).labels_
        return labels


def as_met(labels: NDArray[np.intp], n_clusters: int) -> NDArray[np.intp]:
    """Labels that are numbered in the order in which rows meet them first; clusters without members come last.

    Examples
    --------
    >>> import numpy as np
    >>> as_met(np.array([2, 2, 0, 2]), 3).tolist()
    [0, 0, 1, 0]
    """
    found, first = np.unique(labels, return_index=True)
    number = np.empty(n_clusters, dtype=np.intp)
    number[found[np.argsort(first)]] = np.arange(found.size)
    renumbered: NDArray[np.intp] = number[labels]
    return renumbered
