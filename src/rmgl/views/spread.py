"""Rows whose squared distances double precision can hold, and that are not all equal."""

from __future__ import annotations

import numpy as np

from rmgl.matrix import Matrix
from rmgl.views.scaling import column_ends

LARGEST_VALUE = 1e70
"""The squared distances of larger values, squared again in the dual, overflow in double precision."""
SMALLEST_SPREAD = 1e-70
"""The squared distances of smaller differences, squared again in the dual, underflow in double precision."""


def check_spread(name: str, X: Matrix, scale: str, n_rows: int | None = None) -> None:
    """Check that the rows of a view are not all equal, and that their squared distances neither overflow nor underflow.

    X may also hold the smallest and the largest entry of every column of a view of `n_rows` rows.
    """
    low, high = column_ends(X)
    largest = max(float(np.abs(high).max()), float(np.abs(low).max()))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"view {name!r} has values up to {largest:.0e}, too large to square in double precision: "
            "use scale='minmax', or divide the view by a constant c (and alpha and beta by c^2)"
        )
    spread = float((high - low).max())
    if spread == 0:
        after = "" if scale == "none" else f" after scale={scale!r}"
        raise ValueError(
            f"view {name!r} is constant{after}: all its {n_rows or X.shape[0]} rows are equal, so it cannot separate clusters; leave it out"
        )
    if spread < SMALLEST_SPREAD:
        raise ValueError(
            f"view {name!r} varies by at most {spread:.0e}, too little to square in double precision: "
            "use scale='minmax', or multiply the view by a constant c (and alpha and beta by c^2)"
        )
