"""Local scaling of candidate pairs on the workers: lists of nearest rows stay there, and the client has one number for each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.block_store import BlockCosts, BlockStore
from rmgl.distributed.cluster import joined
from rmgl.distributed.pair_blocks import PairBlock, Pieces
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Vector
from rmgl.edges.local_scaling import (
    LISTED,
    SCALE_NEIGHBOR,
    LocalScaling,
    counted,
    first_scales,
    floors_of,
    raised_scales,
    smallest_at,
)
from rmgl.edges.neighborhoods import nearest_entries

Nearest = tuple[Indices, Indices, NDArray[np.float64]]
"""Some nodes, their nearest nodes in any order, and the squared distances of these."""


def scaling_of(store: BlockStore, distances: BlockCosts, floor_share: float) -> LocalScaling:
    """The scaling from the 30 nearest neighbors among the candidate pairs."""
    cluster = store.cluster
    lists = store.each("rmgl-nearest-listed", nearest_of_block, distances, LISTED)
    nearest = store.by_node(cluster.gather(cluster.map("rmgl-scales", seventh, lists)))
    scales = first_scales(nearest, nearest[np.isfinite(nearest)])
    pieces = [list(cluster.share("rmgl-share-scales", scales).pieces)] * len(lists)
    scales = store.by_node(cluster.gather(cluster.map("rmgl-raise-scales", raised_in_block, lists, pieces)))
    pieces = [list(cluster.share("rmgl-share-scales", scales).pieces)] * len(lists)
    floors = store.by_node(cluster.gather(cluster.map("rmgl-floors", floors_in_block, lists, pieces, [floor_share] * len(lists))))
    return LocalScaling(scales, floors, floor_share)


def nearest_of_block(block: PairBlock, distances: Vector, length: int) -> Nearest:
    """The nearest candidates of the own nodes."""
    entries = nearest_entries(block.starts, distances, length)
    return block.nodes, block.needed[block.edges.indices[entries]], distances[entries]


def neighbors_of_block(block: PairBlock, distances: Vector, length: int) -> NDArray[np.int32]:
    """The nearest candidates of the own nodes, and no distances."""
    return nearest_of_block(block, distances, length)[1].astype(np.int32)


def seventh(nearest: Nearest) -> Vector:
    return smallest_at(counted(nearest[2]), SCALE_NEIGHBOR)


def scale_products(nearest: Nearest, pieces: Pieces) -> tuple[Vector, NDArray[np.float64]]:
    """The scales of nodes, and their products with those of their nearest nodes."""
    scales = joined(pieces)
    own: Vector = scales[nearest[0]]
    return own, own[:, None] * scales[nearest[1]]


def raised_in_block(nearest: Nearest, pieces: Pieces) -> Vector:
    own, products = scale_products(nearest, pieces)
    return raised_scales(own, counted(nearest[2]) / products)


def floors_in_block(nearest: Nearest, pieces: Pieces, floor_share: float) -> Vector:
    """The floors of nodes."""
    _, products = scale_products(nearest, pieces)
    return floors_of(counted(nearest[2]) / products, floor_share)
