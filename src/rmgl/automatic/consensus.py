"""The consensus: a layer learned from all views side by side, each divided by its spread.

Where each view separates only some of the clusters, the views' layers are learned again with costs
of the consensus added to their own (`Agreement`).
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
"""Added to the distance of two entities by a view that lacks one of them, as a share of its mean
squared distance. New rows are placed by it, too, whatever the policy of the fit."""

ConsensusRule = Callable[[Views], bool]
"""rule(views) -> whether several views get a consensus layer."""


@dataclass(frozen=True)
class Agreement:
    """The numbers and the rule of the consensus, and of its share in the layers of the views."""

    consensus: str | ConsensusRule = "overlap"
    """Whether a layer of all views side by side is learned: "overlap" (where entities have enough
    views in common), "never", or rule(views) -> bool."""
    views_in_common: float = ranged(2.0, 0.0, 1e9)
    """Views that two entities of incomplete views need to have in common, on average, for a
    consensus."""
    share_in_common: float = ranged(0.75, 0.0, 1.0)
    """Share of all views that is enough in common, where that is fewer views."""
    most_incomplete: int = ranged(5000, 0, 1e9)
    """Number of entities up to which incomplete views have a consensus, which takes all pairs."""
    smoother: float = ranged(3.0, 0.0, 100.0)
    """How many times rougher than the consensus the views may be before they disagree with it."""
    complementary: float = ranged(0.1, 0.0, 1.0)
    """Excess of the views' roughness from which they are complementary: each separates only some of
    the clusters, and entities that are missing from a view are placed afterwards."""
    complete_share: float = ranged(0.5, 0.0, 1.0)
    """Share of the entities that need to be in all views for the others to be placed afterwards."""
    consensus_share: float = ranged(4.0, 0.0, 100.0)
    """Largest multiple of the costs of the consensus that is added to those of complementary views.
    """
    disagreement: tuple[float, float] = ranged((0.25, 0.35), 0.0, 1.0)
    """Excess at which costs of the consensus begin to be added, and at which all of them are."""

    def has_consensus(self, views: Views) -> bool:
        """Whether these views get a consensus layer. A single view is its own consensus."""
        return len(views.names) > 1 and self.wants_consensus(views)

    def wants_consensus(self, views: Views) -> bool:
        """Whether the rule asks for a consensus. Beside networks, a single view can have one."""
        rule: Callable[..., bool] = find_rule("consensus", self.consensus, CONSENSUS_RULES)
        built_in = {"numbers": self} if isinstance(self.consensus, str) else {}
        return bool(rule(views, **built_in))

    def share_of_consensus(self, excess: float) -> float:
        """The multiple of the consensus costs that is added where views have a given excess."""
        least, most = self.disagreement
        return self.consensus_share * float(np.clip((excess - least) / (most - least), 0.0, 1.0))


def where_views_overlap(views: Views, numbers: Agreement | None = None) -> bool:
    """Complete views have a consensus, and incomplete ones where entities share enough views."""
    numbers = Agreement() if numbers is None else numbers
    shares = [view.n_own / view.n_rows for view in views]
    needed = min(numbers.views_in_common, numbers.share_in_common * len(shares))
    enough = np.square(shares).sum() >= needed
    return views.complete or bool(enough and views.n_rows <= numbers.most_incomplete)


def never(views: Views, numbers: Agreement | None = None) -> bool:
    """No consensus."""
    return False


CONSENSUS_RULES: dict[str, ConsensusRule] = {"overlap": where_views_overlap, "never": never}


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with as many underscores as it takes to differ from all that are taken."""
    while name in taken:
        name += "_"
    return name


def consensus_name(names: Sequence[str]) -> str:
    """The name of the consensus layer beside views of these names."""
    return free_name(CONSENSUS, names)


def incomplete_space(spaces: Spaces) -> Square:
    """The space of sum_m |x_i - x_j|^2 over views from which some entities are missing.

    Where a view counts in full, its total variance is 1, so 2 is its mean squared distance, and it
    adds 1.4 if one of two entities is missing from it.
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
    """A share of the costs in the consensus of any pairs of the given entities (None: all)."""
    scaling = candidates.scaling
    if nodes is not None and scaling is not None:
        scaling = scaling.of_nodes(nodes)
    among = space.among(nodes)
    return lambda edges, check: share * measured(edges, among, scaling, check)
