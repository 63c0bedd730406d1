"""Tables in Markdown and pictures from the results there are; what has not been measured is left
out.
"""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from benchmarks import (
    choice,
    few_rows,
    figures,
    forecast,
    goals,
    machine,
    new_rows,
    proportions,
    quality,
    scaling,
    solvers,
    sparse_views,
)
from benchmarks.limits import Rates
from benchmarks.results import Row
from benchmarks.tables import commits, done, entry, failures, gib, mark, number, table

INTRODUCTION = """# Performance

What `python -m benchmarks layer`, `fit`, `proportion`, `sparse`, `scale`, `search`, `distributed`,
`eigen`, `practice`, `startup` and `kernels` measured, written by `python -m benchmarks report
--output docs`; how it is measured is in [benchmarks/README.md](../benchmarks/README.md). Seconds
are those of one machine: ratios within a table are the result. Rows are shown as they came out,
also where another method is quicker or better."""


QUALITY = """# Quality

What `python -m benchmarks quality`, `complementary`, `robustness`, `practice`, `cells`, `networks`,
`known`, `trust`, `numbers` and `sensitivity` measured, written by
`python -m benchmarks report --output docs`:
every method at its defaults, nothing tuned, labels used for scoring only. How the defaults of RMGL
came about is in [defaults.md](defaults.md)."""

WHOLE = {"break_long_words": False, "break_on_hyphens": False}
Section = Callable[[list[Row], Path], Iterable[str]]
Stored = dict[str, dict[str, Any]]
"""The content of the result files by suite."""


def write(results: Path, output: Path) -> Path:
    """Write `performance.md`, `quality.md` and their pictures into `output`; returns the path of
    the first.
    """
    (output / "images").mkdir(parents=True, exist_ok=True)
    stored = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    rows = {suite: list(content["rows"].values()) for suite, content in stored.items()}
    rates = Rates.of(rows.get("kernels", []))
    sections: list[tuple[str, Section]] = [
        ("kernels", machine.section),
        ("layer", layer_section),
        ("fit", fit_section),
        ("proportion", partial(proportions.section, rates=rates)),
        ("sparse", partial(sparse_views.section, rates=rates)),
        ("scale", partial(scaling.section, rates=rates)),
        ("search", partial(solvers.search_section, rates=rates)),
        ("distributed", forecast.section),
        ("eigen", partial(solvers.eigen_section, rates=rates)),
        ("practice", partial(new_rows.section, rates=rates)),
        ("startup", machine.startup_section),
        ("kernels", machine.passes_section),
    ]
    if "quality" in stored:
        about_quality: list[tuple[str, Section]] = [
            ("quality", quality.section),
            ("complementary", quality.complementary_section),
            ("robustness", quality.robustness_section),
            ("robustness", few_rows.section),
            ("practice", quality.practice_section),
            ("cells", quality.cells_section),
            ("networks", quality.networks_section),
            ("known", quality.known_section),
            ("trust", choice.trust_section),
            ("numbers", choice.numbers_section),
            ("sensitivity", choice.sensitivity_section),
        ]
        write_page(stored, output, [QUALITY], about_quality, "quality.md")
    return write_page(
        stored, output, [INTRODUCTION, *goals.section(rows, rates)], sections, "performance.md"
    )


def write_page(
    stored: Stored, output: Path, opening: list[str], sections: list[tuple[str, Section]], name: str
) -> Path:
    """One page with the sections for which there are results."""
    parts = list(opening)
    machines = [stored[suite]["machine"] for suite, _ in sections if suite in stored]
    parts[1:1] = [machine_line(machines[0])] if machines else []
    for suite, section in sections:
        if suite in stored:
            rows, own = list(stored[suite]["rows"].values()), stored[suite]["machine"]
            found = list(section(rows, output / "images"))
            state = (
                "State of the package (the last commit that changed it), and rows measured with "
                f"it: {commits(rows)}."
            )
            parts += (
                [*found, state if own == machines[0] else f"{machine_line(own)} {state}"]
                if found
                else []
            )
    page = output / name
    page.write_text("\n\n".join(map(wrapped, parts)) + "\n")
    return page


def wrapped(part: str) -> str:
    """A paragraph, or the lines of a list, of at most 100 columns; tables stay as they are."""
    lines = []
    for line in part.splitlines():
        indent = "  " if line.startswith("- ") else ""
        prose = line and not line.startswith(("|", "#", "!", " "))
        lines.append(fill(line, 100, subsequent_indent=indent, **WHOLE) if prose else line)
    return "\n".join(lines)


def machine_line(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; "
        f"Python {machine['python']}, {versions}."
    )


def layer_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## One layer"
    cells = {(row["view"], row["n"], row["regime"], row["method"]): row for row in rows}
    yield (
        "Seconds to a KKT residual of 1e-6 from the data, distances included. *Newton* is "
        "`learn_layer(X, alpha)`, which takes lists of "
        "neighbors for sparse layers of 2000 nodes, certified; a pass is one over its "
        "candidate pairs. The others pass over all pairs."
    )
    yield own_solvers(cells)
    for regime, title in (("paper", "the paper's alpha"), ("sparse", "about 15 edges a node")):
        yield f"View pix at {title}: seconds, times Newton's seconds, residual reached."
        yield general_solvers(cells, regime)
    figures.layer(rows, output / "performance_layer.png")
    yield "![Seconds against N for every layer solver](images/performance_layer.png)"


