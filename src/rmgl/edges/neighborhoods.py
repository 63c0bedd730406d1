"""Candidate pairs with a certificate that no other pair can carry weight.

A pair can carry weight only if its cost is below u_i + u_j, and costs are at least the squared
distances z_ij, or the locally scaled ones z_ij / (s_i s_j). Let every node have a radius such that
all pairs with z_ij < s_i s_j (radius_i + radius_j) are candidates (s = 1 without scaling). If u_i
<= radius_i for all i, a pair that is not a candidate has

    u_i + u_j <= radius_i + radius_j <= z_ij / (s_i s_j)

so it carries no weight, whatever the embedding adds to the costs: the solution over the candidates
*is* the solution over all pairs.

A pair that is in no list of nearest neighbors has z_ij >= sqrt(rho_i rho_j), with rho_i the squared
distance from i to the last neighbor in its list. In units of s_i s_j, that is a_i a_j, where
a_i = sqrt(rho_i) / s_i. For any number c, these lists guarantee the radii

    radius_i = c a_i - c^2 / 2  where a_i >= c,      c^2 / 2 - (c - a_i) max(a)  elsewhere

because radius_i + radius_j = a_i a_j - (a_i - c) (a_j - c) if both a_i and a_j are at least c, and
at most a_i a_j otherwise. Without scaling, radius_i = rho_i / 2, because
z_ij >= (rho_i + rho_j) / 2. If a node's u exceeds its radius, the radius is raised to slightly
above u, the pairs within it are added, and the solver continues from its last point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl import kernels
from rmgl.edges.certificate import ListCertificate, joined
from rmgl.edges.interface import Evaluation, Floats, Indices, Nodes, Searchable, Vector, as_vector
from rmgl.edges.local_scaling import (
    LISTED,
    MOST,
    TIED,
    Answer,
    LocalScaling,
    NearBlock,
    closed_at_once,
    closed_lists,
    laid_out,
    pattern_of,
    searching,
)
from rmgl.edges.space import Space, Square
from rmgl.edges.stores import PairList, union_of
from rmgl.running.threads import Check, InParts, no_check, one_part, require_memory

BYTES_PER_LISTED = 100
"""Memory for one listed neighbor: pattern, its transpose and union, distances and costs."""
LOOKED_THROUGH = 4096
"""Number of rows whose lists are scanned at once."""
FORESIGHT = 0.15
"""Margin by which a radius exceeds u, relative to the mean excess of a node's active pairs.

