"""How far an answer can be trusted, in one word with reasons.

Signs of a poor answer are those that went with answers far below a plain baseline on public data
sets (docs/quality.md); signs of a fair one are weaker forms of them. None of them uses classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.automatic.weighing import Weighing
from rmgl.results.clusters import MEMBERS, Refits
from rmgl.results.findings import Finding, sentences

FEW_ENTITIES = Weighing.few_entities

ALL_INSIDE = 0.995
FEW_SIZES = 0.3
"""Share of edge weight inside clusters, and entropy of their sizes as a share of the largest
possible: nearly all in one cluster, and fragments that keep their weight to themselves."""
MOST_WEIGHT = 0.8
"""Weight of one view beyond which the others hardly count."""
UNSTABLE, SHAKY = 0.6, 0.9
"""Agreement with the answers on four fifths of the entities below which an answer is poor, or fair.
"""
UNLIKE, DIFFERENT = 0.4, 0.65
"""Agreement with the answer of the plain neighbor layer below which an answer is poor, or fair."""
CONTESTED = 0.7
"""Agreement with the answer without one of the views below which an answer is fair."""
MANY_COMPONENTS = 0.05
"""Components of a layer, as a share of its entities, beyond which it tells only of close neighbors.
"""
HUB = 20.0
"""Degree of an entity in the common graph, in multiples of the mean, beyond which it is called a
hub.
"""


@record
@dataclass(frozen=True)
class Trust:
    """One word, "good", "fair" or "poor", and the reasons for it."""

    word: str
    findings: list[Finding]

    @property
    def reasons(self) -> list[str]:
        """The reasons as sentences."""
        return sentences(self.findings)

    def __str__(self) -> str:
        return f"{self.word}: " + "; ".join(self.reasons)


@dataclass(frozen=True)
class Evidence:
    """What is known about an answer."""

    n_entities: int
    sizes: NDArray[np.intp]
    """Sizes of the clusters."""
    within: float
    """The share of the common graph's edge weight that lies inside clusters."""
    weights: dict[str, float]
    """The weights of the views, by name."""
    components: dict[str, float]
    """The number of components of every layer that counts, as a share of its entities."""
    largest_degree: float
    """The largest degree in the common graph, in multiples of the mean."""
    refits: Refits | None


def judge(evidence: Evidence) -> Trust:
    """The verdict on an answer. The reasons for the worst word come first."""
    signs = [*of_clusters(evidence), *of_second_answers(evidence), *of_graph(evidence)]
    if not signs:
        return Trust("good", [Finding("stable", "good")])
    signs.sort(key=lambda sign: sign.severity != "poor")  # equals stay in their order
    return Trust(signs[0].severity, signs)


def of_clusters(evidence: Evidence) -> Iterator[Finding]:
    """Signs in the sizes of the clusters and the weights of the views."""
    if (
        evidence.sizes.size > 1
        and evidence.within >= ALL_INSIDE
        and entropy(evidence.sizes) < FEW_SIZES
    ):
        yield Finding("one large cluster", "poor")
    for name, weight in evidence.weights.items():
        if weight > MOST_WEIGHT and len(evidence.weights) > 1:
            yield Finding("view dominates", "poor", name, {"weight": weight})


def of_second_answers(evidence: Evidence) -> Iterator[Finding]:
    """Signs in the agreement of second answers with the first."""
    refits = evidence.refits
    if refits is None:
        if evidence.n_entities < FEW_ENTITIES:
            yield Finding("too few to resample", "poor")
        elif evidence.n_entities < MEMBERS * evidence.sizes.size:
            yield Finding("clusters too small to resample", "poor")
        else:
            yield Finding("not resampled", "fair")
        return
    if refits.resampled < SHAKY:
        yield Finding(
            "unstable",
            "poor" if refits.resampled < UNSTABLE else "fair",
            numbers={"agreement": refits.resampled},
        )
    plain = refits.neighbors_only
    if plain is not None and plain < DIFFERENT:
        yield Finding(
            "unlike neighbors", "poor" if plain < UNLIKE else "fair", numbers={"agreement": plain}
        )
    for name, agreement in refits.without.items():
        if agreement < CONTESTED:
            yield Finding("contested by a view", "fair", name, {"agreement": agreement})


def of_graph(evidence: Evidence) -> Iterator[Finding]:
    """Signs in the number of entities and the graph of them."""
    if evidence.n_entities < FEW_ENTITIES:
        yield Finding("few entities", "fair", numbers={"n": evidence.n_entities})
    for name, share in evidence.components.items():
        if share > MANY_COMPONENTS:
            yield Finding("many components", "fair", name, {"share": share})
    if evidence.largest_degree > HUB:
        yield Finding("hub", "fair", numbers={"degree": evidence.largest_degree})


def doubted(trust: Trust, reasons: list[Finding]) -> Trust:
    """A verdict with more reasons for the worst word."""
    return Trust("poor", [*reasons, *([] if trust.word == "good" else trust.findings)])


def entropy(sizes: NDArray[np.intp]) -> float:
    """The entropy of the sizes, as a share of that of equal ones."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(-(shares @ np.log(shares)) / np.log(max(2, sizes.size)))
