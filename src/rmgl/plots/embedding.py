"""The common embedding in two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from rmgl.embedding.layout import neighbor_layout
from rmgl.matrix import Floats
from rmgl.plots.drawing import MARKERS, MOST_ENTITIES, axes_of, color_of, new_figure, write_number
from rmgl.plots.models import formerly, model_in
from rmgl.running.threads import single_threaded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEIGHBOR_METHODS = ("neighbors", "tsne")
LAYOUT_ROWS = 20_000
"""Maximum number of rows that are laid out. Larger data sets are sampled."""


@formerly("embedding")
def embedding_data(
    model: Any,
    *,
    method: str = "neighbors",
    random_state: int = 0,
    progress: Callable[[float], None] = lambda part: None,
) -> Floats:
    """Compute two coordinates per node, (N, 2), from the rows of the common embedding.

    Parameters
    ----------
    model : fitted RMGL, or array of rows
    method : str, default "neighbors"
        "neighbors" keeps neighbors together and all others apart, like t-SNE, but faster. "tsne" is
        t-SNE, "pca" is the fastest method, and "last" uses the last two columns, as in the paper.
    random_state : int, default 0
        Seed for "neighbors" and "tsne".
    progress : function, optional
        Called with the completed fraction of the "neighbors" computation.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> embedding_data(model, method="pca").shape
    (6, 2)
    """
    rows = rows_in(model)
    if method == "last":
        return np.pad(rows, ((0, 0), (max(0, 2 - rows.shape[1]), 0)))[:, -2:]
    if method == "pca" or (method in NEIGHBOR_METHODS and not _has_neighbors(rows)):
        components = min(2, *rows.shape)
        with np.errstate(invalid="ignore"):  # all rows of one cluster are equal
            return np.pad(PCA(components).fit_transform(rows), ((0, 0), (0, 2 - components)))
    # rows of length about 1, because t-SNE stops too early on small distances
    scaled = rows * np.sqrt(len(rows))
    if method == "neighbors":
        return _kept_layout(scaled, random_state, progress).copy()
    if method == "tsne":
        with single_threaded("openmp"):  # threads that wait for one another are slower
            found = TSNE(
                perplexity=min(30, (len(rows) - 1) / 3), init="pca", random_state=random_state
            ).fit_transform(scaled)
        return np.asarray(found, dtype=np.float64)
    raise ValueError(f"method={method!r} is unknown; use 'neighbors', 'tsne', 'pca' or 'last'")


def rows_in(given: Any) -> Floats:
    """Return the rows of the embedding of a model, or the given rows."""
    model = model_in(given)
    rows = np.asarray(given if model is None else model.embedding, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(
            f"model is an array of shape {rows.shape}; pass a fitted RMGL model, or rows (N, K)"
        )
    return rows


def labels_in(given: Any, labels: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """Return the given labels of rows, or else those of the model."""
    model = model_in(given)
    if labels is None and model is None:
        raise TypeError("labels are missing; pass a fitted RMGL model, or rows and their labels")
    found = np.asarray(labels if labels is not None or model is None else model.labels)
    if found.shape != (n_rows,):
        raise ValueError(
            f"labels have shape {found.shape}, but there are {n_rows} entities; pass one "
            "label per entity"
        )
    return found


_last_layout: dict[tuple[bytes, int], Floats] = {}


def _kept_layout(rows: Floats, seed: int, progress: Callable[[float], None]) -> Floats:
    """Return the layout of rows. The last layout is cached, because the plots and the page of a
    model share it.
    """
    key = (sha256(rows.tobytes()).digest(), seed)
    if key not in _last_layout:
        found = neighbor_layout(rows, seed, progress)
        _last_layout.clear()
        _last_layout[key] = found
    return _last_layout[key]


@formerly("embedding")
def plot_embedding(
    model: Any,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    method: str = "neighbors",
    random_state: int = 0,
) -> Axes:
    """Plot the common embedding as a scatter plot, with one color and number per cluster.

    "neighbors" and "tsne" draw at most 20,000 rows, and the other methods at most 100,000. If there
    are more rows, a random sample is drawn, and the title says so.

    Parameters
    ----------
    model : fitted RMGL, or array of rows
    labels : array of N labels, optional
        Labels for colors and numbers, such as known classes. By default, the clusters of the model
        are used.
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.
    method, random_state : as for `embedding_data`

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> plot_embedding(model, method="pca", ax=Figure().subplots()).get_title()
    'Common embedding'
    """
    rows = rows_in(model)
    shown = labels_in(model, labels, len(rows))
    ax, title = axes_of(ax), "Common embedding"
    most = LAYOUT_ROWS if method in NEIGHBOR_METHODS else MOST_ENTITIES
    if len(rows) > most:
        chosen = np.sort(np.random.RandomState(random_state).permutation(len(rows))[:most])
        title = f"Common embedding ({most:,} of {len(rows):,} nodes)"
        rows, shown = rows[chosen], shown[chosen]
    points = embedding_data(rows, method=method, random_state=random_state)
    for place, label in enumerate(np.unique(shown)):
        own, color = points[shown == label], color_of(place)
        ax.scatter(
            own[:, 0],
            own[:, 1],
            s=9,
            c=color,
            marker=MARKERS[place // 10 % len(MARKERS)],
            alpha=0.75,
            linewidths=0,
            rasterized=True,
        )
        x, y = np.median(own, axis=0)
        write_number(ax, x, y, label, shape="circle", edge=color)
    if method in NEIGHBOR_METHODS and not _has_neighbors(rows):
        method = "pca"
    names = {
        "neighbors": "neighbor layout of the rows of Q",
        "tsne": "t-SNE of the rows of Q",
        "pca": "principal components of the rows of Q",
        "last": "last two columns of Q",
    }
    ax.set(title=title, xlabel=names[method], xticks=[], yticks=[])
    return ax


def _has_neighbors(rows: Floats) -> bool:
    """Return whether there are more than two columns to reduce, and enough rows to have
    neighbors.
    """
    return rows.shape[1] > 2 and len(rows) >= 10


@formerly("embedding")
def draw_embedding(model: Any, labels: ArrayLike | None = None, *, random_state: int = 0) -> Figure:
    """Draw the common embedding of a model in a new figure, without opening a window.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> figure = draw_embedding(model)
    >>> figure.savefig("embedding.png")  # doctest: +SKIP
    """
    figure = new_figure(6, 5.4)
    plot_embedding(model, labels, ax=figure.add_subplot(), random_state=random_state)
    return figure