def own_solvers(cells: dict[tuple, Row]) -> str:
    """Newton, over all pairs and as users call it, against dual ascent on the twelve layers, with
    geometric means of the ratios.
    """
    largest = max((n for _, n, _, _ in cells), default=0)
    layers = sorted({(regime, view) for view, n, regime, _ in cells if n == largest})
    ratios: dict[tuple[str, str], list[float]] = {}
    lines = []
    for regime, view in layers:
        newton, all_pairs, ascent = (
            cells.get((view, largest, regime, m))
            for m in ("newton", "newton_all_pairs", "dual_ascent")
        )
        if newton is None or not done(newton):
            continue
        line, times = (
            [view, regime, f"{newton['alpha']:.3g}", f"{newton['edges_per_node']:.0f}"],
            {},
        )
        for name, row in (("auto", newton), ("all pairs", all_pairs)):
            line += (
                [number(row["seconds"]), number(row["extra"]["n_passes"])]
                if row and done(row)
                else [mark(row), ""]
            )
            if row and ascent and done(row) and done(ascent):
                times[name] = ascent["seconds"] / row["seconds"]
                ratios.setdefault((name, regime), []).append(times[name])
        line += (
            [number(ascent["seconds"]), number(ascent["extra"]["n_passes"])]
            if ascent and done(ascent)
            else [mark(ascent), ""]
        )
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
        for title, found in (
            ("all", paper + sparse),
            ("the paper's alpha", paper),
            ("sparse", sparse),
        )
        if found
    ]
    what = "Newton" if name == "auto" else "Newton over all pairs"
    return (
        f"- Geometric mean of dual ascent's seconds over those of {what}: " + ", ".join(means) + "."
    )


def general_solvers(cells: dict[tuple, Row], regime: str) -> str:
    found = {
        (n, method): row
        for (view, n, kind, method), row in cells.items()
        if view == "pix" and kind == regime
    }
    sizes = sorted({n for n, _ in found})
    methods = sorted(
        {method for _, method in found}, key=lambda method: (method != "newton", method)
    )

    def cell(n: int, method: str) -> str:
        row, newton = found.get((n, method)), found.get((n, "newton"))
        if row is None or not done(row):
            return mark(row)
        ratio = (
            f" ({number(row['seconds'] / newton['seconds'])}x)"
            if newton and done(newton) and method != "newton"
            else ""
        )
        return f"{number(row['seconds'])}{ratio}, {row['residual']:.0e}"

    lines = [[label(found, method), *(cell(n, method) for n in sizes)] for method in methods]
    return table(["solver", *(f"N = {n}" for n in sizes)], lines)


def label(found: dict[tuple, Row], method: str) -> str:
    models = {
        row["extra"].get("model")
        for (_, name), row in found.items()
        if name == method and done(row)
    }
    return f"{method} (log-degree model)" if "log-degree" in models else method


def fit_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Whole fits"
    by_name = {(row["dataset"], row["method"]): row for row in rows}
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    first = next((name for name in datasets if name.startswith("digits")), None)
    if first:
        yield (
            f"{first}: seconds beside those of RMGL with given parameters (about 20 edges a "
            "node, and the paper's) and of scikit-learn's "
            "spectral clustering; peak memory; scores. `rmgl_defaults` chooses everything "
            "from the data."
        )
        yield one_dataset(by_name, first)
        figures.fit(
            [row for row in rows if row["dataset"] == first], output / "performance_fit.png"
        )
        yield "![Seconds and NMI of every method on the digits](images/performance_fit.png)"
    methods = sorted(
        {row["method"] for row in rows}, key=lambda method: (not method.startswith("rmgl"), method)
    )
    for field, title, form in (("nmi", "NMI", "{:.3f}"), ("seconds", "Seconds", "{:.3g}")):
        yield f"{title} on every data set:"
        lines = [[m, *(entry(by_name.get((d, m)), field, form) for d in datasets)] for m in methods]
        yield table(["method", *datasets], lines)
    yield from failures(rows)


def one_dataset(by_name: dict[tuple, Row], dataset: str) -> str:
    rows = [row for (name, _), row in by_name.items() if name == dataset and done(row)]
    reference = {
        m: by_name.get((dataset, m), {}).get("seconds")
        for m in ("rmgl_sparse", "rmgl_paper", "sklearn_spectral")
    }
    lines = []
    for row in sorted(rows, key=lambda row: row["seconds"]):
        ratios = [
            number(row["seconds"] / seconds) if seconds else "" for seconds in reference.values()
        ]
        scores = [f"{row[score]:.3f}" for score in ("nmi", "accuracy", "ari")]
        lines.append(
            [row["method"], number(row["seconds"]), *ratios, gib(row), *scores, row["n_found"]]
        )
    head = [
        "method",
        "seconds",
        *(f"/ {m}" for m in reference),
        "peak GiB",
        "NMI",
        "accuracy",
        "ARI",
        "clusters",
    ]
    return table(head, lines)
