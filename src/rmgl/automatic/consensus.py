"""The consensus: a layer learned from the concatenated views, each divided by its spread.

If each view separates only some of the clusters, the layers of the views are learned again with
consensus costs added to their own (`Agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.spaces import Spaces
from rmgl.edges import AllPairs, Candidates
from rmgl.edges.candidates import AddedCosts, measured
from rmgl.edges.space import Space, Square
from rmgl.rules import find_rule, ranged
from rmgl.views.views import Views

CONSENSUS = "consensus"
UNKNOWN_DISTANCE = 0.7
"""Squared distance that a view adds to a pair of entities if one of them is missing from it,
relative to its mean squared distance. It is also used to place new rows, whatever the policy in the
fit."""

ConsensusRule = Callable[[Views], bool]
"""rule(views) -> whether several views get a consensus layer."""


@dataclass(frozen=True)
class Agreement:
    """Parameters and rule for the consensus and for its share in the layers of the views."""

    consensus: str | ConsensusRule = "overlap"
    """Whether to learn a consensus layer from the concatenated views: "overlap" (if entities have
    enough views in common), "never", or rule(views) -> bool."""
    views_in_common: float = ranged(2.0, 0.0, 1e9)
    """Minimum average number of views that two entities must have in common for a consensus layer
    if views are incomplete."""
    share_in_common: float = ranged(0.75, 0.0, 1.0)
    """Share of all views. Two entities need only this share of the views in common if that amounts
    to fewer than `views_in_common`.
    """
    most_incomplete: int = ranged(5000, 0, 1e9)
    """Maximum number of entities for a consensus layer from incomplete views, which uses all pairs.
    """
    smoother: float = ranged(3.0, 0.0, 100.0)
    """Multiple of the consensus roughness that the mean roughness of the views must exceed for the
    views to disagree with the consensus.
    """
    complementary: float = ranged(0.1, 0.0, 1.0)
    """Minimum excess roughness for views to be considered complementary. Complementary views each
    separate only some of the clusters, and entities that are missing from a view are placed after
    the fit."""
    complete_share: float = ranged(0.5, 0.0, 1.0)
    """Minimum fraction of the entities that must be in all views for the others to be placed after
    the fit.
    """
    consensus_share: float = ranged(4.0, 0.0, 100.0)
    """Maximum multiple of the consensus costs that is added to the costs of complementary views."""
    disagreement: tuple[float, float] = ranged((0.25, 0.35), 0.0, 1.0)
    """Two values of the views' excess roughness. Consensus costs begin to be added at the first
    value, and are added in full at the second.
    """

    def has_consensus(self, views: Views) -> bool:
        """Return whether these views get a consensus layer. A single view is its own consensus."""
        return len(views.names) > 1 and self.wants_consensus(views)

    def wants_consensus(self, views: Views) -> bool:
        """Return whether the rule requests a consensus. If there are networks, a single other view
        is enough.
        """
        rule: Callable[..., bool] = find_rule("consensus", self.consensus, CONSENSUS_RULES)
        built_in = {"numbers": self} if isinstance(self.consensus, str) else {}
        return bool(rule(views, **built_in))

    def share_of_consensus(self, excess: float) -> float:
        """Return the factor of the consensus costs that are added for this excess roughness."""
        least, most = self.disagreement
        return self.consensus_share * float(np.clip((excess - least) / (most - least), 0.0, 1.0))


def where_views_overlap(views: Views, numbers: Agreement | None = None) -> bool:
    """Return True for complete views, and for incomplete views if entities share enough views."""
    numbers = Agreement() if numbers is None else numbers
    shares = [view.n_own / view.n_rows for view in views]
    needed = min(numbers.views_in_common, numbers.share_in_common * len(shares))
    enough = np.square(shares).sum() >= needed
    return views.complete or bool(enough and views.n_rows <= numbers.most_incomplete)


def never(views: Views, numbers: Agreement | None = None) -> bool:
    """Return False: never learn a consensus."""
    return False


CONSENSUS_RULES: dict[str, ConsensusRule] = {"overlap": where_views_overlap, "never": never}


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return the name, followed by as many underscores as needed to differ from all taken names."""
    while name in taken:
        name += "_"
    return name


def consensus_name(names: Sequence[str]) -> str:
    """Return the name of the consensus layer for views with these names."""
    return free_name(CONSENSUS, names)


def incomplete_space(spaces: Spaces) -> Square:
    """Return the space of sum_m |x_i - x_j|^2 over views from which some entities are missing.

    A view with full weight has a total variance of 1. Its mean squared distance is then 2, and
    it adds 1.4 if one of the two entities is missing from it.
    """
    views = spaces.views
    AllPairs(views.n_rows).require_memory(6, "entities that are missing from some views")
    total = np.zeros((views.n_rows, views.n_rows))
    for view, factor in zip(spaces.members, spaces.factors, strict=True):
        both = np.outer(views[view].mask, views[view].mask)
        unknown = 2 * UNKNOWN_DISTANCE * spaces.parts[view]
        total += np.where(both, factor**2 * spaces.square(view).distances, unknown)
    np.fill_diagonal(total, 0.0)
    return Square(total)


def consensus_costs(
    candidates: Candidates, space: Space, nodes: NDArray[np.intp] | None, share: float
) -> AddedCosts:
    """Return a multiple of the consensus costs for any pairs of these entities (None for all
    entities).
    """
    scaling = candidates.scaling
    if nodes is not None and scaling is not None:
        scaling = scaling.of_nodes(nodes)
    among = space.among(nodes)
    return lambda edges, check: share * measured(edges, among, scaling, check)
