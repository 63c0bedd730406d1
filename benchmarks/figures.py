"""Figures of the results: logarithmic axes, lines labeled at their right ends, and colors that
color-blind readers can distinguish.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results import Row

COLORS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
OWN, OTHER = COLORS[0], "#7f7f7f"
End = tuple[str, float, float, str]  # name, position and color of the right end of a line
SCALED = {"mixture": "Two views of a Gaussian mixture", "mnist": "Two views of MNIST digits"}
SHORT = {"mixture": "a Gaussian mixture", "mnist": "MNIST in two views"}
NAMES = {
    "rmgl_defaults": "RMGL, exact",
    "rmgl_approximate": "RMGL, approximate",
    "sklearn_spectral": "scikit-learn",
}
GAP = 0.045  # between labels, relative to the height of the axes


def layer(rows: list[Row], path: Path) -> None:
    """Seconds by N on the pix view, with one panel per regime; dashed lines are other models."""
    rows = [row for row in rows if row["status"] == "ok" and row["view"] == "pix"]
    methods = sorted({row["method"] for row in rows}, key=lambda name: (name != "newton", name))
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"paper": "the paper's alpha", "sparse": "about 15 edges per node"}
    ends = []
    for ax, (regime, title) in zip(panels, titles.items(), strict=True):
        lines = {}
        for k, method in enumerate(methods):
            chosen = sorted(
                (row for row in rows if row["method"] == method and row["regime"] == regime),
                key=lambda row: row["n"],
            )
            other_model = any(row["extra"].get("model") for row in chosen)
            points = [(row["n"], row["seconds"]) for row in chosen]
            lines[method + (" *" if other_model else "")] = (
                points,
                COLORS[k % len(COLORS)],
                "--" if other_model else "-",
            )
        ends.append(draw_lines(ax, lines, f"One layer, {title}"))
    for ax, found in zip(panels, ends, strict=True):
        place_labels(ax, found)
    panels[0].set_ylabel("seconds")
    if any(row["extra"].get("model") for row in rows):
        figure.supxlabel(
            "* a different model (log-degree), stopped according to its own rule",
            fontsize=8,
            x=0.99,
            ha="right",
        )
    figure.savefig(path, dpi=150)


def fit(rows: list[Row], path: Path) -> None:
    """Seconds and NMI of every method on one data set, with the fastest method at the top."""
    rows = sorted((row for row in rows if row["status"] == "ok"), key=lambda row: -row["seconds"])
    figure = Figure(figsize=(9, 0.8 + 0.25 * max(len(rows), 1)), layout="constrained")
    places = np.arange(len(rows))
    colors = [OWN if row["method"].startswith("rmgl") else OTHER for row in rows]
    panels = figure.subplots(1, 2, sharey=True)
    for ax, field, title in zip(panels, ("seconds", "nmi"), ("seconds", "NMI"), strict=True):
        values = [row[field] for row in rows]
        ax.scatter(values, places, c=colors, zorder=3)
        ax.set_title(title, loc="left", fontsize=10)
        for place, value in zip(places, values, strict=True):
            ax.annotate(
                f"{value:.3g}",
                (value, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
            )
        tidy(ax)
    panels[0].set_xscale("log")
    panels[0].margins(x=0.12)
    panels[1].set_xlim(0, 1.1)
    panels[0].set_yticks(places, [row["method"] for row in rows], fontsize=8)
    figure.savefig(path, dpi=150)


def methods(rows: list[Row], path: Path) -> None:
    """Seconds by N for every method, with one panel per data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(5.5 * len(names), 4.0), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    ends = []
    for ax, name in zip(panels, names, strict=True):
        lines = {}
        for place, (method, title) in enumerate(NAMES.items()):
            own = [row for row in rows if (row["data"], row["method"]) == (name, method)]
            points = sorted((row["n"], row["seconds"]) for row in own)
            lines[title] = (points, COLORS[place], "-")
        ends.append(draw_lines(ax, lines, SCALED.get(name, name)))
    for ax, found in zip(panels, ends, strict=True):
        place_labels(ax, found)
    panels[0].set_ylabel("seconds")
    figure.savefig(path, dpi=150)


