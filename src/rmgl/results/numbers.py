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
    share = shares_inside().get(number.confidence)
    if number.silhouette is None or share is None:
        return number.reason
    return (
        f"{number.reason}; in public data sets with known classes, the number of classes was in "
        f"{share:.0%} of such ranges"
    )


@cache
def shares_inside() -> dict[str, float]:
    """How often the number of classes was in the range, for each word of confidence."""
    text = files("rmgl.results").joinpath("numbers.csv").read_text(encoding="utf-8")
    return {row["confidence"]: float(row["inside"]) for row in csv.DictReader(text.splitlines())}