A larger margin means fewer searches and more candidates."""
SHORT = 0.01
"""Fraction of the nodes whose lists count as short compared with their scale."""
LONG_LISTS = 100
"""Candidate pairs per node above which unneeded pairs are dropped."""
LEAST_ADDED = 16
"""Pairs that may be added at each node at once, or the mean list length if that is larger."""


@dataclass(frozen=True)
class Neighborhoods(ListCertificate):
    """Candidate pairs of the points in a space, including every pair within the radii."""

    space: Searchable
    radii: Vector

    @classmethod
    def search(
        cls,
        space: Searchable,
        length: int,
        in_parts: InParts = one_part,
        check: Check = no_check,
        local: float | None = None,
    ) -> Neighborhoods:
        """Find the exact `length` nearest neighbors of each point."""
        pattern, scaling, bounds = first_pairs(space, length, local, check)
        radii = bounds / 2 if scaling is None else first_radii(bounds, scaling)
        return cls(space, radii, pattern=pattern, in_parts=in_parts, scaling=scaling)

    def too_small(self, potentials: Vector) -> Nodes:
        """Return the nodes whose potential u exceeds their radius; a valid certificate has none."""
        return np.flatnonzero(potentials > self.radii)

    def extended(
        self, u: Vector, costs: Vector, guide: Floats | None, check: Check = no_check
    ) -> Neighborhoods:
        """Add the pairs that a certificate at u needs; return self if it already holds.

        `costs` are those of the candidate pairs. The guide makes no other pair cheaper, so it is
        ignored here.
        """
        nodes = self.too_small(u)
        if nodes.size == 0:
            return self
        return self.widened(nodes, foreseen(u, self.edges.evaluate(u, costs)), check)

    def widened(self, nodes: Nodes, reached: Vector, check: Check = no_check) -> Neighborhoods:
        """Enlarge the radii of the given nodes to what potentials may reach; add the new pairs."""
        radii = enlarged(self.radii, nodes, reached)
        scales = None if self.scaling is None else self.scaling.scales
        left, right = self.space.within(nodes, radii, scales, check)
        n_listed = self.pattern.nnz + 2 * len(left)
        require_list_memory(1, n_listed, "the pairs that a certificate needs")
        pattern, is_new = joined(self.pattern, union_of(left, right, radii.size))
        return replace(self, pattern=pattern, radii=radii, is_new=is_new)

    def pruned(self, u: Vector, costs: Vector) -> Neighborhoods:
        """Return self: every pair within the radii is needed."""
        return self

    def tightened(self, u: Vector, costs: Vector) -> Neighborhoods:
        """Shrink the radii to the farthest that potentials may reach from u; drop the pairs beyond.

        Floors only raise costs, so a pair beyond the radii cannot carry weight at u.
        """
        radii = np.minimum(self.radii, foreseen(u, self.edges.evaluate(u, costs)))
        return replace(self.reduced_to(self.edges.active(radii, costs, 0.0)), radii=radii)

    def nearest(self, length: int) -> list[NearBlock] | None:
        if self.scaling is None or length > LISTED:
            return None
        return nearest_listed(self.edges, self.space, length)


@dataclass(frozen=True)
class Checked(ListCertificate):
    """Candidate pairs in a space of known distances, with a check of all other pairs at a solution.

    If no pair outside the candidates has a cost below u_i + u_j, the solution over the candidates
    *is* the solution over all pairs. Otherwise, the pairs that would get the most weight become
    candidates, a few at each node, and the solver continues from its last point.
    """

    space: Square

    @classmethod
    def search(
        cls,
        space: Square,
        length: int,
        in_parts: InParts = one_part,
        check: Check = no_check,
        local: float | None = None,
    ) -> Checked:
        """Start from the `length` nearest neighbors of each point."""
        pattern, scaling, _ = first_pairs(space, length, local, check)
        return cls(space, pattern=pattern, in_parts=in_parts, scaling=scaling)

    def extended(
        self, u: Vector, costs: Vector, guide: Floats | None, check: Check = no_check
    ) -> Checked:
        """Add pairs that would carry weight at u; return self if the solution is certified."""
        n = self.space.n_rows
        scales, floors = np.ones(n), np.zeros(n)
        if self.scaling is not None:
            scales, floors = self.scaling.scales, self.scaling.floors
        rows = np.zeros((n, 1)) if guide is None else np.ascontiguousarray(guide)
        most = min(n - 1, max(LEAST_ADDED, self.pattern.nnz // n))
        left, right = self.space.missing(u, self.edges, scales, floors, rows, most, check)
        if left.size == 0:
            return self
        pattern, is_new = joined(self.pattern, union_of(left, right, n))
        return replace(self, pattern=pattern, is_new=is_new)

    def pruned(self, u: Vector, costs: Vector) -> Checked:
        """If lists are long, drop pairs whose cost is far above u_i + u_j.

        The limit is the mean excess of the active pairs of both nodes.
        """
        if self.pattern.nnz <= LONG_LISTS * self.space.n_rows:
            return self
        sums = self.edges.evaluate(u, costs)
        reach = u + sums.excess / np.maximum(sums.counts, 1.0) / 2
        kept = self.edges.active(reach, costs, 0.0)
        if 2 * kept.nnz > self.pattern.nnz:
            return self
        return self.reduced_to(kept)

    def tightened(self, u: Vector, costs: Vector) -> Checked:
        """Return self: there are no radii, and `pruned` drops pairs far from carrying weight."""
        return self

    def nearest(self, length: int) -> None:
        """Return None: the nearest neighbors may have been dropped."""


def first_pairs(
    space: Space, length: int, local: float | None, check: Check
) -> tuple[sparse.csr_array, LocalScaling | None, Vector]:
    """Return the first candidate pairs, their scaling, and bounds on all other distances.

    The pattern holds the `length` nearest neighbors of each point, except the last one and its
    ties. It also holds the closed lists (`rmgl.edges.local_scaling`) that the scaling needs or,
    without scaling, closed lists of that length. `local` is the floor share of the scaling (None:
    no scaling). The bounds are lower bounds on squared distances.
    """
    closed = length if local is None else LISTED
    nodes, search = np.arange(space.n_rows), searching(space, check)
    neighbors, distances, bounds = search(nodes, max(length, closed + 1))
    bounds = bounds / (1 + TIED)
    answer = (neighbors, distances, bounds)
    lists = closed_lists(search, nodes, closed, neighbors.shape[1], answer=answer)
    ends = np.where(np.isinf(bounds), np.inf, distances.max(axis=1) / (1 + TIED))
    kept = distances < ends[:, None]
    # all listed points are tied: a first solution needs some of them
    kept[~kept.any(axis=1)] = True
    nearer = NearBlock(nodes, neighbors, np.where(kept, distances, np.inf))
    tied = [block for block in lists if block.shares is not None]
    pattern = pattern_of([nearer, *tied], nodes.size)
    scaling = None if local is None else LocalScaling.from_lists(lists, local)
    return pattern, scaling, np.minimum(bounds, ends)


def require_list_memory(n_nodes: int, length: int, purpose: str) -> None:
    """Raise a MemoryError, before any allocation, if lists of `length` neighbors would not fit."""
    n_listed = n_nodes * length
    purpose = f"{purpose}: {n_listed:,} listed neighbors"
    advice = "use fewer neighbors (a smaller alpha) or fewer rows"
    require_memory(BYTES_PER_LISTED * n_listed, purpose, advice)


def foreseen(u: Vector, sums: Evaluation) -> Vector:
    """Return what potentials may reach, a little beyond u."""
    return u + FORESIGHT * sums.excess / np.maximum(sums.counts, 1.0)


def enlarged(radii: Vector, nodes: Nodes, reached: Vector) -> Vector:
    """Set the radii of the given nodes to what potentials may reach."""
    larger = radii.copy()
    larger[nodes] = reached[nodes]
    return larger


def first_radii(bounds: Vector, scaling: LocalScaling) -> Vector:
    """Compute the radii of neighbor lists from bounds on the distances to all other points.

    c is chosen so that few nodes have a smaller a (see the top of this module). Few radii are
    therefore far below a^2 / 2, the largest possible radius if all nodes have the same a.
    """
    relative = np.sqrt(np.maximum(bounds, 0.0)) / scaling.scales
    known = relative[np.isfinite(relative)]
    if known.size == 0:  # the lists hold all other points
        return np.full(bounds.size, np.inf)
    level, most = float(np.quantile(known, SHORT)), float(known.max())
    a = np.where(np.isfinite(relative), relative, most)
    radii = np.where(a >= level, level * a - level**2 / 2, level**2 / 2 - (level - a) * most)
    return np.where(np.isfinite(relative), radii, np.inf)


def nearest_listed(edges: PairList, space: Space, length: int) -> list[NearBlock] | None:
    """Return a closed list of the nearest points for each node, without copies of the node.

    Returns None if a node has fewer than 30 listed neighbors. If copies fill so much of a node's
    list that other points may be missing, the space is searched.
    """
    if np.diff(edges.indptr).min() < LISTED:
        return None
    distances = as_vector(space.measure(edges))
    search, lists = searching(space), list[NearBlock]()
    for nodes, *listed in looked_through(edges, distances):
        answer = nearest_among(*listed)
        lists += closed_lists(search, nodes, length, LISTED, different=True, answer=answer)
    return lists


def scaling_among(edges: PairList, distances: Vector, floor_share: float) -> LocalScaling | None:
    """Compute the local scaling from the nearest listed points (None: a node has fewer than 30)."""
    if np.diff(edges.indptr).min() < LISTED:
        return None
    lists = [
        block
        for nodes, *listed in looked_through(edges, distances)
        for block in closed_among(nodes, *listed)
    ]
    return LocalScaling.from_lists(lists, floor_share)


def looked_through(
    edges: PairList, distances: Vector
) -> Iterator[tuple[Indices, Indices, NDArray[Any], Vector]]:
    """Yield a group of nodes at a time: nodes, starts of their lists, listed points, distances."""
    for first in range(0, edges.n_nodes, LOOKED_THROUGH):
        starts = edges.indptr[first : first + LOOKED_THROUGH + 1]
        some, nodes = slice(starts[0], starts[-1]), np.arange(first, first + starts.size - 1)
        yield nodes, starts - starts[0], edges.indices[some], distances[some]


def nearest_among(starts: Indices, others: NDArray[Any], distances: Vector) -> Answer:
    """Return the 30 nearest of the `others` listed for each node.

    The list of a node lies between two consecutive `starts`.
    """
    entries = nearest_entries(starts, distances, LISTED)
    nearest = distances[entries]
    return others[entries].astype(np.int64), nearest, nearest.max(axis=1)


def closed_among(
    nodes: Indices, starts: Indices, others: NDArray[Any], distances: Vector
) -> list[NearBlock]:
    """Return closed lists of length 30, cut from longer lists that contain all of their points."""
    answer = nearest_among(starts, others, distances)
    blocks, left = closed_at_once(nodes, answer, LISTED)
    if left.size == 0:
        return blocks
    reach = np.full(nodes.size, -1.0)
    reach[left] = answer[2][left] * (1 + TIED)
    row = np.repeat(np.arange(nodes.size), np.diff(starts))
    counts = np.bincount(row[distances <= reach[row]], minlength=nodes.size)
    # a stand-in takes the places of too many ties: only nearer points are needed
    reach[counts > MOST] /= (1 + TIED) ** 3
    kept = np.flatnonzero(distances <= reach[row])
    lengths = np.bincount(row[kept], minlength=nodes.size)
    place = np.arange(kept.size) - (np.cumsum(lengths) - lengths)[row[kept]]
    apart = np.full((nodes.size, int(lengths.max())), np.inf)
    near = np.zeros(apart.shape, dtype=np.int64)
    near[row[kept], place], apart[row[kept], place] = others[kept], distances[kept]
    many = counts[left] > MOST
    limits = answer[2][left] * (1 + TIED)
    bounds = np.where(many, limits, np.inf)
    lists = laid_out(nodes[left], near[left], apart[left], limits, bounds, ~many, LISTED)
    return [*blocks, *lists]


def nearest_entries(starts: Indices, distances: Vector, length: int) -> Indices:
    """Return the entries with the `length` smallest distances of every row, in any order.

    `starts` holds the start of each row and the end of the last. No row may have fewer than
    `length` entries.
    """
    of_row = np.repeat(np.arange(starts.size - 1, dtype=np.int32), np.diff(starts))
    scores = np.full((starts.size - 1, length), -np.finfo(np.float64).max)
    chosen = np.zeros(scores.shape, dtype=np.int32)
    kernels.insert(of_row, np.arange(of_row.size, dtype=np.int32), -distances, scores, chosen)
    return chosen.astype(np.int64)
