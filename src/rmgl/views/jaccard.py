"""Jaccard distances between rows of zeros and ones.

All pairs are computed if they fit into memory. Otherwise, only the nearest pairs are computed.
"""

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
from rmgl.running.progress import warn_caller
from rmgl.running.threads import available_memory, require_memory
from rmgl.views.features import FeatureView, check_columns
from rmgl.views.incomplete import Mask, refuse_gaps
from rmgl.views.pair_view import DistanceView, entries_of
from rmgl.views.scaling import cosine
from rmgl.views.view import Indices, View

N_NEAREST = 100
"""Number of nearest rows kept for each row if not all pairs fit into memory."""
DISTANCES_AT_ONCE = 1 << 22
"""Number of distances computed at a time."""


@record
@dataclass(frozen=True)
class JaccardView(DistanceView):
    """Jaccard distances between rows of zeros and ones. They are squared Euclidean distances."""

    ones: Any = None
    """Rows of zeros and ones, as a CSR array."""
    columns: tuple[str, ...] | None = None

    @classmethod
    def of_rows(cls, view: View, n_views: int) -> JaccardView:
        """Return the Jaccard distances between the rows of one of `n_views` views."""
        ones = binary(view.name, view.matrix)
        distances = distances_among(view.name, ones, view.mask, n_views)
        if not entries_of(distances).any():
            raise ValueError(
                f"view {view.name!r} is constant: all of its rows are equal, so it cannot "
                "separate clusters; leave it out"
            )
        return cls(view.name, distances, view.entities, ones, view.columns)

    def at(self, places: Indices) -> JaccardView:
        return replace(self, ones=self.ones[places])

    @property
    def features(self) -> FeatureView:
        return FeatureView(self.name, self.ones, self.entities, self.columns)

    def without(self, columns: Sequence[int]) -> FeatureView:
        """Return the rows without these columns. Their cosines replace the Jaccard distances."""
        rest = self.features.without(columns)
        if not rest.matrix.shape[1]:
            return rest
        return replace(rest, matrix=cosine(rest.matrix)(rest.matrix))

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
        refuse_gaps(self.name, rows.gaps, "use another metric")
        what = f"view {self.name!r}: the Jaccard distances of new rows"
        require_memory(24 * rows.n_rows * self.n_rows, what, "pass fewer rows at once")
        return jaccard_distances(binary(self.name, sparse.csr_array(rows.matrix)), self.ones)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        ones = sound_sparse(f"the rows of view {self.name!r}", self.ones)
        if ones.shape[0] != n_rows or not np.isin(ones.data, (0.0, 1.0)).all():
            raise Unsound(f"the rows of view {self.name!r} are not {n_rows} rows of zeros and ones")


def binary(name: str, X: Matrix) -> sparse.csr_array:
    """Return rows of zeros and ones as a CSR array."""
    if not np.isin(entries_of(X), (0.0, 1.0)).all():
        raise ValueError(
            f"view {name!r}: metric='jaccard' requires rows of zeros and ones, but the "
            "view has other values; encode them as 0 and 1"
        )
    rows = sparse.csr_array(X)
    rows.eliminate_zeros()
    return rows


def jaccard_distances(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """Return 1 - |x and y| / |x or y| for all pairs of rows. Two empty rows have distance 0.

    These are squared Euclidean distances.

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
    n_left, n_right = (np.asarray(rows.sum(axis=1)).ravel() for rows in (left, right))
    either = n_left[:, None] + n_right - both
    shares = np.divide(both, either, out=np.ones_like(both), where=either > 0)
    return np.asarray(1.0 - shares)


def distances_among(name: str, rows: sparse.csr_array, present: Mask, n_views: int) -> Matrix:
    """Return the distances between all pairs of rows that are present.

    If the distances of all views do not fit into memory together, warn and return only the nearest
    pairs.
    """
    available = available_memory()
    if available is not None and 8 * (n_views + 6) * rows.shape[0] ** 2 > available:
        warn_caller(
            f"view {name!r}: the Jaccard distances between all {rows.shape[0]:,} rows do not fit "
            f"into memory, so only the {N_NEAREST} rows nearest to each row can be its neighbors; "
            "use fewer rows, a machine with more memory, or metric='cosine'"
        )
        return nearest_pairs(rows, present)
    distances = jaccard_distances(rows, rows)
    distances[~present] = distances[:, ~present] = 0.0
    np.fill_diagonal(distances, 0.0)
    return distances


def nearest_pairs(
    rows: sparse.csr_array, present: Mask, length: int = N_NEAREST
) -> sparse.csr_array:
    """Return the distances from each row that is present to its `length` nearest rows.

    Every pair is stored in both directions, and an entry may be zero. Rows tied for the last places
    are all included or, if the list would become ten times as long, all left out.

    Examples
    --------
    >>> import numpy as np
    >>> rows = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> print(nearest_pairs(rows, np.ones(3, dtype=bool), length=1).nnz)
    6
    """
    nodes, n = np.flatnonzero(present), rows.shape[0]
    rows, length = rows[nodes], min(length, nodes.size - 1)
    size = max(1, DISTANCES_AT_ONCE // nodes.size)
    keys, values = [], []
    for first in range(0, nodes.size, size):
        distances = jaccard_distances(rows[first : first + size], rows)
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
