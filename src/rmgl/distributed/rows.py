"""The space of rows that the workers keep, with their nearest rows and candidate pairs.

Rows, lists and candidate pairs stay with the workers; the client has numbers for each row, such as
radii and scales.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.block_neighborhoods import BlockNeighborhoods
from rmgl.distributed.block_search import (
    Lists,
    Search,
    TiledBlocks,
    Within,
    kept_lists,
    kept_within,
)
from rmgl.distributed.block_store import BlockGrowth, BlockStore, measured_pairs
from rmgl.distributed.blocks import (
    Tiling,
    box_of,
    build_blocks,
    in_tiles,
    lead,
    outline,
    split,
)
from rmgl.distributed.pair_tasks import (
    block_given,
    block_of_lists,
    grouped,
    grown_block,
    patched_lists,
    turned_pairs,
)
from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.workers import Future, Workers
from rmgl.edges.bounds import LEADING_ERROR, leading_axes
from rmgl.edges.interface import Costs, Floats, Indices, Nodes, PairStore, Searchable, Vector
from rmgl.edges.search import (
    LARGEST_LOSS,
    distances_between,
    everyone_else,
    fits_single,
    needs_double,
)
from rmgl.edges.stores import PairList
from rmgl.running.checkpoint import Checkpoint, digest_of
from rmgl.running.threads import Check, InParts, no_check

PAIRS_PER_TASK = 1 << 20
"""Pairs that one task measures; they are sent to the scheduler."""


@dataclass(frozen=True)
class DistributedRows(Searchable):
    """The space of the rows of a matrix on workers."""

    matrix: RemoteMatrix
    tiling: Tiling
    checkpoint: Checkpoint | None = None
    """What keeps the results of searches (None: nothing does)."""

    @property
    def n_rows(self) -> int:
        return self.matrix.shape[0]

    @property
    def mean_distance(self) -> float:
        return 2 * float(self.matrix.variances.sum())

    @property
    def workers(self) -> Workers:
        return self.matrix.workers

    def among(self, nodes: Nodes | None) -> DistributedRows:
        if nodes is not None:
            raise ValueError("a fit on workers cannot leave entities out: fit without client=")
        return self

    # how rows are cut

    @cached_property
    def axes(self) -> Any:
        """The axes of leading columns, if they pay (None: they do not)."""
        matrix = self.matrix
        if not self.single:
            return None
        return leading_axes(matrix.shape, lambda rows: matrix.rows(rows) - matrix.mean)

    @cached_property
    def single(self) -> bool:
        """Whether single precision can hold the squares of the largest entries of the rows."""
        summary, mean = self.matrix.summary, self.matrix.mean
        return fits_single(float((summary.low - mean).min()), float((summary.high - mean).max()))

    @cached_property
    def blocks(self) -> list[Future]:
        """The blocks of near rows, on the workers."""
        matrix, center = self.matrix, self.matrix.mean
        sorted_by = matrix.mapped("rmgl-subtract-mean", np.subtract, center)
        if self.axes is not None:
            chunks = tuple(
                self.workers.submit("rmgl-leading-columns", lead, chunk, center, self.axes)
                for chunk in matrix.chunks
            )
            sorted_by = RemoteMatrix(self.workers, chunks, matrix.bounds, self.axes.shape[1] + 1)
        parts = split(sorted_by, self.tiling.tile, self.tiling.block_tiles)
        return build_blocks(matrix, center, self.axes, parts, self.tiling.tile)

    @cached_property
    def outlines(self) -> list[tuple[Indices, Vector]]:
        """The indices and squared lengths of the rows of every block."""
        tasks = [self.workers.submit("rmgl-outline", outline, block) for block in self.blocks]
        return self.workers.gather(tasks, "sort rows")

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

    @property
    def width(self) -> int:
        return self.matrix.shape[1]

    def tiled_blocks(self, precise: bool) -> TiledBlocks:
        return self._tiled(np.float64) if precise else self._in_single

    @cached_property
    def _in_single(self) -> TiledBlocks:
        """The blocks in tiles, in single precision: candidate pairs are extended many times."""
        return self._tiled(np.float32)

    def _tiled(self, dtype: Any) -> TiledBlocks:
        """Sort all blocks into tiles."""
        submit, pad = self.workers.submit, LEADING_ERROR * float(np.sqrt(self.norms.max(initial=0)))
        tiled = [
            submit("rmgl-sort-into-tiles", in_tiles, block, self.tiling.tile, dtype, pad)
            for block in self.blocks
        ]
        boxes = self.workers.gather(self.workers.map("rmgl-bounding-box", box_of, tiled))
        return tiled, np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])

    # the search

    @property
    def keeps_pairs(self) -> bool:
        return True

    def search(
        self, length: int, local: float | None, in_parts: InParts, check: Check
    ) -> BlockNeighborhoods:
        return BlockNeighborhoods.search(self, length, local, check)

    def kept_by(self, checkpoint: Checkpoint | None) -> DistributedRows:
        """Return itself: it was made with the checkpoint that keeps its searches."""
        return self

    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.matrix.digest(), self.order, self.starts)

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        """Search for the nearest rows of all rows at once, whichever are asked for."""
        length = min(length, self.n_rows - 1)
        if length == self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        lists, bounds = self.lists_of_all(length, check)
        places = np.concatenate(self.workers.gather(lists))
        return self.order[places][self.places[nodes]], bounds[nodes]

    def lists_of_all(self, length: int, check: Check) -> Lists:
        """Find the nearest rows of every row, and how far all others are at least."""
        search = partial(self._search_lists, length, check)
        if self.checkpoint is None:
            return search()
        return kept_lists(self, self.checkpoint, length, search)

    def _search_lists(self, length: int, check: Check) -> Lists:
        search = Search(self, not self.single, check)
        lists, last = search.nearest_of_all(length)
        bounds = search.rounding.distance_bound(last, self.norms)
        imprecise = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
        if imprecise.size and self.single:
            precise = Search(self, True, check)
            better, last = precise.nearest_of_some(imprecise, length)
            bounds[imprecise] = precise.rounding.distance_bound(last, self.norms[imprecise])
            cuts = np.searchsorted(imprecise, self.starts)
            for block in np.flatnonzero(np.diff(cuts)).tolist():
                some = slice(cuts[block], cuts[block + 1])
                rows = imprecise[some] - self.starts[block]
                lists[block] = self.workers.submit(
                    "rmgl-replace-lists", patched_lists, lists[block], rows, better[some]
                )
        return lists, np.maximum(bounds, 0.0)[self.places]

    # candidate pairs on the workers

    @cached_property
    def groups(self) -> list[range]:
        """The blocks that the blocks of candidate pairs are put together from."""
        return grouped(self.starts)

    @cached_property
    def group_places(self) -> list[range]:
        """The places of the rows of every group."""
        starts = self.starts.tolist()
        return [range(starts[group.start], starts[group.stop]) for group in self.groups]

    @cached_property
    def shared_order(self) -> list[Future]:
        """The rows by their places, on the workers."""
        return list(self.workers.share("rmgl-share-order", self.order).pieces)

    def store(self, blocks: list[Future]) -> BlockStore:
        """Return the pair store of blocks of candidate pairs, one for each group."""
        nodes = [np.sort(self.order[places.start : places.stop]) for places in self.group_places]
        return BlockStore(self.workers, blocks, nodes)

    def nearest_pairs(self, length: int, check: Check) -> tuple[BlockStore, Vector]:
        """Return the pairs of all rows and their nearest ones, and how far all others are."""
        lists, bounds = self.lists_of_all(length, check)
        submit = self.workers.submit
        of_group = [lists[group.start : group.stop] for group in self.groups]
        blocks = []
        for places, listed in zip(self.group_places, of_group, strict=True):
            turned = [
                submit("rmgl-turn-pairs", turned_pairs, theirs, other.start, places)
                for theirs, other in zip(of_group, self.group_places, strict=True)
            ]
            given = (self.shared_order, places, listed, turned)
            blocks.append(submit("rmgl-candidate-pairs", block_of_lists, *given))
        return self.store(blocks), bounds

    def with_pairs_within(
        self, edges: BlockStore, nodes: Nodes, radii: Vector, scales: Vector | None, check: Check
    ) -> tuple[BlockStore, BlockGrowth]:
        """Return a store that also has all pairs of a node within the radii, and the new pairs."""
        workers = self.workers
        groups = self._pairs_within(nodes, radii, scales, check)
        grown = [
            workers.submit("rmgl-add-pairs", grown_block, block, self.shared_order, *group)
            for block, group in zip(edges.blocks, groups, strict=True)
        ]
        blocks, new, is_new = (
            workers.map("rmgl-grown-pairs", operator.getitem, grown, [part] * len(grown))
            for part in range(3)
        )
        store = BlockStore(workers, blocks, edges.nodes)
        return store, BlockGrowth(is_new, BlockStore(workers, new, edges.nodes))

    def _pairs_within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None, check: Check
    ) -> Within:
        """For each group its places, and the tasks that have found pairs within the radii."""
        search = partial(self._search_within, nodes, radii, scales, check)
        if self.checkpoint is None:
            return search()
        return kept_within(self, self.checkpoint, (nodes, radii, scales), search)

    def _search_within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None, check: Check
    ) -> Within:
        tasks, parts = self._tasks_within(nodes, radii, scales, check)
        self.workers.wait(tasks, "scan by radii", check)
        starts = self.starts.tolist()
        groups = []
        for group, places in zip(self.groups, self.group_places, strict=True):
            hits = [
                (task, starts[a], starts[b])
                for task, (a, b) in zip(tasks, parts, strict=True)
                if a in group or b in group
            ]
            groups.append((places, hits))
        return groups

    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None = None, check: Check = no_check
    ) -> tuple[Indices, Indices]:
        tasks, parts = self._tasks_within(nodes, radii, scales, check)
        hits = self.workers.gather(tasks, "scan by radii", check)
        lefts, rights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for (left, right), (a, b) in zip(hits, parts, strict=True):
            lefts.append(self.starts[a] + left.astype(np.int64))
            rights.append(self.starts[b] + right.astype(np.int64))
        return self.order[np.concatenate(lefts)], self.order[np.concatenate(rights)]

    def _tasks_within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None, check: Check
    ) -> tuple[list[Future], list[tuple[int, int]]]:
        """Tasks that find pairs within the radii, and the two blocks that each looks at."""
        scales = np.ones(self.n_rows) if scales is None else scales
        precise = not self.single or needs_double(
            self.matrix.shape[1], self.norms[self.places], nodes, radii, scales
        )
        # a node with an infinite radius has all its pairs already
        radii = np.where(np.isfinite(radii), radii, 0.0)
        chosen = None if 2 * len(nodes) > self.n_rows else np.sort(self.places[nodes])
        return Search(self, precise, check).within(radii[self.order], scales[self.order], chosen)

    # distances

    def measure(self, edges: PairStore, check: Check = no_check) -> Costs:
        """Measure pairs of the workers there; the edges of a layer are kept here."""
        check()
        if isinstance(edges, BlockStore):
            return edges.measured_on(self.matrix)
        assert isinstance(edges, PairList), "workers measure listed pairs only"
        return self._distances(*edges.pairs, check)

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        if len(nodes) < self.n_rows:
            return self._distances_here(nodes, neighbors)
        order = np.argsort(neighbors, axis=1)
        ascending = np.take_along_axis(neighbors, order, axis=1)
        starts = neighbors.shape[1] * np.arange(self.n_rows + 1)
        measured = self._distances(starts, ascending.ravel()).reshape(neighbors.shape)
        distances = np.empty(neighbors.shape)
        np.put_along_axis(distances, order, measured, axis=1)
        return distances

    def _distances_here(self, nodes: Nodes, neighbors: Indices) -> Floats:
        """Measure with rows that come to this process, some nodes at a time."""
        distances, size = np.empty(neighbors.shape), max(1, PAIRS_PER_TASK // neighbors.shape[1])
        for first in range(0, len(nodes), size):
            some = slice(first, first + size)
            pairs = np.column_stack([nodes[some], neighbors[some]])
            chosen, place = np.unique(pairs, return_inverse=True)
            rows, place = self.matrix.rows(chosen), place.reshape(pairs.shape)
            distances[some] = distances_between(rows[place[:, 0]], rows, place[:, 1:])
        return distances

    def _distances(self, starts: Indices, others: NDArray[Any], check: Check = no_check) -> Vector:
        """Measure pairs that are listed row by row here, each row by ascending index."""
        n, submit = self.n_rows, self.workers.submit
        size = max(1, PAIRS_PER_TASK * n // max(1, others.size))
        nodes = [np.arange(first, min(first + size, n)) for first in range(0, n, size)]
        blocks = []
        for some in nodes:
            bounds = starts[some[0] : some[-1] + 2]
            listed = others[bounds[0] : bounds[-1]].astype(np.int32)
            blocks.append(submit("rmgl-pairs-of-layer", block_given, n, some, bounds, listed))
        measured = measured_pairs(self.matrix, blocks, nodes)
        return np.concatenate(self.workers.gather(measured, "measure pairs", check))
