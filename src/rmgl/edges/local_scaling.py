"""Local scaling: distances relative to the distances between neighbors in the same region.

    z_ij  ->  max( z_ij / (s_i s_j),  0.7 min(f_i, f_j) )

The scale s_i is the distance from node i to its 7th neighbor. It is larger if the node's 7th
smallest cost would exceed 2, so that an outlier, which is far from nodes that are close together,
still gets edges. f_i is the node's 5th smallest cost; 0.7 f_i is its floor. Floors prevent
duplicates and near-duplicates from keeping all their weight among themselves. Exact copies of a
node are not counted.

Scales and floors depend only on the 30 nearest neighbors and on those tied with the last one, so
they are the same for every choice of candidate pairs and every order of the nodes.

Where distances are tied, "the 7 nearest" is not defined: the order of rows would decide. A *closed*
list of length k holds every point that is no farther away than the k-th nearest one. Each nearer
point has its own place, and points tied for the last places share them, so results computed from
the list depend on the data alone. If too many points are tied to list them all, a *stand-in* takes
their places: a point at their distance that has the node's own scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.edges.interface import Costs, Ends, Floats, Indices, Nodes, PairStore, Space, Vector
from rmgl.edges.stores import union_of
from rmgl.running.threads import Check, no_check

LISTED = 30
"""Number of nearest neighbors from which scales and floors are computed."""
SCALE_NEIGHBOR = 7
FAR_COST = 2.0
"""Largest cost of the 7th neighbor; a larger one raises the scale of the node."""
FLOOR_NEIGHBOR = 5
FLOOR_SHARE = 0.7
SMALLEST_SCALE = float(np.sqrt(5e-324))
"""The square root of the smallest positive double."""
TIED = 1e-9
"""Relative difference up to which squared distances count as equal; rounding is far below it."""
MOST = 512
"""Largest number of points in a closed list; beyond it, a stand-in takes the places of the ties."""
SPARE = 4
"""Points to search for beyond a list, so that rounded bounds do not hide its end."""
GROWTH = 8
"""Factor by which lists grow where they are too short."""
AT_ONCE = 4096
"""Nodes per search for longer lists, which need a lot of memory."""
STAND_IN = -1
"""Neighbor index of a stand-in."""
Answer = tuple[Indices, Floats, Vector]
"""The nearest neighbors of the given nodes in any order, their squared distances, and a bound.

The bound is a lower bound on the squared distances to all other points, infinite if there are
none."""
Search = Callable[[Indices, int], Answer]
"""search(nodes, length) returns the `length` nearest neighbors of each node."""


@dataclass(frozen=True)
class NearBlock:
    """Closed lists, one row per node; distances beyond the end of a list are infinite."""

    nodes: Indices
    neighbors: Indices
    distances: Floats
    shares: Floats | None = None
    """Share of a place that each entry has (None: one place each)."""

    @property
    def pairs(self) -> tuple[Ends, Ends]:
        """All pairs of a node and a point in its list, in the form that loops take."""
        there = np.isfinite(self.distances) & (self.neighbors != STAND_IN)
        nodes = np.repeat(self.nodes.astype(np.int32), there.sum(axis=1))
        return nodes, self.neighbors[there].astype(np.int32, copy=False)


def counted(distances: Floats) -> Floats:
    """Return squared distances, infinite for exact copies so that they are not counted."""
    return np.where(distances > 0, distances, np.inf)


def reach_of(distances: Floats, length: int) -> Vector:
    """Return how far each row's closed list reaches: the `length`-th distance, with its ties."""
    last = min(length, distances.shape[1]) - 1
    return np.partition(distances, last, axis=1)[:, last] * (1 + TIED)


def closed_lists(
    search: Search,
    nodes: Indices,
    length: int,
    first: int,
    *,
    different: bool = False,
    answer: Answer | None = None,
) -> list[NearBlock]:
    """Return the closed neighbor lists of length `length` for the given nodes.

    The first search finds `first` neighbors, unless its `answer` is passed. Nodes that may be
    missing ties with their last neighbor are searched again for longer lists. With `different`,
    copies of a node are left out of its list.
    """
    answer = search(nodes, first) if answer is None else answer
    lists, left = closed_at_once(nodes, answer, length, first > MOST, different)
    longer = min(GROWTH * first, MOST + 1)
    for start in range(0, left.size, AT_ONCE):
        some = nodes[left[start : start + AT_ONCE]]
        lists += closed_lists(search, some, length, longer, different=different)
    return lists


