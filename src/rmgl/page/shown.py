"""Which entities the page holds, and their neighbors: all of them, or a sample where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.layer import Layer

MOST_POINTS = 100_000
"""Entities beyond which the page shows a density image and a sample."""
SAMPLE = 15_000
MOST_LINKS = 1_200_000
"""Neighbors on the page of all points and layers together,"""
LINKS_OF_SAMPLE = 300_000
"""and where there is a sample."""
MOST_NEIGHBORS = 30
"""Neighbors of an entity in a layer."""


@dataclass(frozen=True)
class Links:
    """The strongest neighbors of the points in one layer."""

    starts: NDArray[np.uint32]
    """The neighbors of point i are at starts[i] to starts[i + 1]."""
    targets: NDArray[np.intp]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """The entities on the page: first the points, then others that are only named as neighbors."""

    entities: NDArray[np.intp]
    n_points: int
    links: list[Links]
    """The targets are positions in `entities`."""
    most_neighbors: int
    """No entity has more neighbors on the page than this, in a layer."""
    complete: bool
    """Whether these are all its neighbors."""


def choose_shown(layers: Sequence[Layer], wanted: NDArray[np.intp], seed: int = 0) -> Shown:
    """Choose the entities of the page. `wanted` ones are points in any case."""
    n = layers[0].n_nodes
    sampled = n > MOST_POINTS
    points = np.arange(n)
    if sampled:
        others = np.setdiff1d(np.random.RandomState(seed).permutation(n)[:SAMPLE], wanted)
        points = np.sort(np.concatenate([np.unique(wanted), others]))
    budget = LINKS_OF_SAMPLE if sampled else MOST_LINKS
    most = int(np.clip(budget // (points.size * len(layers)), 1, MOST_NEIGHBORS))
    links = [strongest(layer.adjacency, points, most) for layer in layers]
    targets = np.unique(np.concatenate([found.targets for found in links]))
    entities = np.concatenate([points, np.setdiff1d(targets, points)])
    place = np.full(n, -1, dtype=np.intp)
    place[entities] = np.arange(entities.size)
    complete = all(np.diff(layer.adjacency.indptr).max(initial=0) <= most for layer in layers)
    return Shown(entities, points.size, [Links(found.starts, place[found.targets], found.weights) for found in links], most, complete)


def strongest(graph: sparse.csr_array, rows: NDArray[np.intp], most: int) -> Links:
    """The neighbors of some rows with the largest weights, the largest first, at most `most` for each."""
    part = graph if rows.size == graph.shape[0] else graph[rows]
    owner = np.repeat(np.arange(rows.size), np.diff(part.indptr))
    order = np.lexsort((-part.data, owner))
    rank = np.arange(owner.size) - part.indptr[owner]
    kept = order[rank < most]
    counts = np.minimum(np.diff(part.indptr), most)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return Links(starts, part.indices[kept].astype(np.intp), part.data[kept])
