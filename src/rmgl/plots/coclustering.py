"""How often entities are in the same cluster when a fifth of the entities are left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.embedding.common_graph import weighted_sum
from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import axes_of, draw_borders
from rmgl.plots.models import fitted_model
from rmgl.results.clusters import MEMBERS, MOST_ENTITIES, parts_again

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SINGLE = 2000
"""Number of entities above which shares are counted by cluster."""
DRAWS = 20
"""Number of draws, each of which leaves out a fifth of the entities."""
FEWER_DRAWS = 4
"""Number of draws for more than 50,000 entities, when each draw takes as long as the embedding."""
MOST_WRITTEN = 12
"""Maximum number of clusters for which every cell shows its share."""
Draws = Iterable[tuple[Indices, Indices]]


@dataclass(frozen=True, eq=False)
class Coclustering:
    """How often two entities, or members of two clusters, are found in the same cluster.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> from rmgl.plots import coclustering_data
    >>> views = {"a": [[0.0], [0.1], [0.3], [0.4], [5.0], [5.1], [5.3], [5.4]]}
    >>> found = coclustering_data(RMGL(2, random_state=0).fit(views))
    >>> found.entities.size, found.clusters.tolist()
    (8, [0, 0, 0, 0, 1, 1, 1, 1])
    """

    shares: Floats
    """Share of the draws containing both entities in which they are in the same cluster. NaN if no
    draw contains both. If rows are clusters, the mean over all pairs of their members.
    """
    clusters: Indices
    """Cluster of each row of `shares`."""
    entities: Indices | None
    """Entity of each row, ordered by cluster. Within a cluster, the entities that are most often
    together with its members come first. None if rows are clusters.
    """
    n_draws: int
    n_entities: int
    """Number of entities from which draws are taken."""
    n_left_out: int
    """Number of entities in fragments, or placed after the fit. No draw contains them."""


def coclustering_data(
    model: Any,
    *,
    by_cluster: bool | None = None,
    n_draws: int | None = None,
    random_state: int = 0,
) -> Coclustering:
    """Count how often entities are in the same cluster when a fifth of the entities are left out.

    Each draw keeps four fifths of the entities and finds the same number of clusters among them,
    using the fitted layers. The layers are not learned again.

    Parameters
    ----------
    model : fitted RMGL
    by_cluster : bool, optional
        Whether to count by cluster instead of by entity. By default, this is done for more than
        2000 entities.
    n_draws : int, optional
        Number of draws. The default is 20, or 4 for more than 50,000 entities. More draws give
        more precise shares but take longer.
    random_state : int, default 0
        Seed for the draws.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [0.4], [5.0], [5.1], [5.3], [5.4]]}
    >>> found = coclustering_data(RMGL(2, random_state=0).fit(views), by_cluster=True)
    >>> found.shares.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    fitted = fitted_model(model)
    everyone = np.setdiff1d(np.arange(fitted.n_rows), np.union1d(fitted.fragments, fitted.placed))
    if fitted.n_clusters < 2 or everyone.size < MEMBERS * fitted.n_clusters:
        raise ValueError(
            f"the model has {fitted.n_clusters} clusters and {everyone.size} entities, "
            "but leaving some out requires at least two clusters, with an average of at least "
            "two entities per cluster"
        )
    if n_draws is None:
        n_draws = DRAWS if everyone.size <= MOST_ENTITIES else FEWER_DRAWS
    if n_draws < 1:
        raise ValueError(f"n_draws={n_draws} is not a valid number of draws; use at least 1")
    draws = parts_again(
        weighted_sum([layer.adjacency for layer in fitted.layers], fitted.beta.tolist()),
        everyone,
        fitted.n_clusters,
        np.random.RandomState(random_state),
        n_draws=n_draws,
        of_unit_length=fitted.parameters.of_unit_length,
        balanced=fitted.balance is not None,
    )
    n_left_out = fitted.n_rows - everyone.size
    if by_cluster if by_cluster is not None else everyone.size > MOST_SINGLE:
        shares = shares_of_clusters(fitted.labels, fitted.n_clusters, draws)
        clusters = np.arange(fitted.n_clusters)
        return Coclustering(shares, clusters, None, n_draws, everyone.size, n_left_out)
    entities, shares = _of_entities(fitted, everyone, draws)
    clusters = fitted.labels[entities]
    return Coclustering(shares, clusters, entities, n_draws, everyone.size, n_left_out)


