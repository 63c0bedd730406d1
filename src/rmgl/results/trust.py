"""How far an answer can be trusted, in one word with reasons.

Signs of a poor answer are those that went with answers far below a plain baseline on public data sets (docs/quality.md); signs of a fair
one are weaker forms of them. None of them uses classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.automatic.weighing import FEW_ENTITIES
from rmgl.results.refits import Refits

ALL_INSIDE = 0.995
FEW_SIZES = 0.3
"""Share of edge weight inside clusters, and entropy of their sizes as a share of the largest possible: nearly all in one cluster, and
fragments that keep their weight to themselves."""
MOST_WEIGHT = 0.8
"""Weight of one view beyond which the others hardly count."""
UNSTABLE, SHAKY = 0.6, 0.9
"""Agreement with the answers on four fifths of the entities below which an answer is poor, or fair."""
UNLIKE, DIFFERENT = 0.4, 0.65
"""Agreement with the answer of the plain neighbor layer below which an answer is poor, or fair."""
CONTESTED = 0.7
"""Agreement with the answer without one of the views below which an answer is fair."""
MANY_COMPONENTS = 0.05
"""Components of a layer, as a share of its entities, beyond which it tells only of close neighbors."""
HUB = 20.0
"""Degree of an entity in the common graph, in multiples of the mean, beyond which it is called a hub."""


@record
@dataclass(frozen=True)
class Trust:
    """One word, "good", "fair" or "poor", and the reasons for it."""

    word: str
    reasons: list[str]

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
    poor: list[str] = []
    fair: list[str] = []
    if evidence.sizes.size > 1 and evidence.within >= ALL_INSIDE and entropy(evidence.sizes) < FEW_SIZES:
        poor.append("nearly all entities are in one cluster, and the others are small groups that keep their links to themselves")
    for name, weight in evidence.weights.items():
        if weight > MOST_WEIGHT and len(evidence.weights) > 1:
            poor.append(f"view {name!r} has {weight:.0%} of the weight, so the other views hardly count")
    refits = evidence.refits
    if refits is None and evidence.n_entities < FEW_ENTITIES:
        poor.append("there are too few entities to leave some out and look whether the clusters stay")
    elif refits is None:
        fair.append("it was not examined whether the clusters stay when entities, or the layers of views, are left out")
    if refits is not None:
        if refits.resampled < SHAKY:
            said = f"the clusters change when a fifth of the entities is left out (agreement {refits.resampled:.2f})"
            (poor if refits.resampled < UNSTABLE else fair).append(said)
        plain = refits.neighbors_only
        if plain is not None and plain < DIFFERENT:
            said = f"the nearest neighbors of all views side by side alone give other clusters (agreement {plain:.2f})"
            (poor if plain < UNLIKE else fair).append(said)
        for name, agreement in refits.without.items():
            if agreement < CONTESTED:
                fair.append(f"without the layer of view {name!r} the clusters are different (agreement {agreement:.2f})")
    if evidence.n_entities < FEW_ENTITIES:
        fair.append(f"there are only {evidence.n_entities} entities, too few for choices to be supported by data")
    for name, share in evidence.components.items():
        if share > MANY_COMPONENTS:
            fair.append(f"layer {name!r} falls into many components ({share:.0%} of its entities)")
    if evidence.largest_degree > HUB:
        fair.append(f"one entity has {evidence.largest_degree:.0f} times the mean edge weight: it is a hub that connects clusters")
    if poor:
        return Trust("poor", [*poor, *fair])
    if fair:
        return Trust("fair", fair)
    return Trust("good", ["the clusters stay when entities, or the layers of views, are left out"])


def doubted(trust: Trust, reason: str) -> Trust:
    """A verdict with one more reason for the worst word."""
    return Trust("poor", [reason, *([] if trust.word == "good" else trust.reasons)])


def entropy(sizes: NDArray[np.intp]) -> float:
    """The entropy of the sizes, as a share of that of equal ones."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(-(shares @ np.log(shares)) / np.log(max(2, sizes.size)))
