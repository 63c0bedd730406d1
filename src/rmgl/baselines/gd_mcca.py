"""GD-MCCA: graph-regularized dual multi-view CCA (Chen, Wang and Giannakis, 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator

from rmgl.baselines.baseline import Baseline
from rmgl.baselines.given_layers import check_adjacencies
from rmgl.embedding.eigenvectors import smallest_beyond
from rmgl.embedding.lanczos import Products
from rmgl.estimators.base import ARRAY, NAME, NOTHING, Kind, number
from rmgl.layer import Layer
from rmgl.matrix import Floats, Matrix, as_dense
from rmgl.running.threads import team_of
from rmgl.views.scaling import fit_scaler
from rmgl.views.views import Views

LAYER = Kind("a Layer", lambda value: isinstance(value, Layer))


class GDMCCA(Baseline):
    """Graph-regularized dual multi-view CCA: directions that all views share, smooth on a graph.

    With K_m = X_m X_m' for the centered views and L the Laplacian of a common graph,

        maximize   tr(U' (sum_m (K_m + epsilon I)^-1 K_m - gamma L) U)     subject to   U'U = I_K

    k-means then clusters the rows of U. The method uses thin SVDs of the views and does not invert
    N x N matrices.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    gamma : float >= 0
        Weight of the graph term; larger values give smoother directions, and 0 is plain multi-view
        CCA.
    epsilon : float > 0
        Ridge term added to the kernels, relative to the mean squared singular value of each view.
    graph : None, view name, Layer or adjacency matrix
        The common graph, with similarities S. Its Laplacian is diag(A 1) - A, where A is the
        symmetrized affinity D^-1 S. A view name stands for S = X X' of that view with columns
        scaled to [0, 1], as in the RMGL paper. None gives plain multi-view CCA.
    scale : {"minmax", "standard", "unit", "none"}, or one per view
    views : column blocks of one table, optional
    n_init, random_state : as in `RMGL`

    Attributes
    ----------
    labels_, embedding_, view_names_, n_features_in_

    References
    ----------
    J. Chen, G. Wang and G. B. Giannakis, "Graph Multiview Canonical Correlation Analysis", IEEE
    Transactions on Signal Processing, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl.baselines import GDMCCA
    >>> rng = np.random.default_rng(0)
    >>> centers = np.repeat(np.eye(3), 20, axis=0)
    >>> noise = 0.1 * rng.normal(size=(2, 60, 4))
    >>> views = [centers @ rng.normal(size=(3, 4)) + noise[m] for m in range(2)]
    >>> np.bincount(GDMCCA(3, random_state=0).fit_predict(views)).tolist()
    [20, 20, 20]
    """

    _allowed = {
        **Baseline._allowed,
        "gamma": (number(least=0),),
        "epsilon": (number(above=0),),
        "graph": (NAME, LAYER, ARRAY, NOTHING),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 1.0,
        epsilon: float = 0.1,
        graph: Any = None,
        scale: Any = "minmax",
        views: Any = None,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.epsilon = epsilon
        self.graph = graph
        self.scale = scale
        self.views = views
        self.n_init = n_init
        self.random_state = random_state

    def _embed(self, X: Any, random_state: np.random.RandomState) -> Floats:
        views = self._check_views(X)
        matrices = views.scaled(self.scale).matrices
        with team_of(1):
            penalty = common_laplacian(self.graph, views) if self.gamma > 0 else None
            return common_directions(matrices, self.n_clusters, self.gamma, self.epsilon, penalty)


def common_directions(
    matrices: Sequence[Matrix],
    n_clusters: int,
    gamma: float,
    epsilon: float,
    penalty: Penalty | None,
) -> Floats:
    """Return the K leading eigenvectors of sum_m (K_m + e_m I)^-1 K_m - gamma L."""
    operator = negated_operator(matrices, gamma, epsilon, penalty)
    n = operator.shape[0]
    spectrum = (-len(matrices), gamma * penalty.bound if penalty is not None else 0.0)
    return smallest_beyond(Products(operator), np.empty((n, 0)), n_clusters, spectrum=spectrum)


def negated_operator(
    matrices: Sequence[Matrix], gamma: float, epsilon: float, penalty: Penalty | None
) -> LinearOperator:
    """Return the operator gamma L - sum_m (K_m + e_m I)^-1 K_m, where (K + eI)^-1 K = V diag(s^2 /
    (s^2 + e)) V'.
    """
    factors = np.hstack([shrunk_basis(X, epsilon) for X in matrices])
    n = factors.shape[0]

    def multiply(V: Floats) -> Floats:
        image: Floats = -(factors @ (factors.T @ V))
        return image if penalty is None else image + gamma * (penalty.laplacian @ V)

    return LinearOperator((n, n), matvec=multiply, matmat=multiply, dtype=np.float64)


def shrunk_basis(X: Matrix, epsilon: float) -> Floats:
    """Return V diag(s / sqrt(s^2 + e)) for the centered view, with e = epsilon mean(s^2)."""
    dense = as_dense(X)
    left, s = left_singular(dense - dense.mean(axis=0))
    kept = s > s.max(initial=0.0) * 1e-12
    left, s = left[:, kept], s[kept]
    ridge = epsilon * np.square(s).mean()
    basis: Floats = left * (s / np.sqrt(np.square(s) + ridge))
    return basis


def common_laplacian(graph: Any, views: Views) -> Penalty | None:
    """Return the Laplacian of a graph, which is a view name, a Layer or an adjacency matrix."""
    if graph is None:
        return None
    if isinstance(graph, str):
        if graph not in views.names:
            raise ValueError(f"graph={graph!r} is not a view; the views are {list(views.names)}")
        X = views.matrices[views.names.index(graph)]
        X = fit_scaler("minmax", X)(X)
        return affinity_laplacian(lambda V: X @ (X.T @ V), views.n_rows, graph)
    adjacency = check_adjacencies(
        Views.of({"graph": graph.adjacency if isinstance(graph, Layer) else graph})
    ).adjacencies[0]
    if adjacency.shape[0] != views.n_rows:
        raise ValueError(
            f"graph has {adjacency.shape[0]} nodes, but the views have {views.n_rows} "
            "rows; pass a graph with one node per row"
        )
    return affinity_laplacian(lambda V: adjacency @ V, views.n_rows, "graph")


@dataclass(frozen=True)
class Penalty:
    """A Laplacian as an operator, with an upper bound on its eigenvalues."""

    laplacian: LinearOperator
    bound: float


def affinity_laplacian(similarity: Callable[[Floats], Floats], n: int, name: str) -> Penalty:
    """Return diag(A 1) - A for A = (D^-1 S + S D^-1) / 2 and D = diag(S 1), from products with the
    similarity S.

    A node without similarities has a row of zeros.
    """
    degrees = similarity(np.ones(n))
    if degrees.min() < 0:
        raise ValueError(
            f"graph={name!r}: the similarities of row {int(np.argmin(degrees))} have a "
            "negative sum, but the sum must be >= 0; use another graph"
        )
    inverse = np.zeros(n)
    inverse[degrees > 0] = 1 / degrees[degrees > 0]

    def affinity(V: Floats) -> Floats:
        scale = inverse[:, None] if V.ndim == 2 else inverse
        return 0.5 * (scale * similarity(V) + similarity(scale * V))

    row_sums = affinity(np.ones(n))

    def multiply(V: Floats) -> Floats:
        return (row_sums[:, None] if V.ndim == 2 else row_sums) * V - affinity(V)

    laplacian = LinearOperator((n, n), matvec=multiply, matmat=multiply, dtype=np.float64)
    return Penalty(laplacian, 2 * float(row_sums.max()))


def left_singular(block: Floats) -> tuple[Floats, Floats]:
    """Return the left singular vectors and the singular values of a block of columns."""
    try:
        left, strength, _ = linalg.svd(block, full_matrices=False)
    # the faster LAPACK driver does not always converge; this one does
    except linalg.LinAlgError:
        left, strength, _ = linalg.svd(block, full_matrices=False, lapack_driver="gesvd")
    return left, strength
