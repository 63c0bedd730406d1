"""The beginnings of the two pages: the main findings and one figure."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import figures
from benchmarks.proportions import compare, summary
from benchmarks.quality import BASELINES, OURS
from benchmarks.results import Row
from benchmarks.suite_quality import EVERYWHERE
from benchmarks.tables import GIB, done

Rows = dict[str, list[Row]]
BEHIND = 0.01
"""Difference in NMI above which a data set is named."""


def of_performance(rows: Rows, output: Path) -> Iterable[str]:
    """What is fast, what is slow, and what it costs."""
    scale = [row for row in rows.get("scale", []) if done(row)]
    both = [*side_by_side(scale)]
    sentences = [faster(both), slower(rows.get("proportion", [])), cost(scale)]
    if any(sentences):
        yield " ".join(filter(None, sentences))
    if scale:
        figures.methods(scale, output / "performance.png")
        yield "![Seconds by number of rows, RMGL and scikit-learn](images/performance.png)"


def side_by_side(scale: list[Row]) -> Iterable[tuple[Row, Row]]:
    """Rows of RMGL with its defaults, and of spectral clustering on the same data."""
    by_case = {(row["data"], row["n"], row["method"]): row for row in scale}
    for (data, n, method), row in by_case.items():
        if method == OURS and (data, n, BASELINES[0]) in by_case:
            yield row, by_case[data, n, BASELINES[0]]


def faster_from(both: list[tuple[Row, Row]]) -> int | None:
    """From how many rows on RMGL is faster than scikit-learn on all data sets."""
    slow = [ours["n"] for ours, theirs in both if ours["seconds"] >= theirs["seconds"]]
    return min((ours["n"] for ours, _ in both if ours["n"] > max(slow, default=0)), default=None)


def faster(both: list[tuple[Row, Row]]) -> str:
    """From which size on RMGL is faster than scikit-learn, and the case with the largest factor."""
    least = faster_from(both)
    if least is None:
        return ""
    ours, theirs = max(both, key=lambda pair: pair[1]["seconds"] / pair[0]["seconds"])
    name = figures.SHORT.get(ours["data"], ours["data"])
    return (
        f"**RMGL is fast on large data sets.** With {least:,} or more rows, a fit with the "
        "defaults takes less time than scikit-learn's spectral clustering of the concatenated "
        f"views: {ours['n']:,} rows of {name} take {ours['seconds']:.0f} s instead of "
        f"{theirs['seconds']:.0f} s (NMI {ours['nmi']:.3f} and {theirs['nmi']:.3f})."
    )


def slower(rows: list[Row]) -> str:
    found = compare(rows)
    if not found:
        return ""
    return f"**RMGL is slower on small data sets.** With one thread, {summary(found)}"


def cost(scale: list[Row]) -> str:
    """The largest fit with the defaults."""
    own = [row for row in scale if row["method"] == OURS and row["memory"]["peak"]]
    if not own:
        return ""
    largest = max(own, key=lambda row: row["n"])
    return (
        f"**Exact search comes at a price.** The search compares all pairs of rows: "
        f"{largest['n']:,} rows take {largest['seconds'] / 60:.0f} minutes and "
        f"{largest['memory']['peak'] / GIB:.1f} GiB with {largest['n_threads']} threads."
    )


def of_quality(rows: Rows, output: Path) -> Iterable[str]:
    """Where RMGL is better, where it is not, and how far you can trust its verdict."""
    sentences = [ahead(rows.get("quality", [])), verdicts(rows.get("trust", []))]
    yield " ".join(filter(None, sentences))
    yield "![NMI of every method on every data set](images/quality.png)"


def ahead(rows: list[Row]) -> str:
    """Mean scores on all data sets, and the data sets on which a baseline is better."""
    nmi = {(row["method"], row["dataset"]): row["nmi"] for row in rows if done(row)}
    methods = [name for name in EVERYWHERE if any(method == name for method, _ in nmi)]
    sets = [d for d in dict.fromkeys(d for _, d in nmi) if all((m, d) in nmi for m in methods)]
    if OURS not in methods or len(methods) < 2 or not sets:
        return ""
    means = {m: np.mean([nmi[m, d] for d in sets]) for m in methods}
    others = [m for m in methods if m != OURS]
    best = max(others, key=lambda m: means[m])
    difference = {d: nmi[OURS, d] - max(nmi[m, d] for m in others) for d in sets}
    won = sum(value >= 0 for value in difference.values())
    behind = sorted((value, d) for d, value in difference.items() if value < -BEHIND)
    named = ", ".join(f"{d} ({value:+.2f})" for value, d in behind)
    lost = (
        f"It is behind on these data sets: {named}."
        if behind
        else "It is not behind on any of them."
    )
    return (
        "**With its defaults, RMGL reaches a mean normalized mutual information (NMI) of "
        f"{means[OURS]:.3f} on {len(sets)} public data sets**; the best baseline on the "
        f"concatenated views, `{best}`, reaches {means[best]:.3f}. On {won} of {len(sets)} data "
        f"sets, RMGL is at least as good as all of these baselines. {lost}"
    )


def verdicts(rows: list[Row]) -> str:
    """How informative the ratings in the report are."""
    known = [row for row in rows if done(row) and not row["dataset"].startswith("cloud")]
    means = [
        f"{np.mean(own):.2f} (*{word}*)"
        for word in ("good", "fair", "poor")
        if (own := [row["ari"] for row in known if row["trust"] == word])
    ]
    if not means:
        return ""
    return (
        "The report rates every result, and the rating is informative: on data sets with known "
        f"classes, the mean adjusted Rand index by rating is {', '.join(means)}."
    )
