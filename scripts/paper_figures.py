"""The tables in paper.md, made from the stored benchmark results.

    python scripts/paper_figures.py            # print them
    python scripts/paper_figures.py --write    # put them into paper.md

`tests/test_paper.py` compares the paper with what is printed, so the numbers in the paper cannot be
older than the results.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper.md"
RESULTS = ROOT / "benchmarks" / "results"
MARKS = ("<!-- scripts/paper_figures.py: begin -->\n", "<!-- scripts/paper_figures.py: end -->\n")
METHODS = {
    "rmgl_defaults": "rmgl, all other parameters chosen from the data",
    "sklearn_spectral_our_scaling": "spectral clustering, views scaled as in rmgl",
    "sklearn_spectral": "spectral clustering, columns scaled to [0, 1]",
    "kmeans_concatenation": "k-means",
}
"""Methods in the `quality` suite that ran on every data set, and what the paper calls them."""
SIZES = {
    "mixture": "Gaussian mixture, 16 and 32 columns",
    "mnist": "MNIST, two views",
}
GIB = 1 << 30

Row = dict[str, Any]


def rows_of(suite: str) -> list[Row]:
    """Return the rows of a suite that were measured completely."""
    stored = json.loads((RESULTS / f"{suite}.json").read_text(encoding="utf-8"))["rows"].values()
    return [row for row in stored if row["status"] == "ok"]


def quality_table(rows: list[Row]) -> list[str]:
    """Return the mean NMI of the methods over the data sets that all of them were run on."""
    nmi = {(row["method"], row["dataset"]): row["nmi"] for row in rows}
    datasets = set.intersection(*({d for m, d in nmi if m == method} for method in METHODS))
    lines = [
        f": Mean normalized mutual information (NMI) with the classes of {len(datasets)} public "
        "multi-view data sets, for every method with its defaults and the true number of clusters; "
        "the methods other than rmgl cluster the concatenated views (`python -m benchmarks "
        "quality`).",
        "",
        "| method | mean NMI | best on |",
        "|---|---|---|",
    ]
    best = {d: max(nmi[method, d] for method in METHODS) for d in datasets}
    for method, name in METHODS.items():
        scores = [nmi[method, d] for d in sorted(datasets)]
        wins = sum(nmi[method, d] == best[d] for d in datasets)
        lines.append(f"| {name} | {sum(scores) / len(scores):.3f} | {wins} of {len(scores)} |")
    return lines


def scale_table(rows: list[Row]) -> list[str]:
    """Return the time and memory of fits with the defaults, in order of size."""
    ours = [row for row in rows if row["method"] == "rmgl_defaults"]
    threads = {row["n_threads"] for row in ours}
    lines = [
        ": Fits with the defaults and the true number of clusters, "
        f"{' or '.join(map(str, sorted(threads)))} threads. Layers are exact if the certificate "
        "covers all pairs of rows (`python -m benchmarks scale`).",
        "",
        "| data | rows | seconds | peak memory, GiB | exact layers | largest KKT residual |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(ours, key=lambda row: (row["data"], row["n"])):
        layers = row["extra"]["layers"]
        cells = [
            SIZES[row["data"]],
            f"{row['n']:,}",
            f"{row['seconds']:.0f}",
            f"{row['memory']['peak'] / GIB:.1f}",
            f"{sum(layer['exact'] for layer in layers)} of {len(layers)}",
            f"{max(layer['kkt_residual'] for layer in layers):.0e}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def tables() -> str:
    """Return both tables, as they appear in the paper."""
    quality, scale = rows_of("quality"), rows_of("scale")
    commits = sorted({row["commit"] for row in (*quality, *scale)})
    parts = (
        [f"Both tables were measured at commit {' and '.join(commits)}."],
        quality_table(quality),
        scale_table(scale),
    )
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def with_tables(paper: str) -> str:
    """Return the text of the paper with the tables between the marks."""
    begin, end = map(re.escape, MARKS)
    filled = f"{MARKS[0]}\n{tables()}\n{MARKS[1]}"
    found, n_places = re.subn(f"{begin}.*?{end}", lambda place: filled, paper, flags=re.DOTALL)
    if n_places != 1:
        raise ValueError(f"paper.md has {n_places} places for the tables: it needs one")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the tables of the paper.")
    parser.add_argument("--write", action="store_true", help="put them into paper.md")
    if parser.parse_args().write:
        PAPER.write_text(with_tables(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(tables(), end="")


if __name__ == "__main__":
    main()
