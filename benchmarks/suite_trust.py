"""Is the verdict calibrated? The evidence for answers, beside how well they agree with the classes:
public sets, some of their rows and classes, and clouds without clusters.
"""

import csv
import warnings
from collections.abc import Iterator
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import ROOT
from benchmarks.datasets import Dataset
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from benchmarks.suite_sensitivity import sets
from rmgl import RMGL
from rmgl.results.trust import Evidence

LEFT_OUT = ("mfeat",)
"""The digits once more."""
SIZES = (100, 300)
MOST_ROWS = 400
"""Sets with more rows are also taken in smaller sizes."""
EDGES = (0.0, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Strengths of evidence that answers are grouped by."""
CALIBRATION = ROOT / "src" / "rmgl" / "results" / "calibration.csv"
CLOUDS = ("normal", "two factors", "elongated", "uniform", "heavy tails", "skewed", "bits")
NUMBERS = (2, 3, 5, 8)


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    wanted = [item for item in answers() if not datasets or item[0] in datasets]
    wanted = [item for item in wanted if item[0] == "nutrimouse"] if quick else wanted
    rows = ({"dataset": name, "part": part, "seed": seed} for name, part, seed in wanted)
    results.add_all(measure, rows, settings.n_threads)
    if not quick:
        write_calibration(list(results.rows.values()))


def answers() -> Iterator[tuple[str, str, int]]:
    """Sets, the part of each that is clustered, and the seed of that part."""
    for name in sets():
        if name not in LEFT_OUT:
            yield name, "all", 0
            if not name.startswith(("generated", "network")):
                yield from ((name, f"{size} rows", seed) for size in SIZES for seed in (1, 2))
                yield from ((name, part, 1) for part in ("half of the classes", "two classes"))
    for cloud in CLOUDS:
        yield from ((f"cloud: {cloud}", f"{k} clusters", 0) for k in NUMBERS)


@cache
def loaded(name: str) -> Dataset:
    data = sets()[name]()
    return Dataset(name, data.views, np.unique(data.target, return_inverse=True)[1])


def part_of(name: str, part: str, seed: int) -> Dataset | None:
    """The data of an answer; None if the set is too small for such a part."""
    random = np.random.default_rng(seed)
    if name.startswith("cloud"):
        n_clusters = int(part.split()[0])
        views = cloud(name.removeprefix("cloud: "), random)
        return Dataset(name, views, random.integers(n_clusters, size=400))
    data = loaded(name)
    if part == "all":
        return data
    n, n_classes = data.target.size, data.n_clusters
    if part.endswith("rows"):
        rows = np.sort(random.permutation(n)[: int(part.split()[0])])
        return taken(data, rows) if n > MOST_ROWS else None
    if n_classes < 4:
        return None
    classes = random.permutation(n_classes)[: 2 if part == "two classes" else n_classes // 2]
    return taken(data, np.flatnonzero(np.isin(data.target, classes)))


def taken(data: Dataset, rows: np.ndarray) -> Dataset:
    return Dataset(data.name, {v: X[rows] for v, X in data.views.items()}, data.target[rows])


def cloud(kind: str, random: np.random.Generator) -> dict[str, Any]:
    """Two views of one cloud, which has no clusters."""
    drawn = {
        "normal": partial(random.normal, size=(400, 16)),
        "uniform": partial(random.uniform, size=(400, 5)),
        "heavy tails": partial(random.standard_t, 3, size=(400, 13)),
        "skewed": lambda: np.exp(random.normal(size=(400, 12))),
        "bits": lambda: random.integers(2, size=(400, 8)).astype(float),
        "elongated": lambda: random.normal(size=(400, 10)) * ([5.0] + [1.0] * 9),
        "two factors": lambda: (
            random.normal(size=(400, 2)) @ random.normal(size=(2, 16))
            + 0.3 * random.normal(size=(400, 16))
        ),
    }
    X = drawn[kind]()
    half = X.shape[1] // 2
    return {"left": X[:, :half], "right": X[:, half:]}


def measure(name: str, part: str, seed: int) -> Row:
    """The evidence for one answer, and how well it agrees with the classes."""
    try:
        data = part_of(name, part, seed)
    except FileNotFoundError as error:
        return {"status": f"skipped: {error}"}
    if data is None:
        return {"status": "skipped: the set is too small"}
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = RMGL(data.n_clusters, random_state=0, n_jobs=1).fit(data.views)
        except ValueError as error:  # a view may be constant on some of the rows
            return {"status": f"skipped: {error}"}
        fitted = perf_counter()
        report = model.report_
    refits, sizes = report.refits, np.bincount(model.labels_)
    return {
        "status": "ok",
        "seconds": fitted - began,
        "report_seconds": perf_counter() - fitted,
        "n": data.target.size,
        "n_clusters": data.n_clusters,
        "stability": None if refits is None else refits.resampled,
        "separation": None if refits is None else refits.separation,
        "strength": Evidence(data.target.size, sizes, {}, refits).strength,
        "trust": report.trust.word,
        "ari": adjusted_rand_score(data.target, model.labels_),
        "nmi": normalized_mutual_info_score(data.target, model.labels_),
    }


def write_calibration(rows: list[Row]) -> None:
    """The quartiles of the adjusted Rand index by strength, as the package has them.

    More evidence is worth more: where quartiles fall from one group of answers to the next, both
    get their mean (isotonic regression).
    """
    known = [row for row in rows if row["status"] == "ok" and row["strength"] is not None]
    known = [row for row in known if not row["dataset"].startswith("cloud")]
    place = np.digitize([row["strength"] for row in known], EDGES) - 1
    scores = np.array([row["ari"] for row in known])
    groups = {at: scores[place == at] for at in np.unique(place)}
    quartiles = np.array([np.quantile(group, [0.25, 0.5, 0.75]) for group in groups.values()])
    sizes = [group.size for group in groups.values()]
    rising = [
        IsotonicRegression().fit_transform(range(len(sizes)), column, sample_weight=sizes)
        for column in quartiles.T
    ]
    with CALIBRATION.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["strength", "lower", "median", "upper", "answers"])
        for at, numbers, size in zip(groups, np.transpose(rising).round(2), sizes, strict=True):
            writer.writerow([EDGES[at], *numbers, size])
