"""Read views from files: one .npz or .h5mu file with all views, or one .npy, .csv, .tsv, .parquet, .feather or .arrow file per view."""

from __future__ import annotations

import csv
import lzma
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.archive.array_file import WAY_OUT, Refused, read_npy, read_npz
from rmgl.running.memory import require_memory
from rmgl.storage.paths import check_inputs
from rmgl.storage.scverse import from_mudata
from rmgl.storage.text_file import Parts, find_id, read_text
from rmgl.views.incomplete import align_labels, lookalike_hint
from rmgl.views.views import Views

DAMAGED = (
    *(ValueError, OSError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError),
)
SPARSE = ("csr_matrix", "csc_matrix")
MOST_OBJECTS, DEEPEST = 100_000, 30
"""Largest number of groups and datasets in an .h5mu file, and of nested groups; links can make a small file appear endless."""


@dataclass(frozen=True)
class Table:
    """The numbers of one file, with the column names and, if an id column was requested, the row ids."""

    name: str
    values: NDArray[Any]
    ids: list[str] | None
    columns: tuple[str, ...] | None


def read_views(paths: Sequence[Path], id_column: str | None = None, how: str | None = None, *, least: int = 2) -> Views:
    """Read and check views, with the names of their columns and, given an id column, of their rows.

    With an id column, rows are put in the order of the first file. Each view needs at least `least` rows.
    """
    check_inputs(paths)
    kinds = {path.suffix.lower() for path in paths}
    if kinds & {".npz", ".h5mu"} and len(paths) > 1:
        raise ValueError(
            "an .npz or .h5mu file was given together with other files: give either one .npz file or one .h5mu file with all views, or one "
            "file of another kind per view"
        )
    if ".npz" in kinds:
        if id_column is not None:
            raise ValueError(f"{paths[0]}: arrays of an .npz file have no id column: put their rows in the same order and leave out --id")
        return Views.of(read_arrays(paths[0]), least=least)
    if ".h5mu" in kinds:
        if id_column is not None:
            raise ValueError(f"{paths[0]}: the row ids of an .h5mu file are the names of its observations: leave out --id")
        return read_h5mu(paths[0])
    tables = [read_table(path, id_column) for path in paths]
    names = [table.name for table in tables]
    if len(set(names)) < len(names):
        raise ValueError(f"view names are file names without their suffix and must differ, but they are {names}: rename a file")
    arrays, ids = align(tables, how) if id_column is not None else ({table.name: table.values for table in tables}, None)
    columns = tuple(table.columns for table in tables)
    index = None if ids is None else np.array(ids, dtype=object)
    return Views.of(arrays, least=least, index=index, columns=columns if any(columns) else ())


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the 2-D arrays of an .npz file."""
    try:
        return read_npz(path)
    except Refused as error:
        raise ValueError(f"{path}: {error}") from error
    except DAMAGED as error:
        raise ValueError(f"{path}: not a readable .npz file of plain arrays{_detail(error)}: write it again with numpy.savez") from error


def read_h5mu(path: Path) -> Views:
    """Read the modalities of an .h5mu file; the row ids are the names of its observations."""
    try:
        import h5py
        import mudata

        with h5py.File(path, "r") as file:
            sizes = list(islice(declared_sizes(file), MOST_OBJECTS + 1))
        if len(sizes) > MOST_OBJECTS:
            raise ValueError(f"it contains more than {MOST_OBJECTS} groups and datasets")
        require_memory(sum(sizes), f"{path}: its datasets", WAY_OUT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # announcements of changes in mudata
            stored = mudata.read_h5mu(path)
    except ImportError as error:
        raise ValueError(f"{path}: .h5mu files need mudata: pip install 'rmgl[scverse]'") from error
    except MemoryError:
        raise
    except Exception as error:  # mudata, anndata and h5py raise all sorts of things on a damaged file
        raise ValueError(f"{path}: not a readable .h5mu file{_detail(error)}: write it again with MuData.write") from error
    return from_mudata(stored)


def declared_sizes(group: Any, depth: int = 0) -> Iterator[int]:
    """Yield the bytes that every dataset of an HDF5 group, or of a group inside it, takes in memory.

    A dataset of a few bytes on disk can declare any shape, and reading it decompresses whole chunks. A group takes no memory, unless it
    is a sparse matrix, which takes some numbers for every row and column.
    """
    if depth > DEEPEST:
        raise ValueError(f"it contains groups inside groups, more than {DEEPEST} deep")
    for name in group:
        item = group.get(name)  # None if it is a broken link
        if hasattr(item, "keys"):
            yield 8 * sum(map(int, item.attrs["shape"])) if item.attrs.get("encoding-type") in SPARSE else 0
            yield from declared_sizes(item, depth + 1)
        elif hasattr(item, "chunks"):
            yield item.dtype.itemsize * max(prod(item.shape or ()), prod(item.chunks or ()))


def _detail(error: Exception) -> str:
    """Return the message of a library about a file that it cannot read, if it is meant for users."""
    return f" ({error})" if isinstance(error, DAMAGED) and not isinstance(error, tokenize.TokenError) else ""


def read_table(path: Path, id_column: str | None) -> Table:
    """Read the view of one file, by the reader for its suffix."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: unknown kind of file: use one .npz or .h5mu, or .npy, .csv, .tsv, .parquet, .feather or .arrow files")
    try:
        values, ids, columns = reader(path, id_column)
    except (*DAMAGED, ImportError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from error
    return Table(path.stem, values, ids, columns)


def read_array(path: Path, id_column: str | None) -> Parts:
    """Read an .npy file."""
    if id_column is not None:
        raise ValueError(f"an .npy file has no id column {id_column!r}: leave out --id, or use a table such as .csv")
    try:
        return read_npy(path), None, None
    except Refused:
        raise
    except DAMAGED as error:
        raise ValueError(f"not a readable .npy file of plain numbers{_detail(error)}: write it again with numpy.save") from error


def read_frame(path: Path, id_column: str | None) -> Parts:
    """Read a Parquet or Feather (Arrow) file."""
    try:
        import pandas as pd
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Parquet, Feather and Arrow files need pandas and pyarrow: pip install 'rmgl[tables]'") from error
    try:
        if path.suffix.lower() == ".parquet":
            declared = parquet.read_metadata(path)
            require_memory(8 * declared.num_rows * declared.num_columns, f"{path}: its columns", WAY_OUT)
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_feather(path)
    except MemoryError:
        raise
    except Exception as error:  # pandas and pyarrow raise all sorts of things on a damaged file
        raise ValueError(f"not a readable {path.suffix.lower()} file{_detail(error)}: write it again from its table") from error
    if id_column is not None and id_column in frame.index.names:
        frame = frame.reset_index(level=id_column)
    elif id_column is None and not (frame.index.dtype.kind in "iu" and np.array_equal(frame.index, np.arange(len(frame)))):
        named = f"--id {frame.index.name}" if frame.index.name else "a name and --id"
        raise ValueError(f"its rows have labels, which would be lost: use {named}, or remove them with reset_index(drop=True)")
    place = find_id([str(column) for column in frame.columns], id_column)
    ids = None if place is None else frame.iloc[:, place].astype(str).tolist()
    numbers = frame if place is None else frame.drop(columns=frame.columns[place])
    text = list(numbers.select_dtypes(exclude=["number", "bool"]).columns)
    if text:
        raise ValueError(f"columns {text[:5]} are not numbers: drop them, or name the one with the row ids with --id")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan), ids, tuple(map(str, numbers.columns))


