"""The space of rows that are kept by the workers of a cluster, with their nearest rows and candidate pairs.

Rows, lists and candidate pairs stay with the workers; the client has numbers for each row, such as radii and scales.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed import pair_lists
from rmgl.distributed.block_neighborhoods import BlockNeighborhoods
from rmgl.distributed.block_store import BlockGrowth, BlockStore
from rmgl.distributed.blocks import build_blocks, lead, outline, split
from rmgl.distributed.cluster import Cluster, Future
from rmgl.distributed.kept_searches import Lists, Within, kept_lists, kept_within
from rmgl.distributed.matrix import RemoteMatrix
from rmgl.distributed.search import Search, TiledBlocks, tiled_blocks
from rmgl.distributed.strips import measured_pairs
from rmgl.edges.axes import leading_axes
from rmgl.edges.heaps import TILE, Indices
from rmgl.edges.interface import Costs, Edges, Searchable, Vector
from rmgl.edges.pair_list import PairList
from rmgl.edges.search import LARGEST_LOSS, distances_between, everyone_else, fits_single, needs_double
from rmgl.running.checkpoint import Checkpoint, digest_of
from rmgl.running.threads import Check, InParts

FEWEST_ROWS, MOST_ROWS = 8192, 65_536
"""Rows of a block, if blocks are neither too few to occupy all workers nor too many to schedule;"""
WANTED_BLOCKS, MOST_BLOCKS = 8, 256
"""the numbers of blocks between which it is chosen."""
PAIRS_PER_TASK = 1 << 20
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
class DistributedRows(Searchable):
    """The space of the rows of a matrix on a cluster."""

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
        """Whether single precision can hold the squares of the largest entries of the rows."""
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

    @cached_property
    def in_single(self) -> TiledBlocks:
        """The blocks in tiles and in single precision, with their boxes: kept, because candidate pairs are extended many times."""
        return tiled_blocks(self, np.float32)

    # the search

    @property
    def keeps_pairs(self) -> bool:
        return True

    def search(self, length: int, local: float | None, in_parts: InParts, check: Check) -> BlockNeighborhoods:
        return BlockNeighborhoods.search(self, length, local, check)

    def kept_by(self, checkpoint: Checkpoint | None) -> DistributedRows:
        """Itself: it was made with the checkpoint that keeps its searches."""
        return self

    def digest(self) -> str:
        """A text that differs for other rows, or other places of them."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.matrix.digest(), self.order, self.starts)

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        """Those of all rows are searched for at once, whichever are asked for."""
        length = min(length, self.n_rows - 1)
        if length == self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        lists, bounds = self.lists_of_all(length, check)
        found = np.concatenate(self.cluster.gather(lists))
        return self.order[found][self.places[nodes]], bounds[nodes]

    def lists_of_all(self, length: int, check: Check) -> Lists:
        """The places of the nearest rows of every row, block by block on the workers, and for each a bound of how far all others are."""
        search = partial(self._search_lists, length, check)
        return search() if self.checkpoint is None else kept_lists(self, self.checkpoint, length, search)

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
                own = slice(cuts[block], cuts[block + 1])
                rows = imprecise[own] - self.starts[block]
                lists[block] = self.cluster.submit("rmgl-replace-lists", pair_lists.patched_lists, lists[block], rows, better[own])
        return lists, np.maximum(bounds, 0.0)[self.places]

    # candidate pairs on the workers

    @cached_property
    def groups(self) -> list[range]:
        """The blocks that the blocks of candidate pairs are put together from."""
        return pair_lists.grouped(self.starts)

    @cached_property
    def group_places(self) -> list[range]:
        return [range(int(self.starts[group.start]), int(self.starts[group.stop])) for group in self.groups]

    @cached_property
    def shared_order(self) -> list[Future]:
        return list(self.cluster.share("rmgl-share-order", self.order).pieces)

    def store(self, blocks: list[Future]) -> BlockStore:
        """The edge store of blocks of candidate pairs, one for each group."""
        return BlockStore(self.cluster, blocks, [np.sort(self.order[own.start : own.stop]) for own in self.group_places])

    def nearest_pairs(self, length: int, check: Check) -> tuple[BlockStore, Vector]:
        """The pairs of all rows and their nearest ones, and for every row a bound of how far all others are."""
        lists, bounds = self.lists_of_all(length, check)
        of_group = [lists[group.start : group.stop] for group in self.groups]
        blocks = []
        for place, own in enumerate(self.group_places):
            turned = [
                self.cluster.submit("rmgl-turn-pairs", pair_lists.turned_pairs, theirs, other.start, own)
                for theirs, other in zip(of_group, self.group_places, strict=True)
            ]
            task = pair_lists.block_of_lists
            blocks.append(self.cluster.submit("rmgl-candidate-pairs", task, self.shared_order, own, of_group[place], turned))
        return self.store(blocks), bounds

    def with_pairs_within(
        self, edges: BlockStore, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None, check: Check
    ) -> tuple[BlockStore, BlockGrowth]:
        """A store with all pairs of a node and another row within the radii in addition, and which pairs are new."""
        name, task, found = "rmgl-add-pairs", pair_lists.grown_block, self._found_within(nodes, radii, scales, check)
        grown = [self.cluster.submit(name, task, block, self.shared_order, *own) for block, own in zip(edges.blocks, found, strict=True)]
        blocks, new, is_new = (self.cluster.map("rmgl-grown-pairs", operator.getitem, grown, [part] * len(grown)) for part in range(3))
        return BlockStore(self.cluster, blocks, edges.nodes), BlockGrowth(is_new, BlockStore(self.cluster, new, edges.nodes))

    def _found_within(self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None, check: Check) -> Within:
        """For each group its places, and the tasks that have found pairs of its rows within the radii."""
        search = partial(self._search_within, nodes, radii, scales, check)
        return search() if self.checkpoint is None else kept_within(self, self.checkpoint, (nodes, radii, scales), search)

    def _search_within(self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None, check: Check) -> Within:
        tasks, parts = self._tasks_within(nodes, radii, scales, check)
        self.cluster.wait(tasks, "scan by radii", check)
        places = [(task, a, b) for task, (a, b) in zip(tasks, parts, strict=True)]
        return [
            (own, [(task, int(self.starts[a]), int(self.starts[b])) for task, a, b in places if a in group or b in group])
            for group, own in zip(self.groups, self.group_places, strict=True)
        ]

    def within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
    ) -> tuple[Indices, Indices]:
        """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j).

        A pair may occur in both orders, and rounding may add a few pairs. `scales` are the s_i (None: all are one).
        """
        tasks, parts = self._tasks_within(nodes, radii, scales, check)
        found = self.cluster.gather(tasks, "scan by radii", check)
        pairs: list[Any] = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        for (left, right), (a, b) in zip(found, parts, strict=True):
            pairs.append((self.starts[a] + left.astype(np.int64), self.starts[b] + right.astype(np.int64)))
        left, right = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        return self.order[left], self.order[right]

    def _tasks_within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None, check: Check
    ) -> tuple[list[Future], list[tuple[int, int]]]:
        """Tasks that find pairs within the radii, each for the rows of two blocks, and these blocks."""
        scales = np.ones(self.n_rows) if scales is None else scales
        precise = not self.single or needs_double(self.matrix.shape[1], self.norms[self.places], nodes, radii, scales)
        radii = np.where(np.isfinite(radii), radii, 0.0)  # a node with an infinite radius has all its pairs already
        chosen = None if 2 * len(nodes) > self.n_rows else np.sort(self.places[nodes])
        return Search(self, precise, check).within(radii[self.order], scales[self.order], chosen)

    # distances

    def measure(self, edges: Edges, check: Check = lambda: None) -> Costs:
        """The squared distances of candidate pairs: on the workers where they are kept there, else here, as for the edges of a layer."""
        check()
        if isinstance(edges, BlockStore):
            return edges.measured_on(self.matrix)
        assert isinstance(edges, PairList), "a cluster measures listed pairs only"
        return self._distances(*edges.pairs, check)

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        if len(nodes) < self.n_rows:
            return self._distances_here(nodes, neighbors)
        order = np.argsort(neighbors, axis=1)
        ascending = np.take_along_axis(neighbors, order, axis=1)
        starts = neighbors.shape[1] * np.arange(self.n_rows + 1)
        distances = np.empty(neighbors.shape)
        np.put_along_axis(distances, order, self._distances(starts, ascending.ravel()).reshape(neighbors.shape), axis=1)
        return distances

    def _distances_here(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        """Squared distances of some nodes to the rows listed for each, from rows that come to this process, some nodes at a time."""
        distances, size = np.empty(neighbors.shape), max(1, PAIRS_PER_TASK // neighbors.shape[1])
        for first in range(0, len(nodes), size):
            some = slice(first, first + size)
            chosen, place = np.unique(np.column_stack([nodes[some], neighbors[some]]), return_inverse=True)
            rows, place = self.matrix.rows(chosen), place.reshape(-1, neighbors.shape[1] + 1)
            distances[some] = distances_between(rows[place[:, 0]], rows, place[:, 1:])
        return distances

    def _distances(self, starts: Indices, others: NDArray[Any], check: Check = lambda: None) -> Vector:
        """The squared distances of pairs that are listed row by row here, each row by ascending index."""
        size = max(1, PAIRS_PER_TASK * self.n_rows // max(1, others.size))
        nodes = [np.arange(first, min(first + size, self.n_rows)) for first in range(0, self.n_rows, size)]
        blocks = []
        for own in nodes:
            listed = others[starts[own[0]] : starts[own[-1] + 1]].astype(np.int32)
            blocks.append(
                self.cluster.submit("rmgl-pairs-of-layer", pair_lists.block_given, self.n_rows, own, starts[own[0] : own[-1] + 2], listed)
            )
        return np.concatenate(self.cluster.gather(measured_pairs(self.matrix, blocks, nodes), "measure pairs", check))
