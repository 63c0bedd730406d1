"""Rows in tiles, and the products of two tiles, from which searches select pairs.

Rows are sorted into tiles of nearby rows (`rmgl.edges.bounds.tile_order`). The products of two
tiles are one matrix product. Tiles whose bounding boxes are too far apart are skipped. The rows of
a space are one block of tiles on one machine, and several blocks on Dask workers. The same search
functions (`rmgl.edges.nearest`, `rmgl.edges.within`) take one block or two.

Products may use only a few *leading* columns, whose distances are lower bounds on the distances
between rows (`rmgl.edges.bounds`). Only the pairs that they do not rule out are measured with all
columns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from rmgl.edges.bounds import TILE, Rounding, box_distance
from rmgl.edges.interface import Floats, Indices, Products, Vector
from rmgl.running.threads import require_memory

ProductsOfTiles: TypeAlias = Callable[[Any, slice], Products]
"""products(queries, tile) multiplies the queries on the left by a tile on the right.

The result is valid until the same thread calls it again.
"""


class Scratch(threading.local):
    """Memory that each thread reuses, because allocating it takes as long as a product."""

    def __init__(self, *shape: int, dtype: Any) -> None:
        self.array = np.empty(shape, dtype=dtype)


@dataclass(frozen=True)
class Tiled:
    """Rows of a block in the form that searches compare, with the bounding boxes of their tiles."""

    columns: Any
    """The columns that are compared first, in single or double precision; dense or sparse."""
    rows: Products
    """Rows with all columns if `columns` are the leading ones, otherwise no rows."""
    norms: Vector
    starts: Indices
    """The first row of each tile."""
    low: Floats
    high: Floats

    @property
    def size(self) -> int:
        return int(self.columns.shape[0])

    def tile(self, index: int) -> slice:
        """Return the positions of the rows in a tile."""
        last = index + 1 == self.starts.size
        return slice(int(self.starts[index]), self.size if last else int(self.starts[index + 1]))

    def far_from(self, other: Tiled, index: int) -> Vector:
        """Compute squared distances from the box of one tile to all boxes of a block."""
        return box_distance(other.low, other.high, self.low[index], self.high[index])

    def far_apart(self, offset: int) -> Vector:
        """Compute the squared distance between the boxes of tiles t and t + offset, for all t."""
        later, earlier = slice(offset, None), slice(-offset or None)
        return box_distance(
            self.low[later], self.high[later], self.low[earlier], self.high[earlier]
        )

    def box_far_from(self, other: Tiled, queries: Indices) -> Vector:
        """Compute squared distances from the box of the queries to all boxes of a block."""
        if sparse.issparse(self.columns):
            return np.zeros(other.starts.size)
        rows = self.columns[queries]
        low, high = (ends.astype(np.float64) for ends in (rows.min(axis=0), rows.max(axis=0)))
        rounded = float(np.finfo(rows.dtype).eps)
        return box_distance(
            other.low, other.high, low - rounded * np.abs(low), high + rounded * np.abs(high)
        )

    def halves(self, rounding: Rounding) -> Vector:
        """Return half of each row's squared norm, or less where products must be upper bounds."""
        share = 1 - rounding.share if len(self.rows) else 1.0
        return share * self.norms / 2

    def scores(self, other: Tiled, rounding: Rounding) -> ProductsOfTiles:
        """Return the scores -|x_i - x_j|^2 / 2 of rows of this block with tiles of another.

        They are upper bounds if the columns are leading ones.
        """
        mine, theirs = self.halves(rounding), other.halves(rounding)
        return self.products(other, [-mine, 1.0], [1.0, -theirs])

    def products(self, other: Tiled, left: list[Any], right: list[Any]) -> ProductsOfTiles:
        """Return the products x_i'x_j + sum_c left_ci right_cj with tiles of another block."""
        if sparse.issparse(self.columns):
            return sparse_products(self.columns, other.columns, left, right)
        return dense_products(self.side(left), other.side(right))

    def side(self, added: list[Any]) -> Products:
        """Return the columns, with the `added` ones, for one side of the products."""
        n, width = self.columns.shape
        dtype = self.columns.dtype
        require_memory(
            n * (width + len(added)) * dtype.itemsize,
            f"neighbor searches among {n:,} rows with {width:,} columns",
        )
        return widened(self.columns, dtype, *added)


def tiled_rows(X: Any, norms: Vector, dtype: Any, order: Any, leading: Floats | None) -> Tiled:
    """Make one block of all rows, sorted by an `Order` (that of the leading columns, if any)."""
    columns = X if leading is None else leading
    rows = np.empty((0, 0), dtype=dtype)
    if leading is not None:
        require_memory(
            X.size * np.dtype(dtype).itemsize,
            f"neighbor searches among {X.shape[0]:,} rows",
        )
        rows = X.astype(dtype)[order.order]
    if not sparse.issparse(columns):
        columns = columns.astype(dtype)
    starts = np.arange(0, X.shape[0], TILE)
    columns = columns[order.order]
    return Tiled(columns, rows, norms[order.order], starts, order.low, order.high)


def dense_products(left: Products, right: Products) -> ProductsOfTiles:
    """Return the products of rows on both sides, which have the same columns."""
    room = Scratch(TILE * TILE, dtype=left.dtype)

    def products(queries: Any, tile: slice) -> Products:
        mine, theirs = left[queries], right[tile]
        shape = len(mine), len(theirs)
        out: Products = room.array[: shape[0] * shape[1]].reshape(shape)
        return np.matmul(mine, theirs.T, out=out)

    return products


def sparse_products(mine: Any, theirs: Any, left: list[Any], right: list[Any]) -> ProductsOfTiles:
    """Return the products of sparse rows plus those of a few dense columns."""
    ours = np.column_stack([np.broadcast_to(column, mine.shape[0]) for column in left])
    others = np.column_stack([np.broadcast_to(column, theirs.shape[0]) for column in right])

    @cache
    def turned(start: int, stop: int) -> Any:
        return sparse.csr_array(theirs[start:stop].T)

    @cache
    def tile_of(start: int, stop: int) -> Any:
        return mine[start:stop]

    def products(queries: Any, tile: slice) -> Products:
        some = tile_of(queries.start, queries.stop) if isinstance(queries, slice) else mine[queries]
        dense = (some @ turned(tile.start, tile.stop)).toarray()
        dense += ours[queries] @ others[tile].T
        return np.asarray(dense)

    return products


def widened(rows: Products, dtype: Any, *columns: Any) -> Products:
    """Append columns to rows, in single or double precision."""
    n, width = rows.shape
    wide = np.empty((n, width + len(columns)), dtype=dtype)
    wide[:, :width] = rows
    for place, column in enumerate(columns, width):
        wide[:, place] = column
    return wide
