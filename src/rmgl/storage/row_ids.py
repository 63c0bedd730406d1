"""Row ids that files hold: every row needs one, because rows of several files are matched by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rmgl.views.columns import cells_of

NO_VALUE = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "?"]
"""Marks of missing values in any column of a text file or Excel sheet. Others, such as "none", may be a category."""


def checked_ids(ids: Iterable[str | None], place: Callable[[int], str]) -> list[str]:
    """The row ids of a file; a ValueError if one is missing (None) or blank. `place(row)` says where the file holds the id of a row.

    Examples
    --------
    >>> checked_ids(["a", "b"], lambda row: f"row {row}")
    ['a', 'b']
    >>> checked_ids(["a", None], lambda row: f"row {row}")
    Traceback (most recent call last):
    ValueError: row 1 holds no row id (it is empty, or holds a mark of missing values): give every row an id of its own, or remove the row
    """
    found = []
    for row, label in enumerate(ids):
        if label is None or not label.strip():
            raise ValueError(
                f"{place(row)} holds no row id (it is empty, or holds a mark of missing values): give every row an id of its own, or "
                "remove the row"
            )
        found.append(label)
    return found


def without_marks(cells: Iterable[str]) -> Iterable[str | None]:
    """Cells of a text file, with None in place of marks of missing values."""
    return (None if cell.strip() in NO_VALUE else cell for cell in cells)


def texts_of(values: Any) -> Iterable[str | None]:
    """The cells of a pandas column or index as text, with None in place of missing values; texts are not copied."""
    cells = cells_of(values) if values.dtype.kind == "O" else values.astype(str)
    return (None if missing else str(cell) for cell, missing in zip(cells, values.isna(), strict=True))
