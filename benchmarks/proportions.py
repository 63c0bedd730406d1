"""Seconds of RMGL in proportion to those of spectral clustering of the concatenated views, for every data set that has both."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.results import Row
from benchmarks.tables import done, number, table

OURS, THEIRS = "rmgl_defaults", "sklearn_spectral_table"


@dataclass(frozen=True)
class Proportion:
    """Both methods on one data set: medians of the seconds, and the scores, of several processes."""

    dataset: str
    n: int
    n_clusters: int
    processes: int
    seconds: float
    their_seconds: float
    nmi: float
    their_nmi: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.their_seconds

    def __str__(self) -> str:
        return (
            f"{self.dataset}: {number(self.seconds)} s / {number(self.their_seconds)} s = {self.ratio:.2f}, "
            f"NMI {self.nmi:.3f} and {self.their_nmi:.3f}"
        )


def compare(rows: Iterable[Row]) -> list[Proportion]:
    """The data sets on which both methods have ended, in the order of the rows."""
    finished = [row for row in rows if done(row)]
    found = []
    for dataset in dict.fromkeys(row["dataset"] for row in finished):
        ours, theirs = ([row for row in finished if (row["dataset"], row["method"]) == (dataset, method)] for method in (OURS, THEIRS))
        if ours and theirs:
            medians = (float(np.median([row[field] for row in of_one])) for field in ("seconds", "nmi") for of_one in (ours, theirs))
            found.append(Proportion(dataset, ours[0]["n"], ours[0]["n_clusters"], min(len(ours), len(theirs)), *medians))
    return found


def summary(found: list[Proportion]) -> str:
    """One sentence: the median and the worst ratio."""
    if not found:
        return "No data set has times of both methods."
    worst = max(found, key=lambda one: one.ratio)
    median = float(np.median([one.ratio for one in found]))
    sets = "one data set" if len(found) == 1 else f"{len(found)} data sets"
    return f"RMGL takes {median:.2f} times as long in the median over {sets}, and {worst.ratio:.2f} times at worst ({worst.dataset})."


def section(rows: list[Row], output: Path) -> Iterable[str]:
    found = compare(rows)
    yield "## Proportion"
    yield (
        "Seconds of `RMGL(n_clusters=K, random_state=0, n_jobs=1).fit(views)` and of its `report_`, whose second answers are further "
        "spectral clusterings, beside those of scikit-learn's "
        '`SpectralClustering(n_clusters=K, affinity="nearest_neighbors", random_state=0)` on one table of all views, which is scaled as '
        "RMGL scales them before the clock starts. One thread; medians of one call in each of several fresh processes, in which the two "
        "methods take turns."
    )
    yield f"**{summary(found)}**"
    lines = []
    for one in sorted(found, key=lambda one: one.ratio):
        times = [number(one.seconds), number(one.their_seconds), f"{one.ratio:.2f}"]
        lines.append([one.dataset, one.n, one.n_clusters, *times, f"{one.nmi:.3f}", f"{one.their_nmi:.3f}", one.processes])
    head = ["data set", "rows", "clusters", "RMGL, s", "spectral clustering, s", "ratio", "NMI", "NMI of spectral clustering"]
    yield table([*head, "processes each"], lines)
    failures = [f"- {row['method']} on {row['dataset']}: {row['status']}" for row in rows if not done(row)]
    if failures:
        yield "What did not run:\n\n" + "\n".join(failures)
