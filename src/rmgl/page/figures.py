"""Interactive figures on the page, made with Bokeh (the `report` extra). The page fills in their
points.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.extras import not_installed
from rmgl.plots.evidence import CRITERIA
from rmgl.results.survival import SurvivalCurve

MARGIN = 0.05
"""Empty space around the points, relative to their range."""
DASHES = ("solid", "dashed", "dotted", "dashdot")
"""Line styles of curves, for readers who cannot distinguish their colors."""
LEGEND_COLUMNS = 5
"""Number of cluster names per row above survival curves. This many fit on a phone."""
WRITTEN: dict[str, Any] = {
    "text_align": "center",
    "text_baseline": "middle",
    "text_font_style": "bold",
    "text_font_size": "16px",
    "text_font": {"value": "system-ui, sans-serif"},
    "background_fill_color": "white",
    "background_fill_alpha": 0.85,
    "padding": 3,
    "border_radius": 6,
}
"""Style of the cluster numbers among the points."""


def bokeh(module: str) -> Any:
    """Import a module of Bokeh. The error explains how to install it."""
    try:
        return import_module(f"bokeh.{module}")
    except ImportError as error:
        raise ImportError(not_installed("the page needs", "bokeh")) from error


def scripts() -> str:
    """Return the Bokeh JavaScript that the page needs."""
    code = "\n".join(
        bokeh("resources").Resources(mode="inline", components=["bokeh", "bokeh-gl"]).js_raw
    )
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_item(figure: Any, target: str) -> Any:
    """Return a figure as JSON that the page embeds into the element `target`."""
    return bokeh("embed").json_item(figure, target)


def scatter(points: NDArray[np.float64]) -> Any:
    """Return the map of the common embedding. The page fills in the points and responds to the
    pointer.
    """
    models, plot = bokeh("models"), empty_map(points)

    def filled_by_page(name: str, *columns: str) -> Any:
        return models.ColumnDataSource({column: [] for column in columns}, name=name)

    image = ("image", "x", "y", "width", "height")
    plot.image_rgba(*image, source=filled_by_page("density", *image), level="image")
    dots = plot.scatter(
        "x",
        "y",
        source=filled_by_page("points", "x", "y", "color"),
        size=6,
        fill_color="color",
        line_color=None,
        fill_alpha=0.8,
        name="dots",
    )
    dots.nonselection_glyph.fill_alpha = 0.12
    plot.select_one(models.LassoSelectTool).renderers = [dots]
    ends = ("x0", "y0", "x1", "y1")
    plot.segment(
        *ends,
        line_width="width",
        line_color="#888888",
        line_alpha=0.8,
        source=filled_by_page("edges", *ends, "width"),
        name="lines",
    )
    plot.scatter(
        "x",
        "y",
        source=filled_by_page("rings", "x", "y"),
        size=18,
        fill_color=None,
        line_color="#888888",
        line_width=3,
        name="ring",
    )
    names = filled_by_page("names", "x", "y", "text")
    plot.text("x", "y", "text", source=names, name="numbers", **WRITTEN)
    return plot


def empty_map(points: NDArray[np.float64]) -> Any:
    """Return a figure with space for the points, and with tools but no axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
    plot = plain_figure(
        "plot",
        520,
        "pan,lasso_select,box_zoom,zoom_in,zoom_out,reset,save",
        x_range=(left, right),
        y_range=(bottom, top),
        output_backend="webgl",
        active_drag="pan",
        toolbar_location="above",
    )
    plot.add_tools(bokeh("models").WheelZoomTool())
    plot.toolbar.active_scroll = None
    plot.toolbar.logo = None
    plot.axis.visible = False
    plot.grid.visible = False
    return plot


def plain_figure(name: str, height: int, tools: str, **options: Any) -> Any:
    """Return a figure as wide as the page, with the same background."""
    plot = bokeh("plotting").figure(
        name=name, height=height, sizing_mode="stretch_width", tools=tools, **options
    )
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
    return plot


def number_of_clusters(number: NumberOfClusters) -> Any:
    """Return the figure of the evidence for the number of clusters."""
    plot = plain_figure("evidence", 300, "pan,box_zoom,reset,hover", toolbar_location=None)
    plot.y_range.start, plot.y_range.end = 0.0, 1.05
    plot.xaxis.axis_label = "number of clusters K"
    plot.add_layout(
        bokeh("models").Span(
            location=float(number.chosen),
            dimension="height",
            line_dash="dotted",
            line_color="#888888",
            line_width=2,
        )
    )
    for criterion, title, color in CRITERIA[:-1]:
        values, width = getattr(number, criterion), 3 if criterion == "score" else 1.5
        if values is None:  # evidence from earlier versions has no silhouette
            continue
        known = np.isfinite(values)
        x, y = number.candidates[known].tolist(), values[known].tolist()
        plot.line(x, y, line_color=color, line_width=width, legend_label=title)
        plot.scatter(x, y, fill_color=color, line_color=None, size=6, legend_label=title)
    plot.legend.background_fill_alpha = 0.0
    plot.legend.border_line_color = None
    plot.legend.orientation = "horizontal"
    plot.add_layout(plot.legend[0], "above")
    return plot


def survival(curves: Sequence[SurvivalCurve], time: str) -> Any:
    """Return the figure of the survival curves. The page gives them the colors of the clusters."""
    models = bokeh("models")
    plot = plain_figure("survival", 380, "pan,box_zoom,reset", toolbar_location=None)
    plot.y_range.start, plot.y_range.end = 0.0, 1.05
    plot.xaxis.axis_label, plot.yaxis.axis_label = time, "share without an event"
    plot.x_range.start = 0.0
    items, lines = [], []
    for curve in curves:
        corners = {name: values.tolist() for name, values in curve.corners().items()}
        own = [curve.cluster] * len(corners["time"])
        source = models.ColumnDataSource({**corners, "cluster": own})
        band = plot.varea("time", "lower", "upper", source=source, fill_alpha=0.12)
        dash = DASHES[curve.cluster % len(DASHES)]
        line = plot.line("time", "survival", source=source, line_width=2.5, line_dash=dash)
        at, shares = curve.censored.tolist(), curve.survival_at(curve.censored).tolist()
        crosses = plot.scatter(at, shares, marker="cross", size=7)
        for drawn in (line, band, crosses):
            drawn.tags = [curve.cluster]
        items.append((str(curve.cluster), [line, band, crosses]))
        lines.append(line)
    said = [("cluster", "@cluster"), ("time", "$x{0.[00]}"), ("without an event", "@survival{0%}")]
    plot.add_tools(models.HoverTool(renderers=lines, tooltips=said))
    legend = models.Legend(
        name="curves",
        items=items,
        title="Cluster",
        orientation="horizontal",
        ncols=LEGEND_COLUMNS,
        click_policy="hide",
        border_line_color=None,
        background_fill_alpha=0.0,
    )
    plot.add_layout(legend, "above")
    return plot
