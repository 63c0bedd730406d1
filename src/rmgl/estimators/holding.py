"""Estimators that hold a `FittedModel` and expose its fields as attributes such as `labels_`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.edges.local_scaling import LocalScaling
from rmgl.embedding.balance import Balance
from rmgl.estimators.base import ViewsClusterer
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Parameters
from rmgl.layer import Layer
from rmgl.model.alternate import HistoryRow
from rmgl.placing.new_views import by_name, check_placeable, new_views, scaled_like
from rmgl.placing.placement import Placed
from rmgl.results.clusters import Hierarchy, levels_of
from rmgl.results.evidence import report_of
from rmgl.results.report import Report
from rmgl.running.threads import number_of_workers, team_of
from rmgl.storage.saved_models import NOTED, read_model, write_model
from rmgl.views.check_view import has_dask, is_collection_of_views, is_given_view
from rmgl.views.stored import read_stored
from rmgl.views.views import Views

REPORTING = threading.Lock()
"""Lock that prevents several threads from computing the report of one model at the same time."""
Value = TypeVar("Value")


class Learned(Generic[Value]):
    """Descriptor that exposes a field of the fitted model as an attribute.

    Setting the attribute replaces the fitted model with a modified copy.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.field = name.removesuffix("_")

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...

    @overload
    def __get__(self, estimator: FittedClusterer, owner: type) -> Value: ...

    def __get__(self, estimator: FittedClusterer | None, owner: type) -> Self | Value:
        if estimator is None:
            return self
        if "fitted_" not in vars(estimator):
            raise NotFittedError(
                f"this {owner.__name__} instance is not fitted yet, so it has no "
                f"{self.field}_; call fit first"
            )
        value: Value = getattr(estimator.fitted_, self.field)
        return value

    def __set__(self, estimator: FittedClusterer, value: Value) -> None:
        changed: dict[str, Any] = {self.field: value}
        estimator.fitted_ = replace(estimator.fitted_, **changed)


class FittedClusterer(ViewsClusterer):
    """A clusterer that stores its result in `fitted_`."""

    fitted_: FittedModel

    alpha_ = Learned[NDArray[np.float64]]()
    balance_ = Learned[Balance | None]()
    beta_ = Learned[NDArray[np.float64]]()
    converged_ = Learned[bool]()
    eigenvalues_ = Learned[NDArray[np.float64]]()
    embedding_ = Learned[NDArray[np.float64]]()
    fragments_ = Learned[NDArray[np.intp]]()
    guide_ = Learned[NDArray[np.float64] | None]()
    history_ = Learned[list[HistoryRow]]()
    index_ = Learned[NDArray[Any] | None]()
    labels_ = Learned[NDArray[np.intp]]()
    layers_ = Learned[list[Layer]]()
    n_clusters_ = Learned[int]()
    n_iter_ = Learned[int]()
    number_ = Learned[NumberOfClusters | None]()
    outlier_score_ = Learned[NDArray[np.float64]]()
    placed_ = Learned[NDArray[np.intp]]()
    scale_ = Learned[list[tuple[str, str]]]()
    seconds_ = Learned[dict[str, float]]()
    view_names_ = Learned[list[str]]()
    view_roughness_ = Learned[NDArray[np.float64] | None]()
    view_weights_ = Learned[NDArray[np.float64]]()

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in vars(self)

    @property
    def local_scaling_(self) -> list[LocalScaling | None]:
        """Scales and floors of the nodes. The list has one entry per layer."""
        return [layer.scaling for layer in self.layers_]

    @property
    def hierarchy_(self) -> Hierarchy:
        """The chosen clustering and the stable coarser and finer clusterings, from coarse to fine.
        Empty unless n_clusters="auto".
        """
        if self.number_ is None:
            return Hierarchy()
        return levels_of(self.number_, self.labels_, self.placed_)

    @cached_property
    def report_(self) -> Report:
        """The automatic choices, the evidence for them, and the weak points in that evidence. The
        report is computed on first access.
        """
        check_is_fitted(self)
        with REPORTING:
            if "report_" not in self.__dict__:  # another thread may have computed it
                self.__dict__["report_"] = report_of(self.fitted_)
                self.fitted_ = replace(self.fitted_, evidence=None)
            made: Report = self.__dict__["report_"]
            return made

    def __dir__(self) -> list[str]:
        """List the names of all attributes without computing the report. scikit-learn's
        implementation reads every value.
        """
        lazy = {"report_"} if self.__sklearn_is_fitted__() else set()
        return [name for name in object.__dir__(self) if name in lazy or hasattr(self, name)]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return the attributes for scikit-learn's diagrams without computing the report."""
        shown = copy(self)
        shown.__dict__.setdefault("report_", "computed on first access")
        return super(FittedClusterer, shown)._get_fitted_attr_html(doc_link)

    def _keep(self, fitted: FittedModel) -> None:
        """Store a fitted model and discard any earlier report."""
        self.__dict__.pop("report_", None)
        self.fitted_ = fitted

    @property
    def _parameters(self) -> Parameters:
        return Parameters.of(self.get_params(deep=False))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to one file that `load` can read. The file name usually ends in
        .rmgl.

        The file contains arrays and JSON. It is written completely or not at all, and overwrites an
        existing file. A `random_state` that is not a number is not saved. Row labels that are
        neither text nor numbers are saved as text. Functions in a `policy` are saved by name.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.rmgl")
        ...     [path.name for path in Path(folder).iterdir()]
        ['model.rmgl']
        """
        check_is_fitted(self)
        noted = {name: vars(self)[name] for name in NOTED if name in vars(self)}
        report = self.report_
        write_model(path, self.get_params(deep=False), self.fitted_, report, noted)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model from a file written by `save`.

        Loading never executes code from the file. If the file is damaged or in a different format,
        `load` raises a ValueError.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.rmgl")
        ...     loaded = RMGL.load(Path(folder) / "model.rmgl")
        >>> loaded.predict([[0.2], [4.9]]).tolist()
        [0, 1]
        """
        return read_model(path, cls)


