"""Jaccard distances between rows of zeros and ones: of all pairs where these fit into memory, else of the nearest pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_sparse
from rmgl.matrix import Matrix
from rmgl.running.memory import available_memory, require_memory
from rmgl.running.warn import warn_caller
from rmgl.views.distances import DistanceView
from rmgl.views.features import FeatureView, check_columns
from rmgl.views.scaling import cosine
from rmgl.views.view import Indices, View

LISTED = 100
"""Nearest rows that are listed for each row where not all pairs fit into memory."""
BLOCK_ENTRIES = 1 << 22
"""Distances that are computed at once."""


@record
@dataclass(frozen=True)
class JaccardView(DistanceView):
    """Jaccard distances between rows of zeros and ones, which are squared Euclidean ones."""

    ones: Any = None
    """The rows of zeros and ones, as a CSR array."""
    columns: tuple[str, ...] | None = None

    @classmethod
    def of_rows(cls, view: View, n_views: int) -> JaccardView:
        """The Jaccard distances between the rows of one of so many views."""
        ones = binary(view.name, view.matrix)
        distances = distances_among(view.name, ones, view.mask, n_views)
        if not (distances.data if sparse.issparse(distances) else distances).any():
            raise ValueError(f"view {view.name!r} is constant: all its rows are equal, so it cannot separate clusters; leave it out")
        return cls(view.name, distances, view.entities, ones, view.columns)

    def parts_of(self, places: Indices) -> dict[str, Any]:
        return {"ones": self.ones[places]}

    @property
    def features(self) -> FeatureView:
        return FeatureView(self.name, self.ones, self.entities, self.columns)

    def without(self, columns: Sequence[int]) -> FeatureView:
        """Cosines of what is left of the rows are in place of the distances."""
        rest = self.features.without(columns)
        return replace(rest, matrix=cosine(rest.matrix)(rest.matrix)) if rest.matrix.shape[1] else rest

    @property
    def words(self) -> str:
        return "jaccard"

    @property
    def kind(self) -> str:
        return "jaccard"

    @property
    def made_from(self) -> str:
        return "rows of features"

    def squared_of_new(self, rows: View, given: Any) -> Matrix:
        check_columns(self, rows, self.ones.shape[1])
        needed = 24 * rows.n_rows * self.n_rows
        require_memory(needed, f"view {self.name!r}: the Jaccard distances of new rows", "give fewer rows at once")
        return jaccard_distances(binary(self.name, sparse.csr_array(rows.matrix)), self.ones)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        ones = sound_sparse(f"the rows of view {self.name!r}", self.ones)
        if ones.shape[0] != n_rows or not np.isin(ones.data, (0.0, 1.0)).all():
            raise Unsound(f"the rows of view {self.name!r} are not {n_rows} rows of zeros and ones")


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
