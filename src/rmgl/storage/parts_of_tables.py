"""Select the parts of tables that become views: chosen columns, no empty rows, no free text."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.matrix import Mask
from rmgl.storage.selection import Selection, shown
from rmgl.storage.text_file import Table, rows_at
from rmgl.views.check_view import is_table
from rmgl.views.column_kinds import likely_ids

logger = logging.getLogger("rmgl")


def without_empty_rows(found: list[tuple[Path, Table]]) -> list[tuple[Path, Table]]:
    """Leave out rows without ids that are empty in all files, and log them."""
    tables = [table for _, table in found]
    sizes = {table.values.shape[0] for table in tables}
    if len(sizes) > 1 or any(table.ids or sparse.issparse(table.values) for table in tables):
        return found
    empty = np.all([is_empty(table.values) for table in tables], axis=0)
    if empty.all() or not empty.any():
        return found
    places = shown([str(row + 1) for row in np.flatnonzero(empty)])
    logger.info("rows without any value are left out (%d): row %s", empty.sum(), places)
    return [
        (path, replace(table, values=rows_at(table.values, (~empty).tolist())))
        for path, table in found
    ]


def is_empty(values: Any) -> Mask:
    """Return which rows of an array or table have no value."""
    if not is_table(values) and (values.ndim != 2 or values.dtype.kind != "f"):
        return np.zeros(values.shape[0], dtype=bool)
    missing = values.isna().to_numpy() if is_table(values) else np.isnan(values)
    rows: Mask = missing.all(axis=1)
    return rows


def without_free_text(found: list[tuple[Path, Table]]) -> list[tuple[Path, Table]]:
    """Leave out columns of strings that are nearly all different, and log them.

    Without ids, such a column in several files may identify their rows. In that case, a ValueError
    asks for the id column.
    """
    texts = [likely_ids(table.values) if is_table(table.values) else [] for _, table in found]
    names = [name for some in texts for name in some]
    common = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if common is not None and all(table.ids is None for _, table in found):
        raise ValueError(
            f"column {common!r} seems to contain row ids and occurs in several files: use --id "
            f"{common} to match rows by it, or --drop {common} to leave it out"
        )
    kept = [(path, without(table, some)) for (path, table), some in zip(found, texts, strict=True)]
    for (path, _), some in zip(found, texts, strict=True):
        for name in some:
            logger.info(
                "%s: column %r is left out because its values are nearly all different; if they "
                "identify the rows, use --id %s",
                path,
                name,
                name,
            )
    return kept


def split(table: Table, selection: Selection) -> list[Table]:
    """Split a table into its parts that become separate views."""
    columns = table.columns or ()
    owners = [selection.view_of(column) for column in columns]
    parts = []
    for name in selection.views:
        places = [place for place, owner in enumerate(owners) if owner == name]
        names = tuple(columns[place] for place in places)
        part = columns_at(table.values, places)
        parts.append(replace(table, values=part, columns=names, name=name))
    return parts


def selected(table: Table, selection: Selection) -> Table:
    """Return the table with the selected columns."""
    if not (selection.columns or selection.drop or selection.views):
        return table
    if table.columns is None:
        raise ValueError("its columns have no names: leave out --columns, --drop and --view")
    names = table.columns
    places = [place for place, name in enumerate(names) if selection.keeps(name)]
    return replace(
        table,
        values=columns_at(table.values, places),
        columns=tuple(names[place] for place in places),
        left_out=(*table.left_out, *(name for name in names if not selection.keeps(name))),
    )


def without(table: Table, names: Sequence[str]) -> Table:
    """Return the table without the named columns."""
    if not names:
        return table
    given = [str(name) for name in table.values.columns]
    places = [place for place, name in enumerate(given) if name not in names]
    if not places:
        raise ValueError(
            f"view {table.name!r}: all columns are row ids or free text ({shown(names)}): "
            "leave the file out"
        )
    kept = tuple(given[place] for place in places)
    return replace(table, values=columns_at(table.values, places), columns=kept)


def columns_at(values: Any, places: Sequence[int]) -> Any:
    """Return the selected columns of a table, as an array if all of them are numeric."""
    if not is_table(values):
        return values[:, places]
    some = values.iloc[:, places]
    is_plain = some.select_dtypes(exclude=["number"]).shape[1] == 0
    return some.to_numpy(dtype=np.float64, na_value=np.nan) if is_plain else some