def shares_of_clusters(labels: Indices, n_clusters: int, draws: Draws) -> Floats:
    """Return the share of the pairs of members of two clusters that are found together, over all
    draws.
    """
    together, pairs = np.zeros((n_clusters, n_clusters)), np.zeros((n_clusters, n_clusters))
    for nodes, found in draws:
        table = np.zeros((n_clusters, int(found.max()) + 1))
        np.add.at(table, (labels[nodes], found), 1)
        sizes = table.sum(axis=1)
        together += table @ table.T - np.diag(sizes)  # no entity is paired with itself
        pairs += np.outer(sizes, sizes) - np.diag(sizes)
    return np.divide(together, pairs, out=np.full_like(pairs, np.nan), where=pairs > 0)


def shares_of_entities(everyone: Indices, draws: Draws) -> Floats:
    """Return, for every pair of entities, the share of the draws containing both in which they
    are together.
    """
    n = everyone.size
    together, both = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    for nodes, found in draws:
        at = np.searchsorted(everyone, nodes)
        member = np.zeros((n, int(found.max()) + 1), dtype=np.float32)
        member[at, found] = 1
        drawn = member.sum(axis=1)
        together += member @ member.T
        both += np.outer(drawn, drawn)
    shares: Floats = np.divide(together, both, out=np.full((n, n), np.nan), where=both > 0)
    return shares


def _of_entities(fitted: FittedModel, everyone: Indices, draws: Draws) -> tuple[Indices, Floats]:
    """Return the entities in the order of the plot, and their shares."""
    shares, labels = shares_of_entities(everyone, draws), fitted.labels[everyone]
    with_own = np.array(
        [np.nanmean(row[labels == own]) for row, own in zip(shares, labels, strict=True)]
    )
    order = np.lexsort((-with_own, labels))
    return everyone[order], shares[np.ix_(order, order)]


def plot_coclustering(
    model: Any,
    *,
    by_cluster: bool | None = None,
    n_draws: int | None = None,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot how often entities are in the same cluster when a fifth of the entities are left out.

    Dark blocks on the diagonal are clusters that are recovered. Shading outside the blocks shows
    which clusters get mixed up, and light stripes are entities that change clusters.

    Parameters
    ----------
    model, by_cluster, n_draws, random_state : as for `coclustering_data`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [0.4], [5.0], [5.1], [5.3], [5.4]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> plot_coclustering(model, n_draws=5, ax=Figure().subplots()).get_title()
    'In the same cluster in 5 draws of 80% of the entities'
    """
    found = coclustering_data(
        model, by_cluster=by_cluster, n_draws=n_draws, random_state=random_state
    )
    ax = axes_of(ax, 6.0, 5.2)
    from matplotlib import colormaps

    n = len(found.shares)
    image = ax.imshow(
        np.ma.masked_invalid(found.shares),
        cmap=colormaps["Blues"].with_extremes(bad="0.85"),
        vmin=0,
        vmax=1,
        extent=(0, n, n, 0),
        interpolation="nearest" if found.entities is None else "auto",
    )
    clusters, counts = np.unique(found.clusters, return_counts=True)
    ends = np.cumsum(counts)
    draw_borders(ax, ends, color="0.4", linewidth=0.5)
    ticks, names = ends - counts / 2, [str(cluster) for cluster in clusters]
    ax.set_xticks(ticks, names)
    ax.set_yticks(ticks, names)
    ax.tick_params(length=0)
    if found.entities is None and n <= MOST_WRITTEN:
        for row, column in np.argwhere(np.isfinite(found.shares)):
            share = found.shares[row, column]
            ink = "white" if share > 0.6 else "black"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
            ax.text(column + 0.5, row + 0.5, f"{share:.2f}", **style)
    what = "members of two clusters" if found.entities is None else "two entities"
    ax.figure.colorbar(image, ax=ax, label=f"{what} together, share of draws")
    left_out = f", without {found.n_left_out:,} that were left out" if found.n_left_out else ""
    counted = f"{n} clusters of " if found.entities is None else ""
    ordered = "" if found.entities is None else ", ordered by cluster"
    ax.set_xlabel(f"{counted}{found.n_entities:,} entities{ordered}{left_out}")
    ax.set_ylabel("cluster")
    ax.set_title(f"In the same cluster in {found.n_draws} draws of 80% of the entities")
    return ax
