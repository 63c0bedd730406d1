"""Run one method on one data set, and score its labels."""

from benchmarks.judge import Settings, judge
from benchmarks.methods import Method
from benchmarks.prepared import Prepared
from benchmarks.results import Row
from benchmarks.scores import score_labels

SEED = 0


def measure(method: Method, data: Prepared, settings: Settings) -> Row:
    """Time, memory and scores of one method that is told the number of classes."""
    target, n_clusters = data.target, data.n_clusters
    arguments = {"n_clusters": n_clusters, "seed": SEED, "n_threads": settings.n_threads}
    verdict = judge(method, data.path, arguments, settings)
    scores = score_labels(target, verdict.arrays["labels"]) if verdict.ok else {}
    return {"n": len(target), "n_clusters": n_clusters, **verdict.row, **scores}
