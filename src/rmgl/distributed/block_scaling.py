"""Local scaling of candidate pairs on the workers: lists of nearest rows stay there, and the client has one number for each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.block_store import BlockCosts, BlockStore
from rmgl.distributed.cluster import joined
from rmgl.distributed.pair_blocks import PairBlock, Pieces
from rmgl.edges.interface import Vector
from rmgl.edges.local_scaling import LocalScaling, by_node, first_scales, floors_of, nearest_scale, raised_scales
from rmgl.edges.neighborhoods import closed_among, nearest_among, nearest_entries
from rmgl.edges.ties import TIED, NearBlock, closed_at_once

Closed = tuple[NDArray[np.intp], list[NearBlock]]
"""Some nodes, and their closed lists of nearest nodes; the lists are by the places of the nodes among these."""


def scaling_of(store: BlockStore, distances: BlockCosts, floor_share: float) -> LocalScaling:
    """The scaling from the closed lists of the 30 nearest neighbors, which are among the candidate pairs."""
    cluster = store.cluster
    lists = store.each("rmgl-nearest-listed", closed_of_block, distances)
    nearest = store.by_node(cluster.gather(cluster.map("rmgl-scales", seventh, lists)))
    scales = first_scales(nearest, nearest[np.isfinite(nearest)])
    pieces = [list(cluster.share("rmgl-share-scales", scales).pieces)] * len(lists)
    scales = store.by_node(cluster.gather(cluster.map("rmgl-raise-scales", raised_in_block, lists, pieces)))
    pieces = [list(cluster.share("rmgl-share-scales", scales).pieces)] * len(lists)
    floors = store.by_node(cluster.gather(cluster.map("rmgl-floors", floors_in_block, lists, pieces, [floor_share] * len(lists))))
    return LocalScaling(scales, floors, floor_share)


def reach_of_block(block: PairBlock, distances: Vector, length: int) -> Vector:
    """How far the closed lists of the own nodes reach."""
    reach: Vector = distances[nearest_entries(block.starts, distances, length)].max(axis=1) * (1 + TIED)
    return reach


def closed_of_block(block: PairBlock, distances: Vector) -> Closed:
    """The closed lists of the own nodes among the candidate pairs."""
    others = block.needed[block.edges.indices]
    return block.nodes, closed_among(np.arange(block.nodes.size), block.starts, others, distances)


def different_in_block(block: PairBlock, distances: Vector, length: int) -> tuple[list[NearBlock], NDArray[np.intp]]:
    """The closed lists of nodes that differ from the own ones, and the nodes for which the candidate pairs are not enough."""
    answer = nearest_among(block.starts, block.needed[block.edges.indices], distances)
    blocks, left = closed_at_once(block.nodes, answer, length, different=True)
    return blocks, block.nodes[left]


def seventh(closed: Closed) -> Vector:
    return by_node(closed[1], [nearest_scale(part) for part in closed[1]])


def raised_in_block(closed: Closed, pieces: Pieces) -> Vector:
    scales = joined(pieces)
    own: Vector = scales[closed[0]]
    return by_node(closed[1], [raised_scales(part, own, scales) for part in closed[1]])


def floors_in_block(closed: Closed, pieces: Pieces, floor_share: float) -> Vector:
    """The floors of nodes."""
    scales = joined(pieces)
    own: Vector = scales[closed[0]]
    return by_node(closed[1], [floors_of(part, own, scales, floor_share) for part in closed[1]])
