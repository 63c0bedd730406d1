"""Views from files: one .npz or .h5mu with all of them, or one .npy, .csv, .tsv, .parquet, .feather or .arrow file per view."""

from __future__ import annotations

import csv
import lzma
import tokenize
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rmgl.storage.scverse import from_mudata
from rmgl.views.views import Views

DAMAGED = (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError)


Parts = tuple[NDArray, list[str] | None, tuple[str, ...] | None]
"""Values, ids and column names of a file."""


@dataclass(frozen=True)
class Table:
    """The numbers of one file, the names of their columns and, if an id column was asked for, the id of every row."""

    name: str
    values: NDArray
    ids: list[str] | None
    columns: tuple[str, ...] | None


class Tables(dict[str, NDArray]):
    """Arrays by view name, with the names of their columns, None where a file has none."""

    def __init__(self, arrays: dict[str, NDArray], tables: Sequence[Table]) -> None:
        super().__init__(arrays)
        self.columns = tuple(table.columns for table in tables)

    def views(self, least: int = 2) -> Views:
        """The same as checked views that know the names of their columns."""
        return replace(Views.of(dict(self), least=least), columns=self.columns if any(self.columns) else ())


def read_views(paths: Sequence[Path], id_column: str | None = None, how: str | None = None) -> tuple[Tables | Views, list[str] | None]:
    """Views by name and the ids of their rows; with an id column, rows are put in the order of the first file."""
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path}: no such file")
    kinds = {path.suffix.lower() for path in paths}
    if kinds & {".npz", ".h5mu"} and len(paths) > 1:
        raise ValueError("give either one .npz file or one .h5mu file that holds all views, or one file of another kind per view")
    if ".npz" in kinds:
        if id_column is not None:
            raise ValueError(f"{paths[0]}: arrays of an .npz file have no id column; their rows must be in the same order already")
        return Tables(read_npz(paths[0]), []), None
    if ".h5mu" in kinds:
        if id_column is not None:
            raise ValueError(f"{paths[0]}: the row ids of an .h5mu file are the names of its observations: leave out --id")
        return read_h5mu(paths[0])
    tables = [read_table(path, id_column) for path in paths]
    names = [table.name for table in tables]
    if len(set(names)) < len(names):
        raise ValueError(f"the file names give the view names {names}: rename a file so that they differ")
    arrays, ids = align(tables, how) if id_column is not None else ({table.name: table.values for table in tables}, None)
    return Tables(arrays, tables), ids


def read_npz(path: Path) -> dict[str, NDArray]:
    """The 2-D arrays of an .npz file; others, such as labels, are left out."""
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                raise ValueError("it holds a single array: rename it to .npy")
            arrays = {name: stored[name] for name in stored.files}
            foreign = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
            if foreign:
                raise ValueError(f"its member {foreign[0]!r} is no array")
    except DAMAGED as error:
        raise ValueError(f"{path}: not a readable .npz file of plain arrays{_detail(error)}") from error
    views = {name: array for name, array in arrays.items() if array.ndim == 2}
    if not views:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{path}: no 2-D array to use as a view (found: {found or 'nothing'})")
    return views


def read_h5mu(path: Path) -> tuple[Views, list[str]]:
    """The modalities of an .h5mu file, and the names of its observations."""
    try:
        import mudata

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what mudata will change in its next version
            stored = mudata.read_h5mu(path)
    except ImportError as error:
        raise ValueError(f"{path}: .h5mu files need mudata: pip install 'rmgl[scverse]'") from error
    except Exception as error:  # mudata, anndata and h5py raise all sorts of things on a damaged file
        raise ValueError(f"{path}: not a readable .h5mu file{_detail(error)}") from error
    return from_mudata(stored), stored.obs_names.astype(str).tolist()


def _detail(error: Exception) -> str:
    """What a library says of a file that it cannot read, where that is meant for users."""
    return f" ({error})" if isinstance(error, DAMAGED) and not isinstance(error, tokenize.TokenError) else ""