READERS: dict[str, Callable[[Path, str | None], Parts]] = {
    ".npy": read_array,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_frame,
    ".feather": read_frame,
    ".arrow": read_frame,
}


def align(tables: Sequence[Table], how: str | None = None) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Put the rows of every table in one order of ids, with rows of NaN for ids that a table lacks.

    By default all tables need the same ids, and the order is that of the first; `how` is that of `align_labels`.
    """
    labels = [(table.name, table.ids or []) for table in tables]
    if how is None:
        check_same_ids(labels)
    ids, places = align_labels(labels, how or "outer")
    views = {}
    for table, rows in zip(tables, places, strict=True):
        views[table.name] = np.full((len(ids), table.values.shape[1]), np.nan)
        views[table.name][rows >= 0] = table.values[rows[rows >= 0]]
    return views, ids


def check_same_ids(labels: Sequence[tuple[str, list[str]]]) -> None:
    """Raise a ValueError unless all tables have the ids of the first."""
    (first, first_ids), *others = labels
    for name, ids in others:
        odd = sorted(set(ids) ^ set(first_ids))
        if odd:
            holder, other = (name, first) if odd[0] not in first_ids else (first, name)
            count = f"{len(odd)} such ids" if len(odd) > 1 else "one such id"
            raise ValueError(
                f"id {odd[0]!r} is in view {holder!r} but not in view {other!r} ({count}): every view needs the same ids, or --align outer"
                f"{lookalike_hint(labels)}"
            )
