"""Exact nearest neighbors: the search of this package beside scikit-learn's and faiss's, 30
neighbors.

The two views of the mixture; those of MNIST, pixels (784 columns) and histograms of oriented
gradients (324); and 100 000 rows of pixels: all of MNIST and 30 000 rows between two images of the
same digit. `--dataset` names a data set (mixture, mnist) or a view.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row

CASES = [
    *(("mixture", n, view) for n in (10_000, 30_000, 100_000) for view in ("left", "right")),
    ("mnist", 70_000, "pixels"),
    ("mnist", 70_000, "hog"),
    ("mnist", 100_000, "pixels"),
]
QUICK_CASES = [("mixture", 2000, "left"), ("mixture", 2000, "right")]
NEIGHBORS = 30
SAMPLED_NUMBERS = 1 << 31
"""How many numbers are read to check the answer of a search, and the rows that are checked at the
most.
"""
SAMPLE = 200


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("search", only)
    for name, n, view in QUICK_CASES if quick else CASES:
        data = (
            prepare(results.path.parent, name, n, view)
            if not datasets or {name, view} & set(datasets)
            else None
        )
        for method in methods if data is not None else ():
            if method.datasets is None or name in method.datasets:
                results.add(
                    partial(measure, method, data, settings), view=view, n=n, method=method.name
                )


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    verdict = judge(method, data.path, {"k": NEIGHBORS, "n_threads": settings.n_threads}, settings)
    if not verdict.ok:
        return verdict.row
    X = data.view()
    return {"dimension": X.shape[1], **verdict.row, "recall": recall(X, verdict.arrays["found"])}


def recall(X: NDArray, found: NDArray) -> float:
    """The share of found neighbors, of a sample of rows, that are no farther than the true last
    one.
    """
    rows = np.linspace(0, len(X) - 1, int(np.clip(SAMPLED_NUMBERS // X.size, 1, SAMPLE))).astype(
        int
    )
    shares = []
    for row in rows:
        distances = np.square(X - X[row]).sum(axis=1)
        distances[row] = np.inf
        last = np.partition(distances, NEIGHBORS - 1)[NEIGHBORS - 1]
        shares.append((distances[found[row]] <= last * (1 + 1e-6)).mean())
    return float(np.mean(shares))
