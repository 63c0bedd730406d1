"""The consensus: a layer learned from all views side by side, each divided by its spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.spaces import Spaces
from rmgl.edges import AllPairs, Candidates
from rmgl.edges.candidates import AddedCosts, measured
from rmgl.edges.space import Space, Square
from rmgl.views.views import Views

CONSENSUS = "consensus"
LEAST_IN_COMMON = 2.0
"""Views that two entities must have in common on average,"""
LEAST_SHARE_IN_COMMON = 0.75
"""or the share of all views, if that is less."""
MOST_ENTITIES = 5000
"""Entities up to which incomplete views have a consensus, which takes all pairs."""
UNKNOWN = 0.7
"""What a view adds to the distance of two entities one of which it lacks, as a share of its mean squared distance."""

ConsensusRule = Callable[[Views], bool]
"""rule(views): whether several views get a consensus layer."""


def where_views_overlap(views: Views) -> bool:
    """Complete views have a consensus, incomplete ones where entities have enough views in common and are not too many for all pairs."""
    shares = [view.n_own / view.n_rows for view in views]
    in_common = np.square(shares).sum() >= min(LEAST_IN_COMMON, LEAST_SHARE_IN_COMMON * len(shares))
    return views.complete or bool(in_common and views.n_rows <= MOST_ENTITIES)


def never(views: Views) -> bool:
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

    The views have a total variance of 1, so 2 is the mean squared distance in each. A view from which one of two entities is missing adds
    1.4.
    """
    views = spaces.views
    edges = AllPairs(views.n_rows)
    edges.require_memory(6, "entities that are missing from some views")
    total = np.zeros((views.n_rows, views.n_rows))
    for view, factor in zip(spaces.members, spaces.factors, strict=True):
        present = views[view].mask
        total += np.where(np.outer(present, present), factor**2 * spaces.square(view).distances, 2 * UNKNOWN)
    np.fill_diagonal(total, 0.0)
    return Square(total)


def consensus_costs(candidates: Candidates, space: Space, nodes: NDArray[np.intp] | None, share: float) -> AddedCosts:
    """A share of the costs in the consensus of any pairs of the given entities (None: all)."""
    scaling = candidates.scaling
    own = scaling if nodes is None or scaling is None else scaling.of_nodes(nodes)
    among = space.among(nodes)
    return lambda edges, check: share * measured(edges, among, own, check)
