"""Short tables and lists on other pages, which the report generates from the results.

The excerpt NAME is between `<!-- benchmarks NAME: begin -->` and `<!-- benchmarks NAME: end -->`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill

import numpy as np

from benchmarks import goals, proportions
from benchmarks.quality import BASELINES, OURS
from benchmarks.results import Row
from benchmarks.story import faster_from, side_by_side
from benchmarks.suite_quality import COMPARED
from benchmarks.tables import GIB, done, mark, number, only_commit, table

SHOWN = 50_000
"""Smaller fits are not listed."""
NAMES = {"mixture": "Gaussian mixture", "mnist": "MNIST in two views"}
Rows = dict[str, list[Row]]
METHODS = {
    OURS: "RMGL, defaults",
    "sklearn_spectral_our_scaling": "spectral clustering, views scaled as RMGL scales them",
    "sklearn_spectral": "spectral clustering, views scaled to [0, 1]",
    "kmeans_concatenation": "scikit-learn `KMeans`, concatenated",
    "sc_ml": "SC-ML on GL-SigRep layers (`rmgl.baselines`)",
    "imml_nemo": "imml's NEMO",
    "graspologic_omni": "graspologic's omnibus embedding",
    "leiden_multiplex": "leidenalg's multiplex Leiden",
}
NETWORKS = {
    "rmgl_networks": "`Network`",
    "rmgl_networks_learned": "`learn=True`",
    "rmgl_links_as_features": "links as features",
    "rmgl_words_alone": "words alone",
    "sum_of_networks": "sum of networks",
    "sc_ml_networks": "SC-ML",
    "leiden_networks": "Leiden",
}
MISSING = 0.3
"""Share of missing cells that the table covers."""
LONG = 120
"""Times of at least this many seconds are shown in minutes."""


def write(rows: Rows, folder: Path) -> None:
    """Write all excerpts into the pages of a checkout; pages without the marks stay unchanged."""
    for name, (pages, made) in EXCERPTS.items():
        text = "\n\n".join(made(rows))
        for path in (folder / page for page in pages):
            if text and path.exists():
                path.write_text(between(path.read_text(), name, text))


def between(page: str, name: str, text: str) -> str:
    """The page with `text` between the marks called `name`, if it has these marks."""
    begin, end = (f"<!-- benchmarks {name}: {word} -->\n" for word in ("begin", "end"))
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    return f"{before}{begin}\n{text}\n\n{end}{after}" if found and closed else page


def scores(rows: Rows) -> Iterable[str]:
    """Mean NMI on all data sets, and on the ten that all methods ran on."""
    nmi = {
        (row["method"], row["dataset"]): row["nmi"] for row in rows.get("quality", []) if done(row)
    }
    every = [d for d in dict.fromkeys(d for _, d in nmi) if all((m, d) in nmi for m in BASELINES)]
    if not every:
        return
    lines = []
    for method, title in METHODS.items():
        means = [mean(nmi, method, sets) for sets in (every, COMPARED)]
        worst = min(nmi[OURS, d] - max(nmi[m, d] for m in BASELINES) for d in every)
        lines.append([title, *means, f"{worst:+.3f}" if method == OURS else ""])
    yield table(["method", f"{len(every)} data sets", "ten of them", "worst difference"], lines)


def mean(nmi: dict[tuple[str, str], float], method: str, sets: Iterable[str]) -> str:
    """The mean over some data sets; empty if one is missing."""
    found = [nmi.get((method, d), np.nan) for d in sets]
    return "" if np.isnan(found).any() else f"{np.mean(found):.3f}"


def speed(rows: Rows) -> Iterable[str]:
    """Times of fits with the defaults, as a list."""
    scale = [row for row in rows.get("scale", []) if done(row)]
    by_case = {(row["data"], row["n"], row["method"]): row for row in scale}
    least = faster_from(list(side_by_side(scale)))
    if least is not None:
        yield fill(
            f"With {least:,} or more rows, RMGL takes less time than scikit-learn's spectral "
            "clustering of the concatenated views.",
            100,
        )
    lines = []
    for (data, n, method), row in sorted(by_case.items()):
        if method != OURS or n < SHOWN:
            continue
        others = {
            "with approximate neighbors": by_case.get((data, n, "rmgl_approximate")),
            "for scikit-learn": by_case.get((data, n, BASELINES[0])),
        }
        told = [f"{duration(r)} {who} (NMI {r['nmi']:.3f})" for who, r in others.items() if r]
        peak = f"{row['memory']['peak'] / GIB:.1f} GiB"
        own = f"- {NAMES[data]}, {n:,} rows: {duration(row)} and {peak} (NMI {row['nmi']:.3f})"
        lines.append("; ".join([own, *told]) + ".")
    for one in proportions.compare(rows.get("proportion", [])):
        if one.dataset == "digits":
            lines.append(
                f"- The digits, 2000 rows in six views, one thread: {number(one.seconds)} s, and "
                f"{number(one.report_seconds)} s for the report; spectral clustering takes "
                f"{number(one.their_seconds)} s."
            )
    if lines:
        yield "\n".join(fill(line, 100, subsequent_indent="  ") for line in lines)
    commit = only_commit(row for suite in rows.values() for row in suite)
    if commit:
        yield f"All scores and times on this page were measured at commit {commit}."


def duration(row: Row) -> str:
    seconds = row["seconds"]
    return f"{number(seconds)} s" if seconds < LONG else f"{seconds / 60:.0f} minutes"


def sizes(rows: Rows) -> Iterable[str]:
    """Expected time and memory of a fit with the defaults, by number of rows."""
    scale = [row for row in rows.get("scale", []) if row["data"] == "mixture"]
    by_case = {(row["size"], row["method"]): row for row in scale}
    lines = []
    for size in sorted({size for size, _ in by_case}):
        cells = [
            f"{duration(row)}, {row['memory']['peak'] / GIB:.1f} GiB"
            if row and done(row)
            else mark(row)
            for row in (by_case.get((size, name)) for name in (OURS, "rmgl_approximate"))
        ]
        lines.append([f"{size:,}", *cells])
    if lines:
        yield table(["rows", "exact (the default)", '`candidates="approximate"`'], lines)
        yield from worthwhile(by_case)


def worthwhile(by_case: dict[tuple[int, str], Row]) -> Iterable[str]:
    """From how many rows approximate neighbors save time."""
    least = None
    for size in sorted({size for size, _ in by_case}, reverse=True):
        exact, quick = (by_case.get((size, name)) for name in (OURS, "rmgl_approximate"))
        if exact and quick and done(exact) and done(quick):
            if quick["seconds"] >= exact["seconds"]:
                break
            least = size
    if least is not None:
        yield f"Approximate neighbors save time from {least:,} rows on."


def networks(rows: Rows) -> Iterable[str]:
    """NMI on networks."""
    by_case = {(row["dataset"], row["method"]): row for row in rows.get("networks", [])}
    sets = dict.fromkeys(dataset for dataset, _ in by_case)
    lines = []
    for name in sets:
        found = [by_case.get((name, method)) for method in NETWORKS]
        lines.append([name, *(f"{r['nmi']:.3f}" if r and done(r) else mark(r) for r in found)])
    if lines:
        yield table(["data set", *NETWORKS.values()], lines)


def ledger(rows: Rows) -> Iterable[str]:
    """The goals, in lines of at most 100 characters."""
    for part in goals.ledger(rows):
        lines = part.splitlines()
        yield "\n".join(
            fill(line, 100, subsequent_indent="  ", break_on_hyphens=False)
            if line.startswith("- ")
            else line
            for line in lines
        )


def layers(rows: Rows) -> Iterable[str]:
    """Time for one layer with Newton's method, compared with dual ascent."""
    found = [row for row in rows.get("layer", []) if done(row)]
    largest = max((row["n"] for row in found), default=0)
    by_case = {
        (row["method"], row["regime"], row["view"]): row["seconds"]
        for row in found
        if row["n"] == largest
    }
    own = [seconds for (method, _, _), seconds in by_case.items() if method == "newton"]
    if not own:
        return
    ratios = []
    for regime, kind in (("sparse", "sparse"), ("paper", "dense")):
        both = [
            theirs / by_case["newton", regime, view]
            for (method, own_regime, view), theirs in by_case.items()
            if (method, own_regime) == ("dual_ascent", regime)
        ]
        if both:
            ratios.append(
                f"{_times(float(np.exp(np.mean(np.log(both)))))} as long on {kind} layers"
            )
    yield paragraph(
        f"Learning a layer of {largest:,} nodes to a KKT residual of 1e-6 takes {min(own):.2f} to "
        f"{max(own):.2f} s. The paper's dual ascent takes {' and '.join(ratios)} (geometric means)."
    )


