"""Checks of the parts of a fitted model that was read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rmgl.checks import Unsound, sound_numbers
from rmgl.layer import Layer
from rmgl.views.spread import LARGEST_VALUE
from rmgl.views.views import Views

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
    if layer.network_share and not views.graphs:
        raise Unsound("a layer was learned along networks that the model does not have")
    if layer.given and layer.role == "view" and layer.views[0] not in views.graphs:
        raise Unsound("the layer of a view is given, but the view is no network")
    if layer.network_share and any(views[view].rows is None for view in layer.views):
        raise Unsound("a layer was learned along networks from a view that has no rows")
    if layer.role != "view" and any(view in views.graphs for view in layer.views):
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
