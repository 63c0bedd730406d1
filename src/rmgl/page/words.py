"""The verdict and the other sentences of the page."""

from __future__ import annotations

from collections.abc import Sequence

from rmgl.fitting.fitted import FittedModel
from rmgl.page.elements import shortened
from rmgl.results.findings import Finding, sentences, written_out
from rmgl.results.notes import choices as what_was_chosen
from rmgl.results.notes import measurements
from rmgl.results.own_neighbors import Share
from rmgl.results.report import Report
from rmgl.results.standing import DOUBTFUL

LONGEST_NAME_SHOWN = 40
"""Maximum length of a view name in tables and sentences."""
EQUAL = 0.005
"""Difference between shares above chance, below which they are shown as equal because their
percentages are the same.
"""
ADVICE = {
    "good": "These clusters look reliable",
    "fair": "Use these clusters with care",
    "poor": "Do not rely on these clusters",
}


def trust_word(report: Report) -> str:
    """Return the verdict in one word: good, fair, poor, or unknown for models from old versions."""
    return "unknown" if report.trust is None else report.trust.word


BRIEFLY = {
    "one cluster": "there is only one cluster",
    "clusters too small to resample": "there are too few entities per cluster",
    "not resampled": "the stability of the clusters was not tested",
    "table": "the clusters only repeat a few categorical columns",
}
"""Reasons for verdicts that are not based on numbers."""


def what_trust_rests_on(report: Report) -> str:
    """Return the reason for the verdict, to be shown on its tile.

    The strength is the stability times the square root of the separation. It determines the word.
    """
    if report.trust is None or not report.trust.findings:
        return "not assessed"
    first, refits = report.trust.findings[0].kind, report.refits
    if first in BRIEFLY or refits is None:
        return BRIEFLY.get(first, "see the reasons above")
    if refits.strength is None:
        return f"stability {refits.resampled:.2f} (1: identical); separation unknown"
    return (
        f"strength {refits.strength:.2f} (0: none, 1: complete): stability {refits.resampled:.2f} "
        f"times the square root of separation {refits.separation:.2f}"
    )


def verdict(model: FittedModel, report: Report, n_doubtful: int) -> list[str]:
    """Return two paragraphs: the verdict on the clusters with the reasons, and the result."""
    if report.trust is None:
        first = "The reliability of these clusters was not assessed."
    else:
        advice = ADVICE.get(report.trust.word, report.trust.word)
        first = written_out([advice, *said(report.trust.findings)])
    return [first, found(model, n_doubtful, [view.inside for view in report.views])]


def found(model: FittedModel, n_doubtful: int, inside: Sequence[Share | None] = ()) -> str:
    """Return the result in a few sentences. `inside` contains, for each view alone, the share of
    neighbors in the same cluster.
    """
    n, k = len(model.labels), model.n_clusters
    clauses = [f"the {n:,} entities form {plural(k, 'cluster')}"]
    if model.number is not None:
        clauses.append("this number was chosen automatically")
    if len(inside) > 1:
        clauses += most_important(model.view_names, inside)
    doubts = {0: "no assignments are doubtful", 1: "one assignment is doubtful"}.get(
        n_doubtful, f"{n_doubtful:,} assignments are doubtful"
    )
    return written_out([*clauses, doubts])


def one_line(name: str) -> str:
    """Return a name as displayed in tables and sentences."""
    return shortened(" ".join(name.split()) or name, LONGEST_NAME_SHOWN)


def ranked(inside: Sequence[Share | None]) -> list[int]:
    """Return the views whose own neighbors are known, ordered by how well they explain the
    clusters: the more their share of neighbors in the same cluster exceeds the share expected by
    chance, the better. A view that does not exceed chance explains nothing.
    """
    known = [view for view, share in enumerate(inside) if share is not None and share.leaves_room]
    return sorted(known, key=lambda view: -explained(inside[view]))


