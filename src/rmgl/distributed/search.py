"""One exact search on a cluster, as tasks over pairs of blocks of near rows.

The nearest rows are first searched for inside every block. The distances found there bound how far it is necessary to look: pairs of
blocks that are farther apart are skipped, and a task over a pair of blocks returns only rows that are nearer than what is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed import block_pairs, pair_lists
from rmgl.distributed.blocks import box_of, in_tiles
from rmgl.distributed.cluster import Future, as_it_is
from rmgl.edges.axes import LEADING_ERROR
from rmgl.edges.heaps import HALF_OF_LARGEST, Indices
from rmgl.edges.interface import Vector
from rmgl.edges.tiles import box_distance, rounding
from rmgl.running.threads import Check

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows


class Search:
    """One search, with the rows of all blocks in single or in double precision."""

    def __init__(self, rows: DistributedRows, precise: bool, check: Check) -> None:
        self.rows, self.check, self.cluster = rows, check, rows.cluster
        dtype: Any = np.float64 if precise else np.float32
        self.loss = rounding(rows.matrix.shape[1], dtype)
        pad = LEADING_ERROR * float(np.sqrt(rows.norms.max(initial=0.0)))
        tile = rows.tiling.tile
        self.tiled = [self.cluster.submit("rmgl-sort-into-tiles", in_tiles, block, tile, dtype, pad) for block in rows.blocks]
        boxes = self.cluster.gather([self.cluster.submit("rmgl-bounding-box", box_of, tiled) for tiled in self.tiled])
        self.low, self.high = (np.array([box[side] for box in boxes]) for side in (0, 1))

    def far(self, block: int) -> Vector:
        """The squared distances between the box of a block and those of all blocks."""
        return box_distance(self.low, self.high, self.low[block], self.high[block])

    def nearest_of_all(self, length: int) -> tuple[list[Future], Vector]:
        """The places of the nearest rows of every row, block by block on the workers, and the squared distances of the last ones."""
        submit, blocks = self.cluster.submit, range(len(self.tiled))
        inside = [submit("rmgl-nearest-inside-block", block_pairs.nearest_inside, tiled, length, self.loss) for tiled in self.tiled]
        sizes = np.diff(self.rows.starts).tolist()
        cuts = [submit("rmgl-cuts", block_pairs.cuts_of, found, size, length) for found, size in zip(inside, sizes, strict=True)]
        worst = np.array([own.min() for own in self.cluster.gather(cuts, "search inside blocks", self.check)])
        hits: list[list[block_pairs.Part]] = [[(self.rows.own(a).start, inside[a], None)] for a in blocks]
        for a in blocks:
            near = self.far(a) <= 2.0 * np.minimum(-np.minimum(worst[a], worst), HALF_OF_LARGEST)
            for b in (np.flatnonzero(near[a + 1 :]) + a + 1).tolist():
                pair = (self.tiled[a], self.tiled[b], (cuts[a], cuts[b]))
                across = submit("rmgl-nearest-across-blocks", block_pairs.nearest_across, *pair, length, self.loss)
                hits[a].append((self.rows.own(b).start, across, 0))
                hits[b].append((self.rows.own(a).start, across, 1))
        del inside, cuts
        return self.merged(hits, sizes, length)

    def nearest_of_some(self, chosen: Indices, length: int) -> tuple[NDArray[np.int32], Vector]:
        """The nearest rows of rows at some places, which are in ascending order, and the squared distances of the last ones."""
        submit = self.cluster.submit
        bounds = np.searchsorted(chosen, self.rows.starts)
        asked = [(a, chosen[bounds[a] : bounds[a + 1]] - self.rows.starts[a]) for a in np.flatnonzero(np.diff(bounds)).tolist()]
        task, name = block_pairs.nearest_of, "rmgl-nearest-of-some-rows"
        sent = [submit("rmgl-chosen", as_it_is, queries) for _, queries in asked]
        sizes = [len(queries) for _, queries in asked]
        inside = [
            submit(name, task, self.tiled[a], None, queries, None, length, self.loss) for (a, _), queries in zip(asked, sent, strict=True)
        ]
        cuts = [submit("rmgl-cuts", block_pairs.cuts_of, found, size, length) for found, size in zip(inside, sizes, strict=True)]
        worst = [own.min() for own in self.cluster.gather(cuts, "search again", self.check)]
        hits = []
        for (a, _), queries, found, cut, lowest in zip(asked, sent, inside, cuts, worst, strict=True):
            near = np.flatnonzero(self.far(a) <= 2.0 * min(-float(lowest), HALF_OF_LARGEST))
            across = [
                (self.rows.own(b).start, submit(name, task, self.tiled[a], self.tiled[b], queries, cut, length, self.loss), None)
                for b in near.tolist()
                if b != a
            ]
            hits.append([(self.rows.own(a).start, found, None), *across])
        lists, last = self.merged(hits, sizes, length)
        return np.concatenate(self.cluster.gather(lists)), last

    def merged(self, hits: Sequence[Sequence[block_pairs.Part]], sizes: Sequence[int], length: int) -> tuple[list[Future], Vector]:
        """The places of the best hits of every row, on the workers, and the squared distances of the last ones."""
        merged = [
            self.cluster.submit("rmgl-merge-lists", block_pairs.best_of, list(own), size, length)
            for own, size in zip(hits, sizes, strict=True)
        ]
        last = self.cluster.gather(self.cluster.map("rmgl-last-scores", pair_lists.last_of, merged), "search across blocks", self.check)
        lists = self.cluster.map("rmgl-lists", pair_lists.places_of, merged)
        return lists, -2.0 * np.concatenate(last).astype(np.float64)

    def within(self, radii: Vector, scales: Vector, chosen: Indices | None) -> tuple[list[Future], list[tuple[int, int]]]:
        """Tasks that find the pairs in reach of which one is chosen (None: all are), and their blocks; radii and scales are by places."""
        submit, rows = self.cluster.submit, self.rows
        own = [rows.own(block) for block in range(len(self.tiled))]
        reach = [submit("rmgl-reach", block_pairs.reach_of, radii[some], scales[some], self.loss) for some in own]
        largest = block_pairs.reach_of(radii, scales, self.loss).largest(rows.starts[:-1])
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
                tasks.append(submit(name, block_pairs.within, self.tiled[a], other, (reach[a], reach[b]), both, self.loss))
                pairs.append((a, b))
        return tasks, pairs
