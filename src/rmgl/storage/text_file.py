"""Read tables from .csv and .tsv files. The rules, in the order in which they apply:

1. Text: decompressed according to the suffix; UTF-8 or UTF-16 if a byte order mark says so, else
   UTF-8, else Windows-1252 (`read_characters`).
2. Fields are separated by tabs in .tsv files. In other files, the separator is the first of
   semicolon, tab and vertical bar that splits the first 20 lines into equal numbers of fields. A
   tab or a vertical bar is not chosen if commas also do this and give more fields. If none is
   chosen, the separator is a comma. Quoted fields may contain line breaks.
3. All lines have as many fields as the first. Empty lines are allowed only at the end.
4. The first line holds column names or is a row (`find_header`).
5. Numbers have decimal points, or decimal commas if a cell such as 1,5 or 1.234,5 shows them. Both
   may have thousands separators. If 1,234 can be read both ways and no other cell decides, the
   comma is decimal in files with semicolons (`find_notation`).
6. `NO_VALUE` lists the markers of missing cells in all columns. If all other cells in a column are
   numbers or markers in `NO_NUMBER`, the column is numeric. If at least half of them are, the
   others are treated as mistakes. Otherwise, the column holds Booleans or strings.

`pandas.read_csv` reads the numbers. Python's csv module finds the lines and their fields, because
pandas does not report the line of a cell, and pads lines that are too short. Rule 5 is implemented
here, because pandas with the `thousands` option also reads 1,2,3 as 123.
"""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.storage.row_ids import NO_VALUE, checked_ids, read_as_text, without_marks, written_by_rmgl
from rmgl.storage.selection import Selection, shown
from rmgl.storage.text_format import (
    Notation,
    described,
    find_header,
    find_id,
    find_notation,
    is_missing,
    kind_of,
    read_characters,
)

logger = logging.getLogger("rmgl")
Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""
FIRST_LINES = 200
"""Number of lines that decide whether the first one holds column names."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MOSTLY = 0.5
"""Minimum fraction of numbers in a column for its other cells to count as mistakes."""


@dataclass(frozen=True)
class Table:
    """Data of one view in a file."""

    values: Any
    """An array or sparse matrix of numbers, or a pandas table with columns of mixed types."""
    ids: list[str] | None = None
    columns: tuple[str, ...] | None = None
    how: str = ""
    """Description of how the file was read."""
    name: str = ""
    """The name of the view."""
    left_out: tuple[str, ...] = ()
    """Columns of the file that were not requested."""


def read_text(path: Path, wanted: Selection) -> Table:
    """Read a text table, with or without a line of column names, according to the rules above."""
    id_column = wanted.id_column
    text, encoding = read_characters(path)
    separator = find_separator(path, text)
    check_no_nul(text, separator)
    first_rows = [row for _, row in islice(lines_of(text, separator), FIRST_LINES)]
    if not any(first_rows):
        raise ValueError("the file is empty: it needs one line of numbers per row")
    header = find_header(first_rows, id_column)
    id_place = find_id(header, id_column)
    sheet = Sheet(text, separator, len(first_rows[0]), header is not None)
    lines, cells, empty = [], [], set[int]()
    for line, row in sheet.checked_rows():
        lines.append(line)
        cells.append("" if id_place is None else row[id_place])
        if id_place is not None and not any(cell.strip() for cell in row):
            empty.add(line)
    note_empty(path, sorted(empty))
    rows = [(line, cell) for line, cell in zip(lines, cells, strict=True) if line not in empty]
    ids = None if header is None or id_place is None else ids_of(rows, header, id_place)
    places = [place for place in range(sheet.width) if place != id_place]
    left_out: tuple[str, ...] = ()
    if header is not None:
        left_out = tuple(header[place] for place in places if not wanted.keeps(header[place]))
        places = [place for place in places if wanted.keeps(header[place])]
    names = None if header is None else tuple(header[place] for place in places)
    columns, notation = sheet.columns(places, len(lines))
    in_encoding = "" if encoding == "UTF-8" else f" in {encoding}"
    in_notation = "" if notation == Notation() else f", numbers with {notation}"
    how = f"text{in_encoding} separated by {SEPARATORS[separator]}{in_notation}"
    values = gathered(columns, names, len(lines))
    if empty:
        values = rows_at(values, [line not in empty for line in lines])
    return Table(values, ids, names, how, left_out=left_out)


def note_empty(path: Path, lines: Sequence[int]) -> None:
    """Log which lines of a file are left out because they are empty."""
    if lines:
        are = "line is" if len(lines) == 1 else "lines are"
        logger.info(
            "%s: %d empty %s left out: %s", path, len(lines), are, shown([*map(str, lines)])
        )


def rows_at(values: Any, kept: Sequence[bool]) -> Any:
    """Return the rows of an array or table that are kept."""
    mask = np.array(kept, dtype=bool)
    return values[mask] if isinstance(values, np.ndarray) else values[mask].reset_index(drop=True)


def ids_of(rows: Sequence[tuple[int, str]], header: Sequence[str], id_place: int) -> list[str]:
    """Return the row ids in the lines of a file."""
    ids = checked_ids(
        without_marks(cell for _, cell in rows),
        lambda row: f"line {rows[row][0]}, column {header[id_place]!r}",
    )
    return [read_as_text(cell) for cell in ids] if written_by_rmgl(header) else ids


def gathered(columns: Sequence[Any], names: Sequence[str] | None, n_rows: int) -> Any:
    """Return an array if all columns are numeric, or else a table."""
    import pandas as pd

    if all(isinstance(column, np.ndarray) for column in columns):
        return np.column_stack(columns) if columns else np.empty((n_rows, 0))
    frame = pd.concat([pd.Series(column) for column in columns], axis=1)
    frame.columns = (
        [f"column {place + 1}" for place in range(len(columns))] if names is None else list(names)
    )
    return frame


def lines_of(text: str, separator: str) -> Iterator[Line]:
    """Yield the records of a table as text: each record's last line number and its fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for row in reader:
        yield reader.line_num, row


