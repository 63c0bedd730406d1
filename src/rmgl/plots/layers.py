"""Edge weight of layers inside and between clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rmgl.layer import Layer
from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import axes_of, draw_borders, new_figure
from rmgl.plots.embedding import labels_in
from rmgl.plots.models import fitted_model, formerly, model_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def layers_in(given: Any) -> Sequence[Layer]:
    """Return the layers of a model, or the given layers."""
    if isinstance(given, Layer):
        return [given]
    if isinstance(given, list | tuple) and all(isinstance(layer, Layer) for layer in given):
        return given
    return fitted_model(given).layers


def layer_in(given: Any, layer: str | int) -> Layer:
    """Return one layer of a model by name or position, or the given layer."""
    layers = layers_in(given)
    names = [one.name for one in layers]
    if model_in(given) is None:
        return layers[0]
    if isinstance(layer, str) and layer in names:
        return layers[names.index(layer)]
    if not isinstance(layer, str) and -len(layers) <= layer < len(layers):
        return layers[layer]
    raise ValueError(
        f"layer={layer!r} is not a layer of the model; use a position below "
        f"{len(layers)}, or one of the names {names}"
    )


@formerly("layer")
def layer_data(
    model: Any, labels: ArrayLike | None = None, *, layer: str | int = 0, n_bins: int = 120
) -> tuple[Floats, Indices]:
    """Compute the mean edge weight in the cells of a grid over the adjacency matrix with nodes
    ordered by cluster, and the rows at which clusters end.

    Parameters
    ----------
    model : fitted RMGL, or Layer
    labels : array of N labels, optional
        Labels of the nodes. By default, the clusters of the model. Required for a `Layer`.
    layer : str or int, default 0
        Name or position of a layer of the model.
    n_bins : int, default 120
        Number of cells along each side.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> image, ends = layer_data(model, layer="a")
    >>> image.shape, ends.tolist()
    ((6, 6), [3, 6])
    """
    shown = layer_in(model, layer)
    labels = labels_in(model, labels, shown.n_nodes)
    order = np.argsort(labels, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    n_bins = min(n_bins, order.size)
    cell = rank * n_bins // order.size
    size = np.bincount(cell, minlength=n_bins)
    entries = shown.adjacency.tocoo()
    flat = cell[entries.row] * n_bins + cell[entries.col]
    total = np.bincount(flat, weights=entries.data, minlength=n_bins * n_bins).reshape(
        n_bins, n_bins
    )
    _, counts = np.unique(labels, return_counts=True)
    return total / np.outer(size, size), np.cumsum(counts)


@formerly("layer")
def plot_layer(
    model: Any,
    labels: ArrayLike | None = None,
    *,
    layer: str | int = 0,
    ax: Axes | None = None,
    n_bins: int = 120,
) -> Axes:
    """Plot the adjacency matrix of one layer as an image, with nodes ordered by cluster. Dark
    blocks are clusters.

    Parameters
    ----------
    model, labels, layer, n_bins : as for `layer_data`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> ax = plot_layer(model, layer="a", ax=Figure().subplots())
    >>> ax.get_title().splitlines()[0]
    'a'
    """
    image, ends = layer_data(model, labels, layer=layer, n_bins=n_bins)
    ax, shown = axes_of(ax), layer_in(model, layer)
    from matplotlib.colors import LogNorm

    present = image[image > 0]
    high = float(np.quantile(present, 0.995)) if present.size else 1.0
    n = shown.n_nodes
    ax.imshow(
        np.where(image > 0, image, np.nan),
        cmap="magma_r",
        norm=LogNorm(high / 300, high, clip=True),
        extent=(0, n, n, 0),
        interpolation="nearest",
    )
    draw_borders(ax, ends, color="0.6", linewidth=0.4)
    parts = "1 component" if shown.n_components == 1 else f"{shown.n_components} components"
    ax.set(xticks=[], yticks=[])
    ax.set_title(
        f"{shown.name}\n{2 * shown.n_edges / n:.0f} edges per node, {parts}",
        fontsize=9,
        parse_math=False,
    )
    return ax


@formerly("layers")
def draw_layers(model: Any, labels: ArrayLike | None = None, *, n_bins: int = 120) -> Figure:
    """Draw all layers of a model side by side in a new figure, without opening a window.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> figure = draw_layers(model)
    >>> len(figure.axes) == len(model.layers_)
    True
    """
    layers = layers_in(model)
    labels = labels_in(model, labels, layers[0].n_nodes)
    columns = min(3, len(layers))
    lines = -(-len(layers) // columns)
    figure = new_figure(2.8 * columns, 3.1 * lines)
    for place, layer in enumerate(layers, start=1):
        plot_layer(layer, labels, ax=figure.add_subplot(lines, columns, place), n_bins=n_bins)
    figure.suptitle(
        "Learned layers, nodes ordered by cluster (darker: larger weight, logarithmic)", fontsize=11
    )
    return figure
