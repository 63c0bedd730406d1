"""Exact nearest neighbors: compare the search of this package, with one thread and with all
threads, with the searches of scikit-learn and faiss for 30 neighbors.

The data are 100,000 rows with 16, 32, 128 and 784 dense columns: the two views of the mixture; 128
columns of Gaussian noise, in which no row can be ruled out early; and pixels, that is, all of MNIST
and 30,000 rows interpolated between two images of the same digit. The last data set is 20,000
documents as sparse word counts. `--dataset` names a data set (mixture, noise, mnist, documents) or
a view.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.documents import documents
from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, keep, prepare
from benchmarks.results import Results, Row

CASES = [
    ("mixture", 100_000, "left"),
    ("mixture", 100_000, "right"),
    ("noise", 100_000, "columns"),
    ("mnist", 100_000, "pixels"),
    ("documents", 20_000, "first"),
]
QUICK_CASES = [("mixture", 2000, "left"), ("mixture", 2000, "right"), ("documents", 500, "first")]
NEIGHBORS = 30
SAMPLED_NUMBERS = 1 << 31
"""How many numbers are read to check the result of a search."""
SAMPLE = 200
"""Maximum number of rows that are checked."""


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("search", only)
    for name, n, view in QUICK_CASES if quick else CASES:
        wanted = not datasets or {name, view} & set(datasets)
        data = found(results.path.parent, name, n, view) if wanted else None
        for method in methods if data is not None else ():
            if method.datasets is None or name in method.datasets:
                results.add(
                    partial(measure, method, data, settings), view=view, n=n, method=method.name
                )


def found(folder: Path, name: str, n: int, view: str) -> Prepared | None:
    """One view of a data set, as a file."""
    if name != "documents":
        return prepare(folder, name, n, view)
    data = documents(n)
    return keep(folder, f"{name}-{n}-{view}", replace(data, views={view: data.views[view]}))


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    verdict = judge(method, data.path, {"k": NEIGHBORS, "n_threads": settings.n_threads}, settings)
    if not verdict.ok:
        return verdict.row
    X = data.view()
    return {"dimension": X.shape[1], **verdict.row, "recall": recall(X, verdict.arrays["found"])}


def recall(X: Any, found: NDArray) -> float:
    """The share of found neighbors, for a sample of rows, that are no farther away than the true
    last neighbor.
    """
    rows = np.linspace(0, X.shape[0] - 1, SAMPLE if sparse.issparse(X) else n_checked(X)).astype(
        int
    )
    shares = []
    for row in rows:
        distances = squared_distances(X, row)
        distances[row] = np.inf
        last = np.partition(distances, NEIGHBORS - 1)[NEIGHBORS - 1]
        shares.append((distances[found[row]] <= last * (1 + 1e-6)).mean())
    return float(np.mean(shares))


def n_checked(X: NDArray) -> int:
    return int(np.clip(SAMPLED_NUMBERS // X.size, 1, SAMPLE))


def squared_distances(X: Any, row: int) -> NDArray:
    """Squared distances from one row to all rows, which may be sparse."""
    if not sparse.issparse(X):
        return np.square(X - X[row]).sum(axis=1)
    own = X[[row]]
    products = (X @ own.T).toarray().ravel()
    return X.power(2).sum(axis=1) - 2 * products + own.power(2).sum()
