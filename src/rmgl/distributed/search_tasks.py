"""What a worker does with the rows of two blocks, or of one.

These are pure functions, which Dask can run anywhere and run again. The steps are those of
`rmgl.edges.tiles.Tiles`, with the tiles of one block on the left and those of the other on the
right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl import kernels
from rmgl.distributed.blocks import Tiled
from rmgl.edges.bounds import Reach, Rounding
from rmgl.edges.interface import Indices, Products
from rmgl.edges.tiles import FoundPairs, Heaps, TileProducts, widened
from rmgl.running.threads import single_threaded

Hits: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], Products]
"""Places in one block, places in the other, and scores -|x_i - x_j|^2 / 2."""
Part: TypeAlias = tuple[int, Any, int | None]
"""The first place of a block in which rows were found, the hits there, and a side.

The hits are those of one block (side None), or of two blocks, of which the side is meant.
"""
Found: TypeAlias = tuple[Products, NDArray[np.int32]]
"""Heaps of the scores of the nearest rows of every query, and of their places in the block.

The lowest score is at the root; the place is -1 where no more rows were found.
"""


def score_factors(tiled: Tiled, rounding: Rounding) -> list[Products]:
    """Return matrices whose products are scores, or upper bounds of them by leading columns."""
    halves = (1 - rounding.share if len(tiled.rows) else 1.0) * tiled.norms / 2
    return factors(tiled, (-halves, 1.0), (1.0, -halves))


def factors(tiled: Tiled, *columns: tuple[Any, Any]) -> list[Products]:
    """Return matrices whose products are x_i'x_j + sum_c left_ci right_cj, from both sides of c."""
    dtype = tiled.columns.dtype
    return [widened(tiled.columns, dtype, *side) for side in zip(*columns, strict=True)]


def empty_heaps(queries: Indices, length: int, rows: Products) -> Heaps:
    """Make heaps in which empty places have found nothing, which is -1."""
    heaps = Heaps(queries, length, rows)
    heaps.nearest[:] = -1
    return heaps


def started_heaps(queries: Indices, known: Products, rows: Products) -> Heaps:
    """Make heaps of known scores, with places -1, so that they accept only what is better."""
    heaps = empty_heaps(queries, known.shape[1], rows)
    heaps.scores[:] = known
    return heaps


def nearest_inside(tiled: Tiled, length: int, rounding: Rounding) -> Found:
    """Find the nearest rows of every row of a block in the same block."""
    products = TileProducts(*score_factors(tiled, rounding))
    heaps = empty_heaps(np.arange(tiled.size), length, tiled.rows)
    apart = [tiled.far_from(tiled, index) for index in range(tiled.starts.size)]
    with single_threaded("blas"):
        for offset in range(tiled.starts.size):
            farthest = heaps.farthest_by_tile(tiled.starts)
            for index in range(tiled.starts.size - offset):
                tile, other = tiled.tile(index), tiled.tile(index + offset)
                if apart[index][index + offset] <= max(farthest[index], farthest[index + offset]):
                    heaps.offer(products(tile, other), tile.start, other.start, offset > 0)
    return heaps.scores, heaps.nearest


def nearest_across(
    one: Tiled, other: Tiled, known: tuple[Products, Products], rounding: Rounding
) -> tuple[Hits, Hits]:
    """Find rows of the other block that are among the nearest, for the rows of both blocks.

    `known` are the scores of the nearest rows inside each block.
    """
    products = TileProducts(score_factors(one, rounding)[0], score_factors(other, rounding)[1])
    rows = np.concatenate([one.rows, other.rows])
    heaps = started_heaps(np.arange(one.size + other.size), np.concatenate(known), rows)
    starts = np.concatenate([one.starts, one.size + other.starts])
    with single_threaded("blas"):
        for index in range(one.starts.size):
            farthest = heaps.farthest_by_tile(starts)
            limits = np.maximum(farthest[index], farthest[one.starts.size :])
            tile = one.tile(index)
            for place in np.flatnonzero(one.far_from(other, index) <= limits).tolist():
                theirs = other.tile(place)
                heaps.offer(products(tile, theirs), tile.start, one.size + theirs.start, True)
    places = np.where(heaps.nearest >= one.size, heaps.nearest - one.size, heaps.nearest)
    first, second = slice(one.size), slice(one.size, None)
    return hits_of(heaps.scores[first], places[first]), hits_of(
        heaps.scores[second], places[second]
    )


def nearest_of(one: Tiled, queries: Indices, length: int, rounding: Rounding) -> Found:
    """Find the nearest rows of some rows of a block in the same block."""
    heaps = empty_heaps(queries, length, one.rows)
    offer_tiles(heaps, one, one, 0, rounding)
    return heaps.scores, heaps.nearest


def nearest_of_others(
    one: Tiled, other: Tiled, queries: Indices, known: Products, rounding: Rounding
) -> Hits:
    """Find rows of another block that are nearer to some rows of a block than the known scores."""
    heaps = started_heaps(queries, known, np.concatenate([one.rows, other.rows]))
    offer_tiles(heaps, one, other, one.size, rounding)
    return hits_of(heaps.scores, np.where(heaps.nearest >= 0, heaps.nearest - one.size, -1))


