"""What a worker does with the candidate pairs of some nodes.

These are pure functions, which Dask can run anywhere and run again. The pairs are an
`rmgl.edges.stores.PairList` on the nodes that occur in them, by ascending index, in which only the
own nodes of a block have rows. So every row has its pairs in the same order as on one machine, and
its sums are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.workers import joined
from rmgl.edges.interface import Indices, Vector
from rmgl.edges.stores import Integers, PairList

DIGIT = 8
"""Bits of a cost that are looked at in one pass of a search for the cost of a given rank."""
Pieces = Sequence[Vector]
"""A vector with an entry for every node, in pieces."""
RowSums = tuple[Vector, NDArray[np.int32], Vector]
"""Three numbers for each of the own nodes."""
ActiveList = tuple[Integers, Integers]
"""Row starts and places of the active pairs of a block."""
GraphRows = tuple[Indices, NDArray[np.int32], Vector]
"""The number of edges of each of some nodes, the nodes at their other ends, and their weights."""


@dataclass(frozen=True)
class PairBlock:
    """The candidate pairs of some nodes."""

    nodes: Indices
    """The own nodes, ascending."""
    needed: Indices
    """The own nodes and all nodes that they are paired with, ascending."""
    own: Indices
    """The places of the own nodes among the needed ones."""
    edges: PairList
    """The pairs, by places among the needed nodes."""

    @classmethod
    def of(cls, nodes: Indices, pattern: sparse.csr_array) -> PairBlock:
        """Make a block from a pattern with a row for each own node and a column for every node."""
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
        """Where the pairs of every own node begin, and the number of all pairs."""
        return np.append(self.edges.pairs[0][self.own], self.edges.indices.size)

    @property
    def degrees(self) -> Indices:
        """The number of pairs of every own node."""
        return np.diff(self.starts)

    @property
    def others(self) -> Indices:
        """The node at the other end of every pair."""
        others: Indices = self.needed[self.edges.indices]
        return others

    def pattern(self, n_nodes: int) -> sparse.csr_array:
        """Return the pattern with a row for each own node and a column for every node."""
        others = self.others
        parts = (np.ones(others.size, dtype=bool), others, self.starts)
        return sparse.csr_array(parts, shape=(self.nodes.size, n_nodes))

    def local(self, pieces: Pieces) -> Vector:
        """Return the entries of a vector that are needed here."""
        entries: Vector = joined(pieces)[self.needed]
        return entries


def row_sums(block: PairBlock, costs: Vector, u: Pieces) -> RowSums:
    """Sum (t_ij)_+, count t_ij > 0 and sum (t_ij)_+^2 for each of the own nodes."""
    excess, counts, squares = block.edges.row_sums(block.local(u), costs, 0.0)
    return excess[block.own], counts[block.own].astype(np.int32), squares[block.own]


def active_list(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> ActiveList:
    """Return row starts and places of the pairs with t_ij > 0.

    `sums` are the row sums at the same potentials.
    """
    counts = np.zeros(block.needed.size)
    counts[block.own] = sums[1]
    starts, places, _ = block.edges.above(block.local(u), costs, 0.0, counts, weighted=False)
    return starts, places


def active_nodes(block: PairBlock, costs: Vector, u: Pieces, sums: RowSums) -> NDArray[np.int32]:
    """Return the other nodes of the pairs with t_ij > 0, one own node after the other."""
    return block.needed[active_list(block, costs, u, sums)[1]].astype(np.int32)


def active_product(block: PairBlock, active: ActiveList, v: Pieces) -> Vector:
    """Sum v_i + v_j over the active pairs of each of the own nodes."""
    from rmgl import kernels

    out = np.empty(block.needed.size)
    kernels.pattern_product(*active, block.local(v), 0, block.needed.size, out)
    return out[block.own]


def active_rows(block: PairBlock, costs: Vector, u: Pieces, least: float) -> GraphRows:
    """Return the t_ij > least of the own nodes."""
    graph = block.edges.active(block.local(u), costs, least)
    counts = np.diff(graph.indptr)[block.own]
    return counts, block.needed[graph.indices].astype(np.int32), graph.data


def row_products(block: PairBlock, costs: Vector, first: int, rows: GraphRows) -> Vector:
    """Return sum_j z_ij w_ij for some rows of a graph, from the own node at place `first` on."""
    counts, others, weights = rows
    asked = block.own[first : first + counts.size]
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
    """Return costs of pairs that are given by the place of their own node and the rank there."""
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
