"""One exact search on a cluster, as tasks over pairs of blocks of near rows.

The nearest rows are first searched for inside every block. The distances found there bound how far it is necessary to look: pairs of
blocks that are farther apart are skipped, and a task over a pair of blocks returns only rows that are nearer than what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed import block_pairs, pair_lists
from rmgl.distributed.blocks import Floats, box_of, in_tiles
from rmgl.distributed.cluster import Future, as_it_is
from rmgl.edges.axes import LEADING_ERROR
from rmgl.edges.heaps import HALF_OF_LARGEST, Indices
from rmgl.edges.interface import Vector
from rmgl.edges.rounding import Rounding
from rmgl.edges.tiles import Reach, box_distance
from rmgl.running.threads import Check

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows


TiledBlocks: TypeAlias = tuple[list[Future], Floats, Floats]
"""Blocks in tiles, on the workers, and the lower and upper corners of their bounding boxes."""


def tiled_blocks(rows: DistributedRows, dtype: Any) -> TiledBlocks:
    """Sort all blocks into tiles."""
    pad = LEADING_ERROR * float(np.sqrt(rows.norms.max(initial=0.0)))
    tiled = [rows.cluster.submit("rmgl-sort-into-tiles", in_tiles, block, rows.tiling.tile, dtype, pad) for block in rows.blocks]
    boxes = rows.cluster.gather(rows.cluster.map("rmgl-bounding-box", box_of, tiled))
    return tiled, np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])


class Search:
    """One search, with the rows of all blocks in single or in double precision."""

    def __init__(self, rows: DistributedRows, precise: bool, check: Check) -> None:
        self.rows, self.check, self.cluster = rows, check, rows.cluster
        self.rounding = Rounding.of(rows.matrix.shape[1], np.float64 if precise else np.float32)
        blocks: TiledBlocks = tiled_blocks(rows, np.float64) if precise else rows.in_single
        self.tiled, self.low, self.high = blocks

    def far(self, block: int) -> Vector:
        """The squared distances between the box of a block and those of all blocks."""
        return box_distance(self.low, self.high, self.low[block], self.high[block])

    def nearest_of_all(self, length: int) -> tuple[list[Future], Vector]:
        """The places of the nearest rows of every row, block by block on the workers, and the squared distances of the last ones."""
        submit, blocks = self.cluster.submit, range(len(self.tiled))
        inside = [submit("rmgl-nearest-inside-block", block_pairs.nearest_inside, tiled, length, self.rounding) for tiled in self.tiled]
        known, worst = self.known(inside, "search inside blocks")
        hits: list[list[block_pairs.Part]] = [[] for _ in blocks]
        for a in blocks:
            near = self.far(a) <= 2.0 * np.minimum(-np.minimum(worst[a], worst), HALF_OF_LARGEST)
            for b in (np.flatnonzero(near[a + 1 :]) + a + 1).tolist():
                pair = (self.tiled[a], self.tiled[b], (known[a], known[b]))
                across = submit("rmgl-nearest-across-blocks", block_pairs.nearest_across, *pair, self.rounding)
                hits[a].append((self.rows.own(b).start, across, 0))
                hits[b].append((self.rows.own(a).start, across, 1))
        del known
        return self.merged(list(blocks), inside, hits)

    def nearest_of_some(self, chosen: Indices, length: int) -> tuple[NDArray[np.int32], Vector]:
        """The nearest rows of rows at some places, which are in ascending order, and the squared distances of the last ones."""
        submit, name = self.cluster.submit, "rmgl-nearest-of-some-rows"
        bounds = np.searchsorted(chosen, self.rows.starts)
        asked = np.flatnonzero(np.diff(bounds)).tolist()
        sent = [submit("rmgl-chosen", as_it_is, chosen[bounds[a] : bounds[a + 1]] - self.rows.starts[a]) for a in asked]
        own = zip(asked, sent, strict=True)
        inside = [submit(name, block_pairs.nearest_of, self.tiled[a], queries, length, self.rounding) for a, queries in own]
        known, worst = self.known(inside, "search again")
        hits: list[list[block_pairs.Part]] = []
        for a, queries, scores, lowest in zip(asked, sent, known, worst.tolist(), strict=True):
            near = np.flatnonzero(self.far(a) <= 2.0 * min(-lowest, HALF_OF_LARGEST))
            task = block_pairs.nearest_of_others
            hits.append([])
            for b in near[near != a].tolist():
                across = submit(name, task, self.tiled[a], self.tiled[b], queries, scores, self.rounding)
                hits[-1].append((self.rows.own(b).start, across, None))
        lists, last = self.merged(asked, inside, hits)
        return np.concatenate(self.cluster.gather(lists)), last

    def known(self, inside: Sequence[Future], name: str) -> tuple[list[Future], Vector]:
        """The scores of the nearest rows inside each block, on the workers, and the lowest one in every block."""
        lowest = self.cluster.gather(self.cluster.map("rmgl-lowest-scores", block_pairs.lowest_of, inside), name, self.check)
        return self.cluster.map("rmgl-scores", block_pairs.scores_of, inside), np.array(lowest)

    def merged(
        self, blocks: Sequence[int], inside: Sequence[Future], hits: Sequence[Sequence[block_pairs.Part]]
    ) -> tuple[list[Future], Vector]:
        """The places of the best hits of every query of some blocks, on the workers, and the squared distances of the last ones."""
        merged = [
            self.cluster.submit("rmgl-merge-lists", block_pairs.best_of, found, self.rows.own(block).start, list(own))
            for block, found, own in zip(blocks, inside, hits, strict=True)
        ]
        last = self.cluster.gather(self.cluster.map("rmgl-last-scores", pair_lists.last_of, merged), "search across blocks", self.check)
        lists = self.cluster.map("rmgl-lists", pair_lists.places_of, merged)
        return lists, -2.0 * np.concatenate(last).astype(np.float64)

    def within(self, radii: Vector, scales: Vector, chosen: Indices | None) -> tuple[list[Future], list[tuple[int, int]]]:
        """Tasks that find the pairs in reach of which one is chosen (None: all are), and their blocks; radii and scales are by places."""
        submit, rows = self.cluster.submit, self.rows
        own = [rows.own(block) for block in range(len(self.tiled))]
        reach = [submit("rmgl-reach", Reach.rounded_up, radii[some], scales[some], self.rounding) for some in own]
        largest = Reach.rounded_up(radii, scales, self.rounding).largest(rows.starts[:-1])
        picked, sizes = [None] * len(own), [1] * len(own)
        if chosen is not None:
            bounds = np.searchsorted(chosen, rows.starts)
            sizes = np.diff(bounds).tolist()
            picked = [submit("rmgl-chosen", as_it_is, chosen[bounds[a] : bounds[a + 1]] - rows.starts[a]) for a in range(len(own))]
        tasks, pairs = [], []
        for a in range(len(own)):
            near = self.far(a) <= largest[a : a + 1].to(largest)
            for b in (np.flatnonzero(near[a:]) + a).tolist():
                if not (sizes[a] or sizes[b]):
                    continue
                other = None if b == a else self.tiled[b]
                both = None if chosen is None else (picked[a], picked[b])
                name = "rmgl-within-radii-inside" if b == a else "rmgl-within-radii-across"
                tasks.append(submit(name, block_pairs.within, self.tiled[a], other, (reach[a], reach[b]), both, self.rounding))
                pairs.append((a, b))
        return tasks, pairs
