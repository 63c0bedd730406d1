"""What is missing from a view, and where too little is left to compare rows by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.records import record
from rmgl.views.incomplete import named_rows
from rmgl.views.views import Views

FEW_CELLS = 1 / 3
"""Share of the columns below which a row has few cells."""
MOST_ROWS = 2000
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

    def __str__(self) -> str:
        share = self.n_missing / self.n_cells
        return f"{self.n_missing:,} of {self.n_cells:,} cells ({share:.1%}) are missing, in {self.n_rows:,} rows"

    def doubts(self) -> list[str]:
        """Sentences about rows and pairs with too little to compare."""
        found = []
        if self.n_sparse:
            n = "one row has" if self.n_sparse == 1 else f"{self.n_sparse:,} rows have"
            found.append(f"{n} fewer than a third of the cells ({self.sparse_rows} among them), so little is known about the neighbors")
        if self.share_apart > 0:
            share = "less than 0.1%" if self.share_apart < 0.001 else f"{self.share_apart:.1%}"
            found.append(f"{share} of the pairs of rows have no column in common: they get the mean distance of the view")
        return found


def gaps_of(views: Views, view: int, order: NDArray[np.intp], index: NDArray[Any] | None) -> Gaps | None:
    """What is missing from a view (None: no cell is). `order` are the rows of the caller that its entities are, `index` their labels."""
    if views.missing_cells(view) is None:
        return None
    cells = views.table_gaps(view)
    few = np.flatnonzero((~cells).sum(axis=1) < FEW_CELLS * cells.shape[1])
    rows = views.observed_rows(view)
    named = named_rows(np.sort(order[few if rows is None else rows[few]]), index) if few.size else ""
    sample = np.sort(np.random.RandomState(0).permutation(len(cells))[:MOST_ROWS])
    there = (~cells[sample]).astype(np.float32)
    apart = (there @ there.T == 0).sum() / max(1, sample.size * (sample.size - 1))
    return Gaps(int(cells.sum()), cells.size, int(cells.any(axis=1).sum()), int(few.size), named.rsplit(" ", 1)[0], float(apart))
