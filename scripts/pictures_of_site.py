"""Draw the figures for the landing page and the tutorials: `python scripts/pictures_of_site.py`.

This script takes the code from the pages and notebooks that show the figures, runs it in a
temporary folder, and draws the results. It needs the extras `plot`, `report`, `networkx` and
`scverse`. The screenshot of the report also needs Chromium (`scripts/picture_of_page.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.patheffects import withStroke
from PIL import Image

from rmgl import RMGL, Network, plots
from rmgl.datasets import load_uci_digits
from rmgl.plots import COLORS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CARD_INCHES = (3.8, 2.6)
NAMED = {"Myriel", "Valjean", "Fantine", "Thenardier", "Enjolras"}
"""Characters from Les Misérables who are named in the figure of their network."""


def page(name: str, then: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Run the Python code on a page, and return what it computed."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return run("\n".join(BLOCK.findall(text)), then)


def notebook(name: str, *, cells: int) -> dict[str, Any]:
    """Run the first code cells of a notebook, and return what they computed."""
    path = ROOT / "examples" / "notebooks" / f"{name}.ipynb"
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]
    return run("\n".join(codes[:cells]))


def run(text: str, then: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Run code in a temporary folder, and call `then`, which may use the files in that folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(text, "page", "exec"), names)
            then()
        finally:
            os.chdir(before)
            plt.close("all")
    return names


def tutorial(output: Path) -> None:
    """Draw the figures for the first tutorial: the top of its report, a heat map and a layer."""

    def keep() -> None:
        for ours, theirs in (("heat_map", "heat_map"), ("rna", "layer")):
            save_small(Image.open(f"{ours}.png"), output / f"tutorial_{theirs}.png")
        picture = ROOT / "scripts" / "picture_of_page.py"
        size = ["--width", "1000", "--height", "1150"]
        subprocess.run([sys.executable, picture, "report.html", "page.png", *size], check=True)
        save_small(Image.open("page.png"), output / "tutorial_report.png")

    page("tutorial.md", keep)


def save_small(picture: Image.Image, path: Path) -> None:
    """Save an image with 256 colors, which makes the file several times smaller."""
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"Figure: {path}")


def save(figure: Any, path: Path, *, dpi: int) -> None:
    """Save a figure as a small file."""
    with BytesIO() as file:
        figure.savefig(file, dpi=dpi)
        save_small(Image.open(file), path)


def card() -> tuple[Any, Any]:
    """Return an empty figure the size of a card."""
    figure, ax = plt.subplots(figsize=CARD_INCHES, layout="constrained")
    return figure, ax


def map_of(model: RMGL, texts: list[str]) -> Any:
    """Draw the common embedding with a text at each cluster."""
    figure, ax = card()
    places = plots.embedding_data(model)
    for cluster, text in enumerate(texts):
        own = places[model.labels_ == cluster]
        ax.scatter(*own.T, s=7, c=COLORS[cluster % len(COLORS)], linewidths=0)
        outlined = [withStroke(linewidth=3, foreground="white")]
        at = {"ha": "center", "va": "center", "fontsize": 12, "path_effects": outlined}
        ax.text(*np.median(own, axis=0), text, **at)
    ax.axis("off")
    ax.margins(0.06)
    return figure


def patients(found: dict[str, Any]) -> Any:
    figure, ax = card()
    plots.plot_survival(found["found"], ax=ax)
    ax.get_legend().remove()
    ax.set(ylabel="share alive", title="Survival of three clusters")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def cells() -> Any:
    found = notebook("single_cells", cells=4)
    kinds = found["types"][found["kind"]]
    labels = found["model"].labels_
    names = []
    for cluster in range(labels.max() + 1):
        kind, counts = np.unique(kinds[labels == cluster], return_counts=True)
        names.append("\n".join(kind[counts > 0.25 * counts.sum()]))
    return map_of(found["model"], names)


def documents() -> Any:
    found = notebook("documents_and_links", cells=4)
    top = found["model"].explain({"words": found["words"]}).top(2).to_frame()
    words = top.groupby("cluster")["feature"].agg("\n".join)
    return map_of(found["model"], list(words))


def images() -> Any:
    data = load_uci_digits()
    model = RMGL(n_clusters=10, random_state=0).fit(data.views)
    figure = map_of(model, [""] * 10)
    places, ax = plots.embedding_data(model), figure.axes[0]
    for cluster in range(10):
        own = model.labels_ == cluster
        picture = data.views["pix"][own].mean(axis=0).reshape(16, 15)
        box = OffsetImage(picture, zoom=1.3, cmap="gray_r")
        frame = {"edgecolor": COLORS[cluster], "linewidth": 2}
        ax.add_artist(AnnotationBbox(box, np.median(places[own], axis=0), pad=0.1, bboxprops=frame))
    return figure


def networks() -> Any:
    graph = nx.les_miserables_graph()
    model = RMGL(n_clusters=5, random_state=0).fit({"scenes": Network(graph)})
    places = nx.spring_layout(graph, k=0.35, iterations=200, weight=None, seed=1)
    figure, ax = card()
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="0.75", width=0.6)
    for place, name in zip(model.labels_, model.index_, strict=True):
        ax.scatter(*places[name], s=26, c=COLORS[place], edgecolors="white", linewidths=0.5)
        if name in NAMED:
            outlined = [withStroke(linewidth=3, foreground="white")]
            at = {"ha": "center", "fontsize": 12, "path_effects": outlined, "zorder": 5}
            ax.annotate(name, places[name], (0, 5), textcoords="offset points", **at)
    ax.axis("off")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    tutorial(args.output)
    found = page("findings.md")
    plots.plot_survival(found["found"])
    save(plt.gcf(), args.output / "findings_survival.png", dpi=90)
    clinical = found["clinical"].reindex(found["model"].index_)
    ax = plots.plot_heatmap(found["model"], clinical[["stage", "age"]], n_features=6)
    save(ax.figure, args.output / "findings_heat_map.png", dpi=90)
    drawn = {
        "patients": patients(found),
        "cells": cells(),
        "documents": documents(),
        "images": images(),
        "networks": networks(),
    }
    for name, figure in drawn.items():
        save(figure, args.output / f"card_{name}.png", dpi=130)


if __name__ == "__main__":
    main()
