"""Shared parts of all plots: colors, figures, Axes, and samples of many entities.

Nothing is shown or saved here. Matplotlib (the `plot` extra) is imported when a plot is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.extras import not_installed
from rmgl.matrix import Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Ten colors that color-blind readers can distinguish (seven of Okabe and Ito's, black, a violet and
# a gray). Additional clusters repeat them with other markers, and every cluster is labeled with its
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
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "*")
MOST_ENTITIES = 100_000
"""Number of entities above which plots of individual entities show a sample."""
LEAST_SAMPLED = 20
"""Number of members of a small cluster that a sample keeps."""
NUMBERED = 0.015
"""Minimum width of a box for each digit of the number in it, relative to the width of the plot.
"""
LONGEST_NAME = 30
"""Maximum number of characters in a name. Longer names end in an ellipsis."""


def color_of(cluster: int) -> str:
    """Return the color of a cluster."""
    return COLORS[cluster % len(COLORS)]


def write_number(
    ax: Axes, x: float, y: float, number: object, *, shape: str = "round", edge: str = "none"
) -> None:
    """Write the number of a cluster in a white frame, which is readable on any color."""
    frame = {"boxstyle": f"{shape},pad=0.2", "facecolor": "white", "edgecolor": edge, "alpha": 0.85}
    style: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold", "bbox": frame}
    ax.text(x, y, str(number), ha="center", va="center", **style)


def draw_borders(ax: Axes, ends: Indices, **style: Any) -> None:
    """Draw lines where clusters end along both sides of a matrix, except for the last cluster."""
    for end in ends[:-1]:
        ax.axhline(end, **style)
        ax.axvline(end, **style)


def short(name: object) -> str:
    """Return a name as one line that fits beside a plot.

    Examples
    --------
    >>> short("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    """
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def sample_by_cluster(labels: Indices, most: int, random_state: int = 0) -> Indices:
    """Return all entities, or about `most` of them, in order. A sample contains the same share of
    every cluster, but at least 20 of its members.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.repeat([0, 1], [900, 100])
    >>> np.bincount(labels[sample_by_cluster(labels, 100)]).tolist()
    [90, 20]
    """
    if labels.size <= most:
        return np.arange(labels.size)
    random, chosen = np.random.RandomState(random_state), []
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        wanted = max(LEAST_SAMPLED, round(most * members.size / labels.size))
        chosen.append(random.permutation(members)[:wanted])
    return np.sort(np.concatenate(chosen))


def new_figure(width: float, height: float) -> Figure:
    """Create a figure without pyplot: no window, no global state."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=120)


def axes_of(ax: Axes | None, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the given Axes, or those of a new figure of the given size in inches."""
    if ax is not None:
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def require_matplotlib() -> None:
    """Raise an ImportError that names the package to install."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(not_installed("plots need", "matplotlib")) from error
