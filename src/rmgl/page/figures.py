"""Interactive pictures of the page, made with Bokeh (extra `report`). The page fills in their
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
from rmgl.results.survival import SurvivalCurve

MARGIN = 0.05
"""Empty space around the points, as a share of their range."""
DASHES = ("solid", "dashed", "dotted", "dashdot")
"""Line styles of curves, for readers who cannot distinguish their colors."""
LEGEND_COLUMNS = 5
"""Number of cluster names per row above survival curves. This many fit on a phone."""
EVIDENCE = (
    ("score", "score (decides)", "#0072B2", 3),
    ("modularity", "modularity", "#D55E00", 1.5),
    ("silhouette", "silhouette", "#CC79A7", 1.5),
    ("stability", "stability", "#009E73", 1.5),
)


def bokeh(module: str) -> Any:
    """Import a module of Bokeh. The error explains how to install it."""
    try:
        return import_module(f"bokeh.{module}")
    except ImportError as error:
        raise ImportError(not_installed("the page needs", "bokeh")) from error


def scripts() -> str:
    """Return the JavaScript of Bokeh that the page needs."""
    code = "\n".join(
        bokeh("resources").Resources(mode="inline", components=["bokeh", "bokeh-gl"]).js_raw
    )
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_item(figure: Any, target: str) -> Any:
    """Return a picture as JSON that the page embeds into the element `target`."""
    return bokeh("embed").json_item(figure, target)


def scatter(points: NDArray[np.float64]) -> Any:
    """Return the picture of the common embedding. The page fills in the points and responds to the
    pointer.
    """
    models = bokeh("models")
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
    plot = bokeh("plotting").figure(
        x_range=(left, right),
        y_range=(bottom, top),
        name="plot",
        height=520,
        sizing_mode="stretch_width",
        output_backend="webgl",
        tools="pan,lasso_select,box_zoom,zoom_in,zoom_out,reset,save",
        active_drag="pan",
        toolbar_location="above",
    )
    plot.add_tools(models.WheelZoomTool())
    plot.toolbar.active_scroll = None
    plot.toolbar.logo = None
    plot.axis.visible = False
    plot.grid.visible = False
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
    image = models.ColumnDataSource(
        {"image": [], "x": [], "y": [], "width": [], "height": []}, name="density"
    )
    plot.image_rgba("image", "x", "y", "width", "height", source=image, level="image")
    dots_source = models.ColumnDataSource({"x": [], "y": [], "color": []}, name="points")
    dots = plot.scatter(
        "x",
        "y",
        source=dots_source,
        size=6,
        fill_color="color",
        line_color=None,
        fill_alpha=0.8,
        name="dots",
    )
    dots.nonselection_glyph.fill_alpha = 0.12
    edges = models.ColumnDataSource(
        {name: [] for name in ("x0", "y0", "x1", "y1", "width")}, name="edges"
    )
    plot.segment(
        "x0",
        "y0",
        "x1",
        "y1",
        line_width="width",
        line_color="#888888",
        line_alpha=0.8,
        source=edges,
        name="lines",
    )
    rings = models.ColumnDataSource({"x": [], "y": []}, name="rings")
    plot.scatter(
        "x",
        "y",
        source=rings,
        size=18,
        fill_color=None,
        line_color="#888888",
        line_width=3,
        name="ring",
    )
    names = models.ColumnDataSource({"x": [], "y": [], "text": []}, name="names")
    outline: dict[str, Any] = {
        "text_align": "center",
        "text_baseline": "middle",
        "text_font_style": "bold",
        "text_font_size": "16px",
        "text_font": {"value": "system-ui, sans-serif"},
    }
    box: dict[str, Any] = {
        "background_fill_color": "white",
        "background_fill_alpha": 0.85,
        "padding": 3,
        "border_radius": 6,
    }
    plot.text("x", "y", "text", source=names, name="numbers", **outline, **box)
    plot.select_one(models.LassoSelectTool).renderers = [dots]
    return plot


def number_of_clusters(number: NumberOfClusters) -> Any:
    """Return the picture of the evidence for the number of clusters."""
    plot = bokeh("plotting").figure(
        name="evidence",
        height=300,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,reset,hover",
        toolbar_location=None,
    )
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
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
    for attribute, title, color, width in EVIDENCE:
        values = np.asarray(getattr(number, attribute), dtype=np.float64)
        if values.ndim == 0:  # evidence from earlier versions has no silhouette
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
    """Return the picture of the survival curves. The page gives them the colors of the clusters."""
    models = bokeh("models")
    plot = bokeh("plotting").figure(
        name="survival",
        height=380,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,reset",
        toolbar_location=None,
    )
    plot.background_fill_alpha = plot.border_fill_alpha = 0.0
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
    said = [("cluster", "@cluster"), ("time", "$x{0.[00]}"), ("without an event", "@survival{0 %}")]
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
