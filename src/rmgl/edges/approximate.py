"""Approximate nearest neighbors as candidate pairs: no certificate, but a measured recall."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges.interface import Indices
from rmgl.edges.kept_searches import check_lists
from rmgl.edges.space import Space
from rmgl.extras import not_installed
from rmgl.running.checkpoint import Checkpoint, Found, digest_of

RECALL_ROWS = 500
"""Number of rows sampled to measure recall."""


def approximate_pattern(
    X: Any, length: int, checkpoint: Checkpoint | None = None
) -> sparse.csr_array:
    """Pair every row with about its `length` nearest rows; a checkpoint keeps the lists.

    X is sparse, or dense and centered.
    """
    n = X.shape[0]
    length = min(length, n - 1)

    def search() -> Found:
        return {"neighbors": approximate_neighbors(X, length)}

    def examine(kept: Found) -> None:
        check_lists(kept, np.arange(n), length, n)

    if checkpoint is None:
        kept = search()
    else:
        kept = checkpoint.step(f"approximate-{digest_of(X, length)}", search, examine)
    pairs = np.repeat(np.arange(n), length), kept["neighbors"].ravel()
    return sparse.csr_array((np.ones(n * length, dtype=bool), pairs), shape=(n, n))


def approximate_neighbors(X: Any, length: int) -> Indices:
    """Find about the `length` nearest rows of each row by nearest-neighbor descent."""
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(not_installed("candidates='approximate' needs", "pynndescent")) from error
    n = X.shape[0]
    data = sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
    listed, _ = NNDescent(data, n_neighbors=length + 1, random_state=0).neighbor_graph
    is_self = listed == np.arange(n)[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    neighbors: Indices = listed[~is_self].reshape(n, -1)
    return neighbors


def measured_recall(space: Space, union: sparse.csr_array, length: int) -> float:
    """Measure the share of the `length` nearest neighbors that are candidates, on sampled rows."""
    rows = np.sort(np.random.RandomState(0).permutation(space.n_rows)[:RECALL_ROWS])
    exact, _ = space.nearest(rows, length)
    starts, stops = union.indptr[rows], union.indptr[rows + 1]
    shares = [
        np.isin(neighbors, union.indices[start:stop]).mean()
        for neighbors, start, stop in zip(exact, starts, stops, strict=True)
    ]
    return float(np.mean(shares))
