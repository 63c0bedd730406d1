"""A Dask cluster on this machine: the exact search and whole fits with one and two workers of one thread, beside one thread without it."""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import load
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.distributed.cluster import Cluster
from rmgl.distributed.plan import Plan
from rmgl.distributed.rows import DistributedRows, Tiling
from rmgl.distributed.views import on_cluster
from rmgl.edges.search import Rows
from rmgl.running.threads import single_threaded

SIZES, QUICK_SIZES = (30_000, 100_000), (3000,)
LARGE, LIMIT = 300_000, "1.5GB"
"""Rows of a fit whose workers are limited to so much memory each."""
NEIGHBORS = 30
WARM_UP = 1500


def run(results: Results, settings: Settings, quick: bool = False, only: tuple[str, ...] = (), datasets: tuple[str, ...] = ()) -> None:
    cases: list[tuple[str, int, int, str | None]] = []
    for n in QUICK_SIZES if quick else SIZES:
        cases += [("search", n, workers, None) for workers in (0, 1, 2)]
        cases += [("fit", n, workers, None) for workers in (0, 1, 2)]
    if not quick:
        cases.append(("fit", LARGE, 2, LIMIT))
    for what, n, workers, limit in cases:
        if not only or what in only:
            results.add(partial(measure, what, n, workers, limit), what=what, n=n, workers=workers, limit=limit or "none")


def measure(what: str, n: int, workers: int, limit: str | None) -> Row:
    """Seconds, after a first call on a few rows; with workers also the bytes that they sent to one another, and the plan."""
    work = search if what == "search" else fit
    if workers == 0:
        work(WARM_UP, None)
        return {"status": "ok", "seconds": work(n, None)}
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, **({} if limit is None else {"memory_limit": limit})) as local, Client(local) as client:
        work(WARM_UP, client)
        before = sent(client)
        seconds = work(n, client)
        plan = Plan.of([(n, 16), (n, 32)], NEIGHBORS, Cluster(client))
        row = {"n_blocks": plan.n_blocks, "n_tasks": plan.n_tasks, "pairs_per_second": list(plan.pairs_per_second)}
        return {"status": "ok", "seconds": seconds, "moved": sent(client) - before, **row}


def sent(client) -> int:
    """Bytes that workers have sent to one another so far; those of a worker that was started again count from then."""
    return int(sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()))


def search(n: int, client) -> float:
    """Seconds to the nearest neighbors of all rows of the second view of the mixture."""
    X, nodes = load("mixture", n).views["right"], np.arange(n)
    if client is None:
        with single_threaded("blas"):
            return timed(lambda: Rows.of(X).nearest(nodes, NEIGHBORS))
    (matrix,) = on_cluster([("right", X)], Cluster(client), None).matrices
    return timed(lambda: DistributedRows(matrix, Tiling.of(n)).nearest(nodes, NEIGHBORS))


def fit(n: int, client) -> float:
    """Seconds of a fit at the defaults."""
    data = load("mixture", n)
    model = RMGL(20, random_state=0, n_jobs=1)
    return timed(lambda: model.fit(data.views, **({} if client is None else {"client": client})))


def timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
