"""Small studies: 60 rows of every data set, drawn at random from at most six of its classes, 20
times; smaller data sets are used as is.
"""

import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.datasets import Dataset, load
from benchmarks.methods.shared.spectral import of_spreads
from benchmarks.results import Row
from benchmarks.scores import score_labels
from benchmarks.tables import done, table
from rmgl import RMGL

CHANGE = "60 rows"
N_ROWS = 60
MOST_CLASSES = 6
DRAWS = 20
LOSS = 0.05
"""Difference from the baseline that counts as a loss."""
METHODS = ("rmgl_defaults", "sklearn_spectral")


def wanted(names: Iterable[str], quick: bool) -> Iterator[Row]:
    for name in names:
        for draw in range(1 if quick else DRAWS):
            for method in METHODS:
                yield {"dataset": name, "change": CHANGE, "draw": draw, "method": method}


@cache
def loaded(name: str) -> Dataset:
    return load(name)


def some_rows(data: Dataset, draw: int) -> Dataset | None:
    """A draw, without the views that are constant on it; None if it would repeat the first draw."""
    n, random = len(data.target), np.random.default_rng(draw)
    rows = np.arange(n)
    if n > N_ROWS:
        classes = random.permutation(np.unique(data.target))[:MOST_CLASSES]
        rows = np.flatnonzero(np.isin(data.target, classes))
        rows = np.sort(random.permutation(rows)[:N_ROWS])
    elif draw > 0:
        return None
    views = {name: X[rows] for name, X in data.views.items() if np.ptp(X[rows], axis=0).any()}
    return Dataset(data.name, views, data.target[rows], data.scale)


def measure(name: str, change: str, draw: int, method: str) -> Row:
    try:
        data = some_rows(loaded(name), draw)
    except FileNotFoundError as error:
        return {"status": f"skipped: {error}"}
    if data is None:
        return {"status": "skipped: the data set has no more rows"}
    views = data.views if method == METHODS[0] else data.scaled().views
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == METHODS[0]:
            labels = RMGL(data.n_clusters, random_state=0, n_jobs=1).fit(views).labels_
        else:
            labels = of_spreads(list(views.values()), data.n_clusters, 0, 1)
    return {
        "status": "ok",
        "seconds": perf_counter() - began,
        "n": len(data.target),
        "n_clusters": data.n_clusters,
        **score_labels(data.target, labels),
    }


def by_set(rows: list[Row]) -> dict[str, list[np.ndarray]]:
    """NMI of RMGL and of spectral clustering in every draw, by data set."""
    score = {
        (row["dataset"], row["draw"], row["method"]): row["nmi"]
        for row in rows
        if done(row) and row["change"] == CHANGE
    }
    draws: dict[str, list[int]] = {}
    for name, draw, method in score:
        if method == METHODS[0]:
            draws.setdefault(name, []).append(draw)
    return {
        name: [np.array([score[name, draw, m] for draw in own]) for m in METHODS]
        for name, own in draws.items()
    }


def section(rows: list[Row], output: Path) -> Iterable[str]:
    found = by_set(rows)
    datasets = list(found)
    if not datasets:
        return
    yield "## Small studies"
    yield (
        f"For each data set, {N_ROWS} rows are drawn at random from at most {MOST_CLASSES} of its "
        "classes (smaller data sets are used as is). The table shows the mean NMI over "
        "draws, the difference from spectral clustering of the concatenated views, the standard "
        "deviation of this difference, and the share of draws in which RMGL is worse by more than "
        f"{LOSS}."
    )
    lines, apart = [], []
    for name, (ours, theirs) in found.items():
        apart.append(ours - theirs)
        means = (f"{values.mean():.3f}" for values in (theirs, ours))
        lines.append([name, len(ours), *means, *spread(apart[-1])])
    of_sets = np.array([values.mean() for values in apart])
    losses = np.mean([np.mean(values < -LOSS) for values in apart])
    last = [f"{of_sets.mean():+.3f}", f"{of_sets.std():.3f}", f"{losses:.0%}"]
    lines.append(["mean over sets", "", "", "", *last])
    yield table(["data set", "draws", *METHODS[::-1], "difference", "spread", "losses"], lines)
    worst = int(of_sets.argmin())
    yield f"The worst mean difference on any data set is {of_sets[worst]:+.3f} ({datasets[worst]})."


def spread(values: np.ndarray) -> list[str]:
    return [f"{values.mean():+.3f}", f"{values.std():.3f}", f"{np.mean(values < -LOSS):.0%}"]
