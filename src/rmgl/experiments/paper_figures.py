"""Figures 1 to 3 of the paper, drawn from the saved tables and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import COLORS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES = {
    "RMGL (Q)": "#D55E00",
    "RMGL layer": "#E69F00",
    "GL-SigRep ": "#56B4E9",
    "GL-SigRep(C)": "#0072B2",
    "SC-GED": "#009E73",
    "SC-ML": "#CC79A7",
    "GD-MCCA": "#7F3C8D",
    "kNN spectral": "#8C8C8C",
}
DIAMOND: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markersize": 5}
TITLES = {"uci": "UCI handwritten digits", "coil20": "COIL-20"}


def save(figure: Figure, path: Path) -> None:
    """Save a figure as PNG and as PDF."""
    for suffix in (".png", ".pdf"):
        figure.savefig(path.with_suffix(suffix))


def bars(table: Mapping[str, Any]) -> Figure:
    """Draw Figure 2: the NMI of every method, tuned with labels (bar) and untuned (diamond)."""
    rows = [row for row in table["rows"] if row["tuned"] is not None]
    figure = new_figure(8.5, 0.9 + 0.27 * len(rows))
    ax = figure.add_subplot()
    places = np.arange(len(rows))[::-1]
    for place, row in zip(places, rows, strict=True):
        tuned = row["tuned"]
        ax.barh(
            place,
            tuned["nmi_mean"],
            xerr=tuned["nmi_std"],
            color=family_color(row["name"]),
            height=0.75,
            error_kw={"linewidth": 1},
        )
        ax.text(1.02, place, f"{tuned['nmi_mean']:.3f}", va="center", fontsize=8)
        if row["default"] is not None:
            ax.plot(row["default"]["nmi_mean"], place, "D", **DIAMOND)
    ax.plot([], [], "D", **DIAMOND, label="defaults, no labels")
    ax.set_yticks(places, [row["name"] for row in rows], fontsize=8)
    ax.set(
        xlim=(0, 1.1),
        xticks=np.linspace(0, 1, 6),
        xlabel=f"NMI, tuned with labels (mean and standard deviation over {table['runs']} runs)",
    )
    ax.set_title(TITLES[table["problem"]])
    figure.legend(loc="outside lower left", fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def family_color(name: str) -> str:
    """Return the color of the family of methods that a row belongs to."""
    return next(color for family, color in FAMILIES.items() if name.startswith(family))


def scatter_grid(arrays: Mapping[str, NDArray[Any]], names: Sequence[str]) -> Figure:
    """Draw Figure 3: the last two columns of each common subspace, colored by true class."""
    shown = [name for name in names if name in arrays]
    figure = new_figure(3.4 * len(shown), 3.7)
    for place, name in enumerate(shown, start=1):
        ax = figure.add_subplot(1, len(shown), place)
        scatter(ax, arrays[name][:, -2:], arrays["target"], name, size=4, numbered=True)
    about = "last two columns of the common subspace, one color and number per digit"
    figure.suptitle(f"UCI handwritten digits: {about}", fontsize=11)
    return figure


def scatter(
    ax: Axes, points: Floats, target: Indices, title: str, size: float, numbered: bool = False
) -> None:
    """Draw points colored by class and, if `numbered`, the number of each class at its median."""
    for label in np.unique(target):
        x, y = points[target == label].T
        color = COLORS[int(label) % len(COLORS)]
        ax.scatter(x, y, s=size, c=color, alpha=0.7, linewidths=0, rasterized=True)
    for label in np.unique(target) if numbered else ():
        x, y = np.median(points[target == label], axis=0)
        box = {
            "boxstyle": "circle,pad=0.15",
            "facecolor": "white",
            "edgecolor": COLORS[int(label) % len(COLORS)],
            "alpha": 0.85,
        }
        ax.text(x, y, str(label), ha="center", va="center", fontsize=7, bbox=box)
    ax.set_title(title, fontsize=9)
    ax.set(xticks=[], yticks=[])
    ax.margins(0.08)


def synthetic(arrays: Mapping[str, NDArray[Any]]) -> Figure:
    """Draw Figure 1: (a) the true layers, (b) the layers that RMGL learns, (c) the embeddings."""
    target = arrays["target"]
    embeddings = [name for name in arrays if name.startswith("embedding:")]
    figure = new_figure(12, 9.5)
    parts: Any = figure.subfigures(3, 1, height_ratios=(1, 1, 1.35))
    top, middle, bottom = parts
    for part, kind, title in (
        (top, "true:", "(a) true layers: each separates a different class"),
        (middle, "learned:", "(b) layers learned by RMGL"),
    ):
        part.suptitle(title, fontsize=11)
        names = [name for name in arrays if name.startswith(kind)]
        for place, name in enumerate(names, start=1):
            ax = part.add_subplot(1, len(names), place)
            draw_graph(ax, arrays[name], target, name.removeprefix(kind))
    bottom.suptitle(
        "(c) embeddings: two leading principal directions of the rows, one color per class",
        fontsize=11,
    )
    columns = 4
    for place, name in enumerate(embeddings, start=1):
        ax = bottom.add_subplot(-(-len(embeddings) // columns), columns, place)
        points = leading_directions(arrays[name])
        scatter(ax, points, target, name.removeprefix("embedding:"), size=14)
    return figure


def leading_directions(rows: Floats) -> Floats:
    """Project rows onto their first two principal components."""
    centered = rows - rows.mean(axis=0)
    left, strength, _ = np.linalg.svd(centered, full_matrices=False)
    projected: Floats = (left * strength)[:, :2]
    return projected


def draw_graph(ax: Axes, adjacency: Floats, target: Indices, title: str) -> None:
    """Draw a graph with each class in a disc. Edges between classes are gray."""
    from matplotlib.collections import LineCollection

    position = class_layout(target)
    i, j = np.nonzero(np.triu(adjacency, 1))
    weight = adjacency[i, j] / adjacency.max()
    same = target[i] == target[j]
    for chosen, strength in ((~same, 0.12), (same, 0.35)):
        colors = [
            COLORS[int(target[a])] if target[a] == target[b] else "#555555"
            for a, b in zip(i[chosen], j[chosen], strict=True)
        ]
        segments = np.stack([position[i[chosen]], position[j[chosen]]], axis=1)
        widths = 0.2 + 0.8 * weight[chosen]
        lines = LineCollection(list(segments), colors=colors, linewidths=widths, alpha=strength)
        lines.set_rasterized(True)
        ax.add_collection(lines)
    for label in np.unique(target):
        nodes = position[target == label]
        ax.scatter(nodes[:, 0], nodes[:, 1], s=12, c=COLORS[int(label)], zorder=3, linewidths=0)
    n_cross = int((~same).sum())
    parts = connected_components(csr_array(adjacency), directed=False, return_labels=False)
    ax.set_title(
        f"{title}: {len(i)} edges, {n_cross} between classes, {parts} components", fontsize=9
    )
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.autoscale_view()


def class_layout(target: Indices) -> Floats:
    """Return positions of the nodes: each class in a disc, with the discs on a circle."""
    position = np.empty((target.size, 2))
    labels = np.unique(target)
    for place, label in enumerate(labels):
        angle = 2 * np.pi * place / len(labels) + np.pi / 4
        count = int((target == label).sum())
        radius = np.sqrt((np.arange(count) + 0.5) / count)
        turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
        spiral = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
        position[target == label] = 1.9 * np.array([np.cos(angle), 0.75 * np.sin(angle)]) + spiral
    return position
