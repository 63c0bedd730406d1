"""`RMGL`: the scikit-learn estimator."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import clone, get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from rmgl.automatic.choose import Choice, choose_problems
from rmgl.automatic.policy import Policy
from rmgl.distributed.fitting import Prepared, default_client, prepared, wants_cluster
from rmgl.distributed.predicting import by_chunk, is_lazy
from rmgl.distributed.views import StoredViews
from rmgl.edges.local_scaling import LocalScaling
from rmgl.edges.space import whole_space
from rmgl.embedding.eigenvectors import components, unit_rows, weighted_sum
from rmgl.embedding.fragments import label_rows, place_fragments
from rmgl.embedding.known_labels import label_with_known, matched
from rmgl.embedding.labels import as_met
from rmgl.estimators import defaults
from rmgl.estimators.base import ViewsClusterer
from rmgl.estimators.parameters import BY_NAME, LIST, NOTHING, SPARSE, TRUTH_VALUE, VERBOSITY, Kind, number, one_of, whole_number
from rmgl.layer import SOLVERS, Layer
from rmgl.model.alternate import Outcome, alternate, common_graph
from rmgl.model.given import candidates_in_order, given_graphs, given_problems, is_auto
from rmgl.model.known import AGREEING, check_known
from rmgl.model.run import Run
from rmgl.model.separate import separate, separated
from rmgl.model.view_problem import ViewProblem
from rmgl.model.without_fragments import without_fragments
from rmgl.placing.new_views import check_placeable, new_views, scaled_like
from rmgl.placing.placement import Placed, Placement
from rmgl.results.evidence import with_evidence
from rmgl.results.explain import Explanation, check_feature_names, check_same_entities, explain_clusters, with_all_entities, without_squares
from rmgl.results.hierarchy import Level, levels_of
from rmgl.results.outliers import mean_lengths, outlier_scores
from rmgl.results.report import Report, describe_views, make_report, unconnected
from rmgl.results.weak_points import unconnected_rows
from rmgl.running.progress import Stopwatch, stages
from rmgl.running.threads import Team, number_of_workers, team_of
from rmgl.running.warn import warn_caller
from rmgl.storage.graphs import layers_to_igraph, layers_to_networkx, node_attributes
from rmgl.storage.saved_models import read_model, write_model
from rmgl.views.canonical import Canonical, alike_among, canonical_order
from rmgl.views.check_view import is_collection_of_views, is_square_view
from rmgl.views.scaling import METRICS, Scaler
from rmgl.views.views import Views

AUTO = one_of("auto")
UNESSENTIAL = ("n_jobs", "verbose", "max_seconds")
"""Parameters that do not change the result of a finished fit."""
REPORTING = threading.Lock()
"""Held while a report is made: several threads may ask for that of one model."""


class RMGL(ViewsClusterer):
    """Rank-constrained multi-layer graph learning: one graph layer per view, one common embedding, clusters.

    From views X_m (N rows each, the same N entities) with S_m = X_m X_m', solves

        minimize   sum_m  tr(L_m S_m) + alpha_m ||L_m||_F^2 + beta_m tr(Q' L_m Q)
        subject to L_m a graph Laplacian, tr(L_m) = N, Q'Q = I_K

    by exact minimization over the layers and over Q in turn, then runs k-means on the rows of Q. A large beta makes
    every layer fall into K components. Multiplying squared distances, alpha and beta by one number changes nothing.

    With alpha and beta left at "auto", all parameters are chosen from the data: squared distances are taken in units of the distances to
    the 7th neighbors, a *consensus* layer is learned from all views side by side, views are weighted by how well their layers agree with
    its embedding, and the embedding guides the layers; `print(model.report_)` explains what was chosen and why. The layers still solve
    the problem above at the reported alpha_ and beta_, with z_ij = max(|x_i - x_j|^2 / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2 in place
    of squared distances; s and f are in `local_scaling_`, the rows g in `guide_` (and costs of the consensus times `Layer.consensus_share`
    are added where each view separates only some of the clusters). The graph of nearest neighbors of all views side by side is one more
    layer, which is given and not learned. With numbers for alpha and beta, the model is that of the paper.

    Parameters
    ----------
    n_clusters : int or "auto"
        K, the number of clusters and of columns of the embedding. "auto" takes the number whose clusters are set apart best in the common
        graph (modularity) and are found again on four fifths of the entities (`number_` holds the evidence); it needs alpha and beta at
        "auto".
    alpha : "auto", float > 0, or one per view (list, or dict by view name)
        Weight of ||L_m||_F^2: a larger one gives more edges. "auto" solves, for each layer, for `n_neighbors` edges a node on average
        (with a number for beta: what gives a node with typical distances that many).
    beta : "auto", float >= 0, or one per view (list, or dict by view name)
        Weight of view m in the embedding, and of the embedding in layer m. "auto" weights each view by its agreement with the others,
        and couples the layers weakly (with a number for alpha: the same weight for all views).
    scale : "auto", {"minmax", "root", "hellinger", "unit", "standard", "none"}, or one per view (list, or dict by view name)
        How each view is scaled first: columns to [0, 1]; columns to [0, 1] after square roots (histograms); square roots, then rows to
        length one (counts); rows to length one (tf-idf); columns to variance 1; not at all. "auto" chooses among the first four by
        signs, zeros and skewness.
    metric : {"euclidean", "cosine", "correlation", "hellinger", "hamming", "jaccard"}, or one per view (list, or dict by view name)
        The distances between the rows of each view. All but "jaccard" are Euclidean after a transformation of the rows, which takes the
        place of scaling: rows of length one; of mean zero and length one; square roots, then length one; indicators of the values of
        every column. "jaccard" is for zeros and ones, and takes the distances of all pairs; where these do not fit into memory, those
        of the 100 nearest rows of each. For any other distances there is `rmgl.Precomputed`.
    n_neighbors : int
        Mean number of edges per node, where alpha is "auto". More edges give smoother layers, fewer show finer structure.
    components : bool
        Raise beta until every layer has exactly K components; the labels are then the components.
    min_cluster_size : "auto" or float >= 0
        A cluster with fewer members that is connected to others is a fragment: its members take no part in the embedding and join the
        clusters of their neighbors (`fragments_`). "auto" takes the size from the `policy` where alpha and beta are chosen from the
        data, and is 0 otherwise: no cluster is a fragment.
    align : {"outer", "inner"}, optional
        For DataFrames whose row labels differ: align their rows by label. "outer" keeps every entity of any view (it is missing from the
        others), "inner" those of all views. `index_` holds the labels in the order of `labels_`.
    missing : {"pairwise", "error"}
        What is done about single cells that are NaN. "pairwise" takes the distance of two rows from the columns that both have, and scales
        it up to all columns (`rmgl.edges.gaps` has the formula); "error" refuses them. A row of NaN is no such case: its entity is missing
        from the view.
    views : list or dict of column blocks, optional
        For *one* 2-D input: block sizes, slices, or lists of column names or positions.
    solver : {"newton", "dual-ascent"}
        The solver of the layers; both give the same layers. "dual-ascent" is the iteration of the paper.
    candidates : "auto", "all", int, "approximate", sparse graph, or one per view (list, or dict by view name)
        The pairs that may carry an edge. A number asks for lists of that many nearest neighbors, which are widened until they
        prove that no other pair can carry weight, so the answer is the same (`layer.exact`); "auto" takes all pairs where they are
        cheaper. "approximate" neighbors (pynndescent) and a graph of your own (`KNeighborsTransformer`) prove nothing: `layer.exact` is
        False, and `layer.recall` says how many true neighbors of a sample of rows they hold.
    policy : Policy, optional
        The numbers and rules by which what is left at "auto" is chosen (`rmgl.Policy`); by default those that `docs/defaults.md` explains.
    tol : float
        Stop when a round lowers the objective by at most this share and turns the subspace by at most sqrt(tol).
    max_iter : int
        Most rounds (one round: all layers, then the embedding).
    max_seconds : float, optional
        Time limit in seconds; fit then returns the best result so far, with `converged_` False and a ConvergenceWarning. The layers of
        all views are learned and certified in any case, which may take longer than the limit.
    n_init : int
        Starts of k-means.
    n_jobs : int, optional
        Threads that share views, and the rows of long loops; -1 for all cores. No more threads are used than there are cores. The result
        does not depend on it.
    random_state : int, RandomState or None
        Seed of k-means, and of the samples that second answers and the number of clusters are taken from.
    verbose : int
        1 shows a progress bar on standard error: the stage, the time spent and an estimate of the time left.

    Attributes
    ----------
    labels_ : array of shape (N,)
    embedding_ : array of shape (N, K)
        Q: orthonormal columns (without the rows in `fragments_`), the smallest eigenvalue first.
    eigenvalues_ : array of shape (K,)
        Smallest eigenvalues of sum_m beta_m L_m.
    layers_ : list of Layer
        One per view, each with its adjacency, Laplacian and certificate. With automatic choices also the one named "consensus", if there
        are several views, and the graph of nearest neighbors of all views side by side, named "neighbors", which is given and not
        learned (not with `components`, nor where entities have too few views in common). The layer of a view is learned on the entities
        that are observed in it (tr(L_m) is their number); the others have no edges there. With automatic choices, rows of zeros are
        treated as missing.
    alpha_, beta_ : arrays
        The values used, one per layer.
    view_weights_ : array of shape (M,)
        How much each view counts; they sum to one.
    view_roughness_ : array of shape (M,) or None
        Disagreement between the layer of each view and the common embedding: 0 if neighbors have the same position, 1 if they are
        unrelated; NaN if no edge of the layer can show it. None unless the weights were chosen from the data.
    local_scaling_ : list of LocalScaling or None
        The scales s and floors f of the nodes, for each layer; None where distances are taken as they are.
    guide_ : array of shape (N, K) or None
        Rows whose squared distances are part of all costs.
    fragments_ : array
        Indices of the entities that took no part in the embedding; their rows in it are weighted means of those of their neighbors.
    placed_ : array
        Indices of the entities that took no part at all: where each view separates only some of the clusters, those that are missing from
        a view are placed afterwards, as new rows are. They have no edges in `layers_`, and an outlier score of 0.
    scale_ : list of (name, reason)
        What was done to each view.
    index_ : array of shape (N,) or None
        The labels of the rows, where the views are DataFrames that carry them.
    n_clusters_ : int
    number_ : NumberOfClusters or None
        For n_clusters="auto": the candidates and their scores; `number_.table` lists the resolutions that are stable.
    hierarchy_ : list of Level
        For n_clusters="auto": the chosen clusters and the stable ones above and below them, from coarse to fine.
    outlier_score_ : array of shape (N,)
        0 for an entity that is no farther from its neighbors than they are from theirs, near 1 for an outlier. A group of several
        outliers close to one another has small scores.
    report_ : Report
        What was chosen, on what evidence, and where the evidence is weak. Print it to read it. It is made when it is first asked for,
        because its second answers may take as long as the fit.
    history_ : list of dict
        One row for the start and one per half step: objective, its terms smoothness, ridge and coupling, residuals, seconds.
    seconds_ : dict
        Seconds spent on "neighbors" (parameters, distances and candidate edges), "layers", "embedding" and "clustering".
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
    >>> centers = np.repeat([0.0, 5.0, 10.0], 20)[:, None]
    >>> views = {"left": centers + rng.normal(size=(60, 2)), "right": -centers + rng.normal(size=(60, 3))}
    >>> model = RMGL(n_clusters=3, random_state=0).fit(views)
    >>> np.bincount(model.labels_).tolist()
    [20, 20, 20]
    >>> [layer.name for layer in model.layers_]
    ['left', 'right', 'consensus', 'neighbors']
    """

    _allowed = {
        **ViewsClusterer._allowed,
        "alpha": (AUTO, number(above=0), LIST, BY_NAME),
        "beta": (AUTO, number(least=0), LIST, BY_NAME),
        "n_clusters": (AUTO, whole_number(least=1)),
        "metric": (one_of("euclidean", "jaccard", *METRICS), LIST, BY_NAME),
        "align": (one_of("outer", "inner"), NOTHING),
        "missing": (one_of("pairwise", "error"),),
        "n_neighbors": (whole_number(least=1),),
        "components": (TRUTH_VALUE,),
        "min_cluster_size": (AUTO, number(least=0)),
        "solver": (one_of(*SOLVERS),),
        "candidates": (one_of("auto", "all", "approximate"), whole_number(least=1), LIST, BY_NAME, SPARSE),
        "policy": (NOTHING, Kind("a Policy", lambda value: isinstance(value, Policy))),
        "tol": (number(least=0),),
        "max_iter": (whole_number(least=1),),
        "max_seconds": (NOTHING, number(least=0)),
        "n_jobs": (NOTHING, whole_number()),
        "verbose": (VERBOSITY,),
    }

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        alpha: Any = defaults.ALPHA,
        beta: Any = defaults.BETA,
        scale: Any = defaults.SCALE,
        metric: Any = "euclidean",
        n_neighbors: int = defaults.N_NEIGHBORS,
        components: bool = False,
        min_cluster_size: Any = "auto",
        align: str | None = None,
        missing: str = defaults.MISSING,
        views: Any = None,
        solver: str = defaults.SOLVER,
        candidates: Any = "auto",
        policy: Policy | None = None,
        tol: float = defaults.TOL,
        max_iter: int = defaults.MAX_ITER,
        max_seconds: float | None = None,
        n_init: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.scale = scale
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.components = components
        self.min_cluster_size = min_cluster_size
        self.align = align
        self.missing = missing
        self.views = views
        self.solver = solver
        self.candidates = candidates
        self.policy = policy
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        observed: Any = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        client: Any = None,
    ) -> RMGL:
        """Learn layers, embedding and labels.

        Parameters
        ----------
        X : list, tuple or dict of 2-D inputs with the same rows, or one 2-D input
            Arrays, scipy sparse matrices, or tables (pandas, polars, pyarrow) with columns of any kind: `docs/tables.md` says what
            they are taken for. They are not modified. A row of NaN means that the entity is missing from that view; every entity must be
            in at least one view.
        y : array of shape (N,), optional
            Known labels of some entities, numbers from 0 to K - 1, and -1 where the label is not known. Entities with the same label are
            tied and those with different ones are kept apart, through the costs of the layers, unless a first fit without the labels
            agrees with 95 % of them anyway; they have these labels in the end, and clusters are numbered accordingly. y is ignored if it
            has no -1: scikit-learn's tools pass on true classes for scores, which must not be used.
        observed : array of truth values of shape (N, M), or one mask of rows per view (list, or dict by view name), optional
            Which entities are observed in each view; all other rows are ignored.
        callback : function, optional
            Called with a dict after every step: its name in "step", the "seconds" since the beginning and, for the half steps of the
            alternation, the new row of `history_`. If it returns True, the fit ends with the best result so far, as after `max_seconds`.
        checkpoint : folder, optional
            Finished steps are stored there. If the fit is interrupted, call it again with the same data, parameters and checkpoint: it
            resumes and gives the identical result. The folder is created if it does not exist, and kept.
        client : dask.distributed.Client, optional
            A Dask cluster whose workers keep the rows and search for candidate pairs. A view may then also be a Dask array or DataFrame, a
            zarr array, or the path of an .npy file, a zarr array or a folder of Parquet files that all workers can read; if one is,
            the default is the current client. The result does not depend on the number of workers, and survives the loss of some of them.
            Layers, embedding and labels are computed in this process. Needs alpha and beta at "auto", and entities that are in all views.
        """
        self._check_parameters()
        with stages(self.verbose > 0) as stage:
            return self._fit(X, y, observed, client, Run(callback, self.max_seconds, checkpoint, stage))

    def _fit(self, X: Any, y: Any, observed: Any, client: Any, run: Run) -> RMGL:
        """Check and scale the views, and learn from them."""
        run.stage("scaling")
        if client is not None or wants_cluster(X):
            self._check_for_cluster(observed, y)
            options: dict[str, Any] = {"n_neighbors": self.n_neighbors, "candidates": self.candidates, "progress": self.verbose > 0}
            with prepared(X, default_client() if client is None else client, self.scale, **options) as found:
                self._note_views(found.views, found.views)
                self.scale_ = found.scales
                return self._learn(found.views, found.scalers, run, found.canonical, on_cluster=found)
        X = [X] if is_square_view(X) else X
        views = Views.of(X, self.views, align=self.align, observed=observed)
        self._check_cells(views)
        self._note_views(X, views)
        recognized = views.recognized
        known = check_known(y, views.n_rows, None if is_auto(self.n_clusters) else self.n_clusters)
        tied = known is not None and not self._found_without(X, known, observed)
        views = views.with_metrics(self.metric)
        if self.automatic:
            views = views.without_empty_rows().compressed()
        canonical = canonical_order(views, known, given_graphs(self.candidates, views))
        known, views = None if known is None else known[canonical.order], views.in_order(canonical.order)
        self.scale_ = views.choose_scales(views.scales_for(self.scale, self.metric))
        scalers = views.fit_scalers([how for how, _ in self.scale_])
        views = views.scaled_by(scalers)  # those in canonical order are not kept beside them
        return self._learn(views, scalers, run, canonical, known, tied, recognized)

    def _check_for_cluster(self, observed: Any, y: Any) -> None:
        """Refuse what a fit on a cluster cannot do yet."""
        way_out = "fit without client=, or leave it out"
        given = {"observed": observed, "align": self.align, "views": self.views}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name}= is not possible on a cluster yet: {way_out}")
        if y is not None and np.any(np.asarray(y) == -1):
            raise ValueError(f"known labels are not possible on a cluster yet: {way_out}")
        if not isinstance(self.metric, str) or self.metric != "euclidean":
            raise ValueError(f"metric= is not possible on a cluster yet: {way_out}")
        if not self.automatic:
            raise ValueError("a fit on a cluster chooses alpha and beta from the data: leave them at 'auto', or fit without client=")
        if not self._policy.local_scaling:
            raise ValueError(f"a policy with local_scaling=False is not possible on a cluster yet: {way_out}")

    def _learn(
        self,
        views: Views,
        scalers: Sequence[Scaler],
        run: Run,
        canonical: Canonical,
        known: NDArray[np.intp] | None = None,
        tied: bool = False,
        recognized: Sequence[str] = (),
        on_cluster: Prepared | None = None,
    ) -> RMGL:
        """Learn from scaled views, in this process or on a cluster. Their entities are those of the caller in `canonical` order."""
        order = canonical.order
        random_state = check_random_state(self.random_state)
        clock, parameters = Stopwatch(), self._stored_parameters()
        with run, team_of(number_of_workers(self.n_jobs)) as team:
            data = views if on_cluster is None or run.folder is None else on_cluster.digests()
            stated = {name: value for name, value in parameters.items() if name not in UNESSENTIAL}
            run.begin(stated if known is None else {**stated, "known": known, "tied": tied}, data, random_state)
            with clock("neighbors"):
                choice = self._pose_problems(views, team, random_state, run, canonical, known, tied, on_cluster)
            problems, self.n_clusters_ = choice.problems, choice.n_clusters

            alike = alike_among(canonical.alike, choice.entities)
            attempts = count()

            def solve(stated: Sequence[ViewProblem], fragments: NDArray[np.bool_] | None = None) -> Outcome:
                return self._alternate(stated, fragments, alike, team, random_state, clock, run, next(attempts))

            outcome = solve(problems)
            if self.components:
                problems, outcome = separate(problems, outcome, self.n_clusters_, solve)
            else:
                min_size = self._min_cluster_size(choice)
                outcome = without_fragments(problems, outcome, self.n_clusters_, min_size, solve, random_state)
        own = views if choice.entities is None else views.of_entities(choice.entities)
        self._keep_choice(choice)
        self._keep(problems, outcome)
        self._keep_views(own, scalers, on_cluster)
        run.stage("clusters")
        with clock("clustering"):
            of_own = known if known is None or choice.entities is None else known[choice.entities]
            self.labels_ = self._label(outcome, random_state, of_own)
            self.outlier_score_ = self._score_outliers(own)
        described = describe_views(
            own, self.scale_, self.layers_, self.beta_, choice, views, order, self.index_, own.describe_columns(self._scalers)
        )
        made = self._report_later(choice, outcome, views.n_rows, order, recognized, random_state)
        if choice.entities is not None:
            with clock("clustering"):
                self._place_others(choice.entities, views, scalers, known)
        self._restore_order(order, known is None, on_cluster is None)
        kept = None if isinstance(self.__dict__["_views"], StoredViews) else self._views
        self._unreported = partial(with_evidence, made, described, kept, self.labels_.copy(), order, choice.entities is not None)
        self.seconds_ = clock.seconds
        self._warn(outcome, run)
        return self

    def predict(self, X: Any, *, observed: Any = None) -> Any:
        """Assign new rows to the clusters to which they have the most edge weight in the fitted layers (see `predict_proba`).

        Parameters
        ----------
        X : as for `fit`
            New entities, each observed in any of the views: a missing row is NaN, and a view in which none of them is observed may be
            left out of a dict, or be None in a list. For Dask arrays, the result is a Dask array with chunks of the same rows.
        observed : as for `fit`
        """
        if is_lazy(X) and observed is None:
            return self._by_chunk(RMGL.predict, X, (), np.intp)
        return self.predict_proba(X, observed=observed).argmax(axis=1)

    def predict_proba(self, X: Any, *, observed: Any = None, by_view: bool = False) -> Any:
        """Compute the share of the edge weight of new rows that goes to each cluster, (n, K).

        Every new row becomes a node of the layer of each view in which it is observed, and of the consensus. All other nodes stay fixed,
        so its weights follow from the KKT conditions of the layer problem (`rmgl.placing.placement`). Layers count by `beta_`. With
        `by_view` the shares are given by layer, in the order of `layers_`: (n, layers, K), which sum to one for each row.

        A new row is compared with all fitted ones up to 5000, else with the nearest ones.
        """
        if is_lazy(X) and observed is None:
            shape = (len(self.layers_), self.n_clusters_) if by_view else (self.n_clusters_,)
            return self._by_chunk(partial(RMGL.predict_proba, by_view=by_view), X, shape, np.float64)
        votes = self._place(X, observed).votes
        return votes if by_view else votes.sum(axis=1)

    def transform(self, X: Any, *, observed: Any = None) -> Any:
        """Embed new rows, (n, K), by the eigenvector equation with all fitted rows fixed."""
        if is_lazy(X) and observed is None:
            return self._by_chunk(RMGL.transform, X, (self.n_clusters_,), np.float64)
        return self._place(X, observed).embedding

    def _by_chunk(self, method: Callable[[RMGL, Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A Dask array of what a method returns for every chunk of rows, each in one thread."""
        check_is_fitted(self)
        assert self._views is not None  # read once here, and not by every worker
        alone = copy(self)
        alone.n_jobs = 1
        return by_chunk(partial(method, alone), X, shape, dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags = ClassifierTags()  # scikit-learn's checks look here where there is a `predict_proba`
        return tags

    def _place(self, X: Any, observed: Any) -> Placed:
        check_is_fitted(self)
        numbers = self._views.relation(0) is None and self._views.encoding(0) is None
        features = numbers and not is_collection_of_views(X) and not is_square_view(X)
        if features and not isinstance(X, Views) and getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        new = new_views(self._views, X, self.views, align=self.align, observed=observed, scalers=self._scalers)
        self._check_cells(new)
        with team_of(number_of_workers(self.n_jobs)) as team:
            return self._placement().place(scaled_like(self._scalers, check_placeable(new)), team)

    def _placement(self) -> Placement:
        return Placement(self._views, self.layers_, self.beta_, self.embedding_, self.eigenvalues_, self.guide_, self.labels_)

    def explain(self, X: Any, feature_names: Any = None, *, observed: Any = None) -> Explanation:
        """Compare every cluster with all other entities in every feature of the views; nothing is fitted again.

        The effect size is (mean inside - mean outside) / s, with s the standard deviation pooled over the members of the cluster and all
        other entities; the AUC is the probability that a member has a larger value than another entity. Entities that are missing from a
        view do not count there. The clusters were found in the same data, so there are no p-values.

        Parameters
        ----------
        X : as for `fit`
            The views of the fit, with the same rows in the same order and their values in the units that are to be reported. A view may
            be left out of a dict, or be None in a list. A model that was saved and loaded needs them again as well.
        feature_names : list with one list of names per view, or dict by view name, optional
            By default the names of the columns of tables, or else "column 0", "column 1", ...
        observed : as for `fit`

        Returns
        -------
        Explanation
            A table with the columns cluster, view, feature, effect_size, mean_inside, mean_outside, auc, n_inside, n_outside and column;
            for every cluster the largest effects come first. `pandas.DataFrame(table.as_dict())` makes a DataFrame of it.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> table = RMGL(2, random_state=0).fit(views).explain(views)
        >>> table.feature.tolist(), table.auc.tolist() in ([0.0, 1.0], [1.0, 0.0])
        (['column 0', 'column 0'], True)
        """
        check_is_fitted(self)
        views = self._views_again(X, observed)
        return explain_clusters(views, self.labels_, self.n_clusters_, check_feature_names(views, feature_names))

    def to_html(
        self,
        path: str | os.PathLike[str],
        ids: Any = None,
        features: Explanation | None = None,
        *,
        views: Any = None,
        feature_names: Any = None,
        columns: Any = None,
        observed: Any = None,
    ) -> None:
        """Write a page that shows the result and lets readers explore it: one HTML file, which needs no network (needs bokeh).

        It has the verdict, the common embedding, the neighbors of every entity in every layer, what distinguishes the clusters, the views,
        the choice of the number of clusters, and the certificates. Beyond 100 000 entities it shows a density image and a sample.

        Parameters
        ----------
        path : file
            By custom its name ends in .html. A file of that name is replaced.
        ids : list or array of N names, optional
            By default `index_`, or else the numbers of the rows.
        features : Explanation, optional
            What distinguishes the clusters, as returned by `explain`. By default it is computed: from `views`, or else from the rows that
            the model keeps, which are scaled as for the fit.
        views : as for `fit`, optional
            The views of the fit again, so that features are shown in their own units and with their distributions.
        feature_names : as for `explain`, optional
        columns : dict or table of columns with N values each, optional
            Further columns that points can be colored by, such as known classes: numbers, or texts.
        observed : as for `fit`, optional

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.to_html("report.html", ids=["p", "q", "r", "s", "t", "u"], views=views)  # doctest: +SKIP
        """
        check_is_fitted(self)
        from rmgl.page.page import Given, write_page

        again = None if views is None else self._views_again(views, observed)
        given = Given(ids, features, again, feature_names, columns)
        write_page(path, self, given, self._views, of_unit_length=self.automatic and self._policy.unit_rows)

    def _repr_html_(self) -> str:
        """What notebooks show: the summary of a fitted model, scikit-learn's diagram before. It does not make the report."""
        if not hasattr(self, "labels_"):
            return str(estimator_html_repr(self))
        from rmgl.page.summary import summary_of

        return summary_of(self, self.__dict__.get("report_"))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What notebooks ask for first: text, and HTML unless scikit-learn's option display="text" is set."""
        text = {"text/plain": repr(self)}
        return text if get_config()["display"] == "text" else {**text, "text/html": self._repr_html_()}

    def _views_again(self, X: Any, observed: Any) -> Views:
        """The views of the fit, or some of them, given again; an entity may be in none of these."""
        rows = without_squares(self._views, X)
        if rows is None:
            return self._views
        rows = with_all_entities(self._views, rows, self.align)
        options: dict[str, Any] = {"align": self.align, "observed": observed, "everyone": False, "scalers": self._scalers}
        return check_same_entities(self._views, new_views(self._views, rows, self.views, **options))

    def _check_cells(self, views: Views) -> None:
        """Refuse missing cells, if that was asked for."""
        if self.missing == "error":
            views.refuse_gaps("set missing='pairwise'")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file of arrays and JSON, which `load` reads; by custom its name ends in .rmgl.

        The file is written completely or not at all, and replaces an earlier one of that name. A `random_state` that is not a number is
        not stored; row labels that are neither text nor numbers are stored as text, and functions in a `policy` by their names.
        """
        check_is_fitted(self)
        self.report_  # noqa: B018 - it is made when it is first asked for
        parameters, _ = self._stored_parameters(), self._views  # which are read now, if they are stored elsewhere
        write_model(path, parameters, {name: value for name, value in vars(self).items() if name not in parameters})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RMGL:
        """Load a model that `save` wrote. Nothing in the file is executed; a damaged or foreign file raises a ValueError."""
        return read_model(path, cls)

    def to_networkx(self) -> Any:
        """All layers as one `networkx.MultiGraph` whose nodes are the rows 0 to N-1 (needs networkx).

        Edges have the attributes `layer` and `weight`, and the name of the layer as key. Nodes have `label`, `outlier_score` and, where
        rows have labels, `name`.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_networkx()[0][1]["a"]["layer"]
        'a'
        """
        check_is_fitted(self)
        return layers_to_networkx(self.layers_, node_attributes(self.labels_, self.outlier_score_, self.index_))

    def to_igraph(self) -> Any:
        """All layers as one `igraph.Graph` with parallel edges, attributes as in `to_networkx` (needs igraph).

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> model.to_igraph().vs["label"] == model.labels_.tolist()
        True
        """
        check_is_fitted(self)
        return layers_to_igraph(self.layers_, node_attributes(self.labels_, self.outlier_score_, self.index_))

    def _pose_problems(
        self,
        views: Views,
        team: Team,
        random_state: np.random.RandomState,
        run: Run,
        canonical: Canonical,
        known: NDArray[np.intp] | None,
        tied: bool,
        on_cluster: Prepared | None = None,
    ) -> Choice:
        """What Algorithm 1 is to solve: chosen from the data, or as given."""
        run.stage("neighbors")
        asked = candidates_in_order(self.candidates, views, canonical.order)
        options: dict[str, Any] = {"candidates": asked, "n_neighbors": self.n_neighbors, "team": team, "run": run}
        options |= {"known": known, "tied": tied}
        if self.automatic:
            if on_cluster is not None:
                options |= {"candidates": on_cluster.length, "spaces": on_cluster.spaces}
                on_cluster.cluster.in_parts = team.in_parts
            n_clusters = None if is_auto(self.n_clusters) else self.n_clusters
            policy = replace(self._policy, neighbor_share=0.0) if self.components else self._policy  # a given graph has its own components
            options["min_cluster_size"] = None if is_auto(self.min_cluster_size) else float(self.min_cluster_size)
            options |= {"policy": policy, "alike": canonical.alike}
            return choose_problems(views, n_clusters=n_clusters, solver=self.solver, random_state=random_state, **options)
        problems = given_problems(views, self.alpha, self.beta, n_clusters=self.n_clusters, **options)
        beta = np.array([problem.beta for problem in problems])
        return Choice(problems, self.n_clusters, beta / beta.sum())

    def _found_without(self, X: Any, known: NDArray[np.intp], observed: Any) -> bool:
        """Whether a fit without the known labels agrees with nearly all of them, so that they need not change the layers.

        With a time limit it is not tried.
        """
        if self.max_seconds is not None:
            return False
        seed = self.random_state if isinstance(self.random_state, Integral) else 0
        plain = clone(self).set_params(random_state=seed, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain.fit(X, observed=observed)
        fixed = known >= 0
        if plain.n_clusters_ <= known.max():
            return False
        found = matched(plain.labels_, known, plain.n_clusters_)
        return bool(np.mean(found[fixed] == known[fixed]) >= AGREEING)

    def _min_cluster_size(self, choice: Choice) -> float:
        """The size below which a cluster that is no island is a fragment."""
        return choice.min_cluster_size if self.automatic or is_auto(self.min_cluster_size) else float(self.min_cluster_size)

    def _alternate(
        self,
        problems: Sequence[ViewProblem],
        fragments: NDArray[np.bool_] | None,
        alike: NDArray[np.intp] | None,
        team: Team,
        random_state: np.random.RandomState,
        clock: Stopwatch,
        run: Run,
        attempt: int,
    ) -> Outcome:
        """Algorithm 1."""
        options: dict[str, Any] = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter, "team": team, "clock": clock}
        options |= {"fragments": fragments, "alike": alike}
        rounds = count()

        def progress(row: dict[str, Any]) -> None:
            run.stage("embedding", 1 - 0.5 ** next(rounds))  # few rounds are usual, and their number is not known
            run.tell(row)

        key = f"rounds-{attempt}"
        return alternate(problems, self.n_clusters_, random_state=random_state, progress=progress, run=run, key=key, **options)

    def _label(self, outcome: Outcome, random_state: np.random.RandomState, known: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """The components if they were asked for and are there, else k-means on the rows of the embedding, from known labels if any."""
        if self.components and separated(outcome, self.n_clusters_):
            return components(weighted_sum([layer.adjacency for layer in self.layers_], self.beta_.tolist()))[1]
        of_unit_length = self.automatic and self._policy.unit_rows
        rows = unit_rows(self.embedding_) if of_unit_length else self.embedding_
        aside = outcome.state.embedding.fragments
        found = label_rows(rows, aside, self.n_clusters_, n_init=self.n_init, random_state=random_state)
        return found if known is None else label_with_known(rows, found, known, self.n_clusters_, aside)

    def _score_outliers(self, views: Views) -> NDArray[np.float64]:
        """By the scales of the nodes where there are any, else by the mean distances along the edges."""
        own = [(m, layer) for m, layer in enumerate(layer for layer in self.layers_ if layer.role == "view") if m not in views.networks]
        if not own:  # networks have no distances
            return np.zeros(views.n_rows)
        spreads = [
            mean_lengths(whole_space(views, m), layer.adjacency)[slice(None) if layer.nodes is None else layer.nodes]
            if layer.scaling is None
            else layer.scaling.scales**2
            for m, layer in own
        ]
        layers, weights = [layer for _, layer in own], self.view_weights_[[m for m, _ in own]]
        return outlier_scores([layer.adjacency for layer in layers], spreads, [layer.nodes for layer in layers], weights)

    @property
    def local_scaling_(self) -> list[LocalScaling | None]:
        """The scales and floors of the nodes, for each layer."""
        return [layer.scaling for layer in self.layers_]

    @property
    def hierarchy_(self) -> list[Level]:
        """The chosen clusters and the stable ones above and below them, from coarse to fine; empty unless n_clusters is "auto"."""
        return [] if self.number_ is None else levels_of(self.number_, self.labels_, self.placed_)

    @property
    def _policy(self) -> Policy:
        """The numbers and rules of the automatic choice."""
        return Policy() if self.policy is None else self.policy

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters as a file can hold them: rules of the policy by their names."""
        parameters = self.get_params(deep=False)
        return parameters if self.policy is None else {**parameters, "policy": self.policy.named()}

    @property
    def automatic(self) -> bool:
        """Whether alpha and beta are chosen from the data (`rmgl.automatic.choose`)."""
        return is_auto(self.alpha) and is_auto(self.beta)

    def _keep_choice(self, choice: Choice) -> None:
        self.view_weights_ = choice.weights
        self.view_roughness_ = choice.roughness
        self.number_ = choice.number
        self.guide_ = choice.guide

    def _keep(self, problems: list[ViewProblem], outcome: Outcome) -> None:
        embedding = outcome.state.embedding
        if embedding.fragments is None:
            self._keep_embedding(embedding.vectors)
            self.fragments_ = np.empty(0, dtype=np.intp)
        else:
            self._keep_embedding(place_fragments(embedding.vectors, embedding.fragments, common_graph(outcome.state)))
            self.fragments_ = np.flatnonzero(embedding.fragments)
        self.eigenvalues_ = outcome.state.embedding.values
        self.placed_ = np.empty(0, dtype=np.intp)
        self.layers_ = [layer.among_all(len(self.embedding_)) for layer in outcome.state.layers]
        self.alpha_ = np.array([problem.alpha for problem in problems])
        self.beta_ = np.array([problem.beta for problem in problems])
        self.history_ = outcome.history
        self.converged_ = outcome.converged and outcome.embedded
        self.n_iter_ = outcome.n_iter

    def _place_others(
        self, entities: NDArray[np.intp], views: Views, scalers: Sequence[Scaler], known: NDArray[np.intp] | None = None
    ) -> None:
        """Extend what was learned on some of the entities to all: the others are placed as new rows are."""
        others = np.setdiff1d(np.arange(views.n_rows), entities)
        with team_of(number_of_workers(self.n_jobs)) as team:
            placed = self._placement().place(views.of_entities(others), team)

        def among_all(values: NDArray[Any], of_others: Any = 0) -> NDArray[Any]:
            extended = np.zeros((views.n_rows, *values.shape[1:]), dtype=values.dtype)
            extended[entities], extended[others] = values, of_others
            return extended

        self.labels_ = among_all(self.labels_, placed.votes.sum(axis=1).argmax(axis=1))
        self.labels_ = self.labels_ if known is None else np.where(known >= 0, known, self.labels_)
        self._keep_embedding(among_all(self.embedding_, placed.embedding))
        self.guide_ = None if self.guide_ is None else among_all(self.guide_)
        self.outlier_score_ = among_all(self.outlier_score_)
        self.layers_ = [replace(layer, nodes=entities).among_all(views.n_rows) for layer in self.layers_]
        self.fragments_, self.placed_ = entities[self.fragments_], others
        self._keep_views(views, scalers)

    def _restore_order(self, order: NDArray[np.intp], renumber: bool, views_too: bool) -> None:
        """Put what was learned in a canonical order of the entities into the order of the caller.

        With `renumber`, clusters are numbered as the caller's rows meet them first. The views are put into order if `views_too`.
        """
        place = np.argsort(order)
        learned = np.setdiff1d(np.arange(order.size), self.placed_)
        self.labels_, self.embedding_, self.outlier_score_ = self.labels_[place], self.embedding_[place], self.outlier_score_[place]
        self.guide_ = None if self.guide_ is None else self.guide_[place]
        self.layers_ = [layer.in_order(place) for layer in self.layers_]
        self.number_ = None if self.number_ is None else self.number_.in_order(np.argsort(order[learned]))
        self.fragments_, self.placed_ = np.sort(order[self.fragments_]), np.sort(order[self.placed_])
        if renumber:
            self.labels_ = as_met(self.labels_, self.n_clusters_)
        if views_too:
            self._views = self._views.in_order(place)

    @property
    def _views(self) -> Views:
        """The scaled rows; those of a fit on a cluster are read from where they are stored when they are first needed."""
        if "_views" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} instance is not fitted yet: it has no views")
        kept = self.__dict__["_views"]
        if isinstance(kept, StoredViews):
            kept = self.__dict__["_views"] = kept.collect()
        views: Views = kept
        return views

    @_views.setter
    def _views(self, views: Views | StoredViews) -> None:
        self.__dict__["_views"] = views

    def _keep_views(self, views: Views, scalers: Sequence[Scaler], on_cluster: Prepared | None = None) -> None:
        """Keep the scaled rows, which new ones are compared with. What was not scaled may be the caller's own array."""
        if on_cluster is not None:
            self._views, self._scalers = on_cluster.kept(), tuple(scalers)
            return
        matrices = tuple(X.copy() if scaler.name == "none" else X for X, scaler in zip(views.matrices, scalers, strict=True))
        self._views, self._scalers = replace(views, matrices=matrices), tuple(scalers)

    def _report_later(
        self,
        choice: Choice,
        outcome: Outcome,
        n_rows: int,
        order: NDArray[np.intp],
        recognized: Sequence[str],
        random_state: np.random.RandomState,
    ) -> Callable[..., Report]:
        """What makes the report from the parts on the views and the layers: its second answers can take as long as the fit.

        Many callers want labels only. The report names entities in the `order` of the caller.
        """
        self.__dict__.pop("report_", None)
        entities = order if choice.entities is None else order[choice.entities]
        return partial(
            make_report,
            beta=self.beta_,
            choice=replace(choice, problems=[], entities=entities),
            labels=self.labels_.copy(),
            embedding=outcome.state.embedding,
            automatic=self.automatic,
            policy=self._policy,
            n_neighbors=self.n_neighbors,
            converged=self.converged_,
            fragments=self.fragments_,
            n_rows=n_rows,
            index=self.index_,
            recognized=recognized,
            random_state=deepcopy(random_state),
        )

    _unreported: Callable[[Sequence[Layer]], Report]
    """What makes the report from the layers, which are not kept twice."""

    @cached_property
    def report_(self) -> Report:
        """What was chosen, on what evidence, and where the evidence is weak; made when it is first asked for, by one thread."""
        check_is_fitted(self)
        with REPORTING:
            if "report_" not in self.__dict__:  # another thread may have made it
                self.__dict__["report_"] = self._unreported(self.layers_)
                del self._unreported
            made: Report = self.__dict__["report_"]
            return made

    def _warn(self, outcome: Outcome, run: Run) -> None:
        if outcome.stopped:
            reason = "the callback asked for it" if run.asked_to_stop else f"max_seconds={self.max_seconds:g} have passed"
            warn_caller(
                f"RMGL was stopped after {outcome.n_iter} rounds because {reason}; this is the best result so far", ConvergenceWarning
            )
        elif not outcome.converged:
            warn_caller(
                f"RMGL did not converge in max_iter={self.max_iter} rounds: "
                f"raise max_iter, or accept it with a larger tol (now {self.tol:g})",
                ConvergenceWarning,
            )
        for layer in self.layers_:
            if not layer.solved:
                warn_caller(layer.message, ConvergenceWarning)
            elif not layer.exact:
                warn_caller(
                    f"layer {layer.name!r} is exact among its {layer.candidates} candidates only; "
                    f"they hold {layer.recall:.1%} of the nearest neighbors of a sample of rows",
                    UserWarning,
                )
        if not outcome.embedded and not outcome.stopped:
            warn_caller(
                f"the eigenvectors of the embedding have a relative residual of {outcome.eigen_residual:.1e}: "
                "their eigenvalues are too close together; use a smaller n_clusters or a larger alpha",
                ConvergenceWarning,
            )
        alone = np.setdiff1d(unconnected(self.layers_, self.beta_), self.placed_)
        if alone.size:
            warn_caller(unconnected_rows(alone, self.index_).sentence, UserWarning)
        n_components = outcome.state.embedding.n_components
        if n_components > self.n_clusters_:
            warn_caller(
                f"the layers together fall into {n_components} components, more than n_clusters={self.n_clusters_}: "
                "isolated nodes and small fragments share a label; raise alpha to connect them",
                UserWarning,
            )
