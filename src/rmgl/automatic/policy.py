"""The numbers and rules by which alpha, the weights of the views, beta and K are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rmgl.archive.records import record
from rmgl.automatic.consensus import CONSENSUS_RULES, ConsensusRule
from rmgl.automatic.number_of_clusters import NUMBER_RULES, NumberRule
from rmgl.automatic.weighing import WEIGHING_RULES, WeighingRule

Rule = TypeVar("Rule", bound=Callable[..., Any])


@record
@dataclass(frozen=True)
class Policy:
    """The numbers and rules of the automatic choice; `docs/defaults.md` explains the default ones.

    A rule is the name of a built-in one or a function of your own. `RMGL(policy=Policy(...))` uses them; a saved model keeps numbers and
    names, not functions.

    Examples
    --------
    >>> from rmgl.automatic.policy import Policy
    >>> Policy(weighing="equal", guidance=()).weigh([0.1, 0.3], True).tolist()
    [0.5, 0.5]
    """

    consensus: str | ConsensusRule = "overlap"
    """Whether a layer of all views side by side is learned: "overlap" (where entities have enough views in common), "never", or
    rule(views) -> bool."""
    weighing: str | WeighingRule = "agreement"
    """How much each view counts: "agreement" (the smoother the common embedding on its layer, the more), "equal", or
    rule(roughness, with_consensus) -> weights that sum to one."""
    number: str | NumberRule = "modularity"
    """How the number of clusters is chosen where it is not given: "modularity", or rule(graph, random_state) -> NumberOfClusters."""
    guidance: tuple[float, ...] = (0.1, 0.3, 1.0)
    """One number for every pass in which the common embedding guides the layers: how strongly."""
    references: tuple[str, ...] = ("consensus", "together")
    """The embeddings on which roughness is measured: that of the "consensus", and that of all layers "together"."""
    coupling: float = 0.01
    """The largest beta, as a share of the one at which an edge between two clusters costs 1 more."""
    local_scaling: bool = True
    """Whether squared distances are taken in units of the distances to the 7th neighbors."""
    floor_share: float = 0.7
    """The least cost of a pair, as a share of the 5th smallest cost at its nodes."""
    unit_rows: bool = True
    """Whether k-means sees the rows of the embedding with length one."""

    def has_consensus(self, views: Any) -> bool:
        """Whether these views get a consensus layer. A single view is its own consensus."""
        return len(views.names) > 1 and find_rule("consensus", self.consensus, CONSENSUS_RULES)(views)

    def weigh(self, roughness: Any, with_consensus: bool) -> Any:
        """The weights of the views, which sum to one, from their roughness."""
        return find_rule("weighing", self.weighing, WEIGHING_RULES)(roughness, with_consensus)

    @property
    def choose_number(self) -> NumberRule:
        """The rule for the number of clusters."""
        return find_rule("number", self.number, NUMBER_RULES)

    def named(self) -> Policy:
        """This policy with rules by their names, as files hold them."""
        rules: dict[str, Any] = {name: rule_name(getattr(self, name)) for name in ("consensus", "weighing", "number")}
        return replace(self, **rules)


def rule_name(rule: Any) -> str:
    """The name of a rule: that of a built-in one, or of a function and its module."""
    return rule if isinstance(rule, str) else f"{rule.__module__}.{rule.__qualname__}"


def find_rule(field: str, rule: str | Rule, known: Mapping[str, Rule]) -> Rule:
    """The rule itself, or the built-in one of that name."""
    if not isinstance(rule, str):
        return rule
    if rule not in known:
        raise ValueError(f"policy: {field}={rule!r} is not known: use one of {', '.join(map(repr, known))}, or a function")
    return known[rule]
