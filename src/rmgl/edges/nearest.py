"""The nearest rows of each row, in heaps, from the products of tiles.

From the products of two tiles, a compiled scan selects the rows that are nearer than the farthest
neighbor so far. If all rows are queries, each pair of tiles is visited once for both directions.

Threads share the pairs of tiles t and t + offset. Pairs with even t // offset have no tile in
common, nor do pairs with odd t // offset. Every heap is therefore offered the same rows in the same
order, and results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl import kernels
from rmgl.edges.bounds import TILE, Rounding
from rmgl.edges.interface import Indices, Products, Vector
from rmgl.edges.tiles import ProductsOfTiles, Scratch, Tiled
from rmgl.running.threads import Check, InParts, no_check, one_by_one, one_part

HALF_OF_LARGEST = float(np.finfo(np.float64).max) / 2
NOBODY = -1
"""The value of an empty slot in a heap."""
Hits: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], Products]
"""Queries, positions of the rows found for them, and scores -|x_i - x_j|^2 / 2."""
Found: TypeAlias = tuple[Products, NDArray[np.int32]]
"""For every query, heaps of the scores of the nearest rows, and of their positions."""


class Heaps:
    """The nearest rows found so far for each query, in heaps of the scores -|x_i - x_j|^2 / 2.

    The lowest score is at the root.
    """

    def __init__(
        self, queries: Indices, length: int, rows: Products, known: Products | None = None
    ) -> None:
        """`rows` have all columns if offered scores are upper bounds, and no columns otherwise.

        If `known` scores are passed, only better scores enter.
        """
        self.queries, self.rows = queries, rows
        worst = 0.99 * np.finfo(rows.dtype).min
        shape = (queries.size, length)
        self.scores: Products = np.full(shape, worst, dtype=rows.dtype)
        if known is not None:
            self.scores[:] = known
        self.nearest = np.full(shape, NOBODY, dtype=np.int32)
        self.cuts = Scratch(TILE, dtype=rows.dtype)

    @property
    def found(self) -> Found:
        return self.scores, self.nearest

    def farthest(self, group: slice) -> float:
        """Return the squared distance beyond which rows enter no heap of a group of queries."""
        return 2.0 * min(-float(self.scores[group, 0].min()), HALF_OF_LARGEST)

    def farthest_by_tile(self, starts: Indices) -> Vector:
        """Return the squared distances beyond which rows enter no heap of a tile of queries."""
        lowest = np.minimum.reduceat(self.scores[:, 0], starts)
        return np.minimum(-lowest.astype(np.float64), HALF_OF_LARGEST) * 2.0

    def offer(self, scores: Products, heap: int, first: int, both: bool) -> None:
        """Insert rows first, first + 1, ... into heaps heap, heap + 1, ...

        If `both`, also insert the queries of these heaps into the heaps of the rows, which must all
        be queries.
        """
        kept = (self.scores, self.nearest, self.cuts.array, self.rows)
        kernels.offer(scores, self.queries, heap, first, both, *kept)


def nearest_inside(
    tiled: Tiled,
    length: int,
    rounding: Rounding,
    in_parts: InParts = one_part,
    check: Check = no_check,
) -> Found:
    """Find the nearest rows of every row of a block in the same block.

    Each tile is compared first with itself, then with the next tile, the one after that, ...
    """
    products = tiled.scores(tiled, rounding)
    heaps = Heaps(np.arange(tiled.size), length, tiled.rows)

    def visit(pair: tuple[int, int]) -> None:
        check()
        mine, theirs = map(tiled.tile, pair)
        heaps.offer(products(mine, theirs), mine.start, theirs.start, mine.start < theirs.start)

    for offset in range(tiled.starts.size):
        check()
        farthest = heaps.farthest_by_tile(tiled.starts)
        limits = np.maximum(farthest[: farthest.size - offset], farthest[offset:])
        near = np.flatnonzero(tiled.far_apart(offset) <= limits)
        for some in without_common_tiles(near, offset):
            one_by_one(in_parts, visit, [(t, t + offset) for t in some.tolist()])
    return heaps.found


def without_common_tiles(tiles: Indices, offset: int) -> Iterator[Indices]:
    """Yield parts of the tiles t in which no two pairs (t, t + offset) have a common tile."""
    if offset == 0:
        yield tiles
        return
    odd = (tiles // offset) % 2 == 1
    yield tiles[~odd]
    yield tiles[odd]


def nearest_of(
    one: Tiled,
    queries: Indices,
    length: int,
    rounding: Rounding,
    in_parts: InParts = one_part,
    check: Check = no_check,
) -> Found:
    """Find the nearest rows, in the same block, of the rows at ascending positions `queries`."""
    heaps = Heaps(queries, length, one.rows)
    offer_tiles(heaps, one, one, one.scores(one, rounding), 0, in_parts, check)
    return heaps.found


def nearest_of_others(
    one: Tiled, other: Tiled, queries: Indices, known: Products, rounding: Rounding
) -> Hits:
    """Find rows of another block whose scores for the queries beat the known scores."""
    rows = np.concatenate([one.rows, other.rows])
    heaps = Heaps(queries, known.shape[1], rows, known)
    offer_tiles(heaps, one, other, one.scores(other, rounding), one.size)
    found = np.where(heaps.nearest == NOBODY, NOBODY, heaps.nearest - one.size)
    return hits_of(heaps.scores, found)


def nearest_to(queries: Tiled, other: Tiled, products: ProductsOfTiles, length: int) -> Found:
    """Find the nearest rows of a block for all rows of another block."""
    heaps = Heaps(np.arange(queries.size), length, np.empty((0, 0), dtype=other.columns.dtype))
    offer_tiles(heaps, queries, other, products, queries.size)
    return heaps.scores, heaps.nearest - np.int32(queries.size)


def offer_tiles(
    heaps: Heaps,
    one: Tiled,
    other: Tiled,
    products: ProductsOfTiles,
    shift: int,
    in_parts: InParts = one_part,
    check: Check = no_check,
) -> None:
    """Offer the tiles of another block to groups of queries, the nearest tile first.

    Rows of the other block are numbered from `shift`.
    """

    def visit(first: int) -> None:
        group = slice(first, min(first + TILE, heaps.queries.size))
        queries = heaps.queries[group]
        distances = one.box_far_from(other, queries)
        for index in np.argsort(distances, kind="stable").tolist():
            check()
            if distances[index] > heaps.farthest(group):
                break
            tile = other.tile(index)
            heaps.offer(products(queries, tile), first, shift + tile.start, False)

    one_by_one(in_parts, visit, range(0, heaps.queries.size, TILE))


def nearest_across(
    one: Tiled, other: Tiled, known: tuple[Products, Products], rounding: Rounding
) -> tuple[Hits, Hits]:
    """Find rows of the other block that are among the nearest, for the rows of both blocks.

    `known` are the scores of the nearest rows inside each block.
    """
    products = one.scores(other, rounding)
    scores = np.concatenate(known)
    rows = np.concatenate([one.rows, other.rows])
    heaps = Heaps(np.arange(one.size + other.size), scores.shape[1], rows, scores)
    starts = np.concatenate([one.starts, one.size + other.starts])
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


def hits_of(scores: Products, nearest: NDArray[np.int32]) -> Hits:
    """Return the hits in heaps, without empty slots."""
    rows, places = np.nonzero(nearest != NOBODY)
    return rows.astype(np.int32), nearest[rows, places].astype(np.int32), scores[rows, places]
