"""Distances in units of how far apart neighbors are where they lie.

    z_ij  ->  max( z_ij / (s_i s_j),  0.7 min(f_i, f_j) )

s_i is the distance of node i to its 7th neighbor, and more where that leaves the node's 7th smallest cost above 2: a node far from others
that lie close together, an outlier, gets edges all the same. f_i is the node's 5th smallest cost: nothing counts as much nearer than
that, so that duplicates and pairs of near-duplicates do not keep all their weight to themselves. Copies of a node are not counted.

Both follow from the 30 nearest neighbors alone, so they are the same whichever pairs are candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.edges.interface import Edges, Vector
from rmgl.edges.tiles import Indices, listed_distances, nearest_rows
from rmgl.running.threads import Check

LISTED = 30
SCALE_NEIGHBOR = 7
FAR = 2.0
FLOOR_NEIGHBOR = 5
FLOOR_SHARE = 0.7
SMALLEST_SCALE = float(np.sqrt(5e-324))


@record
@dataclass(frozen=True)
class LocalScaling:
    """The scale s_i and the floor 0.7 f_i of every node."""

    scales: Vector
    floors: Vector
    floor_share: float = FLOOR_SHARE
    """The share of a node's 5th smallest cost that is its floor."""

    @classmethod
    def of(cls, X: Any, floor_share: float = FLOOR_SHARE, check: Check = lambda: None) -> LocalScaling:
        """The scaling by the nearest neighbors of the rows of X, which is centered."""
        nodes = np.arange(X.shape[0])
        neighbors, _ = nearest_rows(X, nodes, LISTED, check)
        return cls.from_lists(neighbors, listed_distances(X, nodes, neighbors), floor_share)

    @classmethod
    def from_lists(
        cls, neighbors: Indices, distances: NDArray[np.float64], floor_share: float = FLOOR_SHARE, among: LocalScaling | None = None
    ) -> LocalScaling:
        """The scaling by lists of neighbors, in any order, and their squared distances; of new nodes `among` others, if given."""
        apart = np.where(distances > 0, distances, np.inf)  # copies of a node say nothing about its surroundings
        nearest = placed(apart, SCALE_NEIGHBOR)
        known = nearest[np.isfinite(nearest)] if among is None else among.scales**2
        typical = np.median(known) if known.size else 1.0
        scales = np.sqrt(np.where(np.isfinite(nearest), nearest, typical))
        theirs = (scales if among is None else among.scales)[neighbors]
        far = placed(apart / (scales[:, None] * theirs), SCALE_NEIGHBOR) / FAR
        scales = scales * np.where(np.isfinite(far), np.maximum(far, 1.0), 1.0)
        theirs = scales[neighbors] if among is None else theirs
        floors = placed(apart / (scales[:, None] * theirs), FLOOR_NEIGHBOR)
        return cls(scales, floor_share * np.where(np.isfinite(floors), floors, 1.0), floor_share)

    def check(self, n_nodes: int) -> None:
        """Refuse scales and floors from a file that cannot be those of so many nodes."""
        sound_numbers("the scales of the nodes", self.scales, (n_nodes,), least=SMALLEST_SCALE)
        sound_numbers("the floors of the nodes", self.floors, (n_nodes,), least=0.0)
        if not 0 <= self.floor_share <= 1:
            raise Unsound(f"the share of a floor is {self.floor_share}, not from 0 to 1")

    def costs_of_new(self, neighbors: Indices, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """The costs of new nodes from their squared distances to nodes of these scales and floors, the nearest among them."""
        listed = min(LISTED, distances.shape[1])
        nearest = np.argpartition(distances, listed - 1, axis=1)[:, :listed]
        listed_distances = np.take_along_axis(distances, nearest, axis=1)
        new = LocalScaling.from_lists(np.take_along_axis(neighbors, nearest, axis=1), listed_distances, self.floor_share, among=self)
        scaled = distances / (new.scales[:, None] * self.scales[neighbors])
        return np.maximum(scaled, np.minimum(new.floors[:, None], self.floors[neighbors]))

    def costs(self, edges: Edges, distances: Vector) -> Vector:
        """The costs of candidate pairs from their squared distances."""
        return edges.localized(distances, self.scales, self.floors)


def placed(values: NDArray[np.float64], place: int) -> Vector:
    """The entry of that place in each sorted row: the last finite one where there are fewer, infinite where there is none."""
    ordered = np.sort(values, axis=1)
    last = np.clip(np.isfinite(values).sum(axis=1), 1, min(place, values.shape[1])) - 1
    return np.take_along_axis(ordered, last[:, None], axis=1)[:, 0]
