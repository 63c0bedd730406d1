"""Save fitted models to files, and load and check them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.archive import read_archive, write_archive
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.checks import Unsound, expect, sound_indices, sound_numbers, sound_sparse
from rmgl.layer import Layer
from rmgl.model.alternate import HISTORY, HistoryRow
from rmgl.results.report import Report
from rmgl.storage.earlier_models import upgraded
from rmgl.views.check_view import LARGEST_VALUE
from rmgl.views.scaling import METRICS, SCALES, Scaler
from rmgl.views.views import Views, check_relation, sound_gaps

FORMAT = "rmgl model"
FloatArray: TypeAlias = NDArray[np.float64]
ATTRIBUTES: dict[str, Any] = {
    "alpha_": FloatArray,
    "beta_": FloatArray,
    "converged_": bool,
    "eigenvalues_": FloatArray,
    "embedding_": FloatArray,
    "fragments_": NDArray[np.intp],
    "guide_": FloatArray | None,
    "history_": list[HistoryRow],
    "index_": NDArray[Any] | None,
    "labels_": NDArray[np.intp],
    "layers_": list[Layer],
    "n_clusters_": int,
    "n_features_in_": int,
    "n_iter_": int,
    "number_": NumberOfClusters | None,
    "outlier_score_": FloatArray,
    "placed_": NDArray[np.intp],
    "report_": Report,
    "scale_": list[tuple[str, str]],
    "seconds_": dict[str, float],
    "view_names_": list[str],
    "view_roughness_": FloatArray | None,
    "view_weights_": FloatArray,
    "_views": Views,
    "_scalers": tuple[Scaler, ...],
    "_n_features_out": int,
}
"""Attributes of a fitted model, with their types."""
OPTIONAL: dict[str, Any] = {"feature_names_in_": NDArray[Any]}
LARGEST_NUMBER = LARGEST_VALUE**2
"""Upper bound of the numbers in a fitted model, which include squared distances."""


class Loadable(Protocol):
    """An estimator that is constructed from its parameters, and checks them."""

    def __init__(self, **parameters: Any) -> None: ...

    def _check_parameters(self) -> None: ...


Model = TypeVar("Model", bound=Loadable)


def write_model(path: str | os.PathLike[str], parameters: dict[str, Any], attributes: dict[str, Any]) -> None:
    """Write the parameters and the fitted attributes of a model to one file."""
    write_archive(path, {"parameters": parameters, "attributes": attributes}, format=FORMAT)


def read_model(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Load a model from a file, as an estimator of the given kind; raise a ValueError if the file contains none."""
    content = read_archive(path, format=FORMAT, upgrade=upgraded)
    try:
        model = kind(**content["parameters"])
        model._check_parameters()
        later = {name: np.empty(0, dtype=np.intp) for name in ("fragments_", "placed_")}  # attributes that earlier models lack
        attributes = later | expect("the attributes", content["attributes"], dict[str, Any])
        check_attributes(attributes)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        detail = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(f"{path}: not a readable {FORMAT}; what it holds does not fit together{detail}: save the model again") from error
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def check_attributes(attributes: dict[str, Any]) -> None:
    """Raise a ValueError unless attributes from a file are those of a fitted model: types, matching sizes, numbers in range."""
    missing = [name for name in ATTRIBUTES if name not in attributes]
    if missing:
        raise Unsound(f"missing attributes {missing}")
    known = {**ATTRIBUTES, **OPTIONAL}
    for name, value in attributes.items():
        if name not in known:
            raise Unsound(f"unknown attribute {name!r}")
        expect(name, value, known[name])
    fitted = SimpleNamespace(**attributes)
    views, n_layers = fitted._views, len(fitted.layers_)
    n, k, n_views = views.n_rows, fitted.n_clusters_, len(views.names)
    if not 1 <= k <= n or fitted._n_features_out != k or not 1 <= n_views <= n_layers:
        raise Unsound(f"impossible numbers: {k} clusters, {n_layers} layers, {n_views} views, {n} rows")
    if not n_views == len(views.matrices) == len(fitted._scalers) == len(fitted.view_names_) == len(fitted.scale_):
        raise Unsound("the number of views, their names, scales or scalers differ")
    if [layer.views for layer in fitted.layers_ if layer.role == "view"] != [(view,) for view in range(n_views)]:
        raise Unsound("not one layer for each view")
    for embedding in (fitted.embedding_, *(() if fitted.guide_ is None else (fitted.guide_,))):
        check_numbers("the embedding", embedding, (n, k))
    check_numbers("the eigenvalues", fitted.eigenvalues_, (k,))
    for name, values in (("alpha_", fitted.alpha_), ("beta_", fitted.beta_)):
        check_numbers(name, values, (n_layers,))
    if fitted.beta_.min() < 0:
        raise Unsound("beta_ has a negative entry")
    check_numbers("the weights of the views", fitted.view_weights_, (n_views,))
    if fitted.view_roughness_ is not None:
        check_numbers("the roughness of the views", np.nan_to_num(fitted.view_roughness_, nan=1.0), (n_views,))  # NaN: it is not known
    check_numbers("the outlier scores", fitted.outlier_score_, (n,))
    sound_indices("the labels", fitted.labels_, k, size=n)
    sound_indices("the fragments", fitted.fragments_, n)
    sound_indices("the entities that were placed", fitted.placed_, n)
    learned_on = [np.arange(n) if layer.nodes is None else layer.nodes for layer in fitted.layers_]
    if (np.diff(fitted.placed_) <= 0).any() or any(np.isin(fitted.placed_, nodes).any() for nodes in learned_on if fitted.placed_.size):
        raise Unsound("the entities that were placed are not in order, or layers were learned on them")
    if fitted.index_ is not None and fitted.index_.shape != (n,):
        raise Unsound(f"{fitted.index_.size} row labels for {n} rows")
    for layer in fitted.layers_:
        check_fitted_layer(layer, n, n_views)
    if any(layer.network_share for layer in fitted.layers_) and not views.networks:
        raise Unsound("a layer was learned along networks that the model does not have")
    if any(layer.given and layer.role == "view" and layer.views[0] not in views.networks for layer in fitted.layers_):
        raise Unsound("the layer of a view is given, but the view is no network")
    if any(layer.network_share and views.relation(view) is not None for layer in fitted.layers_ for view in layer.views):
        raise Unsound("a layer was learned along networks from a view that has no rows")
    if any(view in views.networks for layer in fitted.layers_ if layer.role != "view" for view in layer.views):
        raise Unsound("a layer of all views side by side has a network among them")
    if any(layer.consensus_share for layer in fitted.layers_) and all(layer.role != "consensus" for layer in fitted.layers_):
        raise Unsound("a layer was learned with a consensus that the model does not have")
    consensus = next((layer.nodes for layer in fitted.layers_ if layer.role == "consensus"), None)
    if consensus is not None and not all(same_nodes(layer, consensus) for layer in fitted.layers_ if layer.consensus_share):
        raise Unsound("a layer was learned with a consensus of other entities")
    if fitted.number_ is not None:
        fitted.number_.check(n - fitted.placed_.size)
    if not fitted.history_ or any(set(row) != HISTORY for row in fitted.history_):
        raise Unsound("history_ is empty or has unknown entries")
    if len(fitted.report_.views) != n_views:
        raise Unsound(f"the report describes {len(fitted.report_.views)} views instead of {n_views}")
    str(fitted.report_)
    check_loaded_views(views, fitted._scalers)


