"""`RMGL`: the scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sklearn.utils import ClassifierTags

from rmgl.automatic.policy import Policy
from rmgl.estimators import defaults
from rmgl.estimators.base import (
    BY_NAME,
    LIST,
    NOTHING,
    SPARSE,
    TRUTH_VALUE,
    VERBOSITY,
    Kind,
    ViewsClusterer,
    number,
    one_of,
    whole_number,
)
from rmgl.estimators.learning import Learner
from rmgl.estimators.presenting import Presenter
from rmgl.estimators.subsetting import Subsetter
from rmgl.layer import SOLVERS
from rmgl.model.run import Run
from rmgl.running.progress import stages
from rmgl.views.check_view import has_stored
from rmgl.views.scaling import METRICS

AUTO = one_of("auto")


class RMGL(Learner, Presenter, Subsetter):
    """Rank-constrained multi-layer graph learning: one graph layer per view, one common embedding,
    clusters.

    From views X_m (N rows each, the same N entities) with S_m = X_m X_m', solves

        minimize   sum_m  tr(L_m S_m) + alpha_m ||L_m||_F^2 + beta_m tr(Q' L_m Q)
        subject to L_m a graph Laplacian, tr(L_m) = N, Q'Q = I_K

    by exact minimization over the layers and over Q in turn, then runs k-means on the rows of Q. A
    large beta makes every layer fall into K components. Multiplying squared distances, alpha and
    beta by one number changes nothing.

    With alpha and beta left at "auto", all parameters are chosen from the data: squared distances
    are taken in units of the distances to the 7th neighbors, a *consensus* layer is learned from
    all views side by side, views are weighted by how well their layers agree with its embedding,
    and the embedding guides the layers; `print(model.report_)` explains what was chosen and why.
    The layers still solve the problem above at the reported alpha_ and beta_, with z_ij = max(|x_i
    - x_j|^2 / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2 in place of squared distances; s and f are
    in `local_scaling_`, the rows g in `guide_` (and costs of the consensus times
    `Layer.consensus_share` are added where each view separates only some of the clusters). The
    graph of nearest neighbors of all views side by side is one more layer, which is given and not
    learned. With numbers for alpha and beta, the model is that of the paper.

    Parameters
    ----------
    n_clusters : int or "auto"
        K, the number of clusters and of columns of the embedding. "auto" takes the number whose
        clusters are set apart best in the common graph (modularity) and in its embedding
        (silhouette); `number_` holds the evidence. It needs alpha and beta at "auto".
    alpha : "auto", float > 0, or one per view (list, or dict by view name)
        Weight of ||L_m||_F^2: a larger one gives more edges. "auto" solves, for each layer, for
        `n_neighbors` edges a node on average (with a number for beta: what gives a node with
        typical distances that many).
    beta : "auto", float >= 0, or one per view (list, or dict by view name)
        Weight of view m in the embedding, and of the embedding in layer m. "auto" weights each view
        by its agreement with the others, and couples the layers weakly (with a number for alpha:
        the same weight for all views).
    scale : "auto", {"minmax", "root", "hellinger", "unit", "standard", "none"}, or one per view
    (list, or dict by view name)
        How each view is scaled first: columns to [0, 1]; columns to [0, 1] after square roots
        (histograms); square roots, then rows to length one (counts); rows to length one (tf-idf);
        columns to variance 1; not at all. "auto" chooses among the first four by signs, zeros and
        skewness.
    metric : {"euclidean", "cosine", "correlation", "hellinger", "hamming", "jaccard"}, or one per
    view (list, or dict by view name)
        The distances between the rows of each view. All but "jaccard" are Euclidean after a
        transformation of the rows, which takes the place of scaling: rows of length one; of mean
        zero and length one; square roots, then length one; indicators of the values of every
        column. "jaccard" is for zeros and ones, and takes the distances of all pairs; where these
        do not fit into memory, those of the 100 nearest rows of each. For any other distances there
        is `rmgl.Precomputed`.
    n_neighbors : int
        Mean number of edges per node, where alpha is "auto". More edges give smoother layers, fewer
        show finer structure.
    components : bool
        Raise beta until every layer has exactly K components; the labels are then the components.
    min_cluster_size : "auto" or float >= 0
        A cluster with fewer members that is connected to others is a fragment: its members take no
        part in the embedding and join the clusters of their neighbors (`fragments_`). "auto" takes
        the size from the `policy` where alpha and beta are chosen from the data, and is 0
        otherwise: no cluster is a fragment.
    align : {"outer", "inner"}, optional
        For DataFrames whose row labels differ: align their rows by label. "outer" keeps every
        entity of any view (it is missing from the others), "inner" those of all views. `index_`
        holds the labels in the order of `labels_`.
    missing : {"pairwise", "error"}
        What is done about single cells that are NaN. "pairwise" takes the distance of two rows from
        the columns that both have, and scales it up to all columns (`rmgl.edges.gaps` has the
        formula); "error" refuses them. A row of NaN is no such case: its entity is missing from the
        view.
    views : list or dict of column blocks, optional
        For *one* 2-D input: block sizes, slices, or lists of column names or positions.
    solver : {"newton", "dual-ascent"}
        The solver of the layers; both give the same layers. "dual-ascent" is the iteration of the
        paper.
    candidates : "auto", "all", int, "approximate", sparse graph, or one per view (list, or dict by
    view name)
        The pairs that may carry an edge. A number asks for lists of that many nearest neighbors,
        which are widened until they prove that no other pair can carry weight, so the answer is the
        same (`layer.exact`); "auto" takes all pairs where they are cheaper. "approximate" neighbors
        (pynndescent) and a graph of your own (`KNeighborsTransformer`) prove nothing: `layer.exact`
        is False, and `layer.recall` says how many true neighbors of a sample of rows they hold.
    policy : Policy, optional
        Thresholds and rules for parameters set to "auto" (`rmgl.Policy`). `docs/defaults.md`
        explains the default ones.
    tol : float
        Stop when a round lowers the objective by at most this share and turns the subspace by at
        most sqrt(tol).
    max_iter : int
        Most rounds (one round: all layers, then the embedding).
    max_seconds : float, optional
        Time limit in seconds; fit then returns the best result so far, with `converged_` False and
        a ConvergenceWarning. The layers of all views are learned and certified in any case, which
        may take longer than the limit.
    n_init : int
        Starts of k-means.
    n_jobs : int, optional
        Threads that share views, and the rows of long loops; -1 for all cores. No more threads are
        used than there are cores. The result does not depend on it.
    random_state : int, RandomState or None
        Seed of k-means, and of the samples that second answers and the number of clusters are taken
        from.
    verbose : int
        1 shows a progress bar on standard error: the stage, the time spent and an estimate of the
        time left.

    Attributes
    ----------
    labels_ : array of shape (N,)
    embedding_ : array of shape (N, K)
        Q: orthonormal columns (without the rows in `fragments_`), the smallest eigenvalue first.
        If all views are networks, Q' C Q = I with the masses of `balance_` on the diagonal of C.
    eigenvalues_ : array of shape (K,)
        Smallest eigenvalues of sum_m beta_m L_m.
    layers_ : list of Layer
        One per view, each with its adjacency, Laplacian and certificate. With automatic choices
        also the one named "consensus", if there are several views, and the graph of nearest
        neighbors of all views side by side, named "neighbors", which is given and not learned (not
        with `components`, nor where entities have too few views in common). The layer of a view is
        learned on the entities that are observed in it (tr(L_m) is their number); the others have
        no edges there. With automatic choices, rows of zeros are treated as missing.
    alpha_, beta_ : arrays
        The values used, one per layer.
    view_weights_ : array of shape (M,)
        How much each view counts; they sum to one.
    view_roughness_ : array of shape (M,) or None
        Disagreement between the layer of each view and the common embedding: 0 if neighbors have
        the same position, 1 if they are unrelated; NaN if no edge of the layer can show it. None
        unless the weights were chosen from the data.
    local_scaling_ : list of LocalScaling or None
        The scales s and floors f of the nodes, for each layer; None where distances are taken as
        they are.
    balance_ : Balance or None
        Masses of the entities, from their degrees; None unless all views are networks.
    guide_ : array of shape (N, K) or None
        Rows whose squared distances are part of all costs.
    fragments_ : array
        Indices of the entities that took no part in the embedding; their rows in it are weighted
        means of those of their neighbors.
    placed_ : array
        Indices of the entities that took no part at all: where each view separates only some of the
        clusters, those that are missing from a view are placed afterwards, as new rows are. They
        have no edges in `layers_`, and an outlier score of 0.
    scale_ : list of (name, reason)
        What was done to each view.
    index_ : array of shape (N,) or None
        The labels of the rows, where the views are DataFrames that carry them.
    n_clusters_ : int
    number_ : NumberOfClusters or None
        For n_clusters="auto": the candidates and their scores. `number_.range` holds the smallest
        and the largest number that cannot be told from the chosen one, and `number_.table` lists
        the resolutions that are stable.
    hierarchy_ : list of Level
        For n_clusters="auto": the chosen clusters and the stable ones above and below them, from
        coarse to fine.
    outlier_score_ : array of shape (N,)
        0 for an entity that is no farther from its neighbors than they are from theirs, near 1 for
        an outlier. A group of several outliers close to one another has small scores.
    report_ : Report
        What was chosen, on what evidence, and where the evidence is weak. Print it to read it. It
        is made when it is first asked for, because its second answers may take as long as the fit.
    history_ : list of dict
        One row for the start and one per half step: objective, its terms smoothness, ridge and
        coupling, residuals, seconds.
    seconds_ : dict
        Seconds spent on "neighbors" (parameters, distances and candidate edges), "layers",
        "embedding" and "clustering".
    converged_, n_iter_, view_names_, n_features_in_
    fitted_ : FittedModel
        All of these as one value, which is never changed. A fit that fails leaves that of an
        earlier one.

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for
    Clustering", EUSIPCO 2021.

    Examples
    --------
    >>>     >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> centers = np.repeat([0.0, 5.0, 10.0], 20)[:, None]
    >>> left, right = centers + rng.normal(size=(60, 2)), -centers + rng.normal(size=(60, 3))
    >>> views = {"left": left, "right": right}
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
        "candidates": (
            one_of("auto", "all", "approximate"),
            whole_number(least=1),
            LIST,
            BY_NAME,
            SPARSE,
        ),
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
            Arrays, scipy sparse matrices, or tables (pandas, polars, pyarrow) with columns of any
            kind: `docs/tables.md` says what they are taken for. They are not modified. A row of NaN
            means that the entity is missing from that view; every entity must be in at least one
            view.
        y : array of shape (N,), optional
            Known labels of some entities, numbers from 0 to K - 1, and -1 where the label is not
            known. Entities with the same label are tied and those with different ones are kept
            apart, through the costs of the layers, unless a first fit without the labels agrees
            with 95 % of them anyway; they have these labels in the end, and clusters are numbered
            accordingly. y is ignored if it has no -1: scikit-learn's tools pass on true classes for
            scores, which must not be used.
        observed : array of truth values of shape (N, M), or one mask of rows per view (list, or
        dict by view name), optional
            Which entities are observed in each view; all other rows are ignored.
        callback : function, optional
            Called with a dict after every step: its name in "step", the "seconds" since the
            beginning and, for the half steps of the alternation, the new row of `history_`. If it
            returns True, the fit ends with the best result so far, as after `max_seconds`.
        checkpoint : folder, optional
            What takes most of the time is stored there: the results of exact searches, and
            eigenvectors. If the fit is interrupted, call it again with the same data, parameters
            and checkpoint: it reads what is there, computes all else again, and gives the identical
            result. The folder is created if it does not exist, and kept.
        client : dask.distributed.Client, optional
            A client of Dask workers, which search for candidate pairs; everything else is computed
            in this process. The result is that of a fit without workers, does not depend on their
            number, and survives the loss of some of them. With or without a client, a view may
            also be a Dask array or DataFrame, a zarr array, or the path of an .npy file, a zarr
            array or a folder of Parquet files: it is read into the memory of this process. If a
            view is one of these, the default is the current client, if there is one.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> a, b = [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]], [[2], [2], [2], [7], [7], [8]]
        >>> views = {"a": a, "b": b}
        >>> RMGL(2, random_state=0).fit(views).labels_.tolist()
        [0, 0, 0, 1, 1, 1]
        >>> known = [1, -1, -1, 0, -1, -1]  # labels of two entities
        >>> RMGL(2, random_state=0).fit(views, known).labels_.tolist()
        [1, 1, 1, 0, 0, 0]
        """
        self._check_parameters()
        with stages(self.verbose > 0) as stage:
            run = Run(callback, self.max_seconds, checkpoint, stage)
            run.stage("scaling")
            if client is None and not has_stored(X):
                self._learn(self._ready(X, y, observed), run)
            else:
                self._learn_on_workers(X, y, observed, run, client)
        return self

    @property
    def automatic(self) -> bool:
        """Whether alpha and beta are chosen from the data (`rmgl.automatic.choose`)."""
        return self._parameters.automatic

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # scikit-learn's checks look here where there is a `predict_proba`
        tags.classifier_tags = ClassifierTags()
        return tags