def closed_at_once(
    nodes: Indices, answer: Answer, length: int, is_last: bool = False, different: bool = False
) -> tuple[list[NearBlock], Nodes]:
    """Make closed lists from one search result, and return the indices of unfinished nodes.

    A closed list needs all points tied with its last one. A node is unfinished if some of them may
    be missing from the search result, `answer`. After the longest search (`is_last`), no node is
    unfinished: if ties may still be missing, a stand-in takes their places.
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
    """Yield closed lists cut from longer ones: without ties, with ties, and with stand-ins."""
    within = distances <= np.where(np.isfinite(reach), reach, np.finfo(np.float64).max)[:, None]
    counts = within.sum(axis=1)
    plain, tied = known & (counts <= length), known & (counts > length) & (counts <= MOST)
    if plain.any():
        some = slice(None) if plain.all() else plain
        yield NearBlock(nodes[some], *shortest(neighbors[some], distances[some], length))
    if tied.any():
        nearer = np.where(within[tied], distances[tied], np.inf)
        listed, apart = shortest(neighbors[tied], nearer, int(counts[tied].max()))
        yield NearBlock(nodes[tied], listed, apart, shares_of_places(apart, length))
    many = ~plain & ~tied
    if many.any():
        limits = np.minimum(reach, bounds)[many]
        yield with_stand_ins(nodes[many], neighbors[many], distances[many], limits, length)


def with_stand_ins(
    nodes: Indices, neighbors: Indices, distances: Floats, limits: Vector, length: int
) -> NearBlock:
    """Return lists of points nearer than the limits, each with a stand-in at the limit."""
    nearer = distances * (1 + TIED) < limits[:, None] / (1 + TIED)
    kept = np.where(nearer, distances, np.inf)
    listed, apart = shortest(neighbors, kept, min(length, neighbors.shape[1]))
    left = length - nearer.sum(axis=1)
    shares = np.column_stack([np.isfinite(apart).astype(np.float64), left])
    listed = np.column_stack([listed, np.full(nodes.size, STAND_IN)])
    return NearBlock(nodes, listed, np.column_stack([apart, limits]), shares)


def nearest_of_all(
    space: Space, length: int, check: Check = no_check, *, different: bool = False
) -> list[NearBlock]:
    """Return a closed list of length `length` for each point in a space."""
    search, nodes = searching(space, check), np.arange(space.n_rows)
    return closed_lists(search, nodes, length, length + SPARE, different=different)


def searching(space: Space, check: Check = no_check) -> Search:
    """Return a function that searches a space for the points nearest to each node."""

    def search(nodes: Indices, length: int) -> Answer:
        neighbors, bounds = space.nearest(nodes, min(length, space.n_rows - 1), check)
        return neighbors, space.distances_to(nodes, neighbors), bounds

    return search


def shortest(neighbors: Indices, distances: Floats, length: int) -> tuple[Indices, Floats]:
    """Return the `length` nearest of listed neighbors, in any order, and their distances."""
    if neighbors.shape[1] <= length:
        return neighbors, distances
    nearest = np.argpartition(distances, length - 1, axis=1)[:, :length]
    kept = np.take_along_axis(neighbors, nearest, axis=1)
    return kept, np.take_along_axis(distances, nearest, axis=1)


def shares_of_places(distances: Floats, length: int) -> Floats:
    """Divide `length` places among the entries of closed lists; ties share the last places."""
    reach = reach_of(distances, length)[:, None]
    nearer = distances * (1 + TIED) < reach / (1 + TIED)
    tied = (distances <= reach) & ~nearer & np.isfinite(distances)
    left = length - nearer.sum(axis=1, keepdims=True)
    n_tied = np.maximum(tied.sum(axis=1, keepdims=True), 1)
    shares: Floats = nearer + tied * np.minimum(left / n_tied, 1.0)
    return shares


def pattern_of(lists: Sequence[NearBlock], n_points: int) -> sparse.csr_array:
    """Return the symmetric pattern of all pairs in lists."""
    left, right = (np.concatenate([block.pairs[side] for block in lists]) for side in (0, 1))
    return union_of(left, right, n_points)


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
        cls, space: Space, floor_share: float = FLOOR_SHARE, check: Check = no_check
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
            raise Unsound(f"the floor share is {self.floor_share}, but it must be from 0 to 1")

    def of_nodes(self, nodes: Nodes) -> LocalScaling:
        """Return the scaling of the given nodes."""
        return LocalScaling(self.scales[nodes], self.floors[nodes], self.floor_share)

    def of_new(self, neighbors: Indices, distances: Floats) -> LocalScaling:
        """Compute the scaling of new nodes from squared distances to the nearest nodes and ties."""
        answer = neighbors, distances, np.full(len(neighbors), np.inf)
        lists, _ = closed_at_once(np.arange(len(neighbors)), answer, LISTED)
        return LocalScaling.from_lists(lists, self.floor_share, among=self)

    def costs_of_new(self, neighbors: Indices, distances: Floats) -> Floats:
        """Compute the costs of new nodes from squared distances to the nearest nodes and ties."""
        return self.costs_between(self.of_new(neighbors, distances), neighbors, distances)

    def costs_between(self, new: LocalScaling, neighbors: Indices, distances: Floats) -> Floats:
        """Compute the costs of new nodes, given their scaling and distances to fitted nodes."""
        scaled = distances / (new.scales[:, None] * self.scales[neighbors])
        return np.maximum(scaled, np.minimum(new.floors[:, None], self.floors[neighbors]))

    def costs(self, edges: PairStore, distances: Costs) -> Costs:
        """Compute the costs of candidate pairs from their squared distances."""
        return edges.localized(distances, self.scales, self.floors)


def by_node(lists: Sequence[NearBlock], values: Sequence[Vector]) -> Vector:
    """Arrange the values of all blocks in the order of the nodes."""
    ordered = np.empty(sum(block.nodes.size for block in lists))
    for block, part in zip(lists, values, strict=True):
        ordered[block.nodes] = part
    return ordered


def relative_costs(block: NearBlock, scales: Vector, theirs: Vector) -> Floats:
    """Divide squared distances to listed neighbors by both scales; copies get infinity."""
    mine = scales[block.nodes][:, None]
    others = np.where(block.neighbors == STAND_IN, mine, theirs[block.neighbors])
    return counted(block.distances) / (mine * others)


def first_scales(nearest: Vector, known: Vector) -> Vector:
    """Return the roots of squared distances; the median of `known` replaces infinite ones."""
    typical = np.median(known) if known.size else 1.0
    return np.sqrt(np.where(np.isfinite(nearest), nearest, typical))


def nearest_scale(block: NearBlock) -> Vector:
    """Return squared distances to the 7th neighbors; infinite if only copies are listed."""
    return smallest_at(counted(block.distances), SCALE_NEIGHBOR, block.shares)


def raised_scales(block: NearBlock, scales: Vector, theirs: Vector) -> Vector:
    """Raise scales where the 7th smallest cost would exceed 2; `theirs` are the neighbors'."""
    far = (
        smallest_at(relative_costs(block, scales, theirs), SCALE_NEIGHBOR, block.shares) / FAR_COST
    )
    return scales[block.nodes] * np.maximum(1.0, np.where(np.isfinite(far), far, 1.0))


def floors_of(block: NearBlock, scales: Vector, theirs: Vector, floor_share: float) -> Vector:
    """Compute the floors of nodes: a share of their 5th smallest cost."""
    floors = smallest_at(relative_costs(block, scales, theirs), FLOOR_NEIGHBOR, block.shares)
    return floor_share * np.where(np.isfinite(floors), floors, 1.0)


def smallest_at(values: Floats, rank: int, shares: Floats | None = None) -> Vector:
    """Return the rank-th smallest entry of each row.

    Rows with fewer finite entries give their largest finite entry, or infinity if they have none.

    `shares` is the share of a place that each entry has (None: one place each); the smallest
    entries take the first places.

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
