"""One exact search on workers, as tasks over pairs of blocks of near rows.

The nearest rows are first searched for inside every block. The distances found there bound how far
it is necessary to look: pairs of blocks that are farther apart are skipped, and a task over a pair
of blocks returns only rows that are nearer than what is known.

A checkpoint keeps results on the machine of the client. Lists of nearest rows and pairs within
radii come to the client block by block, and go back to the workers from there when a run resumes.
They are of the size of the layers, which come to the client in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.checks import Unsound
from rmgl.distributed import search_tasks
from rmgl.distributed.pair_tasks import collected
from rmgl.distributed.search_tasks import in_one_thread as alone
from rmgl.distributed.workers import PIECE_BYTES, Future, Workers, as_it_is
from rmgl.edges.bounds import Reach, Rounding, box_distance
from rmgl.edges.interface import Floats, Indices, Vector
from rmgl.edges.kept_searches import check_lists, check_pairs
from rmgl.edges.nearest import (
    HALF_OF_LARGEST,
    nearest_across,
    nearest_inside,
    nearest_of,
    nearest_of_others,
)
from rmgl.edges.within import within
from rmgl.running.checkpoint import Checkpoint, Found, digest_of
from rmgl.running.threads import Check

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows

TiledBlocks: TypeAlias = tuple[list[Future], Floats, Floats]
"""Blocks in tiles, on the workers, and the lower and upper corners of their bounding boxes."""
Lists: TypeAlias = tuple[list[Future], Vector]
"""The nearest rows of every row, block by block, and for each row how far all others are at least.

The nearest rows are given by places, and stay with the workers.
"""
Within: TypeAlias = list[tuple[range, list[tuple[Future, int, int]]]]
"""For each group of blocks its places, and the tasks that have found pairs of its rows.