def complementary(rows: Rows) -> Iterable[str]:
    """Scores on generated views that separate only some of the clusters."""
    found = [row for row in rows.get("complementary", []) if done(row)]
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    if len(kinds) < 2:
        return

    def score(method: str, of: list[str]) -> str:
        own = [row["nmi"] for row in found if row["method"] == method and row["kind"] in of]
        return f"{np.mean(own):.3f}"

    both = (OURS, BASELINES[1])
    every, usual = ([score(method, of) for method in both] for of in (kinds, kinds[:-1]))
    yield paragraph(
        "When each view separates only some of the clusters, spectral clustering of the "
        "concatenated views, scaled as RMGL scales them, is a strong baseline. On "
        f"{len(kinds)} kinds of simulated data, RMGL reaches a mean NMI of {every[0]} (baseline "
        f"{every[1]}); excluding the one kind that has a misleading view, it reaches {usual[0]} "
        f"(baseline {usual[1]})."
    )


def incomplete(rows: Rows) -> Iterable[str]:
    """Scores on the digits with rows missing from views, and scores of new rows."""
    found = [row for row in rows.get("practice", []) if done(row)]
    shares: dict[float, list[float]] = {}
    for row in found:
        if row["what"] == "incomplete":
            shares.setdefault(row["share"], []).append(row["nmi"])
    new = [row for row in found if row["what"] == "new rows"]
    if not new or 0.0 not in shares or len(shares) < 2:
        return
    known = [(f"{share:.0%}", f"{np.mean(nmi):.3f}") for share, nmi in shares.items() if share]
    lost, scores = (f"{', '.join(some[:-1])} and {some[-1]}" for some in zip(*known, strict=True))
    fitted, rest, half = (np.mean([row[name] for row in new]) for name in ("fitted", "nmi", "half"))
    yield paragraph(
        f"On the digits, the normalized mutual information (NMI) is {np.mean(shares[0.0]):.3f} "
        f"with complete data, and {scores} when {lost} of the (row, view) pairs are missing. A "
        f"model fitted on 80% of the rows (NMI {fitted:.3f}) labels the other rows with an NMI of "
        f"{rest:.3f}, or {half:.3f} if each of them has only three of the six views."
    )


