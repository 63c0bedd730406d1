"""What a report says, as data: text, page, summaries, files and commands render findings, and
nobody reads sentences.

A new finding is one entry in `SENTENCES`, and the code that finds it: in `rmgl.results.notes` what
was chosen and measured, in `rmgl.results.weak_points` where the evidence is weak, in
`rmgl.results.trust` why an answer can be trusted or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from rmgl.archive.records import record

MANY_NUMBERS = 4
"""Numbers of clusters of which the first and the last are named."""
Severity = Literal["note", "advice", "warning", "good", "fair", "poor"]
"""What was chosen or measured; weak evidence; or a reason for the word of the verdict."""


@record
@dataclass(frozen=True)
class Finding:
    """One thing that a report says.

    Examples
    --------
    >>> finding = Finding("view dominates", "poor", "rna", {"weight": 0.97})
    >>> finding.sentence
    "view 'rna' has 97% of the weight, so the other views hardly count"
    """

    kind: str
    """What was found: a key of `SENTENCES`."""
    severity: Severity
    subject: str = ""
    """The name of the view or layer that it is about (empty: of the whole answer)."""
    numbers: dict[str, float | list[int]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    """Other names and reasons that the sentence holds, such as those of rows."""

    @property
    def sentence(self) -> str:
        return SENTENCES[self.kind](subject=self.subject, **self.numbers, **self.words)

    def named(self, shown: Callable[[str], str]) -> Finding:
        """The finding with the name of its subject as it is to be shown."""
        return replace(self, subject=shown(self.subject))


def sentences(findings: Iterable[Finding]) -> list[str]:
    """Findings as sentences: one for each of them, or for all that follow each other and are listed
    `TOGETHER`.

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


def _scale(subject: str, scale: str, reason: str, missing: int, empty: int) -> str:
    without = f" {missing} entities are missing from this view." if missing else ""
    without += f" {empty} rows of zeros are treated as missing." if empty else ""
    return f"Scale: {subject}: {scale} ({reason}).{without}"


def _few_cells(subject: str, n: int, rows: str) -> str:
    count = "one row has" if n == 1 else f"{n:,} rows have"
    return (
        f"view {subject!r}: {count} fewer than a third of the cells ({rows} among them), so "
        "little is known about the neighbors"
    )


def _pairs_apart(subject: str, share: float) -> str:
    pairs = "less than 0.1%" if share < 0.001 else f"{share:.1%}"
    return (
        f"view {subject!r}: {pairs} of the pairs of rows have no column in common: they get the "
        "mean distance of the view"
    )


def _uncertain_number(chosen: int, others: list[int], subject: str = "") -> str:
    if not others:
        return "the number of clusters is uncertain"
    listed = f"{others}" if len(others) < MANY_NUMBERS else f"{min(others)} to {max(others)}"
    return f"the number of clusters is uncertain: {listed} do about as well as {chosen}"


