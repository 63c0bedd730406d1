"""Tables in Markdown and pictures from the results there are; what has not been measured is left out."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import figures
from benchmarks.results import Row
from benchmarks.tables import done, entry, gib, mark, number, table


def write(results: Path, output: Path) -> Path:
    """Write `performance.md` and its pictures into `output`; returns the path of the page."""
    output.mkdir(parents=True, exist_ok=True)
    sections: dict[str, Callable[[list[Row], Path], Iterable[str]]] = {"layer": layer_section, "fit": fit_section, "scale": scale_section}
    parts: list[str] = []
    for name, section in sections.items():
        path = results / f"{name}.json"
        if path.exists():
            stored = json.loads(path.read_text())
            parts += [machine_line(stored["machine"])] if not parts else []
            parts += section(list(stored["rows"].values()), output)
    page = output / "performance.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def machine_line(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; Python {machine['python']}, {versions}."


def layer_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## One layer"
    cells = {(row["view"], row["n"], row["regime"], row["method"]): row for row in rows}
    yield own_solvers(cells)
    for regime, title in (("paper", "the paper's alpha"), ("sparse", "about 15 edges a node")):
        yield f"View pix at {title}: seconds, times Newton's seconds, residual reached."
        yield general_solvers(cells, regime)
    figures.layer(rows, output / "layer.png")
    yield "![Seconds against N for every layer solver](layer.png)"


def own_solvers(cells: dict[tuple, Row]) -> str:
    """Newton against dual ascent on the twelve layers, with geometric means of the ratio."""
    lines, ratios = [], {"paper": [], "sparse": []}
    largest = max((n for _, n, _, _ in cells), default=0)
    for (view, n, regime, method), newton in sorted(cells.items(), key=lambda item: (item[0][2], item[0][0])):
        ascent = cells.get((view, n, regime, "dual_ascent"))
        if method != "newton" or n != largest or not done(newton) or ascent is None:
            continue
        ratio = ascent["seconds"] / newton["seconds"] if done(ascent) else None
        ratios[regime] += [ratio] if ratio else []
        own = [number(newton["seconds"]), int(newton["extra"]["n_passes"])]
        other = [number(ascent["seconds"]), int(ascent["extra"]["n_passes"]), number(ratio)] if ratio else [mark(ascent), "", ""]
        lines.append([view, regime, f"{newton['alpha']:.3g}", f"{newton['edges_per_node']:.0f}", *own, *other])
    head = ["view", "regime", "alpha", "edges a node", "Newton, s", "passes", "dual ascent, s", "passes", "ratio"]
    both = ratios["paper"] + ratios["sparse"]
    means = [
        f"{name} {number(np.exp(np.mean(np.log(found))))} ({len(found)} layers)"
        for name, found in (("all", both), ("paper", ratios["paper"]), ("sparse", ratios["sparse"]))
        if found
    ]
    return table(head, lines) + "\n\nGeometric mean of the ratio: " + ", ".join(means) + "."


def general_solvers(cells: dict[tuple, Row], regime: str) -> str:
    found = {(n, method): row for (view, n, kind, method), row in cells.items() if view == "pix" and kind == regime}
    sizes = sorted({n for n, _ in found})
    methods = sorted({method for _, method in found}, key=lambda method: (method != "newton", method))

    def cell(n: int, method: str) -> str:
        row, newton = found.get((n, method)), found.get((n, "newton"))
        if row is None or not done(row):
            return mark(row)
        ratio = f" ({number(row['seconds'] / newton['seconds'])}x)" if newton and done(newton) and method != "newton" else ""
        return f"{number(row['seconds'])}{ratio}, {row['residual']:.0e}"

    lines = [[label(found, method), *(cell(n, method) for n in sizes)] for method in methods]
    return table(["solver", *(f"N = {n}" for n in sizes)], lines)


def label(found: dict[tuple, Row], method: str) -> str:
    models = {row["extra"].get("model") for (_, name), row in found.items() if name == method and done(row)}
    return f"{method} (log-degree model)" if "log-degree" in models else method


def fit_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Whole fits"
    by_name = {(row["dataset"], row["method"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    first = next((name for name in datasets if name.startswith("digits")), None)
    if first:
        yield f"{first}: seconds beside those of RMGL with its defaults and of scikit-learn's spectral clustering; peak memory; scores."
        yield one_dataset(by_name, first)
        figures.fit([row for row in rows if row["dataset"] == first], output / "fit.png")
        yield "![Seconds and NMI of every method on the digits](fit.png)"
    methods = sorted({row["method"] for row in rows}, key=lambda method: (not method.startswith("rmgl"), method))
    for field, title, form in (("nmi", "NMI", "{:.3f}"), ("seconds", "Seconds", "{:.3g}")):
        yield f"{title} on every data set:"
        lines = [[m, *(entry(by_name.get((d, m)), field, form) for d in datasets)] for m in methods]
        yield table(["method", *datasets], lines)
    failures = [f"- {row['method']} on {row['dataset']}: {row['status']}" for row in rows if not done(row)]
    if failures:
        yield "What did not run:\n\n" + "\n".join(failures)


def one_dataset(by_name: dict[tuple, Row], dataset: str) -> str:
    rows = [row for (name, _), row in by_name.items() if name == dataset and done(row)]
    reference = {m: by_name.get((dataset, m), {}).get("seconds") for m in ("rmgl_defaults", "rmgl_paper", "sklearn_spectral")}
    lines = []
    for row in sorted(rows, key=lambda row: row["seconds"]):
        ratios = [number(row["seconds"] / seconds) if seconds else "" for seconds in reference.values()]
        scores = [f"{row[score]:.3f}" for score in ("nmi", "accuracy", "ari")]
        lines.append([row["method"], number(row["seconds"]), *ratios, gib(row), *scores, row["n_found"]])
    head = ["method", "seconds", *(f"/ {m}" for m in reference), "peak GiB", "NMI", "accuracy", "ARI", "clusters"]
    return table(head, lines)


def scale_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Scale"
    for name in dict.fromkeys(row["data"] for row in rows):
        chosen = sorted((row for row in rows if row["data"] == name and done(row)), key=lambda row: row["n"])
        if chosen:
            yield f"{name}: seconds by stage, peak memory, scores."
            yield scale_table(chosen)
    figures.scale([row for row in rows if done(row)], output / "scale.png")
    yield "![Seconds by stage against N](scale.png)"


def scale_table(rows: list[Row]) -> str:
    stages = list(rows[-1]["extra"]["stages"])
    lines = []
    for row in rows:
        exact = " / ".join(f"{layer['candidates']}, {layer['kkt_residual']:.0e}" for layer in row["extra"]["layers"])
        times = [number(row["extra"]["stages"].get(stage)) for stage in stages]
        lines.append([f"{row['n']:,}", number(row["seconds"]), *times, gib(row), f"{row['nmi']:.3f}", row["extra"]["n_iter"], exact])
    slopes = [figures.slope_text(rows, name) for name in ("all", *stages)]
    lines.append(["slope", *slopes, "", "", "", ""])
    text = table(["N", "all", *stages, "peak GiB", "NMI", "rounds", "layers: candidates, KKT residual"], lines)
    after = figures.slope_text(rows, "after neighbours")
    return text + (f"\n\nSlope of everything after the neighbour search: {after}." if stages else "")
