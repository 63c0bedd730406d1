"""Checks of square matrices that users pass: networks, distances, kernels and similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import sound_sparse
from rmgl.matrix import Matrix

SMALLEST_NETWORK = 10
MOST_EDGES = 0.2
"""Share of entries that are not zero up to which a square view may be a network."""


def square_matrix(name: str, what: str, given: Any) -> Matrix:
    """A square matrix of finite numbers, dense or CSR, float64; the caller's own is not changed. Errors name the view."""
    X = given.to_numpy() if hasattr(given, "to_numpy") else given
    if sparse.issparse(X):
        X = sparse.csr_array(sound_sparse(f"view {name!r}", X), copy=True)
        X.sum_duplicates()
        if X.dtype.kind not in "biuf":
            raise ValueError(f"view {name!r}: {what} holds values of type {X.dtype}, but numbers are needed")
        X = X.astype(np.float64)
        values = X.data
    else:
        try:
            X = values = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"view {name!r}: {what} does not hold numbers ({error}): give a square matrix of numbers") from error
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(f"view {name!r}: {what} has shape {X.shape}, but must be square, with one row and one column for each entity")
    if not np.isfinite(values).all():
        raise ValueError(f"view {name!r}: {what} holds NaN or infinity: replace them; where an entity is missing, say so with observed=")
    return X


def check_symmetric(name: str, what: str, X: Matrix, advice: str) -> Matrix:
    """The mean of X and its transpose, after a check that they differ by rounding errors only; the error tells the largest difference."""
    difference = abs(X - X.T)
    largest = float(difference.max()) if X.shape[0] else 0.0
    scale = float(abs(X).max()) if X.shape[0] else 0.0
    if largest > 1e-8 * scale:
        place = difference.argmax()
        row, column = np.unravel_index(int(place), X.shape)
        raise ValueError(
            f"view {name!r}: {what} is not symmetric: entry ({row}, {column}) is {X[row, column]:g}, but entry ({column}, {row}) is "
            f"{X[column, row]:g}, a difference of {largest:g}, the largest of all: {advice}"
        )
    halved = (X + X.T) / 2
    return sparse.csr_array(halved) if sparse.issparse(halved) else halved


def check_not_negative(name: str, what: str, X: Matrix) -> None:
    """Raise a ValueError that names the first negative entry."""
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        rows, columns = np.nonzero(X.toarray() < 0 if sparse.issparse(X) and X.shape[0] <= 1000 else X < 0)
        raise ValueError(
            f"view {name!r}: {what} has {rows.size} negative entries (first: entry ({rows[0]}, {columns[0]}) is "
            f"{float(X[rows[0], columns[0]]):g}): they must be >= 0"
        )


def observed_nodes(name: str, n_rows: int, observed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """The mask of observed entities, all if none is given."""
    if observed is not None and observed.size != n_rows:
        raise ValueError(f"observed has {observed.size} truth values for the {n_rows} entities of view {name!r}: give one for each")
    return np.ones(n_rows, dtype=bool) if observed is None else observed


def looks_like_network(X: Matrix) -> bool:
    """Whether rows of features look like the adjacency matrix of a network: square, symmetric, mostly zeros, >= 0, with a zero diagonal."""
    if X.shape[0] != X.shape[1] or X.shape[0] < SMALLEST_NETWORK:
        return False
    entries = sparse.csr_array(X)
    share = entries.count_nonzero() / X.shape[0] ** 2
    if not 0 < share <= MOST_EDGES or entries.data.min() < 0 or entries.diagonal().any():
        return False
    return bool(abs(entries - entries.T).max() == 0)
