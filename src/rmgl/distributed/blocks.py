"""Blocks of near rows: the upper part of the tree that `rmgl.edges.tiles.tile_order` halves rows by, with its lower part inside each block.

Rows are halved along the column of largest variance until a part has no more than `block_tiles` tiles. This part is a block, which one
worker puts together from chunks and sorts further. The tiles are the same as on one machine; where blocks begin depends on the rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.cluster import Future
from rmgl.distributed.matrix import RemoteMatrix
from rmgl.edges.axes import projected
from rmgl.edges.heaps import Indices, Products
from rmgl.edges.interface import Vector
from rmgl.edges.tiles import SAMPLE, box_distance, halving_column, halving_place, sample_step, squared_lengths, tile_order

Floats = NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
SAMPLE_BYTES = 8 << 20
"""Memory of the client for samples of rows."""


@dataclass(frozen=True)
class Block:
    """Some rows of a centered matrix, sorted into tiles."""

    nodes: Indices
    """The index of every row among all rows."""
    X: Floats
    leading: Floats | None
    """Leading columns (`rmgl.edges.axes`), by which rows are sorted and first compared, if that pays."""
    norms: Vector


@dataclass(frozen=True)
class Tiled:
    """The rows of a block in the precision that they are compared in, with the bounding boxes of their tiles."""

    columns: Products
    rows: Products
    """All columns, where `columns` are the leading ones; else no rows."""
    norms: Vector
    starts: Indices
    low: Floats
    high: Floats

    @property
    def size(self) -> int:
        return len(self.columns)

    def tile(self, index: int) -> slice:
        """The places of the rows of a tile."""
        return slice(int(self.starts[index]), int(self.starts[index + 1]) if index + 1 < self.starts.size else self.size)

    def far_from(self, other: Tiled, index: int) -> Vector:
        """The squared distances between the box of one tile and those of all tiles of another block."""
        return box_distance(other.low, other.high, self.low[index], self.high[index])


def split(matrix: RemoteMatrix, tile: int, block_tiles: int) -> list[Indices]:
    """The rows of every block, in the order in which halving leaves them."""
    n = matrix.shape[0]
    pending, finished = [(0, np.arange(n), -(-n // tile))], []
    while pending:
        finished += [(start, own) for start, own, count in pending if count <= block_tiles]
        pending = [part for part in pending if part[2] > block_tiles]
        if not pending:
            break
        columns = np.full(n, -1)
        at_once = max(1, SAMPLE_BYTES // (2 * SAMPLE * 8 * matrix.n_columns))
        for first in range(0, len(pending), at_once):
            some = pending[first : first + at_once]
            samples = [own[:: sample_step(own.size)] for _, own, _ in some]
            rows = np.split(matrix.rows(np.concatenate(samples)), np.cumsum([sample.size for sample in samples])[:-1])
            for (_, own, _), sample in zip(some, rows, strict=True):
                columns[own] = halving_column(sample)
        entries = entries_of(matrix, columns)
        halves = []
        for start, own, count in pending:
            middle = halving_place(count, tile)
            own = own[np.argpartition(entries[own], middle)]
            halves += [(start, own[:middle], count // 2), (start + middle, own[middle:], count - count // 2)]
        pending = halves
    return [own for _, own in sorted(finished, key=lambda part: part[0])]


def entries_of(matrix: RemoteMatrix, columns: NDArray[np.intp]) -> Vector:
    """One entry of every row, in the column that is given for it (-1: none is needed)."""
    parts = [
        matrix.cluster.submit("rmgl-take-entries", take_entries, chunk, columns[first:stop])
        for chunk, (first, stop) in zip(matrix.chunks, pairwise(matrix.bounds), strict=True)
    ]
    return np.concatenate(matrix.cluster.gather(parts))


def build_blocks(matrix: RemoteMatrix, center: Vector, axes: Floats | None, parts: Sequence[Indices], tile: int) -> list[Future]:
    """One task for every block, which gets the rows that it needs from the chunks."""
    cluster, blocks = matrix.cluster, []
    for own in parts:
        owner = np.searchsorted(matrix.bounds, own, side="right") - 1
        order = np.argsort(owner, kind="stable")
        pieces = []
        for place in np.unique(owner).tolist():
            wanted = own[order[owner[order] == place]] - matrix.bounds[place]
            pieces.append(cluster.submit("rmgl-pick-rows", pick, matrix.chunks[place], wanted, center))
        blocks.append(cluster.submit("rmgl-sort-block", assemble, pieces, order, own, axes, tile))
    return blocks


def take_entries(chunk: Floats, columns: NDArray[np.intp]) -> Vector:
    return chunk[np.arange(len(chunk)), np.maximum(columns, 0)]


def lead(chunk: Floats, center: Vector, axes: Floats) -> Floats:
    """The leading columns of the rows of a chunk."""
    rows = chunk - center
    return projected(rows, squared_lengths(rows), axes)


def pick(chunk: Floats, wanted: Indices, center: Vector) -> Floats:
    rows: Floats = chunk[wanted] - center
    return rows


def assemble(pieces: Sequence[Floats], order: Indices, nodes: Indices, axes: Floats | None, tile: int) -> Block:
    """Put the pieces of a block in the order of `nodes`, and sort the rows into tiles."""
    X = np.empty((len(nodes), pieces[0].shape[1]))
    X[order] = np.concatenate(pieces)
    norms = squared_lengths(X)
    leading = None if axes is None else projected(X, norms, axes)
    inside = tile_order(X if leading is None else leading, tile)
    return Block(nodes[inside], X[inside], None if leading is None else leading[inside], norms[inside])


def outline(block: Block) -> tuple[Indices, Vector]:
    """What the client knows of a block: the indices and the squared lengths of its rows."""
    return block.nodes, block.norms


def in_tiles(block: Block, tile: int, dtype: Any, pad: float) -> Tiled:
    """The rows of a block for comparison, and boxes, which are wider by `pad` if they are of leading columns.

    Distances are measured with rows that were not centered, so a box contains these less the exact center: subtracting it has rounded them.
    """
    sorted_by = block.X if block.leading is None or dtype is np.float64 else block.leading
    starts = np.arange(0, len(sorted_by), tile)
    low, high = np.minimum.reduceat(sorted_by, starts), np.maximum.reduceat(sorted_by, starts)
    if sorted_by is block.leading:
        return Tiled(sorted_by.astype(dtype), block.X.astype(dtype), block.norms, starts, low - pad, high + pad)
    low, high = low - EPSILON * np.abs(low), high + EPSILON * np.abs(high)
    return Tiled(sorted_by.astype(dtype), np.empty((0, 0), dtype=dtype), block.norms, starts, low, high)


def box_of(tiled: Tiled) -> tuple[Floats, Floats]:
    """The bounding box of a block."""
    return tiled.low.min(axis=0), tiled.high.max(axis=0)
