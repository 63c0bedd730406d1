"""The section on Dask clusters: what was measured on one machine, and what follows from it for many rows on many machines."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.results import Row
from benchmarks.tables import table
from rmgl.distributed.plan import Plan
from rmgl.distributed.rows import Tiling

NETWORK = 1e9
"""Bytes a second that a worker receives, assumed."""
TASK_SECONDS = 0.001
"""Seconds of the scheduler for each task, as Dask's documentation says."""
CORES = 8
WIDTHS, NEIGHBORS = (16, 32), 30


def section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## A Dask cluster"
    yield (
        "The mixture, on workers of one thread each on this machine, beside one thread without a cluster (0 workers). *Search* is for the "
        "30 nearest neighbors in the second view, *fit* one at the defaults. *Moved* is what workers sent to one another."
    )
    done = [row for row in rows if row["status"] == "ok"]
    seconds = {(row["what"], row["n"], row["workers"], row["limit"]): row["seconds"] for row in done}
    lines = []
    for row in done:
        alone = seconds.get((row["what"], row["n"], 0, "none"))
        one = seconds.get((row["what"], row["n"], 1, "none"))
        lines.append(
            [
                row["what"],
                f"{row['n']:,}",
                f"{row['workers']}" + ("" if row["limit"] == "none" else f" of {row['limit']}"),
                f"{row['seconds']:.1f}",
                f"{row['seconds'] / alone:.2f}" if alone and row["workers"] else "",
                f"{one / row['seconds']:.2f}" if one and row["workers"] > 1 else "",
                f"{row['moved'] / 1e6:,.0f} MB" if "moved" in row else "",
            ]
        )
    yield table(["", "N", "workers", "seconds", "times one thread", "speedup over one worker", "moved"], lines)
    speeds = [row["pairs_per_second"] for row in done if "pairs_per_second" in row]
    if speeds:
        yield from forecast(np.median(speeds, axis=0).tolist())


def forecast(speeds: list[float]) -> Iterable[str]:
    """Hours of the search for more rows and workers, from the pairs that a thread compares in a second."""
    yield (
        f"From the {', '.join(f'{speed:.2g}' for speed in speeds)} pairs that a thread compares in a second (in 16, 32 and 48 columns), "
        f"hours of one search in all three spaces on workers of {CORES} cores. No pair of blocks is skipped; each task first receives its "
        f"two blocks at {NETWORK / 1e9:.0f} GB/s, and the scheduler takes {1000 * TASK_SECONDS:.0f} ms for it. *Client* is the memory for "
        "lists, costs and layers, which one process holds."
    )
    lines = []
    for n in (10**6, 10**7, 10**8):
        for workers in (16, 64, 256):
            plan = Plan(n, WIDTHS, NEIGHBORS, Tiling.of(n), (CORES,) * workers, (0,) * workers, tuple(speeds))
            hours = search_hours(plan, workers)
            lines.append([f"{n:,}", workers, plan.n_tasks, f"{hours:.2g}", f"{plan.bytes_of_client / 2**30:,.0f} GiB"])
    yield table(["rows", "workers", "tasks", "hours", "client"], lines)


def search_hours(plan: Plan, workers: int) -> float:
    """The hours in which threads that take tasks in turn finish all of them, or the scheduler hands them out, whichever is longer."""
    total, per_space = 0.0, plan.n_blocks * (plan.n_blocks + 1) // 2
    for width, speed in zip(plan.spaces, plan.pairs_per_second, strict=True):
        task = plan.block_rows**2 / speed + 2 * plan.block_rows * 4 * width * CORES / NETWORK
        rounds = -(-per_space // (workers * CORES))
        total += max(rounds * task, per_space * TASK_SECONDS)
    return total / 3600
