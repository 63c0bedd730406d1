"""Helper tasks for workers: run a search in one thread, and merge its results.

These are pure functions, which Dask can run anywhere and repeat. The searches themselves are the
same as on one machine (`rmgl.edges.nearest`, `rmgl.edges.within`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl import kernels
from rmgl.edges.interface import Products
from rmgl.edges.nearest import NOBODY, Found
from rmgl.running.threads import single_threaded

Part: TypeAlias = tuple[int, Any, int | None]
"""First place of a block in which rows were found, the hits there, and a side.

The hits are in one block (side None), or in two blocks, one of which the side selects.
"""


def in_one_thread(search: Callable[..., Any], *arguments: Any) -> Any:
    """Search with single-threaded linear algebra, because a worker has a thread for each task."""
    with single_threaded("blas"):
        return search(*arguments)


def lowest_of(inside: Found) -> float:
    """Return the lowest score."""
    return float(inside[0][:, 0].min())


def best_of(inside: Found, first: int, parts: Sequence[Part]) -> tuple[NDArray[np.int32], Products]:
    """Return the nearest rows for each query, as places among all rows, and the worst score.

    The rows come from the query's own block, which begins at place `first`, and from other blocks.
    Among equal scores, those from an earlier part are kept.
    """
    scores = inside[0].copy()
    nearest = np.where(inside[1] == NOBODY, NOBODY, first + inside[1]).astype(np.int32)
    for start, hits, side in parts:
        queries, places, offered = hits if side is None else hits[side]
        kernels.insert(queries, start + places, offered, scores, nearest)
    return nearest, scores[:, 0]
