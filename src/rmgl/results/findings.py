"""Findings: the statements in a report as data. Text, pages, summaries, files and commands display
them.

To add a finding, add an entry to `SENTENCES` and the code that detects it: in `rmgl.results.notes`
for choices and measurements, in `rmgl.results.weak_points` for weak evidence, and in
`rmgl.results.trust` for the reasons for the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from rmgl.archive.records import record

MANY_NUMBERS = 4
"""Minimum length at which a list of numbers of clusters is shortened to its smallest and largest
number.
"""
Severity = Literal["note", "advice", "warning", "good", "fair", "poor"]
"""Choice or measurement ("note"), weak evidence ("advice", "warning"), or reason for a "good",
"fair" or "poor" verdict.
"""


@record
@dataclass(frozen=True)
class Finding:
    """One statement in a report.

    Examples
    --------
    >>> finding = Finding("view dominates", "poor", "rna", {"weight": 0.97})
    >>> finding.sentence
    "view 'rna' has 97% of the weight, so the other views hardly matter"
    """

    kind: str
    """Kind of finding, a key in `SENTENCES`."""
    severity: Severity
    subject: str = ""
    """Name of the view or layer concerned. Empty if the finding is about the whole result."""
    numbers: dict[str, float | list[int]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    """Other words in the sentence, such as names of rows or reasons."""

    @property
    def sentence(self) -> str:
        return SENTENCES[self.kind](subject=self.subject, **self.numbers, **self.words)

    def named(self, shown: Callable[[str], str]) -> Finding:
        """Return the finding with its subject renamed for display."""
        return replace(self, subject=shown(self.subject))


def sentences(findings: Iterable[Finding]) -> list[str]:
    """Return findings as sentences. Consecutive findings of a kind listed in `TOGETHER` share one
    sentence.

    Examples
    --------
    >>> odd = {"doubt": "it is odd"}
    >>> sentences([Finding("layer not exact", "warning", name, words=odd) for name in "ab"])
    ['layers are not known to be exact (a: it is odd; b: it is odd)']
    """
    said: list[str] = []
    for listing, several in groupby(findings, key=lambda finding: TOGETHER.get(finding.kind)):
        parts = [finding.sentence for finding in several]
        said += parts if listing is None else [listing[0].format(listing[1].join(parts))]
    return said


def written_out(clauses: Iterable[str]) -> str:
    """Write clauses as sentences, with capital letters and periods.

    Examples
    --------
    >>> written_out(["view 'a' is noise", "inspect it separately"])
    "View 'a' is noise. Inspect it separately."
    """
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)


def listed(names: Sequence[str], nothing: str = "none") -> str:
    """Join names with commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed([])
    ('a, b and c', 'none')
    """
    if len(names) < 2:
        return names[0] if names else nothing
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _count(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _scale(subject: str, scale: str, reason: str, missing: int, empty: int) -> str:
    without = ""
    if missing:
        without += f" {_count(missing, 'entity is', 'entities are')} missing from this view."
    if empty:
        without += f" {_count(empty, 'row of zeros is', 'rows of zeros are')} treated as missing."
    return f"Scale: {subject}: {scale} ({reason}).{without}"


def _missing_cells(subject: str, missing: int, cells: int, share: float, rows: int) -> str:
    where = _count(rows, "row", "rows")
    return (
        f"Missing cells: {subject}: {missing:,} of {cells:,} ({share:.1%}), in {where}; "
        "distances are computed from the columns observed in both rows and extrapolated to all "
        "columns."
    )


def _fragments(n: int, rows: str, subject: str = "") -> str:
    return (
        f"{_count(n, 'entity belongs', 'entities belong')} to fragments, small groups with hardly "
        "any edge weight to other entities. Fragments are left out of the embedding, and their "
        f"entities take the labels of their neighbors (fragments_, {rows})."
    )


def _placed(n: int, others: int, subject: str = "") -> str:
    without, later = ("it", "It was") if n == 1 else ("them", "They were")
    return (
        f"{_count(n, 'entity is', 'entities are')} missing from a view. Each view separates only "
        f"some of the clusters, so the model was learned without {without}, from the {others:,} "
        f"other entities. {later} placed afterwards, like new rows (placed_)."
    )


def _few_cells(subject: str, n: int, rows: str) -> str:
    return (
        f"view {subject!r}: {_count(n, 'row has', 'rows have')} values in fewer than a third of "
        f"the cells ({rows}), so little is known about {'its' if n == 1 else 'their'} neighbors"
    )


def _pairs_apart(subject: str, share: float) -> str:
    pairs = "less than 0.1%" if share < 0.001 else f"{share:.1%}"
    return (
        f"view {subject!r}: {pairs} of the pairs of rows have no column in common; their "
        "distance is set to the mean distance of the view"
    )


def _uncertain_number(chosen: int, others: list[int], subject: str = "") -> str:
    if not others:
        return "the number of clusters is uncertain"
    many = len(others) >= MANY_NUMBERS
    numbers = f"{min(others)} to {max(others)}" if many else listed([str(k) for k in others])
    fit = "fits" if len(others) == 1 else "fit"
    return f"the number of clusters is uncertain: {numbers} {fit} about as well as {chosen}"


def _small_cluster(size: int, subject: str = "") -> str:
    members = _count(size, "member", "members")
    return f"the smallest cluster has {members}; it may be a fragment or a group of outliers"


SENTENCES: dict[str, Callable[..., str]] = {
    # choices and measurements
    "scale": _scale,
    "column": "Column: {subject}: {column}.".format,
    "missing cells": _missing_cells,
    "alpha on local distances": (
        "alpha: chosen to give an average of {edges} edges per node."
    ).format,
    "alpha on plain distances": (
        "alpha: chosen to give an average of {edges} edges per node, with unscaled squared "
        "distances."
    ).format,
    "local distances": (
        "Distances: the squared distance between two entities is divided by the product "
        "of their distances to their 7th nearest neighbors."
    ).format,
    "given parameters": (
        "alpha, beta: set by you, or heuristic defaults (based on typical distances, with "
        "the same weak coupling for all views)."
    ).format,
    "consensus": "A consensus layer is learned from the concatenated views.".format,
    "consensus along networks": (
        "Networks have no rows of features. For the consensus, the rows of the other "
        "views are smoothed over the networks: {share:.0%} of each row comes from its "
        "neighbors."
    ).format,
    "no consensus of networks": "No consensus layer is learned: all views are networks.".format,
    "no consensus beside networks": (
        "No consensus layer is learned: besides networks, it needs at least one view "
        "with complete rows."
    ).format,
    "no consensus of few": (
        "No consensus layer is learned, because the entities share too few views."
    ).format,
    "no consensus of many": (
        "No consensus layer is learned, because some entities are missing from views and there "
        "are too many entities, or because the entities share too few views."
    ).format,
    "no consensus by rule": "No consensus layer is learned, because of the rule {rule!r}.".format,
    "weights by agreement": (
        "Weights: a view counts more if its columns agree with one another, and if its "
        "layer agrees with the embedding of {reference}. Roughness measures "
        "disagreement (0: neighbors agree, 1: they are unrelated)."
    ).format,
    "weights beyond chance": (
        "Weights: all views that agree with the others more than expected by chance have "
        "equal weights. If no view does, all views have equal weights. Roughness is measured "
        "on the embedding of the other views (0: neighbors agree, 1: they are unrelated)."
    ).format,
    "roughness of few": (
        "There are few entities, so roughness has an uncertainty of about {uncertainty:.2f}. "
        "The uncertainty was added to the roughness, which makes the weights more equal."
    ).format,
    "equal weights": "Weights: equal for all views.".format,
    "weights by rule": "Weights: set by the rule {rule}.".format,
    "costs of the consensus": (
        "Each view separates only some of the clusters, so {share:.2f} times the costs "
        "of the consensus were added to the costs of each view."
    ).format,
    "neighbor layer": (
        "The nearest-neighbor graph of the concatenated views is an additional layer of the "
        "common graph. Its weight is {share:.0%} of the total weight of all other layers."
    ).format,
    "fragments": _fragments,
    "placed": _placed,
    "layers exact": "exact solutions over all pairs, KKT residual {residual:.0e}".format,
    "layers exact on given pairs": (
        "exact solutions over all given pairs, KKT residual {residual:.0e}"
    ).format,
    "layers perhaps not exact": (
        "not known to be exact ({doubts}), KKT residual {residual:.0e}"
    ).format,
    "alternation converged": "the alternating optimization converged".format,
    "alternation stopped": "the alternating optimization did not converge".format,
    "evidence": (
        "Evidence in the common graph: relative eigengap of {gap:.2f} after eigenvalue "
        "{eigenvalue}; {within:.0%} of the edge weight inside clusters."
    ).format,
    "second answer of some": "{agreement:z.2f} with a fifth of the entities left out".format,
    "second answer without a view": "{agreement:z.2f} with the {subject!r} layer left out".format,
    "second answer of neighbors": "{agreement:z.2f} with only the nearest-neighbor graph".format,
    # weak evidence
    "fitted again": (
        "{n_rows:,} entities were refitted, and there are now {n_clusters} clusters; "
        "everything else in this report is about the first fit, and the reliability of the "
        "new clusters was not assessed"
    ).format,
    "view without clusters": (
        "view {subject!r} alone does not show these clusters: {inside:.0%} of the nearest "
        "neighbors in this view are in the same cluster, compared with the {chance:.0%} "
        "expected by chance"
    ).format,
    "columns unrelated": (
        "view {subject!r} has reduced weight: entities that are close in one half of its "
        "columns are not close in the other half (reliability {reliability:.2f}, compared "
        "with {best:.2f} for the best view), so clusters in it may merely reflect "
        "combinations of column values"
    ).format,
    "view disagrees": (
        "view {subject!r} disagrees with the others (roughness {roughness:.2f}, where 1 "
        "means unrelated) and has a weight of {weight:.1%}: it may be noise, or it may "
        "describe different clusters; inspect it separately"
    ).format,
    "view disagrees, in part": (
        "view {subject!r} disagrees with the others (roughness {roughness:.2f}, where 1 "
        "means unrelated) and has a weight of {weight:.1%}: it shows these clusters in part "
        "({inside:.0%} of the nearest neighbors in this view are in the same cluster, "
        "compared with the {chance:.0%} expected by chance), but noise can do that, too; "
        "inspect it separately"
    ).format,
    "edges missed": (
        "view {subject!r} has {edges:.1f} edges per node instead of {wanted}, because no "
        "alpha gives that many"
    ).format,
    "few cells": _few_cells,
    "pairs apart": _pairs_apart,
    "small cluster": _small_cluster,
    "not converged": "the alternating optimization did not converge".format,
    "layer not exact": "{subject}: {doubt}".format,
    "layers not exact": (
        "layers are not known to be exact (they are exact only over their candidate pairs)"
    ).format,
    "looks like a network": (
        "view {subject!r} looks like a network (square, symmetric, mostly zeros, no "
        "negative entries, zero diagonal), but its rows were compared as features; if it "
        "is a network, pass it as rmgl.Network(...), or as a list of edges with "
        "--network on the command line"
    ).format,
    "unconnected": (
        "{rows} not connected to any other entity in any layer and labeled arbitrarily; raise alpha"
    ).format,
    "number uncertain": _uncertain_number,
    # reasons for the verdict
    "evidence of clusters": (
        "refits that leave out a fifth of the entities match these clusters with an adjusted Rand "
        "index of {stability:.2f}. The separation of the clusters is {separation:.2f} "
        "(0: no better than in data without clusters, 1: complete). On public data sets "
        "with known classes, clusters with similar evidence match the classes with an adjusted "
        "Rand index between {least:.2f} and {most:.2f} (middle half of the results)"
    ).format,
    "stable, not compared": (
        "refits that leave out a fifth of the entities match these clusters with an adjusted Rand "
        "index of {stability:.2f}. A comparison with data without clusters "
        "was not possible"
    ).format,
    "view dominates": (
        "view {subject!r} has {weight:.0%} of the weight, so the other views hardly matter"
    ).format,
    "one cluster": "there is only one cluster, so there is nothing to compare".format,
    "clusters too small to resample": (
        "there are too few entities per cluster to test whether the clusters persist "
        "when some entities are left out"
    ).format,
    "not resampled": (
        "the clusters were not tested by refits without some of the entities or without one of "
        "the layers"
    ).format,
    "unlike neighbors": (
        "the nearest neighbors in the concatenated views alone give different clusters "
        "(agreement {agreement:z.2f})"
    ).format,
    "contested by a view": (
        "without the {subject!r} layer, the clusters are different (agreement {agreement:z.2f})"
    ).format,
    "few entities": (
        "there are only {n} entities, too few to support the automatic choices"
    ).format,
    "table": "{column} of view {subject!r}".format,
    # in reports from earlier versions
    "sentence": "{sentence}".format,
}
"""Sentence for each kind of finding: a function of the subject, the numbers and the words."""

_LAYERS = ("Layers: {}.", "; ")
_SECOND_ANSWERS = (
    "Agreement with quick refits (1: identical; a refit without one layer keeps all others): {}.",
    ", ",
)
TOGETHER: dict[str, tuple[str, str]] = {
    "layers exact": _LAYERS,
    "layers exact on given pairs": _LAYERS,
    "layers perhaps not exact": _LAYERS,
    "alternation converged": _LAYERS,
    "alternation stopped": _LAYERS,
    "second answer of some": _SECOND_ANSWERS,
    "second answer without a view": _SECOND_ANSWERS,
    "second answer of neighbors": _SECOND_ANSWERS,
    "layer not exact": ("layers are not known to be exact ({})", "; "),
    "table": ("the clusters are the cross-tabulation of {}, and add nothing to it", " x "),
}
"""Kinds of findings that share one sentence: the sentence, and the separator between findings."""