def cells(rows: Rows) -> Iterable[str]:
    """Scores with 30% of the cells missing, compared with imputation."""
    found = [row for row in rows.get("cells", []) if done(row) and row["share"] == MISSING]
    lines = []
    for name in dict.fromkeys(row["dataset"] for row in found):
        own = [row for row in found if row["dataset"] == name]
        means = [
            [row["nmi"] for row in own if row["method"] == method]
            for method in ("rmgl", "knn", "mean")
        ]
        if all(means):
            lines.append([name, *(f"{np.mean(nmi):.3f}" for nmi in means)])
    if lines:
        yield f"NMI with {MISSING:.0%} of the cells missing:"
        head = ["data set", "without imputation", "after KNN imputation", "after mean imputation"]
        yield table(head, lines)


def paragraph(text: str) -> str:
    return fill(text, 100, break_on_hyphens=False, break_long_words=False)


EXCERPTS: dict[str, tuple[tuple[str, ...], Callable[[Rows], Iterable[str]]]] = {
    "goals": (("CONTRIBUTING.md",), ledger),
    "scores": (("README.md",), scores),
    "complementary": (("README.md",), complementary),
    "incomplete": (("README.md", "docs/guide/incomplete_views.md"), incomplete),
    "cells": (("docs/tables.md",), cells),
    "layers": (("README.md",), layers),
    "speed": (("README.md",), speed),
    "sizes": (("docs/guide/scale.md",), sizes),
    "networks": (("docs/networks.md",), networks),
}
"""Pages that contain each excerpt, and the function that generates it, by the name in the marks."""


def _times(ratio: float) -> str:
    """Write a ratio in words.

    Examples
    --------
    >>> _times(2.32), _times(169.2)
    ('about twice', '169 times')
    """
    return "about twice" if round(ratio) == 2 else f"{ratio:.0f} times"
