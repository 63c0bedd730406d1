"""Nearest neighbors without a choice among equals: all points that are as near as the last one count, or share its place.

Where distances are tied, "the 7 nearest" is not defined, and whoever takes 7 lets the order of rows decide. A *closed* list of length k
holds every point that is at most as far as the k-th nearest one, so it is a function of the data alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Vector
from rmgl.edges.pair_list import PairList, union_of
from rmgl.running.threads import Check

TIED = 1e-9
"""Relative difference of squared distances up to which they are equal: rounding is far below it, and chance hardly ever."""
BLOCK_ENTRIES = 1 << 22
"""Entries of closed lists that are laid out side by side at once."""


@dataclass(frozen=True)
class NearBlock:
    """Closed lists of some nodes, side by side: entries beyond the end of a shorter list have an infinite distance."""

    nodes: Indices
    neighbors: Indices
    distances: NDArray[np.float64]
    beyond: bool = False
    """Whether points may be in these lists that were not in those that they were made from."""

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of a node and a point in its list."""
        there = np.isfinite(self.distances)
        return np.repeat(self.nodes, there.sum(axis=1)), self.neighbors[there]


@dataclass(frozen=True)
class Ragged:
    """Points near some nodes, one node after the other: `starts` are the first entries of the nodes, and the number of all."""

    starts: Indices
    neighbors: NDArray[Any]
    distances: Vector

    @classmethod
    def where(cls, kept: NDArray[np.bool_], counts: Indices, neighbors: NDArray[Any], distances: Vector) -> Ragged:
        """Those entries that are kept, of which every node has `counts`."""
        return cls(np.concatenate([[0], np.cumsum(counts)]), neighbors[kept], distances[kept])


More = Callable[[Indices, Vector], Ragged]
"""more(nodes, most): all points within a squared distance of each of some nodes, which are ascending."""


def points_around(space: Any, nodes: Indices, most: Vector, check: Check = lambda: None) -> Ragged:
    """All other points within a squared distance of each of some nodes, in a space where all pairs within radii can be found."""
    radii = np.zeros(space.n_rows)
    radii[nodes] = np.maximum(most, np.finfo(np.float64).tiny) * (1 + TIED)
    left, right = space.within(nodes, radii, None, check)
    edges = PairList(union_of(left, right, space.n_rows))
    distances, counts = space.measure(edges, check), np.diff(edges.indptr)
    limit = np.full(space.n_rows, -1.0)
    limit[nodes] = most
    kept = distances <= np.repeat(limit, counts)
    starts = np.concatenate([[0], np.cumsum(kept)])[edges.indptr]
    return Ragged.where(kept, np.diff(starts)[nodes], edges.indices, distances)


def reach_of(distances: NDArray[np.float64], length: int) -> Vector:
    """How far the closed list of every row of distances reaches: to the `length`-th smallest, and what is equal to it."""
    last = min(length, distances.shape[1]) - 1
    reach: Vector = np.partition(distances, last, axis=1)[:, last] * (1 + TIED)
    return reach


def nothing_more(nodes: Indices, most: Vector) -> Ragged:
    """What is asked for where all points are listed: nobody asks."""
    raise AssertionError("all points are listed")


def closed_lists(
    neighbors: Indices, distances: NDArray[np.float64], bounds: Vector, length: int, more: More = nothing_more
) -> Iterator[NearBlock]:
    """Closed lists of `length` from lists of nearest neighbors, in any order, with lower bounds of the distances to all others.

    Where equals of the last neighbor may be missing from a list, `more` is asked for them.
    """
    reach = reach_of(distances, length)
    within = distances <= reach[:, None]
    unknown = (reach >= bounds) & np.isfinite(reach)
    plain = ~unknown & (within.sum(axis=1) == min(length, distances.shape[1]))
    if plain.any():
        nodes = np.flatnonzero(plain)
        own, apart = (neighbors, distances) if plain.all() else (neighbors[nodes], distances[nodes])
        yield NearBlock(nodes, *shortest(own, apart, length))
    tied = np.flatnonzero(~unknown & ~plain)
    if tied.size:
        inside = within[tied]
        yield from side_by_side(tied, Ragged.where(inside, inside.sum(axis=1), neighbors[tied], distances[tied]))
    nodes = np.flatnonzero(unknown)
    if nodes.size:
        yield from (replace(block, beyond=True) for block in side_by_side(nodes, more(nodes, reach[nodes])))


def nearest_of_all(space: Any, length: int, check: Check = lambda: None) -> list[NearBlock]:
    """The closed lists of `length` of all points of a space."""
    nodes = np.arange(space.n_rows)
    neighbors, bounds = space.nearest(nodes, length + 1, check)
    return list(closed_lists(neighbors, space.distances_to(nodes, neighbors), bounds, length, partial(space.around, check=check)))


def shortest(neighbors: Indices, distances: NDArray[np.float64], length: int) -> tuple[Indices, NDArray[np.float64]]:
    """The `length` nearest of listed neighbors, in any order, and their distances."""
    if neighbors.shape[1] <= length:
        return neighbors, distances
    nearest = np.argpartition(distances, length - 1, axis=1)[:, :length]
    return np.take_along_axis(neighbors, nearest, axis=1), np.take_along_axis(distances, nearest, axis=1)


def side_by_side(nodes: Indices, lists: Ragged) -> Iterator[NearBlock]:
    """Lists of any lengths as blocks, each of lists of about the same length."""
    lengths = np.diff(lists.starts)
    order, first = np.argsort(lengths, kind="stable"), 0
    while first < order.size:
        size = max(1, BLOCK_ENTRIES // max(1, int(lengths[order[first]])))
        last = min(order.size, first + size)
        while last > first + 1 and (last - first) * int(lengths[order[last - 1]]) > BLOCK_ENTRIES:
            last = first + (last - first) // 2
        rows = order[first:last]
        place = np.arange(max(1, int(lengths[rows].max())))
        entry = lists.starts[rows][:, None] + place
        there = place < lengths[rows][:, None]
        entry = np.where(there, entry, 0)
        neighbors = np.where(there, lists.neighbors[entry] if lists.neighbors.size else 0, 0).astype(np.int64)
        yield NearBlock(nodes[rows], neighbors, np.where(there, lists.distances[entry] if lists.distances.size else 0.0, np.inf))
        first = last


def shares_of_places(distances: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """What every entry of closed lists gets of `length` places: those that are tied for the last places share what is left of them."""
    reach = reach_of(distances, length)[:, None]
    nearer = distances * (1 + TIED) < reach / (1 + TIED)
    tied = (distances <= reach) & ~nearer & np.isfinite(distances)
    left = length - nearer.sum(axis=1, keepdims=True)
    n_tied = np.maximum(tied.sum(axis=1, keepdims=True), 1)
    shares: NDArray[np.float64] = nearer + tied * np.minimum(left / n_tied, 1.0)
    return shares


def pattern_of(lists: Sequence[NearBlock], n_points: int) -> sparse.csr_array:
    """The symmetric pattern of all pairs in lists."""
    left, right = (np.concatenate([block.pairs[side] for block in lists]) for side in (0, 1))
    return union_of(left, right, n_points)
