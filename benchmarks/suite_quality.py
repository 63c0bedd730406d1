"""The quality of the labels with every method's defaults: all labeled data sets, up to three seeds,
nothing tuned.

RMGL and the methods that cluster the concatenated views run on all data sets, other packages on the
ten in `COMPARED`, and RMGL without one of its ingredients on small data sets. Methods get the views
scaled to [0, 1] (word counts: rows scaled to length one), except for methods that scale views
themselves.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.datasets import FIRST_FILES, LOADERS
from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row
from benchmarks.scores import score_labels

THE_DIGITS_AGAIN = "digits"
COMPARED = ("coil20", *FIRST_FILES)
EVERYWHERE = (
    "rmgl_defaults",
    "sklearn_spectral",
    "sklearn_spectral_our_scaling",
    "kmeans_concatenation",
)
QUICK_ROWS = 150


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("quality", only, quick)
    every = ["digits"] if quick else [name for name in LOADERS if name != THE_DIGITS_AGAIN]
    for method in methods:
        for name in datasets or every:
            if not (quick or datasets or name in places(method)):
                continue
            data = prepare(results.path.parent, name, QUICK_ROWS if quick else None, raw=method.raw)
            if data is not None:
                results.add(
                    partial(measure, method, data, settings), dataset=data.name, method=method.name
                )


def places(method: Method) -> Collection[str]:
    """The data sets that a method runs on."""
    return method.datasets or (LOADERS if method.name in EVERYWHERE else COMPARED)


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    """Mean scores over as many seeds as there was time for."""
    target, n_clusters = data.target, data.n_clusters
    arguments = {"n_clusters": n_clusters, "seed": 0, "n_threads": settings.n_threads}
    n_seeds = settings.repeats if method.name in EVERYWHERE else 1
    chosen = replace(settings, repeats=n_seeds)
    verdict = judge(method, data.path, arguments, chosen, seeds=list(range(n_seeds)))
    row: Row = {
        "n": len(target),
        "n_clusters": n_clusters,
        "ablation": method.ablation,
        **verdict.row,
    }
    if verdict.ok:
        scores = [score_labels(target, labels) for labels in verdict.arrays["labels"]]
        row |= {name: float(np.mean([score[name] for score in scores])) for name in scores[0]}
        row |= {
            "nmi_std": float(np.std([score["nmi"] for score in scores])),
            "n_seeds": len(scores),
        }
    return row
