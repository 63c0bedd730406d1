"""Silhouettes of the clusters in the common embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import config_context
from sklearn.metrics import silhouette_samples

from rmgl.embedding.eigenvectors import unit_rows
from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import axes_of, color_of, sample_by_cluster
from rmgl.plots.models import fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 10_000
"""Maximum number of entities that are compared with one another. Larger data sets are sampled."""
SPACE = 0.02
"""Space between two clusters, relative to the size of the plot."""


@dataclass(frozen=True, eq=False)
class Silhouettes:
    """Silhouette of each entity: how close it is to its own cluster, compared with the nearest
    other cluster.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from rmgl.plots import silhouettes_data
    >>> found = silhouettes_data(model)
    >>> found.silhouettes.shape, found.by_cluster.shape
    ((6,), (2,))
    """

    entities: Indices
    """Entities, ordered by cluster, with the highest silhouettes first in each."""
    clusters: Indices
    """Clusters of the entities."""
    silhouettes: Floats
    """Silhouettes, from -1 (in the wrong cluster) through 0 (between two) to 1 (far from all
    others).
    """
    by_cluster: Floats
    """Mean for each cluster. NaN if it has no members."""
    mean: float
    """Mean over all entities."""
    n_entities: int
    """Total number of entities. If it exceeds the number of `entities`, these are a sample."""


def silhouettes_data(model: Any, *, random_state: int = 0) -> Silhouettes:
    """Compute the silhouettes (b - a) / max(a, b) of the entities in the common embedding.

    For an entity, a is the mean distance to the other members of its cluster, and b is the smallest
    mean distance to the members of another cluster. An entity that is alone in its cluster has a
    silhouette of 0. Distances are those used by k-means: between rows of length one, unless the
    model uses unscaled rows. If there are more than 10,000 entities, a sample with the same share
    of every cluster is used.

    Parameters
    ----------
    model : fitted RMGL
    random_state : int, default 0
        Seed for the sample.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> found = silhouettes_data(RMGL(2, random_state=0).fit(views))
    >>> found.clusters.tolist(), bool(found.mean > 0.9)
    ([0, 0, 0, 1, 1, 1], True)
    """
    fitted = fitted_model(model)
    sizes = np.bincount(fitted.labels, minlength=fitted.n_clusters)
    n_clusters = int(np.count_nonzero(sizes))
    if n_clusters < 2 or n_clusters == fitted.n_rows:
        raise ValueError(
            f"the model has {n_clusters} clusters and {fitted.n_rows} entities, but "
            "silhouettes require at least two clusters, one of them with at least two members"
        )
    sample = sample_by_cluster(fitted.labels, MOST_ROWS, random_state)
    rows = unit_rows(fitted.embedding) if fitted.parameters.of_unit_length else fitted.embedding
    labels = fitted.labels[sample]
    with config_context(working_memory=64):
        values = silhouette_samples(rows[sample], labels)
    order = np.lexsort((-values, labels))
    totals = np.bincount(labels, weights=values, minlength=fitted.n_clusters)
    counts = np.bincount(labels, minlength=fitted.n_clusters)
    means = np.divide(totals, counts, out=np.full(counts.size, np.nan), where=counts > 0)
    mean = float(sizes @ np.nan_to_num(means) / sizes.sum())
    return Silhouettes(sample[order], labels[order], values[order], means, mean, fitted.n_rows)


def plot_silhouettes(model: Any, *, ax: Axes | None = None, random_state: int = 0) -> Axes:
    """Plot the silhouettes of all entities, cluster by cluster, with the mean of each.

    Clusters with long and nearly equal silhouettes are compact and far from others. Bars to the
    left of zero are entities that are closer to another cluster than to their own.

    Parameters
    ----------
    model, random_state : as for `silhouettes_data`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> plot_silhouettes(model, ax=Figure().subplots()).get_title()
    'Mean silhouette 1.00 (dashed)'
    """
    found = silhouettes_data(model, random_state=random_state)
    clusters = np.unique(found.clusters)
    ax = axes_of(ax, 6.4, max(3.6, 0.32 * clusters.size + 1.2))
    start, ticks, names = 0.0, [], []
    for cluster in clusters.tolist():
        own = found.silhouettes[found.clusters == cluster]
        heights = start + np.arange(own.size + 1)
        values = np.append(own, own[-1])
        ax.fill_betweenx(heights, 0, values, step="post", color=color_of(cluster), linewidth=0)
        ticks.append(start + own.size / 2)
        names.append(f"cluster {cluster} (mean {found.by_cluster[cluster]:.2f})")
        start += own.size + SPACE * found.entities.size
    ax.axvline(0, color="black", linewidth=0.8)
    ax.axvline(found.mean, color="black", linestyle="--", linewidth=1, zorder=3)
    ax.set(ylim=(start, -SPACE * found.entities.size), xlim=(min(-0.1, found.silhouettes.min()), 1))
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    some = found.entities.size < found.n_entities
    sampled = f"; a sample of {found.entities.size:,} of {found.n_entities:,}" if some else ""
    ax.set_xlabel("silhouette in the embedding\n(1: far from other clusters, 0: between two)")
    ax.set_title(f"Mean silhouette {found.mean:.2f} (dashed){sampled}")
    return ax
