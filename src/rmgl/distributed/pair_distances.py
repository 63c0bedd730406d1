"""Squared distances of candidate pairs on the workers, which never have all rows at once.

One task has the rows of the own nodes of a block and one chunk of the matrix, and measures the
pairs whose other node is in the chunk.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.pair_tasks import PairBlock
from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.workers import Future
from rmgl.edges.interface import Indices, Vector

Floats = NDArray[np.float64]
Strip = tuple[int, int]
"""The first row of a chunk, and that of the next one."""


def measured_pairs(
    matrix: RemoteMatrix, blocks: Sequence[Future], nodes: Sequence[Indices]
) -> list[Future]:
    """Measure the pairs of every block, which is a `PairBlock` with these own nodes."""
    workers, strips, measured = matrix.workers, list(pairwise(matrix.bounds)), []
    n = len(strips)
    for block, own in zip(blocks, nodes, strict=True):
        cuts = pairwise(np.searchsorted(own, matrix.bounds).tolist())
        pieces = [
            workers.submit("rmgl-pick-own-rows", operator.getitem, chunk, own[first:stop] - start)
            for chunk, (start, _), (first, stop) in zip(matrix.chunks, strips, cuts, strict=True)
            if stop > first
        ]
        rows = workers.submit("rmgl-own-rows", np.concatenate, pieces)
        parts = workers.map(
            "rmgl-measure-strip", strip_distances, [block] * n, [rows] * n, matrix.chunks, strips
        )
        measured.append(workers.submit("rmgl-join-strips", join_strips, block, parts, strips))
    return measured


def strip_entries(block: PairBlock, strip: Strip) -> Indices:
    """Return the places of the pairs whose other node is in a strip."""
    first, stop = np.searchsorted(block.needed, strip)
    return np.flatnonzero((block.edges.indices >= first) & (block.edges.indices < stop))


def strip_distances(block: PairBlock, rows: Floats, chunk: Floats, strip: Strip) -> Vector:
    """Measure the pairs of own nodes and nodes in a chunk, from differences of their rows."""
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


def join_strips(block: PairBlock, parts: Sequence[Vector], strips: Sequence[Strip]) -> Vector:
    """Put the distances of all pairs of a block together."""
    if len(parts) == 1:
        return parts[0]
    out = np.empty(block.edges.indices.size)
    for part, strip in zip(parts, strips, strict=True):
        out[strip_entries(block, strip)] = part
    return out
