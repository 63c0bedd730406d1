"""Read Matrix Market files (.mtx) and the names beside them, as 10x Genomics writes them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from inspect import signature
from pathlib import Path

from rmgl.archive.array_file import WAY_OUT
from rmgl.checks import sound_sparse
from rmgl.running.threads import require_memory
from rmgl.storage.paths import MATRICES
from rmgl.storage.row_ids import checked_ids, without_marks
from rmgl.storage.selection import Selection
from rmgl.storage.text_file import Table
from rmgl.storage.text_format import kind_of, read_bytes, read_characters, view_name

ENTITY_FILES = ("barcodes", "rows", "obs", "cells")
"""Names of files that hold the names of the entities."""
FEATURE_FILES = ("features", "genes", "cols", "columns", "var", "peaks")
"""Names of files that hold column names: alone, or after the matrix name and `_`, `.` or `-`."""
SUFFIXES = (".tsv", ".tsv.gz", ".txt", ".txt.gz", ".csv", ".csv.gz")


def read_folder(path: Path, wanted: Selection) -> Table:
    """Read matrix.mtx, barcodes.tsv and features.tsv or genes.tsv in a 10x Genomics folder."""
    return read_matrix(next(path / name for name in MATRICES if (path / name).is_file()), wanted)


def read_matrix(path: Path, wanted: Selection) -> Table:
    """Read a Matrix Market file. Rows are entities unless the names beside it match its columns."""
    from scipy.io import mmread

    content = read_bytes(path)
    n_rows, n_columns = checked_sizes(path, content)
    try:
        # older versions of scipy cannot return sparse arrays; later ones warn without this option
        arrays = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
        matrix = mmread(io.BytesIO(content), **arrays)
    except Exception as error:  # scipy raises errors of any kind for damaged files
        raise ValueError(
            f"not a readable .mtx file ({error}): write it again with scipy.io.mmwrite"
        ) from error
    ids, columns = row_ids_beside(path), names_beside(path, FEATURE_FILES)
    if matrix.dtype.kind == "c":
        raise ValueError("it contains complex numbers: write real numbers")
    as_written = fits(ids, columns, n_rows, n_columns)
    turned = fits(ids, columns, n_columns, n_rows)
    if not as_written and not turned:
        counts = " and ".join(
            f"{len(names)} {what}"
            for names, what in ((ids, "entities"), (columns, "columns"))
            if names is not None
        )
        raise ValueError(
            f"it has {n_rows} rows and {n_columns} columns, but the files beside it "
            f"list {counts}: list one name for each entity or column"
        )
    both = ids is not None and columns is not None
    transposed = turned and (both or not as_written)  # 10x Genomics writes one row for each feature
    matrix = matrix.T if transposed else matrix
    values = sound_sparse("the matrix", matrix) if hasattr(matrix, "format") else matrix
    how = f"Matrix Market{', one column for each entity' if transposed else ''}"
    return Table(values, ids, columns, how)


def fits(
    ids: Sequence[str] | None, columns: Sequence[str] | None, n_rows: int, n_columns: int
) -> bool:
    """Return whether the numbers of names match the rows and columns, if there are names."""
    return (ids is None or len(ids) == n_rows) and (columns is None or len(columns) == n_columns)


def checked_sizes(path: Path, content: bytes) -> tuple[int, int]:
    """Return the numbers of rows and columns that a file declares, if they fit into memory."""
    first, _, _ = content.partition(b"\n")
    lines = (line for line in content.splitlines()[1:] if line.strip())
    sizes = next((line.split() for line in lines if not line.startswith(b"%")), [])
    try:
        numbers = [int(size) for size in sizes]
        is_known = first.startswith(b"%%MatrixMarket")
        if not is_known or len(numbers) not in (2, 3) or min(numbers) < 0:
            raise ValueError
    except ValueError:
        raise ValueError(
            "not a Matrix Market file: its first lines must state the type and size of the matrix"
        ) from None
    entries = numbers[0] * numbers[1] if len(numbers) == 2 else 2 * numbers[2]
    require_memory(16 * entries + 8 * (numbers[0] + numbers[1]), f"{path}: its entries", WAY_OUT)
    return numbers[0], numbers[1]


def row_ids_beside(path: Path) -> list[str] | None:
    """Return the names of the entities of a matrix. None if no file beside it holds them."""
    beside = file_beside(path, ENTITY_FILES)
    if beside is None:
        return None
    names = without_marks(names_in(beside))
    return checked_ids(names, lambda row: f"{beside.name}, name {row + 1}")


def names_beside(path: Path, stems: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names in the file beside a matrix. None without such a file."""
    beside = file_beside(path, stems)
    return None if beside is None else names_in(beside)


def names_in(path: Path) -> tuple[str, ...]:
    """Return the first field of each nonempty line."""
    separator = "," if kind_of(path) == ".csv" else "\t"
    return tuple(line.split(separator)[0] for line in read_characters(path)[0].splitlines() if line)


def file_beside(path: Path, stems: Sequence[str]) -> Path | None:
    """Return the first existing file beside a matrix."""
    prefixes = [f"{view_name(path)}{mark}" for mark in "_.-"]
    if path.name in MATRICES:
        prefixes.insert(0, "")
    names = (f"{prefix}{stem}" for prefix in prefixes for stem in stems)
    files = (path.parent / f"{name}{suffix}" for name in names for suffix in SUFFIXES)
    return next(filter(Path.is_file, files), None)
