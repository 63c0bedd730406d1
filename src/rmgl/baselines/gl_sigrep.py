"""GL-SigRep: learn a graph and smooth the data on it (Dong et al., 2016).

    minimize    ||X - Y||_F^2 + alpha tr(Y'LY) + beta ||L||_F^2
    subject to  L a graph Laplacian, tr(L) = N

over L and Y in turn: L solves the layer problem with costs alpha ||y_i - y_j||^2 and ridge beta,
and Y = (I + alpha L)^-1 X.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning

from rmgl.baselines.baseline import Baseline, spectral_rows
from rmgl.edges import AllPairs, Vector
from rmgl.estimators.base import TRUTH_VALUE, number, one_of, whole_number
from rmgl.layer import Layer, LayerProblem, Origin, solve_layer
from rmgl.layer.certified import check_magnitudes
from rmgl.layer.problem import squared_norm
from rmgl.matrix import Floats, Matrix, as_dense, side_by_side
from rmgl.model.problems import default_alpha
from rmgl.running.progress import warn_caller
from rmgl.running.threads import team_of
from rmgl.views.check_view import positive_per_view
from rmgl.views.views import Views

# maximum number of nodes for which a dense Cholesky factorization computes (I + alpha L)^-1 X
CHOLESKY_NODES = 4000
DEFAULT_ALPHA = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class SigRepLayer(Layer):
    """A GL-SigRep layer with the smoothed data Y and the objective after every half step.

    Examples
    --------
    >>> from rmgl.baselines import learn_gl_sigrep
    >>> layer = learn_gl_sigrep([[0.0], [1.0], [10.0], [11.0]], alpha=0.1, beta=0.1)
    >>> layer.smoothed.shape, layer.history[-1] <= layer.history[0]
    ((4, 1), True)
    """

    beta: float
    """Weight of ||L||_F^2. `alpha` is the weight of smoothness."""
    smoothed: Floats = field(repr=False)
    history: list[float] = field(repr=False)
    n_rounds: int


def learn_gl_sigrep(
    X: Any,
    alpha: float = DEFAULT_ALPHA,
    beta: float | str = "auto",
    *,
    scale: str = "none",
    tol: float = 1e-4,
    max_iter: int = 50,
    threshold: float = 1e-4,
    name: str = "layer",
) -> SigRepLayer:
    """Learn a graph and smoothed data from one view.

    Solves, over graph Laplacians L with tr(L) = N and matrices Y with the same shape as X,

        minimize   ||X - Y||_F^2 + alpha tr(Y'LY) + beta ||L||_F^2

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (N, D)
    alpha : float > 0
        Weight of the smoothness term; larger values smooth Y more.
    beta : "auto" or float > 0
        Weight of ||L||_F^2; larger values give more edges. "auto" gives about 20 neighbors per
        node.
    scale : {"minmax", "standard", "unit", "none"}
    tol : float
        Stop when the relative change in the objective over a round is at most this value.
    max_iter : int
        Maximum number of rounds.
    threshold : float
        Remove edges with smaller weights at the end, as the authors' code does. The mean degree is
        1.
    name : str

    Returns
    -------
    SigRepLayer
        `kkt_residual`, `gap` and `status` describe the last layer problem, before edges are
        removed.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl.baselines import learn_gl_sigrep
    >>> layer = learn_gl_sigrep(np.array([[0.0], [1.0], [10.0], [11.0]]), alpha=0.1, beta=0.1)
    >>> layer.n_components
    2
    """
    if not (isinstance(max_iter, Integral) and max_iter >= 1):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number >= 1")
    if not (isinstance(tol, Real) and tol >= 0 and isinstance(threshold, Real) and threshold >= 0):
        raise ValueError(f"tol={tol!r} and threshold={threshold!r} must be numbers >= 0")
    views = Views.of({name: X}).scaled(scale)
    alpha = float(positive_per_view(alpha, views.names, "alpha")[0])
    rows = views.matrices[0]
    edges = AllPairs(views.n_rows)
    edges.require_memory(3, f"layer {name!r}")
    distances = edges.measure(rows)
    if isinstance(beta, str) and beta == "auto":
        ridge = alpha * default_alpha(rows)
    else:
        ridge = float(positive_per_view(beta, views.names, "beta")[0])
    check_magnitudes(name, ridge, alpha * float(distances.max()))
    return _alternate(name, rows, edges, distances, alpha, ridge, tol, max_iter, threshold)


def _alternate(
    name: str,
    X: Matrix,
    edges: AllPairs,
    distances: Vector,
    alpha: float,
    beta: float,
    tol: float,
    max_iter: int,
    threshold: float,
) -> SigRepLayer:
    """Minimize over L and over Y in turn."""
    X = as_dense(X)
    history: list[float] = []
    Y, fit, potentials = X, 0.0, None
    for _ in range(max_iter):
        layer = solve_layer(
            Origin(name), LayerProblem(edges, alpha * distances, beta), start=potentials
        )
        history.append(fit + layer.objective)
        potentials = layer.potentials
        Y = smooth(layer, alpha, X)
        distances = edges.measure(Y)
        fit = float(np.square(X - Y).sum())
        smoothness = alpha * edges.inner(distances, layer.adjacency)
        history.append(fit + smoothness + beta * squared_norm(layer.adjacency))
        if len(history) > 2 and history[-3] - history[-1] <= tol * abs(history[-3]):
            break
    else:
        warn_caller(
            f"GL-SigRep did not converge in max_iter={max_iter} rounds: raise max_iter or tol",
            ConvergenceWarning,
        )
    if layer.status != "converged":
        warn_caller(layer.message, ConvergenceWarning)
    adjacency = layer.adjacency.copy()
    adjacency.data[adjacency.data < threshold] = 0.0
    adjacency.eliminate_zeros()
    thinned = replace(layer, adjacency=adjacency, alpha=alpha)
    return SigRepLayer(
        **vars(thinned), beta=beta, smoothed=Y, history=history, n_rounds=len(history) // 2
    )


def smooth(layer: Layer, alpha: float, X: Floats) -> Floats:
    """Return Y = (I + alpha L)^-1 X."""
    if layer.n_nodes <= CHOLESKY_NODES:
        matrix = alpha * layer.laplacian.toarray()
        matrix[np.diag_indices_from(matrix)] += 1.0
        smoothed: Floats = linalg.solve(matrix, X, assume_a="pos")
        return smoothed
    smoothed = splu(
        sparse.csc_array(sparse.eye_array(layer.n_nodes) + alpha * layer.laplacian)
    ).solve(X)
    return smoothed


class GLSigRep(Baseline):
    """Spectral clustering of the graph that GL-SigRep learns from one view or concatenated views.

        minimize    ||X - Y||_F^2 + alpha tr(Y'LY) + beta ||L||_F^2
        subject to  L a graph Laplacian, tr(L) = N

    k-means then clusters the rows of the eigenvectors of the K smallest eigenvalues of the
    normalized Laplacian, scaled to unit length.

    Parameters
    ----------
    n_clusters : int
    alpha : float > 0
        Weight of the smoothness term; larger values smooth the data more.
    beta : "auto" or float > 0
        Weight of ||L||_F^2; larger values give more edges. "auto" gives about 20 neighbors per
        node.
    scale : {"minmax", "standard", "unit", "none"}, or one per view
    views : column blocks of one table, optional
    concatenate : bool
        Whether to scale and concatenate several views, as GL-SigRep(C) does. If False, only a
        single view is accepted.
    tol, max_iter : as in `learn_gl_sigrep`
    n_init, random_state : as in `RMGL`

    Attributes
    ----------
    layer_ : SigRepLayer
    labels_, embedding_, view_names_, n_features_in_, n_iter_

    References
    ----------
    X. Dong, D. Thanou, P. Frossard and P. Vandergheynst, "Learning Laplacian Matrix in Smooth Graph
    Signal Representations", IEEE Transactions on Signal Processing, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl.baselines import GLSigRep
    >>> X = np.repeat([0.0, 5.0, 10.0], 20)[:, None] + np.random.default_rng(0).normal(size=(60, 2))
    >>> np.bincount(GLSigRep(3, random_state=0).fit_predict(X)).tolist()
    [20, 20, 20]
    """

    _allowed = {
        **Baseline._allowed,
        "alpha": (number(above=0),),
        "beta": (one_of("auto"), number(above=0)),
        "concatenate": (TRUTH_VALUE,),
        "tol": (number(least=0),),
        "max_iter": (whole_number(least=1),),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = DEFAULT_ALPHA,
        beta: float | str = "auto",
        scale: Any = "minmax",
        views: Any = None,
        concatenate: bool = False,
        tol: float = 1e-4,
        max_iter: int = 50,
        n_init: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.views = views
        self.concatenate = concatenate
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    def _embed(self, X: Any, random_state: np.random.RandomState) -> Floats:
        views = self._check_views(X).scaled(self.scale)
        if len(views.names) > 1 and not self.concatenate:
            raise ValueError(
                f"GLSigRep learns one graph, but {len(views.names)} views were given; "
                "pass one view, or set concatenate=True"
            )
        with team_of(1):
            self.layer_ = learn_gl_sigrep(
                side_by_side(views.matrices),
                self.alpha,
                self.beta,
                tol=self.tol,
                max_iter=self.max_iter,
                name=" + ".join(views.names),
            )
            self.n_iter_ = self.layer_.n_rounds
            return spectral_rows(self.layer_.adjacency, self.n_clusters)
