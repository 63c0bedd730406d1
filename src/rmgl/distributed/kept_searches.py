"""Searches on a cluster whose results a checkpoint keeps, on the machine of the client.

Lists of nearest rows and pairs within radii come to the client block by block, and go back to the workers from there when a run resumes.
They are of the size of the layers, which come to the client in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.checks import Unsound
from rmgl.distributed import pair_lists
from rmgl.distributed.cluster import PIECE_BYTES, Cluster, Future, as_it_is
from rmgl.edges.interface import Vector
from rmgl.edges.kept_searches import check_lists, check_pairs
from rmgl.running.checkpoint import Checkpoint, Found, digest_of

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows

Lists: TypeAlias = tuple[list[Future], Vector]
"""The places of the nearest rows of every row, block by block on the workers, and for each a bound of how far all others are."""
Within: TypeAlias = list[tuple[range, list[tuple[Future, int, int]]]]
"""For each group of blocks its places, and the tasks that have found pairs of its rows, with the first places of the rows of both sides."""
BYTES_PER_PAIR = 8


def kept_lists(rows: DistributedRows, checkpoint: Checkpoint, length: int, search: Callable[[], Lists]) -> Lists:
    """The lists of all rows, from the checkpoint if all of them are there."""
    searched = cache(search)

    def of_block(block: int) -> Found:
        lists, bounds = searched()
        (neighbors,) = rows.cluster.gather([lists[block]])
        return {"neighbors": neighbors, "bounds": bounds[rows.order[rows.own(block)]]}

    def examine(block: int, found: Found) -> None:
        own = rows.own(block)
        check_lists(found, np.arange(own.start, own.stop), length, rows.n_rows, bounded=True)

    name, lists, bounds = f"nearest-{digest_of(rows.digest(), length)}", [], np.empty(rows.n_rows)
    for block in range(len(rows.blocks)):
        found = part_of_step(checkpoint, name, block, of_block, examine)
        bounds[rows.order[rows.own(block)]] = found["bounds"]
        lists.append(None if searched.cache_info().currsize else sent(rows.cluster, found["neighbors"]))
    return searched() if searched.cache_info().currsize else (lists, bounds)


def kept_within(rows: DistributedRows, checkpoint: Checkpoint, asked: Sequence[Any], search: Callable[[], Within]) -> Within:
    """The pairs within radii, from the checkpoint if all of them are there; `asked` are nodes, radii and scales."""
    searched = cache(search)

    def of_group(group: int) -> Found:
        ((left, right),) = rows.cluster.gather([rows.cluster.submit("rmgl-collect-pairs", pair_lists.collected, *searched()[group])])
        return {"left": left, "right": right}

    def examine(group: int, found: Found) -> None:
        check_pairs(found, rows.n_rows)
        own = rows.group_places[group]
        if found["left"].size and not own.start <= found["left"].min() <= found["left"].max() < own.stop:
            raise Unsound("pairs of rows of another block")

    name, kept = f"within-{digest_of(rows.digest(), *asked)}", []
    for group, own in enumerate(rows.group_places):
        found = part_of_step(checkpoint, name, group, of_group, examine)
        kept.append((own, [] if searched.cache_info().currsize else sent_pairs(rows.cluster, found["left"], found["right"])))
    return searched() if searched.cache_info().currsize else kept


def part_of_step(checkpoint: Checkpoint, name: str, part: int, work: Callable[[int], Found], check: Callable[[int, Found], None]) -> Found:
    """One part of the results of a search."""
    return checkpoint.step(f"{name}-{part}", lambda: work(part), lambda found: check(part, found))


def sent(cluster: Cluster, array: NDArray[Any]) -> Future:
    """An array as the result of a task on the workers."""
    return cluster.in_strips(cluster.share("rmgl-kept-lists", array), 1)[0][0]


def sent_pairs(cluster: Cluster, left: NDArray[Any], right: NDArray[Any]) -> list[tuple[Future, int, int]]:
    """Pairs of places as results of tasks on the workers."""
    size = PIECE_BYTES // BYTES_PER_PAIR
    pieces = [(left[first : first + size], right[first : first + size]) for first in range(0, left.size, size)]
    return [(cluster.submit("rmgl-kept-pairs", as_it_is, piece), 0, 0) for piece in pieces]
