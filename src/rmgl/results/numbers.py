"""Reliability of the range for the number of clusters.

For each level of confidence, `numbers.csv` contains how often the range included the number of
classes in public data sets. The file is created by `python -m benchmarks numbers`.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from rmgl.automatic.number_of_clusters import NumberOfClusters


def reason_of(number: NumberOfClusters) -> str:
    """Return the reason why a number was chosen, and how often ranges with the same confidence
    included the number of classes.
    """
    known = calibration().get(number.confidence)
    if number.silhouette is None or known is None:
        return number.reason
    inside, answers = known
    return (
        f"{number.reason}. On public data sets with known classes, {inside:.0%} of "
        f"the {answers} ranges with this confidence included the number of classes"
    )


@cache
def calibration() -> dict[str, tuple[float, int]]:
    """Return, for each level of confidence, the share of the ranges that included the number of
    classes, and the number of ranges.
    """
    text = files("rmgl.results").joinpath("numbers.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["confidence"]: (float(row["inside"]), int(row["answers"])) for row in rows}