class Predictor(FittedClusterer):
    """A fitted clusterer that labels and embeds new rows."""

    align: str | None
    missing: str
    n_jobs: int | None

    def predict(self, X: Any, *, observed: Any = None, unknown: float | None = None) -> Any:
        """Assign each new row to the cluster to which it has the most edge weight (see
        `predict_proba`).

        Table columns are matched by name to the columns seen during fit, in any order. Missing
        columns are treated as missing cells, and additional columns are ignored. A warning reports
        how many columns are missing and how many are ignored. If more than half of a view's columns
        are missing, `predict` raises a ValueError.

        Parameters
        ----------
        X : as for `fit`
            New entities. Each entity must be observed in at least one view. If an entity is missing
            from a view, fill its row in that view with NaN. A view that contains none of the new
            entities may be left out of a dict, or be None in a list. For Dask arrays, the result is
            a Dask array with the same row chunks.
        observed : as for `fit`
        unknown : float above 0, at most 1, optional
            Rows that do not fit any cluster are labeled -1. These are the rows whose outlier score
            (`score_samples`) is higher than the scores of this fraction of the entities in the fit.
            With 0.99, about one in a hundred new rows from the model's clusters is labeled -1 by
            mistake. Larger values lead to fewer such mistakes, but also accept more rows that
            belong to no cluster. By default, every row is assigned to a cluster.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.predict({"a": [[0.2], [5.2], [90.0]]}, unknown=1.0).tolist()
        [0, 1, -1]
        """
        check_unknown(unknown)
        if has_dask(X) and observed is None:
            return self._by_chunk(partial(Predictor.predict, unknown=unknown), X, (), np.intp)
        placed = self._place(X, observed, scored=unknown is not None)
        labels = placed.votes.sum(axis=1).argmax(axis=1)
        if unknown is None:
            return labels
        return np.where(placed.scores > self.fitted_.farthest(unknown), -1, labels)

    def score_samples(self, X: Any, *, observed: Any = None) -> Any:
        """Compute the outlier scores of new rows, shape (n,), on the same scale as
        `outlier_score_`.

        The score is 0 for a row that is no farther from its neighbors than they are from theirs,
        and approaches 1 for a row that is far from all of its neighbors. A row from the fit keeps
        its score. Unlike the `score_samples` of scikit-learn's detectors, larger values mean
        stronger outliers. Networks have no distances, so rows observed only in networks have a
        score of 0.

        Parameters
        ----------
        X, observed : as for `predict`

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> scores = RMGL(2, random_state=0).fit(views).score_samples({"a": [[0.2], [90.0]]})
        >>> bool(scores[0] < 0.5 < scores[1])
        True
        """
        if has_dask(X) and observed is None:
            return self._by_chunk(Predictor.score_samples, X, (), np.float64)
        return self._place(X, observed, scored=True).scores

    def predict_proba(self, X: Any, *, observed: Any = None, by_view: bool = False) -> Any:
        """Compute the share of each new row's edge weight that goes to each cluster, shape (n, K).

        Each new row becomes a node in the layer of every view in which it is observed, and in the
        consensus. All other nodes stay fixed, so the KKT conditions of the layer problem determine
        the weights of its edges (`rmgl.placing.placement`). Layers are weighted by `beta_`. With
        `by_view`, the result has shape (n, layers, K) and splits the shares by layer, in the order
        of `layers_`. The shares of each row sum to one.

        With up to 5000 rows in the fit, a new row is compared with all of them. With more, it is
        compared with its nearest neighbors.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.predict_proba({"a": [[0.2], [4.9]]}).round(1).tolist()
        [[0.8, 0.2], [0.2, 0.8]]
        """
        if has_dask(X) and observed is None:
            shape = (len(self.layers_), self.n_clusters_) if by_view else (self.n_clusters_,)
            return self._by_chunk(
                partial(Predictor.predict_proba, by_view=by_view), X, shape, np.float64
            )
        votes = self._place(X, observed).votes
        return votes if by_view else votes.sum(axis=1)

    def transform(self, X: Any, *, observed: Any = None) -> Any:
        """Embed new rows by solving the eigenvector equation with all training rows held fixed.
        The result has shape (n, K).

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.transform({"a": [[0.2], [4.9]]}).shape
        (2, 2)
        """
        if has_dask(X) and observed is None:
            return self._by_chunk(Predictor.transform, X, (self._n_features_out,), np.float64)
        return self._place(X, observed).embedding

    def _by_chunk(
        self, method: Callable[[Any, Any], Any], X: Any, shape: tuple[int, ...], dtype: Any
    ) -> Any:
        """Apply a method to every row chunk, each in one thread, and return a Dask array."""
        from rmgl.distributed.chunks import by_chunk

        check_is_fitted(self)
        alone = copy(self)
        alone._keep(self.fitted_.for_new_rows())
        alone.n_jobs = 1
        return by_chunk(partial(method, alone), X, shape, dtype)

    def _place(self, X: Any, observed: Any = None, scored: bool = False) -> Placed:
        check_is_fitted(self)
        views, X = self.fitted_.views, read_stored(X, self.align is not None)
        numbers = views[0].rows is not None and views[0].encoding is None
        features = numbers and not is_collection_of_views(X) and not is_given_view(X)
        one_matrix = features and not isinstance(X, Views) and getattr(X, "ndim", 2) == 2
        if one_matrix and not by_name(views, X):
            validate_data(self, X, reset=False, skip_check_array=True)
        new = new_views(views, X, self.views, align=self.align, observed=observed)
        self._check_cells(new)
        with team_of(number_of_workers(self.n_jobs)) as team:
            return self.fitted_.placement(scored).place(
                scaled_like(views, check_placeable(views, new)), team
            )

    def _check_cells(self, views: Views) -> None:
        """Raise a ValueError if cells are missing and `missing` is "error"."""
        if self.missing == "error":
            views.refuse_gaps("set missing='pairwise'")


def check_unknown(share: Any) -> None:
    """Raise a ValueError unless the share is above 0 and at most 1."""
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    if share is not None and not (is_number and 0 < float(share) <= 1):
        raise ValueError(
            f"unknown={share!r} is not a valid fraction of the entities in the fit; use a number "
            "above 0 and at most 1, such as 0.99"
        )
