"""What the machine can do, and bytes that a pass over the candidate edges moves, against what the
memory can deliver.

The yardsticks are products of two square matrices (GEMM) and a compiled sum over a long array. A
pass over all pairs reads 8 bytes a pair; one over listed pairs reads 12 bytes an entry (cost and
index); a product with the active ones among them reads 4 bytes (index) for every active entry. The
number that each index fetches is not counted.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from numba import njit
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl.edges import AllPairs, PairList
from rmgl.running.threads import Team, team_of

PRECISIONS = ("float32", "float64")


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    n_dense, n_listed, width = (1000, 5000, 500) if quick else (20_000, 1_000_000, 3000)
    for n_threads in range(1, settings.n_threads + 1):
        for precision in PRECISIONS:
            names = {"kernel": f"GEMM {precision}", "n": width, "n_threads": n_threads}
            results.add(partial(products, width, precision, n_threads, settings), **names)
        results.add(
            partial(yardstick, n_dense, n_threads, settings),
            kernel="sum of an array",
            n=n_dense,
            n_threads=n_threads,
        )
        for name, n, measure in (
            ("all pairs", n_dense, all_pairs),
            ("listed pairs", n_listed, listed_pairs),
        ):
            for what in ("evaluate", "product"):
                names = {"kernel": f"{name}, {what}", "n": n, "n_threads": n_threads}
                results.add(partial(measure, n, what, n_threads, settings), **names)


def products(n: int, precision: str, n_threads: int, settings: Settings) -> Row:
    """GEMM of two square matrices; `n_threads` are those of BLAS."""
    A, B = np.random.default_rng(0).random((2, n, n)).astype(precision)
    out = np.empty_like(A)
    with threadpool_limits(n_threads, "blas"):
        row = timed(lambda: np.matmul(A, B, out=out), 3 * A.nbytes, settings)
    flops = 2 * n**3
    return {
        "status": "ok",
        "seconds": row["seconds"],
        "flops": flops,
        "flops_per_second": flops / row["seconds"],
    }


def yardstick(n: int, n_threads: int, settings: Settings) -> Row:
    array = np.ones(n * (n - 1) // 2)
    with team_of(n_threads) as team:
        return timed(
            lambda: team.in_parts(lambda first, stop: total(array, first, stop), array.size),
            array.nbytes,
            settings,
        )


def all_pairs(n: int, what: str, n_threads: int, settings: Settings) -> Row:
    """Passes over all pairs; the product with every pair active, as in a dense layer."""
    with team_of(n_threads) as team:
        edges = AllPairs(n, team.in_parts)
        costs = np.random.default_rng(0).random(edges.n_pairs)
        u = np.full(n, 0.3 if what == "evaluate" else 1.0)
        return timed(passes(edges, costs, u, what), costs.nbytes, settings)


def listed_pairs(n: int, what: str, n_threads: int, settings: Settings) -> Row:
    """Passes over about 50 entries a row, half of them active."""
    with team_of(n_threads) as team:
        edges = neighboring_pairs(n, team)
        costs = np.random.default_rng(0).random(edges.indices.size)
        u = np.full(n, 0.25)
        touched = edges.indices.size * (12 if what == "evaluate" else 4 / 2)
        return timed(passes(edges, costs, u, what), int(touched), settings)


def neighboring_pairs(n: int, team: Team) -> PairList:
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), 25)
    columns = (rows + random.integers(1, 1000, size=rows.size)) % n
    pattern = sparse.csr_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(n, n))
    return PairList(sparse.csr_array(pattern + pattern.T), team.in_parts)


def passes(
    edges: AllPairs | PairList, costs: np.ndarray, u: np.ndarray, what: str
) -> Callable[[], object]:
    if what == "evaluate":
        return lambda: edges.evaluate(u, costs)
    active = edges.active_pairs(u, costs, edges.evaluate(u, costs).counts)
    return lambda: active(u)


def timed(call: Callable[[], object], n_bytes: int, settings: Settings) -> Row:
    call()
    seconds = []
    for _ in range(max(3, settings.repeats)):
        began = perf_counter()
        call()
        seconds.append(perf_counter() - began)
    median = float(np.median(seconds))
    return {
        "status": "ok",
        "seconds": median,
        "bytes": n_bytes,
        "bytes_per_second": n_bytes / median,
    }


@njit(nogil=True, fastmath=True)
def total(array, first, stop):
    found = 0.0
    for value in array[first:stop]:
        found += value
    return found
