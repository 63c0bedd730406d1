"""Estimators that hold a `FittedModel`, and show its fields as attributes whose names end in an
underscore.
"""

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
from rmgl.views.views import Views

REPORTING = threading.Lock()
"""Held while a report is made: several threads may ask for that of one model."""
Value = TypeVar("Value")


class Learned(Generic[Value]):
    """A field of the fitted model as an attribute. To set it is to have another model."""

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
                f"this {owner.__name__} instance is not fitted yet: it has no {self.field}_; "
                "call fit first"
            )
        value: Value = getattr(estimator.fitted_, self.field)
        return value

    def __set__(self, estimator: FittedClusterer, value: Value) -> None:
        changed: dict[str, Any] = {self.field: value}
        estimator.fitted_ = replace(estimator.fitted_, **changed)


class FittedClusterer(ViewsClusterer):
    """A clusterer whose `fit` sets `fitted_`."""

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
        """The scales and floors of the nodes, for each layer."""
        return [layer.scaling for layer in self.layers_]

    @property
    def hierarchy_(self) -> Hierarchy:
        """The chosen clusters and the stable ones above and below them, from coarse to fine; empty
        unless n_clusters is "auto".
        """
        if self.number_ is None:
            return Hierarchy()
        return levels_of(self.number_, self.labels_, self.placed_)

    @cached_property
    def report_(self) -> Report:
        """What was chosen, on what evidence, and where the evidence is weak; made when it is first
        asked for, by one thread.
        """
        check_is_fitted(self)
        with REPORTING:
            if "report_" not in self.__dict__:  # another thread may have made it
                self.__dict__["report_"] = report_of(self.fitted_)
                self.fitted_ = replace(self.fitted_, evidence=None)
            made: Report = self.__dict__["report_"]
            return made

    def __dir__(self) -> list[str]:
        """The names of all attributes. Scikit-learn asks for the value of each, which would make
        the report.
        """
        lazy = {"report_"} if self.__sklearn_is_fitted__() else set()
        return [name for name in object.__dir__(self) if name in lazy or hasattr(self, name)]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """What scikit-learn's diagrams list, which ask for all values: a report that was not made
        is not made for them.
        """
        shown = copy(self)
        shown.__dict__.setdefault("report_", "made when it is first asked for")
        return super(FittedClusterer, shown)._get_fitted_attr_html(doc_link)

    def _keep(self, fitted: FittedModel) -> None:
        """Hold a model, without the report of an earlier one."""
        self.__dict__.pop("report_", None)
        self.fitted_ = fitted

    @property
    def _parameters(self) -> Parameters:
        return Parameters.of(self.get_params(deep=False))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file of arrays and JSON, which `load` reads; by custom its
        name ends in .rmgl.

        The file is written completely or not at all, and replaces an earlier one of that name. A
        `random_state` that is not a number is not stored; row labels that are neither text nor
        numbers are stored as text, and functions in a `policy` by their names.

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
        """Load a model that `save` wrote. Nothing in the file is executed; a damaged or foreign
        file raises a ValueError.

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
        """Assign new rows to the clusters to which they have the most edge weight in the fitted
        layers (see `predict_proba`).

        Tables are matched with those of the fit by the names of their columns: the order does not
        matter, columns that are absent count as missing cells, and further ones are ignored. A
        warning counts both; it is an error if more than half of the columns of a view are absent.

        Parameters
        ----------
        X : as for `fit`
            New entities, each observed in any of the views: a missing row is NaN, and a view in
            which none of them is observed may be left out of a dict, or be None in a list. For Dask
            arrays, the result is a Dask array with chunks of the same rows.
        observed : as for `fit`
        unknown : float above 0, at most 1, optional
            Rows that belong to no cluster get the label -1: those whose outlier score
            (`score_samples`) is above that of this share of the fitted entities. With 0.99, about
            one in a hundred new rows of the fitted clusters is lost; larger values lose fewer of
            them, and keep more rows that belong nowhere. By default, every row gets a cluster.

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
        """Compute the outlier scores of new rows, (n,), on the scale of `outlier_score_`.

        A score is 0 for a row that is no farther from its neighbors than they are from theirs, and
        near 1 far from all of them; a fitted row has its own score. Unlike the `score_samples` of
        scikit-learn's detectors, larger values are farther out. Networks have no distances, so rows
        that are in networks alone have a score of 0.

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
        """Compute the share of the edge weight of new rows that goes to each cluster, (n, K).

        Every new row becomes a node of the layer of each view in which it is observed, and of the
        consensus. All other nodes stay fixed, so its weights follow from the KKT conditions of the
        layer problem (`rmgl.placing.placement`). Layers count by `beta_`. With `by_view` the shares
        are given by layer, in the order of `layers_`: (n, layers, K), which sum to one for each
        row.

        A new row is compared with all fitted ones up to 5000, else with the nearest ones.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> model.predict_proba({"a": [[0.2], [4.9]]}).round(1).tolist()
        [[0.9, 0.1], [0.1, 0.9]]
        """
        if has_dask(X) and observed is None:
            shape = (len(self.layers_), self.n_clusters_) if by_view else (self.n_clusters_,)
            return self._by_chunk(
                partial(Predictor.predict_proba, by_view=by_view), X, shape, np.float64
            )
        votes = self._place(X, observed).votes
        return votes if by_view else votes.sum(axis=1)

    def transform(self, X: Any, *, observed: Any = None) -> Any:
        """Embed new rows, (n, K), by the eigenvector equation with all fitted rows fixed.

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
        """A Dask array of what a method returns for every chunk of rows, each in one thread."""
        from rmgl.distributed.chunks import by_chunk

        check_is_fitted(self)
        alone = copy(self)
        alone._keep(self.fitted_.for_new_rows())
        alone.n_jobs = 1
        return by_chunk(partial(method, alone), X, shape, dtype)

    def _place(self, X: Any, observed: Any = None, scored: bool = False) -> Placed:
        check_is_fitted(self)
        views = self.fitted_.views
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
        """Refuse missing cells, if that was asked for."""
        if self.missing == "error":
            views.refuse_gaps("set missing='pairwise'")


def check_unknown(share: Any) -> None:
    """Refuse a share of the fitted entities that is not above 0 and at most 1."""
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    if share is not None and not (is_number and 0 < float(share) <= 1):
        raise ValueError(
            f"unknown={share!r} is not a share of the fitted entities: give a number above 0 and "
            "at most 1, such as 0.99"
        )
