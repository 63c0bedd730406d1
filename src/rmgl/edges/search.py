"""Exact search for nearest rows, and for all pairs of rows within given radii.

Products of rows are taken in single precision where its rounding is small compared with the distances in question, else in double
precision. The effect of rounding on a distance is bounded and allowed for, so statements about rows that were not found hold for exact
distances; the rows that are found are the nearest up to that rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.heaps import TILE, Heaps, Indices
from rmgl.edges.interface import Vector
from rmgl.edges.tiles import Tiles, rounding, squared_lengths
from rmgl.running.threads import Check

LARGEST_LOSS = 0.01
"""Share of a distance that single precision may lose; beyond it the search uses double precision."""


def nearest_rows(X: Any, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
    """The `length` nearest other rows of each node, in any order, and a lower bound of the squared distance to all other rows.

    X is centered. The bound is infinite where all rows are listed.
    """
    n = X.shape[0]
    length = min(length, n - 1)
    if length == n - 1:
        everyone = np.broadcast_to(np.arange(n), (len(nodes), n))
        return everyone[everyone != nodes[:, None]].reshape(len(nodes), length), np.full(len(nodes), np.inf)
    tiles = Tiles(X, np.float32 if fits_single(X) else np.float64)
    neighbors, bounds, last = tiles.nearest(nodes, length, check)
    imprecise = np.flatnonzero(bounds < (1 - LARGEST_LOSS) * last)
    if imprecise.size and tiles.dtype == np.float32:
        neighbors[imprecise], bounds[imprecise], _ = Tiles(X, np.float64).nearest(nodes[imprecise], length, check)
    return neighbors, bounds


def nearest_to(X: Any, queries: Any, length: int) -> Indices:
    """The `length` rows of X nearest to each row of `queries`, in any order, up to rounding.

    Unlike scikit-learn's search it does not use OpenMP, so it also works in a process forked from one that has used OpenMP.
    """
    mean = None if sparse.issparse(X) else X.mean(axis=0)
    queries = queries if mean is None else queries - mean
    heaps = Heaps(np.full(queries.shape[0], -1), length, np.dtype(np.float64))
    # In random order: if rows were sorted from far to near, every one of them would enter the heaps.
    starts = np.random.RandomState(0).permutation(np.arange(0, X.shape[0], TILE))
    for start in starts.tolist():
        rows = X[start : start + TILE]
        rows = rows if mean is None else rows - mean
        halves = squared_lengths(rows) / 2
        for first in range(0, queries.shape[0], TILE):
            group = slice(first, min(first + TILE, queries.shape[0]))
            products = queries[group] @ rows.T
            products = products.toarray() if sparse.issparse(products) else products
            heaps.offer(np.subtract(products, halves, out=products), first, start, False)
    return heaps.found.astype(np.int64)


def nearest_distances(X: Any, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> NDArray[np.float64]:
    """Squared distances to the `length` nearest other rows of each node, in ascending order."""
    return np.sort(listed_distances(X, nodes, nearest_rows(X, nodes, length, check)[0]), axis=1)


def listed_distances(X: Any, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
    """Squared distances of each node to the rows listed for it, computed from differences."""
    if sparse.issparse(X):
        return np.column_stack([squared_lengths(X[column] - X[nodes]) for column in neighbors.T])
    return distances_between(X if len(nodes) == X.shape[0] else X[nodes], X, neighbors)


def distances_between(rows: NDArray[np.float64], X: NDArray[np.float64], neighbors: NDArray[np.intp]) -> NDArray[np.float64]:
    """Squared distances between each of `rows` and the rows of X listed for it, computed from differences."""
    from rmgl import kernels

    n, length = neighbors.shape
    distances = np.empty(neighbors.shape)
    starts = length * np.arange(n + 1)
    kernels.list_distances(rows, X, starts, neighbors.astype(np.int32).ravel(), 0, n, distances.reshape(-1))
    return distances


def pairs_within(
    X: Any, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
) -> tuple[Indices, Indices]:
    """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j).

    A pair may occur in both orders, and rounding may add a few pairs. X is centered; `scales` are the s_i (None: all are one).
    """
    norms = squared_lengths(X)
    scales = np.ones(norms.size) if scales is None else scales
    loss = rounding(X.shape[1], np.float32) * norms
    precise = not fits_single(X) or np.quantile(loss[nodes] - LARGEST_LOSS * (scales**2 * radii)[nodes], 0.99) > 0
    return Tiles(X, np.float64 if precise else np.float32).within(nodes, radii, scales, check)


def fits_single(X: Any) -> bool:
    """Whether the rows are dense and their squares neither overflow nor underflow in single precision."""
    if sparse.issparse(X):
        return False
    return 1e-9 < float(np.abs(X).max(initial=0.0)) < 1e15
