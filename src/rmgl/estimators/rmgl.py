"""`RMGL`, the scikit-learn estimator."""

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
from rmgl.views.scaling import METRICS

AUTO = one_of("auto")


class RMGL(Learner, Presenter, Subsetter):
    """Rank-constrained multi-layer graph learning: one graph per view, one common embedding, and
    clusters.

    Given views X_m (N rows each, the same N entities) with S_m = X_m X_m', RMGL solves

        minimize   sum_m  tr(L_m S_m) + alpha_m ||L_m||_F^2 + beta_m tr(Q' L_m Q)
        subject to L_m a graph Laplacian, tr(L_m) = N, Q'Q = I_K

    by minimizing exactly over the layers and over Q in turn. It then runs k-means on the rows of Q.
    A large beta splits every layer into K components. Multiplying squared distances, alpha and beta
    by the same number does not change the solution.

    With alpha="auto" and beta="auto", RMGL chooses all parameters from the data. It measures
    squared distances relative to the distances to the 7th neighbors, learns a *consensus* layer
    from the concatenated views, and weights each view by how well its layer agrees with the
    consensus embedding. This embedding also guides the layers. `print(model.report_)` explains the
    choices. The layers still solve the problem above at the reported alpha_ and beta_, with squared
    distances replaced by the costs

        z_ij = max(|x_i - x_j|^2 / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2

    The scales s and floors f are in `local_scaling_`, and the rows g are in `guide_`. If each view
    separates only some of the clusters, RMGL adds the costs of the consensus, multiplied by
    `Layer.consensus_share`. The nearest-neighbor graph of the concatenated views is one more layer,
    which is computed, not learned. With numeric alpha and beta, the model is the one in the paper.

    Parameters
    ----------
    n_clusters : int or "auto"
        K, the number of clusters and of embedding columns. "auto" selects the number whose clusters
        are best separated in the common graph (modularity) and in its embedding (silhouette);
        `number_` contains the evidence. "auto" requires alpha="auto" and beta="auto".
    alpha : "auto", float > 0, or one per view (list, or dict by view name)
        Weight of ||L_m||_F^2. Larger values give more edges. For each layer, "auto" finds the value
        that gives an average of `n_neighbors` edges per node. If beta is a number, a node with
        typical distances gets that many edges instead.
    beta : "auto", float >= 0, or one per view (list, or dict by view name)
        Weight of view m in the embedding, and of the embedding in layer m. "auto" weights each view
        by its agreement with the others, and couples the layers weakly. If alpha is a number,
        "auto" gives all views equal weights.
    scale : "auto", {"minmax", "root", "hellinger", "unit", "standard", "none"}, or one per view
    (list, or dict by view name)
        Scaling of each view. "minmax" scales columns to [0, 1]; "root" does so after taking square
        roots (for histograms); "hellinger" takes square roots and scales rows to length one
        (counts); "unit" scales rows to length one (tf-idf); "standard" scales columns to variance
        1; "none" changes nothing. "auto" chooses among the first four of these based on signs,
        zeros and skewness.
    metric : {"euclidean", "cosine", "correlation", "hellinger", "hamming", "jaccard"}, or one per
    view (list, or dict by view name)
        Distance between the rows of each view. All metrics except "jaccard" are Euclidean after a
        transformation of the rows that replaces scaling: "cosine" scales rows to length one;
        "correlation" scales rows to mean zero and length one; "hellinger" takes square roots and
        scales rows to length one; "hamming" replaces every column with indicators of its values.
        "jaccard" is for rows of zeros and ones. It computes the distances between all pairs or, if
        they do not fit into memory, the distances to the 100 nearest rows. For other distances, use
        `rmgl.Precomputed`.
    n_neighbors : int
        Average number of edges per node if alpha is "auto". Larger values give smoother layers.
        Smaller values show finer structure.
    components : bool
        Whether to raise beta until every layer has exactly K components. These components become
        the clusters.
    min_cluster_size : "auto" or float >= 0
        Minimum size of a cluster that is connected to others. Members of a smaller cluster
        (`fragments_`) are left out of the embedding and join their neighbors' clusters. "auto"
        takes the size from the `policy` if alpha and beta are chosen from the data, and otherwise
        uses 0.
    align : {"outer", "inner"}, optional
        How to align DataFrames with different row labels. "outer" keeps every entity that is in at
        least one view, and "inner" keeps only those in all views. `index_` contains the labels in
        the order of `labels_`.
    missing : {"pairwise", "error"}
        How to treat individual cells that are NaN. "pairwise" computes the distance between two
        rows from the columns observed in both, and extrapolates it to all columns (formula in
        `rmgl.edges.gaps`). "error" raises an error. A row in which all cells are NaN is different:
        its entity is missing from the view.
    views : list or dict of column blocks, optional
        Column blocks of *one* 2-D input: block sizes, slices, or lists of column names or
        positions.
    solver : {"newton", "dual-ascent"}
        Solver for the layer problem. Both give the same layers; the paper uses "dual-ascent".
    candidates : "auto", "all", int, "approximate", sparse graph, or one per view (list, or dict by
    view name)
        Pairs that may become edges. With a number, the search starts from that many nearest
        neighbors and extends the lists until no other pair can have weight, so the result is exact
        (`layer.exact`). "auto" uses all pairs if that is cheaper. "approximate" neighbors
        (pynndescent) and your own graph (`KNeighborsTransformer`) give no such guarantee:
        `layer.exact` is False, and `layer.recall` estimates the share of true neighbors found.
    policy : Policy, optional
        Thresholds and rules for parameters set to "auto" (`rmgl.Policy`). `docs/defaults.md`
        explains the defaults.
    tol : float
        Stop when a round lowers the objective by at most this fraction and rotates the subspace by
        at most sqrt(tol).
    max_iter : int
        Maximum number of rounds (one round: all layers, then the embedding).
    max_seconds : float, optional
        Time limit in seconds. When it is reached, fit returns the best result so far, sets
        `converged_` to False, and issues a ConvergenceWarning. The layers of all views are always
        learned and certified first, which may exceed the limit.
    n_init : int
        Number of k-means initializations.
    n_jobs : int, optional
        Number of threads for views and for long loops over rows. -1 uses all cores, and larger
        numbers are capped at the number of cores. The result does not depend on the number of
        threads.
    random_state : int, RandomState or None
        Seed for k-means and for the samples used for quick refits and for choosing the number of
        clusters.
    verbose : int
        1 shows a progress bar on standard error with the stage, the elapsed time, and an estimate
        of the remaining time.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each entity.
    embedding_ : array of shape (N, K)
        Q, with orthonormal columns (without the rows in `fragments_`) in the order of the
        eigenvalues. If all views are networks, Q' C Q = I, where the diagonal matrix C contains the
        masses in `balance_`.
    eigenvalues_ : array of shape (K,)
        Smallest eigenvalues of sum_m beta_m L_m.
    layers_ : list of Layer
        One per view, each with its adjacency, Laplacian and certificate. With automatic choices,
        two layers may follow: "consensus", if there are several views, and "neighbors", the
        nearest-neighbor graph of the concatenated views. Neither exists if all views are networks
        or if entities share too few views, and there is no "neighbors" layer if `components` is
        True. A view's layer is learned on the entities observed in that view, and tr(L_m) is the
        number of these entities. The other entities have no edges in the layer. With automatic
        choices, rows of zeros are treated as missing.
    alpha_, beta_ : arrays
        Values of alpha and beta used for each layer.
    view_weights_ : array of shape (M,)
        Weight of each view. The weights sum to one.
    view_roughness_ : array of shape (M,) or None
        Disagreement between the layer of each view and the common embedding: 0 if neighbors have
        the same position, 1 if they are unrelated, NaN if the layer has no edges from which to
        measure it. None unless the weights were chosen from the data.
    local_scaling_ : list of LocalScaling or None
        Scales s and floors f of the nodes, for each layer. None if distances are not rescaled.
    balance_ : Balance or None
        Masses of the entities, computed from their degrees. None unless all views are networks.
    guide_ : array of shape (N, K) or None
        Rows g, whose squared distances are part of all costs.
    fragments_ : array
        Indices of the entities left out of the embedding. Each of their rows in the embedding is a
        weighted mean of the rows of its neighbors.
    placed_ : array
        Indices of the entities that were left out of the fit and placed afterwards like new rows.
        When each view separates only some of the clusters, these are the entities that are missing
        from a view. They have no edges in `layers_` and an outlier score of 0.
    scale_ : list of (name, reason)
        Scaling of each view.
    index_ : array of shape (N,) or None
        Row labels, if the views are DataFrames with row labels.
    n_clusters_ : int
        Number of clusters.
    number_ : NumberOfClusters or None
        The candidate numbers and their scores if n_clusters="auto", and None otherwise.
        `number_.range` contains the smallest and largest numbers that fit the data about as well as
        the chosen number. `number_.table` lists the stable resolutions.
    hierarchy_ : list of Level
        The chosen clustering and the stable coarser and finer clusterings, from coarse to fine, if
        n_clusters="auto". Empty otherwise.
    outlier_score_ : array of shape (N,)
        0 for an entity that is no farther from its neighbors than they are from theirs, and close
        to 1 for an outlier. Outliers that form a group have low scores.
    report_ : Report
        The automatic choices, the evidence for them, and the weak points in that evidence. Print
        the report to read it. It is computed on first access, because its quick refits may take as
        long as the fit.
    history_ : list of dict
        One row for the start and one per half step, with the objective, its terms (smoothness,
        ridge and coupling), the residuals, and the elapsed seconds.
    seconds_ : dict
        Seconds spent on "neighbors" (parameters, distances and candidate edges), "layers",
        "embedding" and "clustering".
    converged_ : bool
        Whether the alternation converged.
    n_iter_ : int
        Number of rounds.
    view_names_ : list of str
        Names of the views.
    n_features_in_ : int
        Total number of columns in all views that have columns.
    fitted_ : FittedModel
        All of these attributes in one immutable object. If a fit fails, the model keeps the
        previous object.

    References
    ----------
    S. Gurugubelli and S. P. Chepuri, "Learning Multi-layer Graphs and a Common Representation for
    Clustering", EUSIPCO 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
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
        """Learn the layers, the embedding and the labels.

        Parameters
        ----------
        X : list, tuple or dict of 2-D inputs with the same rows, or one 2-D input
            Arrays, scipy sparse matrices, or tables (pandas, polars, pyarrow) with columns of any
            type; `docs/tables.md` explains how each type is used. The inputs are not modified. A
            row of NaN means that the entity is missing from that view. Every entity must be in at
            least one view.
        y : array of shape (N,), optional
            Known labels for some entities: numbers from 0 to K - 1, and -1 for unknown. The layer
            costs tie entities with the same label together and separate entities with different
            labels, unless a first fit without the labels already agrees with 95% of them. Labeled
            entities keep their labels, and the clusters are numbered accordingly. If y contains no
            -1, it is ignored, because scikit-learn's tools pass the true classes for scoring, and a
            fit must not use them.
        observed : boolean array of shape (N, M), or one row mask per view (list, or dict by
        view name), optional
            Which entities are observed in each view. All other rows are ignored.
        callback : function, optional
            Called after every step with a dict that contains the name of the step in "step", the
            elapsed time in "seconds" and, for half steps of the alternation, the new row of
            `history_`. If it returns True, the fit ends with the best result so far, as with
            `max_seconds`.
        checkpoint : folder, optional
            Folder for the intermediate results that take longest to compute: exact searches and
            eigenvectors. To resume an interrupted fit, call it again with the same data, parameters
            and checkpoint. The fit then reads the stored results, recomputes everything else, and
            gives exactly the same result. The folder is created if it does not exist, and is not
            deleted.
        client : dask.distributed.Client, optional
            Client of the Dask workers that search for candidate pairs. This process computes
            everything else. The result is the same as without workers, and the fit survives the
            loss of some workers. With or without a client, a view may also be a Dask array or
            DataFrame, a zarr array, or the path to an .npy file, a zarr array or a folder of
            Parquet files. This process reads such views into memory. If there are any such views,
            `client` defaults to the current client, if there is one.

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
            self._learn_from(X, y, observed, run, client)
        return self

    @property
    def automatic(self) -> bool:
        """Whether alpha and beta are chosen from the data (`rmgl.automatic.choose`)."""
        return self._parameters.automatic

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # scikit-learn's checks require these tags of estimators with `predict_proba`
        tags.classifier_tags = ClassifierTags()
        return tags
