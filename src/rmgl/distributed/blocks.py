"""Blocks of consecutive tiles, which workers receive and compare.

Block boundaries depend only on the number of rows, so results do not depend on the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.workers import Future, Workers, joined
from rmgl.edges.bounds import TILE
from rmgl.edges.interface import Floats, Indices, Vector
from rmgl.edges.tiles import Tiled

FEWEST_ROWS, MOST_ROWS = 8192, 65_536
"""Minimum and maximum number of rows in a block, unless there are too many blocks to schedule."""
WANTED_BLOCKS, MOST_BLOCKS = 8, 256
"""Number of blocks that keeps all workers busy, and maximum number that can be scheduled."""


def rows_of_block(n_rows: int) -> int:
    """Return the number of rows in a block, a multiple of the tile size."""
    size = min(max(n_rows // WANTED_BLOCKS, FEWEST_ROWS), MOST_ROWS)
    return TILE * -(-max(size, n_rows // MOST_BLOCKS) // TILE)


def starts_of(n_rows: int) -> Indices:
    """Return the first place in each block, and the number of rows."""
    return np.append(np.arange(0, n_rows, rows_of_block(n_rows)), n_rows)


def part_of(tiled: Tiled, first: int, stop: int) -> Tiled:
    """Return the tiles of a block, from one place to another."""
    tiles = slice(first // TILE, -(-stop // TILE))
    return Tiled(
        tiled.columns[first:stop],
        tiled.rows[first:stop] if len(tiled.rows) else tiled.rows,
        tiled.norms[first:stop],
        tiled.starts[tiles] - first,
        tiled.low[tiles],
        tiled.high[tiles],
    )


def box_of(tiled: Tiled) -> tuple[Floats, Floats]:
    """Return the bounding box of a block."""
    return tiled.low.min(axis=0), tiled.high.max(axis=0)


def send(workers: Workers, tiled: Tiled) -> Future:
    """Send a block to the workers, with its rows in pieces."""
    X = tiled.columns
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    sent = [workers.share("rmgl-send-rows", part) for part in parts]
    rows = workers.share("rmgl-send-rows", tiled.rows) if len(tiled.rows) else [tiled.rows]
    about = (tiled.norms, tiled.starts, tiled.low, tiled.high)
    return workers.submit("rmgl-tiled-block", put_together, X.shape, sent, rows, about)


def put_together(
    shape: tuple[int, int],
    columns: Sequence[Sequence[NDArray[Any]]],
    rows: Sequence[NDArray[Any]],
    about: tuple[Vector, Indices, Any, Any],
) -> Tiled:
    """Join the pieces of a block. Sparse rows have three arrays."""
    arrays = [joined(pieces) for pieces in columns]
    X = arrays[0] if len(arrays) == 1 else sparse.csr_array(tuple(arrays), shape=shape)
    return Tiled(X, joined(rows), *about)
