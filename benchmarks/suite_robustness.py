"""The effect of a noise view, outlying rows, repeated rows and empty rows; and fits of 60 rows."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks import few_rows
from benchmarks.datasets import LOADERS, Dataset, load
from benchmarks.judge import Settings
from benchmarks.labels import measure
from benchmarks.methods import find_methods
from benchmarks.prepared import keep
from benchmarks.results import Results

DATASETS = ("mfeat", "msrcv1_5v")
DRAWS = 3
QUICK_ROWS = 150


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("quality", only or ("rmgl_defaults", "sklearn_spectral"))
    for name in datasets or (("digits",) if quick else DATASETS):
        data = found(name, quick)
        if data is None:
            continue
        for change, make in CHANGES.items():
            for draw in range(1 if quick or make is plain else DRAWS):
                changed = make(data, np.random.default_rng(draw))
                for method in methods:
                    views = changed if method.raw else changed.scaled()
                    stored = keep(
                        results.path.parent,
                        f"{name}-{change}-{draw}{'-raw' if method.raw else ''}",
                        views,
                    )
                    results.add(
                        partial(measure, method, stored, settings),
                        dataset=name,
                        change=change,
                        draw=draw,
                        method=method.name,
                    )
    if not only:
        every = ("digits",) if quick else tuple(name for name in LOADERS if name != "digits")
        few = few_rows.wanted(datasets or every, quick)
        results.add_all(few_rows.measure, few, settings.n_threads)


def found(name: str, quick: bool) -> Dataset | None:
    try:
        return load(name, QUICK_ROWS if quick else None)
    except FileNotFoundError as error:
        print(f"{name} is left out: {error}")
        return None


def plain(data: Dataset, random: np.random.Generator) -> Dataset:
    return data


def noise_view(data: Dataset, random: np.random.Generator) -> Dataset:
    """An additional view with 50 columns of noise."""
    return changed(data, {**data.views, "noise": random.normal(size=(len(data.target), 50))})


def far_rows(data: Dataset, random: np.random.Generator) -> Dataset:
    """One row in a hundred is moved, in every view, by ten standard deviations of each column in a
    random direction.
    """
    rows = random.permutation(len(data.target))[: max(1, len(data.target) // 100)]
    return changed(data, {name: moved(X, rows, random) for name, X in data.views.items()})


def moved(X: NDArray, rows: NDArray, random: np.random.Generator) -> NDArray:
    X = X.copy()
    X[rows] += 10 * X.std(axis=0) * random.normal(size=(len(rows), X.shape[1]))
    return X


def repeated_rows(data: Dataset, random: np.random.Generator) -> Dataset:
    """One row in ten is repeated."""
    rows = np.concatenate(
        [
            np.arange(len(data.target)),
            random.permutation(len(data.target))[: len(data.target) // 10],
        ]
    )
    return Dataset(
        data.name, {name: X[rows] for name, X in data.views.items()}, data.target[rows], data.scale
    )


def empty_rows(data: Dataset, random: np.random.Generator) -> Dataset:
    """In every view, one row in five is set to zero."""
    return changed(
        data, {name: X * (random.uniform(size=(len(X), 1)) > 0.2) for name, X in data.views.items()}
    )


def changed(data: Dataset, views: dict[str, NDArray]) -> Dataset:
    return Dataset(data.name, views, data.target, data.scale)


CHANGES = {
    "plain": plain,
    "noise view": noise_view,
    "far rows": far_rows,
    "repeated rows": repeated_rows,
    "empty rows": empty_rows,
}
