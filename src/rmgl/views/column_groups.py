"""Group indicator columns that encode one category."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.matrix import Matrix, as_dense
from rmgl.views.encoding import Encoding
from rmgl.views.scaling import Scaler

MOST_COLUMNS = 200
"""Maximum number of columns to search for groups that encode one category."""


def column_groups(
    X: Matrix, encoding: Encoding | None = None, scaler: Scaler | None = None
) -> NDArray[np.intp]:
    """Return each numeric column's group number, shared by columns that encode one table column.

    Without an encoding, columns of zeros and ones that encode one category are recognized.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[7.0, 0.0, 0.0, 1.0], [7.0, 1.0, 0.0, 0.0], [8.0, 0.0, 1.0, 0.0]])
    >>> column_groups(X).tolist()
    [0, 1, 1, 1]
    """
    width = X.shape[1]
    if scaler is not None and scaler.levels is not None:
        return np.repeat(np.arange(len(scaler.levels)), [level.size + 1 for level in scaler.levels])
    if encoding is not None:
        starts = np.zeros(width, dtype=np.intp)
        starts[encoding.first_features] = 1
        return starts.cumsum() - 1
    groups = np.arange(width)
    if width <= MOST_COLUMNS:
        dense = as_dense(X)
        varying = np.flatnonzero(np.ptp(dense, axis=0) > 0)
        for columns in one_hots(dense[:, varying]):
            groups[varying[list(columns)]] = varying[columns[0]]
    return groups


def one_hots(X: NDArray[Any]) -> list[tuple[int, ...]]:
    """Return adjacent two-valued columns that encode one category: every row has the larger value
    in exactly one of them.

    Examples
    --------
    >>> import numpy as np
    >>> one_hots(np.array([[7.0, 0.0, 0.0, 1.0], [7.0, 1.0, 0.0, 0.0], [8.0, 0.0, 1.0, 0.0]]))
    [(1, 2, 3)]
    """
    low, high = X.min(axis=0), X.max(axis=0)
    is_high = high == X
    of_two = (low < high) & (is_high | (low == X)).all(axis=0)
    found: list[tuple[int, ...]] = []
    for first in np.flatnonzero(of_two).tolist():
        covered, last = np.zeros(X.shape[0], dtype=bool), first
        if found and first <= found[-1][-1]:
            continue
        while last < X.shape[1] and of_two[last] and not (covered & is_high[:, last]).any():
            covered |= is_high[:, last]
            last += 1
            if covered.all():
                found.append(tuple(range(first, last)))
    return found
