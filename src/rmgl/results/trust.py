"""The verdict on a clustering: one word, the quality of comparable results, and notes.

    strength = stability * sqrt(separation)

Stability is the agreement with the clusters found on four fifths of the entities. Separation
measures how much better the clusters are separated than the parts of one cloud
(`rmgl.results.one_cloud`). The word depends on the strength alone. If the separation is unknown,
stable clusters are rated fair. For each strength, `calibration.csv` contains the quality of results
on public data sets with known classes; the file is created by `python -m benchmarks trust`. All
other concerns are notes and do not change the word. The only exception is clusters that are a
cross-tabulation of categories, which are always rated poor (`rmgl.results.tables`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.automatic.policy import Policy
from rmgl.results.clusters import MEMBERS, Refits
from rmgl.results.findings import Finding, Severity, sentences, written_out


@record
@dataclass(frozen=True)
class Trust:
    """Verdict on a clustering: "good", "fair" or "poor", with the reasons.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> trust = RMGL(2, random_state=0).fit(views).report_.trust
    >>> trust.word, len(trust.reasons) > 0
    ('poor', True)
    """

    word: str
    findings: list[Finding]

    @property
    def reasons(self) -> list[str]:
        """Reasons, as clauses without a capital or a period."""
        return sentences(self.findings)

    def __str__(self) -> str:
        return f"{self.word}. {written_out(self.reasons)}"


@dataclass(frozen=True)
class Evidence:
    """Evidence about a clustering."""

    n_entities: int
    sizes: NDArray[np.intp]
    """Sizes of the clusters."""
    weights: dict[str, float]
    """Weights of the views, by name."""
    refits: Refits | None

    @property
    def strength(self) -> float | None:
        """Strength of the evidence. None if there is nothing to compare the clusters with."""
        return None if self.refits is None else self.refits.strength


def judge(evidence: Evidence, numbers: Policy | None = None) -> Trust:
    """Return the verdict on a clustering, with its main reason first and notes after it."""
    numbers = numbers or Policy()
    first = examined(evidence, numbers)
    return Trust(first.severity, [first, *notes(evidence, numbers)])


def examined(evidence: Evidence, numbers: Policy) -> Finding:
    """Return the word and the reason for it."""
    refits, strength = evidence.refits, evidence.strength
    if refits is None:
        if evidence.sizes.size < 2:
            return Finding("one cluster", "poor")
        if evidence.n_entities < MEMBERS * evidence.sizes.size:
            return Finding("clusters too small to resample", "poor")
        return Finding("not resampled", "fair")
    stable: dict[str, float | list[int]] = {"stability": refits.resampled}
    if strength is None:
        word: Severity = "fair" if refits.resampled >= numbers.good_evidence else "poor"
        return Finding("stable, not compared", word, numbers=stable)
    word = "poor" if strength < numbers.fair_evidence else "fair"
    word = "good" if strength >= numbers.good_evidence else word
    least, most = worth(strength)
    separation = refits.separation or 0.0
    known = stable | {"separation": separation, "least": least, "most": most}
    return Finding("evidence of clusters", word, numbers=known)


def notes(evidence: Evidence, numbers: Policy) -> Iterator[Finding]:
    """Return findings about possible problems."""
    for name, weight in evidence.weights.items():
        if weight > numbers.dominant_weight and len(evidence.weights) > 1:
            yield Finding("view dominates", "advice", name, {"weight": weight})
    refits = evidence.refits
    if refits is None:
        return
    plain = refits.neighbors_only
    if plain is not None and plain < numbers.same_answer:
        yield Finding("unlike neighbors", "advice", numbers={"agreement": plain})
    for name, agreement in refits.without.items():
        if agreement < numbers.same_answer:
            yield Finding("contested by a view", "advice", name, {"agreement": agreement})
    if evidence.n_entities < numbers.few_entities:
        yield Finding("few entities", "advice", numbers={"n": evidence.n_entities})


@cache
def calibration() -> list[tuple[float, float, float]]:
    """Return levels of evidence, each with the lower and upper quartiles of the adjusted Rand
    index of the results.

    Each row applies to results from its strength up to the strength of the next row.
    """
    text = files("rmgl.results").joinpath("calibration.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return [(float(row["strength"]), float(row["lower"]), float(row["upper"])) for row in rows]


def worth(strength: float) -> tuple[float, float]:
    """Return the two adjusted Rand indices between which the middle half of the results with
    evidence of this strength lies.
    """
    rows = [row for row in calibration() if row[0] <= strength]
    return rows[-1][1:]
