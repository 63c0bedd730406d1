"""Stable resolutions as a tree, beside the criteria for the number of clusters as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.plots.bands import Layout, draw_layout, lay_out
from rmgl.plots.drawing import NUMBERED, color_of, new_figure, require_matplotlib, write_number
from rmgl.plots.evidence import plot_number_of_clusters
from rmgl.plots.models import fitted_model, number_in
from rmgl.results.clusters import Level, stable_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (10.0, 4.6)
"""Width and height of a new figure, in inches."""
WIDTHS = {"width_ratios": (1.4, 1)}


@dataclass(frozen=True, eq=False)
class Resolutions:
    """Stable resolutions of a model, from coarse to fine, and the splits of their clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> model = RMGL("auto", random_state=0).fit(views)
    >>> from rmgl.plots import resolutions_data
    >>> found = resolutions_data(model)
    >>> found.levels[found.chosen].n_clusters
    3
    """

    levels: list[Level]
    """Levels as in `hierarchy_`. If no others are known, only the chosen clusters."""
    chosen: int
    """Position of the chosen level."""
    layout: Layout
    """One box per cluster and level, and the bands between them, colored by the chosen clusters."""
    number: NumberOfClusters
    n_placed: int
    """Number of entities that are not in the plot because they were placed after the fit."""

    def splits(self) -> list[dict[str, int]]:
        """Return one row for each pair of clusters at successive levels that share members.

        Examples
        --------
        >>> import numpy as np
        >>> from rmgl import RMGL
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))
        >>> model = RMGL("auto", random_state=0).fit({"a": X})
        >>> from rmgl.plots import resolutions_data
        >>> found = resolutions_data(model)
        >>> len(found.splits()) >= len(found.levels) - 1
        True
        """
        rows: dict[tuple[int, int, int], int] = {}
        for band in self.layout.bands:
            key = band.answer, band.first, band.second
            rows[key] = rows.get(key, 0) + band.size
        return [
            {
                "n_clusters": self.levels[level].n_clusters,
                "cluster": first,
                "n_finer": self.levels[level + 1].n_clusters,
                "finer_cluster": second,
                "members": size,
            }
            for (level, first, second), size in rows.items()
        ]


def resolutions_data(model: Any) -> Resolutions:
    """Find the splits of clusters, from the coarsest stable resolution to the finest.

    Parameters
    ----------
    model : RMGL fitted with n_clusters="auto"

    Returns
    -------
    Resolutions
        `levels` are those of `hierarchy_`, `splits()` counts the entities shared by clusters at
        successive levels, and `layout` contains the positions of boxes and bands in the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> found = resolutions_data(RMGL("auto", random_state=0).fit(views))
    >>> found.levels[found.chosen].n_clusters == found.number.chosen
    True
    """
    number, fitted = number_in(model), fitted_model(model)
    levels = stable_levels(fitted)
    if not levels:
        stability = float(number.stability[number.candidates == number.chosen][0])
        levels = [Level(number.chosen, fitted.labels, stability, 1.0)]
    chosen = [level.n_clusters for level in levels].index(number.chosen)
    learned = np.setdiff1d(np.arange(fitted.n_rows), fitted.placed)
    layout = lay_out([level.labels[learned] for level in levels], chosen)
    return Resolutions(levels, chosen, layout, number, int(fitted.placed.size))


def plot_resolutions(model: Any, *, ax: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Plot the stable resolutions as a tree from coarse to fine, beside the curves of the criteria
    with the chosen number marked.

    Every row of boxes is one resolution. Each box is a cluster, with a width proportional to its
    number of members. Bands lead to the clusters into which a cluster splits. Colors are those of
    the chosen clusters. The numbers in the boxes are those of `hierarchy_`.

    Parameters
    ----------
    model : RMGL fitted with n_clusters="auto"
    ax : two Axes, optional
        Axes of the tree and of the curves. By default, a new figure is created.

    Returns
    -------
    two Axes

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> model = RMGL("auto", random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> tree, curves = plot_resolutions(model, ax=Figure().subplots(1, 2))
    >>> tree.get_title()
    'Which cluster splits into which?'
    """
    found = resolutions_data(model)
    if ax is None:
        require_matplotlib()
        import matplotlib.pyplot as plt

        ax = plt.subplots(1, 2, figsize=SIZE, layout="constrained", gridspec_kw=WIDTHS)[1]
    try:
        tree, curves = ax
    except (TypeError, ValueError):
        raise ValueError(
            "ax is not two Axes; pass one for the tree and one for the curves"
        ) from None
    colors = [color_of(cluster) for cluster in range(found.levels[found.chosen].n_clusters)]
    draw_layout(tree, found.layout, colors, downward=True)
    for box in found.layout.boxes:
        if box.end - box.start >= NUMBERED * len(str(box.group)):
            write_number(tree, (box.start + box.end) / 2, box.answer, box.group)
    tree.set(xticks=[], title="Which cluster splits into which?")
    tree.set_yticks(range(len(found.levels)), [_row_name(level) for level in found.levels])
    tree.tick_params(axis="y", length=0)
    tree.get_yticklabels()[found.chosen].set_fontweight("bold")
    n_shown = sum(box.size for box in found.layout.boxes if box.answer == 0)
    placed = f"; without {found.n_placed:,} placed after the fit" if found.n_placed else ""
    tree.set_xlabel(f"{n_shown:,} entities; colors: the {found.number.chosen} clusters{placed}")
    plot_number_of_clusters(found.number, ax=curves)
    for level in found.levels:
        curves.axvline(level.n_clusters, color="0.85", linewidth=4, zorder=-1)
    return tree, curves


def _row_name(level: Level) -> str:
    stability = "" if np.isnan(level.stability) else f"\nstability {level.stability:.2f}"
    return f"K = {level.n_clusters}{stability}"


def draw_resolutions(model: Any) -> Figure:
    """Draw the resolutions and the evidence for the number of clusters in a new figure, without
    opening a window.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> model = RMGL("auto", random_state=0).fit(views)
    >>> len(draw_resolutions(model).axes)
    2
    """
    figure = new_figure(*SIZE)
    plot_resolutions(model, ax=figure.subplots(1, 2, gridspec_kw=WIDTHS))
    return figure
