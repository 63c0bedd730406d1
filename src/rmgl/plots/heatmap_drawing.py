"""Draw a heat map line by line from its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import NUMBERED, color_of, short, write_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

FULL_COLOR = 2.5
"""Number of standard deviations from the mean at which the color scale ends."""
LIGHTEST = 0.15
"""Share of the gray scale that is not used, because white means missing."""
CATEGORIES = (
    "#332288",
    "#DDCC77",
    "#CC6677",
    "#88CCEE",
    "#117733",
    "#AA4499",
    "#44AA99",
    "#999933",
    "#DDDDDD",
)
"""Colors of eight categories and of all others, which color-blind readers can distinguish (from
Paul Tol). The first ones are dark, light and medium, so they differ in grayscale.
"""


@dataclass(frozen=True, eq=False)
class Bar:
    """An additional column with one value per entity, in the order of the heat map."""

    name: str
    values: Floats
    """Numbers, days since 1970 for dates, or the positions of categories. Missing values
    are NaN.
    """
    categories: list[str] | None
    """Names of the categories. None for numbers."""
    dates: bool = False

    def written(self, value: float) -> str:
        """Return a number or date as text."""
        return str(np.datetime64(int(value), "D")) if self.dates else f"{value:.4g}"


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Values shown in the heat map.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> from rmgl.plots import heatmap_data
    >>> views = {"size": [[1.0, 7.0], [1.2, 7.0], [1.1, 9.0], [5.0, 8.0], [5.2, 8.0], [5.1, 7.0]]}
    >>> found = heatmap_data(RMGL(2, random_state=0).fit(views))
    >>> found.values.shape, sorted(found.features)
    ((2, 6), ['column 0', 'column 1'])
    """

    entities: Indices
    """Entities, ordered by cluster."""
    clusters: Indices
    """Clusters of the entities."""
    views: list[str]
    """View of each feature."""
    features: list[str]
    values: Floats
    """Standardized values, (value - mean) / standard deviation, with one row per feature and one
    column per entity. Missing values are NaN.
    """
    bars: list[Bar]
    n_entities: int
    """Total number of entities. If it exceeds the number of `entities`, these are a sample."""


class Picture:
    """Draw one line after the other, from top to bottom."""

    def __init__(self, ax: Axes, found: HeatMap) -> None:
        self.ax, self.found = ax, found
        self.n = found.entities.size
        self.line = 0.0
        self.ticks: list[float] = []
        self.names: list[str] = []
        self.handles: list[Patch] = []
        self.image: Any = None

    def _lines(self, values: NDArray[Any], names: list[str], **style: Any) -> Any:
        """Draw lines as an image, with a name beside each."""
        end = self.line + len(values)
        image = self.ax.imshow(
            values, extent=(0, self.n, end, self.line), aspect="auto", interpolation="none", **style
        )
        self.ticks += [self.line + 0.5 + line for line in range(len(values))]
        self.names += [short(name) for name in names]
        self.line = end + 0.25
        return image

    def draw_clusters(self) -> None:
        """Draw the clusters as a line of colors with their numbers, and their boundaries."""
        from matplotlib.colors import to_rgb

        clusters, counts = np.unique(self.found.clusters, return_counts=True)
        colors = np.array([to_rgb(color_of(cluster)) for cluster in range(clusters.max() + 1)])
        self._lines(colors[self.found.clusters][None, :, :], ["cluster"])
        ends = np.cumsum(counts)
        for cluster, count, end in zip(clusters, counts, ends, strict=True):
            if count >= NUMBERED * len(str(cluster)) * self.n:
                write_number(self.ax, end - count / 2, 0.5, cluster)
        self.ends = ends[:-1]

    def draw_bar(self, bar: Bar) -> None:
        """Draw an additional column as a line: numbers in gray, categories in colors."""
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        known = bar.values[np.isfinite(bar.values)]
        if not known.size:
            self._lines(bar.values[None, :], [bar.name], cmap="Greys", vmin=0, vmax=1)
            self._note(f"{short(bar.name)}: no values")
            return
        if bar.categories is None:
            grays = ListedColormap(colormaps["Greys"](np.linspace(LIGHTEST, 1, 256)))
            low, high = known.min(), known.max()
            self._lines(bar.values[None, :], [bar.name], cmap=grays, vmin=low, vmax=high)
            ends = f"{bar.written(low)} (light) to {bar.written(high)} (black)"
            self._note(f"{short(bar.name)}: {ends}")
            return
        scale = ListedColormap(list(CATEGORIES[: len(bar.categories)]))
        self._lines(bar.values[None, :], [bar.name], cmap=scale, vmin=-0.5, vmax=scale.N - 0.5)
        self._note(f"{short(bar.name)}:")
        for color, category in zip(CATEGORIES, bar.categories, strict=False):
            self._note(short(category), facecolor=color, edgecolor="0.4", linewidth=0.5)

    def _note(self, text: str, **style: Any) -> None:
        """Add one line to the legend, with a patch in this style. Without a style, there is no
        patch.
        """
        from matplotlib.patches import Patch

        self.handles.append(Patch(label=text, **(style or {"color": "none"})))

    def draw_view(self, view: str) -> None:
        """Draw the features of one view as a block below its name."""
        rows = np.flatnonzero(np.array(self.found.views, dtype=object) == view)
        self.line += 0.75
        style: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": 9, "fontweight": "bold"}
        self.ax.text(0, self.line - 0.4, short(view), parse_math=False, **style)
        start = self.line
        self.image = self._lines(
            self.found.values[rows],
            [self.found.features[row] for row in rows],
            cmap="cividis",
            vmin=-FULL_COLOR,
            vmax=FULL_COLOR,
        )
        for end in self.ends:
            self.ax.plot([end, end], [start, start + rows.size], color="white", linewidth=1)

    def finish(self) -> None:
        """Draw names, limits, the color bar, and the legend of the bars on top."""
        ax, found = self.ax, self.found
        ax.set(xlim=(0, self.n), ylim=(self.line - 0.25, 0), xticks=[])
        ax.set_title("What distinguishes the clusters?")
        ax.set_yticks(self.ticks, self.names, fontsize=8, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.spines[:].set_visible(False)
        ax.figure.colorbar(
            self.image,
            ax=ax,
            orientation="horizontal",
            pad=0.01,
            shrink=0.4,
            aspect=30,
            extend="both",
            label="standard deviations from the mean of the feature",
        )
        if not all(np.isfinite(bar.values).all() for bar in found.bars) or (
            np.isnan(found.values).any()
        ):
            self._note("missing", facecolor="white", edgecolor="0.4", linewidth=0.5)
        if self.handles:
            style: dict[str, Any] = {
                "loc": "upper left",
                "bbox_to_anchor": (1.0, 1.0),
                "frameon": False,
            }
            ax.legend(handles=self.handles, fontsize=8, handlelength=1.2, **style)
        some = self.n < found.n_entities
        sampled = f" (sampled from {found.n_entities:,})" if some else ""
        ax.set_xlabel(f"{self.n:,} entities{sampled}, ordered by cluster")
