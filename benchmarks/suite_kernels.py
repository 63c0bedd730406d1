"""The machine's rates, which determine the brute-force times: products of two square matrices
(GEMM) and a compiled sum over a long array.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl.running.threads import team_of

PRECISIONS = ("float32", "float64")


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    n_dense, width = (1000, 500) if quick else (20_000, 3000)
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


def products(n: int, precision: str, n_threads: int, settings: Settings) -> Row:
    """GEMM of two square matrices; BLAS uses `n_threads` threads."""
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
