"""How candidate pairs come together on the workers: from lists of nearest rows, and from pairs within radii.

Search works with places, by which near rows are in the same block; candidate pairs are by nodes. A block of candidate pairs has the
nodes of one or several consecutive blocks of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.cluster import joined
from rmgl.distributed.pair_blocks import PairBlock
from rmgl.edges import growth
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Vector

LEAST_ROWS = 16_384
"""Nodes of a block of candidate pairs: every request of the solver goes to each block, so blocks should not be too many."""
Places = tuple[Indices, Indices]
"""Pairs of places."""


def grouped(starts: Indices) -> list[range]:
    """Consecutive blocks that are put together until they have enough rows; `starts` are their first places, and the number of all rows."""
    groups, first = [], 0
    for block in range(1, starts.size):
        if starts[block] - starts[first] >= LEAST_ROWS or block == starts.size - 1:
            groups.append(range(first, block))
            first = block
    if len(groups) > 1 and starts[groups[-1].stop] - starts[groups[-1].start] < LEAST_ROWS // 2:
        last = groups.pop()
        groups[-1] = range(groups[-1].start, last.stop)
    return groups


def pairs_in_lists(lists: Sequence[NDArray[np.int32]], first: int) -> Places:
    """The places of rows, from `first` on, and of the rows in their lists."""
    joined_lists = np.concatenate(lists)
    return np.repeat(np.arange(first, first + len(joined_lists)), joined_lists.shape[1]), joined_lists.ravel().astype(np.int64)


def turned_pairs(lists: Sequence[NDArray[np.int32]], first: int, own: range) -> Places:
    """The pairs in lists of rows from `first` on, turned around, whose other row is in a range of places."""
    rows, others = pairs_in_lists(lists, first)
    inside = (others >= own.start) & (others < own.stop)
    return others[inside], rows[inside]


def block_of_lists(order: Sequence[Indices], own: range, lists: Sequence[NDArray[np.int32]], turned: Sequence[Places]) -> PairBlock:
    """The candidate pairs of the rows in a range of places: those in their lists, and those in whose lists they are."""
    return PairBlock.of(*pattern_at(joined(order), own, [pairs_in_lists(lists, own.start), *turned]))


def grown_block(
    block: PairBlock, order: Sequence[Indices], own: range, parts: Sequence[tuple[Any, int, int]]
) -> tuple[PairBlock, PairBlock, growth.Mask]:
    """A block with more pairs, the block of the new ones alone, and which pairs are new."""
    rows = joined(order)
    nodes, added = pattern_at(rows, own, pairs_within(own, parts))
    union, is_new = growth.joined(block.pattern(rows.size), added)
    return PairBlock.of(nodes, union), PairBlock.of(nodes, growth.only(union, is_new)), is_new


def pairs_within(own: range, parts: Sequence[tuple[Any, int, int]]) -> list[Places]:
    """The pairs of rows in a range of places, in both orders where both rows are in it."""
    found: list[Places] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for (left, right), first, second in parts:
        places = first + left.astype(np.int64), second + right.astype(np.int64)
        for one, other in (places, places[::-1]):
            inside = (one >= own.start) & (one < own.stop)
            found.append((one[inside], other[inside]))
    return found


def collected(own: range, parts: Sequence[tuple[Any, int, int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The pairs of rows in a range of places with others, for a checkpoint."""
    found = pairs_within(own, parts)
    left, right = (np.concatenate([pair[side] for pair in found]).astype(np.int32) for side in (0, 1))
    return left, right


def pattern_at(order: Indices, own: range, pairs: Sequence[Places]) -> tuple[Indices, sparse.csr_array]:
    """The nodes in a range of places, ascending, and the pattern of their pairs; `order` are the nodes by places."""
    of_places = order[own.start : own.stop]
    by_node = np.argsort(of_places)
    rank = np.empty(len(own), dtype=np.int64)
    rank[by_node] = np.arange(len(own))
    rows, others = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    parts = (np.ones(rows.size, dtype=bool), (rank[rows - own.start], order[others]))
    return of_places[by_node], sparse.csr_array(parts, shape=(len(own), order.size))


def nearer_pairs(block: PairBlock, distances: Vector, bounds: Sequence[Vector]) -> PairBlock:
    """The pairs that are nearer than the bound of one of their nodes."""
    limits = block.local(bounds)
    own = np.repeat(limits[block.own], block.degrees)
    kept = (distances < own) | (distances < limits[block.edges.indices])
    return PairBlock.of(block.nodes, growth.only(block.pattern(int(sum(map(len, bounds)))), kept))


def block_given(n_nodes: int, nodes: Indices, starts: Indices, others: NDArray[np.int32]) -> PairBlock:
    """The block of pairs that are listed row by row; `starts` are those of the rows among all pairs."""
    parts = (np.ones(others.size, dtype=bool), others, starts - starts[0])
    return PairBlock.of(nodes, sparse.csr_array(parts, shape=(nodes.size, n_nodes)))


def patched_lists(lists: NDArray[np.int32], rows: Indices, better: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lists with those of some rows replaced."""
    patched = lists.copy()
    patched[rows] = better
    return patched


def places_of(merged: tuple[NDArray[np.int32], Any]) -> NDArray[np.int32]:
    return merged[0]


def last_of(merged: tuple[Any, NDArray[Any]]) -> NDArray[Any]:
    return merged[1]
