"""The section on sparse views: time relative to spectral clustering, and memory relative to the
nonzeros.
"""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.limits import ENTRY_BYTES, Limit, Rates
from benchmarks.proportions import Proportion, compare, median
from benchmarks.results import Row
from benchmarks.tables import failures, number, table

MIB = 1 << 20


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    yield "## Sparse views"
    yield (
        "The data are documents on 20 topics in two views, each with a vocabulary of 50,000 words. "
        "In each view, a document contains about 100 of the words, a quarter of which are drawn "
        "from its topic's words. The table shows the time, in seconds, needed to compute the "
        "labels with the defaults and one thread, compared with scikit-learn's spectral clustering "
        "of both views in one sparse table. *Extra memory* is the peak memory of the process "
        "during the call minus its memory before the call; *times the input* divides this "
        "difference by the size of the nonzeros and their indices. *Brute force* is the time "
        f"needed to compute the products of all pairs of rows if reading the nonzeros "
        f"({ENTRY_BYTES} bytes each) at the full memory bandwidth were the only cost."
    )
    found = compare(rows)
    head = [
        "documents",
        "MB of nonzeros",
        "labels, s",
        "spectral clustering, s",
        "ratio",
        "report, s",
        "extra memory, MiB",
        "times the input",
    ]
    head += [
        "spectral clustering: extra memory, MiB",
        "NMI",
        "NMI of spectral clustering",
        "brute force, s",
        "brute force / labels",
        "processes each",
    ]
    yield table(head, [line(one, rates) for one in found])
    yield from failures(rows)


def line(one: Proportion, rates: Rates) -> list[object]:
    limit, first = limit_of(one, rates), one.ours[0]
    return [
        f"{first['n']:,}",
        f"{first['input_bytes'] / 1e6:.1f}",
        number(one.seconds),
        number(one.their_seconds),
        f"{one.ratio:.2f}",
        number(one.report_seconds),
        f"{more_memory(one.ours) / MIB:,.0f}",
        f"{times_input(one):.1f}",
        f"{more_memory(one.theirs) / MIB:,.0f}",
        f"{one.nmi:.3f}",
        f"{one.their_nmi:.3f}",
        number(limit.seconds),
        limit.share(one.seconds),
        one.processes,
    ]


def limit_of(one: Proportion, rates: Rates) -> Limit:
    """Every pair of nonzeros in a column takes two operations, and one of the two is read again."""
    return rates.for_reading(ENTRY_BYTES * one.ours[0]["least_flops"] / 2)


def more_memory(rows: list[Row]) -> float:
    """Bytes used in addition to the memory before the call, sampled during the call."""
    return median(row["memory"]["sampled"] - row["memory"]["before"] for row in rows)


def times_input(one: Proportion) -> float:
    return more_memory(one.ours) / one.ours[0]["input_bytes"]
