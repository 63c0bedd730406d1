"""`RMGL`: the scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from rmgl.alternate import Outcome, ViewProblem, alternate
from rmgl.base import ViewsClusterer
from rmgl.clustering import cluster_rows
from rmgl.defaults import default_alpha, default_beta
from rmgl.edges import AllPairs, resolve, state_candidates
from rmgl.edges.neighbours import require_list_memory
from rmgl.layer import SOLVERS
from rmgl.layer.learn import check_magnitudes
from rmgl.parallel import Check, Team, team_of
from rmgl.progress import Stopwatch, half_step_progress
from rmgl.views import Views, per_view, positive_per_view

EIGEN_TOL = 1e-6


class RMGL(ViewsClusterer):
    """Rank-constrained multi-layer graph learning: one graph layer per view, one common embedding, clusters.

    From views X_m (N rows each, the same N entities) with S_m = X_m X_m', solves

        minimise   sum_m  tr(L_m S_m) + alpha_m ||L_m||_F^2 + beta_m tr(Q' L_m Q)
        subject to L_m a graph Laplacian, tr(L_m) = N, Q'Q = I_K

    by exact minimisation over the layers and over Q in turn, then runs k-means on the rows of Q. A large beta makes
    every layer fall into K components. Multiplying squared distances, alpha and beta by one number changes nothing.

    Parameters
    ----------
    n_clusters : int
        K, the number of clusters and of columns of the embedding.
    alpha : "auto", float > 0, or one per view (list, or dict by view name)
        Weight of ||L_m||_F^2: a larger one gives more edges. "auto" takes, for each view, the value at which a node
        with typical distances keeps about 20 neighbours.
    beta : "auto", float >= 0, or one per view (list, or dict by view name)
        Weight of view m in the embedding, and of the embedding in layer m. "auto" is the same for every view
        and couples the layers lightly.
    scale : {"minmax", "standard", "unit", "none"}, or one per view (list, or dict by view name)
        What is done to each view first: columns to [0, 1]; columns to variance 1; rows to length one (word counts,
        tf-idf); nothing.
    views : list or dict of column blocks, optional
        For *one* 2-D input: block sizes, slices, or lists of column names or positions.
    solver : {"newton", "dual-ascent"}
        How layers are solved; the answer is the same. "dual-ascent" is the paper's iteration.
    candidates : "auto", "all", int, "approximate", sparse graph, or one per view (list, or dict by view name)
        The pairs that may carry an edge. A number asks for lists of that many nearest neighbours, which are widened until they
        prove that no other pair can carry weight, so the answer is the same (`layer.exact`); "auto" takes all pairs where they are
        cheaper. "approximate" neighbours (pynndescent) and a graph of your own (`KNeighborsTransformer`) prove nothing: `layer.exact` is
        False, and `layer.recall` says how many true neighbours of a sample of rows they hold.
    tol : float
        Stop when a round lowers the objective by at most this share and turns the subspace by at most sqrt(tol).
    max_iter : int
        Most rounds (one round: all layers, then the embedding).
    n_init : int
        Starts of k-means.
    n_jobs : int, optional
        Threads that share views, and the rows of long loops; -1 for all cores. The result does not depend on it.
    random_state : int, RandomState or None
        Seed of k-means and of the first guess of the eigen-solver.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    labels_ : array of shape (N,)
    embedding_ : array of shape (N, K)
        Q: orthonormal columns, the smallest eigenvalue first.
    eigenvalues_ : array of shape (K,)
        Smallest eigenvalues of sum_m beta_m L_m.
    layers_ : list of Layer
        One per view, each with its adjacency, Laplacian and certificate.
    alpha_, beta_ : arrays of shape (M,)
        The values used.
    history_ : list of dict
        One row for the start and one per half step: objective, its terms smoothness, ridge and coupling, residuals, seconds.
    seconds_ : dict
        Seconds spent on "neighbours" (parameters, distances and candidate edges), "layers", "embedding" and "clustering".
    converged_, n_iter_, view_names_, n_features_in_

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for Clustering",
    EUSIPCO 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> centres = np.repeat([0.0, 5.0, 10.0], 20)[:, None]
    >>> views = {"left": centres + rng.normal(size=(60, 2)), "right": -centres + rng.normal(size=(60, 3))}
    >>> model = RMGL(n_clusters=3, random_state=0).fit(views)
    >>> np.bincount(model.labels_).tolist()
    [20, 20, 20]
    >>> [layer.name for layer in model.layers_]
    ['left', 'right']
    """

    _parameter_constraints = {
        **ViewsClusterer._parameter_constraints,
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), "array-like", dict],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like", dict],
        "solver": [StrOptions(set(SOLVERS))],
        "candidates": [
            StrOptions({"auto", "all", "approximate"}),
            Interval(Integral, 1, None, closed="left"),
            list,
            tuple,
            dict,
            "sparse matrix",
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        alpha="auto",
        beta="auto",
        scale="minmax",
        views=None,
        solver="newton",
        candidates="auto",
        tol=1e-6,
        max_iter=100,
        n_init=10,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.views = views
        self.solver = solver
        self.candidates = candidates
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> RMGL:
        """Learn layers, embedding and labels.

        Parameters
        ----------
        X : list, tuple or dict of 2-D inputs with the same rows, or one 2-D input
            Arrays, DataFrames or scipy sparse matrices. They are not modified.
        y : ignored
        """
        self._validate_params()
        views = self._check_views(X).scaled(self.scale)
        random_state = check_random_state(self.random_state)
        n_threads, clock = effective_n_jobs(self.n_jobs), Stopwatch()
        with team_of(n_threads) as team:
            with clock("neighbours"):
                problems = self._state_problems(views, team, n_threads)
            with half_step_progress(self.max_iter, self.verbose > 0) as progress:
                outcome = alternate(
                    problems,
                    self.n_clusters,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    team=team,
                    random_state=random_state,
                    clock=clock,
                    progress=progress,
                )
        self._keep(problems, outcome)
        with clock("clustering"):
            self.labels_ = cluster_rows(self.embedding_, self.n_clusters, n_init=self.n_init, random_state=random_state)
        self.seconds_ = clock.seconds
        self._warn(outcome)
        return self

    def _state_problems(self, views: Views, team: Team, n_threads: int) -> list[ViewProblem]:
        """Candidate edges, distances, alpha and beta of every view."""
        names = views.names
        alpha = None if _is_auto(self.alpha) else positive_per_view(self.alpha, names, "alpha")
        beta = None if _is_auto(self.beta) else positive_per_view(self.beta, names, "beta", zero_allowed=True)
        if beta is not None and not beta.any():
            raise ValueError("beta is 0 for every view, so nothing defines the embedding: give at least one view a positive beta")
        if alpha is None:
            alpha = np.array(team(lambda X, check: default_alpha(X), views.matrices))
        if beta is None:
            beta = np.full(len(names), default_beta(alpha, views.n_rows, self.n_clusters))
        shared = AllPairs(views.n_rows, team.rows)

        def state(item: tuple, check: Check) -> ViewProblem:
            name, X, a, b, wanted = item
            pairs = state_candidates(name, X, a, wanted, shared=shared, rows=team.rows, check=check)
            check_magnitudes(name, a, pairs.distances, b)
            return ViewProblem(name, pairs, a, b)

        asked = per_view(self.candidates, names, "candidates")
        wanted = [resolve(X, a, c) for X, a, c in zip(views.matrices, alpha, asked, strict=True)]
        n_dense = sum(isinstance(c, str) and c == "all" for c in wanted)
        if n_dense:
            shared.require_memory(n_dense + min(n_threads, n_dense) + 2, f"{n_dense} view(s)")
        lengths = [c for c in wanted if isinstance(c, int)]
        if lengths:
            require_list_memory(views.n_rows, sum(lengths), f"{len(lengths)} view(s)")
        return team(state, list(zip(names, views.matrices, alpha.tolist(), beta.tolist(), wanted, strict=True)))

    def _keep(self, problems: list[ViewProblem], outcome: Outcome) -> None:
        self._keep_embedding(outcome.state.embedding.vectors)
        self.eigenvalues_ = outcome.state.embedding.values
        self.layers_ = outcome.state.layers
        self.alpha_ = np.array([problem.alpha for problem in problems])
        self.beta_ = np.array([problem.beta for problem in problems])
        self.history_ = outcome.history
        self.converged_ = outcome.converged and outcome.state.embedding.residual <= EIGEN_TOL
        self.n_iter_ = outcome.n_iter

    def _warn(self, outcome: Outcome) -> None:
        if not outcome.converged:
            warnings.warn(
                f"RMGL did not converge in max_iter={self.max_iter} rounds: "
                f"raise max_iter, or accept it with a larger tol (now {self.tol:g})",
                ConvergenceWarning,
                stacklevel=3,
            )
        for layer in self.layers_:
            if layer.status != "converged":
                warnings.warn(layer.message, ConvergenceWarning, stacklevel=3)
            if not layer.exact:
                warnings.warn(
                    f"layer {layer.name!r} is exact among its {layer.candidates} candidates only; "
                    f"they hold {layer.recall:.1%} of the nearest neighbours of a sample of rows",
                    UserWarning,
                    stacklevel=3,
                )
        if outcome.state.embedding.residual > EIGEN_TOL:
            warnings.warn(
                f"the eigenvectors of the embedding have a relative residual of {outcome.state.embedding.residual:.1e}: "
                "their eigenvalues lie too close together; use a smaller n_clusters or a larger alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        n_components = outcome.state.embedding.n_components
        if n_components > self.n_clusters:
            warnings.warn(
                f"the layers together fall into {n_components} components, more than n_clusters={self.n_clusters}: "
                "isolated nodes and small fragments share a label; raise alpha to connect them",
                UserWarning,
                stacklevel=3,
            )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
