"""Local scaling: distances relative to the distances between neighbors in the same region.

    z_ij  ->  max( z_ij / (s_i s_j),  0.7 min(f_i, f_j) )

The scale s_i is the distance of node i to its 7th neighbor. It is larger if the node's 7th smallest
cost would exceed 2, so that an outlier, which is far from nodes that are close together, still gets
edges. f_i is the node's 5th smallest cost; 0.7 f_i is its floor. Floors prevent duplicates and
near-duplicates from keeping all their weight among themselves. Exact copies of a node are not
counted.

Scales and floors depend only on the 30 nearest neighbors, and all that are as near as the last of
these (`rmgl.edges.ties`), so they are the same for every choice of candidate pairs and for every
order of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.edges.interface import Costs, Floats, Indices, Nodes, PairStore, Vector
from rmgl.edges.space import Space
from rmgl.edges.ties import STAND_IN, TIED, NearBlock, closed_at_once, counted, nearest_of_all
from rmgl.running.threads import Check

LISTED = 30
"""Nearest neighbors from which scales and floors are computed."""
SCALE_NEIGHBOR = 7
FAR_COST = 2.0
"""Largest cost of the 7th neighbor; a larger one raises the scale of the node."""
FLOOR_NEIGHBOR = 5
FLOOR_SHARE = 0.7
SMALLEST_SCALE = float(np.sqrt(5e-324))
"""The square root of the smallest positive double."""


@record
@dataclass(frozen=True)
class LocalScaling:
    """The scale s_i and the floor 0.7 f_i of every node."""

    scales: Vector
    floors: Vector
    floor_share: float = FLOOR_SHARE
    """The floor of a node as a share of its 5th smallest cost."""

    @classmethod
    def of(
        cls, space: Space, floor_share: float = FLOOR_SHARE, check: Check = lambda: None
    ) -> LocalScaling:
        """Compute the scaling from the nearest neighbors of the points of a space."""
        return cls.from_lists(nearest_of_all(space, LISTED, check), floor_share)

    @classmethod
    def from_lists(
        cls,
        lists: Sequence[NearBlock],
        floor_share: float = FLOOR_SHARE,
        among: LocalScaling | None = None,
    ) -> LocalScaling:
        """Compute the scaling of nodes from closed lists of their 30 nearest neighbors.

        With `among`, the nodes are new, and their neighbors are the nodes of that scaling.
        """
        nearest = by_node(lists, [nearest_scale(block) for block in lists])
        known = nearest[np.isfinite(nearest)] if among is None else among.scales**2
        first = first_scales(nearest, known)
        theirs = first if among is None else among.scales
        scales = by_node(lists, [raised_scales(block, first, theirs) for block in lists])
        theirs = scales if among is None else theirs
        floors = [floors_of(block, scales, theirs, floor_share) for block in lists]
        return cls(scales, by_node(lists, floors), floor_share)

    def check(self, n_nodes: int) -> None:
        """Raise `Unsound` if scales and floors from a file are not valid for `n_nodes` nodes."""
        sound_numbers("the scales of the nodes", self.scales, (n_nodes,), least=SMALLEST_SCALE)
        sound_numbers("the floors of the nodes", self.floors, (n_nodes,), least=0.0)
        if not 0 <= self.floor_share <= 1:
            raise Unsound(f"the share of the floors is {self.floor_share}, but must be from 0 to 1")

    def of_nodes(self, nodes: Nodes) -> LocalScaling:
        """The scaling of some of the nodes."""
        return LocalScaling(self.scales[nodes], self.floors[nodes], self.floor_share)

    def of_new(self, neighbors: Indices, distances: Floats) -> LocalScaling:
        """The scaling of new nodes, from their squared distances to fitted nodes.

        The fitted nodes include the nearest ones and their equals.
        """
        answer = neighbors, distances, np.full(len(neighbors), np.inf)
        lists, _ = closed_at_once(np.arange(len(neighbors)), answer, LISTED)
        return LocalScaling.from_lists(lists, self.floor_share, among=self)

    def costs_of_new(self, neighbors: Indices, distances: Floats) -> Floats:
        """The costs of new nodes, from their squared distances to fitted nodes.

        The fitted nodes include the nearest ones and their equals.
        """
        return self.costs_between(self.of_new(neighbors, distances), neighbors, distances)

    def costs_between(self, new: LocalScaling, neighbors: Indices, distances: Floats) -> Floats:
        """The costs of new nodes with a scaling of theirs, from distances to any fitted nodes."""
        scaled = distances / (new.scales[:, None] * self.scales[neighbors])
        return np.maximum(scaled, np.minimum(new.floors[:, None], self.floors[neighbors]))

    def costs(self, edges: PairStore, distances: Costs) -> Costs:
        """The costs of candidate pairs from their squared distances."""
        return edges.localized(distances, self.scales, self.floors)


def by_node(lists: Sequence[NearBlock], values: Sequence[Vector]) -> Vector:
    """Values of the nodes of every block in the order of all nodes."""
    ordered = np.empty(sum(block.nodes.size for block in lists))
    for block, part in zip(lists, values, strict=True):
        ordered[block.nodes] = part
    return ordered


def relative_costs(block: NearBlock, scales: Vector, theirs: Vector) -> Floats:
    """Squared distances to listed neighbors in units of both scales; infinite to copies."""
    mine = scales[block.nodes][:, None]
    others = np.where(block.neighbors == STAND_IN, mine, theirs[block.neighbors])
    return counted(block.distances) / (mine * others)


def first_scales(nearest: Vector, known: Vector) -> Vector:
    """The distance of every node to its 7th neighbor, from squared ones.

    Where there is none, it is a typical one of those known.
    """
    typical = np.median(known) if known.size else 1.0
    scales: Vector = np.sqrt(np.where(np.isfinite(nearest), nearest, typical))
    return scales


def nearest_scale(block: NearBlock) -> Vector:
    """The squared distance of nodes to their 7th neighbors; infinite if only copies are listed."""
    return smallest_at(counted(block.distances), SCALE_NEIGHBOR, block.shares)


def raised_scales(block: NearBlock, scales: Vector, theirs: Vector) -> Vector:
    """Scales of nodes, larger where the 7th smallest cost would exceed 2.

    `theirs` are the scales of the neighbors.
    """
    far = (
        smallest_at(relative_costs(block, scales, theirs), SCALE_NEIGHBOR, block.shares) / FAR_COST
    )
    return scales[block.nodes] * np.maximum(1.0, np.where(np.isfinite(far), far, 1.0))


def floors_of(block: NearBlock, scales: Vector, theirs: Vector, floor_share: float) -> Vector:
    """The floors of nodes: a share of their 5th smallest cost."""
    floors = smallest_at(relative_costs(block, scales, theirs), FLOOR_NEIGHBOR, block.shares)
    return floor_share * np.where(np.isfinite(floors), floors, 1.0)


def smallest_at(values: Floats, rank: int, shares: Floats | None = None) -> Vector:
    """The rank-th smallest entry of each row.

    It is the largest finite one if there are fewer, and infinity if there is none.

    `shares` are how much of a place each entry has (None: each has one); the first places together
    are those of the smallest entries.

    Examples
    --------
    >>> import numpy as np
    >>> smallest_at(np.array([[3.0, 1.0, 2.0], [np.inf, 5.0, np.inf]]), 2)
    array([2., 5.])
    >>> smallest_at(np.array([[3.0, 1.0, 2.0]]), 1, np.array([[1.0, 0.5, 0.5]]))
    array([2.])
    """
    if shares is None:
        ordered = np.partition(values, min(rank, values.shape[1]) - 1, axis=1)[:, :rank]
        finite = np.isfinite(ordered)
        largest = np.where(finite, ordered, -np.inf).max(axis=1)
        return np.where(finite.any(axis=1), largest, np.inf)
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    places = np.take_along_axis(shares, order, axis=1)
    filled = np.cumsum(np.where(np.isfinite(ordered), places, 0.0), axis=1)
    reached = np.minimum(rank, filled[:, -1:]) * (1 - TIED)
    at = np.argmax(filled >= reached, axis=1)
    return np.take_along_axis(ordered, at[:, None], axis=1)[:, 0]
