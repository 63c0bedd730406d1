"""Tables of results: for every method, the best setting in its grid, and its defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.experiments.cells import Cell, read
from rmgl.experiments.grids import Setting, describe
from rmgl.matrix import Floats

ORDER = (
    "RMGL (Q)",
    "RMGL layer",
    "GL-SigRep ",
    "GL-SigRep(C)",
    "SC-GED",
    "SC-ML",
    "GD-MCCA",
    "kNN spectral",
)
"""Order of the methods in tables and figures."""
PER_VIEW = ("RMGL layer", "GL-SigRep ")
"""Prefixes of methods with one row per view."""


@dataclass
class Result:
    """One row of a table for one setting: its scores, and the embedding of the first draw."""

    name: str
    setting: Setting
    nmi: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    seconds: float = 0.0
    embedding: Floats | None = None
    components: list[list[int]] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return float(np.mean(self.nmi))

    @property
    def split_layers(self) -> int:
        """Number of layers with as many components as clusters."""
        n_clusters = 0 if self.embedding is None else self.embedding.shape[1]
        return sum(count == n_clusters for counts in self.components for count in counts)


def collect(cells: Sequence[Cell], folder: Path) -> list[Result]:
    """Read all results. Cells with the same setting (draws of the data) are pooled."""
    pooled: dict[tuple[str, str, str, str], Result] = {}
    for cell in cells:
        scores, embeddings = read(cell, folder)
        for name, values in scores["rows"].items():
            key = (name, cell.setting.method, describe(cell.setting.parameters), cell.setting.kind)
            result = pooled.setdefault(key, Result(name, cell.setting, embedding=embeddings[name]))
            result.nmi += values["nmi"]
            result.accuracy += values["accuracy"]
            result.seconds += scores["seconds"]
            if "_components" in embeddings:
                result.components.append(embeddings["_components"].tolist())
    return list(pooled.values())


def best(results: Sequence[Result], name: str, kind: str) -> Result | None:
    """Return the result with the highest mean NMI. Among ties, return the one with the most
    K-component layers.

    The results for RMGL's layers are those of the setting that is best for Q.
    """
    of_kind = [r for r in results if (r.name, r.setting.kind) == (name, kind)]
    if name.startswith("RMGL layer"):
        chosen = best(results, "RMGL (Q)", kind)
        of_kind = [r for r in of_kind if chosen is not None and r.setting == chosen.setting]
    return max(of_kind, key=lambda r: (round(r.mean, 9), r.split_layers), default=None)


def row_names(results: Sequence[Result]) -> list[str]:
    """Return the names of the rows, in the order of the tables."""
    names = list(dict.fromkeys(result.name for result in results))
    return [
        name
        for piece in ORDER
        for name in names
        if (name.startswith(piece) if piece in PER_VIEW else name == piece)
    ]


def make_table(
    results: Sequence[Result], problem: str, n_rows: int, runs: int, draws: int, quick: bool
) -> dict[str, Any]:
    """Return the content of the Markdown table and the figures, as JSON types."""
    rows = []
    for name in row_names(results):
        tuned, default = best(results, name, "grid"), best(results, name, "default")
        n_tried = sum((r.name, r.setting.kind) == (name, "grid") for r in results)
        rows.append(
            {
                "name": name,
                "tuned": summary(tuned),
                "default": summary(default),
                "settings_tried": "as for Q" if name.startswith("RMGL layer") else n_tried,
            }
        )
    paper = [r for r in results if (r.name, r.setting.kind) == ("RMGL (Q)", "paper")]
    grids: dict[str, dict[str, None]] = {}
    for result in results:
        if result.setting.kind == "grid":
            tried = grids.setdefault(result.setting.method, {})
            tried[describe(result.setting.parameters)] = None
    return {
        "problem": problem,
        "quick": quick,
        "n_rows": n_rows,
        "runs": runs,
        "draws": draws,
        "rows": rows,
        "paper_parameters": [summary(result) for result in paper],
        "grids": {method: list(tried) for method, tried in grids.items()},
    }


def summary(result: Result | None) -> dict[str, Any] | None:
    """Return a result as JSON types."""
    if result is None:
        return None
    return {
        "parameters": describe(result.setting.parameters),
        "nmi_mean": result.mean,
        "nmi_std": float(np.std(result.nmi)),
        "accuracy_mean": float(np.mean(result.accuracy)),
        "nmi": result.nmi,
        "seconds": result.seconds,
        "components": result.components,
    }


def to_markdown(table: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    spread = f"{table['runs']} k-means seeds"
    if table["draws"] > 1:
        spread = f"{table['draws']} draws of the data"
    trial = "**A quick trial: few rows, settings and runs.** " if table["quick"] else ""
    lines = [
        f"{trial}The data have {table['n_rows']} rows. The table shows the NMI (mean +/- standard "
        f"deviation over {spread}). *Tuned with labels*: the best setting in the listed grid (for "
        "RMGL's layers, the setting that is best for Q). *Defaults*: chosen without labels. For "
        "RMGL, these are the heuristics in `rmgl.model.problems` with weak coupling, not the "
        "defaults of the package, whose NMI on real data is in docs/quality.md.",
        "",
        "| method | tuned with labels | parameters chosen | settings tried | defaults, no labels |",
        "|---|---|---|---|---|",
    ]
    for row in table["rows"]:
        parameters = row["tuned"]["parameters"] if row["tuned"] else ""
        lines.append(
            f"| {row['name']} | {figures(row['tuned'])} | {parameters} | "
            f"{row['settings_tried']} | {figures(row['default'])} |"
        )
    for paper in table["paper_parameters"]:
        lines.append(
            f"| RMGL (Q), paper parameters | {figures(paper)} | {paper['parameters']} | | |"
        )
    lines += ["", "<details><summary>The grids</summary>", ""]
    for method, tried in table["grids"].items():
        lines += [f"**{method}** ({len(tried)}): " + "; ".join(tried), ""]
    lines += ["</details>", ""]
    return "\n".join(lines)


def figures(part: dict[str, Any] | None) -> str:
    """Return mean and standard deviation of the NMI as text."""
    return "" if part is None else f"{part['nmi_mean']:.3f} +/- {part['nmi_std']:.3f}"
