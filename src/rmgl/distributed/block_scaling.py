"""Local scaling of candidate pairs: lists of nearest rows stay with the workers.

The client has one number for each node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.block_store import BlockCosts, BlockStore
from rmgl.distributed.pair_tasks import PairBlock, Pieces
from rmgl.distributed.workers import joined
from rmgl.edges.interface import Vector
from rmgl.edges.local_scaling import (
    TIED,
    LocalScaling,
    NearBlock,
    by_node,
    closed_at_once,
    first_scales,
    floors_of,
    nearest_scale,
    raised_scales,
)
from rmgl.edges.neighborhoods import closed_among, nearest_among, nearest_entries

Closed = tuple[NDArray[np.intp], list[NearBlock]]
"""Some nodes, and their closed lists of nearest nodes, by the places of the nodes among these."""


def scaling_of(store: BlockStore, distances: BlockCosts, floor_share: float) -> LocalScaling:
    """Compute the scaling from the closed lists of the 30 nearest neighbors.

    These are among the candidate pairs.
    """
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
    """Return how far the closed lists of the own nodes reach."""
    entries = nearest_entries(block.starts, distances, length)
    reach: Vector = distances[entries].max(axis=1) * (1 + TIED)
    return reach


def closed_of_block(block: PairBlock, distances: Vector) -> Closed:
    """Return the closed lists of the own nodes among the candidate pairs."""
    places = np.arange(block.nodes.size)
    return block.nodes, closed_among(places, block.starts, block.others, distances)


def different_in_block(
    block: PairBlock, distances: Vector, length: int
) -> tuple[list[NearBlock], NDArray[np.intp]]:
    """Return the closed lists of nodes that differ from the own ones.

    The other result are the nodes for which the candidate pairs are not enough.
    """
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
