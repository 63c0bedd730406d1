"""Candidate pairs on the workers, with the certificate of `rmgl.edges.neighborhoods`.

Radii and scales are on the client, one number for each node. Pairs and lists of nearest rows never
are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from rmgl.distributed.block_store import BlockCosts, BlockGrowth, BlockStore
from rmgl.distributed.pair_tasks import PairBlock, Pieces, nearer_pairs, pairs_in_reach
from rmgl.distributed.workers import joined
from rmgl.edges.interface import Floats, Nodes, Vector
from rmgl.edges.local_scaling import (
    LISTED,
    TIED,
    LocalScaling,
    NearBlock,
    by_node,
    closed_at_once,
    closed_lists,
    first_scales,
    floors_of,
    nearest_scale,
    raised_scales,
    searching,
)
from rmgl.edges.neighborhoods import (
    closed_among,
    enlarged,
    first_radii,
    foreseen,
    nearest_among,
    nearest_entries,
)
from rmgl.running.threads import Check, no_check

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows

Closed = tuple[Nodes, list[NearBlock]]
"""Some nodes, and their closed lists of nearest nodes, by the places of the nodes among these."""


@dataclass(frozen=True)
class BlockNeighborhoods:
    """Candidate pairs of rows on workers, which contain every pair within the radii."""

    space: DistributedRows
    edges: BlockStore
    radii: Vector
    scaling: LocalScaling | None = None
    growth: BlockGrowth | None = None
    """The pairs that the last extension added (None: there was none)."""

    @classmethod
    def search(
        cls, space: DistributedRows, length: int, local: float | None, check: Check = no_check
    ) -> BlockNeighborhoods:
        """Find the `length` nearest rows of each exactly."""
        closed = length if local is None else LISTED
        edges, bounds = closed_pairs(space, max(length, closed + 1), closed, check)
        if local is None:
            return cls(space, edges, bounds / 2)
        scaling = scaling_of(edges, edges.measured_on(space.matrix), local)
        return cls(space, edges, first_radii(bounds, scaling), scaling)

    def settled(self) -> BlockNeighborhoods:
        """Forget which pairs the last extension added."""
        return replace(self, growth=None)

    def extended(
        self, u: Vector, costs: BlockCosts, guide: Floats | None, check: Check = no_check
    ) -> BlockNeighborhoods:
        """Raise the radii that potentials exceed, and add the pairs within them."""
        nodes = np.flatnonzero(u > self.radii)
        if nodes.size == 0:
            return self
        wanted = foreseen(u, self.edges.evaluate(u, costs))
        return self.widened(nodes, enlarged(self.radii, nodes, wanted), check)

    def widened(self, nodes: Nodes, radii: Vector, check: Check = no_check) -> BlockNeighborhoods:
        """Set radii that are larger for the given nodes only, and add the pairs within them."""
        scales = None if self.scaling is None else self.scaling.scales
        edges, growth = self.space.with_pairs_within(self.edges, nodes, radii, scales, check)
        return replace(self, edges=edges, radii=radii, growth=growth)

    def pruned(self, u: Vector, costs: BlockCosts) -> BlockNeighborhoods:
        """Return itself: every pair within the radii is needed."""
        return self

    def tightened(self, u: Vector, costs: BlockCosts) -> BlockNeighborhoods:
        """Lower the radii to what potentials may reach from u, without the pairs beyond them."""
        edges, workers = self.edges, self.edges.workers
        radii = np.minimum(self.radii, foreseen(u, edges.evaluate(u, costs)))
        shared = workers.share("rmgl-share-radii", radii)
        kept = edges.each("rmgl-pairs-in-reach", pairs_in_reach, costs, shared)
        store = BlockStore(workers, kept, edges.nodes)
        return replace(self, edges=store, radii=radii, growth=None)

    def with_pairs(self, pattern: sparse.csr_array) -> BlockNeighborhoods:
        raise ValueError(
            "known labels are not possible on workers yet: fit without client=, or leave it out"
        )

    def nearest(self, length: int) -> list[NearBlock] | None:
        """Return closed lists of different nodes, if the candidate pairs have them (or None)."""
        edges = self.edges
        if length > LISTED or edges.degrees.min() < LISTED:
            return None
        distances = self.space.measure(edges)
        tasks = edges.each("rmgl-nearest-listed", different_in_block, distances, length)
        parts = edges.workers.gather(tasks)
        left = np.sort(np.concatenate([nodes for _, nodes in parts]))
        more = closed_lists(searching(self.space), left, length, 4 * LISTED, different=True)
        return [*(block for blocks, _ in parts for block in blocks), *more]


def closed_pairs(
    space: DistributedRows, length: int, closed: int, check: Check
) -> tuple[BlockStore, Vector]:
    """Return the pairs of all rows and their nearest ones, and bounds of how far all others are.

    The pairs are those of the `length` nearest rows without the last and its equals, with all that
    are as near as the `closed`-th. The bounds are lower bounds.
    """
    edges, bounds = space.nearest_pairs(length, check)
    bounds, distances = bounds / (1 + TIED), space.measure(edges, check)
    reach, last = (
        edges.ask_each("rmgl-reach", reach_of_block, distances, k) for k in (closed, length)
    )
    nodes = np.flatnonzero(reach >= bounds)
    ends = last / (1 + TIED) ** 2
    bounds = np.minimum(bounds, ends)
    shared = edges.workers.share("rmgl-share-ends", ends)
    nearer = edges.each("rmgl-nearer-pairs", nearer_pairs, distances, shared)
    edges = BlockStore(edges.workers, nearer, edges.nodes)
    if nodes.size == 0:
        return edges, bounds
    radii = np.zeros(space.n_rows)
    radii[nodes] = np.maximum(reach[nodes], np.finfo(np.float64).tiny) * (1 + TIED)
    return space.with_pairs_within(edges, nodes, radii, None, check)[0], bounds


def scaling_of(store: BlockStore, distances: BlockCosts, floor_share: float) -> LocalScaling:
    """Compute the scaling from closed lists of the 30 nearest nodes, which the candidates have."""
    workers = store.workers
    lists = store.each("rmgl-nearest-listed", closed_of_block, distances)
    n = len(lists)

    def asked(name: str, task: Callable[..., Any], *arguments: list[Any]) -> Vector:
        numbers: Vector = store.by_node(workers.gather(workers.map(name, task, lists, *arguments)))
        return numbers

    def shared(scales: Vector) -> list[Any]:
        return [list(workers.share("rmgl-share-scales", scales).pieces)] * n

    nearest = asked("rmgl-scales", nearest_in_block)
    first = first_scales(nearest, nearest[np.isfinite(nearest)])
    scales = asked("rmgl-raise-scales", raised_in_block, shared(first))
    floors = asked("rmgl-floors", floors_in_block, shared(scales), [floor_share] * n)
    return LocalScaling(scales, floors, floor_share)


def reach_of_block(block: PairBlock, distances: Vector, length: int) -> Vector:
    """Return how far the closed lists of the nodes of a block reach."""
    entries = nearest_entries(block.starts, distances, length)
    reach: Vector = distances[entries].max(axis=1) * (1 + TIED)
    return reach


def closed_of_block(block: PairBlock, distances: Vector) -> Closed:
    """Return the closed lists of its nodes among the candidate pairs."""
    places = np.arange(block.nodes.size)
    return block.nodes, closed_among(places, block.starts, block.others, distances)


def different_in_block(
    block: PairBlock, distances: Vector, length: int
) -> tuple[list[NearBlock], Nodes]:
    """Return closed lists of nodes that differ, and the nodes for which candidates are too few."""
    answer = nearest_among(block.starts, block.others, distances)
    blocks, left = closed_at_once(block.nodes, answer, length, different=True)
    return blocks, block.nodes[left]


def nearest_in_block(closed: Closed) -> Vector:
    """Return the squared distances of nodes to their 7th neighbors."""
    return by_node(closed[1], [nearest_scale(part) for part in closed[1]])


def raised_in_block(closed: Closed, pieces: Pieces) -> Vector:
    """Return the scales of nodes, larger where the 7th smallest cost would exceed 2."""
    nodes, lists = closed
    scales = joined(pieces)
    of_nodes: Vector = scales[nodes]
    return by_node(lists, [raised_scales(part, of_nodes, scales) for part in lists])


def floors_in_block(closed: Closed, pieces: Pieces, floor_share: float) -> Vector:
    """Return the floors of nodes."""
    nodes, lists = closed
    scales = joined(pieces)
    of_nodes: Vector = scales[nodes]
    return by_node(lists, [floors_of(part, of_nodes, scales, floor_share) for part in lists])
