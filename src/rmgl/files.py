"""Views from files: one .npz with all of them, or one .npy, .csv, .tsv or .parquet file per view."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """The numbers of one file and, if an id column was asked for and is there, the id of every row."""

    name: str
    values: NDArray
    ids: list[str] | None


def read_views(paths: Sequence[Path], id_column: str | None = None) -> tuple[dict[str, NDArray], list[str] | None]:
    """Views by name and the ids of their rows; rows of files with ids are put in the order of the first such file."""
    for path in paths:
        if not path.is_file():
            raise ValueError(f"{path}: no such file")
    if any(path.suffix == ".npz" for path in paths):
        if len(paths) > 1:
            raise ValueError("give either one .npz file that holds all views, or one file of another kind per view")
        return read_npz(paths[0]), None
    tables = [read_table(path, id_column) for path in paths]
    names = [table.name for table in tables]
    if len(set(names)) < len(names):
        raise ValueError(f"the file names give the view names {names}: rename a file so that they differ")
    return align(tables, id_column)


def read_npz(path: Path) -> dict[str, NDArray]:
    """The 2-D arrays of an .npz file; others, such as labels, are left out."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a readable .npz file of plain arrays ({error})") from error
    views = {name: array for name, array in arrays.items() if array.ndim == 2}
    if not views:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{path}: no 2-D array to use as a view (found: {found or 'nothing'})")
    return views


def read_table(path: Path, id_column: str | None) -> Table:
    reader = READERS.get(path.suffix)
    if reader is None:
        raise ValueError(f"{path}: unknown kind of file; use one .npz, or .npy, .csv, .tsv or .parquet files")
    values, ids = reader(path, id_column)
    return Table(path.stem, values, ids)


def read_npy(path: Path, id_column: str | None) -> tuple[NDArray, list[str] | None]:
    try:
        return np.load(path, allow_pickle=False), None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path}: not a readable .npy file of plain numbers ({error})") from error


def read_text(path: Path, id_column: str | None) -> tuple[NDArray, list[str] | None]:
    """Numbers separated by commas or tabs, with or without a line of column names."""
    delimiter = "\t" if path.suffix == ".tsv" else ","
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = next(csv.reader(file, delimiter=delimiter), [])
            if not first:
                raise ValueError("the file is empty")
            header = None if all(map(_is_number, first)) else first
            id_place = _find_id(header, id_column)
            file.seek(0)
            rows = [row for row in csv.reader(file, delimiter=delimiter) if row][1 if header else 0 :]
        for line, row in enumerate(rows, start=2 if header else 1):
            if len(row) != len(first):
                raise ValueError(f"line {line} has {len(row)} fields but the first line has {len(first)}")
        columns = [place for place in range(len(first)) if place != id_place]
        values = np.array(
            [[_to_number(row[place], line, place) for place in columns] for line, row in enumerate(rows, start=2 if header else 1)]
        )
    except (ValueError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from error
    ids = None if id_place is None else [row[id_place] for row in rows]
    return values.reshape(len(rows), len(columns)), ids


def read_parquet(path: Path, id_column: str | None) -> tuple[NDArray, list[str] | None]:
    try:
        import pandas as pd
    except ImportError as error:
        raise ValueError(f"{path}: Parquet files need pandas and pyarrow: pip install 'rmgl[tables]'") from error
    try:
        frame = pd.read_parquet(path)
        place = _find_id([str(column) for column in frame.columns], id_column)
        ids = None if place is None else frame.iloc[:, place].astype(str).tolist()
        numbers = frame if place is None else frame.drop(columns=frame.columns[place])
        text = list(numbers.select_dtypes(exclude=["number", "bool"]).columns)
        if text:
            raise ValueError(f"columns {text[:5]} are not numbers: drop them, or name the one with the row ids with --id")
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan), ids
    except (ValueError, OSError, ImportError) as error:
        raise ValueError(f"{path}: {error}") from error


READERS: dict[str, Callable[[Path, str | None], tuple[NDArray, list[str] | None]]] = {
    ".npy": read_npy,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_parquet,
}


def align(tables: Sequence[Table], id_column: str | None) -> tuple[dict[str, NDArray], list[str] | None]:
    """Put the rows of every table in the order of the first table that has ids."""
    reference = next((table for table in tables if table.ids is not None), None)
    if id_column is None:
        return {table.name: table.values for table in tables}, None
    if reference is None or reference.ids is None:
        raise ValueError(f"no file has the id column {id_column!r}")
    place = {identifier: row for row, identifier in enumerate(reference.ids)}
    views = {}
    for table in tables:
        if table.ids is None:
            raise ValueError(f"view {table.name!r} has no id column {id_column!r}, so its rows cannot be aligned")
        seen = set(table.ids)
        if len(seen) < len(table.ids):
            repeated = next(identifier for identifier in table.ids if table.ids.count(identifier) > 1)
            raise ValueError(f"view {table.name!r}: id {repeated!r} stands more than once")
        odd = sorted(seen ^ place.keys())
        if odd:
            holder, other = (table.name, reference.name) if odd[0] in seen else (reference.name, table.name)
            raise ValueError(
                f"id {odd[0]!r} is in view {holder!r} but not in view {other!r} ({len(odd)} such ids): every view needs the same ids"
            )
        order = np.argsort([place[identifier] for identifier in table.ids])
        views[table.name] = table.values[order]
    return views, reference.ids


def _find_id(header: Sequence[str] | None, id_column: str | None) -> int | None:
    """Place of the id column; None if none was asked for."""
    if id_column is None:
        return None
    if header is None or id_column not in header:
        raise ValueError(
            f"no column {id_column!r}"
            + (f" (columns: {', '.join(header[:8])}, ...)" if header else ": the file has no line of column names")
        )
    return list(header).index(id_column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _to_number(text: str, line: int, place: int) -> float:
    try:
        return float(text)
    except ValueError:
        found = repr(text) if text.strip() else "nothing"
        raise ValueError(
            f"line {line}, column {place + 1} holds {found} where a number is needed (name a column of row ids with --id)"
        ) from None
