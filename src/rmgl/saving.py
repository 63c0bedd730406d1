"""Fitted models in files: what goes in, and whether what comes out is a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rmgl.archive import read_archive, write_archive
from rmgl.estimator import RMGL
from rmgl.report import Report
from rmgl.scaling import SCALES, Scaler
from rmgl.views import LARGEST_VALUE, Views

FORMAT = "rmgl model"
FITTED = ("alpha_", "beta_", "converged_", "eigenvalues_", "history_", "n_features_in_", "n_iter_", "report_", "scale_", "view_weights_")
PRIVATE = ("_placement", "_n_features_out")
LARGEST_NUMBER = LARGEST_VALUE**2
"""Squared distances are no larger."""
SMALLEST_SCALE = float(np.sqrt(5e-324))


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
        for name, value in content["attributes"].items():
            if not (name in PRIVATE or (name.endswith("_") and not name.startswith("_"))) or hasattr(kind, name):
                raise ValueError(f"an attribute {name!r}")
            setattr(model, name, value)
        check_loaded(model)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        detail = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(f"{path}: not a readable {FORMAT}; what it holds does not fit together{detail}") from error
    return model


def check_loaded(model: RMGL) -> None:
    """Whether what came from a file is a fitted model: every part of the size that the others ask for."""
    placement, views = model._placement, model._placement.views
    missing = [name for name in FITTED if not hasattr(model, name)]
    if missing or not isinstance(model.report_, Report) or not isinstance(model.history_, list):
        raise ValueError(f"without {missing}" if missing else "a report or history of another kind")
    if model.embedding_.ndim != 2:
        raise ValueError("an embedding that is no matrix")
    n, k = model.embedding_.shape
    sizes = [len(model.labels_), len(model.outlier_score_), len(placement.labels), views.n_rows]
    sizes += [layer.n_nodes for layer in model.layers_]
    if any(size != n for size in sizes) or model.n_clusters_ != k or placement.embedding.shape != (n, k):
        raise ValueError(f"sizes {sizes} where {n} rows are expected")
    if placement.labels.shape != (n,) or placement.labels.dtype.kind not in "iu":
        raise ValueError("labels that are no whole numbers")
    if not ((placement.labels >= 0) & (placement.labels < k)).all() or len(placement.layers) != len(model.layers_):
        raise ValueError("labels beyond the number of clusters, or layers missing")
    if not len(views.names) == len(views.matrices) == len(placement.scalers) == len(model.view_names_) <= len(model.layers_):
        raise ValueError("views missing")
    for layer in placement.layers:
        nodes = np.arange(n) if layer.nodes is None else layer.nodes
        if nodes.dtype.kind not in "iu":
            raise ValueError(f"layer {layer.name!r} has nodes that are no whole numbers")
        if layer.potentials.shape != nodes.shape or len(nodes) == 0 or nodes.min() < 0 or nodes.max() >= n or not layer.alpha > 0:
            raise ValueError(f"layer {layer.name!r} does not fit")
        if layer.scaling is not None and not layer.scaling.scales.shape == layer.scaling.floors.shape == nodes.shape:
            raise ValueError(f"layer {layer.name!r} has scales for other nodes")
        if not len(layer.members) == len(layer.factors) or not all(0 <= m < len(views.names) for m in layer.members):
            raise ValueError(f"layer {layer.name!r} has other views")
        if not are_numbers(layer.potentials, [layer.alpha, layer.beta, layer.n_edges, *layer.factors]) or layer.beta < 0:
            raise ValueError(f"layer {layer.name!r} holds what is no number or has no meaning")
        if layer.scaling is not None and not are_distances(layer.scaling.scales, layer.scaling.floors):
            raise ValueError(f"layer {layer.name!r} has scales that are no distances")
    if placement.eigenvalues.shape != (k,) or (placement.guide is not None and placement.guide.shape != (n, k)):
        raise ValueError(f"eigenvalues or a guide of another size than the {k} columns of the embedding")
    if not are_numbers(placement.embedding, placement.eigenvalues, 0.0 if placement.guide is None else placement.guide):
        raise ValueError("an embedding with entries that are no numbers")
    check_loaded_views(views, placement.scalers)


def check_loaded_views(views: Views, scalers: Sequence[Scaler]) -> None:
    """Whether the scaled views of a file are matrices of the same rows, and their scalers fit their columns."""
    if views.present and len(views.present) != len(views.names):
        raise ValueError("views missing")
    for view, (name, X, scaler) in enumerate(zip(views.names, views.matrices, scalers, strict=True)):
        rows = views.rows(view)
        if X.ndim != 2 or X.shape[0] != views.n_rows or not are_numbers(X.data if sparse.issparse(X) else X):
            raise ValueError(f"view {name!r} is no matrix of finite numbers with {views.n_rows} rows")
        if rows is not None and (rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= views.n_rows):
            raise ValueError(f"view {name!r} has rows beyond the {views.n_rows} of all views")
        columns = [column for column in (scaler.largest, scaler.shift, scaler.span) if column is not None]
        if scaler.name not in SCALES or len(columns) not in (0, 3) or any(column.shape != (X.shape[1],) for column in columns):
            raise ValueError(f"view {name!r} has a scale that does not fit its {X.shape[1]} columns")
        divisors = [column for column in (scaler.largest, scaler.span) if column is not None]
        if columns and not (are_numbers(scaler.shift) and all((divisor > 0).all() for divisor in divisors)):
            raise ValueError(f"view {name!r} has a scale that divides by what is no number > 0")


def are_distances(scales: Any, floors: Any) -> bool:
    """Scales that can be squared and divided by, and floors."""
    return are_numbers(scales, floors) and bool((scales >= SMALLEST_SCALE).all() and (floors >= 0).all())


def are_numbers(*values: Any) -> bool:
    """Finite numbers of a size that a fit can give."""
    arrays = [np.asarray(value) for value in values]
    return all(array.dtype.kind in "iuf" and bool((np.abs(array.astype(np.float64)) <= LARGEST_NUMBER).all()) for array in arrays)
