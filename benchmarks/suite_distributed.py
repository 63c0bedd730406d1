"""One and two Dask workers of one thread: the exact search, one layer, and whole fits."""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import load
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.distributed import block_store
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.plan import Plan, expected_length
from rmgl.distributed.remote_views import on_workers
from rmgl.distributed.rows import DistributedRows
from rmgl.distributed.workers import Workers
from rmgl.edges import Candidates, find_candidates
from rmgl.edges.search import Rows
from rmgl.estimators.defaults import N_NEIGHBORS
from rmgl.layer import Layer, Origin
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.running.threads import single_threaded

SIZE, QUICK_SIZE = 100_000, 3000
NEIGHBORS, EDGES = 30, 20
REQUESTS = 7
WARM_UP, QUICK_WARM_UP = 20_000, 1500
"""Rows of a first call, in several blocks, so that every worker has loaded its compiled loops; with
few rows there is one block.
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
    """Seconds, after a first call on a few rows; with workers also the bytes that they sent, and
    the plan.
    """
    work, warm_up = WORK[what], WARM_UP if n > WARM_UP else QUICK_WARM_UP
    if workers == 0:
        work(warm_up, None)
        return {"status": "ok", **work(n, None)}
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(**options) as local,
        Client(local) as client,
    ):
        work(warm_up, client)
        before = sent(client)
        found = work(n, client)
        plan = Plan.of(
            [(n, 16), (n, 32)], expected_length(n, N_NEIGHBORS), N_NEIGHBORS, Workers(client)
        )
        row = {
            "n_blocks": plan.n_blocks,
            "n_tasks": plan.n_tasks,
            "pairs_per_second": list(plan.pairs_per_second),
        }
        return {"status": "ok", **found, "moved": sent(client) - before, **row}


def sent(client) -> int:
    """Bytes that workers have sent so far, to one another and to the client; those of a worker that
    was started again count from then.
    """
    return int(
        sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())
    )


def search(n: int, client) -> Row:
    """The nearest neighbors of all rows of the second view of the mixture."""
    X, nodes = load("mixture", n).views["right"], np.arange(n)
    if client is None:
        with single_threaded("blas"):
            return timed(lambda: Rows.of(X).nearest(nodes, NEIGHBORS))
    (matrix,) = on_workers([("right", X)], Workers(client), None).matrices
    return timed(lambda: DistributedRows(matrix, Tiling.of(n)).nearest(nodes, NEIGHBORS))


def layer(n: int, client) -> Row:
    """The layer of the second view with 20 edges a node, from candidate pairs that were found
    before; and every request of a solver.
    """
    X = load("mixture", n).views["right"]
    workers = None if client is None else Workers(client)
    space = (
        Rows.of(X)
        if workers is None
        else DistributedRows(on_workers([("right", X)], workers, None).matrices[0], Tiling.of(n))
    )
    with single_threaded("blas"):
        first = find_candidates("right", space, None, NEIGHBORS, local=True)
        candidates, _ = solve_for_edges(Origin("right"), first, EDGES)
        learned: list[Layer] = []
        row = timed(lambda: learned.append(solve_for_edges(Origin("right"), candidates, EDGES)[1]))
        row |= {"n_pairs": candidates.edges.n_pairs, "n_edges": learned[0].n_edges}
        if workers is not None:
            row["requests"] = requests(workers, candidates, learned[0])
    return row


def requests(workers: Workers, candidates: Candidates, layer: Layer) -> dict[str, Row]:
    """Seconds, and bytes that the client sent and received, of one evaluation, of the active pairs,
    and of a product on the workers.
    """
    edges, costs, u = candidates.edges, candidates.distances, layer.potentials
    found = edges.evaluate(u, costs)
    most, block_store.MOST_ACTIVE_SHARE = block_store.MOST_ACTIVE_SHARE, 0.0
    remote = edges.active_pairs(u, costs, found.counts)
    remote(u)
    block_store.MOST_ACTIVE_SHARE = most
    works: dict[str, Callable[[int], object]] = {
        block_store.EVALUATIONS: lambda turn: edges.evaluate(u * (1 + 1e-9 * turn), costs),
        block_store.ACTIVE: lambda turn: edges.active_pairs(u, costs, found.counts),
        block_store.PRODUCTS: lambda turn: remote(u * turn),
    }
    rows = {}
    for name, work in works.items():
        edges.evaluate(u, costs)
        workers.traffic.requests.clear()
        seconds = [timed(partial(work, turn))["seconds"] for turn in range(1, REQUESTS + 1)]
        number, sent_bytes, received = workers.traffic.requests[name]
        rows[name] = {
            "seconds": float(np.median(seconds)),
            "sent": sent_bytes / number,
            "received": received / number,
        }
    return rows


def fit(n: int, client) -> Row:
    """A fit at the defaults."""
    data = load("mixture", n)
    model = RMGL(20, random_state=0, n_jobs=1)
    seconds = timed(lambda: model.fit(data.views, **({} if client is None else {"client": client})))
    return {
        **seconds,
        "steps": dict(model.seconds_),
        "exact": all(layer.exact for layer in model.layers_),
    }


WORK: dict[str, Callable[..., Row]] = {"search": search, "layer": layer, "fit": fit}


def timed(work: Callable[[], object]) -> Row:
    began = perf_counter()
    work()
    return {"seconds": perf_counter() - began}