A task comes with the first places of the rows of both sides.
"""
BYTES_PER_SENT_PAIR = 8


class InBlocks(Protocol):
    """Rows in blocks of tiles on the workers, as a search uses them."""

    @property
    def workers(self) -> Workers: ...

    @property
    def width(self) -> int:
        """The number of columns."""

    @property
    def starts(self) -> Indices:
        """The first place of every block, and the number of rows."""

    def tiled_blocks(self, precise: bool) -> TiledBlocks:
        """The blocks, in double or in single precision."""


def places_of(rows: InBlocks, block: int) -> slice:
    """Return the places of the rows of a block."""
    return slice(int(rows.starts[block]), int(rows.starts[block + 1]))


class Search:
    """One search, with the rows of all blocks in single or in double precision."""

    def __init__(self, rows: InBlocks, precise: bool, check: Check) -> None:
        self.rows, self.check, self.workers = rows, check, rows.workers
        self.rounding = Rounding.of(rows.width, np.float64 if precise else np.float32)
        self.tiled, self.low, self.high = rows.tiled_blocks(precise)

    def far(self, block: int) -> Vector:
        """The squared distances between the box of a block and those of all blocks."""
        return box_distance(self.low, self.high, self.low[block], self.high[block])

    def nearest_of_all(self, length: int) -> tuple[list[Future], Vector]:
        """Find the places of the nearest rows of all rows, and how far (squared) the last are."""
        submit, blocks = self.workers.submit, range(len(self.tiled))
        inside = [
            submit("rmgl-nearest-inside-block", alone, nearest_inside, tiled, length, self.rounding)
            for tiled in self.tiled
        ]
        known, worst = self.known(inside, "search inside blocks")
        hits: list[list[search_tasks.Part]] = [[] for _ in blocks]
        for a in blocks:
            near = self.far(a) <= 2.0 * np.minimum(-np.minimum(worst[a], worst), HALF_OF_LARGEST)
            for b in (np.flatnonzero(near[a + 1 :]) + a + 1).tolist():
                pair = (self.tiled[a], self.tiled[b], (known[a], known[b]))
                across = submit(
                    "rmgl-nearest-across-blocks", alone, nearest_across, *pair, self.rounding
                )
                hits[a].append((places_of(self.rows, b).start, across, 0))
                hits[b].append((places_of(self.rows, a).start, across, 1))
        del known
        return self.merged(list(blocks), inside, hits)

    def nearest_of_some(self, chosen: Indices, length: int) -> tuple[NDArray[np.int32], Vector]:
        """Find the nearest rows of rows at ascending places, and how far (squared) the last are."""
        submit, name = self.workers.submit, "rmgl-nearest-of-some-rows"
        bounds = np.searchsorted(chosen, self.rows.starts)
        asked = np.flatnonzero(np.diff(bounds)).tolist()
        sent = [self.sent(chosen, bounds, a) for a in asked]
        inside = [
            submit(name, alone, nearest_of, self.tiled[a], queries, length, self.rounding)
            for a, queries in zip(asked, sent, strict=True)
        ]
        known, worst = self.known(inside, "search again")
        hits: list[list[search_tasks.Part]] = []
        for a, queries, scores, lowest in zip(asked, sent, known, worst.tolist(), strict=True):
            near = np.flatnonzero(self.far(a) <= 2.0 * min(-lowest, HALF_OF_LARGEST))
            hits.append([])
            for b in near[near != a].tolist():
                two = (self.tiled[a], self.tiled[b])
                across = submit(
                    name, alone, nearest_of_others, *two, queries, scores, self.rounding
                )
                hits[-1].append((places_of(self.rows, b).start, across, None))
        lists, last = self.merged(asked, inside, hits)
        return np.concatenate(self.workers.gather(lists)), last

    def sent(self, chosen: Indices, bounds: Indices, block: int) -> Future:
        """Send the chosen rows of a block to the workers, by their places in it."""
        some = chosen[bounds[block] : bounds[block + 1]] - self.rows.starts[block]
        return self.workers.submit("rmgl-chosen", as_it_is, some)

    def known(self, inside: Sequence[Future], name: str) -> tuple[list[Future], Vector]:
        """Return scores inside each block, which stay with the workers, and the lowest of each."""
        tasks = self.workers.map("rmgl-lowest-scores", search_tasks.lowest_of, inside)
        lowest = self.workers.gather(tasks, name, self.check)
        return self.workers.map("rmgl-scores", itemgetter(0), inside), np.array(lowest)

    def merged(
        self,
        blocks: Sequence[int],
        inside: Sequence[Future],
        hits: Sequence[Sequence[search_tasks.Part]],
    ) -> tuple[list[Future], Vector]:
        """Return the places of the best hits of queries, and how far (squared) the last are."""
        submit, task = self.workers.submit, search_tasks.best_of
        merged = [
            submit(
                "rmgl-merge-lists", task, nearest, places_of(self.rows, block).start, list(parts)
            )
            for block, nearest, parts in zip(blocks, inside, hits, strict=True)
        ]
        tasks = self.workers.map("rmgl-last-scores", itemgetter(1), merged)
        last = self.workers.gather(tasks, "search across blocks", self.check)
        lists = self.workers.map("rmgl-lists", itemgetter(0), merged)
        return lists, -2.0 * np.concatenate(last).astype(np.float64)

    def within(
        self, radii: Vector, scales: Vector, chosen: Indices | None
    ) -> tuple[list[Future], list[tuple[int, int]]]:
        """Start tasks that find the pairs in reach, and return them with their blocks.

        One row of each pair is chosen (None: all are). Radii and scales are by places.
        """
        submit, rows, n = self.workers.submit, self.rows, len(self.tiled)
        reach = [
            submit("rmgl-reach", Reach.rounded_up, radii[some], scales[some], self.rounding)
            for some in (places_of(rows, block) for block in range(n))
        ]
        largest = Reach.rounded_up(radii, scales, self.rounding).largest(rows.starts[:-1])
        picked: list[Future] = []
        sizes = [1] * n
        if chosen is not None:
            bounds = np.searchsorted(chosen, rows.starts)
            sizes = np.diff(bounds).tolist()
            picked = [self.sent(chosen, bounds, a) for a in range(n)]
        tasks, pairs = [], []
        for a in range(n):
            near = self.far(a) <= largest[a : a + 1].to(largest)
            for b in (np.flatnonzero(near[a:]) + a).tolist():
                if not (sizes[a] or sizes[b]):
                    continue
                two = (self.tiled[a], None if b == a else self.tiled[b], (reach[a], reach[b]))
                both = None if chosen is None else (picked[a], picked[b])
                name = "rmgl-within-radii-inside" if b == a else "rmgl-within-radii-across"
                tasks.append(submit(name, alone, within, *two, both, self.rounding))
                pairs.append((a, b))
        return tasks, pairs


def kept_lists(
    rows: DistributedRows, checkpoint: Checkpoint, length: int, search: Callable[[], Lists]
) -> Lists:
    """Return the lists of all rows, from the checkpoint if all of them are there."""
    searched = cache(search)
    name = f"nearest-{digest_of(rows.digest(), length)}"
    lists, bounds = [], np.empty(rows.n_rows)
    for block in range(len(rows.blocks)):
        some = places_of(rows, block)
        nodes, places = rows.order[some], np.arange(some.start, some.stop)

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
    for group, places in enumerate(rows.group_places):

        def of_group(group: int = group) -> Found:
            task = rows.workers.submit("rmgl-collect-pairs", collected, *searched()[group])
            ((left, right),) = rows.workers.gather([task])
            return {"left": left, "right": right}

        def examine(kept: Found, places: range = places) -> None:
            check_pairs(kept, rows.n_rows)
            left = kept["left"]
            if left.size and not places.start <= left.min() <= left.max() < places.stop:
                raise Unsound("pairs of rows of another block")

        kept = checkpoint.step(f"{name}-{group}", of_group, examine)
        if not searched.cache_info().currsize:
            groups.append((places, sent_pairs(rows.workers, kept["left"], kept["right"])))
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