def find_separator(path: Path, text: str) -> str:
    """Return the separator of the fields (rule 2)."""
    if kind_of(path) == ".tsv":
        return "\t"
    start = text[: 1 << 16]
    for separator in (";", "\t", "|"):
        if separator in start.split("\n", 1)[0]:
            fields, by_commas = widths(start, separator), widths(start, ",")
            preferred = separator == ";" or len(by_commas) > 1 or min(fields) >= max(by_commas)
            if len(fields) == 1 and min(fields) > 1 and preferred:
                return separator
    return ","


def widths(text: str, separator: str) -> set[int]:
    """Return the numbers of fields in the first 20 nonempty lines."""
    return {len(row) for _, row in islice(lines_of(text, separator), 20) if row}


def check_no_nul(text: str, separator: str) -> None:
    """Raise a ValueError that locates a NUL character, if there is one."""
    if "\0" not in text:
        return
    for line, row in lines_of(text, separator):
        for place, cell in enumerate(row):
            if "\0" in cell:
                raise ValueError(
                    f"line {line}, column {place + 1} contains a NUL character, which is not "
                    "text: write the file again"
                )
    raise ValueError("it contains a NUL character, which is not text: write the file again")


@dataclass(frozen=True)
class Sheet:
    """The text of a table."""

    text: str
    separator: str
    width: int
    has_header: bool

    def checked_rows(self) -> Iterator[Line]:
        """Yield the rows, all as wide as the first line. Empty lines may follow at the end."""
        empty = None
        for line, row in islice(lines_of(self.text, self.separator), int(self.has_header), None):
            if not row:
                empty = empty or line
                continue
            if empty or len(row) != self.width:
                raise ValueError(
                    f"line {empty or line} has {0 if empty else len(row)} fields but the first "
                    f"line has {self.width}: give every line the same number of fields"
                )
            yield line, row

    def columns(self, places: Sequence[int], n_rows: int) -> tuple[list[Any], Notation]:
        """Return the columns at the given positions, as floats if numeric, and the notation."""
        if not places or n_rows == 0:
            return [np.empty(0)] * len(places), Notation()
        frame = self._parsed(places).iloc[:n_rows]
        unclear = {place for place in places if frame[place].dtype.kind == "O"}
        cells = (cell for place in unclear for cell in frame[place].dropna().unique())
        cells = (cell for cell in cells if isinstance(cell, str))
        notation = find_notation(cells, self.separator == ";")
        if notation.decimal_comma:  # pandas may have read 1.234 as a number below two
            frame = self._parsed(places, dtype=str).iloc[:n_rows]
            unclear = set(places)
        return [
            self._column(frame[place], place, notation) if place in unclear else plain(frame[place])
            for place in places
        ], notation

    def _parsed(self, places: Sequence[int], dtype: type | None = None) -> Any:
        """Parse the table with pandas, with numbers exact to the last digit."""
        import pandas as pd

        # pandas 3.1 and later always do this and deprecate the option
        exact = {} if pandas_version(pd) >= (3, 1) else {"float_precision": "round_trip"}
        return pd.read_csv(
            io.StringIO(self.text),
            sep=self.separator,
            header=0 if self.has_header else None,
            names=list(range(self.width)),
            usecols=list(places),
            dtype=dtype,
            keep_default_na=False,
            na_values=NO_VALUE,
            skip_blank_lines=False,
            low_memory=False,
            **exact,
        )

    def _column(self, values: Any, place: int, notation: Notation) -> Any:
        """Return numbers, Booleans or strings. Raise an error if most, but not all, are numbers."""
        cells = values.astype(object).where(values.notna(), None).tolist()
        present = [cell for cell in cells if cell is not None]
        if present and all(isinstance(cell, bool) for cell in present):
            return cells
        known = {cell: notation.number(str(cell)) for cell in set(present)}
        others = [cell for cell in present if known[cell] is None and not is_missing(str(cell))]
        if not others:
            return np.array([known.get(cell) for cell in cells], dtype=np.float64)
        n_numbers = sum(known[cell] is not None for cell in present)
        if n_numbers < MOSTLY * (n_numbers + len(others)):
            return cells
        raise ValueError(
            f"line {self._line_of(str(others[0]), place)}, column {place + 1} contains "
            f"{described(str(others[0]))}, but most cells in this column are numbers: correct "
            "the cell or leave it empty; if the column contains categories, write all of them with "
            "letters; if it contains row ids, name it with --id; otherwise "
            "leave it out with --drop"
        )

    def _line_of(self, cell: str, place: int) -> int:
        """Return the first line with this cell at this place."""
        return next(line for line, row in self.checked_rows() if row[place] == cell)


def pandas_version(pandas: Any) -> tuple[int, int]:
    """Return the major and minor version of pandas."""
    major, minor = pandas.__version__.split(".")[:2]
    return int(major), int(minor)


def plain(values: Any) -> Any:
    """Return a column that pandas has read as an array of floats or as Booleans."""
    return values.tolist() if values.dtype.kind == "b" else values.to_numpy(dtype=np.float64)
