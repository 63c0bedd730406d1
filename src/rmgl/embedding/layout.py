"""Positions in the plane for the rows of an embedding: neighbors close together, others apart.

The layout minimizes the objective of t-SNE, the divergence of two distributions over pairs,

    sum_ij p_ij log(p_ij / q_ij)       q_ij proportional to 1 / (1 + |y_i - y_j|^2)

by gradient descent with momentum from the first two principal components of the rows. p_ij is the
same for all pairs of nearest neighbors, and the repulsion of all pairs is estimated from a few
random pairs in each step, which takes a tenth of the time that tree-based t-SNE takes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from rmgl.matrix import Floats
from rmgl.running.threads import single_threaded

NEIGHBORS = 15
"""Number of neighbors that are kept near a row."""
PARTNERS = 12
"""Number of rows, drawn anew in each step, that push a row away; it pushes as many."""
STEPS = 200
EXAGGERATED = 0.4
"""Share of steps at the start in which neighbors attract each other more strongly."""
EXAGGERATION = 6.0
"""Factor of the attraction between neighbors in the first steps."""
MOMENTUM = 0.8
LAST_STEP = 0.1
"""Length of the last step, as a share of the first."""


def neighbor_layout(
    rows: Floats, seed: int = 0, progress: Callable[[float], None] = lambda part: None
) -> Floats:
    """Compute two coordinates for every row, (N, 2); `progress` receives the completed fraction.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(3), 20, axis=0)
    >>> neighbor_layout(rows + 0.01 * np.random.RandomState(0).normal(size=rows.shape)).shape
    (60, 2)
    """
    random_state = np.random.RandomState(seed)
    order = random_state.permutation(len(rows))
    mixed = rows[order]  # consecutive rows are random pairs
    with single_threaded("blas"), single_threaded("openmp"):
        attraction = neighbor_weights(mixed, min(NEIGHBORS, len(rows) - 1))
        with np.errstate(invalid="ignore"):  # all rows may be equal
            places: Floats = PCA(2, random_state=0).fit_transform(mixed)
    places /= max(float(places.std()), np.finfo(float).tiny)
    speed = np.zeros_like(places)
    for step in range(STEPS):
        part = step / STEPS
        progress(part)
        pull, push = pulled(places, attraction), pushed(places, random_state)
        if part < EXAGGERATED:
            force, length = pull + push / EXAGGERATION, 1.0
        else:
            rest = (part - EXAGGERATED) / (1 - EXAGGERATED)
            force, length = pull + push, 1 - (1 - LAST_STEP) * rest
        speed = MOMENTUM * speed + length * force
        places = places + speed
    found: Floats = np.empty_like(places)
    found[order] = places
    return found


def neighbor_weights(rows: Floats, count: int) -> sparse.csr_array:
    """Average the nearest-neighbor graph, whose rows sum to one, and its transpose."""
    n = len(rows)
    nearest = NearestNeighbors(n_neighbors=count).fit(rows).kneighbors(return_distance=False)
    starts = np.arange(0, n * count + 1, count)
    graph = sparse.csr_array((np.full(n * count, 1 / count), nearest.ravel(), starts), shape=(n, n))
    return sparse.csr_array((graph + graph.T) / 2)


def pulled(places: Floats, weights: sparse.csr_array) -> Floats:
    """Compute the attraction by neighbors: sum_j w_ij (y_j - y_i) / (1 + |y_j - y_i|^2).

    Every row of the weights has an entry.
    """
    counts = np.diff(weights.indptr)
    columns = np.ascontiguousarray(places.T)
    x, y = (column[weights.indices] - np.repeat(column, counts) for column in columns)
    near = weights.data / (1 + x * x + y * y)
    starts = weights.indptr[:-1]
    return np.column_stack([np.add.reduceat(apart * near, starts) for apart in (x, y)])


def pushed(
    places: Floats, random_state: np.random.RandomState, n_partners: int = PARTNERS
) -> Floats:
    """Estimate the repulsion of every place by all others from random pairs:

        sum_j q_ij^2 (y_i - y_j) / mean_ij q_ij / N        q_ij = 1 / (1 + |y_i - y_j|^2)

    Places must be in random order: the members of a pair are a random number of rows apart.
    """
    n = len(places)
    shifts = random_state.randint(1, n, size=n_partners)
    twice = np.ascontiguousarray(np.concatenate([places, places]).T)
    force, total = np.zeros((2, n)), 0.0
    for shift in shifts:
        x, y = apart = twice[:, :n] - twice[:, shift : shift + n]
        near = 1 / (1 + x * x + y * y)
        total += near.sum()
        push = apart * (near * near)
        force += push
        force -= np.roll(push, shift, axis=1)
    return np.ascontiguousarray(force.T) * (n / (2 * total))
