"""What a worker does with the candidate pairs of some nodes: pure functions.

Dask can run them anywhere and run them again. The pairs are an `rmgl.edges.stores.PairList` on the
nodes that occur in them, by ascending index, in which only the nodes of a block have rows. So every
row has its pairs in the same order as on one machine, and its sums are the same to the last bit.

Pairs are put together from lists of nearest rows and pairs within radii. Search works with places,
by which near rows are in the same block; candidate pairs are by nodes. A block of candidate pairs
has the nodes of one or several consecutive blocks of the search. No worker has all rows at once: a
task measures the pairs of a block whose other node is in one chunk of the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl import kernels
from rmgl.distributed.workers import joined
from rmgl.edges.certificate import Mask, only
from rmgl.edges.certificate import joined as union_of
from rmgl.edges.interface import Floats, Indices, Vector
from rmgl.edges.stores import Integers, PairList

DIGIT = 8
"""Bits of a cost that are looked at in one pass of a search for the cost of a given rank."""
Pieces = Sequence[Vector]
"""A vector with an entry for every node, in pieces."""
RowSums = tuple[Vector, NDArray[np.int32], Vector]
"""Three numbers for each node of a block."""
ActiveList = tuple[Integers, Integers]
"""Row starts and places of the active pairs of a block."""
GraphRows = tuple[Indices, NDArray[np.int32], Vector]
"""The number of edges of each of some nodes, the nodes at their other ends, and their weights."""
LEAST_ROWS = 16_384
"""Nodes of a block of candidate pairs at least: every request of the solver goes to each block."""
Lists = NDArray[np.int32]
"""The places of the nearest rows of each of some rows."""
Places = tuple[Indices, Indices]
"""Pairs of places."""
Hits = Sequence[tuple[Any, int, int]]
"""Pairs of rows that tasks have found, with the first places of the rows of both sides."""
Strip = tuple[int, int]
"""The first row of a chunk, and that of the next one."""


@dataclass(frozen=True)
class PairBlock:
    """The candidate pairs of some nodes."""

    nodes: Indices
    """Its nodes, ascending."""
    needed: Indices
    """Its nodes and all nodes that they are paired with, ascending."""
    places: Indices
    """The places of its nodes among the needed ones."""
    edges: PairList
    """The pairs, by places among the needed nodes."""

    @classmethod
    def of(cls, nodes: Indices, pattern: sparse.csr_array) -> PairBlock:
        """Make a block from a pattern with rows for its nodes and a column for every node."""
        pattern.sort_indices()
        occurs = np.zeros(pattern.shape[1], dtype=bool)
        occurs[pattern.indices] = True
        occurs[nodes] = True
        needed, place = np.flatnonzero(occurs), np.cumsum(occurs) - 1
        starts = np.zeros(needed.size + 1, dtype=np.int64)
        starts[place[nodes] + 1] = np.diff(pattern.indptr)
        dtype = np.int32 if pattern.nnz <= np.iinfo(np.int32).max else np.int64
        indptr = np.cumsum(starts, dtype=dtype)
        parts = (pattern.data, place[pattern.indices].astype(dtype), indptr)
        pairs = sparse.csr_array(parts, shape=(needed.size, needed.size))
        return cls(nodes, needed, place[nodes], PairList(pairs))

    @property
    def starts(self) -> Indices:
        """Where the pairs of each of its nodes begin, and the number of all pairs."""
        return np.append(self.edges.pairs[0][self.places], self.edges.indices.size)

    @property
    def degrees(self) -> Indices:
        """The number of pairs of each of its nodes."""
        return np.diff(self.starts)

    @property
    def others(self) -> Indices:
        """The node at the other end of every pair."""
        others: Indices = self.needed[self.edges.indices]
        return others

    def pattern(self, n_nodes: int) -> sparse.csr_array:
        """Return the pattern with a row for each of its nodes and a column for every node."""
        others = self.others
        parts = (np.ones(others.size, dtype=bool), others, self.starts)
        return sparse.csr_array(parts, shape=(self.nodes.size, n_nodes))

    def local(self, pieces: Pieces) -> Vector:
        """Return the entries of a vector that are needed here."""
        entries: Vector = joined(pieces)[self.needed]
        return entries


def row_sums(block: PairBlock, costs: Vector, u: Pieces) -> RowSums:
    """Sum (t_ij)_+, count t_ij > 0 and sum (t_ij)_+^2 for each node of the block."""
    excess, counts, squares = block.edges.row_sums(block.local(u), costs, 0.0)
    return excess[block.places], counts[block.places].astype(np.int32), squares[block.places]


def active_list(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> ActiveList:
    """Return row starts and places of the pairs with t_ij > 0, given row sums at the same u."""
    counts = np.zeros(block.needed.size)
    counts[block.places] = sums[1]
    starts, places, _ = block.edges.above(block.local(u), costs, 0.0, counts, weighted=False)
    return starts, places


def active_nodes(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> NDArray[np.int32]:
    """Return the other nodes of the pairs with t_ij > 0, one node of the block after the other."""
    return block.needed[active_list(block, costs, u, sums)[1]].astype(np.int32)


def active_product(block: PairBlock, active: ActiveList, v: Pieces) -> Vector:
    """Sum v_i + v_j over the active pairs of each node of the block."""
    out = np.empty(block.needed.size)
    kernels.pattern_product(*active, block.local(v), 0, block.needed.size, out)
    return out[block.places]


def active_rows(block: PairBlock, costs: Vector, u: Pieces, least: float) -> GraphRows:
    """Return the t_ij > least of the nodes of a block."""
    graph = block.edges.active(block.local(u), costs, least)
    counts = np.diff(graph.indptr)[block.places]
    return counts, block.needed[graph.indices].astype(np.int32), graph.data


def row_products(block: PairBlock, costs: Vector, first: int, rows: GraphRows) -> Vector:
    """Return sum_j z_ij w_ij for rows of a graph, from place `first` in the block on."""
    counts, others, weights = rows
    asked = block.places[first : first + counts.size]
    place_of = np.zeros(block.needed[-1] + 1, dtype=np.int32)
    place_of[block.needed] = np.arange(block.needed.size)
    starts = np.zeros(block.needed.size + 1, dtype=np.int64)
    starts[asked + 1] = counts
    parts = (weights, place_of[others], np.cumsum(starts))
    graph = sparse.csr_array(parts, shape=(block.needed.size, block.needed.size))
    return block.edges.row_products(costs, graph)[asked]


def localized(block: PairBlock, distances: Vector, scales: Pieces, floors: Pieces) -> Vector:
    """Turn squared distances into costs by local scaling."""
    return block.edges.localized(distances, block.local(scales), block.local(floors))


def summary_of(costs: Vector) -> tuple[float, float, float]:
    """Return the smallest and the largest cost, and the sum of all."""
    return float(costs.min(initial=np.inf)), float(costs.max(initial=0.0)), float(costs.sum())


def sampled(block: PairBlock, costs: Vector, rows: Indices, ranks: Indices) -> Vector:
    """Return costs of pairs that are given by the place of a node in the block and a rank there."""
    sample: Vector = costs[block.starts[rows] + ranks]
    return sample


def digits(costs: Vector, shift: int, known: int) -> Indices:
    """Count costs by the 8 bits from `shift` on, where all higher bits are those of `known`.

    Numbers >= 0 are in the order of their bits.
    """
    bits = (costs + 0.0).view(np.uint64) >> np.uint64(shift)
    same = bits >> np.uint64(DIGIT) == np.uint64(known)
    last = (bits[same] & np.uint64((1 << DIGIT) - 1)).astype(np.int64)
    return np.bincount(last, minlength=1 << DIGIT)


def around(costs: Vector, low: float, high: float) -> tuple[float, Vector]:
    """Return the sum of the costs below `low`, and the costs from there to below `high`."""
    below = costs < low
    return float(costs[below].sum()), costs[~below & (costs < high)]


def grouped(starts: Indices) -> list[range]:
    """Put consecutive blocks together until they have enough rows.

    `starts` are the first places of the blocks, and the number of all rows.
    """
    groups, first = [], 0
    for block in range(1, starts.size):
        if starts[block] - starts[first] >= LEAST_ROWS or block == starts.size - 1:
            groups.append(range(first, block))
            first = block
    if len(groups) > 1 and starts[groups[-1].stop] - starts[groups[-1].start] < LEAST_ROWS // 2:
        last = groups.pop()
        groups[-1] = range(groups[-1].start, last.stop)
    return groups


def pairs_in_lists(lists: Sequence[Lists], first: int) -> Places:
    """Return the places of rows, from `first` on, and of the rows in their lists."""
    whole = np.concatenate(lists)
    rows = np.repeat(np.arange(first, first + len(whole)), whole.shape[1])
    return rows, whole.ravel().astype(np.int64)


def turned_pairs(lists: Sequence[Lists], first: int, places: range) -> Places:
    """Turn around the pairs in lists of rows from `first` on whose other row is in a range."""
    rows, others = pairs_in_lists(lists, first)
    inside = (others >= places.start) & (others < places.stop)
    return others[inside], rows[inside]


def block_of_lists(
    order: Sequence[Indices], places: range, lists: Sequence[Lists], turned: Sequence[Places]
) -> PairBlock:
    """Make the block of the rows in a range of places, from their lists and those they are in."""
    pairs = [pairs_in_lists(lists, places.start), *turned]
    return PairBlock.of(*pattern_at(joined(order), places, pairs))


def grown_block(
    block: PairBlock, order: Sequence[Indices], places: range, hits: Hits
) -> tuple[PairBlock, PairBlock, Mask]:
    """Return a block with more pairs, the block of the new ones alone, and which pairs are new."""
    by_place = joined(order)
    nodes, added = pattern_at(by_place, places, pairs_within(places, hits))
    union, is_new = union_of(block.pattern(by_place.size), added)
    return PairBlock.of(nodes, union), PairBlock.of(nodes, only(union, is_new)), is_new


def pairs_within(places: range, hits: Hits) -> list[Places]:
    """Return the pairs of rows in a range of places, in both orders where both rows are in it."""
    pairs: list[Places] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for (left, right), first, second in hits:
        both = first + left.astype(np.int64), second + right.astype(np.int64)
        for one, other in (both, both[::-1]):
            inside = (one >= places.start) & (one < places.stop)
            pairs.append((one[inside], other[inside]))
    return pairs


def collected(places: range, hits: Hits) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs of rows in a range of places with others, for a checkpoint."""
    left, right = zip(*pairs_within(places, hits), strict=True)
    return np.concatenate(left).astype(np.int32), np.concatenate(right).astype(np.int32)


