"""A place on the page for every entity: t-SNE of the common embedding, continued to the rest where entities are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from rmgl.plots import TSNE_ROWS, embedding_data

Points = NDArray[np.float64]
LARGEST_DISC, SPACING = 0.05, 0.012
"""The radius of a disc of spread points: at most, and per square root of their number, as shares of the picture."""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
NEAREST = 5
"""Sampled entities whose places are averaged for an entity that is not in the sample."""


def positions(embedding: NDArray[np.float64], seed: int = 0) -> Points:
    """Two coordinates for every entity, (N, 2).

    Beyond 3000 entities, t-SNE places a sample of 3000. Every other one gets the mean place of the five sampled ones that are nearest in
    the embedding, weighted by the inverse of the squared distance.
    """
    n = len(embedding)
    if n <= TSNE_ROWS:
        return embedding_data(embedding, random_state=seed)
    chosen = np.sort(np.random.RandomState(seed).permutation(n)[:TSNE_ROWS])
    places = embedding_data(embedding[chosen], random_state=seed)
    distances, nearest = NearestNeighbors(n_neighbors=NEAREST, algorithm="brute").fit(embedding[chosen]).kneighbors(embedding)
    weights = 1 / (distances**2 + 1e-3 * np.mean(distances**2) + 1e-300)
    found: Points = (weights[:, :, None] * places[nearest]).sum(axis=1) / weights.sum(axis=1)[:, None]
    found[chosen] = places
    return found


def spread_out(points: Points, labels: NDArray[np.intp]) -> tuple[Points, int]:
    """Spread the members of clusters that are drawn at nearly one place over a disc, so that each can be seen, and count such clusters.

    A disc of n points has a radius of at most 5 % of the picture. A cluster whose mean distance from its center is below a quarter of it is
    spread; its points lie on a spiral, as the seeds of a sunflower do.

    Examples
    --------
    >>> import numpy as np
    >>> points, count = spread_out(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.3]]), np.array([0, 0, 1, 1]))
    >>> count, len(np.unique(points.round(6), axis=0))
    (1, 4)
    """
    found, count = points.copy(), 0
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        center = points[members].mean(axis=0)
        radius = extent * min(LARGEST_DISC, SPACING * np.sqrt(members.size))
        if members.size < 2 or np.sqrt(np.square(points[members] - center).sum(axis=1).mean()) >= radius / 4:
            continue
        order = np.arange(members.size)
        reach, angle = radius * np.sqrt((order + 0.5) / members.size), GOLDEN_ANGLE * order
        found[members] = center + np.column_stack([reach * np.cos(angle), reach * np.sin(angle)])
        count += 1
    return found, count


def density(points: Points, labels: NDArray[np.intp], n_clusters: int, n_cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Points]:
    """The number of entities in every cell of a grid over the points, (n_cells, n_cells) with y first, the cluster that most of them are
    in (-1: the cell is empty), and the corners of the grid."""
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