def same_nodes(layer: Layer, nodes: NDArray[np.intp]) -> bool:
    """Whether a layer was learned on the given entities."""
    return layer.nodes is not None and np.array_equal(layer.nodes, nodes)


def check_fitted_layer(layer: Layer, n_rows: int, n_views: int) -> None:
    """Raise an error unless a layer is valid for a model of `n_rows` rows and `n_views` views."""
    layer.check(n_rows)
    what = f"layer {layer.name!r}"
    if not layer.views or len(layer.views) != len(layer.factors) or not all(0 <= view < n_views for view in layer.views):
        raise Unsound(f"{what} refers to views that the model does not have")
    if layer.own_potentials.size == 0 or not in_range([layer.alpha, *layer.factors]):
        raise Unsound(f"{what} has no nodes, or numbers out of range")
    check_numbers(f"the potentials of {what}", layer.potentials, (n_rows,))
    if layer.scaling is not None:
        check_numbers(f"the scales of {what}", layer.scaling.scales, layer.own_potentials.shape)
        check_numbers(f"the floors of {what}", layer.scaling.floors, layer.own_potentials.shape)


def check_numbers(what: str, values: Any, shape: tuple[int, ...]) -> None:
    """Raise an error unless `values` is an array of the given shape with numbers in range."""
    sound_numbers(what, values, shape)
    if not in_range(values):
        raise Unsound(f"{what} has numbers above {LARGEST_NUMBER:.0e}")


