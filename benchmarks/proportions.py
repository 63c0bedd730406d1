"""The time of RMGL relative to spectral clustering of the concatenated views, for every data set
that has results for both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.limits import Limit, Rates
from benchmarks.results import Row
from benchmarks.tables import done, failures, number, table

OURS, THEIRS = "rmgl_defaults", "sklearn_spectral_table"


@dataclass(frozen=True)
class Proportion:
    """Both methods on one data set: median times and scores over several processes."""

    ours: list[Row]
    theirs: list[Row]

    @property
    def dataset(self) -> str:
        return str(self.ours[0]["dataset"])

    @property
    def processes(self) -> int:
        return min(len(self.ours), len(self.theirs))

    @property
    def seconds(self) -> float:
        return median(row["seconds"] for row in self.ours)

    @property
    def their_seconds(self) -> float:
        return median(row["seconds"] for row in self.theirs)

    @property
    def ratio(self) -> float:
        return self.seconds / self.their_seconds

    @property
    def nmi(self) -> float:
        return median(row["nmi"] for row in self.ours)

    @property
    def their_nmi(self) -> float:
        return median(row["nmi"] for row in self.theirs)

    def fact(self, name: str) -> float:
        """The median of a number in RMGL's rows."""
        return median(row["extra"][name] for row in self.ours)

    @property
    def report_seconds(self) -> float:
        return median(row["extra"]["later"]["report"] for row in self.ours)

    def limit(self, rates: Rates) -> Limit:
        return rates.for_products(self.ours[0]["least_flops"])

    def __str__(self) -> str:
        return (
            f"{self.dataset}: {number(self.seconds)} s / {number(self.their_seconds)} s = "
            f"{self.ratio:.2f}, "
            f"NMI {self.nmi:.3f} and {self.their_nmi:.3f}"
        )


def median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def compare(rows: Iterable[Row], ours: str = OURS, theirs: str = THEIRS) -> list[Proportion]:
    """The data sets on which both methods finished, in the order of the rows."""
    finished = [row for row in rows if done(row)]
    found = []
    for dataset in dict.fromkeys(row["dataset"] for row in finished):
        both = [
            [row for row in finished if (row["dataset"], row["method"]) == (dataset, method)]
            for method in (ours, theirs)
        ]
        if all(both):
            found.append(Proportion(*both))
    return found


def summary(found: list[Proportion]) -> str:
    """One sentence: the median and the worst ratio."""
    if not found:
        return "No data set has times for both methods."
    worst = max(found, key=lambda one: one.ratio)
    sets = "one data set" if len(found) == 1 else f"{len(found)} data sets"
    middle = median(one.ratio for one in found)
    return (
        f"RMGL takes {middle:.2f} times as long as spectral clustering (median over {sets}), and "
        f"{worst.ratio:.2f} times as long at worst ({worst.dataset})."
    )


def section(rows: list[Row], output: Path, rates: Rates) -> Iterable[str]:
    found = compare(rows)
    yield "## Time compared with spectral clustering"
    yield (
        "The table shows the time, in seconds, needed to compute the labels with one thread: "
        "`RMGL(n_clusters=K, random_state=0, n_jobs=1).fit_predict(views)`, compared with "
        'scikit-learn\'s `SpectralClustering(n_clusters=K, affinity="nearest_neighbors", '
        "random_state=0).fit_predict(table)` on one table that contains all views. Before the "
        "timing starts, this table is scaled the same way RMGL scales the views. *Report* is "
        "the time taken by the first access to `report_`, which refits the model several times. "
        "Each time is the median over several fresh processes with one call each; the two methods "
        "take turns. *Passes* is the number of passes over the candidate edges in the final solve, "
        "summed over all layers. *Rounds* is the number of times that RMGL alternates between "
        "layers and embedding. *Brute force* is the time needed to compute the products of all "
        "pairs of rows in every view, at the speed of single-precision matrix multiplication "
        "(GEMM) with one thread."
    )
    yield f"**{summary(found)}**"
    yield table(HEAD, [line(one, rates) for one in sorted(found, key=lambda one: one.ratio)])
    yield from failures(row for row in rows if row["method"] in (OURS, THEIRS))


HEAD = [
    "data set",
    "rows",
    "clusters",
    "labels, s",
    "spectral clustering, s",
    "ratio",
    "report, s",
    "with report",
    "NMI",
    "NMI of spectral clustering",
    "passes",
    "rounds",
    "brute force, s",
    "brute force / labels",
    "processes each",
]


def line(one: Proportion, rates: Rates) -> list[object]:
    limit, first = one.limit(rates), one.ours[0]
    with_report = (one.seconds + one.report_seconds) / one.their_seconds
    return [
        one.dataset,
        first["n"],
        first["n_clusters"],
        number(one.seconds),
        number(one.their_seconds),
        f"{one.ratio:.2f}",
        number(one.report_seconds),
        f"{with_report:.2f}",
        f"{one.nmi:.3f}",
        f"{one.their_nmi:.3f}",
        f"{one.fact('n_passes'):.0f}",
        f"{one.fact('n_iter'):.0f}",
        number(limit.seconds),
        limit.share(one.seconds),
        one.processes,
    ]
