"""What a worker does with the candidate pairs of some nodes: pure functions, which Dask can run anywhere and run again.

The pairs are an `rmgl.edges.pair_list.PairList` on the nodes that occur in them, by ascending index, in which only the own nodes have rows.
So every row has its pairs in the same order as on one machine, and its sums are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.cluster import joined
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Vector
from rmgl.edges.pair_list import Integers, PairList

DIGIT = 8
"""Bits of a cost that are looked at in one pass of a search for the cost of a given rank."""
Pieces = Sequence[Vector]
"""A vector with an entry for every node, in pieces."""
RowSums = tuple[Vector, NDArray[np.int32], Vector]
"""Three numbers for each of the own nodes."""
ActiveList = tuple[Integers, Integers]
"""Row starts and places of the active pairs of a block."""
GraphRows = tuple[Indices, NDArray[np.int32], Vector]
"""The number of edges of some nodes, one after the other, the nodes at their other ends, and their weights."""


@dataclass(frozen=True)
class PairBlock:
    """The candidate pairs of some nodes."""

    nodes: Indices
    """The own nodes, ascending."""
    needed: Indices
    """These and all nodes that they are paired with, ascending."""
    own: Indices
    """The places of the own nodes among those."""
    edges: PairList
    """The pairs, by places."""

    @classmethod
    def of(cls, nodes: Indices, pattern: sparse.csr_array) -> PairBlock:
        """The pairs in a pattern with a row for each of the own nodes and a column for every node."""
        pattern.sort_indices()
        occurs = np.zeros(pattern.shape[1], dtype=bool)
        occurs[pattern.indices], occurs[nodes] = True, True
        needed, place = np.flatnonzero(occurs), np.cumsum(occurs) - 1
        starts = np.zeros(needed.size + 1, dtype=np.int64)
        starts[place[nodes] + 1] = np.diff(pattern.indptr)
        indptr = np.cumsum(starts, dtype=np.int32 if pattern.nnz <= np.iinfo(np.int32).max else np.int64)
        parts = (pattern.data, place[pattern.indices].astype(indptr.dtype), indptr)
        return cls(nodes, needed, place[nodes], PairList(sparse.csr_array(parts, shape=(needed.size, needed.size))))

    @property
    def starts(self) -> Indices:
        """Where the pairs of every own node begin, and the number of all pairs."""
        return np.append(self.edges.pairs[0][self.own], self.edges.indices.size)

    @property
    def degrees(self) -> Indices:
        return np.diff(self.starts)

    def pattern(self, n_nodes: int) -> sparse.csr_array:
        """The pairs as a pattern with a row for each of the own nodes and a column for every node."""
        columns = self.needed[self.edges.indices]
        return sparse.csr_array((np.ones(columns.size, dtype=bool), columns, self.starts), shape=(self.nodes.size, n_nodes))

    def local(self, pieces: Pieces) -> Vector:
        """The entries of a vector that are needed here."""
        entries: Vector = joined(pieces)[self.needed]
        return entries


def degrees_of(block: PairBlock) -> Indices:
    return block.degrees


def row_sums(block: PairBlock, costs: Vector, u: Pieces) -> RowSums:
    """The sums of (t_ij)_+, the number of t_ij > 0 and the sums of (t_ij)_+^2 of the own nodes."""
    excess, counts, squares = block.edges.row_sums(block.local(u), costs, 0.0)
    return excess[block.own], counts[block.own].astype(np.int32), squares[block.own]


def active_list(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> ActiveList:
    """Row starts and places of the pairs with t_ij > 0; `sums` are the row sums at the same potentials."""
    counts = np.zeros(block.needed.size)
    counts[block.own] = sums[1]
    starts, found, _ = block.edges.above(block.local(u), costs, 0.0, counts, weighted=False)
    return starts, found


def active_nodes(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> NDArray[np.int32]:
    """The nodes at the other ends of the pairs with t_ij > 0, one own node after the other."""
    return block.needed[active_list(block, costs, u, sums)[1]].astype(np.int32)


def active_product(block: PairBlock, active: ActiveList, v: Pieces) -> Vector:
    """The sums of v_i + v_j over the active pairs of the own nodes."""
    from rmgl import kernels

    out = np.empty(block.needed.size)
    kernels.pattern_product(*active, block.local(v), 0, block.needed.size, out)
    return out[block.own]


def active_rows(block: PairBlock, costs: Vector, u: Pieces, least: float) -> GraphRows:
    """The t_ij > least of the own nodes."""
    found = block.edges.active(block.local(u), costs, least)
    return np.diff(found.indptr)[block.own], block.needed[found.indices].astype(np.int32), found.data


def local_graph(block: PairBlock, first: int, rows: GraphRows) -> sparse.csr_array:
    """Some rows of a graph of candidate pairs, from the own node at place `first` on, by places."""
    counts, nodes, data = rows
    at_node = np.zeros(block.needed[-1] + 1, dtype=np.int32)
    at_node[block.needed] = np.arange(block.needed.size)
    starts = np.zeros(block.needed.size + 1, dtype=np.int64)
    starts[block.own[first : first + counts.size] + 1] = counts
    shape = (block.needed.size, block.needed.size)
    return sparse.csr_array((data, at_node[nodes], np.cumsum(starts)), shape=shape)


def row_products(block: PairBlock, costs: Vector, first: int, rows: GraphRows) -> Vector:
    """sum_j z_ij w_ij for some rows of a graph."""
    totals = block.edges.row_products(costs, local_graph(block, first, rows))
    return totals[block.own[first : first + rows[0].size]]


def localized(block: PairBlock, distances: Vector, scales: Pieces, floors: Pieces) -> Vector:
    return block.edges.localized(distances, block.local(scales), block.local(floors))


def summary_of(costs: Vector) -> tuple[float, float, float]:
    """The smallest and the largest cost, and the sum of all."""
    return float(costs.min(initial=np.inf)), float(costs.max(initial=0.0)), float(costs.sum())


def sampled(block: PairBlock, costs: Vector, rows: Indices, ranks: Indices) -> Vector:
    """The costs of pairs that are given by the place of their own node and their rank in its row."""
    found: Vector = costs[block.starts[rows] + ranks]
    return found


def digits(costs: Vector, shift: int, known: int) -> Indices:
    """How many of the costs whose highest bits, down to `shift` + 8, are those of `known` have which next 8 bits.

    Numbers >= 0 are in the order of their bits.
    """
    bits = (costs + 0.0).view(np.uint64) >> np.uint64(shift)
    same = bits >> np.uint64(DIGIT) == np.uint64(known)
    return np.bincount((bits[same] & np.uint64((1 << DIGIT) - 1)).astype(np.int64), minlength=1 << DIGIT)


def around(costs: Vector, low: float, high: float) -> tuple[int, float, Vector]:
    """The number and the sum of the costs below `low`, and the costs from there to below `high`."""
    below = costs < low
    return int(below.sum()), float(costs[below].sum()), costs[~below & (costs < high)]


def calculated(operation: Any, one: Vector, other: Any) -> Vector:
    """The sum, difference or product of costs, or of costs and a number."""
    result: Vector = operation(one, other)
    return result
