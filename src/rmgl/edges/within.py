"""All pairs of rows within specified radii, from the products of tiles.

From the products of two tiles, a compiled scan selects the pairs whose reach exceeds their
distance. Inside a block, each pair of tiles is visited once: with the tiles in a circle, a tile
visits itself and the half of the others that comes after it, so all tiles do about the same work.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmgl import kernels
from rmgl.edges.bounds import TILE, Reach, Rounding
from rmgl.edges.interface import Indices, Products, Vector
from rmgl.edges.tiles import ProductsOfTiles, Scratch, Tiled
from rmgl.running.threads import Check, InParts, no_check, one_by_one, one_part, require_memory

BYTES_PER_CANDIDATE = 60
"""Memory for one pair: both directions in a pattern, distances, costs, and temporary copies."""
Whole = tuple[Products, Vector, Vector, Vector]
"""Rows with all columns and what bounds their distances; no columns if products are exact."""
Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The positions of the first and the second rows."""


class FoundPairs:
    """Collects pairs of rows; several threads may add pairs at once."""

    def __init__(self) -> None:
        self.count = 0
        self.allowed = 1 << 22
        self._room = Scratch(2, TILE * TILE, dtype=np.int32)
        self._lock = threading.Lock()

    def collect(self, products: Products, queries: Indices, first: int, whole: Whole) -> Pairs:
        """Select the pairs of a query and row first, first + 1, ... with positive products.

        Raises a MemoryError if all collected pairs would not fit into memory.
        """
        left, right = self._room.array
        count = kernels.positive_entries(products, queries, first, left, right, *whole)
        with self._lock:
            self._add(count)
        return left[:count].copy(), right[:count].copy()

    def _add(self, count: int) -> None:
        self.count += count
        while self.count > self.allowed:
            self.allowed *= 2
            require_memory(
                BYTES_PER_CANDIDATE * self.allowed,
                f"up to {self.allowed:,} candidate pairs",
                "use a smaller alpha or fewer rows",
            )


def within(
    one: Tiled,
    other: Tiled | None,
    reach: tuple[Reach, Reach],
    chosen: tuple[Indices, Indices] | None,
    rounding: Rounding,
    in_parts: InParts = one_part,
    check: Check = no_check,
) -> Pairs:
    """Find all pairs of rows of two blocks with squared distance below s_i s_j (r_i + r_j).

    If `other` is None, both rows are in the same block. With `chosen`, at least one of the two is
    among the chosen rows of its block, whose positions are in ascending order. A pair of rows in
    the same block may occur in both orders.
    """
    ours, theirs = reach
    options = (rounding, in_parts, check)
    if other is None:
        return pairs_of(one, None, ours, ours, None if chosen is None else chosen[0], *options)
    if chosen is None:
        return pairs_of(one, other, ours, theirs, None, *options)
    left, right = pairs_of(one, other, ours, theirs, chosen[0], *options)
    turned = pairs_of(other, one, theirs, ours, chosen[1], *options)
    return np.concatenate([left, turned[1]]), np.concatenate([right, turned[0]])


def pairs_of(
    one: Tiled,
    other: Tiled | None,
    reach: Reach,
    theirs: Reach,
    chosen: Indices | None,
    rounding: Rounding,
    in_parts: InParts,
    check: Check,
) -> Pairs:
    """Find pairs of a chosen row (None: of any row) of one block and a row of the other."""
    same, others = other is None, one if other is None else other
    shift = 0 if same else one.size
    products = products_in_reach(one, others, reach, theirs, rounding)
    blocks = [(one, reach)] if same else [(one, reach), (others, theirs)]
    whole = (
        np.concatenate([block.rows for block, _ in blocks]),
        np.concatenate([limit.far for _, limit in blocks]),
        np.concatenate([limit.scales for _, limit in blocks]),
        np.concatenate([2 * rounding.loss(block.norms) for block, _ in blocks]),
    )
    limits, bounds, pairs = reach.largest(one.starts), theirs.largest(others.starts), FoundPairs()
    n_tiles = one.starts.size

    def of_tile(index: int) -> list[Pairs]:
        near = one.far_from(others, index) <= limits[index : index + 1].to(bounds)
        if same:
            near &= visited_by(index, n_tiles)
        tile = one.tile(index)
        return collected(np.arange(tile.start, tile.stop), near)

    def of_chosen(first: int) -> list[Pairs]:
        assert chosen is not None
        queries = chosen[first : first + TILE]
        far = one.box_far_from(others, queries)
        return collected(queries, far <= reach[queries].largest([0]).to(bounds))

    def collected(queries: Indices, near: NDArray[np.bool_]) -> list[Pairs]:
        found = []
        for index in np.flatnonzero(near).tolist():
            check()
            tile = others.tile(index)
            found.append(pairs.collect(products(queries, tile), queries, shift + tile.start, whole))
        return found

    if chosen is None:
        parts = one_by_one(in_parts, of_tile, range(n_tiles))
    else:
        parts = one_by_one(in_parts, of_chosen, range(0, chosen.size, TILE))
    left, right = joined([pair for found in parts for pair in found])
    return left, right - np.int32(shift)


def products_in_reach(
    one: Tiled, other: Tiled, reach: Reach, theirs: Reach, rounding: Rounding
) -> ProductsOfTiles:
    """Return products that are positive for pairs within reach, allowing for rounding."""
    left, _ = zip(*reach.columns(one.norms, rounding), strict=True)
    _, right = zip(*theirs.columns(other.norms, rounding), strict=True)
    return one.products(other, list(left), list(right))


def visited_by(index: int, n_tiles: int) -> NDArray[np.bool_]:
    """Mark the tiles that a tile visits: itself and half of the others, so each pair occurs once.

    Examples
    --------
    >>> [np.flatnonzero(visited_by(index, 4)).tolist() for index in range(4)]
    [[0, 1, 2], [1, 2, 3], [2, 3], [0, 3]]
    """
    after = (np.arange(n_tiles) - index) % n_tiles
    opposite = 2 * after == n_tiles
    visited: NDArray[np.bool_] = (2 * after < n_tiles) | (opposite & (2 * index < n_tiles))
    return visited


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Join all pairs, leaving out those of a row with itself."""
    none = np.empty(0, dtype=np.int32)
    left = np.concatenate([none, *(pair[0] for pair in parts)])
    right = np.concatenate([none, *(pair[1] for pair in parts)])
    differ = left != right
    return left[differ], right[differ]
