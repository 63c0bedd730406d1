"""The section on Dask workers: what was measured on one machine, and what follows from it for many
rows on many machines.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.results import Row
from benchmarks.tables import table
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.plan import Plan, expected_length
from rmgl.distributed.sources import rows_of_chunk
from rmgl.estimators.defaults import N_NEIGHBORS

NETWORK = 1e9
"""Bytes a second that a worker receives, or the client, assumed."""
TASK_SECONDS = 0.001
"""Seconds of the scheduler for each task, as Dask's documentation says."""
CORES = 8
WIDTHS, CLUSTERS = (16, 32), 20
STEPS = 100
"""Newton steps of a fit, over all layers and all times that they are learned again: fits of 3,000
and 10,000 rows asked 122 and 136 times for an evaluation, and 75 and 79 times for the active pairs.
"""
EMBEDDINGS = 20
"""How often candidate pairs are measured in an embedding: 20 and 22 times in these fits."""


def section(rows: list[Row], output: Path) -> Iterable[str]:
    yield "## Dask workers"
    yield (
        "The mixture on Dask workers of one thread each, all on this machine, beside one thread "
        "without workers (0 workers). *Search* finds the 30 nearest neighbors in the second view, "
        "*layer* learns its layer of 20 edges a node from given candidate pairs, and *fit* runs at "
        "the defaults. *Moved* counts what workers sent to one another and to the client."
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
                row["workers"],
                f"{row['seconds']:.1f}",
                f"{row['seconds'] / alone:.2f}" if alone and row["workers"] else "",
                f"{one / row['seconds']:.2f}" if one and row["workers"] > 1 else "",
                f"{row['moved'] / 1e6:,.0f} MB" if "moved" in row else "",
            ]
        )
    yield table(
        ["", "N", "workers", "seconds", "times one thread", "speedup over one worker", "moved"],
        lines,
    )
    yield from requests([row for row in done if "requests" in row])
    speeds = [row["pairs_per_second"] for row in done if "pairs_per_second" in row]
    fits = [row for row in done if row["what"] == "fit" and "steps" in row and row["workers"]]
    if speeds and fits:
        yield from forecast(np.median(speeds, axis=0).tolist(), max(fits, key=lambda row: row["n"]))


def requests(rows: list[Row]) -> Iterable[str]:
    """What one Newton step and one product move."""
    if not rows:
        return
    yield (
        "What the client requests from the workers for the layer above. A Newton step needs one "
        "evaluation (sums for each row at the potentials, which are sent once) and the active "
        "pairs, which the client multiplies itself. If they do not fit into its memory, each "
        "product is a request."
    )
    lines = [
        [
            f"{row['n']:,}",
            row["workers"],
            name,
            f"{1e3 * own['seconds']:.1f}",
            megabytes(own["sent"]),
            megabytes(own["received"]),
        ]
        for row in rows
        for name, own in row["requests"].items()
    ]
    yield table(["N", "workers", "request", "ms", "sent", "received"], lines)


def megabytes(size: float) -> str:
    return f"{size / 1e6:.2f} MB"


def forecast(speeds: list[float], fit: Row) -> Iterable[str]:
    """Hours of a fit of more rows on more workers, from the pairs that a thread compares in a
    second, and the time on the client.
    """
    on_client = fit["steps"].get("embedding", 0.0) + fit["steps"].get("clustering", 0.0)
    rates = ", ".join(f"{speed:.2g}" for speed in speeds)
    yield (
        f"The next table forecasts the hours of a fit on workers of {CORES} cores. None of this "
        f"was tried on so many machines. A thread compares {rates} pairs a second in 16, 32 and 48 "
        "columns. *Search* is one search and one scan by radii in all three spaces; no pair of "
        "blocks is skipped, each task first receives its two blocks and the scores of their known "
        f"neighbors at {NETWORK / 1e9:.0f} GB/s, and the scheduler takes {1000 * TASK_SECONDS:.0f} "
        f"ms for a task. *Layers* are {STEPS} Newton steps and {EMBEDDINGS} measurements of the "
        f"pairs of a space in an embedding of {CLUSTERS} columns, limited by the client's network "
        "and by the scheduler. *Tasks* are those of the search and of these embeddings; *s a task* "
        "is the time of one search task in all columns. *Embedding* and k-means run on one thread "
        f"of the client: the {on_client:.0f} s of the fit of {fit['n']:,} rows, in proportion to "
        "the rows. *Client* is its memory for the layers. The forecast leaves out the tasks that "
        f"sort rows into blocks ({sorting_tasks(10**8):,} at 100,000,000 rows, which the scheduler "
        f"hands out in {sorting_tasks(10**8) * TASK_SECONDS / 3600:.2g} hours)."
    )
    lines = []
    for n in (10**6, 10**7, 10**8):
        for workers in (16, 64, 256):
            length, machines = expected_length(n, N_NEIGHBORS), ((CORES,) * workers, (0,) * workers)
            plan = Plan(n, WIDTHS, length, N_NEIGHBORS, Tiling.of(n), *machines, tuple(speeds))
            measuring = EMBEDDINGS * plan.tasks_of_embedding(CLUSTERS)
            moved = STEPS * sum(plan.bytes_of_step) + EMBEDDINGS * 8 * CLUSTERS * n
            hours = {
                "search": 2 * search_hours(plan),
                "layers": (moved / NETWORK + measuring * TASK_SECONDS) / 3600,
                "embedding": on_client * n / fit["n"] / 3600,
            }
            longest = max(hours, key=lambda name: hours[name])
            memory = f"{plan.bytes_of_client / 2**30:,.0f} GiB"
            tasks = [
                f"{2 * plan.n_tasks:,} + {measuring:,}",
                f"{plan.block_rows**2 / speeds[-1]:.0f}",
            ]
            lines.append(
                [
                    f"{n:,}",
                    workers,
                    *tasks,
                    *(f"{value:.2g}" for value in hours.values()),
                    longest,
                    memory,
                ]
            )
    yield table(
        [
            "rows",
            "workers",
            "tasks",
            "s a task",
            "search",
            "layers",
            "embedding",
            "longest",
            "client",
        ],
        lines,
    )
    threads, length = (1,) * fit["workers"], expected_length(fit["n"], N_NEIGHBORS)
    tried = Plan(
        fit["n"],
        WIDTHS,
        length,
        N_NEIGHBORS,
        Tiling.of(fit["n"]),
        threads,
        (0,) * fit["workers"],
        tuple(speeds),
    )
    yield (
        f"By the same formula, the search of the measured fit of {fit['n']:,} rows on "
        f"{fit['workers']} threads takes {3600 * 2 * search_hours(tried):.0f} s. Its stage "
        "*neighbors*, which also measures and extends the candidates several times and chooses all "
        f"parameters, took {fit['steps'].get('neighbors', 0.0):.0f} s."
    )
    yield (
        "The search grows with the square of the rows, and everything else in proportion to them. "
        "More workers help until the search no longer takes longest; from there on, the process "
        "that computes the embedding decides. Ten times as many rows take a hundred times as many "
        "core hours, unless the rows form groups so far apart that most pairs of blocks are "
        "skipped."
    )


def sorting_tasks(n_rows: int) -> int:
    """Tasks that pick the rows of every block from every chunk, and measure candidate pairs once,
    in all three spaces.
    """
    plan = Plan(n_rows, WIDTHS, 1, N_NEIGHBORS, Tiling.of(n_rows), (1,), (0,))
    return sum(
        3 * plan.n_blocks * -(-n_rows // rows_of_chunk((n_rows, width), None))
        for width in plan.spaces
    )


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