SENTENCES: dict[str, Callable[..., str]] = {
    # what was chosen, and what was measured
    "scale": _scale,
    "column": "Column: {subject}: {column}.".format,
    "missing cells": (
        "Missing: {subject}: {missing:,} of {cells:,} cells ({share:.1%}) are missing, in "
        "{rows:,} rows; distances are taken from the "
        "columns that two rows share, and scaled up."
    ).format,
    "alpha on local distances": (
        "alpha: solved for {edges} edges a node on average, on squared distances in units of "
        "the distances to the 7th neighbors."
    ).format,
    "alpha on plain distances": (
        "alpha: solved for {edges} edges a node on average, on squared distances as they are."
    ).format,
    "given parameters": (
        "alpha, beta: set by you, or heuristic defaults (typical distances; a weak coupling, "
        "the same for all views)."
    ).format,
    "consensus": "A consensus layer is learned from all views side by side.".format,
    "consensus along networks": (
        "Networks have no rows: for the consensus, those of the other views are smoothed "
        "along the networks, a share of {share:.2f} being "
        "that of the neighbors."
    ).format,
    "no consensus of networks": "No consensus layer is learned: all views are networks.".format,
    "no consensus beside networks": (
        "No consensus layer is learned: one view with complete rows, or more, is needed "
        "beside networks."
    ).format,
    "no consensus of few": (
        "No consensus layer is learned: entities have too few views in common, or are too many."
    ).format,
    "no consensus by rule": "No consensus layer is learned, by the rule {rule!r}.".format,
    "weights by agreement": (
        "Weights: the better the columns of a view agree with one another, and its layer with "
        "the embedding of {reference}, the more it counts "
        "(roughness 0: neighbors agree, 1: they are unrelated)."
    ).format,
    "weights beyond chance": (
        "Weights: views that agree with the others beyond chance count alike, and so do all views "
        "where none does "
        "(roughness on the embedding of the others: 0: neighbors agree, 1: they are unrelated)."
    ).format,
    "roughness of few": (
        "Entities are few: roughness is known to about {uncertainty:.2f}, which was added to "
        "it, so that weights are nearer to equal."
    ).format,
    "equal weights": "Weights: the same for all views.".format,
    "weights by rule": "Weights: by the rule {rule}.".format,
    "costs of the consensus": (
        "Each view separates only some of the clusters: the layers of the views were learned "
        "with {share:.2f} times the costs of the "
        "consensus added to their own."
    ).format,
    "neighbor layer": (
        "The graph of the nearest neighbors of all views side by side is one more layer of "
        "the common graph, with {share:.0%} of the "
        "weight of the others."
    ).format,
    "fragments": (
        "{n} entities form fragments, small groups that keep their edge weight to "
        "themselves: they take no part in the embedding and have "
        "the labels of their neighbors (fragments_; {rows} among them)."
    ).format,
    "placed": (
        "{n} entities are missing from a view. Each view separates only some of the "
        "clusters, so the model was learned on the {others} "
        "others, and these were placed as new ones are (placed_)."
    ).format,
    "layers exact": "the exact solutions over all pairs, KKT residual {residual:.0e}".format,
    "layers exact on given pairs": (
        "the exact solutions over all given pairs, KKT residual {residual:.0e}"
    ).format,
    "layers perhaps not exact": (
        "not known to be exact ({doubts}), KKT residual {residual:.0e}"
    ).format,
    "alternation converged": "alternation converged".format,
    "alternation stopped": "alternation not converged".format,
    "evidence": (
        "Evidence in the common graph: relative gap after eigenvalue {eigenvalue}: "
        "{gap:.2f}; edge weight inside clusters: {within:.0%}."
    ).format,
    "second answer of some": "on four fifths of the entities {agreement:.2f}".format,
    "second answer without a view": "without the layer of {subject} {agreement:.2f}".format,
    "second answer of neighbors": "from plain neighbors alone {agreement:.2f}".format,
    # where the evidence is weak
    "fitted again": (
        "{n_rows:,} entities were fitted again, and there are {n_clusters} clusters now: what else "
        "is said is about the first fit, and how far these can be trusted was not examined"
    ).format,
    "view without clusters": (
        "view {subject!r} alone does not have these clusters: {inside:.0%} of its nearest "
        "neighbors are in the same cluster, and "
        "{chance:.0%} would be by chance"
    ).format,
    "columns unrelated": (
        "view {subject!r} counts for less: what is near in one half of its columns is not near in "
        "the other half (reliability {reliability:.2f}, in the best view {best:.2f}), so that it "
        "has no clusters but those of crossing its columns"
    ).format,
    "view disagrees": (
        "view {subject!r} does not agree with the others (roughness {roughness:.2f}, 1 is "
        "unrelated) and counts for {weight:.1%}: it may "
        "be noise, or it may describe different clusters; inspect it separately"
    ).format,
    "view disagrees, in part": (
        "view {subject!r} does not agree with the others (roughness {roughness:.2f}, 1 is "
        "unrelated) and counts for {weight:.1%}: it has "
        "a part in these clusters ({inside:.0%} of its own nearest neighbors are in the same "
        "cluster, and {chance:.0%} would be by "
        "chance), which noise can have, too; inspect it separately"
    ).format,
    "edges missed": (
        "view {subject!r} has {edges:.1f} edges a node, not {wanted}: no alpha gives as many"
    ).format,
    "few cells": _few_cells,
    "pairs apart": _pairs_apart,
    "small cluster": (
        "the smallest cluster has {size} member(s): it may be a fragment, or a group of outliers"
    ).format,
    "not converged": "the alternation did not converge".format,
    "layer not exact": "{subject}: {doubt}".format,
    "layers not exact": "layers are not known to be exact (among their candidates only)".format,
    "looks like a network": (
        "view {subject!r} looks like a network (square, symmetric, mostly zeros, no negative "
        "entry, nothing on the diagonal), but its rows "
        "were compared as features: if it is one, give it as rmgl.Network(...), or as a list "
        "of edges with --network on the command line"
    ).format,
    "unconnected": (
        "{rows} not connected to any other entity in any layer, so the label is arbitrary; raise "
        "alpha"
    ).format,
    "number uncertain": _uncertain_number,
    # why an answer can be trusted or not
    "evidence of clusters": (
        "the clusters found again with a fifth of the entities left out agree with these to "
        "{stability:.2f}, and their separation beyond that of one cloud is {separation:.2f} (0 "
        "none, 1 complete); in public data sets with known classes, half of the answers with such "
        "evidence had an adjusted Rand index of {least:.2f} to {most:.2f}"
    ).format,
    "stable, not compared": (
        "the clusters found again with a fifth of the entities left out agree with these to "
        "{stability:.2f}; they could not be compared with data without clusters"
    ).format,
    "view dominates": (
        "view {subject!r} has {weight:.0%} of the weight, so the other views hardly count"
    ).format,
    "one cluster": "there is one cluster only, so there is nothing to compare".format,
    "clusters too small to resample": (
        "there are too few entities for each cluster to leave some out and look whether the "
        "clusters stay"
    ).format,
    "not resampled": (
        "it was not examined whether the clusters stay when entities, or the layers of views, "
        "are left out"
    ).format,
    "unlike neighbors": (
        "the nearest neighbors of all views side by side alone give other clusters "
        "(agreement {agreement:.2f})"
    ).format,
    "contested by a view": (
        "without the layer of view {subject!r} the clusters are different (agreement "
        "{agreement:.2f})"
    ).format,
    "few entities": (
        "there are only {n} entities, too few to support the automatic choices"
    ).format,
    "table": "{column} of view {subject!r}".format,
    # of reports of earlier versions
    "sentence": "{sentence}".format,
}
"""For every kind of finding its sentence: a function of the subject, the numbers and the words."""

_LAYERS = ("Layers: {}.", "; ")
_SECOND_ANSWERS = ("Second answers (agreement with the first, 1 the same): {}.", ", ")
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
    "table": ("the clusters are the table of {}, and say no more than it does", " x "),
}
"""Kinds of findings that share one sentence: the sentence, and what stands between them."""
