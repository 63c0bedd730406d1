"""Candidate pairs on the workers, with the certificate of `rmgl.edges.neighborhoods`.

Radii are on the client, pairs never are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.distributed.block_scaling import different_in_block, reach_of_block, scaling_of
from rmgl.distributed.block_store import BlockCosts, BlockGrowth, BlockStore
from rmgl.distributed.candidate_tasks import nearer_pairs
from rmgl.edges.interface import Vector
from rmgl.edges.local_scaling import LISTED, TIED, LocalScaling, NearBlock, closed_lists, searching
from rmgl.edges.neighborhoods import enlarged, first_radii, foreseen
from rmgl.running.threads import Check

if TYPE_CHECKING:
    from rmgl.distributed.rows import DistributedRows


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
        cls, space: DistributedRows, length: int, local: float | None, check: Check = lambda: None
    ) -> BlockNeighborhoods:
        """Find the `length` nearest rows of each exactly.

        `local` is the floor share of a local scaling (None: no scaling).
        """
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
        self,
        u: Vector,
        costs: BlockCosts,
        guide: NDArray[np.float64] | None,
        check: Check = lambda: None,
    ) -> BlockNeighborhoods:
        """Raise the radii that potentials exceed, and add the pairs within them."""
        nodes = np.flatnonzero(u > self.radii)
        if nodes.size == 0:
            return self
        wanted = foreseen(u, self.edges.evaluate(u, costs))
        return self.widened(nodes, enlarged(self.radii, nodes, wanted), check)

    def widened(
        self, nodes: NDArray[np.intp], radii: Vector, check: Check = lambda: None
    ) -> BlockNeighborhoods:
        """Set radii that are larger for the given nodes only, and add the pairs within them."""
        scales = None if self.scaling is None else self.scaling.scales
        edges, growth = self.space.with_pairs_within(self.edges, nodes, radii, scales, check)
        return replace(self, edges=edges, radii=radii, growth=growth)

    def pruned(self, u: Vector, costs: BlockCosts) -> BlockNeighborhoods:
        """Return itself: every pair within the radii is needed."""
        return self

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
