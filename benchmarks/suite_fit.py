"""Whole fits: every method on the digits and on every labeled data set of the data folder."""

from functools import partial

from benchmarks.datasets import LOADERS
from benchmarks.judge import Settings, judge
from benchmarks.methods import Method, find_methods
from benchmarks.prepared import Prepared, prepare
from benchmarks.results import Results, Row
from benchmarks.scores import score_labels

THE_DIGITS_AGAIN = "mfeat"
QUICK_ROWS = 300
SEED = 0


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    methods = find_methods("fit", only, quick)
    for name in datasets or (
        ["digits"] if quick else [name for name in LOADERS if name != THE_DIGITS_AGAIN]
    ):
        for method in methods:
            data = prepare(results.path.parent, name, QUICK_ROWS if quick else None, raw=method.raw)
            if data is not None and (method.datasets is None or name in method.datasets):
                results.add(
                    partial(measure, method, data, settings), dataset=data.name, method=method.name
                )


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    target, n_clusters = data.target, data.n_clusters
    arguments = {"n_clusters": n_clusters, "seed": SEED, "n_threads": settings.n_threads}
    verdict = judge(method, data.path, arguments, settings)
    scores = score_labels(target, verdict.arrays["labels"]) if verdict.ok else {}
    return {"n": len(target), "n_clusters": n_clusters, **verdict.row, **scores}
