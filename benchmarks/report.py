"""Tables in Markdown and pictures from the results there are; what has not been measured is left out."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import figures, forecast, proportions, quality
from benchmarks.results import Row
from benchmarks.tables import GIB, done, entry, gib, mark, number, table

INTRODUCTION = """# Performance

What `python -m benchmarks layer`, `fit`, `proportion`, `scale`, `search`, `distributed`, `eigen` and `kernels` measured, written by
`python -m benchmarks report --output docs`; how it is measured is in [benchmarks/README.md](../benchmarks/README.md). Seconds are those
of one machine: ratios within a table are the result. Rows are shown as they came out, also where another method is quicker or better."""


QUALITY = """# Quality

What `python -m benchmarks quality`, `complementary`, `robustness`, `practice`, `cells`, `networks` and `known` measured, written by
`python -m benchmarks report --output docs`: every method at its defaults, nothing tuned, labels used for scoring only.
How the defaults of RMGL came about is in [defaults.md](defaults.md)."""

Section = Callable[[list[Row], Path], Iterable[str]]


def write(results: Path, output: Path) -> Path:
    """Write `performance.md`, `quality.md` and their pictures into `output`; returns the path of the first."""
    (output / "images").mkdir(parents=True, exist_ok=True)
    sections: dict[str, Section] = {
        "layer": layer_section,
        "fit": fit_section,
        "proportion": proportions.section,
        "scale": scale_section,
        "search": search_section,
        "distributed": forecast.section,
        "eigen": eigen_section,
        "kernels": kernel_section,
    }
    if (results / "quality.json").exists():
        about_quality: dict[str, Section] = {
            "quality": quality.section,
            "complementary": quality.complementary_section,
            "robustness": quality.robustness_section,
            "practice": quality.practice_section,
            "cells": quality.cells_section,
            "networks": quality.networks_section,
            "known": quality.known_section,
        }
        write_page(results, output, QUALITY, about_quality, "quality.md")
    return write_page(results, output, INTRODUCTION, sections, "performance.md")


def write_page(results: Path, output: Path, introduction: str, sections: dict[str, Section], name: str) -> Path:
    """One page with the sections for which there are results."""
    parts: list[str] = [introduction]
    for suite, section in sections.items():
        path = results / f"{suite}.json"
        if path.exists():
            stored = json.loads(path.read_text())
            parts += [machine_line(stored["machine"])] if len(parts) == 1 else []
            parts += section(list(stored["rows"].values()), output / "images")
            parts.append(commit_line(list(stored["rows"].values())))
    page = output / name
    page.write_text("\n\n".join(parts) + "\n")
    return page


def machine_line(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; Python {machine['python']}, {versions}."


def commit_line(rows: list[Row]) -> str:
    """Rows that were not measured with one state of the code are not of one run: say so."""
    counts = Counter((row.get("commit") or "not noted").removesuffix("-dirty") for row in rows)
    return "State of the code, and rows measured with it: " + ", ".join(f"{commit} ({n})" for commit, n in counts.items()) + "."


def layer_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## One layer"
    cells = {(row["view"], row["n"], row["regime"], row["method"]): row for row in rows}
    yield (
        "Seconds to a KKT residual of 1e-6 from the data, distances included. *Newton* is `learn_layer(X, alpha)`, which takes lists of "
        "neighbors for sparse layers of 2000 nodes, certified; a pass is one over its candidate pairs. The others pass over all pairs."
    )
    yield own_solvers(cells)
    for regime, title in (("paper", "the paper's alpha"), ("sparse", "about 15 edges a node")):
        yield f"View pix at {title}: seconds, times Newton's seconds, residual reached."
        yield general_solvers(cells, regime)
    figures.layer(rows, output / "performance_layer.png")
    yield "![Seconds against N for every layer solver](images/performance_layer.png)"


def own_solvers(cells: dict[tuple, Row]) -> str:
    """Newton, over all pairs and as users call it, against dual ascent on the twelve layers, with geometric means of the ratios."""
    largest = max((n for _, n, _, _ in cells), default=0)
    layers = sorted({(regime, view) for view, n, regime, _ in cells if n == largest})
    ratios: dict[tuple[str, str], list[float]] = {}
    lines = []
    for regime, view in layers:
        newton, all_pairs, ascent = (cells.get((view, largest, regime, m)) for m in ("newton", "newton_all_pairs", "dual_ascent"))
        if newton is None or not done(newton):
            continue
        line, times = [view, regime, f"{newton['alpha']:.3g}", f"{newton['edges_per_node']:.0f}"], {}
        for name, row in (("auto", newton), ("all pairs", all_pairs)):
            line += [number(row["seconds"]), number(row["extra"]["n_passes"])] if row and done(row) else [mark(row), ""]
            if row and ascent and done(row) and done(ascent):
                times[name] = ascent["seconds"] / row["seconds"]
                ratios.setdefault((name, regime), []).append(times[name])
        line += [number(ascent["seconds"]), number(ascent["extra"]["n_passes"])] if ascent and done(ascent) else [mark(ascent), ""]
        line += [number(times.get(name)) for name in ("auto", "all pairs")]
        lines.append(line)
    head = [
        "view",
        "regime",
        "alpha",
        "edges a node",
        "Newton, s",
        "passes",
        "Newton over all pairs, s",
        "passes",
        "dual ascent, s",
        "passes",
    ]
    text = table([*head, "dual ascent / Newton", "over all pairs"], lines)
    return text + "\n\n" + "\n".join(mean_ratio(ratios, name) for name in ("auto", "all pairs"))


def mean_ratio(ratios: dict[tuple[str, str], list[float]], name: str) -> str:
    paper, sparse = ratios.get((name, "paper"), []), ratios.get((name, "sparse"), [])
    means = [
        f"{title} {number(float(np.exp(np.mean(np.log(found)))))} ({len(found)} layers)"
        for title, found in (("all", paper + sparse), ("the paper's alpha", paper), ("sparse", sparse))
        if found
    ]
    what = "Newton" if name == "auto" else "Newton over all pairs"
    return f"- Geometric mean of dual ascent's seconds over those of {what}: " + ", ".join(means) + "."


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
        yield (
            f"{first}: seconds beside those of RMGL with given parameters (about 20 edges a node, and the paper's) and of scikit-learn's "
            "spectral clustering; peak memory; scores. `rmgl_defaults` chooses everything from the data."
        )
        yield one_dataset(by_name, first)
        figures.fit([row for row in rows if row["dataset"] == first], output / "performance_fit.png")
        yield "![Seconds and NMI of every method on the digits](images/performance_fit.png)"
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
    reference = {m: by_name.get((dataset, m), {}).get("seconds") for m in ("rmgl_sparse", "rmgl_paper", "sklearn_spectral")}
    lines = []
    for row in sorted(rows, key=lambda row: row["seconds"]):
        ratios = [number(row["seconds"] / seconds) if seconds else "" for seconds in reference.values()]
        scores = [f"{row[score]:.3f}" for score in ("nmi", "accuracy", "ari")]
        lines.append([row["method"], number(row["seconds"]), *ratios, gib(row), *scores, row["n_found"]])
    head = ["method", "seconds", *(f"/ {m}" for m in reference), "peak GiB", "NMI", "accuracy", "ARI", "clusters"]
    return table(head, lines)


def scale_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Scale"
    yield (
        "`RMGL(n_clusters=K).fit(views)` on two views of a Gaussian mixture (16 and 32 dimensions, 20 classes, two pairs of which look the "
        "same in either view) and of MNIST (pixels and histograms of oriented gradients). *Neighbors* is the exact search for candidate "
        "edges, quadratic in N by nature, and everything it took to certify them; layers are those over all pairs where it says "
        "certified. Memory is the most the process held in each stage; there, widening and the first embedding count as layers."
    )
    for name in dict.fromkeys(row["data"] for row in rows):
        chosen = sorted((row for row in rows if row["data"] == name and done(row)), key=lambda row: row["n"])
        if chosen:
            yield f"### {name}"
            yield scale_table(chosen)
            yield certificate_table(chosen)
    figures.scale([row for row in rows if done(row)], output / "performance_scale.png")
    yield "![Seconds by stage against N](images/performance_scale.png)"


def scale_table(rows: list[Row]) -> str:
    stages = list(rows[-1]["extra"]["stages"])
    lines = []
    for row in rows:
        times = [number(row["extra"]["stages"].get(stage)) for stage in stages]
        memory = [f"{row['extra']['memory_by_stage'].get(stage, 0) / GIB:.2f}" for stage in stages]
        lines.append([f"{row['n']:,}", number(row["seconds"]), *times, gib(row), *memory])
    lines.append(["slope", *(figures.slope_text(rows, name) for name in ("all", *stages)), *[""] * (1 + len(stages))])
    text = table(["N", "seconds", *stages, "peak GiB", *stages], lines)
    return text + f"\n\nSlope of everything after the neighbor search: {figures.slope_text(rows, 'after neighbors')}."


def certificate_table(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        layers = row["extra"]["layers"]
        lines.append(
            [
                f"{row['n']:,}",
                ", ".join(layer["candidates"] for layer in layers),
                f"{max(layer['kkt_residual'] for layer in layers):.0e}",
                f"{max(layer['gap'] for layer in layers):.0e}",
                ", ".join(f"{layer['edges_per_node']:.1f}" for layer in layers),
                row["extra"]["n_iter"],
                f"{row['extra']['eigen_residual']:.0e}",
                f"{row['nmi']:.3f}",
            ]
        )
    head = ["N", "layers", "largest KKT residual", "largest gap", "edges a node", "rounds", "eigen-residual", "NMI"]
    return table(head, lines)


def search_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Exact neighbors"
    yield (
        "The 30 nearest neighbors of every row of a view of the mixture, and the share of them, for a sample of rows, that are right. The "
        "search of this package uses one thread, because views are searched side by side; the others use as many as they are given."
    )
    places = list(dict.fromkeys((row["n"], row["view"]) for row in rows))
    cells = {((row["n"], row["view"]), row["method"]): row for row in rows}
    dimensions = {(row["n"], row["view"]): row["dimension"] for row in rows if done(row)}

    def cell(place: tuple[int, str], method: str) -> str:
        row = cells.get((place, method))
        return f"{number(row['seconds'])} s, {row['recall']:.4f}" if row and done(row) else mark(row)

    methods = dict.fromkeys(row["method"] for row in rows)
    head = [f"N = {n:,}, D = {dimensions.get((n, view), '?')}" for n, view in places]
    yield table(["search", *head], [[method, *(cell(place, method) for place in places)] for method in methods])


def eigen_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Eigenvectors"
    yield (
        "The K smallest eigenvectors of the graph a fit ends with, from a cold start: seconds, and the largest residual relative to the "
        "bound 2 max d of the spectrum. `rmgl_filtered` is the iteration on blocks of vectors that versions before 0.2 used."
    )
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    cells = {(row["graph"], row["method"]): row for row in rows}

    def cell(graph: str, method: str) -> str:
        row = cells.get((graph, method))
        return f"{number(row['seconds'])} s, {row['residual']:.0e}" if row and done(row) else mark(row)

    sizes = {row["graph"]: f"{row['graph']}: {row['n']:,} nodes, {row['edges']:,} edges, K = {row['k']}" for row in rows if done(row)}
    methods = dict.fromkeys(row["method"] for row in rows)
    lines = [[method, *(cell(graph, method) for graph in graphs)] for method in methods]
    yield table(["solver", *(sizes.get(graph, graph) for graph in graphs)], lines)


def kernel_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Memory bandwidth"
    yield (
        "One pass over the candidate edges, against a compiled sum over an array of the same length: what the memory of the machine "
        "delivers. Bytes counted are those of costs and indices, each read once."
    )
    passes = [row for row in rows if done(row) and "bytes" in row]
    best = {row["n_threads"]: row["bytes_per_second"] for row in passes if row["kernel"].startswith("sum")}
    lines = [
        [
            row["kernel"],
            f"{row['n']:,}",
            row["n_threads"],
            f"{row['bytes'] / 1e6:,.0f}",
            number(1e3 * row["seconds"]),
            number(row["bytes_per_second"] / 1e9),
            f"{row['bytes_per_second'] / best[row['n_threads']]:.0%}" if row["n_threads"] in best else "",
        ]
        for row in passes
    ]
    yield table(["pass", "nodes", "threads", "MB", "milliseconds", "GB/s", "of the sum's"], lines)
    first = {row["kernel"].removeprefix("first fit, "): row["seconds"] for row in rows if row["kernel"].startswith("first")}
    if len(first) == 2:
        cold, warm = first["no compiled code"], first["compiled code kept"]
        yield "## The first call"
        yield (
            f"Two small fits, one over all pairs and one over lists of neighbors, take {cold:.0f} s on a machine where nothing has been "
            f"compiled yet, and {warm:.1f} s in any later process: compiled loops are kept beside the package."
        )
