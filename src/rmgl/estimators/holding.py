"""Estimators that hold a `FittedModel`, and show its fields as attributes whose names end in an underscore."""

from __future__ import annotations

import os
import threading
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.edges.local_scaling import LocalScaling
from rmgl.estimators.base import ViewsClusterer
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.parameters import Parameters
from rmgl.layer import Layer
from rmgl.model.alternate import HistoryRow
from rmgl.results.evidence import report_of
from rmgl.results.hierarchy import Level, levels_of
from rmgl.results.report import Report
from rmgl.storage.saved_models import NOTED, read_model, write_model

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
            raise NotFittedError(f"this {owner.__name__} instance is not fitted yet: it has no {self.field}_; call fit first")
        value: Value = getattr(estimator.fitted_, self.field)
        return value

    def __set__(self, estimator: FittedClusterer, value: Value) -> None:
        changed: dict[str, Any] = {self.field: value}
        estimator.fitted_ = replace(estimator.fitted_, **changed)


class FittedClusterer(ViewsClusterer):
    """A clusterer whose `fit` sets `fitted_`."""

    fitted_: FittedModel

    alpha_ = Learned[NDArray[np.float64]]()
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
    def hierarchy_(self) -> list[Level]:
        """The chosen clusters and the stable ones above and below them, from coarse to fine; empty unless n_clusters is "auto"."""
        return [] if self.number_ is None else levels_of(self.number_, self.labels_, self.placed_)

    @cached_property
    def report_(self) -> Report:
        """What was chosen, on what evidence, and where the evidence is weak; made when it is first asked for, by one thread."""
        check_is_fitted(self)
        with REPORTING:
            if "report_" not in self.__dict__:  # another thread may have made it
                self.__dict__["report_"] = report_of(self.fitted_)
                self.fitted_ = replace(self.fitted_, evidence=None)
            made: Report = self.__dict__["report_"]
            return made

    def __dir__(self) -> list[str]:
        """The names of all attributes. Scikit-learn asks for the value of each, which would make the report."""
        lazy = {"report_"} if self.__sklearn_is_fitted__() else set()
        return [name for name in object.__dir__(self) if name in lazy or hasattr(self, name)]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """What scikit-learn's diagrams list, which ask for all values: a report that was not made is not made for them."""
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
        """Write the fitted model to one file of arrays and JSON, which `load` reads; by custom its name ends in .rmgl.

        The file is written completely or not at all, and replaces an earlier one of that name. A `random_state` that is not a number is
        not stored; row labels that are neither text nor numbers are stored as text, and functions in a `policy` by their names.
        """
        check_is_fitted(self)
        noted = {name: vars(self)[name] for name in NOTED if name in vars(self)}
        report = self.report_
        write_model(path, self.get_params(deep=False), self.fitted_, report, noted)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model that `save` wrote. Nothing in the file is executed; a damaged or foreign file raises a ValueError."""
        return read_model(path, cls)
