"""Exact nearest neighbors: the search of this package beside scikit-learn's and faiss's. The two views of the mixture, 30 neighbors."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row

SIZES, QUICK_SIZES = (10_000, 30_000, 100_000), (2000,)
NEIGHBORS = 30
SAMPLE = 200


def run(results: Results, settings: Settings, quick: bool = False, only: tuple[str, ...] = (), datasets: tuple[str, ...] = ()) -> None:
    methods = find_methods("search", only)
    for n in QUICK_SIZES if quick else SIZES:
        for view in datasets or ("left", "right"):
            data = prepare(results.path.parent, "mixture", n, view)
            for method in methods:
                results.add(partial(measure, method, data, settings), view=view, n=n, method=method.name)


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    verdict = judge(method, data.path, {"k": NEIGHBORS, "n_threads": settings.n_threads}, settings)
    if not verdict.ok:
        return verdict.row
    X = data.view()
    return {"dimension": X.shape[1], **verdict.row, "recall": recall(X, verdict.arrays["found"])}


def recall(X: NDArray, found: NDArray) -> float:
    """The share of found neighbors, of a sample of rows, that are no farther than the true last one."""
    rows = np.linspace(0, len(X) - 1, SAMPLE).astype(int)
    shares = []
    for row in rows:
        distances = np.square(X - X[row]).sum(axis=1)
        distances[row] = np.inf
        last = np.partition(distances, NEIGHBORS - 1)[NEIGHBORS - 1]
        shares.append((distances[found[row]] <= last * (1 + 1e-6)).mean())
    return float(np.mean(shares))
