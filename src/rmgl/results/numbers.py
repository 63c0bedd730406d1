"""What a range of numbers of clusters is worth.

`numbers.csv` says how often the number of classes of public data sets was in the range, by the
confidence of the choice; `python -m benchmarks numbers` makes it.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from rmgl.automatic.number_of_clusters import NumberOfClusters


def reason_of(number: NumberOfClusters) -> str:
    """Why a number was chosen, and how often ranges like its own held the number of classes."""
    known = calibration().get(number.confidence)
    if number.silhouette is None or known is None:
        return number.reason
    inside, answers = known
    return (
        f"{number.reason}; in public data sets with known classes, the number of classes was in "
        f"{inside:.0%} of {answers} such ranges"
    )


@cache
def calibration() -> dict[str, tuple[float, int]]:
    """For each word of confidence, the share of the ranges that held the number of classes, and the
    number of ranges.
    """
    text = files("rmgl.results").joinpath("numbers.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["confidence"]: (float(row["inside"]), int(row["answers"])) for row in rows}
