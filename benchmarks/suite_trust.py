"""Is the verdict calibrated? Compare the evidence for clusterings with how well they agree with the
classes: public data sets, subsets of their rows and classes, and clouds without clusters.
"""

import csv
import warnings
from time import perf_counter

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import ROOT, answers
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL
from rmgl.results.trust import Evidence

EDGES = (0.0, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Strengths of the evidence that separate groups of clusterings."""
CALIBRATION = ROOT / "src" / "rmgl" / "results" / "calibration.csv"


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    answers.run(measure, results, settings, quick, datasets)


def measure(name: str, part: str, seed: int) -> Row:
    """The evidence for one clustering, and how well the clustering agrees with the classes."""
    try:
        data = answers.part_of(name, part, seed)
    except FileNotFoundError as error:
        return {"status": f"skipped: {error}"}
    if data is None:
        return {"status": "skipped: the data set is too small"}
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
    """Write the quartiles of the adjusted Rand index by strength, which ship with the package.

    Stronger evidence must not have lower quartiles: if a quartile falls from one group to the next,
    both groups get their mean (isotonic regression).
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
