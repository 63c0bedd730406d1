"""What a worker does beside searching: it runs a search alone, and puts its results together.

These are pure functions, which Dask can run anywhere and run again. The searches themselves are
those of one machine (`rmgl.edges.nearest`, `rmgl.edges.within`).
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
"""The first place of a block in which rows were found, the hits there, and a side.

The hits are those of one block (side None), or of two blocks, of which the side is meant.
"""


def in_one_thread(search: Callable[..., Any], *arguments: Any) -> Any:
    """Search while linear algebra uses one thread: a worker has a thread for each task."""
    with single_threaded("blas"):
        return search(*arguments)


def lowest_of(inside: Found) -> float:
    """Return the lowest score of all."""
    return float(inside[0][:, 0].min())


def best_of(inside: Found, first: int, parts: Sequence[Part]) -> tuple[NDArray[np.int32], Products]:
    """Return the nearest rows of every query, as places among all rows, and the worst score.

    They are those found in its own block, which begins at place `first`, and in others; of equal
    scores, those of an earlier part stay.
    """
    scores = inside[0].copy()
    nearest = np.where(inside[1] == NOBODY, NOBODY, first + inside[1]).astype(np.int32)
    for start, hits, side in parts:
        queries, places, offered = hits if side is None else hits[side]
        kernels.insert(queries, start + places, offered, scores, nearest)
    return nearest, scores[:, 0]
