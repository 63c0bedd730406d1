"""Row ids in files. Every row needs one, because rows are matched across files by id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rmgl.views.encoding import cells_of

NO_VALUE = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "?"]
"""Markers of missing values in any column of a file. Others, such as "none", may be categories."""


def checked_ids(ids: Iterable[str | None], place: Callable[[int], str]) -> list[str]:
    """Return the row ids of a file, none of which may be missing or blank.

    `place(row)` describes where the file holds the id of a row.

    Examples
    --------
    >>> checked_ids(["a", "b"], lambda row: f"row {row}")
    ['a', 'b']
    >>> checked_ids(["a", None], lambda row: f"row {row}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: row 1 has no id (it is empty or marked as missing): ...
    """
    checked = []
    for row, label in enumerate(ids):
        if label is None or not label.strip():
            raise ValueError(
                f"{place(row)} has no id (it is empty or marked as missing): give every "
                "row its own id, or remove the row"
            )
        checked.append(label)
    return checked


def without_marks(cells: Iterable[str]) -> Iterable[str | None]:
    """Return the cells of a text file, with None in place of markers of missing values."""
    return (None if cell.strip() in NO_VALUE else cell for cell in cells)


def texts_of(values: Any) -> Iterable[str | None]:
    """Return the cells of a pandas column or index as text, uncopied, with None for missing."""
    cells = cells_of(values) if values.dtype.kind == "O" else values.astype(str)
    return (
        None if missing else str(cell) for cell, missing in zip(cells, values.isna(), strict=True)
    )


FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def shown_as_text(identifier: str) -> str:
    """Return an id as it is written to a file.

    Examples
    --------
    >>> [shown_as_text(name) for name in ("cell 1", "=1+1", "'=1+1", "-5", "-x")]
    ['cell 1', "'=1+1", "''=1+1", '-5', "'-x"]
    """
    is_formula = FORMULA.match(identifier) and not NUMBER.fullmatch(identifier)
    return f"'{identifier}" if is_formula else identifier


def read_as_text(cell: str) -> str:
    """Return the id that `shown_as_text` wrote into a cell."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def written_by_rmgl(header: Sequence[str]) -> bool:
    """Return whether column names are those of labels.csv or of the output of `rmgl predict`."""
    return list(header[1:3]) in (["label", "outlier_score"], ["label", "share"])


def name_of_ids(id_column: str | None) -> str:
    """Return the name of the id column in files that rmgl writes.

    It is the name in the input files, unless another column has this name.

    Examples
    --------
    >>> name_of_ids("patient"), name_of_ids(None), name_of_ids("label")
    ('patient', 'id', 'id')
    """
    taken = id_column is None or re.fullmatch(
        r"(label|cluster)(_\d+)?|share|outlier_score", id_column
    )
    return "id" if taken or id_column is None else shown_as_text(id_column)
