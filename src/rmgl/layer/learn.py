"""Learn one layer from one view."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rmgl.edges import Vector, find_candidates, resolve
from rmgl.layer.certified import check_magnitudes, find_solver, solve_certified
from rmgl.layer.result import Layer, Origin
from rmgl.running.threads import number_of_workers, team_of
from rmgl.views.check_view import is_collection_of_views
from rmgl.views.per_view import positive_per_view
from rmgl.views.views import Views


def learn_layer(
    X: Any,
    alpha: float,
    *,
    scale: str = "none",
    solver: str = "newton",
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Vector | None = None,
    candidates: Any = "auto",
    n_jobs: int | None = None,
    name: str = "layer",
) -> Layer:
    """Learn a sparse graph on which the rows of X vary smoothly.

    Solves, over edge weights w_ij >= 0 with degrees d_i and squared distances z_ij = ||x_i - x_j||^2,

        minimize   z'w + alpha (||d||^2 + 2 ||w||^2)     subject to   2 sum(w) = N

    that is tr(X'LX) + alpha ||L||_F^2 over graph Laplacians L with tr(L) = N. A small alpha gives few edges, a large
    one gives many. Multiplying the distances and alpha by the same number changes nothing.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (N, D)
        One view.
    alpha : float > 0
        Weight of the squared Frobenius norm.
    scale : {"minmax", "standard", "unit", "none"}
        What is done to X first.
    solver : {"newton", "dual-ascent"}
        "newton" takes a handful of passes over the pairs; "dual-ascent" is the iteration printed in the paper.
    tol : float
        The KKT residual to reach.
    max_iter : int, optional
        Most iterations; by default 200 for Newton and 100 000 for dual ascent.
    start : array of shape (N,), optional
        Dual vector to start from: `potentials` of a layer learned from similar data.
    candidates : "auto", "all", int, "approximate" or sparse graph
        The pairs that may carry an edge. A number asks for lists of that many nearest neighbors, which are widened until they
        prove that no other pair can carry weight, so the answer is the same (`layer.exact`); "auto" takes all pairs where they are
        cheaper. "approximate" neighbors (pynndescent) and a graph of your own (`KNeighborsTransformer`) prove nothing: `layer.exact` is
        False, and `layer.recall` says how many true neighbors of a sample of rows they hold.
    n_jobs : int, optional
        Threads that share the passes over the pairs; -1 for all cores. No more threads are used than there are cores. The result does
        not depend on it.
    name : str
        The name the layer carries.

    Returns
    -------
    Layer
        The graph with its certificate: `kkt_residual`, `gap` and `status`.

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for Clustering",
    EUSIPCO 2021, problem (6) with one view and beta = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> layer = learn_layer(X, alpha=1.0)
    >>> layer.adjacency.toarray().round(3)
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    if is_collection_of_views(X):
        raise ValueError("learn_layer takes one 2-D input; several views are for RMGL(...).fit(views)")
    find_solver(solver)
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"tol={tol!r} must be a number >= 0")
    if not (max_iter is None or (isinstance(max_iter, Integral) and max_iter >= 1)):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number >= 1, or None")
    views = Views.of({name: X}).scaled(scale)
    if start is not None and (np.shape(start) != (views.n_rows,) or not np.isfinite(start).all()):
        raise ValueError(f"start must hold {views.n_rows} finite numbers, one for each row of the view")
    alpha = float(positive_per_view(alpha, views.names, "alpha")[0])
    with team_of(number_of_workers(n_jobs)) as team:
        wanted = resolve(views.matrices[0], alpha, candidates)
        pairs = find_candidates(name, views.matrices[0], alpha, wanted, in_parts=team.in_parts)
        check_magnitudes(name, alpha, pairs.distances)
        _, layer = solve_certified(Origin(name), pairs, alpha, solver=solver, tol=tol, max_iter=max_iter, start=start)
    if layer.status != "converged":
        warnings.warn(layer.message, ConvergenceWarning, stacklevel=2)
    return layer
