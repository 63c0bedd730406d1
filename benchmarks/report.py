"""The pages about performance and quality, generated from the results; sections without results are
left out.
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
    excerpts,
    few_rows,
    figures,
    machine,
    neighbors,
    new_rows,
    on_workers,
    proportions,
    quality,
    scaling,
    sparse_views,
    story,
)
from benchmarks.limits import Rates
from benchmarks.results import Row
from benchmarks.tables import commits, done, mark, number, only_commit, table

PERFORMANCE = """`python -m benchmarks all` produced the measurements on this page, and `python -m
benchmarks report --output docs` generated the page; [benchmarks/README.md](../benchmarks/README.md)
explains the method. Compare times only within a table: different tables may come from different
runs and different machines. The tables show every measurement, even if another method is faster or
better. [Contributing](contributing.md) lists our goals."""
QUALITY = """Every method runs with its defaults. Nothing is tuned, and labels are used for scoring
only. We developed RMGL's defaults on these data sets, so its scores are somewhat optimistic
([defaults.md](defaults.md)). `python -m benchmarks all` produced the measurements on this page, and
`python -m benchmarks report --output docs` generated the page."""

WHOLE = {"break_long_words": False, "break_on_hyphens": False}
Section = Callable[[list[Row], Path], Iterable[str]]
Stored = dict[str, dict[str, Any]]
"""The contents of the result files, by suite."""


def read(results: Path) -> Stored:
    """Return the contents of all result files in a folder."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}


def write(results: Path, output: Path) -> Path:
    """Write `performance.md`, `quality.md` and their figures into `output`. If `output` is the
    `docs` folder of a checkout, also write the excerpts on its other pages. Return the path of
    `performance.md`.
    """
    (output / "images").mkdir(parents=True, exist_ok=True)
    stored = read(results)
    rows = {suite: list(content["rows"].values()) for suite, content in stored.items()}
    rates = Rates.of(rows.get("kernels", []))
    sections: list[tuple[str, Section]] = [
        ("scale", partial(scaling.section, rates=rates)),
        ("proportion", partial(proportions.section, rates=rates)),
        ("quality", quality.times_section),
        ("sparse", partial(sparse_views.section, rates=rates)),
        ("practice", partial(new_rows.section, rates=rates)),
        ("search", partial(neighbors.section, rates=rates)),
        ("layer", layer_section),
        ("distributed", on_workers.section),
        ("startup", machine.startup_section),
        ("kernels", machine.section),
    ]
    about_quality: list[tuple[str, Section]] = [
        ("quality", quality.section),
        ("trust", choice.trust_section),
        ("numbers", choice.numbers_section),
        ("complementary", quality.complementary_section),
        ("robustness", quality.robustness_section),
        ("robustness", few_rows.section),
        ("practice", quality.practice_section),
        ("cells", quality.cells_section),
        ("networks", quality.networks_section),
        ("known", quality.known_section),
    ]
    if "quality" in stored:
        opening = ["# Quality", *story.of_quality(rows, output / "images"), joined(QUALITY)]
        write_page(stored, output, opening, about_quality, "quality.md")
    excerpts.write(rows, output.parent)
    told = story.of_performance(rows, output / "images")
    opening = ["# Performance", *told, joined(PERFORMANCE)]
    return write_page(stored, output, opening, sections, "performance.md")


def write_page(
    stored: Stored, output: Path, opening: list[str], sections: list[tuple[str, Section]], name: str
) -> Path:
    """Write one page, with the sections for which there are results."""
    used = {suite: stored[suite] for suite, _ in sections if suite in stored}
    machines = [content["machine"] for content in used.values()]
    rows = [row for content in used.values() for row in content["rows"].values()]
    parts = list(opening)
    if machines:
        parts.append(f"{machine_line(machines[0])} {state_line(rows)}")
    for suite, section in sections:
        if suite in used:
            found = list(section(list(used[suite]["rows"].values()), output / "images"))
            own = used[suite]["machine"]
            parts += found + ([machine_line(own)] if found and own != machines[0] else [])
    page = output / name
    page.write_text("\n\n".join(map(wrapped, parts)) + "\n")
    return page


def state_line(rows: list[Row]) -> str:
    """The commit of all rows, or a list of commits if there are several."""
    only = only_commit(rows)
    if only:
        return f"All measurements were made at commit {only}."
    return f"Rows by commit: {commits(rows)}."


def joined(text: str) -> str:
    """A paragraph as one line."""
    return " ".join(text.split())


def wrapped(part: str) -> str:
    """A paragraph or list, wrapped to at most 100 characters per line; tables stay as they are."""
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
        "The table shows the time, in seconds, needed to compute a layer from the data, including "
        "the distances, to a KKT residual of 1e-6. *Newton* is `learn_layer(X, alpha)`, which uses "
        "certified neighbor lists for sparse layers of 2000 nodes. A *pass* reads all candidate "
        "pairs once. The other solvers read all pairs in each pass."
    )
    yield own_solvers(cells)
    for regime, title in (("paper", "the paper's alpha"), ("sparse", "about 15 edges per node")):
        yield (
            f"The pix view with {title}: time in seconds, its ratio to Newton's time, and the "
            "residual reached."
        )
        yield general_solvers(cells, regime)
    figures.layer(rows, output / "performance_layer.png")
    yield "![Seconds against N for every layer solver](images/performance_layer.png)"


def own_solvers(cells: dict[tuple, Row]) -> str:
    """Newton's method, as users call it and over all pairs, compared with dual ascent on the twelve
    layers, with geometric means of the ratios.
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
        "edges per node",
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
        f"{number(float(np.exp(np.mean(np.log(found)))))} for {title} ({len(found)} layers)"
        for title, found in (
            ("all layers", paper + sparse),
            ("the paper's alpha", paper),
            ("sparse layers", sparse),
        )
        if found
    ]
    what = "Newton's" if name == "auto" else "Newton's over all pairs"
    return f"- Ratio of dual ascent's time to {what} (geometric mean): " + ", ".join(means) + "."


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
