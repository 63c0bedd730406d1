"""Select the entities on the page and their neighbors: all or, if there are many, a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from rmgl.layer import Layer
from rmgl.plots.embedding import LAYOUT_ROWS, embedding_data

MOST_POINTS = 100_000
"""Number of entities above which the page shows a density image and a sample."""
MOST_SHOWN = 15_000
MOST_LINKS = 1_200_000
"""Maximum number of neighbors on the page, over all points and layers."""
LINKS_OF_SAMPLE = 300_000
"""Maximum number of neighbors on the page if it shows a sample."""
MOST_NEIGHBORS = 30
"""Maximum number of neighbors per entity and layer."""


@dataclass(frozen=True)
class Links:
    """Strongest neighbors of the points in one layer."""

    starts: NDArray[np.uint32]
    """The neighbors of point i are at starts[i] to starts[i + 1]."""
    targets: NDArray[np.intp]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """Entities on the page: first the points, then entities that appear only as neighbors."""

    entities: NDArray[np.intp]
    n_points: int
    links: list[Links]
    """Neighbors in each layer. The targets are positions in `entities`."""
    most_neighbors: int
    """Maximum number of neighbors per entity and layer on the page."""
    complete: bool
    """Whether the page contains all neighbors."""


def choose_shown(layers: Sequence[Layer], wanted: NDArray[np.intp]) -> Shown:
    """Choose the entities for the page. Those in `wanted` are always points."""
    n = layers[0].n_nodes
    sampled = n > MOST_POINTS
    points = np.arange(n)
    if sampled:
        others = np.setdiff1d(np.random.RandomState(0).permutation(n)[:MOST_SHOWN], wanted)
        points = np.sort(np.concatenate([np.unique(wanted), others]))
    budget = LINKS_OF_SAMPLE if sampled else MOST_LINKS
    most = int(np.clip(budget // (points.size * len(layers)), 1, MOST_NEIGHBORS))
    links = [strongest(layer.adjacency, points, most) for layer in layers]
    targets = np.unique(np.concatenate([found.targets for found in links]))
    entities = np.concatenate([points, np.setdiff1d(targets, points)])
    place = np.full(n, -1, dtype=np.intp)
    place[entities] = np.arange(entities.size)
    complete = all(np.diff(layer.adjacency.indptr).max(initial=0) <= most for layer in layers)
    return Shown(
        entities,
        points.size,
        [Links(found.starts, place[found.targets], found.weights) for found in links],
        most,
        complete,
    )


def strongest(graph: sparse.csr_array, rows: NDArray[np.intp], most: int) -> Links:
    """Return the neighbors with the largest weights for the given rows, largest first, at most
    `most` per row.
    """
    part = graph if rows.size == graph.shape[0] else graph[rows]
    owner = np.repeat(np.arange(rows.size), np.diff(part.indptr))
    order = np.lexsort((-part.data, owner))
    rank = np.arange(owner.size) - part.indptr[owner]
    kept = order[rank < most]
    counts = np.minimum(np.diff(part.indptr), most)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return Links(starts, part.indices[kept].astype(np.intp), part.data[kept])


Points = NDArray[np.float64]
LARGEST_DISC, SPACING = 0.05, 0.012
"""Maximum radius of a disk of spread points, and its radius per square root of their number,
relative to the size of the map.
"""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
NEAREST = 5
"""Number of sampled entities whose positions are averaged for an entity outside the sample."""


def positions(
    embedding: NDArray[np.float64],
    progress: Callable[[float], None] = lambda part: None,
) -> Points:
    """Compute two coordinates for every entity, (N, 2). `progress` is called with the completed
    fraction of the work.

    With more than 20,000 entities, a sample of 20,000 is laid out. Every other entity gets the mean
    position of the five nearest sampled entities in the embedding, weighted by the inverse squared
    distance.
    """
    n = len(embedding)
    if n <= LAYOUT_ROWS:
        return embedding_data(embedding, progress=progress)
    chosen = np.sort(np.random.RandomState(0).permutation(n)[:LAYOUT_ROWS])
    places = embedding_data(embedding[chosen], progress=progress)
    distances, nearest = (
        NearestNeighbors(n_neighbors=NEAREST, algorithm="brute")
        .fit(embedding[chosen])
        .kneighbors(embedding)
    )
    weights = 1 / (distances**2 + 1e-3 * np.mean(distances**2) + 1e-300)
    found: Points = (weights[:, :, None] * places[nearest]).sum(axis=1) / weights.sum(axis=1)[
        :, None
    ]
    found[chosen] = places
    return found


def spread_out(points: Points, labels: NDArray[np.intp]) -> tuple[Points, int]:
    """Spread the members of clusters that are drawn at nearly one point over a disk, and count
    these clusters.

    A disk of n points has a radius of at most 5% of the size of the map. A cluster is spread if
    its mean distance from its center is below a quarter of this radius. Its points lie on a spiral,
    like the seeds of a sunflower.

    Examples
    --------
    >>> import numpy as np
    >>> placed = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.3]])
    >>> points, count = spread_out(placed, np.array([0, 0, 1, 1]))
    >>> count, len(np.unique(points.round(6), axis=0))
    (1, 4)
    """
    found, count = points.copy(), 0
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        center = points[members].mean(axis=0)
        radius = extent * min(LARGEST_DISC, SPACING * np.sqrt(members.size))
        if (
            members.size < 2
            or np.sqrt(np.square(points[members] - center).sum(axis=1).mean()) >= radius / 4
        ):
            continue
        order = np.arange(members.size)
        reach, angle = radius * np.sqrt((order + 0.5) / members.size), GOLDEN_ANGLE * order
        found[members] = center + np.column_stack([reach * np.cos(angle), reach * np.sin(angle)])
        count += 1
    return found, count


def density(
    points: Points, labels: NDArray[np.intp], n_clusters: int, n_cells: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Points]:
    """Return the number of entities in every cell of a grid over the points, (n_cells, n_cells)
    with y first, the most common cluster in the cell (-1 if it is empty), and the corners of the
    grid.
    """
    corners = np.array([points.min(axis=0), points.max(axis=0)])
    width = np.where(corners[1] > corners[0], corners[1] - corners[0], 1.0)
    cells = np.minimum((points - corners[0]) / width * n_cells, n_cells - 1).astype(np.intp)
    flat = cells[:, 1] * n_cells + cells[:, 0]
    counts = np.bincount(flat, minlength=n_cells**2)
    most, cluster = np.zeros(n_cells**2, dtype=np.intp), np.full(n_cells**2, -1, dtype=np.intp)
    for label in range(n_clusters):
        own = np.bincount(flat[labels == label], minlength=n_cells**2)
        cluster[own > most] = label
        most = np.maximum(most, own)
    return counts.reshape(n_cells, n_cells), cluster.reshape(n_cells, n_cells), corners
