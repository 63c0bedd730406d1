"""Nearest neighbors without a choice among equals: ties for the last place share it.

Where distances are tied, "the 7 nearest" is not defined, and whoever takes 7 lets the order of rows
decide. A *closed* list of length k holds every point that is at most as far as the k-th nearest
one. The points nearer than that have a place each, and those that are tied for the last places
share them, so whatever is computed from the list is a function of the data alone. Where more points
are tied than could be listed, a stand-in takes their places: a point at their distance that is like
the node itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.interface import Floats, Indices, Nodes, Space, Vector
from rmgl.edges.stores import union_of
from rmgl.running.threads import Check

TIED = 1e-9
"""Relative difference up to which squared distances are equal; rounding is far below it."""
MOST = 512
"""Points that a closed list may have; a stand-in takes the places of more equals."""
SPARE = 4
"""Points that are searched for beyond a list, so that rounded bounds do not hide its end."""
GROWTH = 8
"""How many times longer lists are searched for where those before were not enough."""
AT_ONCE = 4096
"""Nodes whose longer lists are searched for at once: lists of hundreds take much memory."""
STAND_IN = -1
"""The neighbor that a stand-in is listed as."""
Answer = tuple[Indices, Floats, Vector]
"""The nearest points of some nodes, in any order, their squared distances, and a bound for others.

The bound is a lower one of the squared distance to all other points, infinite if there are none."""
Search = Callable[[Indices, int], Answer]
"""search(nodes, length): the `length` nearest points of each of some nodes."""


@dataclass(frozen=True)
class NearBlock:
    """Closed lists of some nodes, side by side; distances are infinite beyond shorter lists."""

    nodes: Indices
    neighbors: Indices
    distances: Floats
    shares: Floats | None = None
    """What every entry has of the places (None: one each)."""

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of a node and a point in its list."""
        there = np.isfinite(self.distances) & (self.neighbors != STAND_IN)
        return np.repeat(self.nodes, there.sum(axis=1)), self.neighbors[there]


def counted(distances: Floats) -> Floats:
    """Squared distances to listed neighbors; infinite to exact copies, which are not counted."""
    return np.where(distances > 0, distances, np.inf)


def reach_of(distances: Floats, length: int) -> Vector:
    """How far the closed list of every row reaches: the `length`-th smallest, and its equals."""
    last = min(length, distances.shape[1]) - 1
    reach: Vector = np.partition(distances, last, axis=1)[:, last] * (1 + TIED)
    return reach


def closed_lists(
    search: Search,
    nodes: Indices,
    length: int,
    first: int,
    *,
    different: bool = False,
    answer: Answer | None = None,
) -> list[NearBlock]:
    """The closed lists of `length` of some nodes; with `different`, without copies of a node.

    The search is for `first` neighbors at first, unless its `answer` is known, and for more where
    equals of the last one may be missing.
    """
    answer = search(nodes, first) if answer is None else answer
    found, left = closed_at_once(nodes, answer, length, first > MOST, different)
    longer = min(GROWTH * first, MOST + 1)
    for start in range(0, left.size, AT_ONCE):
        some = nodes[left[start : start + AT_ONCE]]
        found += closed_lists(search, some, length, longer, different=different)
    return found


def closed_at_once(
    nodes: Indices, answer: Answer, length: int, is_last: bool = False, different: bool = False
) -> tuple[list[NearBlock], Nodes]:
    """The closed lists that follow from one answer, and the nodes for which it is not enough.

    If it `is_last`, it has to be enough: more points are tied than can be listed.
    """
    neighbors, distances, bounds = answer
    distances = counted(distances) if different else distances
    reach = reach_of(distances, length)
    known = (reach < bounds) | np.isinf(bounds)
    done = np.ones(nodes.size, dtype=bool) if is_last else known
    some = slice(None) if done.all() else done
    limits = (reach[some], bounds[some], known[some])
    lists = laid_out(nodes[some], neighbors[some], distances[some], *limits, length)
    return list(lists), np.flatnonzero(~done)


