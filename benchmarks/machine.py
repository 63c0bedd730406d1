"""The sections on the machine's rates and on starting up."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.results import Row
from benchmarks.tables import done, number, table

LEAST = {
    "import rmgl": "python alone",
    "rmgl --help": "python alone",
    "from rmgl import RMGL": "import numpy, scipy",
}
"""The part of each command that does not depend on rmgl."""


def section(rows: list[Row], output: Path) -> Iterable[str]:
    """The rates that determine the brute-force times."""
    rates = [
        row for row in rows if done(row) and ("flops" in row or row["kernel"].startswith("sum"))
    ]
    if not rates:
        return
    yield "## Machine"
    yield (
        "The brute-force times on this page are computed from two measured rates (medians): "
        "operations per second in products of two square matrices (GEMM, with numpy's BLAS), and "
        "bytes per second in a compiled sum over a long array, which reads memory as fast as the "
        "machine delivers it."
    )
    yield table(
        ["what", "threads", "per second"],
        [[what(row), row["n_threads"], rate(row)] for row in rates],
    )


def what(row: Row) -> str:
    return f"{row['kernel']}, {row['n']:,} x {row['n']:,}" if "flops" in row else row["kernel"]


def rate(row: Row) -> str:
    if "flops" in row:
        return f"{number(row['flops_per_second'] / 1e9)} Gflop"
    return f"{number(row['bytes_per_second'] / 1e9)} GB"


def startup_section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Starting up"
    yield (
        "Each row is a fresh process. Commands are timed from start to finish. Fits use 2000 rows; "
        "their times do not include imports. *First fit* is the total time of two fits "
        "on small data, one over all pairs and one over neighbor lists. The package "
        "caches its compiled loops, so it compiles them only once. *Without rmgl* is the time "
        "taken by a process that only starts Python, or only imports numpy and scipy."
    )
    seconds = {row["what"]: row["seconds"] for row in rows if done(row)}
    lines = [
        [
            name.replace("at the defaults", "with the defaults").replace(
                "code kept", "code cached"
            ),
            number(taken),
            number(seconds.get(LEAST.get(name, ""))),
        ]
        for name, taken in seconds.items()
    ]
    yield table(["what", "seconds", "without rmgl"], lines)
