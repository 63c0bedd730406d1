"""The verdict and the other sentences of the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.page.elements import shortened
from rmgl.results.findings import Finding, sentences
from rmgl.results.notes import choices as what_was_chosen
from rmgl.results.notes import measurements
from rmgl.results.report import Report
from rmgl.results.standing import DOUBTFUL

LONGEST_NAME_SHOWN = 40
"""Longest name of a view in tables and sentences."""
EQUAL = 0.005
"""Weights of views that differ by less are shown as equal: they have nearly the same percentage."""
ADVICE = {
    "good": "These clusters look reliable",
    "fair": "Use these clusters with care",
    "poor": "Do not rely on these clusters",
}


def trust_word(report: Report) -> str:
    """One word: good, fair, poor, or unknown for models of early versions."""
    return "unknown" if report.trust is None else report.trust.word


BRIEFLY = {
    "one cluster": "there is one cluster only",
    "clusters too small to resample": "there are too few entities for each cluster",
    "not resampled": "it was not examined whether the clusters stay",
    "table": "the clusters say no more than columns of categories do",
}
"""What a verdict rests on, where it does not rest on numbers."""


def what_trust_rests_on(report: Report) -> str:
    """What the word of the verdict rests on, for its tile.

    Strength is stability times the square root of separation; the word follows from it.
    """
    if report.trust is None or not report.trust.findings:
        return "not examined"
    first, refits = report.trust.findings[0].kind, report.refits
    if first in BRIEFLY or refits is None:
        return BRIEFLY.get(first, "see the reasons above")
    if refits.strength is None:
        return f"stability {refits.resampled:.2f} (1: the same); separation is not known"
    return (
        f"strength {refits.strength:.2f} (0 none, 1 complete): stability {refits.resampled:.2f} "
        f"times the square root of separation {refits.separation:.2f}"
    )


def verdict(model: FittedModel, report: Report, n_doubtful: int) -> list[str]:
    """Two sentences: how far the answer can be trusted and why, then what was found.

    Warnings come first: the reasons against the answer are part of the first sentence.
    """
    if report.trust is None:
        first = "How far these clusters can be trusted was not examined."
    else:
        first = (
            f"{ADVICE.get(report.trust.word, report.trust.word)}: "
            f"{'; '.join(said(report.trust.findings))}."
        )
    return [first, found(model, n_doubtful)]


def found(model: FittedModel, n_doubtful: int) -> str:
    """What was found, in one sentence."""
    n, k = len(model.labels), model.n_clusters
    chosen = "" if model.number is None else ", a number that was chosen from the data"
    counts = f"{n:,} entities form {plural(k, 'cluster')}{chosen}"
    if len(model.view_names) > 1:
        counts += f"; {most_important(model)}"
    doubts = {0: "no entity is doubtful", 1: "one entity is doubtful"}.get(
        n_doubtful, f"{n_doubtful:,} entities are doubtful"
    )
    return f"{counts}; {doubts}."


def one_line(name: str) -> str:
    """A name as it is shown in tables and sentences."""
    return shortened(" ".join(name.split()) or name, LONGEST_NAME_SHOWN)


def count_the_same(weights: NDArray[np.float64]) -> bool:
    """Whether there are several views, and none of them counts noticeably more than another.

    Examples
    --------
    >>> [count_the_same(np.array(shares)) for shares in ([0.501, 0.499], [0.97, 0.03], [1.0])]
    [True, False, False]
    """
    return weights.size > 1 and float(weights.max() - weights.min()) < EQUAL


def most_important(model: FittedModel) -> str:
    """The view that counts most, and the one that counts least."""
    weights = model.view_weights
    if count_the_same(weights):
        return "all views count the same"
    first, last = int(weights.argmax()), int(weights.argmin())
    names = [one_line(name) for name in model.view_names]
    return (
        f"view {names[first]} counts most ({percent(weights[first])}) and {names[last]} least "
        f"({percent(weights[last])})"
    )


def about_places(n_entities: int, n_clusters: int) -> str:
    """How the places of the entities in the picture were found."""
    if n_clusters <= 2 or n_entities < 10:
        return "Places are the principal components of the embedding."
    return (
        "Places are those of t-SNE, which keeps neighbors together; distances between far groups "
        "mean little."
    )


def about_confidence() -> str:
    """What confidence is, and which entities are doubtful."""
    return (
        "Confidence compares the edge weight of an entity to its own cluster with that to "
        "the strongest other cluster: 100\xa0% if there "
        f"is no other, 50\xa0% if both are equal. Entities below {percent(DOUBTFUL)} are "
        "called doubtful."
    )


def about_agreement(by_chance: float) -> str:
    """What it means that views agree."""
    return (
        "Views agree: the share of the views in which most of the 12 nearest neighbors of an "
        "entity, in the view alone, are in its "
        f"cluster; by chance {percent(by_chance)}."
    )


def warnings_of(report: Report) -> list[str]:
    """The warnings of the report as sentences."""
    return [f"{warning[:1].upper()}{warning[1:]}." for warning in said(report.weak_points)]


def said(findings: Sequence[Finding]) -> list[str]:
    """Findings in words, with the names of views as everywhere on the page."""
    return sentences(finding.named(one_line) for finding in findings)


def choices(report: Report) -> list[str]:
    """What was chosen and why, and what was measured, without the numbers that the page shows in
    tables.
    """
    return sentences([*what_was_chosen(report, one_line), *measurements(report, one_line)])


def plural(count: int, word: str) -> str:
    """A number and a word.

    Examples
    --------
    >>> plural(1, "cluster"), plural(2000, "cluster")
    ('1 cluster', '2,000 clusters')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def percent(share: float) -> str:
    r"""A share as a whole number of percent, "unknown" for NaN, and less than one percent as such;
    lines do not break inside it.

    Examples
    --------
    >>> percent(0.513), percent(0.002), percent(float("nan"))
    ('51\xa0%', '<\xa01\xa0%', 'unknown')
    """
    if share != share:
        return "unknown"
    return "<\xa01\xa0%" if 0 < share < 0.005 else f"{share:.0%}".replace("%", "\xa0%")


def listed(names: Sequence[str], nothing: str = "none") -> str:
    """Names with commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed([])
    ('a, b and c', 'none')
    """
    if len(names) < 2:
        return names[0] if names else nothing
    return f"{', '.join(names[:-1])} and {names[-1]}"
