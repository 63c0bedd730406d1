"""Fitted models in files: what goes in, and whether what comes out is a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmgl.alternate import HISTORY, HistoryRow
from rmgl.archive import read_archive, write_archive
from rmgl.checks import Unsound, expect, sound_indices, sound_numbers, sound_sparse
from rmgl.edges.local_scaling import LocalScaling
from rmgl.estimator import RMGL
from rmgl.layer import Layer
from rmgl.new_rows import FittedLayer, Placement
from rmgl.number_of_clusters import NumberOfClusters
from rmgl.report import Report
from rmgl.scaling import SCALES, Scaler
from rmgl.views import LARGEST_VALUE, Views

FORMAT = "rmgl model"
Vector: TypeAlias = NDArray[np.float64]
ATTRIBUTES: dict[str, Any] = {
    "alpha_": Vector,
    "beta_": Vector,
    "converged_": bool,
    "eigenvalues_": Vector,
    "embedding_": Vector,
    "guide_": Vector | None,
    "history_": list[HistoryRow],
    "index_": NDArray[Any] | None,
    "labels_": NDArray[np.intp],
    "layers_": list[Layer],
    "local_scaling_": list[LocalScaling | None],
    "n_clusters_": int,
    "n_features_in_": int,
    "n_iter_": int,
    "number_": NumberOfClusters | None,
    "outlier_score_": Vector,
    "report_": Report,
    "scale_": list[tuple[str, str]],
    "seconds_": dict[str, float],
    "view_names_": list[str],
    "view_roughness_": Vector | None,
    "view_weights_": Vector,
    "_placement": Placement,
    "_n_features_out": int,
}
"""What a fitted model has, and of what type."""
OPTIONAL: dict[str, Any] = {"feature_names_in_": NDArray[Any]}
LARGEST_NUMBER = LARGEST_VALUE**2
"""Squared distances are no larger."""


def save_model(model: RMGL, path: str | os.PathLike) -> None:
    """Parameters and fitted attributes in one file."""
    check_is_fitted(model)
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in parameters}
    write_archive(path, {"parameters": parameters, "attributes": attributes}, format=FORMAT)


def load_model(kind: type[RMGL], path: str | os.PathLike) -> RMGL:
    """The model in a file; a ValueError where it is none."""
    content = read_archive(path, format=FORMAT)
    try:
        model = kind(**content["parameters"])
        model._validate_params()
        for name, value in expect("the attributes", content["attributes"], dict[str, Any]).items():
            if name not in ATTRIBUTES and name not in OPTIONAL:
                raise ValueError(f"an attribute {name!r}")
            setattr(model, name, expect(name, value, {**ATTRIBUTES, **OPTIONAL}[name]))
        check_loaded(model)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        detail = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(f"{path}: not a readable {FORMAT}; what it holds does not fit together{detail}") from error
    return model


def check_loaded(model: RMGL) -> None:
    """Whether what came from a file is a fitted model: every part of the size that the others ask for, every number one that can be."""
    missing = [name for name in ATTRIBUTES if not hasattr(model, name)]
    if missing:
        raise Unsound(f"without {missing}")
    placement, views, n_layers = model._placement, model._placement.views, len(model.layers_)
    n, k, n_views = views.n_rows, model.n_clusters_, len(views.names)
    if not 1 <= k <= n or model._n_features_out != k or not 1 <= n_views <= n_layers:
        raise Unsound(f"{k} clusters and {n_layers} layers of {n_views} views of {n} rows")
    if not n_views == len(views.matrices) == len(placement.scalers) == len(model.view_names_) == len(model.scale_):
        raise Unsound("views missing")
    if not n_layers == len(placement.layers) == len(model.local_scaling_):
        raise Unsound("layers missing")
    for embedding in (model.embedding_, placement.embedding, *(g for g in (model.guide_, placement.guide) if g is not None)):
        are_sizes("the embedding", embedding, (n, k))
    for values in (model.eigenvalues_, placement.eigenvalues):
        are_sizes("the eigenvalues", values, (k,))
    for name, values in (("alpha_", model.alpha_), ("beta_", model.beta_)):
        are_sizes(name, values, (n_layers,))
    for values in (model.view_weights_, *(() if model.view_roughness_ is None else (model.view_roughness_,))):
        are_sizes("the weights of the views", values, (n_views,))
    are_sizes("the outlier scores", model.outlier_score_, (n,))
    for labels in (model.labels_, placement.labels):
        sound_indices("the labels", labels, k, size=n)
    if model.index_ is not None and model.index_.shape != (n,):
        raise Unsound(f"{model.index_.size} row labels for {n} rows")
    for layer in model.layers_:
        layer.check(n)
    for scaling, fitted in zip(model.local_scaling_, placement.layers, strict=True):
        check_fitted_layer(fitted, n, n_views)
        if scaling is not None:
            scaling.check(fitted.potentials.size)
    if model.number_ is not None:
        model.number_.check(n)
    if not model.history_ or any(set(row) != HISTORY for row in model.history_):
        raise Unsound("a history without rows, or with others")
    if len(model.report_.views) != n_views:
        raise Unsound("a report about other views")
    str(model.report_)
    check_loaded_views(views, placement.scalers)


def check_fitted_layer(layer: FittedLayer, n_rows: int, n_views: int) -> None:
    """Whether a layer can be one on some of the rows of some of the views."""
    what = f"layer {layer.name!r}"
    size = n_rows if layer.nodes is None else sound_indices(f"the nodes of {what}", layer.nodes, n_rows).size
    if size == 0 or not layer.alpha > 0 or layer.beta < 0 or layer.n_edges < 0:
        raise Unsound(f"{what} does not fit")
    are_sizes(f"the potentials of {what}", layer.potentials, (size,))
    if not layer.members or len(layer.members) != len(layer.factors) or not all(0 <= m < n_views for m in layer.members):
        raise Unsound(f"{what} has other views")
    if not are_numbers([layer.alpha, layer.beta, layer.n_edges, *layer.factors]):
        raise Unsound(f"{what} holds what is no number or has no meaning")
    if layer.scaling is not None:
        layer.scaling.check(size)
        are_sizes(f"the scales of {what}", layer.scaling.scales, (size,))
        are_sizes(f"the floors of {what}", layer.scaling.floors, (size,))


def are_sizes(what: str, values: Any, shape: tuple[int, ...]) -> None:
    """An array of that shape with numbers of a size that a fit can give."""
    sound_numbers(what, values, shape)
    if not are_numbers(values):
        raise Unsound(f"{what} holds numbers that no fit gives")


def check_loaded_views(views: Views, scalers: Sequence[Scaler]) -> None:
    """Whether the scaled views of a file are matrices of the same rows, and their scalers fit their columns."""
    if views.present and len(views.present) != len(views.names):
        raise ValueError("views missing")
    for view, (name, X, scaler) in enumerate(zip(views.names, views.matrices, scalers, strict=True)):
        rows = views.rows(view)
        if sparse.issparse(X):
            are_sizes(f"view {name!r}", sound_sparse(f"view {name!r}", X, (views.n_rows, X.shape[1])).data, (X.nnz,))
        else:
            are_sizes(f"view {name!r}", X, (views.n_rows, X.shape[1] if getattr(X, "ndim", 0) == 2 else 0))
        if rows is not None:
            sound_indices(f"the rows of view {name!r}", rows, views.n_rows)
        columns = [column for column in (scaler.largest, scaler.shift, scaler.span) if column is not None]
        if scaler.name not in SCALES or len(columns) not in (0, 3) or any(column.shape != (X.shape[1],) for column in columns):
            raise ValueError(f"view {name!r} has a scale that does not fit its {X.shape[1]} columns")
        divisors = [column for column in (scaler.largest, scaler.span) if column is not None]
        if columns and not (are_numbers(scaler.shift) and all((divisor > 0).all() for divisor in divisors)):
            raise ValueError(f"view {name!r} has a scale that divides by what is no number > 0")


def are_numbers(*values: Any) -> bool:
    """Finite numbers of a size that a fit can give."""
    arrays = [np.asarray(value) for value in values]
    return all(array.dtype.kind in "iuf" and bool((np.abs(array.astype(np.float64)) <= LARGEST_NUMBER).all()) for array in arrays)
