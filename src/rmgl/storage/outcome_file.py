"""Read a file of columns that are not used in the fit, and write how clusters differ in them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.results.associations import Associations
from rmgl.results.outcomes import column_of_ids, outcomes_of
from rmgl.results.used_columns import check_unused
from rmgl.storage.paths import OutcomeFile
from rmgl.storage.readers import read_table
from rmgl.storage.row_ids import shown_as_text
from rmgl.storage.selection import Selection, alternatives
from rmgl.views.check_view import is_table
from rmgl.views.encoding import cells_of, level_text
from rmgl.views.views import Views


def read_outcome(path: Path, id_column: str | None, index: NDArray[Any] | None) -> Any:
    """Read a table with its row ids as row labels.

    If the entities of a fit have ids (`index`) and no id column is named, the first column
    whose values are mostly these ids is used.
    """
    import pandas as pd

    found = read_table(path, Selection(id_column))
    values = found.values.toarray() if sparse.issparse(found.values) else found.values
    if not is_table(values):
        names = found.columns or [f"column {place + 1}" for place in range(values.shape[1])]
        values = pd.DataFrame(values, columns=list(names))
    if found.ids is not None:
        return values.set_axis(np.array(found.ids, dtype=object), axis=0)
    if index is None:
        return values
    column = column_of_ids(values, index)
    if column is None:
        raise ValueError(
            f"{path}: the rows of the views have ids, but no column of this file contains them: "
            "specify the column of row ids with --id"
        )
    ids = np.array([level_text(cell) for cell in cells_of(values[column])], dtype=object)
    return values.drop(columns=column).set_axis(ids, axis=0)


def check_outcome(table: Any, given: OutcomeFile, views: Views) -> None:
    """Raise, before the fit, the errors that `associate` would raise after it."""
    try:
        outcomes = outcomes_of(table, views.index, views.n_rows, given.time, given.event)
        check_unused(views, outcomes)
    except ValueError as error:
        raise ValueError(f"{given.path}: {error}") from error
    names = [str(name) for name in table.columns]
    for name in given.color:
        if name not in names:
            raise ValueError(
                f"{given.path}: no column {name!r}{alternatives(name, names, '--color ')}"
            )


def colors_of(table: Any, given: OutcomeFile, index: NDArray[Any] | None) -> Any:
    """Return the columns the page can use to color the entities, with one value per entity."""
    columns = table[list(given.color)]
    columns = columns if index is None else columns.reindex(index)
    texts = columns.select_dtypes(exclude=["number", "datetime"])
    return columns.assign(**texts.astype(object).where(texts.notna(), "unknown"))


def write_associations(path: Path, associations: Associations) -> None:
    """Write a CSV file with one row per column, the strongest evidence first."""
    table = associations.as_dict()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(map(_written, row))


def _written(value: Any) -> Any:
    """Return a cell of the file: numbers with six digits, empty for NaN."""
    if isinstance(value, float):
        return f"{value:.6g}" if value == value else ""
    return shown_as_text(value) if isinstance(value, str) else value