def explained(share: Share | None) -> float:
    """Return the share above chance that a view explains. 0 if it does not exceed chance."""
    return share.beyond_chance if share is not None and share.is_more else 0.0


def explain_alike(inside: Sequence[Share | None]) -> bool:
    """Return whether several views explain the clusters about equally well.

    Examples
    --------
    >>> shares = [Share(0.9, 0.2, 0.01), Share(0.901, 0.2, 0.01), Share(0.3, 0.2, 0.01)]
    >>> explain_alike(shares[:2]), explain_alike(shares), explain_alike(shares[:1])
    (True, False, False)
    """
    order = ranked(inside)
    if len(order) < 2:
        return False
    return explained(inside[order[0]]) - explained(inside[order[-1]]) < EQUAL


def most_important(names: Sequence[str], inside: Sequence[Share | None]) -> list[str]:
    """Return clauses about the views that explain the clusters best and least."""
    order = ranked(inside)
    if len(order) < 2:
        return []
    if explain_alike(inside):
        return ["all views explain the clusters equally well"]
    first, last = order[0], order[-1]
    best, least = inside[first], inside[last]
    assert best is not None
    assert least is not None
    return [
        f"view {one_line(names[first])} explains the clusters best: {percent(best.found)} of the "
        "nearest neighbors in this view are in the same cluster (by chance: "
        f"{percent(best.chance)})",
        f"view {one_line(names[last])} explains them least: {percent(least.found)} (by chance: "
        f"{percent(least.chance)})",
    ]


def own_share(share: Share | None) -> str:
    """Return the share of the neighbors in a view alone that are in the same cluster, in words."""
    assert share is not None
    return (
        f"{percent(share.found)} of the nearest neighbors in this view are in the same cluster, "
        f"compared with the {percent(share.chance)} expected by chance"
    )


def about_places(n_entities: int, n_clusters: int) -> str:
    """Return an explanation of the positions of the entities on the map."""
    if n_clusters <= 2 or n_entities < 10:
        return "The map shows the principal components of the embedding."
    return "Distances between distant groups mean little."


def about_confidence() -> str:
    """Return an explanation of confidence and of doubtful entities."""
    return (
        "Confidence compares the total weight of an entity's edges to its own cluster with the "
        "total weight of its edges to the other cluster that it is most strongly connected to. It "
        "is 100% if there is no other cluster, and 50% if the two totals are equal. "
        f"Assignments with a confidence below {percent(DOUBTFUL)} are flagged as "
        "doubtful."
    )


def about_agreement(by_chance: float) -> str:
    """Return an explanation of the agreement between views."""
    return (
        "Views agree: the share of views that suggest an entity's own cluster. A view suggests the "
        "most common cluster among the 12 nearest neighbors of the entity. The share expected by "
        f"chance is {percent(by_chance)}."
    )


def warnings_of(report: Report) -> list[str]:
    """Return the warnings of the report as sentences."""
    return [written_out([warning]) for warning in said(report.weak_points)]


def said(findings: Sequence[Finding]) -> list[str]:
    """Return findings in words, with view names as displayed on the page."""
    return sentences(finding.named(one_line) for finding in findings)


def choices(report: Report) -> list[str]:
    """Return sentences about choices and measurements, without the numbers in the tables on the
    page.
    """
    return sentences([*what_was_chosen(report, one_line), *measurements(report, one_line)])


def plural(count: int, word: str) -> str:
    """Return a number and a word, in the plural if needed.

    Examples
    --------
    >>> plural(1, "cluster"), plural(2000, "cluster")
    ('1 cluster', '2,000 clusters')
    """
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def percent(share: float) -> str:
    """Format a share as a whole percentage. NaN becomes "unknown".

    Examples
    --------
    >>> percent(0.513), percent(0.002), percent(float("nan"))
    ('51%', '<1%', 'unknown')
    """
    if share != share:
        return "unknown"
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
