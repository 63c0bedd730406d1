"""The numbers and rules by which alpha, the weights of the views, beta and K are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from rmgl.archive.records import record
from rmgl.automatic.consensus import CONSENSUS_RULES, ConsensusRule
from rmgl.automatic.number_of_clusters import NUMBER_RULES, NumberOfClusters, NumberRule
from rmgl.automatic.weighing import WEIGHING_RULES, WeighingRule
from rmgl.edges import Vector
from rmgl.embedding.eigenvectors import Graph
from rmgl.running.checkpoint import Checkpoint

RANGES = (
    ("guidance", 0.0, 100.0),
    ("coupling", 1e-6, 100.0),
    ("floor_share", 0.0, 1.0),
    ("neighbor_share", 0.0, 100.0),
    ("small_component", 0.0, 1.0),
    ("small_cluster", 0.0, 1.0),
    ("consensus_share", 0.0, 100.0),
    ("disagreement", 0.0, 1.0),
    ("complete_share", 0.0, 1.0),
    ("complementary", 0.0, 1.0),
)
"""The least and the largest value of each number."""
SEVERAL = ("guidance", "disagreement")
"""Fields of several numbers."""
ROUNDING = 1e-9
"""How far the sum of weights may be from one."""
Rule = TypeVar("Rule", bound=Callable[..., Any])


@record
@dataclass(frozen=True)
class Policy:
    """The numbers and rules of the automatic choice; `docs/defaults.md` explains the default ones.

    A rule is the name of a built-in one or a function of your own. `RMGL(policy=Policy(...))` uses them; a saved model keeps numbers and
    names, not functions.

    Examples
    --------
    >>> from rmgl import Policy
    >>> Policy(weighing="equal", guidance=()).weigh([0.1, 0.3], [1.0, 1.0], True).tolist()
    [0.5, 0.5]
    """

    consensus: str | ConsensusRule = "overlap"
    """Whether a layer of all views side by side is learned: "overlap" (where entities have enough views in common), "never", or
    rule(views) -> bool."""
    weighing: str | WeighingRule = "agreement"
    """How much each view counts: "agreement" (the smoother the common embedding on its layer, the more), "equal", or
    rule(roughness, shares, with_consensus) -> weights that sum to one."""
    number: str | NumberRule = "stability"
    """How the number of clusters is chosen where it is not given: by "stability" and modularity, or
    rule(graph, random_state) -> NumberOfClusters."""
    guidance: tuple[float, ...] = (0.3,)
    """One number for every pass in which the common embedding guides the layers: how strongly."""
    references: tuple[str, ...] = ("consensus", "together")
    """The embeddings on which roughness is measured: that of the "consensus", and that of all layers "together"."""
    coupling: float = 0.01
    """The largest beta, as a share of the one at which an edge between two clusters costs 1 more."""
    local_scaling: bool = True
    """Whether squared distances are taken in units of the distances to the 7th neighbors."""
    floor_share: float = 0.7
    """The least cost of a pair, as a share of the 5th smallest cost at its nodes."""
    neighbor_share: float = 0.2
    """The weight of the plain neighbor layer in the common graph, as a share of the weight of all other layers (0: no such layer)."""
    small_component: float = 0.2
    """Size, as a share of the mean size of a cluster, below which the edges of a component do not count in roughness and weights, nor do
    those between identical rows (0: all edges count)."""
    small_cluster: float = 0.15
    """Size, as a share of the mean size of a cluster, below which a cluster that is no island is a fragment (0: none is)."""
    complementary: float = 0.1
    """By how much the views must be rougher than three times the consensus to be taken as complementary: each separates only some of the
    clusters, and entities that are missing from a view are placed afterwards,"""
    complete_share: float = 0.5
    """if at least this share of the entities is in all views."""
    consensus_share: float = 4.0
    """The largest multiple of the costs of the consensus that is added to those of complementary views,"""
    disagreement: tuple[float, float] = (0.25, 0.35)
    """and by how much they must be rougher for it to begin, and for all of it."""
    unit_rows: bool = True
    """Whether k-means sees the rows of the embedding with length one."""

    def __post_init__(self) -> None:
        for field, at_least, at_most in RANGES:
            values = getattr(self, field)
            for value in values if field in SEVERAL and isinstance(values, tuple) else (values,):
                if not isinstance(value, Real) or isinstance(value, bool) or not at_least <= float(value) <= at_most:
                    raise ValueError(f"policy: {field}={values!r} must be from {at_least:g} to {at_most:g}")
        if not isinstance(self.disagreement, tuple) or len(self.disagreement) != 2 or not self.disagreement[0] < self.disagreement[1]:
            raise ValueError(f"policy: disagreement={self.disagreement!r} must be two numbers, the smaller one first")
        if not self.references or not set(self.references) <= {"consensus", "together"}:
            raise ValueError(f"policy: references={self.references!r} must name 'consensus', 'together' or both")

    def has_consensus(self, views: Any) -> bool:
        """Whether these views get a consensus layer. A single view is its own consensus."""
        return len(views.names) > 1 and self.wants_consensus(views)

    def wants_consensus(self, views: Any) -> bool:
        """Whether the rule for the consensus asks for one. A single view, too, can have one beside networks."""
        return bool(find_rule("consensus", self.consensus, CONSENSUS_RULES)(views))

    def weigh(self, roughness: Any, shares: Any, with_consensus: bool) -> Vector:
        """The weights of the views, which sum to one, from their roughness and the shares of edge weight on which it was measured."""
        rule = find_rule("weighing", self.weighing, WEIGHING_RULES)
        weights = np.asarray(rule(roughness, shares, with_consensus), dtype=np.float64)
        if weights.shape != (len(roughness),) or not weights.min() >= 0 or not abs(weights.sum() - 1) <= ROUNDING:
            raise ValueError(
                f"policy: the rule for weighing returned {weights.tolist()}, but must return {len(roughness)} numbers >= 0 that sum to "
                "one, one for each view: divide them by their sum"
            )
        return weights

    def share_of_consensus(self, excess: float) -> float:
        """The multiple of the costs of the consensus that is added to those of views that are rougher than it by the given excess."""
        least, most = self.disagreement
        return self.consensus_share * float(np.clip((excess - least) / (most - least), 0.0, 1.0))

    def choose_number(self, graph: Graph, random_state: np.random.RandomState, checkpoint: Checkpoint | None = None) -> NumberOfClusters:
        """The number of clusters of the common graph, with the evidence for it. Built-in rules keep eigenvectors in a checkpoint."""
        rule: Callable[..., Any] = find_rule("number", self.number, NUMBER_RULES)
        number = rule(graph, random_state, checkpoint) if isinstance(self.number, str) else rule(graph, random_state)
        if not isinstance(number, NumberOfClusters):
            raise ValueError(
                f"policy: the rule for the number of clusters returned a {type(number).__name__}, but must return a NumberOfClusters"
            )
        number.check(graph.shape[0])
        return number

    def named(self) -> Policy:
        """This policy with rules by their names, as files hold them."""
        known: dict[str, Mapping[str, Any]] = {"consensus": CONSENSUS_RULES, "weighing": WEIGHING_RULES, "number": NUMBER_RULES}
        rules: dict[str, Any] = {field: rule_name(getattr(self, field), rules) for field, rules in known.items()}
        return replace(self, **rules)


def rule_name(rule: Any, known: Mapping[str, Any]) -> str:
    """The name of a rule: that of a built-in one, or of a function and its module."""
    if isinstance(rule, str):
        return rule
    built_in = next((name for name, function in known.items() if function is rule), None)
    return built_in or f"{rule.__module__}.{getattr(rule, '__qualname__', type(rule).__name__)}"


def find_rule(field: str, rule: str | Rule, known: Mapping[str, Rule]) -> Rule:
    """The rule itself, or the built-in one of that name."""
    if not isinstance(rule, str):
        return rule
    if rule not in known:
        raise ValueError(f"policy: {field}={rule!r} is not known: use one of {', '.join(map(repr, known))}, or a function")
    return known[rule]
