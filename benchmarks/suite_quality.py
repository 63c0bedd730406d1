"""How good the labels are at every method's defaults: all labeled data sets, ten seeds, nothing
tuned.

Methods get the views scaled to [0, 1] (word counts: rows of length one), except those that scale
views themselves.
"""

from functools import partial

import numpy as np

from benchmarks.datasets import LOADERS
from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row
from benchmarks.scores import score_labels

THE_DIGITS_AGAIN = "digits"
LEFT_OUT = ("rmgl_paper", "rmgl_sparse")  # parameters for one data set
QUICK_ROWS = 150


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    known = [*find_methods("fit"), *find_methods("fit", ("sc_ged",)), *find_methods("quality")]
    methods = [
        method
        for method in known
        if (
            method.name in only
            if only
            else method.name not in LEFT_OUT and (method.quick or not quick)
        )
    ]
    for method in methods:
        for name in datasets or (
            ["digits"] if quick else [name for name in LOADERS if name != THE_DIGITS_AGAIN]
        ):
            data = prepare(results.path.parent, name, QUICK_ROWS if quick else None, raw=method.raw)
            if data is not None:
                results.add(
                    partial(measure, method, data, settings), dataset=data.name, method=method.name
                )


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    """Scores are means over the seeds there was time for."""
    target, n_clusters = data.target, data.n_clusters
    arguments = {"n_clusters": n_clusters, "seed": 0, "n_threads": settings.n_threads}
    verdict = judge(method, data.path, arguments, settings, seeds=list(range(settings.repeats)))
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
