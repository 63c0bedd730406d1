"""Shared base class of the paper's baseline methods."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from rmgl.embedding.eigenvectors import smallest_eigenvectors, unit_rows
from rmgl.embedding.labels import cluster_rows
from rmgl.estimators.base import ViewsClusterer
from rmgl.matrix import Floats


class Baseline(ViewsClusterer):
    """Base class for clusterers that compute an embedding and run k-means on its rows."""

    n_init: int
    random_state: int | np.random.RandomState | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the embedding and cluster its rows.

        X holds views as in `RMGL.fit`, or layers if the method accepts them.

        Examples
        --------
        >>> from rmgl.baselines import SCML
        >>> a, b = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]], [[2], [2], [2], [7], [7], [8]]
        >>> views = {"a": a, "b": b}
        >>> labels = SCML(2, random_state=0).fit(views).labels_.tolist()
        >>> labels[0] == labels[1] == labels[2] != labels[3] == labels[4] == labels[5]
        True
        """
        self._check_parameters()
        random_state = check_random_state(self.random_state)
        self._keep_embedding(self._embed(X, random_state))
        self.labels_ = cluster_rows(
            self.embedding_, self.n_clusters, n_init=self.n_init, random_state=random_state
        )
        return self

    @abstractmethod
    def _embed(self, X: Any, random_state: np.random.RandomState) -> Floats:
        """Check the input, set the attributes of the method, and return the embedding."""


def spectral_rows(adjacency: sparse.csr_array, n_clusters: int) -> Floats:
    """Return the first K eigenvectors of I - D^-1/2 W D^-1/2, with unit rows (Ng et al.)."""
    return unit_rows(smallest_eigenvectors(adjacency, n_clusters, normalized=True).vectors)
