"""Plots of a fitted model. Functions `..._data` return the numbers; `plot_...` draw them on an Axes
and return it.

Nothing is shown or saved here. Matplotlib (extra `plot`) is imported when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.embedding.layout import neighbor_layout
from rmgl.extras import not_installed
from rmgl.layer import Layer
from rmgl.running.threads import single_threaded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_embedding",
    "draw_layers",
    "draw_number_of_clusters",
    "embedding_data",
    "layer_data",
    "plot_convergence",
    "plot_embedding",
    "plot_layer",
    "plot_number_of_clusters",
]

# Ten colors that color-blind readers can distinguish (seven of Okabe and Ito's, black, a violet and
# a gray). Further clusters repeat them with other markers, and every cluster is labeled with its
# number.
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#B8A900",
    "#000000",
    "#7F3C8D",
    "#8C8C8C",
)
NEIGHBOR_METHODS = ("neighbors", "tsne")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
LAYOUT_ROWS = 20_000
"""Rows beyond which a random sample of as many is laid out."""


def embedding_data(
    embedding: ArrayLike,
    *,
    method: str = "neighbors",
    random_state: int = 0,
    progress: Callable[[float], None] = lambda part: None,
) -> NDArray[np.float64]:
    """Compute two coordinates per node, (N, 2), from the rows of the common embedding.

    "neighbors" keeps neighbors together and all others apart, as t-SNE does, in a tenth of its
    time; "tsne" is t-SNE itself, "pca" is the fastest, and "last" uses the last two columns, as the
    paper does. `progress` is told the part of "neighbors" that is done.
    """
    rows = np.asarray(embedding, dtype=np.float64)
    if method == "last":
        return np.pad(rows, ((0, 0), (max(0, 2 - rows.shape[1]), 0)))[:, -2:]
    if method == "pca" or (method in NEIGHBOR_METHODS and not _has_neighbors(rows)):
        components = min(2, *rows.shape)
        with np.errstate(invalid="ignore"):  # of one cluster all rows are equal
            return np.pad(PCA(components).fit_transform(rows), ((0, 0), (0, 2 - components)))
    # rows of length about 1: t-SNE stops too early on small distances
    scaled = rows * np.sqrt(len(rows))
    if method == "neighbors":
        return _kept_layout(scaled, random_state, progress).copy()
    if method == "tsne":
        with single_threaded("openmp"):  # threads that wait for one another take longer
            found = TSNE(
                perplexity=min(30, (len(rows) - 1) / 3), init="pca", random_state=random_state
            ).fit_transform(scaled)
        return np.asarray(found, dtype=np.float64)
    raise ValueError(f"method={method!r} is not known: use 'neighbors', 'tsne', 'pca' or 'last'")


_last_layout: dict[tuple[bytes, int], NDArray[np.float64]] = {}


def _kept_layout(
    rows: NDArray[np.float64], seed: int, progress: Callable[[float], None]
) -> NDArray[np.float64]:
    """The layout of rows. The last one is kept, because the pictures and the page of a model show
    the same.
    """
    key = (sha256(rows.tobytes()).digest(), seed)
    if key not in _last_layout:
        found = neighbor_layout(rows, seed, progress)
        _last_layout.clear()
        _last_layout[key] = found
    return _last_layout[key]


def plot_embedding(
    embedding: ArrayLike,
    labels: ArrayLike,
    *,
    ax: Axes | None = None,
    method: str = "neighbors",
    random_state: int = 0,
) -> Axes:
    """Plot the common embedding as a scatter plot, with one color and number per cluster.

    `method` is that of `embedding_data`. With more than 20 000 rows, "neighbors" and "tsne" draw a
    random sample of 20 000, as the title says.
    """
    rows, labels = np.asarray(embedding), np.asarray(labels)
    ax, title = _axes(ax), "Common embedding"
    if method in NEIGHBOR_METHODS and len(rows) > LAYOUT_ROWS:
        chosen = np.sort(np.random.RandomState(random_state).permutation(len(rows))[:LAYOUT_ROWS])
        title = f"Common embedding ({LAYOUT_ROWS:,} of {len(rows):,} nodes)"
        rows, labels = rows[chosen], labels[chosen]
    points = embedding_data(rows, method=method, random_state=random_state)
    for place, label in enumerate(np.unique(labels)):
        own = points[labels == label]
        color, marker = COLORS[place % len(COLORS)], MARKERS[place // len(COLORS) % len(MARKERS)]
        ax.scatter(
            own[:, 0],
            own[:, 1],
            s=9,
            c=color,
            marker=marker,
            alpha=0.75,
            linewidths=0,
            rasterized=True,
        )
        box = {
            "boxstyle": "circle,pad=0.2",
            "facecolor": "white",
            "edgecolor": color,
            "alpha": 0.85,
        }
        x, y = np.median(own, axis=0)
        ax.text(x, y, str(label), ha="center", va="center", fontsize=9, fontweight="bold", bbox=box)
    if method in NEIGHBOR_METHODS and not _has_neighbors(rows):
        method = "pca"
    names = {
        "neighbors": "neighbors in the rows of Q, together",
        "tsne": "t-SNE of the rows of Q",
        "pca": "principal components of the rows of Q",
        "last": "last two columns of Q",
    }
    ax.set(title=title, xlabel=names[method], xticks=[], yticks=[])
    return ax


def _has_neighbors(rows: NDArray[np.float64]) -> bool:
    """Whether there are more than two columns to reduce, and enough rows to have neighbors."""
    return rows.shape[1] > 2 and len(rows) >= 10


def layer_data(
    layer: Layer, labels: ArrayLike, *, n_bins: int = 120
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Compute the mean edge weight in the cells of a grid over the adjacency matrix, with nodes
    ordered by cluster, and the rows at which clusters end."""
    labels = np.asarray(labels)
    order = np.argsort(labels, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    n_bins = min(n_bins, order.size)
    cell = rank * n_bins // order.size
    size = np.bincount(cell, minlength=n_bins)
    entries = layer.adjacency.tocoo()
    flat = cell[entries.row] * n_bins + cell[entries.col]
    total = np.bincount(flat, weights=entries.data, minlength=n_bins * n_bins).reshape(
        n_bins, n_bins
    )
    _, counts = np.unique(labels, return_counts=True)
    return total / np.outer(size, size), np.cumsum(counts)


def plot_layer(
    layer: Layer, labels: ArrayLike, *, ax: Axes | None = None, n_bins: int = 120
) -> Axes:
    """Plot the adjacency matrix of one layer as an image, with nodes ordered by cluster: dark
    blocks are clusters.
    """
    ax = _axes(ax)
    from matplotlib.colors import LogNorm

    image, ends = layer_data(layer, labels, n_bins=n_bins)
    present = image[image > 0]
    high = float(np.quantile(present, 0.995)) if present.size else 1.0
    n = layer.n_nodes
    ax.imshow(
        np.where(image > 0, image, np.nan),
        cmap="magma_r",
        norm=LogNorm(high / 300, high, clip=True),
        extent=(0, n, n, 0),
        interpolation="nearest",
    )
    for end in ends[:-1]:
        ax.axhline(end, color="0.6", linewidth=0.4)
        ax.axvline(end, color="0.6", linewidth=0.4)
    parts = "1 component" if layer.n_components == 1 else f"{layer.n_components} components"
    ax.set(xticks=[], yticks=[])
    ax.set_title(
        f"{layer.name}\n{2 * layer.n_edges / n:.0f} edges per node, {parts}",
        fontsize=9,
        parse_math=False,
    )
    return ax


def plot_convergence(history: Sequence[dict[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Plot by how much the objective exceeds its last value, after every half step."""
    ax = _axes(ax)
    objective = np.array([row["objective"] for row in history])
    above = (objective - objective[-1]) / abs(objective[-1])
    offset = {"layers": -0.5, "certificate": 0.5}
    position = np.array([row["iteration"] + offset.get(row["step"], 0.0) for row in history])
    shown = above > 0
    ax.semilogy(position[shown], above[shown], color="0.7", linewidth=1)
    for step, color, marker in (
        ("start", "#000000", "s"),
        ("layers", "#0072B2", "o"),
        ("embedding", "#D55E00", "^"),
    ):
        own = shown & np.array([row["step"] == step for row in history])
        ax.semilogy(position[own], above[own], marker, color=color, markersize=4, label=step)
    ax.set(title="Convergence", xlabel="round", ylabel="objective above its last value (relative)")
    if shown.any():
        ax.legend(title="after", frameon=False)
    return ax


def draw_layers(layers: Sequence[Layer], labels: ArrayLike, *, n_bins: int = 120) -> Figure:
    """Draw all layers side by side in a new figure without a window."""
    columns = min(3, len(layers))
    lines = -(-len(layers) // columns)
    figure = new_figure(2.8 * columns, 3.1 * lines)
    for place, layer in enumerate(layers, start=1):
        plot_layer(layer, labels, ax=figure.add_subplot(lines, columns, place), n_bins=n_bins)
    figure.suptitle(
        "Learned layers, nodes ordered by cluster (darker: larger weight, logarithmic)", fontsize=11
    )
    return figure


def draw_embedding(embedding: ArrayLike, labels: ArrayLike, *, random_state: int = 0) -> Figure:
    """Draw the common embedding in a new figure without a window."""
    figure = new_figure(6, 5.4)
    plot_embedding(embedding, labels, ax=figure.add_subplot(), random_state=random_state)
    return figure


def draw_number_of_clusters(number: NumberOfClusters) -> Figure:
    """Draw the evidence for the number of clusters in a new figure without a window."""
    figure = new_figure(5.4, 3.6)
    plot_number_of_clusters(number, ax=figure.add_subplot())
    return figure


def new_figure(width: float, height: float) -> Figure:
    """Create a figure without pyplot: no window, no global state."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=120)


def _axes(ax: Axes | None) -> Axes:
    """Return the given Axes, or those of a new figure."""
    if ax is not None:
        return ax
    _require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(not_installed("plots need", "matplotlib")) from error


def plot_number_of_clusters(number: NumberOfClusters, *, ax: Axes | None = None) -> Axes:
    """Plot the score of every candidate K, its modularity, silhouette and stability, and the
    relative eigengap; the chosen K is marked, and its range is shaded.
    """
    ax = _axes(ax)
    for values, label, color, marker in (
        (number.score, "score (decides)", COLORS[0], "o"),
        (number.modularity, "modularity", COLORS[3], "d"),
        (number.silhouette, "silhouette", COLORS[4], "v"),
        (number.stability, "stability", COLORS[2], "s"),
        (number.eigengap, "relative eigengap", COLORS[1], "^"),
    ):
        if values is None:
            continue
        known = np.isfinite(values)
        ax.plot(
            number.candidates[known],
            np.asarray(values)[known],
            marker=marker,
            color=color,
            label=label,
            markersize=4,
            linewidth=1.2,
        )
    ax.axvline(number.chosen, color="0.5", linestyle=":", zorder=0)
    least, most = number.range
    ax.axvspan(least - 0.5, most + 0.5, color="0.9", zorder=-1)
    ax.set(
        xlabel="number of clusters K",
        ylim=(0, 1.05),
        title=f"K = {number.chosen}, confidence {number.confidence}",
    )
    ax.legend(frameon=False)
    return ax
