"""How workers put candidate pairs together, from lists of nearest rows and pairs within radii.

Search works with places, by which near rows are in the same block; candidate pairs are by nodes. A
block of candidate pairs has the nodes of one or several consecutive blocks of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.pair_tasks import PairBlock
from rmgl.distributed.workers import joined
from rmgl.edges.certificate import Mask, only
from rmgl.edges.certificate import joined as union_of
from rmgl.edges.interface import Indices, Vector

LEAST_ROWS = 16_384
"""Nodes of a block of candidate pairs at least: every request of the solver goes to each block."""
Lists = NDArray[np.int32]
"""The places of the nearest rows of each of some rows."""
Places = tuple[Indices, Indices]
"""Pairs of places."""
Hits = Sequence[tuple[Any, int, int]]
"""Pairs of rows that tasks have found, with the first places of the rows of both sides."""


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


def turned_pairs(lists: Sequence[Lists], first: int, own: range) -> Places:
    """Turn around the pairs in lists of rows from `first` on whose other row is in a range."""
    rows, others = pairs_in_lists(lists, first)
    inside = (others >= own.start) & (others < own.stop)
    return others[inside], rows[inside]


def block_of_lists(
    order: Sequence[Indices], own: range, lists: Sequence[Lists], turned: Sequence[Places]
) -> PairBlock:
    """Make the block of the rows in a range of places, from their lists and those they are in."""
    pairs = [pairs_in_lists(lists, own.start), *turned]
    return PairBlock.of(*pattern_at(joined(order), own, pairs))


def grown_block(
    block: PairBlock, order: Sequence[Indices], own: range, hits: Hits
) -> tuple[PairBlock, PairBlock, Mask]:
    """Return a block with more pairs, the block of the new ones alone, and which pairs are new."""
    by_place = joined(order)
    nodes, added = pattern_at(by_place, own, pairs_within(own, hits))
    union, is_new = union_of(block.pattern(by_place.size), added)
    return PairBlock.of(nodes, union), PairBlock.of(nodes, only(union, is_new)), is_new


def pairs_within(own: range, hits: Hits) -> list[Places]:
    """Return the pairs of rows in a range of places, in both orders where both rows are in it."""
    pairs: list[Places] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for (left, right), first, second in hits:
        places = first + left.astype(np.int64), second + right.astype(np.int64)
        for one, other in (places, places[::-1]):
            inside = (one >= own.start) & (one < own.stop)
            pairs.append((one[inside], other[inside]))
    return pairs


def collected(own: range, hits: Hits) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs of rows in a range of places with others, for a checkpoint."""
    left, right = zip(*pairs_within(own, hits), strict=True)
    return np.concatenate(left).astype(np.int32), np.concatenate(right).astype(np.int32)


def pattern_at(
    order: Indices, own: range, pairs: Sequence[Places]
) -> tuple[Indices, sparse.csr_array]:
    """Return the nodes in a range of places, ascending, and the pattern of their pairs.

    `order` are the nodes by places.
    """
    of_places = order[own.start : own.stop]
    by_node = np.argsort(of_places)
    rank = np.empty(len(own), dtype=np.int64)
    rank[by_node] = np.arange(len(own))
    rows, others = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    parts = (np.ones(rows.size, dtype=bool), (rank[rows - own.start], order[others]))
    return of_places[by_node], sparse.csr_array(parts, shape=(len(own), order.size))


def nearer_pairs(block: PairBlock, distances: Vector, bounds: Sequence[Vector]) -> PairBlock:
    """Keep the pairs that are nearer than the bound of one of their nodes."""
    limits = block.local(bounds)
    of_own = np.repeat(limits[block.own], block.degrees)
    kept = (distances < of_own) | (distances < limits[block.edges.indices])
    return PairBlock.of(block.nodes, only(block.pattern(sum(map(len, bounds))), kept))


def block_given(
    n_nodes: int, nodes: Indices, starts: Indices, others: NDArray[np.int32]
) -> PairBlock:
    """Make the block of pairs that are listed row by row.

    `starts` are those of the rows among all pairs.
    """
    parts = (np.ones(others.size, dtype=bool), others, starts - starts[0])
    return PairBlock.of(nodes, sparse.csr_array(parts, shape=(nodes.size, n_nodes)))


def patched_lists(lists: Lists, rows: Indices, better: Lists) -> Lists:
    """Replace the lists of some rows."""
    patched = lists.copy()
    patched[rows] = better
    return patched
