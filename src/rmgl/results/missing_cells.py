"""What is missing from a view, and where too little is left to compare rows by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.views.incomplete import listed_rows
from rmgl.views.view import View

FEW_CELLS = 1 / 3
"""Share of the columns below which a row has few cells."""
SAMPLED_CELL_ROWS = 2000
"""Rows of a sample in which pairs without a common column are counted."""


@record
@dataclass(frozen=True)
class Gaps:
    """The missing cells of a view."""

    n_missing: int
    n_cells: int
    """All cells of the rows that the view has."""
    n_rows: int
    """Rows that lack a cell."""
    n_sparse: int
    """Rows with fewer than a third of their cells,"""
    sparse_rows: str
    """and the first of them, by name."""
    share_apart: float
    """Share of the pairs of rows that have no column in common, in a sample of the rows."""


def gaps_of(view: View, order: NDArray[np.intp], index: NDArray[Any] | None) -> Gaps | None:
    """What is missing from a view (None: no cell is). `order` are the rows of the caller that its
    entities are, `index` their labels.
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
