"""Describe how files would be read, without fitting: `rmgl inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.storage.paths import check_inputs
from rmgl.storage.readers import OF_ALL_VIEWS, read_views, tables_in
from rmgl.storage.selection import Selection
from rmgl.storage.text_file import Table
from rmgl.storage.text_format import kind_of
from rmgl.views.check_view import is_table
from rmgl.views.column_kinds import likely_ids
from rmgl.views.view import View
from rmgl.views.views import Views

IDS_SHOWN = 3
"""Number of row ids shown."""


def inspect_file(path: Path, selection: Selection) -> list[str]:
    """Describe how a file would be read: rows, ids, column types, missing cells, scaling."""
    check_inputs([path])
    if kind_of(path) in OF_ALL_VIEWS:
        views = read_views(
            [path], selection.id_column, least=0, everyone=False, selection=selection
        )
        parts = [in_view(view.name, describe(view, views.index)) for view in views]
        return [f"{path}: {len(views.names)} views", *(line for part in parts for line in part)]
    tables = tables_in(path, selection)
    parts = [in_view(table.name, describe_table(table)) for table in tables]
    return [f"{path}: {tables[0].how}", *(line for part in parts for line in part)]


def in_view(name: str, lines: Sequence[str]) -> list[str]:
    """Indent the description of a view under its name."""
    return [f"  view {name!r}", *(f"    {line}" for line in lines)]


def describe_table(table: Table) -> list[str]:
    """Describe the view of a table, with notes on possible problems."""
    values, notes = table.values, []
    columns = () if is_table(values) or table.columns is None else (table.columns,)
    if is_table(values):
        id_names = likely_ids(values)
        notes += [
            f"column {name!r} looks like row ids or free text: if it identifies the rows, use "
            f"--id {name}; otherwise it is left out"
            for name in id_names
        ]
        values = values[[name for name in values.columns if str(name) not in id_names]]
    lines = []
    if values.shape[1]:
        index = None if table.ids is None else np.array(table.ids, dtype=object)
        views = Views.of(
            {table.name: values}, least=0, everyone=False, index=index, columns=columns
        )
        lines = describe(views[0], views.index)
        if views.recognized:
            notes.append(
                "looks like a network (square, symmetric, mostly zeros): if it is one, pass its "
                "edge list with --network"
            )
    else:
        notes.append("all columns are row ids or free text: the table cannot be a view")
    ids = table.ids or []
    if len(set(ids)) < len(ids):
        repeated = next(label for at, label in enumerate(ids) if label in ids[:at])
        notes.append(f"row id {repeated!r} occurs more than once: make row ids unique")
    return [*lines, *(f"note: {note}" for note in notes)]


def describe(view: View, index: Any) -> list[str]:
    """Describe one view, whose rows may have labels."""
    names, n_gaps = view.columns, view.n_gaps
    lines = [f"{view.n_rows:,} rows, {named_rows(index)}"]
    if view.encoding is None:
        lines.append(
            f"{view.matrix.shape[1]:,} columns, all "
            f"numeric{'' if names is None else f': {some(names)}'}"
        )
    else:
        lines += view.encoding.sentences()
    if n_gaps:
        cells = view.table_gaps()
        n_rows = int(cells.any(axis=1).sum())
        lines.append(
            f"missing: {n_gaps:,} of {cells.size:,} cells ({n_gaps / cells.size:.1%}), in "
            f"{n_rows:,} {'row' if n_rows == 1 else 'rows'}"
        )
    if view.n_missing:
        have = (
            "row has no value, so its entity is"
            if view.n_missing == 1
            else "rows have no value, so their entities are"
        )
        lines.append(f"missing: {view.n_missing:,} {have} treated as missing from this view")
    if view.n_own:
        scale, reason = view.choose_scale("auto")
        lines.append(f"scale: {scale} ({reason})")
    return lines


def named_rows(index: Any) -> str:
    return "no row ids" if index is None else f"row ids {some(list(map(str, index)))}"


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:IDS_SHOWN]) + (", ..." if len(names) > IDS_SHOWN else "")
