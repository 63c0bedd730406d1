"""Searches on workers whose results a checkpoint keeps, on the machine of the client.

Lists of nearest rows and pairs within radii come to the client block by block, and go back to the
workers from there when a run resumes. They are of the size of the layers, which come to the client
in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.checks import Unsound
from rmgl.distributed.candidate_tasks import collected
from rmgl.distributed.workers import PIECE_BYTES, Future, Workers, as_it_is
from rmgl.edges.interface import Vector
from rmgl.edges.kept_searches import check_lists, check_pairs
from rmgl.running.checkpoint import Checkpoint, Found, digest_of

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows

Lists: TypeAlias = tuple[list[Future], Vector]
"""The nearest rows of every row, block by block, and for each row how far all others are at least.

The nearest rows are given by places, and stay with the workers.
"""
Within: TypeAlias = list[tuple[range, list[tuple[Future, int, int]]]]
"""For each group of blocks its places, and the tasks that have found pairs of its rows.

A task comes with the first places of the rows of both sides.
"""
BYTES_PER_SENT_PAIR = 8


def kept_lists(
    rows: DistributedRows, checkpoint: Checkpoint, length: int, search: Callable[[], Lists]
) -> Lists:
    """Return the lists of all rows, from the checkpoint if all of them are there."""
    searched = cache(search)
    name = f"nearest-{digest_of(rows.digest(), length)}"
    lists, bounds = [], np.empty(rows.n_rows)
    for block in range(len(rows.blocks)):
        own = rows.own(block)
        nodes, places = rows.order[own], np.arange(own.start, own.stop)

        def of_block(block: int = block, nodes: Any = nodes) -> Found:
            lists, bounds = searched()
            (neighbors,) = rows.workers.gather([lists[block]])
            return {"neighbors": neighbors, "bounds": bounds[nodes]}

        def examine(kept: Found, places: Any = places) -> None:
            check_lists(kept, places, length, rows.n_rows, bounded=True)

        kept = checkpoint.step(f"{name}-{block}", of_block, examine)
        bounds[nodes] = kept["bounds"]
        if not searched.cache_info().currsize:
            lists.append(sent(rows.workers, kept["neighbors"]))
    return searched() if searched.cache_info().currsize else (lists, bounds)


def kept_within(
    rows: DistributedRows,
    checkpoint: Checkpoint,
    asked: Sequence[Any],
    search: Callable[[], Within],
) -> Within:
    """Return the pairs within radii, from the checkpoint if all of them are there.

    `asked` are nodes, radii and scales.
    """
    searched = cache(search)
    name, groups = f"within-{digest_of(rows.digest(), *asked)}", []
    for group, own in enumerate(rows.group_places):

        def of_group(group: int = group) -> Found:
            task = rows.workers.submit("rmgl-collect-pairs", collected, *searched()[group])
            ((left, right),) = rows.workers.gather([task])
            return {"left": left, "right": right}

        def examine(kept: Found, own: range = own) -> None:
            check_pairs(kept, rows.n_rows)
            left = kept["left"]
            if left.size and not own.start <= left.min() <= left.max() < own.stop:
                raise Unsound("pairs of rows of another block")

        kept = checkpoint.step(f"{name}-{group}", of_group, examine)
        if not searched.cache_info().currsize:
            groups.append((own, sent_pairs(rows.workers, kept["left"], kept["right"])))
    return searched() if searched.cache_info().currsize else groups


def sent(workers: Workers, array: NDArray[Any]) -> Future:
    """Send an array to the workers, as the result of one task."""
    return workers.in_strips(workers.share("rmgl-kept-lists", array), 1)[0][0]


def sent_pairs(
    workers: Workers, left: NDArray[Any], right: NDArray[Any]
) -> list[tuple[Future, int, int]]:
    """Send pairs of places to the workers, as results of tasks."""
    size = PIECE_BYTES // BYTES_PER_SENT_PAIR
    pieces = [
        (left[first : first + size], right[first : first + size])
        for first in range(0, left.size, size)
    ]
    return [(workers.submit("rmgl-kept-pairs", as_it_is, piece), 0, 0) for piece in pieces]
