"""The benefit of known labels: ten per class in three draws, compared with fits without them.

NMI and accuracy are computed on the entities with unknown labels. In a class with fewer than
twenty members, half of the labels are known.
"""

from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import Dataset, load
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.metrics import clustering_accuracy, normalized_mutual_info_score

DATASETS = ("digits", "msrcv1_5v", "3sources", "ngs")
DRAWS = 3
PER_CLASS = 10
QUICK_ROWS = 300


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
        labels: dict[str, np.ndarray] = {}  # without known labels; shared by all draws
        for draw in range(1 if quick else DRAWS):
            results.add(partial(measure, data, draw, labels, settings), dataset=name, draw=draw)


def known_labels(target: np.ndarray, draw: int, per_class: int = PER_CLASS) -> np.ndarray:
    """The classes of some entities of each class, drawn at random, and -1 for all others."""
    random = np.random.default_rng(draw)
    known = np.full(target.size, -1)
    for number, label in enumerate(np.unique(target)):
        members = random.permutation(np.flatnonzero(target == label))
        known[members[: min(per_class, members.size // 2)]] = number
    return known


def measure(data: Dataset, draw: int, labels: dict[str, np.ndarray], settings: Settings) -> Row:
    known = known_labels(data.target, draw)
    rest = known < 0
    target = np.unique(data.target, return_inverse=True)[1]
    model = RMGL(data.n_clusters, random_state=0, n_jobs=settings.n_threads)
    if "without" not in labels:
        labels["without"] = model.fit_predict(data.views)
    without = labels["without"]
    began = perf_counter()
    found = model.fit(data.views, known).labels_
    return {
        "status": "ok",
        "seconds": perf_counter() - began,
        "n_known": int((~rest).sum()),
        "nmi": normalized_mutual_info_score(target[rest], found[rest]),
        "nmi_without": normalized_mutual_info_score(target[rest], without[rest]),
        "accuracy": float((found[rest] == target[rest]).mean()),
        "accuracy_without": clustering_accuracy(target[rest], without[rest]),
    }