def read_table(path: Path, id_column: str | None) -> Table:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: unknown kind of file; use one .npz or .h5mu, or .npy, .csv, .tsv, .parquet, .feather or .arrow files")
    try:
        values, ids, columns = reader(path, id_column)
    except (*DAMAGED, ImportError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from error
    return Table(path.stem, values, ids, columns)


def read_npy(path: Path, id_column: str | None) -> Parts:
    if id_column is not None:
        raise ValueError(f"an .npy file has no id column {id_column!r}, so its rows cannot be aligned")
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
    except DAMAGED as error:
        raise ValueError(f"not a readable .npy file of plain numbers{_detail(error)}") from error
    if not isinstance(stored, np.ndarray):
        raise ValueError("it holds several arrays: rename it to .npz")
    return stored, None, None


def read_text(path: Path, id_column: str | None) -> Parts:
    """Numbers separated by commas or tabs, with or without a line of column names."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=delimiter)
            lines = [(reader.line_num, row) for row in reader]
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not text in UTF-8: save the file in that encoding") from error
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise ValueError("the file is empty")
    first = lines[0][1]
    header = first if is_header(first) else None
    id_place = find_id(header, id_column)
    rows = lines[1:] if header else lines
    for line, row in rows:
        if len(row) != len(first):
            raise ValueError(f"line {line} has {len(row)} fields but the first line has {len(first)}")
    columns = [place for place in range(len(first)) if place != id_place]
    values = np.array([to_numbers(row, line, columns) for line, row in rows])
    ids = None if id_place is None else [row[id_place] for _, row in rows]
    names = None if header is None else tuple(header[place] for place in columns)
    return values.reshape(len(rows), len(columns)), ids, names


def read_frame(path: Path, id_column: str | None) -> Parts:
    """A Parquet or Feather (Arrow) file."""
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("Parquet, Feather and Arrow files need pandas and pyarrow: pip install 'rmgl[tables]'") from error
    try:
        frame = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else pd.read_feather(path)
    except Exception as error:  # pandas and pyarrow raise all sorts of things on a damaged file
        raise ValueError(f"not a readable {path.suffix.lower()} file{_detail(error)}") from error
    if id_column is not None and id_column in frame.index.names:
        frame = frame.reset_index(level=id_column)
    elif id_column is None and not (frame.index.dtype.kind in "iu" and np.array_equal(frame.index, np.arange(len(frame)))):
        named = f"--id {frame.index.name}" if frame.index.name else "a name and --id"
        raise ValueError(f"its rows have labels: use {named}, or leave them out (reset_index(drop=True))")
    place = find_id([str(column) for column in frame.columns], id_column)
    ids = None if place is None else frame.iloc[:, place].astype(str).tolist()
    numbers = frame if place is None else frame.drop(columns=frame.columns[place])
    text = list(numbers.select_dtypes(exclude=["number", "bool"]).columns)
    if text:
        raise ValueError(f"columns {text[:5]} are not numbers: drop them, or name the one with the row ids with --id")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan), ids, tuple(map(str, numbers.columns))


READERS: dict[str, Callable[[Path, str | None], Parts]] = {
    ".npy": read_npy,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_frame,
    ".feather": read_frame,
    ".arrow": read_frame,
}


def align(tables: Sequence[Table], how: str | None = None) -> tuple[dict[str, NDArray], list[str]]:
    """The rows of every table in one order of ids: that of the first, which all must have, or all ids of any table, with rows of NaN
    where a table lacks one ("outer"), or those of all ("inner")."""
    for table in tables:
        repeated = [identifier for identifier, count in Counter(table.ids).items() if count > 1]
        if repeated:
            raise ValueError(f"view {table.name!r}: id {repeated[0]!r} stands more than once")
    ids = list(dict.fromkeys(identifier for table in tables for identifier in table.ids or []))
    if how is None:
        check_same_ids(tables)
    elif how == "inner":
        known_ids = [set(table.ids or []) for table in tables]
        ids = [identifier for identifier in ids if all(identifier in known for known in known_ids)]
    place = {identifier: row for row, identifier in enumerate(ids)}
    views = {}
    for table in tables:
        known = [(place[identifier], row) for row, identifier in enumerate(table.ids or []) if identifier in place]
        views[table.name] = np.full((len(ids), table.values.shape[1]), np.nan)
        views[table.name][[to for to, _ in known]] = table.values[[row for _, row in known]]
    return views, ids


def check_same_ids(tables: Sequence[Table]) -> None:
    first = set(tables[0].ids or [])
    for table in tables[1:]:
        odd = sorted(set(table.ids or []) ^ first)
        if odd:
            holder, other = (table.name, tables[0].name) if odd[0] not in first else (tables[0].name, table.name)
            count = f"{len(odd)} such ids" if len(odd) > 1 else "one such id"
            raise ValueError(
                f"id {odd[0]!r} is in view {holder!r} but not in view {other!r} ({count}): every view needs the same ids, or --align outer"
            )


def is_header(first: Sequence[str]) -> bool:
    """Column names, or the numbers 0, 1, 2, ... that pandas writes in their place."""
    return not all(map(is_number, first)) or (len(first) > 1 and list(first) == [str(place) for place in range(len(first))])


def find_id(header: Sequence[str] | None, id_column: str | None) -> int | None:
    """Place of the id column; None if none was asked for."""
    if id_column is not None:
        if header is None:
            raise ValueError(f"no column {id_column!r}: the file has no line of column names")
        if id_column not in header:
            raise ValueError(f"no column {id_column!r} (columns: {', '.join(header[:8])}{', ...' if len(header) > 8 else ''})")
        return list(header).index(id_column)
    if header and not header[0].strip():
        raise ValueError("the first column has no name and looks like a row index: leave it out (index=False), or name it and use --id")
    return None


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_numbers(row: Sequence[str], line: int, columns: Sequence[int]) -> list[float]:
    """The numbers of one line; a line without any is an entity that is missing."""
    if len(columns) > 1 and not any(row[place].strip() for place in columns):
        return [np.nan] * len(columns)
    return [to_number(row[place], line, place) for place in columns]


def to_number(text: str, line: int, place: int) -> float:
    if is_number(text):
        return float(text)
    found = repr(text) if text.strip() else "nothing"
    raise ValueError(f"line {line}, column {place + 1} holds {found} where a number is needed (name a column of row ids with --id)")
