"""Read tables from .csv and .tsv files, with or without a line of column names.

Python's csv module finds the lines and their fields, so that errors can name them; pandas turns columns into numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.storage.notation import Notation, find_notation, in_some_notation, is_missing
from rmgl.storage.raw_text import kind_of, read_characters
from rmgl.storage.row_ids import NO_VALUE, checked_ids, without_marks
from rmgl.storage.spreadsheet import read_as_text, written_by_rmgl

Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""
FIRST_LINES = 200
"""Lines from which the separator of the fields is found, and whether the first line holds column names."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MOSTLY = 0.5
"""Share of the cells of a column that are numbers from which the others are taken for mistakes."""
LONG = 1 << 20
"""Characters of a file from which pandas' pyarrow engine is tried."""
FEW_COLUMNS = 3
"""With up to this many columns, the line 0, 1, 2 can also be a row of data."""


@dataclass(frozen=True)
class Parts:
    """What a file holds."""

    values: Any
    """An array or sparse matrix of numbers, or a pandas table with columns of several kinds."""
    ids: list[str] | None = None
    columns: tuple[str, ...] | None = None
    how: str = ""
    """How the file was read, for people."""


def read_text(path: Path, id_column: str | None) -> Parts:
    """Read a table whose fields are separated by commas, semicolons, tabs or vertical bars, with or without a line of column names."""
    text, encoding = read_characters(path)
    separator = find_separator(path, text)
    check_no_nul(text, separator)
    first_lines = list(islice(lines_of(text, separator), FIRST_LINES))
    while first_lines and not first_lines[-1][1]:
        first_lines.pop()
    if not first_lines:
        raise ValueError("the file is empty: it needs one line of numbers per row")
    header = find_header(first_lines, id_column)
    id_place = find_id(header, id_column)
    width = len(first_lines[0][1])
    cells, n_rows = scan_lines(text, separator, width, header is not None, id_place)
    ids = checked_ids(without_marks(cells), lambda row: f"line {line_of_row(text, separator, row + 1)}, column {id_column!r}")
    if header is not None and written_by_rmgl(header):
        ids = [read_as_text(cell) for cell in ids]
    places = [place for place in range(width) if place != id_place]
    names = None if header is None else tuple(header[place] for place in places)
    sheet = Sheet(text, separator, width, header is not None, n_rows)
    columns, notation = sheet.columns(places)
    in_encoding = "" if encoding == "UTF-8" else f" in {encoding}"
    how = f"text{in_encoding} separated by {SEPARATORS[separator]}" + ("" if notation == Notation() else f", numbers with {notation}")
    return Parts(gathered(columns, names, n_rows), None if id_place is None else ids, names, how)


def gathered(columns: Sequence[Any], names: Sequence[str] | None, n_rows: int) -> Any:
    """An array, if all columns are numbers, or else a table."""
    import pandas as pd

    if all(isinstance(column, np.ndarray) for column in columns):
        return np.column_stack(columns) if columns else np.empty((n_rows, 0))
    frame = pd.concat([pd.Series(column) for column in columns], axis=1)
    frame.columns = [f"column {place + 1}" for place in range(len(columns))] if names is None else list(names)
    return frame


