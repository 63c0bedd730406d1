"""The space of rows that are kept by the workers of a cluster: exact search as tasks over pairs of blocks of near rows.

The nearest rows are first searched for inside every block. The distances found there bound how far it is necessary to look: pairs of
blocks that are farther apart are skipped, and a task over a pair of blocks returns only rows that are nearer than what is known. Lists,
radii and scales are in the memory of the client, rows never are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed import block_pairs
from rmgl.distributed.blocks import box_of, build_blocks, in_tiles, lead, outline, split
from rmgl.distributed.cluster import Cluster, Future
from rmgl.distributed.matrix import RemoteMatrix
from rmgl.edges.axes import LEADING_ERROR, leading_axes
from rmgl.edges.heaps import HALF_OF_LARGEST, TILE, Indices
from rmgl.edges.interface import Edges, Vector
from rmgl.edges.pair_list import PairList
from rmgl.edges.search import LARGEST_LOSS, everyone_else, fits_single, needs_double
from rmgl.edges.tiles import box_distance, distance_bound, rounding
from rmgl.running.threads import Check

FEWEST_ROWS, MOST_ROWS = 4096, 65_536
"""Rows of a block, if blocks are neither too few to occupy all workers nor too many to schedule;"""
WANTED_BLOCKS, MOST_BLOCKS = 32, 256
"""the numbers of blocks between which it is chosen."""
PAIRS_PER_TASK = 1 << 18
"""Pairs that one task measures; they are sent to the scheduler."""


@dataclass(frozen=True)
class Tiling:
    """How rows are cut; it depends on their number alone."""

    tile: int = TILE
    block_tiles: int = MOST_ROWS // TILE

    @classmethod
    def of(cls, n_rows: int) -> Tiling:
        size = max(min(max(n_rows // WANTED_BLOCKS, FEWEST_ROWS), MOST_ROWS), n_rows // MOST_BLOCKS)
        return cls(TILE, -(-size // TILE))


@dataclass(frozen=True)
class DistributedRows:
    """The space of the rows of a matrix on a cluster."""

    matrix: RemoteMatrix
    tiling: Tiling

    @property
    def n_rows(self) -> int:
        return self.matrix.shape[0]

    @property
    def cluster(self) -> Cluster:
        return self.matrix.cluster

    def among(self, nodes: NDArray[np.intp] | None) -> DistributedRows:
        if nodes is not None:
            raise ValueError("a fit on a cluster cannot leave entities out: fit without client=")
        return self

    # how rows are cut

    @cached_property
    def axes(self) -> Any:
        """The axes of leading columns, if they pay (None: they do not)."""
        if not self.single:
            return None
        return leading_axes(self.matrix.shape, lambda rows: self.matrix.rows(rows) - self.matrix.mean)

    @cached_property
    def single(self) -> bool:
        """Whether squares of the rows neither overflow nor underflow in single precision."""
        summary = self.matrix.summary
        return fits_single(float((summary.low - self.matrix.mean).min()), float((summary.high - self.matrix.mean).max()))

    @cached_property
    def blocks(self) -> list[Future]:
        """The blocks of near rows, on the workers."""
        matrix, center = self.matrix, self.matrix.mean
        sorted_by = matrix.mapped("rmgl-subtract-mean", np.subtract, center)
        if self.axes is not None:
            chunks = tuple(self.cluster.submit("rmgl-leading-columns", lead, chunk, center, self.axes) for chunk in matrix.chunks)
            sorted_by = RemoteMatrix(self.cluster, chunks, matrix.bounds, self.axes.shape[1] + 1)
        parts = split(sorted_by, self.tiling.tile, self.tiling.block_tiles)
        return build_blocks(matrix, center, self.axes, parts, self.tiling.tile)

    @cached_property
    def outlines(self) -> list[tuple[Indices, Vector]]:
        """The indices and squared lengths of the rows of every block."""
        return self.cluster.gather([self.cluster.submit("rmgl-outline", outline, block) for block in self.blocks], "sort rows")

    @cached_property
    def order(self) -> Indices:
        """The rows by their places in the blocks, one block after the other."""
        return np.concatenate([nodes for nodes, _ in self.outlines])

    @cached_property
    def places(self) -> Indices:
        """The place of every row."""
        places = np.empty(self.n_rows, dtype=np.int64)
        places[self.order] = np.arange(self.n_rows)
        return places

    @cached_property
    def norms(self) -> Vector:
        """The squared length of every row, by places."""
        return np.concatenate([norms for _, norms in self.outlines])

    @cached_property
    def starts(self) -> Indices:
        """The first place of every block, and the number of rows."""
        return np.concatenate([[0], np.cumsum([len(nodes) for nodes, _ in self.outlines])])

    def own(self, block: int) -> slice:
        """The places of the rows of a block."""
        return slice(int(self.starts[block]), int(self.starts[block + 1]))

    # the search

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        if len(nodes) < self.n_rows:
            raise ValueError("a cluster searches for the neighbors of all rows at once")
        length = min(length, self.n_rows - 1)
        if length == self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        search = Search(self, not self.single, check)
        found, last = search.nearest_of_all(length)
        bounds = distance_bound(last, self.norms, search.loss)
        imprecise = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
        if imprecise.size and self.single:
            precise = Search(self, True, check)
            found[imprecise], last = precise.nearest_of_some(imprecise, length)
            bounds[imprecise] = distance_bound(last, self.norms[imprecise], precise.loss)
        return self.order[found][self.places[nodes]], bounds[self.places[nodes]]

    def within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
    ) -> tuple[Indices, Indices]:
        """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j).

        A pair may occur in both orders, and rounding may add a few pairs. `scales` are the s_i (None: all are one).
        """
        scales = np.ones(self.n_rows) if scales is None else scales
        norms = self.norms[self.places]
        precise = not self.single or needs_double(self.matrix.shape[1], norms[nodes], (scales**2 * radii)[nodes])
        radii = np.where(np.isfinite(radii), radii, 0.0)  # a node with an infinite radius has all its pairs already
        chosen = None if 2 * len(nodes) > self.n_rows else np.sort(self.places[nodes])
        left, right = Search(self, precise, check).within(radii[self.order], scales[self.order], chosen)
        return self.order[left], self.order[right]

    # distances

    def measure(self, edges: Edges, check: Check = lambda: None) -> Vector:
        """The squared distances of the listed pairs, each computed once for both of its entries."""
        assert isinstance(edges, PairList), "a cluster measures listed pairs only"
        rows = np.repeat(np.arange(self.n_rows), np.diff(edges.indptr))
        upper = np.flatnonzero(rows < edges.indices)
        left, right = rows[upper], edges.indices[upper]
        distances = self.distances_of(left, right, check)
        numbered = sparse.csr_array((np.arange(1, upper.size + 1), (left, right)), shape=(self.n_rows, self.n_rows))
        both = sparse.csr_array(numbered + numbered.T)
        both.sort_indices()
        of_entries: Vector = distances[both.data - 1]
        return of_entries

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        left = np.repeat(nodes, neighbors.shape[1])
        return self.distances_of(left, neighbors.ravel()).reshape(neighbors.shape)

    def distances_of(self, left: NDArray[Any], right: NDArray[Any], check: Check = lambda: None) -> Vector:
        """The squared distances of pairs of rows, measured by tasks over pairs of blocks."""
        places, others = self.places[left], self.places[right]
        blocks, theirs = (np.searchsorted(self.starts, place, side="right") - 1 for place in (places, others))
        order = np.lexsort((places, theirs, blocks))
        groups = (blocks * len(self.blocks) + theirs)[order]
        cuts = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
        tasks, parts = [], []
        for first, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            a, b = divmod(int(groups[first]), len(self.blocks))
            for at in range(first, stop, PAIRS_PER_TASK):
                some = order[at : min(at + PAIRS_PER_TASK, stop)]
                own = (places[some] - self.starts[a]).astype(np.int32), (others[some] - self.starts[b]).astype(np.int32)
                tasks.append(self.cluster.submit("rmgl-measure-pairs", block_pairs.distances_across, self.blocks[a], self.blocks[b], *own))
                parts.append(some)
        distances = np.empty(len(places))
        for some, part in zip(parts, self.cluster.gather(tasks, "measure pairs", check), strict=True):
            distances[some] = part
        return distances


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

    def nearest_of_all(self, length: int) -> tuple[Indices, Vector]:
        """The places of the nearest rows of every row, by places, and the computed squared distance of the last one."""
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

    def nearest_of_some(self, chosen: Indices, length: int) -> tuple[Indices, Vector]:
        """What `nearest_of_all` returns, for rows at some places, which are in ascending order."""
        submit = self.cluster.submit
        bounds = np.searchsorted(chosen, self.rows.starts)
        asked = [(a, chosen[bounds[a] : bounds[a + 1]] - self.rows.starts[a]) for a in np.flatnonzero(np.diff(bounds)).tolist()]
        task, name = block_pairs.nearest_of, "rmgl-nearest-of-some-rows"
        inside = [submit(name, task, self.tiled[a], None, queries, None, length, self.loss) for a, queries in asked]
        cuts = [
            submit("rmgl-cuts", block_pairs.cuts_of, found, len(queries), length) for found, (_, queries) in zip(inside, asked, strict=True)
        ]
        worst = [own.min() for own in self.cluster.gather(cuts, "search again", self.check)]
        hits = []
        for (a, queries), found, cut, lowest in zip(asked, inside, cuts, worst, strict=True):
            near = np.flatnonzero(self.far(a) <= 2.0 * min(-float(lowest), HALF_OF_LARGEST))
            across = [
                (self.rows.own(b).start, submit(name, task, self.tiled[a], self.tiled[b], queries, cut, length, self.loss), None)
                for b in near.tolist()
                if b != a
            ]
            hits.append([(self.rows.own(a).start, found, None), *across])
        return self.merged(hits, [len(queries) for _, queries in asked], length)

    def merged(self, hits: Sequence[Sequence[block_pairs.Part]], sizes: Sequence[int], length: int) -> tuple[Indices, Vector]:
        """The best hits of every row."""
        merged = [
            self.cluster.submit("rmgl-merge-lists", block_pairs.best_of, list(own), size, length)
            for own, size in zip(hits, sizes, strict=True)
        ]
        lists = self.cluster.gather(merged, "search across blocks", self.check)
        found = np.concatenate([places for places, _ in lists]).astype(np.int64)
        return found, -2.0 * np.concatenate([last for _, last in lists]).astype(np.float64)

    def within(self, radii: Vector, scales: Vector, chosen: Indices | None) -> tuple[Indices, Indices]:
        """The places of all pairs in reach of which one is chosen (None: all are); radii and scales are given by places."""
        submit, rows = self.cluster.submit, self.rows
        own = [rows.own(block) for block in range(len(self.tiled))]
        reach = [submit("rmgl-reach", block_pairs.reach_of, radii[some], scales[some], self.loss) for some in own]
        largest = block_pairs.reach_of(radii, scales, self.loss).largest(rows.starts[:-1])
        picked: list[Any] = [None] * len(own)
        if chosen is not None:
            bounds = np.searchsorted(chosen, rows.starts)
            picked = [chosen[bounds[a] : bounds[a + 1]] - rows.starts[a] for a in range(len(own))]
        tasks, pairs = [], []
        for a in range(len(own)):
            near = self.far(a) <= largest[a : a + 1].to(largest)
            for b in (np.flatnonzero(near[a:]) + a).tolist():
                if chosen is not None and not (picked[a].size or picked[b].size):
                    continue
                other = None if b == a else self.tiled[b]
                both = None if chosen is None else (picked[a], picked[b])
                name = "rmgl-within-radii-inside" if b == a else "rmgl-within-radii-across"
                tasks.append(submit(name, block_pairs.within, self.tiled[a], other, (reach[a], reach[b]), both, self.loss))
                pairs.append((own[a].start, own[b].start))
        found = self.cluster.gather(tasks, "scan by radii", self.check)
        none = np.empty(0, dtype=np.int64)
        left = np.concatenate([none, *(first + part[0].astype(np.int64) for (first, _), part in zip(pairs, found, strict=True))])
        right = np.concatenate([none, *(second + part[1].astype(np.int64) for (_, second), part in zip(pairs, found, strict=True))])
        return left, right