def offer_tiles(heaps: Heaps, one: Tiled, other: Tiled, shift: int, rounding: Rounding) -> None:
    """Offer tiles, the nearest first, to queries of a block; their rows count from `shift` on."""
    products = TileProducts(score_factors(one, rounding)[0], score_factors(other, rounding)[1])
    with single_threaded("blas"):
        for first, stop, index in queries_by_tile(one, heaps.queries):
            distances = one.far_from(other, index)
            queries = heaps.queries[first:stop]

            def of_tile(place: int, queries: Indices = queries) -> Products:
                return products(queries, other.tile(place))

            heaps.offer_tiles(slice(first, stop), distances, of_tile, shift + other.starts)


def queries_by_tile(tiled: Tiled, queries: Indices) -> Iterator[tuple[int, int, int]]:
    """Yield first and last place among sorted queries, and tile, where a tile has queries."""
    bounds = np.append(np.searchsorted(queries, tiled.starts), queries.size)
    for index in np.flatnonzero(np.diff(bounds)).tolist():
        yield int(bounds[index]), int(bounds[index + 1]), index


def hits_of(scores: Products, nearest: NDArray[np.int32]) -> Hits:
    """Return what heaps have found, without their empty places."""
    rows, places = np.nonzero(nearest >= 0)
    return rows.astype(np.int32), nearest[rows, places].astype(np.int32), scores[rows, places]


def lowest_of(inside: Found) -> float:
    """Return the lowest score of all."""
    return float(inside[0][:, 0].min())


def best_of(inside: Found, first: int, parts: Sequence[Part]) -> tuple[NDArray[np.int32], Products]:
    """Return the nearest rows of every query, as places among all rows, and the worst score.

    They are those found in its own block, which begins at place `first`, and in others; of equal
    scores, those of an earlier part stay.
    """
    scores = inside[0].copy()
    nearest = np.where(inside[1] >= 0, first + inside[1], -1).astype(np.int32)
    for start, hits, side in parts:
        queries, places, offered = hits if side is None else hits[side]
        kernels.insert(queries, start + places, offered, scores, nearest)
    return nearest, scores[:, 0]


def within(
    one: Tiled,
    other: Tiled | None,
    reach: tuple[Reach, Reach],
    chosen: tuple[Indices, Indices] | None,
    rounding: Rounding,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find all pairs of rows of two blocks with squared distance below s_i s_j (r_i + r_j).

    Both rows are of one block where `other` is None. With `chosen`, one of the two is among the
    chosen rows of its block. A pair of rows of one block may occur in both orders.
    """
    ours, theirs = reach
    if other is None:
        queries = None if chosen is None else chosen[0]
        return pairs_of_tiles(one, one, ours, ours, queries, rounding, same=True)
    if chosen is None:
        return pairs_of_tiles(one, other, ours, theirs, None, rounding, same=False)
    left, right = pairs_of_tiles(one, other, ours, theirs, chosen[0], rounding, same=False)
    turned = pairs_of_tiles(other, one, theirs, ours, chosen[1], rounding, same=False)
    return np.concatenate([left, turned[1]]), np.concatenate([right, turned[0]])


def pairs_of_tiles(
    one: Tiled,
    other: Tiled,
    reach: Reach,
    theirs: Reach,
    chosen: Indices | None,
    rounding: Rounding,
    same: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find pairs of a chosen row (None: of any row) of one block and a row of the other.

    Each pair of tiles of the same block is looked at once.
    """
    shift = 0 if same else one.size
    products = TileProducts(
        reach_factors(one, reach, rounding)[0], reach_factors(other, theirs, rounding)[1]
    )
    blocks = [(one, reach)] if same else [(one, reach), (other, theirs)]
    whole = (
        np.concatenate([block.rows for block, _ in blocks]),
        np.concatenate([limit.far for _, limit in blocks]),
        np.concatenate([limit.scales for _, limit in blocks]),
        np.concatenate([2 * rounding.loss(block.norms) for block, _ in blocks]),
    )
    queries = np.arange(one.size) if chosen is None else chosen
    limits, bounds, pairs = reach.largest(one.starts), theirs.largest(other.starts), FoundPairs()
    with single_threaded("blas"):
        for first, stop, index in queries_by_tile(one, queries):
            some = queries[first:stop]
            near = one.far_from(other, index) <= limits[index : index + 1].to(bounds)
            for place in np.flatnonzero(near).tolist():
                if not (same and chosen is None and place < index):
                    tile = other.tile(place)
                    pairs.collect(products(some, tile), some, shift + tile.start, whole)
    left, right = pairs.gathered()
    return left, right - np.int32(shift)


def reach_factors(tiled: Tiled, reach: Reach, rounding: Rounding) -> list[Products]:
    """Return matrices whose products are positive for pairs in reach, allowing for rounding."""
    return factors(tiled, *reach.columns(tiled.norms, rounding))
