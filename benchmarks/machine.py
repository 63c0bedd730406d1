"""The sections on the machine's own rates, on passes over candidate edges, and on starting up."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.results import Row
from benchmarks.tables import done, number, table

LEAST = {
    "import rmgl": "python alone",
    "rmgl --help": "python alone",
    "from rmgl import RMGL": "import numpy, scipy",
}
"""What each of these cannot do without."""


def section(rows: list[Row], output: Path) -> Iterable[str]:
    """What limits are computed from."""
    rates = [
        row for row in rows if done(row) and ("flops" in row or row["kernel"].startswith("sum"))
    ]
    if not rates:
        return
    yield "## Machine"
    yield (
        "Rates from which limits are computed: products of two square matrices (GEMM, the "
        "BLAS that numpy comes with), and a compiled sum "
        "over a long array, which reads memory as fast as it is delivered. Medians."
    )
    yield table(
        ["what", "threads", "a second"], [[what(row), row["n_threads"], rate(row)] for row in rates]
    )


def what(row: Row) -> str:
    return f"{row['kernel']}, {row['n']:,} x {row['n']:,}" if "flops" in row else row["kernel"]


def rate(row: Row) -> str:
    if "flops" in row:
        return f"{number(row['flops_per_second'] / 1e9)} Gflop"
    return f"{number(row['bytes_per_second'] / 1e9)} GB"


def passes_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Memory bandwidth"
    yield (
        "One pass over the candidate edges, against a compiled sum over an array of the same "
        "length: what the memory of the machine "
        "delivers. Bytes counted are those of costs and indices, each read once."
    )
    passes = [row for row in rows if done(row) and "bytes" in row]
    best = {
        row["n_threads"]: row["bytes_per_second"]
        for row in passes
        if row["kernel"].startswith("sum")
    }
    lines = [
        [
            row["kernel"],
            f"{row['n']:,}",
            row["n_threads"],
            f"{row['bytes'] / 1e6:,.0f}",
            number(1e3 * row["seconds"]),
            number(row["bytes_per_second"] / 1e9),
            f"{row['bytes_per_second'] / best[row['n_threads']]:.0%}"
            if row["n_threads"] in best
            else "",
        ]
        for row in passes
    ]
    yield table(["pass", "nodes", "threads", "MB", "milliseconds", "GB/s", "of the sum's"], lines)


def startup_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Starting up"
    yield (
        "Each in a fresh process: commands from their start to their end; fits of 2000 rows "
        "without the imports before them, *first fit* "
        "two small ones with candidates given, one over all pairs and one over lists of "
        "neighbors. Compiled loops are kept beside the "
        "package, so that they are compiled once. *At the least* is what this takes with "
        "nothing of rmgl in it."
    )
    seconds = {row["what"]: row["seconds"] for row in rows if done(row)}
    lines = [
        [name, number(taken), number(seconds.get(LEAST.get(name, "")))]
        for name, taken in seconds.items()
    ]
    yield table(["what", "seconds", "at the least"], lines)
