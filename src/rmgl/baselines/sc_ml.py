"""SC-ML: spectral clustering of layers by merged subspaces (Dong et al., 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from rmgl.baselines.given_layers import LayersClusterer
from rmgl.baselines.gl_sigrep import DEFAULT_ALPHA
from rmgl.embedding.eigenvectors import (
    normalized_laplacian,
    smallest_beyond,
    smallest_eigenvectors,
    unit_rows,
)
from rmgl.embedding.lanczos import Products
from rmgl.estimators.base import number
from rmgl.matrix import Floats
from rmgl.running.threads import team_of


class SCML(LayersClusterer):
    """Spectral clustering on multi-layer graphs by merging the subspaces of the layers.

    With L_i the symmetric normalized Laplacian of layer i and U_i the eigenvectors of its K
    smallest eigenvalues,

        minimize   tr(U' (sum_i L_i - merge sum_i U_i U_i') U)     subject to   U'U = I_K

    k-means then clusters the rows of U, scaled to unit length.

    Parameters
    ----------
    n_clusters : int
    merge : float >= 0
        Weight of the distance to the subspaces of the individual layers. Larger values bring the
        result closer to them.
    precomputed : bool
        Whether `fit` accepts adjacency matrices. Their diagonals are ignored. `fit` always
        recognizes `Layer` objects.
    alpha, beta, scale : parameters of the GL-SigRep layers, which `fit` learns from views
    views : column blocks of one table, optional
    n_init, n_jobs, random_state : as in `RMGL`

    Attributes
    ----------
    labels_, embedding_, view_names_, n_features_in_
    layers_ : list of SigRepLayer, if `fit` learned layers

    References
    ----------
    X. Dong, P. Frossard, P. Vandergheynst and N. Nefedov, "Clustering on Multi-Layer Graphs via
    Subspace Analysis on Grassmann Manifolds", IEEE Transactions on Signal Processing, 2014.

    Examples
    --------
    Two precomputed layers, each of which joins two of the three groups:

    >>> import numpy as np
    >>> from rmgl.baselines import SCML
    >>> group = np.repeat([0, 1, 2], 5)
    >>> first = (group[:, None] == group) + 0.1 * ((group[:, None] < 2) & (group < 2))
    >>> second = (group[:, None] == group) + 0.1 * ((group[:, None] > 0) & (group > 0))
    >>> labels = SCML(3, precomputed=True, random_state=0).fit_predict([first, second])
    >>> [len(set(labels[group == g])) for g in range(3)]
    [1, 1, 1]
    """

    _allowed = {**LayersClusterer._allowed, "merge": (number(least=0),)}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        merge: float = 0.5,
        precomputed: bool = False,
        alpha: float = DEFAULT_ALPHA,
        beta: float | str = "auto",
        scale: Any = "minmax",
        views: Any = None,
        n_init: int = 10,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.merge = merge
        self.precomputed = precomputed
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.views = views
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _embed(self, X: Any, random_state: np.random.RandomState) -> Floats:
        with team_of(self._n_threads(X)) as team:
            layers = self._check_layers(X, team)
            return unit_rows(merge_subspaces(layers.adjacencies, self.n_clusters, self.merge))


def merge_subspaces(
    adjacencies: Sequence[sparse.csr_array], n_clusters: int, merge: float
) -> Floats:
    """Return the eigenvectors of the K smallest eigenvalues of sum_i L_i - merge sum_i U_i U_i'."""
    operator = merged_operator(adjacencies, n_clusters, merge)
    n = operator.shape[0]
    spectrum = (-merge * len(adjacencies), 2.0 * len(adjacencies))
    return smallest_beyond(Products(operator), np.empty((n, 0)), n_clusters, spectrum=spectrum)


def merged_operator(
    adjacencies: Sequence[sparse.csr_array], n_clusters: int, merge: float
) -> LinearOperator:
    """Return sum_i L_i - merge sum_i U_i U_i' as an operator: sparse plus low rank."""
    total = sum(normalized_laplacian(adjacency) for adjacency in adjacencies)
    bases = np.hstack(
        [smallest_eigenvectors(A, n_clusters, normalized=True).vectors for A in adjacencies]
    )

    def multiply(V: Floats) -> Floats:
        product: Floats = total @ V - merge * (bases @ (bases.T @ V))
        return product

    return LinearOperator(total.shape, matvec=multiply, matmat=multiply, dtype=np.float64)