def check_loaded_views(views: Views, scalers: Sequence[Scaler]) -> None:
    """Raise an error unless the views of a model file have the same rows, and the scalers match their columns."""
    kinds = (("missing cells", views.gaps), ("encodings", views.encodings), ("kinds", views.relations))
    for what, parts in (("observed rows", views.present), *kinds):
        if parts and len(parts) != len(views.names):
            raise ValueError(f"{what} are given for {len(parts)} of {len(views.names)} views")
    for view, (name, X, scaler) in enumerate(zip(views.names, views.matrices, scalers, strict=True)):
        check_relation(name, X, views.relation(view), views.n_rows)
        rows = views.observed_rows(view)
        if sparse.issparse(X):
            check_numbers(f"view {name!r}", sound_sparse(f"view {name!r}", X, (views.n_rows, X.shape[1])).data, (X.nnz,))
        else:
            check_numbers(f"view {name!r}", X, (views.n_rows, X.shape[1] if getattr(X, "ndim", 0) == 2 else 0))
        if views.missing_cells(view) is not None:
            sound_gaps(f"view {name!r}", X, views.missing_cells(view))
        encoding = views.encoding(view)
        if encoding is not None:
            encoding.check(X.shape[1])
        if rows is not None:
            sound_indices(f"the rows of view {name!r}", rows, views.n_rows)
        columns = [column for column in (scaler.largest, scaler.shift, scaler.span) if column is not None]
        known = scaler.name in SCALES or scaler.name in METRICS
        if scaler.levels is not None and (scaler.name != "hamming" or X.shape[1] != sum(level.size + 1 for level in scaler.levels)):
            raise ValueError(f"the values of view {name!r} do not match its {X.shape[1]} columns")
        for level in scaler.levels or ():
            sound_numbers(f"the values of view {name!r}", level, (None,))
        if not known or len(columns) not in (0, 3) or any(column.shape != (X.shape[1],) for column in columns):
            raise ValueError(f"the scaler of view {name!r} does not match its {X.shape[1]} columns")
        if scaler.rooted is not None and (scaler.rooted.dtype != bool or scaler.rooted.shape != (X.shape[1],) or sparse.issparse(X)):
            raise ValueError(f"the scaler of view {name!r} takes square roots of columns that it does not have")
        divisors = [column for column in (scaler.largest, scaler.span) if column is not None]
        if columns and not (in_range(scaler.shift) and all((divisor > 0).all() for divisor in divisors)):
            raise ValueError(f"the scaler of view {name!r} has a divisor that is not > 0, or a shift out of range")


def in_range(*values: Any) -> bool:
    """Whether all values are finite numbers of at most `LARGEST_NUMBER`."""
    arrays = [np.asarray(value) for value in values]
    return all(array.dtype.kind in "iuf" and bool((np.abs(array.astype(np.float64)) <= LARGEST_NUMBER).all()) for array in arrays)
