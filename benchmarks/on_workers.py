"""The section on Dask workers on one machine."""

from collections.abc import Iterable
from pathlib import Path

from benchmarks.results import Row
from benchmarks.tables import table


def section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Dask workers"
    yield (
        "The table shows searches and fits of the mixture on Dask workers with one thread each, "
        "all on this machine, compared with one thread without workers (0 workers). The process "
        "that fits the model has as many threads as there are workers (`n_jobs`, shown in the "
        "*threads* column). *Search* finds the 30 nearest neighbors in the second view, and *fit* "
        "runs with the defaults. *Moved* is the amount of data that the workers sent to one "
        "another and to the client."
    )
    done = [row for row in rows if row["status"] == "ok"]
    seconds = {(row["what"], row["n"], row["workers"]): row["seconds"] for row in done}
    lines = []
    for row in done:
        alone = seconds.get((row["what"], row["n"], 0))
        one = seconds.get((row["what"], row["n"], 1))
        lines.append(
            [
                row["what"],
                f"{row['n']:,}",
                f"{row['workers']}",
                f"{row.get('n_jobs', 1)}",
                f"{row['seconds']:.1f}",
                f"{row['seconds'] / alone:.2f}" if alone and row["workers"] else "",
                f"{row['seconds'] / one:.2f}" if one and row["workers"] > 1 else "",
                f"{row['moved'] / 1e6:,.0f} MB" if "moved" in row else "",
            ]
        )
    yield table(
        ["", "N", "workers", "threads", "seconds", "/ one thread", "/ one worker", "moved"], lines
    )
