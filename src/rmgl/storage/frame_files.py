"""Read tables with pandas: Parquet and Feather (Arrow) files, and sheets of Excel workbooks."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.archive.array_file import WAY_OUT, Refused, detail_of
from rmgl.extras import not_installed
from rmgl.matrix import Indices
from rmgl.running.threads import require_memory
from rmgl.storage.column_files import read_feather, read_parquet
from rmgl.storage.row_ids import NO_VALUE, checked_ids, texts_of
from rmgl.storage.selection import Selection, alternatives
from rmgl.storage.text_file import MOSTLY, Table, note_empty
from rmgl.storage.text_format import described, find_id

EXCEL_BYTES = 10
"""Bytes of memory per byte of an unpacked Excel sheet."""


def read_frame(path: Path, wanted: Selection) -> Table:
    """Read a Parquet or Feather (Arrow) file."""
    id_column = wanted.id_column
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            not_installed("Parquet, Feather and Arrow files need", "pyarrow")
        ) from error
    try:
        frame = read_parquet(path) if path.suffix.lower() == ".parquet" else read_feather(path)
    except (MemoryError, Refused):
        raise
    except Exception as error:  # pandas and pyarrow raise errors of any kind for damaged files
        raise ValueError(
            f"not a readable {path.suffix.lower()} file{detail_of(error)}: write it again from "
            "the original table"
        ) from error
    if id_column is not None and id_column in frame.index.names:
        frame = frame.reset_index(level=id_column)
    elif id_column is None and not (
        frame.index.dtype.kind in "iu" and np.array_equal(frame.index, np.arange(len(frame)))
    ):
        named = f"--id {frame.index.name}" if frame.index.name else "a named index and --id"
        raise ValueError(
            f"its rows have labels, which would be lost: use {named}, or remove them with "
            "reset_index(drop=True)"
        )
    return table_of(
        frame,
        id_column,
        f"a table ({path.suffix.lower()})",
        lambda row: f"row {row}, column {id_column!r}",
    )


def read_excel(path: Path, wanted: Selection) -> Table:
    """Read the requested sheet of an Excel workbook, or else the first one.

    The first row of the sheet holds column names.
    """
    id_column = wanted.id_column
    try:
        import openpyxl  # noqa: F401
        import pandas as pd
    except ImportError as error:
        raise ImportError(not_installed("Excel files need", "openpyxl")) from error
    try:
        with zipfile.ZipFile(path) as archive:
            require_memory(
                EXCEL_BYTES * sum(info.file_size for info in archive.infolist()),
                f"{path}: its sheets",
                WAY_OUT,
            )
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = list(map(str, book.sheet_names))
            sheet = wanted.sheets[0] if wanted.sheets else sheets[0]
            if sheet not in sheets:
                raise Refused(f"no sheet {sheet!r}{alternatives(sheet, sheets, '--sheet ')}")
            frame = pd.read_excel(
                book,
                sheet,
                dtype=None if id_column is None else {id_column: str},
                keep_default_na=False,
                na_values=NO_VALUE,
            )
    except (MemoryError, Refused):
        raise
    except Exception as error:  # openpyxl raises errors of any kind for damaged files
        raise ValueError(f"not a readable .xlsx file{detail_of(error)}: save it again") from error
    guessed = len(sheets) > 1 and not wanted.sheets
    more = f", the first of {len(sheets)}" if guessed else ""
    lines = np.arange(len(frame)) + 2
    if id_column is not None:
        empty = frame.isna().all(axis=1).to_numpy()
        note_empty(path, lines[empty].tolist())
        frame, lines = frame[~empty].reset_index(drop=True), lines[~empty]
    names = [str(name) for name in frame.columns]
    left_out = tuple(name for name in names if name != id_column and not wanted.keeps(name))
    frame = frame.loc[:, [name not in left_out for name in names]]
    parts = table_of(
        frame,
        id_column,
        f"Excel, sheet {sheet!r}{more}",
        lambda row: f"line {lines[row]}, column {id_column!r}",
    )
    check_cells(frame, id_column, lines)
    return replace(parts, left_out=left_out)


def check_cells(frame: Any, id_column: str | None, lines: Indices) -> None:
    """Raise a ValueError for the first cell of a sheet that is text in a numeric column."""
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if str(name) == id_column or column.dtype != np.dtype(object):
            continue
        present = [
            (row, cell)
            for row, cell in enumerate(column.tolist())
            if cell is not None and cell == cell
        ]
        texts = [(row, cell) for row, cell in present if isinstance(cell, str)]
        n_numbers = sum(
            isinstance(cell, int | float) and not isinstance(cell, bool) for _, cell in present
        )
        if texts and n_numbers >= MOSTLY * len(present):
            row, cell = texts[0]
            raise ValueError(
                f"line {lines[row]}, column {place + 1} contains {described(cell)}, but most cells "
                "in this column are numbers: correct or clear the cell, specify the column with "
                "--id if it contains row ids, or leave the column out with --drop"
            )


def table_of(frame: Any, id_column: str | None, how: str, id_place: Callable[[int], str]) -> Table:
    """Return a pandas table as a `Table`, with an array if all columns are numeric.

    `id_place(row)` describes where the id of a row is.
    """
    place = find_id([str(column) for column in frame.columns], id_column)
    ids = None if place is None else checked_ids(texts_of(frame.iloc[:, place]), id_place)
    others = frame if place is None else frame.drop(columns=frame.columns[place])
    if others.select_dtypes(exclude=["number", "bool"]).shape[1] == 0:
        values = others.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = others.reset_index(drop=True)
    return Table(values, ids, tuple(map(str, others.columns)), how)
