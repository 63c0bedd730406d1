"""A few leading columns of rows, whose distances are lower bounds of the distances of the rows.

Rows are rotated to their principal axes; the first r of them are kept, and the length of what is left is appended:

    |x - y|^2  >=  |V'x - V'y|^2 + (|x - VV'x| - |y - VV'y|)^2            V: r orthonormal columns

which holds for any V. It pays where few axes hold most of the variance, as in images: then hardly a pair needs all columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEADING_ERROR = 1e-7
"""Error of the appended length, relative to that of the longest row: a square root of a difference that may have lost all digits."""
FEWEST_COLUMNS = 64
"""Columns below which products with all of them are as fast."""
WIDTHS = (16, 32, 64, 128)
"""Numbers of axes to choose from."""
SAMPLE, QUERIES = 2000, 200
"""Rows from which axes, and the share of pairs that they do not rule out, are estimated."""
MEASURING = 12.0
"""Time for one column of a pair that is measured alone, relative to that of a column of a product of tiles."""
LEAST_GAIN = 1.3
"""How many times faster a search must be expected to be for its rows to be rotated."""


def leading_columns(X: Floats, norms: Floats) -> Floats | None:
    """The leading columns of centered rows, and the length of the rest; None if a search with all columns is expected to be as fast."""
    axes = leading_axes(X.shape, lambda rows: X[rows])
    return None if axes is None else projected(X, norms, axes)


def leading_axes(shape: tuple[int, int], take: Callable[[NDArray[np.intp]], Floats]) -> Floats | None:
    """The axes of leading columns, from a sample of the centered rows, which `take` returns; None if they are expected not to pay."""
    n, width = shape
    if width < FEWEST_COLUMNS or n < 2 * SAMPLE:
        return None
    sample = take(np.random.RandomState(0).permutation(n)[:SAMPLE])
    values, axes = np.linalg.eigh(sample.T @ sample)
    axes = np.ascontiguousarray(axes[:, np.argsort(-values)[: max(WIDTHS)]])
    chosen = cheapest_width(sample, axes)
    return None if chosen is None else axes[:, :chosen]


def projected(X: Floats, norms: Floats, axes: Floats) -> Floats:
    """The rows in orthonormal axes, and the length of what they leave."""
    out = np.empty((X.shape[0], axes.shape[1] + 1))
    out[:, :-1] = X @ axes
    out[:, -1] = np.sqrt(np.maximum(norms - np.square(out[:, :-1]).sum(axis=1), 0.0))
    return out


def cheapest_width(sample: Floats, axes: Floats) -> int | None:
    """The number of axes with which a search takes the least time, by the share of the pairs of a sample that they do not rule out."""
    norms = np.square(sample).sum(axis=1)
    few = sample[:QUERIES]
    distances = norms[:QUERIES, None] + norms - 2 * few @ sample.T
    distances[np.arange(len(few)), np.arange(len(few))] = np.inf
    nearest = distances.min(axis=1, keepdims=True)  # in all rows, which are more, the last listed neighbor is hardly farther
    width = sample.shape[1]
    costs: dict[int, float] = {}
    for count in WIDTHS:
        if count < width / 2:
            rows = projected(sample, norms, axes[:, :count])
            bounds = norms[:QUERIES, None] + norms - 2 * rows[:QUERIES] @ rows.T
            costs[count] = count + 3 + MEASURING * width * float((bounds <= nearest).mean())
    best = min(costs, key=lambda count: costs[count], default=None)
    return best if best is not None and LEAST_GAIN * costs[best] < width + 2 else None
