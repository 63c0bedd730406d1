"""The consensus: a layer learned from all views side by side, each divided by its spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import squareform

from rmgl.edges import AllPairs, Candidates, Vector
from rmgl.edges.candidates import AddedCosts, measured
from rmgl.edges.local_scaling import LISTED, LocalScaling
from rmgl.views.matrix import Matrix, total_variance
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
    shares = [1.0 if rows is None else rows.size / views.n_rows for rows in views.present]
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


def consensus_factors(views: Views) -> tuple[float, ...]:
    """What each view is multiplied by before it is put beside the others: its total variance is one then."""
    return tuple(1 / float(np.sqrt(total_variance(views.own(view)))) for view in range(len(views.names)))


def incomplete_distances(views: Views) -> Vector:
    """sum_m |x_i - x_j|^2 for all pairs of entities, some of which are missing from some views.

    The views have a total variance of 1, so 2 is the mean squared distance in each. A view from which one of two entities is missing adds
    1.4.
    """
    edges = AllPairs(views.n_rows)
    edges.require_memory(6, "entities that are missing from some views")
    distances = np.zeros(edges.n_pairs)
    for view, X in enumerate(views.matrices):
        present = views.mask(view)
        both = squareform(np.outer(present, present), checks=False)
        distances += np.where(both, edges.measure(X), 2 * UNKNOWN)
    return distances


def incomplete_candidates(views: Views, floor_share: float | None) -> Candidates:
    """All pairs of entities at their `incomplete_distances`, locally scaled unless `floor_share` is None."""
    edges, distances = AllPairs(views.n_rows), incomplete_distances(views)
    if floor_share is None:
        return Candidates(edges, distances, "all pairs")
    square = squareform(distances)
    nearest = nearest_in(square, LISTED)
    scaling = LocalScaling.from_lists(nearest, np.take_along_axis(square, nearest, axis=1), floor_share)
    return Candidates(edges, scaling.costs(edges, distances), "all pairs", scaling=scaling)


def nearest_in(square: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """The `length` nearest other entities of each, in any order, by a square matrix of distances."""
    apart = square.copy()
    np.fill_diagonal(apart, np.inf)
    length = min(length, len(square) - 1)
    nearest: NDArray[np.intp] = np.argpartition(apart, length - 1, axis=1)[:, :length]
    return nearest


def consensus_costs(candidates: Candidates, X: Matrix | None, nodes: NDArray[np.intp] | None, share: float) -> AddedCosts:
    """A share of the costs in the consensus of any pairs of the given entities (None: all).

    X holds all views side by side; it is None where entities are missing from views, and all pairs are candidates.
    """
    if X is None:
        square = squareform(candidates.distances)
        square = square if nodes is None else square[np.ix_(nodes, nodes)]
        return lambda edges, check: share * edges.entries_of(square)
    scaling = candidates.scaling
    own = scaling if nodes is None or scaling is None else scaling.of_nodes(nodes)
    rows = X if nodes is None else X[nodes]
    return lambda edges, check: share * measured(edges, rows, own, check)
