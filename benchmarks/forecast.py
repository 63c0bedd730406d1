"""The section on Dask workers: what was measured on one machine, and what follows from it for many
rows on many machines.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.results import Row
from benchmarks.tables import table
from rmgl.distributed.plan import Plan, expected_length
from rmgl.estimators.defaults import N_NEIGHBORS

NETWORK = 1e9
"""Bytes a second that a worker receives, assumed."""
TASK_SECONDS = 0.001
"""Seconds of the scheduler for each task, as Dask's documentation says."""
CORES = 8
WIDTHS = (16, 32)


def section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Dask workers"
    yield (
        "The mixture, on workers of one thread each on this machine, beside one thread "
        "without workers (0 workers). The process that fits has as many threads as there are "
        "workers (`n_jobs`, in the column *threads*). *Search* is for the 30 nearest neighbors in "
        "the second view, and *fit* one at the defaults. *Moved* is what workers sent, to one "
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
    speeds = [row["pairs_per_second"] for row in done if "pairs_per_second" in row]
    fits = [row for row in done if row["what"] == "fit" and not row["workers"]]
    if speeds and fits:
        yield from forecast(np.median(speeds, axis=0).tolist(), max(fits, key=lambda row: row["n"]))


def forecast(speeds: list[float], fit: Row) -> Iterable[str]:
    """Hours of a fit of more rows on more workers, from the pairs that a thread compares in a
    second, and the time of everything else.
    """
    searched = 3600 * 2 * search_hours(plan_of(fit["n"], (1,), speeds))
    rest = max(0.0, fit["seconds"] - searched)
    yield (
        f"From the {', '.join(f'{speed:.2g}' for speed in speeds)} pairs that a thread compares in "
        f"a second (in 16, 32 and 48 columns), hours of a fit on workers of {CORES} cores. "
        "*Search* is one search and one scan by radii in all three spaces: no pair of blocks is "
        "skipped, threads take tasks in turn, each task first receives its two blocks and the "
        f"scores of their known neighbors at {NETWORK / 1e9:.0f} GB/s, and the scheduler takes "
        f"{1000 * TASK_SECONDS:.0f} ms for it. *Client* is everything else, on one thread: "
        f"{rest:.0f} of the {fit['seconds']:.0f} s of the fit of {fit['n']:,} rows by one thread, "
        "in proportion to the rows. *Memory* is what the client needs (`--plan`). None of this was "
        "tried on so many machines."
    )
    lines = []
    for n in (10**6, 10**7, 10**8):
        for workers in (16, 64, 256):
            plan = plan_of(n, (CORES,) * workers, speeds)
            hours = {"search": 2 * search_hours(plan), "client": rest * n / fit["n"] / 3600}
            lines.append(
                [
                    f"{n:,}",
                    workers,
                    f"{2 * plan.n_tasks:,}",
                    f"{plan.block_rows**2 / speeds[-1]:.0f}",
                    *(f"{value:.2g}" for value in hours.values()),
                    max(hours, key=lambda name: hours[name]),
                    f"{plan.bytes_of_client / 2**30:,.0f} GiB",
                ]
            )
    titles = ["rows", "workers", "tasks", "s a task", "search", "client", "longest", "memory"]
    yield table(titles, lines)
    yield (
        "The search grows with the square of the rows, and everything else in proportion to "
        "them. More workers help until the search is no longer what takes longest; from there on "
        "the one process that has the candidate pairs and layers decides, and its memory limits "
        "the number of rows."
    )


def plan_of(n_rows: int, threads: tuple[int, ...], speeds: list[float]) -> Plan:
    """The plan of a fit of the mixture on workers with so many threads each."""
    limits, length = (0,) * len(threads), expected_length(n_rows, N_NEIGHBORS)
    return Plan(n_rows, WIDTHS, length, N_NEIGHBORS, threads, limits, tuple(speeds))


def search_hours(plan: Plan) -> float:
    """The hours in which threads that take tasks in turn finish all of them, or the scheduler hands
    them out, whichever is longer.
    """
    total, per_space = 0.0, plan.n_blocks * (plan.n_blocks + 1) // 2
    for width, speed in zip(plan.spaces, plan.pairs_per_second, strict=True):
        task = (
            plan.block_rows**2 / speed
            + 2 * plan.block_rows * 4 * (width + plan.length) * max(plan.threads) / NETWORK
        )
        rounds = -(-per_space // sum(plan.threads))
        total += max(rounds * task, per_space * TASK_SECONDS)
    return total / 3600
