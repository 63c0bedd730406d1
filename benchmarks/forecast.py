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
        "The mixture, on workers of one thread each on this machine, beside one thread "
        "without workers (0 workers). *Search* is for the "
        "30 nearest neighbors in the second view, *layer* the solution for its layer of 20 "
        "edges a node from given candidate pairs, and "
        "*fit* one at the defaults. *Moved* is what workers sent, to one another and to the client."
    )
    done = [row for row in rows if row["status"] == "ok"]
    seconds = {
        (row["what"], row["n"], row["workers"], row["limit"]): row["seconds"] for row in done
    }
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
        "What the client asks the workers for in the layer above. A Newton step is an "
        "evaluation (sums for each row at the potentials, "
        "which are sent once) and the active pairs, which the client then multiplies itself; "
        "where they do not fit there, each product "
        "is a request."
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
    yield (
        f"From the {', '.join(f'{speed:.2g}' for speed in speeds)} pairs that a thread "
        "compares in a second (in 16, 32 and 48 columns), "
        f"hours of a fit on workers of {CORES} cores. *Search* is one search and one scan by "
        "radii in all three spaces: no pair of blocks "
        "is skipped, threads take tasks in turn, each task first receives its two blocks "
        "and the scores of their known neighbors "
        f"at {NETWORK / 1e9:.0f} GB/s, and the scheduler "
        f"takes {1000 * TASK_SECONDS:.0f} ms for it. *Layers* are {STEPS} Newton steps, and "
        f"{EMBEDDINGS} times the pairs of a "
        f"space are measured in an embedding of {CLUSTERS} columns, bound by what the client "
        "sends and receives at "
        f"{NETWORK / 1e9:.0f} GB/s, and by the scheduler. *Tasks* are those of the search, "
        "and of these embeddings; *s a task* is the time "
        f"of one of the search in all columns. "
        f"*Embedding* and k-means run on one thread of the client: the {on_client:.0f} s of "
        "the fit of "
        f"{fit['n']:,} rows, in proportion to the rows. *Client* is its memory for layers. "
        "Not counted are the tasks that sort rows "
        "into blocks and measure their pairs in the views, up to three for each block and "
        f"each chunk of rows: {sorting_tasks(10**7):,} at "
        f"10,000,000 rows and {sorting_tasks(10**8):,} at 100,000,000, which the scheduler "
        "hands out in "
        f"{sorting_tasks(10**8) * TASK_SECONDS / 3600:.2g} hours. None of this was tried on "
        "so many machines."
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
        f"{fit['workers']} threads takes "
        f"{3600 * 2 * search_hours(tried):.0f} s; its stage *neighbors*, in which candidates "
        "are also measured and extended several times "
        f"and all parameters are chosen, took {fit['steps'].get('neighbors', 0.0):.0f} s."
    )
    yield (
        "The search grows with the square of the rows, and everything else in proportion to "
        "them. More workers help until the search is no "
        "longer what takes longest; from there on the one process that has the layers and "
        "computes the embedding decides. Exactness stops "
        "being affordable where the search does: ten times as many rows take a hundred times "
        "as many core hours, unless rows are in groups "
        "so far apart that most pairs of blocks are skipped."
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