def scale(rows: list[Row], path: Path) -> None:
    """Seconds by N for every stage, with slopes, and with one panel per data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(5.5 * max(len(names), 1), 4.5), layout="constrained")
    panels = figure.subplots(1, max(len(names), 1), sharey=True, squeeze=False)[0]
    ends = []
    for ax, name in zip(panels, names, strict=False):
        chosen = sorted((row for row in rows if row["data"] == name), key=lambda row: row["n"])
        lines = {}
        for k, stage in enumerate(["all", *chosen[-1]["extra"]["stages"]]):
            points = stage_points(chosen, stage)
            slope = slope_text(chosen, stage)
            lines[f"{stage}, N^{slope}" if slope else stage] = (
                points,
                "#000000" if stage == "all" else COLORS[(k - 1) % 6],
                "-",
            )
        seconds = chosen[-1]["seconds"]
        took = f"{chosen[-1]['n']:,} rows in " + (
            f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        )
        ends.append(draw_lines(ax, lines, f"{SCALED.get(name, name)}: {took}"))
    for ax, found in zip(panels, ends, strict=False):
        place_labels(ax, found)
    panels[0].set_ylabel("seconds")
    figure.savefig(path, dpi=150)


def stage_points(rows: list[Row], stage: str) -> list[tuple[int, float]]:
    """N and the seconds spent on one stage, on "all", or on everything "after neighbors"."""
    found: dict[str, Callable[[Row], float]] = {
        "all": lambda row: row["seconds"],
        "after neighbors": lambda row: (
            row["seconds"] - row["extra"]["stages"].get("neighbors", 0.0)
        ),
    }
    seconds = found.get(stage, lambda row: row["extra"]["stages"].get(stage, 0.0))
    return [(row["n"], seconds(row)) for row in rows if seconds(row) > 0]


def slope_text(rows: list[Row], stage: str) -> str:
    """The slope on log-log axes, by least squares."""
    points = np.log(np.array(stage_points(rows, stage), dtype=float).reshape(-1, 2))
    return (
        f"{np.polyfit(points[:, 0], points[:, 1], 1)[0]:.2f}" if len(set(points[:, 0])) > 1 else ""
    )


def draw_lines(ax: Axes, lines: dict[str, tuple[list, str, str]], title: str) -> list[End]:
    """Draw seconds by N on log-log axes; return the right ends of the lines, for their labels."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ends, sizes = [], set()
    for name, (points, color, style) in lines.items():
        if points:
            x, y = np.array(points, dtype=float).T
            ax.plot(x, y, style, color=color, marker="o", markersize=4)
            ends.append((name, x[-1], y[-1], color))
            sizes.update(x)
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_xlabel("rows")
    ax.set_xticks(sorted(sizes), [f"{n:,.0f}" for n in sorted(sizes)], fontsize=8)
    ax.set_xticks([], minor=True)
    tidy(ax)
    return ends


def place_labels(ax: Axes, ends: list[End]) -> None:
    """Write names to the right of the axes, level with the ends of their lines; move them apart
    where they would overlap.

    Call this when the limits of the axes are final.
    """
    low, high = ax.get_ylim()
    taken = -1.0
    for name, x, y, color in sorted(ends, key=lambda end: end[2]):
        taken = max(np.log(y / low) / np.log(high / low), taken + GAP)
        ax.annotate(
            name,
            (x, y),
            xytext=(1.02, taken),
            textcoords="axes fraction",
            color=color,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.5,
                "alpha": 0.5,
                "shrinkB": 2,
            },
        )


def tidy(ax: Axes) -> None:
    ax.grid(True, which="major", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def quality(by_name: dict[tuple, Row], methods: list[str], datasets: list[str], path: Path) -> None:
    """One line per method: a dot per data set and a bar for the mean; the best mean is on top."""
    scores = {
        m: [row["nmi"] for d in datasets if (row := by_name.get((d, m))) and row["status"] == "ok"]
        for m in methods
    }
    order = sorted((m for m in methods if scores[m]), key=lambda m: sum(scores[m]) / len(datasets))
    figure = Figure(figsize=(7.5, 0.32 * len(order) + 1.2), layout="constrained", dpi=130)
    ax = figure.add_subplot()
    for place, method in enumerate(order):
        ours = method.startswith("rmgl")
        ax.barh(
            place,
            sum(scores[method]) / len(datasets),
            color="#0072B2" if ours else "#C8C8C8",
            height=0.7,
            zorder=1,
        )
        ax.scatter(
            scores[method],
            [place] * len(scores[method]),
            s=14,
            color="black",
            alpha=0.6,
            linewidth=0,
            zorder=2,
        )
    ax.set_yticks(range(len(order)), order, fontsize=8)
    ax.set(
        xlim=(0, 1),
        xlabel="NMI (bar: mean over data sets, missing scores as 0; dots: data sets)",
        title="With the defaults; nothing is tuned",
    )
    tidy(ax)
    figure.savefig(path)
