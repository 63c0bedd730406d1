"""Candidate pairs without a certificate: a graph given by the user, or approximate nearest neighbors. Their recall is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import sound_sparse
from rmgl.edges.heaps import Indices
from rmgl.edges.kept_searches import check_lists
from rmgl.edges.space import Space
from rmgl.extras import not_installed
from rmgl.matrix import square_in_order
from rmgl.running.checkpoint import Checkpoint, Found, digest_of

SAMPLE = 500
"""Rows from which recall is measured."""
KINDS = "'auto', 'all', 'approximate', a number of neighbors or a sparse graph"


def approximate_pattern(X: Any, length: int, checkpoint: Checkpoint | None = None) -> sparse.csr_array:
    """The pairs of every row with about the `length` nearest ones; X is sparse, or dense and centered. A checkpoint keeps what is found."""
    n = X.shape[0]
    length = min(length, n - 1)

    def search() -> Found:
        return {"neighbors": approximate_neighbors(X, length)}

    def examine(found: Found) -> None:
        check_lists(found, np.arange(n), length, n)

    name = "" if checkpoint is None else f"approximate-{digest_of(X, length)}"
    neighbors = (search() if checkpoint is None else checkpoint.step(name, search, examine))["neighbors"]
    rows = np.repeat(np.arange(n), length)
    return sparse.csr_array((np.ones(neighbors.size, dtype=bool), (rows, neighbors.ravel())), shape=(n, n))


def approximate_neighbors(X: Any, length: int) -> Indices:
    """Find about the `length` nearest rows of each row, by nearest-neighbor descent (pynndescent). X is sparse, or dense and centered."""
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(not_installed("candidates='approximate' needs", "pynndescent")) from error
    n = X.shape[0]
    data = sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
    found, _ = NNDescent(data, n_neighbors=length + 1, random_state=0).neighbor_graph
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    neighbors: Indices = found[~own].reshape(n, -1)
    return neighbors


def given_pattern(name: str, graph: Any, n_nodes: int) -> sparse.csr_array:
    """The pairs of a sparse graph such as scikit-learn's `KNeighborsTransformer` returns; its values are not used."""
    if not sparse.issparse(graph):
        raise ValueError(f"candidates for view {name!r} is of type {type(graph).__name__}: use {KINDS}")
    if graph.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"candidates for view {name!r} is a graph of shape {graph.shape}, but the view has {n_nodes} rows: give one node for each row"
        )
    entries = sound_graph(name, graph).tocoo()
    off_diagonal = entries.row != entries.col
    pairs = (entries.row[off_diagonal], entries.col[off_diagonal])
    pattern = sparse.csr_array((np.ones(pairs[0].size, dtype=bool), pairs), shape=graph.shape)
    if pattern.nnz == 0:
        raise ValueError(f"candidates for view {name!r} is a graph without edges: give at least one pair of different rows")
    return pattern


def sound_graph(name: str, graph: Any) -> sparse.csr_array:
    """A given graph as a CSR array; raises a ValueError that names its first entry that is neither a distance nor a weight."""
    found = sound_sparse(f"candidates for view {name!r}", graph)
    is_number = found.dtype.kind in "biuf"
    wrong = np.flatnonzero(~(np.isfinite(found.data) & (found.data >= 0))) if is_number else np.arange(found.nnz)
    if wrong.size:
        first = wrong[0]
        row = np.searchsorted(found.indptr, first, side="right") - 1
        raise ValueError(
            f"candidates for view {name!r} is a graph whose entry ({row}, {found.indices[first]}) is {found.data[first]}, but distances "
            "or weights of pairs are needed, real numbers >= 0: remove the entries of pairs that are no candidates"
        )
    return found


def pairs_among(name: str, candidates: Any, rows: NDArray[np.intp] | None, n_nodes: int) -> Any:
    """Restrict a given graph of all entities to the rows observed in a view; return other candidates unchanged."""
    if rows is None or not sparse.issparse(candidates) or candidates.shape != (n_nodes, n_nodes):
        return candidates
    return sound_graph(name, candidates)[rows][:, rows]


def among_all(name: str, candidates: Any, rows: NDArray[np.intp] | None, n_nodes: int) -> Any:
    """Extend a given graph of the rows observed in a view to all entities; return other candidates unchanged."""
    if rows is None or not sparse.issparse(candidates) or candidates.shape != (rows.size, rows.size):
        return candidates
    own = sound_graph(name, candidates).tocoo()
    return sparse.csr_array((own.data, (rows[own.row], rows[own.col])), shape=(n_nodes, n_nodes))


def graph_in_order(name: str, candidates: Any, order: NDArray[np.intp]) -> Any:
    """A given graph of all entities with these in another order; return other candidates unchanged."""
    if not sparse.issparse(candidates) or candidates.shape != (order.size, order.size):
        return candidates
    return square_in_order(sparse.csr_array(sound_graph(name, candidates)), order)


def measured_recall(space: Space, union: sparse.csr_array, length: int) -> float:
    """The share of the exact `length` nearest neighbors that are candidates, for a sample of rows."""
    n = space.n_rows
    rows = np.sort(np.random.RandomState(0).permutation(n)[:SAMPLE])
    exact, _ = space.nearest(rows, length)
    listed = [np.isin(own, union.indices[union.indptr[row] : union.indptr[row + 1]]).mean() for row, own in zip(rows, exact, strict=True)]
    return float(np.mean(listed))