def pattern_at(
    order: Indices, places: range, pairs: Sequence[Places]
) -> tuple[Indices, sparse.csr_array]:
    """Return the nodes in a range of places, ascending, and the pattern of their pairs.

    `order` are the nodes by places.
    """
    of_places = order[places.start : places.stop]
    by_node = np.argsort(of_places)
    rank = np.empty(len(places), dtype=np.int64)
    rank[by_node] = np.arange(len(places))
    rows, others = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    parts = (np.ones(rows.size, dtype=bool), (rank[rows - places.start], order[others]))
    return of_places[by_node], sparse.csr_array(parts, shape=(len(places), order.size))


def nearer_pairs(block: PairBlock, distances: Vector, bounds: Sequence[Vector]) -> PairBlock:
    """Keep the pairs that are nearer than the bound of one of their nodes."""
    limits = block.local(bounds)
    of_node = np.repeat(limits[block.places], block.degrees)
    kept = (distances < of_node) | (distances < limits[block.edges.indices])
    return PairBlock.of(block.nodes, only(block.pattern(sum(map(len, bounds))), kept))


def pairs_in_reach(block: PairBlock, costs: Vector, radii: Sequence[Vector]) -> PairBlock:
    """Keep the pairs whose cost is below the sum of the radii of their nodes."""
    limits = block.local(radii)
    reach = np.repeat(limits[block.places], block.degrees) + limits[block.edges.indices]
    return PairBlock.of(block.nodes, only(block.pattern(sum(map(len, radii))), costs < reach))


