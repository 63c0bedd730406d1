"""Read tables of numbers from .csv and .tsv files, with or without a line of column names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.storage.spreadsheet import read_as_text, written_by_rmgl

Parts = tuple[NDArray[Any], list[str] | None, tuple[str, ...] | None]
"""Values, ids and column names of a file."""
Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""

MISSING = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "<na>", "null", "none", "nil", "missing"}
"""Common marks of missing values, in lower case."""
FEW_COLUMNS = 3
"""With up to this many columns, the line 0, 1, 2 can also be a row of data."""


def read_text(path: Path, id_column: str | None) -> Parts:
    """Read numbers separated by commas or tabs, with or without a line of column names."""
    lines = read_lines(path)
    first = lines[0][1]
    header = find_header(lines, id_column)
    id_place = find_id(header, id_column)
    rows = lines[1:] if header else lines
    for line, row in rows:
        if len(row) != len(first):
            raise ValueError(
                f"line {line} has {len(row)} fields but the first line has {len(first)}: give every line the same number of fields"
            )
    columns = [place for place in range(len(first)) if place != id_place]
    values = np.array([to_numbers(row, line, columns) for line, row in rows])
    ids = None if id_place is None else [row[id_place] for _, row in rows]
    if ids is not None and header is not None and written_by_rmgl(header):
        ids = [read_as_text(cell) for cell in ids]
    names = None if header is None else tuple(header[place] for place in columns)
    return values.reshape(len(rows), len(columns)), ids, names


def read_lines(path: Path) -> list[Line]:
    """Read the lines of a file, without empty lines at its end."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=delimiter)
            lines = [(reader.line_num, row) for row in reader]
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not text in UTF-8: save the file in that encoding") from error
    for line, row in lines:
        for place, cell in enumerate(row):
            if "\0" in cell:
                raise ValueError(f"line {line}, column {place + 1} holds a NUL character, which is not text: write the file again")
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise ValueError("the file is empty: it needs one line of numbers per row")
    return lines


def find_header(lines: Sequence[Line], id_column: str | None) -> list[str] | None:
    """Return the column names in the first line, or None if it is a row of numbers.

    - A line with the name of the id column holds names, and a line of numbers only is a row. The only exception is 0, 1, 2, ..., which
      pandas writes instead of names; with up to three columns that all contain whole numbers, it can also be a row.
    - A line without numbers holds names if one cell has a letter, or if there are several cells, all different, and none marks a missing
      value.
    - A line of numbers and other cells holds names if at least half of the cells have letters and do not mark missing values, the numbers
      are whole, and all cells are different.

    Any other line may be a row with a damaged cell and raises a ValueError: treated as names, the row would be silently lost.
    """
    first = lines[0][1]
    numbers = [is_number(cell) for cell in first]
    if id_column in first or (id_column is not None and not all(numbers)):  # `find_id` raises an error if the name is missing
        return first
    if all(numbers):
        if not is_count(first):
            return None
        columns = zip(*(row for _, row in lines[1:] if len(row) == len(first)), strict=True)
        if len(lines) > 1 and len(first) <= FEW_COLUMNS and all(any(map(is_whole, column)) for column in columns):
            raise ValueError(
                f"line 1 holds {','.join(first)}, which may be a row or the column numbers that pandas writes: give the columns names"
            )
        return first
    names = [is_name(cell) for cell in first]
    different = len(set(first)) == len(first)
    if not any(numbers):
        if any(names) or (len(first) > 1 and different and not any(map(is_missing, first))):
            return first
        raise ValueError(unclear(first, 0, "where a number or a column name is needed"))
    if not first[0].strip() and is_count(first[1:]):  # pandas writes its row index and column numbers
        return first
    whole = all(is_whole(cell) for cell, number in zip(first, numbers, strict=True) if number)
    odd = [place for place in range(len(first)) if not numbers[place] and not names[place]]
    if odd or 2 * sum(numbers) > len(first):
        raise ValueError(unclear(first, odd[0] if odd else numbers.index(False), "among numbers"))
    if not whole or not different:
        raise ValueError(unclear(first, numbers.index(True), "among names"))
    return first


def unclear(first: Sequence[str], place: int, among: str) -> str:
    """Return the error for a first line that is neither a row nor a line of column names."""
    return (
        f"line 1, column {place + 1} holds {described(first[place])} {among}, so it is unclear whether the line is a row or holds column "
        "names: correct the cell, or add a line of column names that are not numbers (and name a column of row ids with --id)"
    )


def find_id(header: Sequence[str] | None, id_column: str | None) -> int | None:
    """Return the position of the id column, or None if none was requested."""
    if id_column is not None:
        if header is None:
            raise ValueError(f"no column {id_column!r}, because the file has no line of column names: add one, or leave out --id")
        if id_column not in header:
            raise ValueError(
                f"no column {id_column!r} (columns: {', '.join(header[:8])}{', ...' if len(header) > 8 else ''}): choose another --id"
            )
        if list(header).count(id_column) > 1:
            raise ValueError(f"column {id_column!r} appears more than once: rename the one that does not hold the row ids")
        return list(header).index(id_column)
    if header and not header[0].strip():
        raise ValueError(
            "the first column has no name and looks like a row index: leave it out (index=False), or give it a name and use --id"
        )
    return None


def is_number(text: str) -> bool:
    """Whether a cell is a number; unlike in Python, 1_000 is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def is_whole(text: str) -> bool:
    return text.strip().isdecimal()


def is_count(cells: Sequence[str]) -> bool:
    """Whether the cells are 0, 1, 2, ..., as pandas numbers columns without names."""
    return len(cells) > 1 and list(cells) == [str(place) for place in range(len(cells))]


def is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING


def is_name(text: str) -> bool:
    return any(letter.isalpha() for letter in text) and not is_missing(text)


def to_numbers(row: Sequence[str], line: int, columns: Sequence[int]) -> list[float]:
    """Return the numbers of one line; in a line without any, the entity is missing and all are NaN."""
    if len(columns) > 1 and not any(row[place].strip() for place in columns):
        return [np.nan] * len(columns)
    return [to_number(row[place], line, place) for place in columns]


def to_number(text: str, line: int, place: int) -> float:
    if is_number(text):
        return float(text)
    raise ValueError(
        f"line {line}, column {place + 1} holds {described(text)} where a number is needed: correct the cell, "
        "or name the column of row ids with --id"
    )


def described(text: str) -> str:
    """Return a cell as it is shown in error messages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if text.strip() else "nothing"
