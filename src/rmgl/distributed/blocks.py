"""Blocks of near rows: the upper part of the tree by which rows are sorted into tiles.

The tree is that of `rmgl.edges.bounds.tile_order`, and its lower part is inside each block. Rows
are halved along the column of largest variance until a part has no more than `block_tiles` tiles.
This part is a block, which one worker puts together from chunks and sorts further. The tiles are
the same as on one machine; where blocks begin depends on the rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.workers import Future
from rmgl.edges.bounds import (
    TILE,
    TILE_SAMPLE,
    halving_column,
    halving_place,
    projected,
    sample_step,
    tile_order,
)
from rmgl.edges.interface import Floats, Indices, Vector
from rmgl.edges.tiles import Tiled
from rmgl.matrix import squared_lengths

SAMPLE_BYTES = 8 << 20
"""Memory of the client for samples of rows."""
FEWEST_BLOCK_ROWS, MOST_BLOCK_ROWS = 8192, 65_536
"""Rows of a block, unless there are more blocks than can be scheduled."""
WANTED_BLOCKS, MOST_BLOCKS = 8, 256
"""The numbers of blocks that occupy all workers, and that are not too many to schedule."""


@dataclass(frozen=True)
class Tiling:
    """How rows are cut; it depends on their number alone."""

    tile: int = TILE
    """Rows of a tile."""
    block_tiles: int = MOST_BLOCK_ROWS // TILE
    """Tiles of a block at most."""

    @classmethod
    def of(cls, n_rows: int) -> Tiling:
        """Choose how so many rows are cut."""
        size = min(max(n_rows // WANTED_BLOCKS, FEWEST_BLOCK_ROWS), MOST_BLOCK_ROWS)
        return cls(TILE, -(-max(size, n_rows // MOST_BLOCKS) // TILE))


@dataclass(frozen=True)
class Block:
    """Some rows of a centered matrix, sorted into tiles."""

    nodes: Indices
    """The index of every row among all rows."""
    X: Floats
    leading: Floats | None
    """Leading columns (`rmgl.edges.bounds`) to sort rows by and compare first, if that pays."""
    norms: Vector
    """The squared length of every row."""


def split(matrix: RemoteMatrix, tile: int, block_tiles: int) -> list[Indices]:
    """Return the rows of every block, in the order in which halving leaves them."""
    n = matrix.shape[0]
    pending, finished = [(0, np.arange(n), -(-n // tile))], []
    while pending:
        finished += [(start, rows) for start, rows, count in pending if count <= block_tiles]
        pending = [part for part in pending if part[2] > block_tiles]
        if not pending:
            break
        columns = np.full(n, -1)
        at_once = max(1, SAMPLE_BYTES // (2 * TILE_SAMPLE * 8 * matrix.n_columns))
        for first in range(0, len(pending), at_once):
            some = pending[first : first + at_once]
            samples = [rows[:: sample_step(rows.size)] for _, rows, _ in some]
            ends = np.cumsum([sample.size for sample in samples])
            taken = np.split(matrix.rows(np.concatenate(samples)), ends[:-1])
            for (_, rows, _), sample in zip(some, taken, strict=True):
                columns[rows] = halving_column(sample)
        entries = entries_of(matrix, columns)
        halves = []
        for start, rows, count in pending:
            middle = halving_place(count, tile)
            rows = rows[np.argpartition(entries[rows], middle)]
            halves += [
                (start, rows[:middle], count // 2),
                (start + middle, rows[middle:], count - count // 2),
            ]
        pending = halves
    return [rows for _, rows in sorted(finished, key=lambda part: part[0])]


def entries_of(matrix: RemoteMatrix, columns: NDArray[np.intp]) -> Vector:
    """Return one entry of every row, in the column that is given for it (-1: any will do)."""
    parts = [
        matrix.workers.submit("rmgl-take-entries", take_entries, chunk, columns[first:stop])
        for chunk, (first, stop) in zip(matrix.chunks, pairwise(matrix.bounds), strict=True)
    ]
    return np.concatenate(matrix.workers.gather(parts))


def build_blocks(
    matrix: RemoteMatrix, center: Vector, axes: Floats | None, parts: Sequence[Indices], tile: int
) -> list[Future]:
    """Start one task for every block, which gets the rows that it needs from the chunks."""
    workers, blocks = matrix.workers, []
    for nodes in parts:
        owner = np.searchsorted(matrix.bounds, nodes, side="right") - 1
        order = np.argsort(owner, kind="stable")
        pieces = []
        for place in np.unique(owner).tolist():
            chunk, wanted = matrix.chunks[place], nodes[order[owner[order] == place]]
            rows = wanted - matrix.bounds[place]
            pieces.append(workers.submit("rmgl-pick-rows", pick, chunk, rows, center))
        blocks.append(workers.submit("rmgl-sort-block", assemble, pieces, order, nodes, axes, tile))
    return blocks


def take_entries(chunk: Floats, columns: NDArray[np.intp]) -> Vector:
    """Take one entry of every row of a chunk."""
    return chunk[np.arange(len(chunk)), np.maximum(columns, 0)]


def lead(chunk: Floats, center: Vector, axes: Floats) -> Floats:
    """Return the leading columns of the rows of a chunk."""
    rows = chunk - center
    return projected(rows, squared_lengths(rows), axes)


def pick(chunk: Floats, wanted: Indices, center: Vector) -> Floats:
    """Take some rows of a chunk, and subtract the center."""
    return chunk[wanted] - center


def assemble(
    pieces: Sequence[Floats], order: Indices, nodes: Indices, axes: Floats | None, tile: int
) -> Block:
    """Put the pieces of a block in the order of `nodes`, and sort the rows into tiles."""
    X = np.empty((len(nodes), pieces[0].shape[1]))
    X[order] = np.concatenate(pieces)
    norms = squared_lengths(X)
    leading = None if axes is None else projected(X, norms, axes)
    inside = tile_order(X if leading is None else leading, tile)
    leading = None if leading is None else leading[inside]
    return Block(nodes[inside], X[inside], leading, norms[inside])


def outline(block: Block) -> tuple[Indices, Vector]:
    """Return what the client knows of a block: indices and squared lengths of its rows."""
    return block.nodes, block.norms


def in_tiles(block: Block, tile: int, dtype: Any, pad: float) -> Tiled:
    """Return the rows of a block for comparison, with boxes of their tiles.

    Boxes of leading columns are wider by `pad`. Distances are measured with rows that were not
    centered, so a box contains these less the exact center: subtracting it has rounded them.
    """
    sorted_by = block.X if block.leading is None or dtype is np.float64 else block.leading
    starts = np.arange(0, len(sorted_by), tile)
    low, high = np.minimum.reduceat(sorted_by, starts), np.maximum.reduceat(sorted_by, starts)
    if sorted_by is block.leading:
        rows, low, high = block.X.astype(dtype), low - pad, high + pad
    else:
        rows = np.empty((0, 0), dtype=dtype)
        epsilon = float(np.finfo(np.float64).eps)
        low, high = low - epsilon * np.abs(low), high + epsilon * np.abs(high)
    return Tiled(sorted_by.astype(dtype), rows, block.norms, starts, low, high)


def box_of(tiled: Tiled) -> tuple[Floats, Floats]:
    """Return the bounding box of a block."""
    return tiled.low.min(axis=0), tiled.high.max(axis=0)
