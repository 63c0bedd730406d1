"""Exact search on workers, as tasks over pairs of blocks of nearby rows.

The nearest rows are first searched for inside each block. The distances found there bound the
search: pairs of blocks that are farther apart are skipped, and a task over a pair of blocks returns
only rows that are nearer than those already known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed import search_tasks
from rmgl.distributed.search_tasks import in_one_thread as alone
from rmgl.distributed.workers import Future, Workers, as_it_is
from rmgl.edges.bounds import Reach, Rounding, box_distance
from rmgl.edges.interface import Ends, Floats, Indices, Vector
from rmgl.edges.nearest import (
    HALF_OF_LARGEST,
    nearest_across,
    nearest_inside,
    nearest_of,
    nearest_of_others,
)
from rmgl.edges.within import within
from rmgl.running.threads import Check


@dataclass(frozen=True)
class TiledBlocks:
    """Rows in blocks of tiles on the workers, in single or in double precision."""

    tiled: list[Future]
    starts: Indices
    """First place in each block, and the number of rows."""
    low: Floats
    """Lower corners of the bounding boxes of all blocks."""
    high: Floats
    """Upper corners of the bounding boxes of all blocks."""
    rounding: Rounding

    def far(self, block: int) -> Vector:
        """Return the squared distances between the box of a block and the boxes of all blocks."""
        return box_distance(self.low, self.high, self.low[block], self.high[block])


class Search:
    """One search among rows in blocks. Rows are identified by their places in tile order."""

    def __init__(self, workers: Workers, blocks: TiledBlocks, check: Check) -> None:
        self.workers, self.blocks, self.check = workers, blocks, check
        self.tiled, self.rounding = blocks.tiled, blocks.rounding
        self.starts: list[int] = blocks.starts.tolist()

    def nearest_of_all(self, length: int) -> tuple[NDArray[np.int32], Vector]:
        """Find the nearest rows for each row, by place, and the squared distance to the last."""
        submit, blocks = self.workers.submit, range(len(self.tiled))
        inside = [
            submit("rmgl-nearest-inside-block", alone, nearest_inside, tiled, length, self.rounding)
            for tiled in self.tiled
        ]
        known, worst = self._known(inside, "search inside blocks")
        hits: list[list[search_tasks.Part]] = [[] for _ in blocks]
        for a in blocks:
            reach = 2.0 * np.minimum(-np.minimum(worst[a], worst), HALF_OF_LARGEST)
            near = self.blocks.far(a) <= reach
            for b in (np.flatnonzero(near[a + 1 :]) + a + 1).tolist():
                pair = (self.tiled[a], self.tiled[b], (known[a], known[b]))
                across = submit(
                    "rmgl-nearest-across-blocks", alone, nearest_across, *pair, self.rounding
                )
                hits[a].append((self.starts[b], across, 0))
                hits[b].append((self.starts[a], across, 1))
        del known
        return self._merged(blocks, inside, hits)

    def nearest_of_some(self, chosen: Indices, length: int) -> tuple[NDArray[np.int32], Vector]:
        """Find the nearest rows for the rows at ascending places, as `nearest_of_all` does."""
        submit, name = self.workers.submit, "rmgl-nearest-of-some-rows"
        bounds = np.searchsorted(chosen, self.starts)
        asked = np.flatnonzero(np.diff(bounds)).tolist()
        sent = [self._sent(chosen, bounds, a) for a in asked]
        inside = [
            submit(name, alone, nearest_of, self.tiled[a], queries, length, self.rounding)
            for a, queries in zip(asked, sent, strict=True)
        ]
        known, worst = self._known(inside, "search again")
        hits: list[list[search_tasks.Part]] = []
        for a, queries, scores, lowest in zip(asked, sent, known, worst.tolist(), strict=True):
            near = np.flatnonzero(self.blocks.far(a) <= 2.0 * min(-lowest, HALF_OF_LARGEST))
            hits.append([])
            for b in near[near != a].tolist():
                two = (self.tiled[a], self.tiled[b])
                across = submit(
                    name, alone, nearest_of_others, *two, queries, scores, self.rounding
                )
                hits[-1].append((self.starts[b], across, None))
        return self._merged(asked, inside, hits)

    def _sent(self, chosen: Indices, bounds: Indices, block: int) -> Future:
        """Send the chosen rows of a block to the workers, by their places in it."""
        some = chosen[bounds[block] : bounds[block + 1]] - self.starts[block]
        return self.workers.submit("rmgl-chosen", as_it_is, some)

    def _known(self, inside: Sequence[Future], name: str) -> tuple[list[Future], Vector]:
        """Return the scores inside each block, kept on the workers, and the lowest in each."""
        tasks = self.workers.map("rmgl-lowest-scores", search_tasks.lowest_of, inside)
        lowest = self.workers.gather(tasks, name, self.check)
        return self.workers.map("rmgl-scores", itemgetter(0), inside), np.array(lowest)

    def _merged(
        self,
        blocks: Sequence[int],
        inside: Sequence[Future],
        hits: Sequence[Sequence[search_tasks.Part]],
    ) -> tuple[NDArray[np.int32], Vector]:
        """Return the places of the best hits for each query, and their largest squared distance."""
        tasks = [
            self.workers.submit(
                "rmgl-merge-lists", search_tasks.best_of, nearest, self.starts[block], list(parts)
            )
            for block, nearest, parts in zip(blocks, inside, hits, strict=True)
        ]
        merged = self.workers.gather(tasks, "search across blocks", self.check)
        places, last = (np.concatenate(parts) for parts in zip(*merged, strict=True))
        return places, -2.0 * last.astype(np.float64)

    def within(self, radii: Vector, scales: Vector, chosen: Indices | None) -> tuple[Ends, Ends]:
        """Find the pairs within reach that contain a chosen row (None: all rows are chosen).

        Radii and scales are indexed by place.
        """
        submit, starts, n = self.workers.submit, self.starts, len(self.tiled)
        reach = [
            submit("rmgl-reach", Reach.rounded_up, radii[a:b], scales[a:b], self.rounding)
            for a, b in pairwise(starts)
        ]
        largest = Reach.rounded_up(radii, scales, self.rounding).largest(starts[:-1])
        picked: list[Future] = []
        sizes = [1] * n
        if chosen is not None:
            bounds = np.searchsorted(chosen, starts)
            sizes = np.diff(bounds).tolist()
            picked = [self._sent(chosen, bounds, a) for a in range(n)]
        tasks, pairs = [], []
        for a in range(n):
            near = self.blocks.far(a) <= largest[a : a + 1].to(largest)
            for b in (np.flatnonzero(near[a:]) + a).tolist():
                if not (sizes[a] or sizes[b]):
                    continue
                two = (self.tiled[a], None if b == a else self.tiled[b], (reach[a], reach[b]))
                both = None if chosen is None else (picked[a], picked[b])
                name = "rmgl-within-radii-inside" if b == a else "rmgl-within-radii-across"
                tasks.append(submit(name, alone, within, *two, both, self.rounding))
                pairs.append((a, b))
        found = self.workers.gather(tasks, "scan by radii", self.check)
        left, right = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for ends, two_blocks in zip(found, pairs, strict=True):
            for side, own, block in zip((left, right), ends, two_blocks, strict=True):
                side.append(own + np.int32(starts[block]))
        return np.concatenate(left), np.concatenate(right)
