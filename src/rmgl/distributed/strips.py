"""Squared distances of the candidate pairs on the workers: the rows of a matrix are taken chunk by chunk, and never all at once.

One task has the rows of the own nodes of a block and one chunk, and measures the pairs whose other node is in the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.cluster import Future
from rmgl.distributed.matrix import RemoteMatrix, take_rows
from rmgl.distributed.pair_blocks import PairBlock
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Vector

Floats = NDArray[np.float64]


def measured_pairs(matrix: RemoteMatrix, blocks: Sequence[Future], nodes: Sequence[Indices]) -> list[Future]:
    """The distances of the pairs of every block, which is a `PairBlock` with these own nodes."""
    cluster, strips, measured = matrix.cluster, list(pairwise(matrix.bounds)), []
    for block, own in zip(blocks, nodes, strict=True):
        bounds = np.searchsorted(own, matrix.bounds)
        pieces = [
            cluster.submit("rmgl-pick-own-rows", take_rows, chunk, own[first:stop] - start)
            for chunk, start, (first, stop) in zip(matrix.chunks, matrix.bounds, pairwise(bounds.tolist()), strict=False)
            if stop > first
        ]
        rows = cluster.submit("rmgl-own-rows", np.concatenate, pieces)
        n = len(strips)
        parts = cluster.map("rmgl-measure-strip", strip_distances, [block] * n, [rows] * n, matrix.chunks, strips)
        measured.append(cluster.submit("rmgl-join-strips", join_strips, block, parts, strips))
    return measured


def strip_entries(block: PairBlock, strip: tuple[int, int]) -> Indices:
    """The pairs of a block whose other node is in a range."""
    first, stop = np.searchsorted(block.needed, strip)
    return np.flatnonzero((block.edges.indices >= first) & (block.edges.indices < stop))


def strip_distances(block: PairBlock, rows: Floats, chunk: Floats, strip: tuple[int, int]) -> Vector:
    """The squared distances, from differences, of the pairs of the own nodes, whose rows are given, and nodes in a chunk."""
    from rmgl import kernels

    first, stop = np.searchsorted(block.needed, strip)
    starts, others = block.starts, block.edges.pairs[1]
    if stop - first < block.needed.size:
        entries = strip_entries(block, strip)
        starts, others = np.searchsorted(entries, starts), others[entries] - np.int32(first)
    theirs = chunk if stop - first == len(chunk) else chunk[block.needed[first:stop] - strip[0]]
    out = np.empty(others.size)
    kernels.list_distances(rows, theirs, starts, others, 0, block.nodes.size, out)
    return out


def join_strips(block: PairBlock, parts: Sequence[Vector], strips: Sequence[tuple[int, int]]) -> Vector:
    """The distances of all pairs of a block."""
    if len(parts) == 1:
        return parts[0]
    out = np.empty(block.edges.indices.size)
    for part, strip in zip(parts, strips, strict=True):
        out[strip_entries(block, strip)] = part
    return out
