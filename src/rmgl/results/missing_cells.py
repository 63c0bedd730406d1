"""Missing cells in a view, and rows with too few cells to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.views.incomplete import listed_rows
from rmgl.views.view import View

FEW_CELLS = 1 / 3
"""Fraction of the columns below which a row is said to have few cells."""
SAMPLED_CELL_ROWS = 2000
"""Number of sampled rows in which pairs without a common column are counted."""


@record
@dataclass(frozen=True)
class Gaps:
    """Missing cells in a view."""

    n_missing: int
    n_cells: int
    """Number of cells in all observed rows of the view."""
    n_rows: int
    """Number of rows with at least one missing cell."""
    n_sparse: int
    """Number of rows with values in fewer than a third of their cells."""
    sparse_rows: str
    """Names of the first rows with values in fewer than a third of their cells."""
    share_apart: float
    """Share of the pairs of rows without a common column, in a sample of the rows."""


def gaps_of(view: View, order: NDArray[np.intp], index: NDArray[Any] | None) -> Gaps | None:
    """Count the missing cells in a view. Returns None if there are none.

    `order` contains the caller's row number for each entity, and `index` the row labels.
    """
    if view.gaps is None:
        return None
    cells = view.table_gaps()
    few = np.flatnonzero((~cells).sum(axis=1) < FEW_CELLS * cells.shape[1])
    rows = view.entities
    named = (
        listed_rows(np.sort(order[few if rows is None else rows[few]]), index) if few.size else ""
    )
    sample = np.sort(np.random.RandomState(0).permutation(len(cells))[:SAMPLED_CELL_ROWS])
    there = (~cells[sample]).astype(np.float32)
    apart = (there @ there.T == 0).sum() / max(1, sample.size * (sample.size - 1))
    return Gaps(
        int(cells.sum()),
        cells.size,
        int(cells.any(axis=1).sum()),
        int(few.size),
        named,
        float(apart),
    )
