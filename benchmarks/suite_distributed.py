"""The exact search and whole fits on one and two Dask workers with one thread each."""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import load
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.distributed.plan import Plan
from rmgl.distributed.searched_rows import SearchedRows
from rmgl.distributed.workers import Workers
from rmgl.edges.search import Rows
from rmgl.estimators.defaults import N_NEIGHBORS
from rmgl.running.threads import single_threaded

SIZE, QUICK_SIZE = 100_000, 3000
NEIGHBORS = 30
WARM_UP, QUICK_WARM_UP = 20_000, 1500
"""Number of rows for a first call. They form multiple blocks, which makes every worker load its
compiled loops; fewer rows would form a single block.
"""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    n = QUICK_SIZE if quick else SIZE
    for what in WORK:
        for workers in (0, 1, 2) if not only or what in only else ():
            results.add(partial(measure, what, n, workers), what=what, n=n, workers=workers)


def measure(what: str, n: int, workers: int) -> Row:
    """Seconds, after a first call on a few rows; with workers, also the bytes that they sent, and
    the plan. The client has as many threads as there are workers: a fit with that many threads
    would use the same number of cores.
    """
    work, warm_up = WORK[what], WARM_UP if n > WARM_UP else QUICK_WARM_UP
    n_jobs = max(1, workers)
    if workers == 0:
        work(warm_up, None, n_jobs)
        return {"status": "ok", "n_jobs": n_jobs, **work(n, None, n_jobs)}
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        work(warm_up, client, n_jobs)
        before = sent(client)
        found = work(n, client, n_jobs)
        plan = Plan.of([(n, 16), (n, 32)], N_NEIGHBORS, "auto", Workers(client))
        row = {
            "n_jobs": n_jobs,
            "n_blocks": plan.n_blocks,
            "n_tasks": plan.n_tasks,
            "pairs_per_second": list(plan.pairs_per_second),
        }
        return {"status": "ok", **found, "moved": sent(client) - before, **row}


def sent(client) -> int:
    """Bytes that workers have sent so far, to one another and to the client. A worker that was
    restarted counts from its restart.
    """
    return int(
        sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())
    )


def search(n: int, client, n_jobs: int) -> Row:
    """Find the neighbors of all rows in the second view of the mixture; the client only waits."""
    rows, nodes = Rows.of(load("mixture", n).views["right"]), np.arange(n)
    if client is not None:
        rows = SearchedRows.of_rows(Workers.of(client), rows)
    with single_threaded("blas"):
        return timed(lambda: rows.nearest(nodes, NEIGHBORS))


def fit(n: int, client, n_jobs: int) -> Row:
    """Fit the mixture with the defaults."""
    data = load("mixture", n)
    model = RMGL(20, random_state=0, n_jobs=n_jobs)
    seconds = timed(lambda: model.fit(data.views, **({} if client is None else {"client": client})))
    return {
        **seconds,
        "steps": dict(model.seconds_),
        "exact": all(layer.exact for layer in model.layers_),
    }


WORK: dict[str, Callable[..., Row]] = {"search": search, "fit": fit}


def timed(work: Callable[[], object]) -> Row:
    began = perf_counter()
    work()
    return {"seconds": perf_counter() - began}
