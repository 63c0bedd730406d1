"""Views with missing cells: compare RMGL's distances with filling the cells first and with
dropping columns.

A share of the cells in every view is removed at random. RMGL gets the views as they are (`rmgl`),
filled by scikit-learn's `SimpleImputer` (`mean`) or `KNNImputer` (`knn`, five neighbors), or
without the columns that contain missing cells (`drop`).
"""

from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import KNNImputer, SimpleImputer

from benchmarks.datasets import Dataset, load
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.metrics import normalized_mutual_info_score

Arrays = dict[str, NDArray]
DATASETS = ("digits", "msrcv1_5v", "snareseq", "aloi10", "prokaryotic", "orl_4v")
DRAWS = 3
SHARES = (0.1, 0.3)
QUICK_ROWS = 200


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    for name in datasets or (("digits",) if quick else DATASETS):
        try:
            data = load(name, QUICK_ROWS if quick else None)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        results.add(
            partial(score, data, data.views, whole, settings),
            dataset=name,
            share=0.0,
            draw=0,
            method="complete",
        )
        for share in SHARES[1:] if quick else SHARES:
            for draw in range(1 if quick else DRAWS):
                holed = remove_cells(data.views, share, draw)
                for method, fill in METHODS.items():
                    if not only or method in only:
                        results.add(
                            partial(score, data, holed, fill, settings),
                            dataset=name,
                            share=share,
                            draw=draw,
                            method=method,
                        )


def remove_cells(views: Arrays, share: float, draw: int) -> Arrays:
    """The views without a share of their cells; every row keeps at least one cell of each view."""
    random = np.random.default_rng(draw)
    holed = {}
    for name, X in views.items():
        gaps = random.random(X.shape) < share
        gaps[np.arange(len(X)), random.integers(X.shape[1], size=len(X))] = False
        holed[name] = np.where(gaps, np.nan, X)
    return holed


def score(data: Dataset, views: Arrays, fill, settings: Settings) -> Row:
    began = perf_counter()
    filled = fill(views)
    if not filled:
        return {"status": "skipped: no columns remain"}
    filled_after = perf_counter() - began
    labels = RMGL(data.n_clusters, random_state=0, n_jobs=settings.n_threads).fit_predict(filled)
    seconds = perf_counter() - began
    nmi = normalized_mutual_info_score(data.target, labels)
    return {
        "status": "ok",
        "n": len(data.target),
        "seconds": seconds,
        "fill_seconds": filled_after,
        "nmi": nmi,
    }


def whole(views: Arrays) -> Arrays:
    return views


def by_mean(views: Arrays) -> Arrays:
    return {
        name: SimpleImputer(keep_empty_features=True).fit_transform(X) for name, X in views.items()
    }


def by_neighbors(views: Arrays) -> Arrays:
    return {
        name: KNNImputer(keep_empty_features=True).fit_transform(X) for name, X in views.items()
    }


def drop_columns(views: Arrays) -> Arrays:
    kept = {name: X[:, ~np.isnan(X).any(axis=0)] for name, X in views.items()}
    return {name: X for name, X in kept.items() if X.shape[1]}


METHODS = {"rmgl": whole, "mean": by_mean, "knn": by_neighbors, "drop": drop_columns}
