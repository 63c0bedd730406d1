"""Learn one layer from one view."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rmgl.edges import Vector, find_candidates, resolve
from rmgl.edges.candidates import graph_in_order
from rmgl.layer.certified import check_magnitudes, find_solver, solve_certified
from rmgl.layer.result import Layer, Origin
from rmgl.running.progress import warn_caller
from rmgl.running.threads import number_of_workers, team_of
from rmgl.views.canonical import canonical_order
from rmgl.views.check_view import is_collection_of_views, positive_per_view
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

    Solves, over edge weights w_ij >= 0 with degrees d_i and squared distances z_ij = ||x_i -
    x_j||^2,

        minimize   z'w + alpha (||d||^2 + 2 ||w||^2)     subject to   2 sum(w) = N

    which minimizes tr(X'LX) + alpha ||L||_F^2 over graph Laplacians L with tr(L) = N. A larger
    alpha gives more edges. The solution does not change if you multiply the squared distances and
    alpha by the same number.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (N, D)
        One view. Individual cells may be NaN; distances are then estimated from the columns that
        two rows share (`rmgl.edges.gaps`).
    alpha : float > 0
        Weight of the squared Frobenius norm; larger values give more edges.
    scale : {"auto", "minmax", "root", "hellinger", "unit", "standard", "none"}
        Scaling of X, as in `RMGL`.
    solver : {"newton", "dual-ascent"}
        "newton" needs few passes over the pairs. "dual-ascent" is the paper's algorithm and needs
        many passes.
    tol : float
        KKT residual at which the solver stops; smaller values take more iterations.
    max_iter : int, optional
        Maximum number of iterations; by default 200 for Newton and 100,000 for dual ascent.
    start : array of shape (N,), optional
        Dual vector to start from, such as the `potentials` of a layer learned from similar data.
    candidates : "auto", "all", int, "approximate" or sparse graph
        The pairs that may carry an edge. With a number, the search starts from that many nearest
        neighbors of each row and adds pairs until no other pair can carry weight. The solution is
        then exact over all pairs (`layer.exact`). "auto" uses all pairs if this is faster.
        "approximate" neighbors (pynndescent) and your own graph (`KNeighborsTransformer`) give no
        such guarantee: `layer.exact` is False, and `layer.recall` estimates the share of true
        neighbors among the candidates on a sample of rows.
    n_jobs : int, optional
        Number of threads, at most the number of cores; -1 uses all cores. The result does not
        depend on it.
    name : str
        Name of the layer.

    Returns
    -------
    Layer
        The graph with its certificate: `kkt_residual`, `gap` and `status`.

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for
    Clustering", EUSIPCO 2021, problem (6) with one view and beta = 0.

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
        raise ValueError(
            "learn_layer takes one view, a 2-D array, but a collection of views was given: "
            "use RMGL(...).fit(views)"
        )
    find_solver(solver)
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"tol={tol!r} must be a number >= 0")
    if not (max_iter is None or (isinstance(max_iter, Integral) and max_iter >= 1)):
        raise ValueError(f"max_iter={max_iter!r} must be a whole number >= 1, or None")
    views = Views.of({name: X})
    order = canonical_order(views).order
    views = views.in_order(order).scaled(scale)
    if views.graphs:
        raise ValueError(
            "learn_layer takes rows or distances, but a network was given: use "
            "RMGL(...).fit([Network(graph, learn=True)])"
        )
    if start is not None and (np.shape(start) != (views.n_rows,) or not np.isfinite(start).all()):
        raise ValueError(
            f"start must contain {views.n_rows} finite numbers, one for each row of the view: use "
            "the potentials of a layer with the same number of rows"
        )
    alpha = float(positive_per_view(alpha, views.names, "alpha")[0])
    with team_of(number_of_workers(n_jobs)) as team:
        wanted = resolve(views.matrices[0], alpha, graph_in_order(name, candidates, order))
        pairs = find_candidates(name, views[0].points(), alpha, wanted, executor=team)
        check_magnitudes(name, alpha, pairs.edges.largest(pairs.distances))
        first = None if start is None else np.asarray(start)[order]
        _, layer = solve_certified(
            Origin(name), pairs, alpha, solver=solver, tol=tol, max_iter=max_iter, start=first
        )
    if layer.status != "converged":
        warn_caller(layer.message, ConvergenceWarning)
    return layer.in_order(np.argsort(order))
