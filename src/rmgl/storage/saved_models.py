"""Save fitted models to files, and load and check them.

A file holds the estimator's parameters and its fitted attributes: the fields of a `FittedModel`
under their names in the estimator, the report, and scikit-learn's attributes for input columns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.archive import read_archive, write_archive
from rmgl.checks import Unsound, expect
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Parameters, storable
from rmgl.results.report import Report
from rmgl.storage.earlier_models import upgraded
from rmgl.views.jaccard import JaccardView
from rmgl.views.network import NetworkView
from rmgl.views.precomputed import PrecomputedView
from rmgl.views.views import Views

MODEL_FORMAT = "rmgl model"
HIDDEN = {"views": "_views"}
"""Fields of a `FittedModel` that earlier estimators kept as private attributes."""
NOT_IN_FILES = ("parameters", "evidence")
"""Fields of a `FittedModel` that files do not store as attributes."""
NAMES = {
    field.name: HIDDEN.get(field.name, f"{field.name}_")
    for field in fields(FittedModel)
    if field.name not in NOT_IN_FILES
}
"""The other fields, with their names in a file."""
KINDS_OF_VIEWS = (NetworkView, PrecomputedView, JaccardView)
"""Views of pairs that files may hold. A process that only loads models must also know them."""
NOTED: dict[str, Any] = {"n_features_in_": int, "feature_names_in_": NDArray[Any]}
"""Scikit-learn's attributes for input columns. Column names are known only for a single table."""


class Loadable(Protocol):
    """An estimator that is constructed from its parameters, and checks them."""

    def __init__(self, **parameters: Any) -> None: ...

    def _check_parameters(self) -> None: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


Model = TypeVar("Model", bound=Loadable)


def write_model(
    path: str | os.PathLike[str],
    parameters: dict[str, Any],
    fitted: FittedModel,
    report: Report,
    noted: Mapping[str, Any],
) -> None:
    """Write a fitted model, with its estimator's parameters and attributes, to one file."""
    learned = {name: getattr(fitted, field) for field, name in NAMES.items()}
    attributes = {
        **learned,
        **noted,
        "_views": fitted.views,
        "_n_features_out": fitted.n_columns,
        "report_": report,
    }
    write_archive(
        path, {"parameters": storable(parameters), "attributes": attributes}, format=MODEL_FORMAT
    )


def read_model(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Load a model from a file, as an estimator of the specified class."""
    content = read_archive(path, format=MODEL_FORMAT, upgrade=upgraded)
    try:
        model = kind(**content["parameters"])
        model._check_parameters()
        # attributes that earlier models lack
        later: dict[str, Any] = {
            **{name: np.empty(0, dtype=np.intp) for name in ("fragments_", "placed_")},
            "balance_": None,
        }
        attributes = later | expect("the attributes", content["attributes"], dict[str, Any])
        check_types(attributes)
        learned = {field: attributes[name] for field, name in NAMES.items()}
        fitted = FittedModel(parameters=Parameters.of(model.get_params(deep=False)), **learned)
        fitted.check()
        check_beside(fitted, attributes)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        detail = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(
            f"{path}: not a readable {MODEL_FORMAT}; the file is inconsistent{detail}: save the "
            "model again"
        ) from error
    noted = {name: attributes[name] for name in NOTED if name in attributes}
    vars(model).update(noted, fitted_=fitted, report_=attributes["report_"])
    return model


def check_types(attributes: dict[str, Any]) -> None:
    """Raise an error unless the attributes in a file are those of a model, with the right types."""
    hints = get_type_hints(FittedModel)
    known = {name: hints[field] for field, name in NAMES.items()}
    known |= {**NOTED, "_views": Views, "_n_features_out": int, "report_": Report}
    missing = [name for name in known if name not in attributes and name != "feature_names_in_"]
    if missing:
        raise Unsound(f"missing attributes {missing}")
    for name, value in attributes.items():
        if name not in known:
            raise Unsound(f"unknown attribute {name!r}")
        expect(name, value, known[name])


def check_beside(fitted: FittedModel, attributes: dict[str, Any]) -> None:
    """Raise an error unless the report and the number of columns match the model."""
    report, n_views = attributes["report_"], len(fitted.view_names)
    if attributes["_n_features_out"] != fitted.n_columns:
        raise Unsound(
            f"it declares {attributes['_n_features_out']} embedding columns instead of "
            f"{fitted.n_columns}"
        )
    if len(report.views) != n_views:
        raise Unsound(f"the report describes {len(report.views)} views instead of {n_views}")
    str(report)
