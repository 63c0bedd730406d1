"""Convergence of the fit, and the evidence for the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.plots.drawing import COLORS, axes_of, new_figure
from rmgl.plots.models import fitted_model, formerly, number_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CRITERIA = (
    ("score", "score (decides)", COLORS[0]),
    ("modularity", "modularity", COLORS[3]),
    ("silhouette", "silhouette", COLORS[4]),
    ("stability", "stability", COLORS[2]),
    ("eigengap", "relative eigengap", COLORS[1]),
)
"""Fields of `NumberOfClusters` that are drawn, with their names and colors."""


@formerly("history")
def plot_convergence(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot how far the objective is above its final value after every half step.

    Parameters
    ----------
    model : fitted RMGL, or its `history_`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> plot_convergence(model, ax=Figure().subplots()).get_title()
    'Convergence'
    """
    given = isinstance(model, list | tuple)
    history: Sequence[dict[str, Any]] = model if given else fitted_model(model).history
    ax = axes_of(ax)
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


@formerly("number")
def plot_number_of_clusters(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the score, modularity, silhouette and stability of every candidate K, and the relative
    eigengap. The chosen K is marked, and its range is shaded.

    Parameters
    ----------
    model : RMGL fitted with n_clusters="auto", or its `number_`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> model = RMGL("auto", random_state=0).fit(views)
    >>> from matplotlib.figure import Figure
    >>> ax = plot_number_of_clusters(model, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'number of clusters K'
    """
    number = number_in(model)
    ax = axes_of(ax)
    for (criterion, label, color), marker in zip(CRITERIA, "odvs^", strict=True):
        values = getattr(number, criterion)
        if values is None:
            continue
        known = np.isfinite(values)
        style: dict[str, Any] = {"marker": marker, "markersize": 4, "linewidth": 1.2}
        ax.plot(number.candidates[known], values[known], color=color, label=label, **style)
    ax.axvline(number.chosen, color="0.5", linestyle=":", zorder=0)
    least, most = number.range
    ax.axvspan(least - 0.5, most + 0.5, color="0.9", zorder=-1)
    ax.set(
        xlabel="number of clusters K",
        ylim=(0, 1.05),
        title=f"K = {number.chosen}, confidence {number.confidence}",
    )
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2}
    ax.legend(frameon=False, fontsize=8, **place)
    return ax


@formerly("number")
def draw_number_of_clusters(model: Any) -> Figure:
    """Draw the evidence for the number of clusters in a new figure, without opening a window.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL
    >>> rng = np.random.default_rng(0)
    >>> views = {"a": np.repeat([[0.0, 0], [9, 0], [0, 9]], 30, axis=0) + rng.normal(size=(90, 2))}
    >>> model = RMGL("auto", random_state=0).fit(views)
    >>> len(draw_number_of_clusters(model).axes)
    1
    """
    number = number_in(model)
    figure = new_figure(5.4, 3.6)
    plot_number_of_clusters(number, ax=figure.add_subplot())
    return figure
