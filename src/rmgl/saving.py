"""Fitted models in files: what goes in, and whether what comes out is a model."""

from __future__ import annotations

import os

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rmgl.archive import read_archive, write_archive
from rmgl.estimator import RMGL

FORMAT = "rmgl model"
PRIVATE = ("_placement", "_n_features_out")


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
        raise ValueError(f"{path}: not a readable {FORMAT}; what it holds does not fit together ({error})") from error
    return model


def check_loaded(model: RMGL) -> None:
    """Whether what came from a file is a fitted model: every part of the size that the others ask for."""
    placement, views = model._placement, model._placement.views
    n, k = model.embedding_.shape
    sizes = [len(model.labels_), len(model.outlier_score_), len(placement.labels), views.n_rows]
    sizes += [layer.n_nodes for layer in model.layers_]
    if any(size != n for size in sizes) or model.n_clusters_ != k or placement.embedding.shape != (n, k):
        raise ValueError(f"sizes {sizes} where {n} rows are expected")
    if not ((placement.labels >= 0) & (placement.labels < k)).all() or len(placement.layers) != len(model.layers_):
        raise ValueError("labels beyond the number of clusters, or layers missing")
    if not len(views.names) == len(views.matrices) == len(placement.scalers) == len(model.view_names_) <= len(model.layers_):
        raise ValueError("views missing")
    for layer in placement.layers:
        nodes = np.arange(n) if layer.nodes is None else layer.nodes
        if len(layer.potentials) != len(nodes) or len(nodes) == 0 or nodes.min() < 0 or nodes.max() >= n or not layer.alpha > 0:
            raise ValueError(f"layer {layer.name!r} does not fit")
        if layer.scaling is not None and not len(layer.scaling.scales) == len(layer.scaling.floors) == len(nodes):
            raise ValueError(f"layer {layer.name!r} has scales for other nodes")
        if not len(layer.members) == len(layer.factors) or not all(0 <= m < len(views.names) for m in layer.members):
            raise ValueError(f"layer {layer.name!r} has other views")
