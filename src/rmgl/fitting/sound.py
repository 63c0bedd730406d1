"""Checks of the parts of a fitted model that was read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.layer import Layer
from rmgl.views.check_view import LARGEST_VALUE
from rmgl.views.matrix import Matrix
from rmgl.views.scaling import METRICS, SCALES, Scaler
from rmgl.views.views import Views, check_relation, sound_gaps

LARGEST_NUMBER = LARGEST_VALUE**2
"""Upper bound of the numbers in a fitted model, which include squared distances."""


def check_numbers(what: str, values: Any, shape: tuple[int, ...]) -> None:
    """Raise an error unless `values` is an array of the given shape with numbers in range."""
    sound_numbers(what, values, shape)
    if not in_range(values):
        raise Unsound(f"{what} has numbers above {LARGEST_NUMBER:.0e}")


def in_range(*values: Any) -> bool:
    """Whether all values are finite numbers of at most `LARGEST_NUMBER`."""
    arrays = [np.asarray(value) for value in values]
    return all(array.dtype.kind in "iuf" and bool((np.abs(array.astype(np.float64)) <= LARGEST_NUMBER).all()) for array in arrays)


def check_layers(layers: Sequence[Layer], views: Views) -> None:
    """Raise an error unless layers are valid, and can have been learned from these views."""
    if [layer.views for layer in layers if layer.role == "view"] != [(view,) for view in range(len(views.names))]:
        raise Unsound("not one layer for each view")
    for layer in layers:
        check_layer(layer, views.n_rows, len(views.names))
        check_origin(layer, views)
    check_consensus(layers)


def check_layer(layer: Layer, n_rows: int, n_views: int) -> None:
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


def check_origin(layer: Layer, views: Views) -> None:
    """Raise an error unless the views of a layer, and the networks, are such that it can have been learned from them."""
    if layer.network_share and not views.networks:
        raise Unsound("a layer was learned along networks that the model does not have")
    if layer.given and layer.role == "view" and layer.views[0] not in views.networks:
        raise Unsound("the layer of a view is given, but the view is no network")
    if layer.network_share and any(views.relation(view) is not None for view in layer.views):
        raise Unsound("a layer was learned along networks from a view that has no rows")
    if layer.role != "view" and any(view in views.networks for view in layer.views):
        raise Unsound("a layer of all views side by side has a network among them")


def check_consensus(layers: Sequence[Layer]) -> None:
    """Raise an error unless layers that were learned with costs of the consensus have one, of the same entities."""
    with_costs = [layer for layer in layers if layer.consensus_share]
    consensus = next((layer for layer in layers if layer.role == "consensus"), None)
    if consensus is None and with_costs:
        raise Unsound("a layer was learned with a consensus that the model does not have")
    if consensus is None or consensus.nodes is None:
        return
    if not all(layer.nodes is not None and np.array_equal(layer.nodes, consensus.nodes) for layer in with_costs):
        raise Unsound("a layer was learned with a consensus of other entities")


def check_views(views: Views, scalers: Sequence[Scaler]) -> None:
    """Raise an error unless the views of a model have the same rows, and the scalers match their columns."""
    kinds = (("missing cells", views.gaps), ("encodings", views.encodings), ("kinds", views.relations))
    for what, parts in (("observed rows", views.present), *kinds):
        if parts and len(parts) != len(views.names):
            raise ValueError(f"{what} are given for {len(parts)} of {len(views.names)} views")
    for view, (name, scaler) in enumerate(zip(views.names, scalers, strict=True)):
        check_rows(views, view)
        check_levels(name, views.matrices[view], scaler)
        check_scaler(name, views.matrices[view], scaler)


def check_rows(views: Views, view: int) -> None:
    """Raise an error unless the rows of a view, its missing ones and cells, and its encoding are valid."""
    what, X, rows = f"view {views.names[view]!r}", views.matrices[view], views.observed_rows(view)
    check_relation(views.names[view], X, views.relation(view), views.n_rows)
    if sparse.issparse(X):
        check_numbers(what, sound_sparse(what, X, (views.n_rows, X.shape[1])).data, (X.nnz,))
    else:
        check_numbers(what, X, (views.n_rows, X.shape[1] if getattr(X, "ndim", 0) == 2 else 0))
    if views.missing_cells(view) is not None:
        sound_gaps(what, X, views.missing_cells(view))
    encoding = views.encoding(view)
    if encoding is not None:
        encoding.check(X.shape[1])
    if rows is not None:
        sound_indices(f"the rows of {what}", rows, views.n_rows)


def check_levels(name: str, X: Matrix, scaler: Scaler) -> None:
    """Raise an error unless the values that a scaler makes indicators of give the columns of the view."""
    levels = scaler.levels
    if levels is None:
        return
    if scaler.name != "hamming" or X.shape[1] != sum(level.size + 1 for level in levels):
        raise ValueError(f"the values of view {name!r} do not match its {X.shape[1]} columns")
    for level in levels:
        sound_numbers(f"the values of view {name!r}", level, (None,))


def check_scaler(name: str, X: Matrix, scaler: Scaler) -> None:
    """Raise an error unless a scaler is known, and has a divisor > 0 and a shift for each column of the view, or for none."""
    columns = [column for column in (scaler.largest, scaler.shift, scaler.span) if column is not None]
    known = scaler.name in SCALES or scaler.name in METRICS
    if not known or len(columns) not in (0, 3) or any(column.shape != (X.shape[1],) for column in columns):
        raise ValueError(f"the scaler of view {name!r} does not match its {X.shape[1]} columns")
    if scaler.rooted is not None and (scaler.rooted.dtype != bool or scaler.rooted.shape != (X.shape[1],) or sparse.issparse(X)):
        raise ValueError(f"the scaler of view {name!r} takes square roots of columns that it does not have")
    divisors = [column for column in (scaler.largest, scaler.span) if column is not None]
    if columns and not (in_range(scaler.shift) and all((divisor > 0).all() for divisor in divisors)):
        raise ValueError(f"the scaler of view {name!r} has a divisor that is not > 0, or a shift out of range")
