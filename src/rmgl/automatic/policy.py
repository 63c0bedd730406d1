"""`Policy`: the parameters and rules for choosing alpha, the weights of the views, beta and K."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rmgl.archive.records import record
from rmgl.automatic.consensus import CONSENSUS_RULES, Agreement
from rmgl.automatic.number_of_clusters import NUMBER_RULES, Counting
from rmgl.automatic.weighing import WEIGHING_RULES, Weighing
from rmgl.embedding.labels import Fragments
from rmgl.rules import check_ranges, ranged, rule_name

RULES: dict[str, dict[str, Any]] = {
    "consensus": dict(CONSENSUS_RULES),
    "weighing": dict(WEIGHING_RULES),
    "number": dict(NUMBER_RULES),
}
"""Built-in rules for every field that contains a rule."""


@dataclass(frozen=True)
class Scaling:
    """Parameters of the costs from which layers are learned."""

    local_scaling: bool = True
    """Whether squared distances are divided by the distances to the 7th neighbors."""
    floor_share: float = ranged(0.7, 0.0, 1.0)
    """Minimum cost of a pair, relative to the 5th smallest cost at its nodes."""


@dataclass(frozen=True)
class Guidance:
    """Parameters of the common graph and of the embedding that guides the layers."""

    guidance: tuple[float, ...] = ranged((0.3,), 0.0, 100.0)
    """Strength with which the common embedding guides the layers, with one number per pass."""
    coupling: float = ranged(0.01, 1e-6, 100.0)
    """Maximum beta of a learned layer, relative to the beta at which an edge between two clusters
    costs 1 more."""
    neighbor_share: float = ranged(0.2, 0.0, 100.0)
    """Weight of the neighbor layer in the common graph, relative to that of all other layers. 0
    means no neighbor layer. With few entities (see `few_entities`), the weight is larger.
    """


@dataclass(frozen=True)
class Verdict:
    """Parameters of the verdict on a clustering, and of the notes that accompany it."""

    good_evidence: float = ranged(0.8, 0.0, 1.0)
    """Minimum strength of the evidence for a clustering to be rated good. The strength is the
    stability of the clusters times the square root of their separation."""
    fair_evidence: float = ranged(0.6, 0.0, 1.0)
    """Minimum strength of the evidence for a clustering to be rated fair."""
    resamples: int = ranged(5, 1, 1000)
    """Number of random subsets of four fifths of the entities on which the stability of the
    clusters is measured.
    """
    dominant_weight: float = ranged(0.8, 0.0, 1.0)
    """Weight of a view above which the report notes that the other views hardly matter."""
    same_answer: float = ranged(0.7, 0.0, 1.0)
    """Agreement between a quick refit and the fit; below this value, the report notes that they
    differ."""
    unrelated: float = ranged(0.65, 0.0, 1.0)
    """Roughness of a view above which the report notes that the view disagrees with the others."""


@record
@dataclass(frozen=True)
class Policy(Scaling, Weighing, Agreement, Guidance, Fragments, Counting, Verdict):
    """Thresholds and rules for the automatic choices. `docs/defaults.md` explains the defaults.

    A rule is the name of a built-in rule or your own function. Pass a policy to a model with
    `RMGL(policy=Policy(...))`. A saved model stores the names of functions, not the functions.

    Examples
    --------
    >>> from rmgl import Policy
    >>> Policy(weighing="equal", guidance=()).weigh([0.1, 0.3], [1.0, 1.0], True).tolist()
    [0.5, 0.5]
    """

    former_fields: ClassVar[tuple[str, ...]] = (
        "references",
        "full_spectrum",
        "very_stable",
        "complete_per_cluster",
        "unit_rows",
        "tiny_cluster",
    )
    """Fields that files from earlier versions may contain. They are ignored."""

    def __post_init__(self) -> None:
        ramp = self.disagreement
        if not isinstance(ramp, tuple) or len(ramp) != 2 or not ramp[0] < ramp[1]:
            raise ValueError(
                f"policy: disagreement={ramp!r} must be two numbers, the smaller one first"
            )
        check_ranges(self)
        if self.fair_evidence > self.good_evidence:
            raise ValueError(
                f"policy: fair_evidence={self.fair_evidence!r} must not be larger than "
                f"good_evidence={self.good_evidence!r}"
            )

    def named(self) -> Policy:
        """Return this policy with its rules replaced by their names, as stored in files."""
        names: dict[str, Any] = {
            field: rule_name(getattr(self, field), known) for field, known in RULES.items()
        }
        return replace(self, **names)