def block_given(
    n_nodes: int, nodes: Indices, starts: Indices, others: NDArray[np.int32]
) -> PairBlock:
    """Make the block of pairs that are listed row by row, from `starts` among all pairs."""
    parts = (np.ones(others.size, dtype=bool), others, starts - starts[0])
    return PairBlock.of(nodes, sparse.csr_array(parts, shape=(nodes.size, n_nodes)))


def patched_lists(lists: Lists, rows: Indices, better: Lists) -> Lists:
    """Replace the lists of some rows."""
    patched = lists.copy()
    patched[rows] = better
    return patched


def strip_entries(block: PairBlock, strip: Strip) -> Indices:
    """Return the places of the pairs whose other node is in a strip."""
    first, stop = np.searchsorted(block.needed, strip)
    return np.flatnonzero((block.edges.indices >= first) & (block.edges.indices < stop))


def strip_distances(block: PairBlock, rows: Floats, chunk: Floats, strip: Strip) -> Vector:
    """Measure the pairs of a block with nodes in a chunk, from differences of their rows."""
    first, stop = np.searchsorted(block.needed, strip)
    starts, others = block.starts, block.edges.pairs[1]
    if stop - first < block.needed.size:
        entries = strip_entries(block, strip)
        starts, others = np.searchsorted(entries, starts), others[entries] - np.int32(first)
    theirs = chunk if stop - first == len(chunk) else chunk[block.needed[first:stop] - strip[0]]
    out = np.empty(others.size)
    kernels.list_distances(rows, theirs, starts, others, 0, block.nodes.size, out)
    return out


def join_strips(block: PairBlock, parts: Sequence[Vector], strips: Sequence[Strip]) -> Vector:
    """Put the distances of all pairs of a block together."""
    if len(parts) == 1:
        return parts[0]
    out = np.empty(block.edges.indices.size)
    for part, strip in zip(parts, strips, strict=True):
        out[strip_entries(block, strip)] = part
    return out
