"""Cluster a graph again without a random fifth of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import smallest_eigenvectors, unit_rows
from rmgl.embedding.labels import cluster_rows, labels_of_nearest
from rmgl.matrix import Floats, Indices
from rmgl.running.checkpoint import Checkpoint

KEPT = 0.8
"""Fraction of the nodes that are drawn."""
RESAMPLED_INITS = 3
"""Number of k-means initializations for each set of labels."""
MOST_ROWS = 10_000
"""Number of rows beyond which k-means finds its centers on a random sample of this size."""


def four_fifths(nodes: Indices, random_state: np.random.RandomState) -> Indices:
    """Draw a random four fifths of the nodes, at least two, and keep their order."""
    return np.sort(random_state.permutation(nodes)[: max(2, round(KEPT * nodes.size))])


def parts_of(
    graph: Graph,
    nodes: Indices,
    numbers: Sequence[int],
    random_state: np.random.RandomState,
    *,
    tol: float,
    normalized: bool = False,
    balanced: bool = False,
    of_unit_length: bool = True,
    checkpoint: Checkpoint | None = None,
) -> list[Indices]:
    """Apply spectral clustering to the subgraph of the given nodes, once for each number of parts.

    The number of parts is at most the number of nodes. The eigenvectors, with a relative residual
    of `tol`, are those of the Laplacian, of the `normalized` Laplacian, or of the problem with
    masses (`balanced`); the checkpoint, if any, keeps them. k-means clusters their rows,
    `of_unit_length` or unscaled.

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    >>> nodes = np.array([0, 1, 4, 5, 8, 9])
    >>> two, three = parts_of(graph, nodes, [2, 3], np.random.RandomState(0), tol=1e-4)
    >>> np.unique(two).size, np.unique(three).size
    (2, 3)
    """
    most = min(max(numbers), nodes.size)
    between = sparse.csr_array(graph)[nodes][:, nodes]
    vectors = smallest_eigenvectors(
        between,
        most,
        normalized=normalized,
        tol=tol,
        checkpoint=checkpoint,
        balance=Balance.of(between) if balanced else None,
    ).vectors
    return [cut(vectors, min(number, most), random_state, of_unit_length) for number in numbers]


def cut(
    vectors: Floats, number: int, random_state: np.random.RandomState, of_unit_length: bool = True
) -> Indices:
    """Cluster the rows of the first `number` eigenvectors of a graph into `number` parts."""
    rows = vectors[:, :number]
    rows = unit_rows(rows) if of_unit_length else rows
    sampled = rows
    if len(rows) > MOST_ROWS:
        sampled = rows[random_state.permutation(len(rows))[:MOST_ROWS]]
    found = cluster_rows(sampled, number, n_init=RESAMPLED_INITS, random_state=random_state)
    return found if sampled is rows else labels_of_nearest(rows, sampled, found)