def laid_out(
    nodes: Indices,
    neighbors: Indices,
    distances: Floats,
    reach: Vector,
    bounds: Vector,
    known: NDArray[np.bool_],
    length: int,
) -> Iterator[NearBlock]:
    """Closed lists from longer ones: without ties, with ties, and with a stand-in for too many."""
    within = distances <= np.where(np.isfinite(reach), reach, np.finfo(np.float64).max)[:, None]
    counts = within.sum(axis=1)
    plain, tied = known & (counts <= length), known & (counts > length) & (counts <= MOST)
    if plain.any():
        some = slice(None) if plain.all() else plain
        yield NearBlock(nodes[some], *shortest(neighbors[some], distances[some], length))
    if tied.any():
        nearer = np.where(within[tied], distances[tied], np.inf)
        found, apart = shortest(neighbors[tied], nearer, int(counts[tied].max()))
        yield NearBlock(nodes[tied], found, apart, shares_of_places(apart, length))
    many = ~plain & ~tied
    if many.any():
        limits = np.minimum(reach, bounds)[many]
        yield with_stand_ins(nodes[many], neighbors[many], distances[many], limits, length)


def with_stand_ins(
    nodes: Indices, neighbors: Indices, distances: Floats, limits: Vector, length: int
) -> NearBlock:
    """The lists of points nearer than the limits, and a stand-in at the limit for the rest."""
    nearer = distances * (1 + TIED) < limits[:, None] / (1 + TIED)
    kept = np.where(nearer, distances, np.inf)
    found, apart = shortest(neighbors, kept, min(length, neighbors.shape[1]))
    left = length - nearer.sum(axis=1)
    shares = np.column_stack([np.isfinite(apart).astype(np.float64), left])
    found = np.column_stack([found, np.full(nodes.size, STAND_IN)])
    return NearBlock(nodes, found, np.column_stack([apart, limits]), shares)


def nearest_of_all(
    space: Space, length: int, check: Check = lambda: None, *, different: bool = False
) -> list[NearBlock]:
    """The closed lists of `length` of all points of a space."""
    search, nodes = searching(space, check), np.arange(space.n_rows)
    return closed_lists(search, nodes, length, length + SPARE, different=different)


def searching(space: Space, check: Check = lambda: None) -> Search:
    """The search for the nearest points of nodes of a space."""

    def search(nodes: Indices, length: int) -> Answer:
        neighbors, bounds = space.nearest(nodes, min(length, space.n_rows - 1), check)
        return neighbors, space.distances_to(nodes, neighbors), bounds

    return search


def shortest(neighbors: Indices, distances: Floats, length: int) -> tuple[Indices, Floats]:
    """The `length` nearest of listed neighbors, in any order, and their distances."""
    if neighbors.shape[1] <= length:
        return neighbors, distances
    nearest = np.argpartition(distances, length - 1, axis=1)[:, :length]
    kept = np.take_along_axis(neighbors, nearest, axis=1)
    return kept, np.take_along_axis(distances, nearest, axis=1)


def shares_of_places(distances: Floats, length: int) -> Floats:
    """The share of `length` places of every entry of closed lists; ties divide the last ones."""
    reach = reach_of(distances, length)[:, None]
    nearer = distances * (1 + TIED) < reach / (1 + TIED)
    tied = (distances <= reach) & ~nearer & np.isfinite(distances)
    left = length - nearer.sum(axis=1, keepdims=True)
    n_tied = np.maximum(tied.sum(axis=1, keepdims=True), 1)
    shares: Floats = nearer + tied * np.minimum(left / n_tied, 1.0)
    return shares


def pattern_of(lists: Sequence[NearBlock], n_points: int) -> sparse.csr_array:
    """The symmetric pattern of all pairs in lists."""
    left, right = (np.concatenate([block.pairs[side] for block in lists]) for side in (0, 1))
    return union_of(left, right, n_points)
