"""Jaccard distances between rows of zeros and ones: of all pairs where these fit into memory, else of the nearest pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.running.memory import available_memory
from rmgl.running.warn import warn_caller
from rmgl.views.matrix import Matrix

LISTED = 100
"""Nearest rows that are listed for each row where not all pairs fit into memory."""
BLOCK_ENTRIES = 1 << 22
"""Distances that are computed at once."""


def binary(name: str, X: Matrix) -> sparse.csr_array:
    """Rows of zeros and ones as a CSR array."""
    values = X.data if sparse.issparse(X) else X
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError(f"view {name!r}: metric='jaccard' is for rows of zeros and ones, but there are other values: code them as 0 and 1")
    rows = sparse.csr_array(X)
    rows.eliminate_zeros()
    return rows


def jaccard_distances(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """1 - |x and y| / |x or y| for all pairs of rows of zeros and ones, which are squared Euclidean distances; 0 for two empty rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    >>> jaccard_distances(rows, rows).round(3)
    array([[0.   , 0.667, 1.   ],
           [0.667, 0.   , 1.   ],
           [1.   , 1.   , 0.   ]])
    """
    both = (left @ right.T).toarray()
    either = np.asarray(left.sum(axis=1)).ravel()[:, None] + np.asarray(right.sum(axis=1)).ravel() - both
    found: NDArray[np.float64] = 1.0 - np.divide(both, either, out=np.ones_like(both), where=either > 0)
    return found


def distances_among(name: str, rows: sparse.csr_array, present: NDArray[np.bool_], n_views: int) -> Matrix:
    """The distances of all pairs of rows that are present, if they fit into memory beside those of all views.

    If they do not fit, those of the nearest pairs, with a warning.
    """
    available = available_memory()
    if available is not None and 8 * (n_views + 6) * rows.shape[0] ** 2 > available:
        warn_caller(
            f"view {name!r}: the Jaccard distances of all {rows.shape[0]:,} rows do not fit into memory, so only the {LISTED} nearest "
            "rows of each may be its neighbors; use fewer rows, a machine with more memory, or metric='cosine'",
        )
        return nearest_pairs(rows, present)
    distances = jaccard_distances(rows, rows)
    distances[~present] = distances[:, ~present] = 0.0
    np.fill_diagonal(distances, 0.0)
    return distances


def nearest_pairs(rows: sparse.csr_array, present: NDArray[np.bool_], length: int = LISTED) -> sparse.csr_array:
    """The distances of each row that is present to the `length` nearest others, in both directions; an entry may be zero.

    Of rows that are tied for the last places either all are taken or, if the list would become ten times as long, none.

    Examples
    --------
    >>> import numpy as np
    >>> rows = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> print(nearest_pairs(rows, np.ones(3, dtype=bool), length=1).nnz)
    6
    """
    nodes, n = np.flatnonzero(present), rows.shape[0]
    own, length, size = rows[nodes], min(length, nodes.size - 1), max(1, BLOCK_ENTRIES // nodes.size)
    keys, values = [], []
    for first in range(0, nodes.size, size):
        distances = jaccard_distances(own[first : first + size], own)
        places = np.arange(len(distances))
        distances[places, places + first] = np.inf
        last = np.partition(distances, length - 1, axis=1)[:, [length - 1]]
        near = distances <= last
        near &= (distances < last) | (near.sum(axis=1, keepdims=True) <= 10 * length)
        row, column = np.nonzero(near)
        left, right = nodes[row + first], nodes[column]
        keys += [left * n + right, right * n + left]
        values += 2 * [distances[near]]  # the same number in both directions
    pairs, once = np.unique(np.concatenate(keys), return_index=True)
    return sparse.csr_array((np.concatenate(values)[once], (pairs // n, pairs % n)), shape=(n, n))
