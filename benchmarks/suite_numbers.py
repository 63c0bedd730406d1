"""Is the range for the number of clusters calibrated? Compare the number that n_clusters="auto"
chooses, and its range, with the number of classes: public data sets, subsets of their rows and
classes, and clouds without clusters.
"""

import csv
import warnings
from collections.abc import Iterable
from time import perf_counter

import numpy as np

from benchmarks import ROOT, answers
from benchmarks.judge import Settings
from benchmarks.results import Results, Row
from rmgl import RMGL

CALIBRATION = ROOT / "src" / "rmgl" / "results" / "numbers.csv"
MEMBERS = 6
"""Data sets with fewer rows per class are skipped."""
SLOW_PARTS = ("citeseer",)
WORDS = ("high", "low")


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    answers.run(measure, results, settings, quick, datasets)


def measure(name: str, part: str, seed: int) -> Row:
    """The number chosen for one data set, and its range."""
    is_cloud = name.startswith("cloud")
    if name in SLOW_PARTS and part != "all":
        return {"status": "skipped: a part takes minutes"}
    if is_cloud and part != "2 clusters":
        return {"status": "skipped: each cloud is used only once"}
    try:
        data = answers.part_of(name, part, seed)
    except FileNotFoundError as error:
        return {"status": f"skipped: {error}"}
    if data is None or MEMBERS * data.n_clusters > data.target.size:
        return {"status": "skipped: the data set is too small"}
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            number = RMGL("auto", random_state=0, n_jobs=1).fit(data.views).number_
        except ValueError as error:  # a view may be constant on some of the rows
            return {"status": f"skipped: {error}"}
    (chosen,) = (row for row in number.table if row["n_clusters"] == number.chosen)
    return {
        "status": "ok",
        "seconds": perf_counter() - began,
        "n": data.target.size,
        "n_clusters": 1 if is_cloud else data.n_clusters,
        "chosen": number.chosen,
        "range": list(number.range),
        "confidence": number.confidence,
        **{name: chosen[name] for name in ("modularity", "silhouette", "stability", "eigengap")},
    }


def is_inside(row: Row) -> bool:
    """Whether the number of classes is in the range."""
    least, most = row["range"]
    return bool(least <= row["n_clusters"] <= most)


def is_near(row: Row) -> bool:
    """Whether the chosen number is within one, or within a fifth, of the number of classes."""
    return abs(row["chosen"] - row["n_clusters"]) <= max(1.0, 0.2 * row["n_clusters"])


def is_exact(row: Row) -> bool:
    """Whether the chosen number is the number of classes."""
    return bool(row["chosen"] == row["n_clusters"])


def public(rows: Iterable[Row]) -> list[Row]:
    """The rows for public data sets, without generated data sets and clouds."""
    made = ("cloud", "generated")
    return [row for row in rows if row["status"] == "ok" and not row["dataset"].startswith(made)]


def write_calibration(rows: list[Row]) -> None:
    """Write the table that ships with the package: how often the range was right, by confidence."""
    with CALIBRATION.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["confidence", "inside", "near", "exact", "answers"])
        for word in WORDS:
            own = [row for row in public(rows) if row["confidence"] == word]
            if own:
                shares = [np.mean([f(row) for row in own]) for f in (is_inside, is_near, is_exact)]
                writer.writerow([word, *np.round(shares, 2), len(own)])