def lines_of(text: str, separator: str) -> Iterator[Line]:
    """The lines of a text with their fields; a line in quotes may span several lines of the file, of which the last counts."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for row in reader:
        yield reader.line_num, row


def line_of_row(text: str, separator: str, row: int) -> int:
    """The line of the file in which a row ends; row 0 is the first, with or without column names."""
    line, _ = next(islice(lines_of(text, separator), row, None))
    return line


def find_separator(path: Path, text: str) -> str:
    """What separates the fields: tabs in a .tsv file, else what divides all of the first lines into equally many of them."""
    if kind_of(path) == ".tsv":
        return "\t"
    start = text[: 1 << 16]
    for separator in (";", "\t", "|"):
        if separator in start.split("\n", 1)[0]:
            widths = {len(row) for _, row in islice(lines_of(start, separator), 20) if row}
            comma_widths = {len(row) for _, row in islice(lines_of(start, ","), 20) if row}
            if len(widths) == 1 and min(widths) > 1 and (len(comma_widths) > 1 or min(widths) >= max(comma_widths) or separator == ";"):
                return separator
    return ","


def check_no_nul(text: str, separator: str) -> None:
    """Raise a ValueError with the place of a NUL character."""
    if "\0" not in text:
        return
    for line, row in lines_of(text, separator):
        for place, cell in enumerate(row):
            if "\0" in cell:
                raise ValueError(f"line {line}, column {place + 1} holds a NUL character, which is not text: write the file again")
    raise ValueError("it holds a NUL character, which is not text: write the file again")


def scan_lines(text: str, separator: str, width: int, has_header: bool, id_place: int | None) -> tuple[list[str], int]:
    """Check that all lines have as many fields as the first, but empty ones at the end; return the row ids and the number of rows."""
    ids, n_rows, empty = [], 0, None
    for line, row in islice(lines_of(text, separator), int(has_header), None):
        if not row:
            empty = line if empty is None else empty
            continue
        if empty is not None or len(row) != width:
            found = (empty, 0) if empty is not None else (line, len(row))
            raise ValueError(
                f"line {found[0]} has {found[1]} fields but the first line has {width}: give every line the same number of fields"
            )
        n_rows += 1
        if id_place is not None:
            ids.append(row[id_place])
    return ids, n_rows


@dataclass(frozen=True)
class Sheet:
    """The text of a table whose lines all have the same number of fields."""

    text: str
    separator: str
    width: int
    has_header: bool
    n_rows: int

    def columns(self, places: Sequence[int]) -> tuple[list[Any], Notation]:
        """The columns at these places: an array of floats for each that holds numbers, else the texts or truth values; and the notation."""
        if not places or self.n_rows == 0:
            return [np.empty(0)] * len(places), Notation()
        frame = self._parsed(places)
        kinds = {place: frame[place].dtype.kind for place in places}
        unclear = [place for place in places if kinds[place] == "O"]
        notation = find_notation(
            (cell for place in unclear for cell in frame[place].dropna().unique() if isinstance(cell, str)), self.separator == ";"
        )
        if notation.decimal_comma:  # pandas may have taken 1.234 for a number below two
            frame = self._parsed(places, texts=True)
            unclear = list(places)
        return [self._column(frame[place], place, notation) if place in unclear else plain(frame[place]) for place in places], notation

    def _parsed(self, places: Sequence[int], texts: bool = False) -> Any:
        """The table as pandas reads it."""
        import pandas as pd

        options: dict[str, Any] = {
            "sep": self.separator,
            "header": 0 if self.has_header else None,
            "names": list(range(self.width)),
            "usecols": list(places),
            "keep_default_na": False,
            "na_values": NO_VALUE,
            "encoding_errors": "strict",
        }
        if len(self.text) >= LONG and not texts and find_spec("pyarrow") is not None:
            with suppress(Exception):  # what it cannot read, the other engine can
                frame = pd.read_csv(io.BytesIO(self.text.encode()), engine="pyarrow", **options)
                if len(frame) == self.n_rows and all(kind.kind in "iuf" for kind in frame.dtypes):
                    return frame
        kinds = {"dtype": str} if texts else {"float_precision": "round_trip", "low_memory": False}
        frame = pd.read_csv(io.StringIO(self.text), skip_blank_lines=False, **options, **kinds)
        return frame.iloc[: self.n_rows]

    def _column(self, values: Any, place: int, notation: Notation) -> Any:
        """The numbers of a column of texts, or the texts; a ValueError if most of them are numbers, and one is not."""
        cells = [None if missing else cell for cell, missing in zip(values.tolist(), values.isna().tolist(), strict=True)]
        if all(cell is None or isinstance(cell, bool) for cell in cells):
            return truths(cells)
        known = {cell: notation.number(str(cell)) for cell in set(cells) if cell is not None}
        present = [cell for cell in cells if cell is not None and not is_missing(str(cell))]
        n_numbers = sum(known[cell] is not None for cell in present)
        if n_numbers == len(present):
            return np.array([np.nan if cell is None or known[cell] is None else known[cell] for cell in cells], dtype=np.float64)
        if n_numbers < MOSTLY * len(present):
            return cells
        bad = next(cell for cell in present if known[cell] is None)
        raise ValueError(
            f"line {self._line_of(str(bad), place)}, column {place + 1} holds {described(str(bad))} where a number is needed, because most "
            "cells of this column are numbers: correct the cell or leave it empty, write categories with letters in all cells, or name the "
            "column of row ids with --id"
        )

    def _line_of(self, cell: str, place: int) -> int:
        """The first line with this cell at this place."""
        rows = islice(lines_of(self.text, self.separator), int(self.has_header), None)
        return next(line for line, row in rows if row and row[place] == cell)


def plain(values: Any) -> Any:
    """A column that pandas has read, as an array of floats or as truth values."""
    return values.tolist() if values.dtype.kind == "b" else values.to_numpy(dtype=np.float64)


def truths(cells: Sequence[Any]) -> Any:
    """Truth values, or an array of NaN if there is none."""
    return list(cells) if any(cell is not None for cell in cells) else np.full(len(cells), np.nan)


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
    numbers = [in_some_notation(cell) for cell in first]
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


def is_whole(text: str) -> bool:
    return text.strip().isdecimal()


def is_count(cells: Sequence[str]) -> bool:
    """Whether the cells are 0, 1, 2, ..., as pandas numbers columns without names."""
    return len(cells) > 1 and list(cells) == [str(place) for place in range(len(cells))]


def is_name(text: str) -> bool:
    return any(letter.isalpha() for letter in text) and not is_missing(text)


def described(text: str) -> str:
    """Return a cell as it is shown in error messages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if text.strip() else "nothing"
