"""Read views from one .npz or .h5mu file with all views, or one file of another type per view."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.array_file import DAMAGED, Refused, detail_of, read_npy, read_npz
from rmgl.matrix import Indices, Mask, padded
from rmgl.storage.frame_files import read_excel, read_frame
from rmgl.storage.hdf5_files import read_h5ad, read_h5mu
from rmgl.storage.matrix_market import read_folder, read_matrix
from rmgl.storage.parts_of_tables import (
    selected,
    split,
    without_empty_rows,
    without_free_text,
)
from rmgl.storage.paths import EVERYTHING, check_inputs, check_view_names
from rmgl.storage.selection import Selection, matches, shown
from rmgl.storage.text_file import Table, read_text
from rmgl.storage.text_format import kind_of, view_name
from rmgl.views.check_view import is_table
from rmgl.views.incomplete import align_labels, lookalike_hint
from rmgl.views.same_columns import NewRows, with_fitted_columns
from rmgl.views.views import Views

OF_ALL_VIEWS = {
    ".npz": (
        "arrays in an .npz file have no id column: put their rows in the same order and leave out "
        "--id"
    ),
    ".h5mu": ("the row ids of an .h5mu file are the names of its observations: leave out --id"),
}
"""File types that hold all views, and why they have no id column."""
UNUSUAL = re.compile("Windows-1252|numbers with|the first of")
"""Ways of reading a file that may be wrong, so users are informed of them."""
logger = logging.getLogger("rmgl")


def read_views(
    paths: Sequence[Path],
    id_column: str | None = None,
    how: str | None = None,
    *,
    least: int = 2,
    everyone: bool = True,
    fitted: Views | None = None,
    selection: Selection = EVERYTHING,
) -> Views:
    """Read and check views, with their column names and, if there is an id column, row names.

    With an id column, or if files name their rows, rows are put in the order of the first file.
    Each view must have at least `least` rows. Unless `everyone` is False, every entity must be in a
    view. New rows get the columns and encodings of the `fitted` views. If the fit had a single
    view, the new view may have another name. `selection` selects the columns and names the views.
    """
    check_inputs(paths)
    selection = replace(selection, id_column=id_column)
    if any(kind_of(path) in OF_ALL_VIEWS for path in paths):
        return read_all_views(paths, selection, least, everyone)
    found = read_tables(paths, selection)
    if everyone:
        found = without_empty_rows(found)
    if fitted is None:
        found = without_free_text(found)
    tables = [table for _, table in found]
    names = [table.name for table in tables]
    check_view_names(names)
    for path, table in found:
        check_rows(path, table, least)
    ids, places = row_order(tables, how)
    by_name = dict(zip(names, places, strict=True))
    columns = tuple(table.columns for table in tables)
    if fitted is not None:
        fitted = fitted.with_fields("name", names) if len(fitted) == len(names) == 1 else fitted
        tables = new_tables(fitted, tables)
        columns = tuple(table.columns for table in tables)
    views = Views.of(
        {table.name: in_order(table.values, by_name[table.name]) for table in tables},
        least=least,
        everyone=everyone,
        index=None if ids is None else np.array(ids, dtype=object),
        columns=columns if any(columns) else (),
        observed=observed_rows(by_name) or None,
        encodings=None if fitted is None else {view.name: view.encoding for view in fitted},
    )
    for path, table in found:
        if UNUSUAL.search(table.how):
            logger.info("%s: %s", path, table.how)
    return views


def check_rows(path: Path, table: Table, least: int) -> None:
    """Raise a ValueError if a file has too few rows to be a view."""
    n_rows = table.values.shape[0]
    if n_rows < least:
        raise ValueError(
            f"{path} has {n_rows or 'no'} row{'' if n_rows == 1 else 's'}, but a view needs at "
            f"least {least}: every row is one of the entities to cluster"
        )


def new_tables(fitted: Views, tables: Sequence[Table]) -> list[Table]:
    """Give tables of new rows the columns of the fitted views, in their order."""
    known = [table for table in tables if table.name in fitted.names and table.columns]
    new = [NewRows.of_table(fitted[table.name], as_frame(table), table.columns) for table in known]
    values = dict(zip((table.name for table in known), with_fitted_columns(new), strict=True))
    return [
        replace(
            table,
            values=values[table.name],
            columns=fitted[table.name].given_columns or table.columns,
        )
        if table.name in values
        else table
        for table in tables
    ]


def as_frame(table: Table) -> Any:
    """Return the values of a table with column names, as a DataFrame unless they are sparse."""
    if is_table(table.values) or sparse.issparse(table.values):
        return table.values
    import pandas as pd

    return pd.DataFrame(table.values, columns=list(table.columns or ()))


def observed_rows(places: Mapping[str, Indices | None]) -> dict[str, Mask]:
    """Return which rows are observed, for each view with missing rows."""
    return {
        name: rows >= 0 for name, rows in places.items() if rows is not None and (rows < 0).any()
    }


def read_all_views(
    paths: Sequence[Path], selection: Selection, least: int, everyone: bool
) -> Views:
    """Read the one file that holds all views, without an id column."""
    if len(paths) > 1:
        raise ValueError(
            "an .npz or .h5mu file cannot be combined with other files: use one .npz or .h5mu "
            "file with all views, or one file of another type per view"
        )
    kind = kind_of(paths[0])
    if selection.id_column is not None:
        raise ValueError(f"{paths[0]}: {OF_ALL_VIEWS[kind]}")
    if selection.names or not selection.is_all:
        raise ValueError(
            f"{paths[0]}: a file that contains all views is read as is: leave out view "
            "names, --columns, --drop, --view and --sheet"
        )
    if kind == ".h5mu":
        return read_h5mu(paths[0])
    return Views.of(read_arrays(paths[0]), least=least, everyone=everyone)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the 2-D arrays of an .npz file."""
    try:
        return read_npz(path)
    except Refused as error:
        raise ValueError(f"{path}: {error}") from error
    except DAMAGED as error:
        raise ValueError(
            f"{path}: not a readable .npz file of plain arrays{detail_of(error)}: write it "
            "again with numpy.savez"
        ) from error


def read_tables(paths: Sequence[Path], selection: Selection) -> list[tuple[Path, Table]]:
    """Read the views of files, each with its path."""
    if selection.sheets and ".xlsx" not in map(kind_of, paths):
        raise ValueError(
            f"--sheet {selection.sheets[0]}: none of the files is an .xlsx file: leave out --sheet"
        )
    if selection.views and len(paths) * max(1, len(selection.sheets)) > 1:
        raise ValueError("--view splits one table into views: pass one file, or leave out --view")
    tables = [(path, table) for path in paths for table in tables_in(path, selection)]
    selection.check_used(
        name for _, table in tables for name in (*(table.columns or ()), *table.left_out)
    )
    for path, table in tables:
        if not table.columns and table.left_out:
            raise ValueError(
                f"{path}: --columns and --drop leave no columns in view {table.name!r}"
            )
    others = [name for name in tables[0][1].left_out if not matches(name, selection.drop)]
    if selection.views and others:
        logger.info("%s: left out because they are not in any --view: %s", paths[0], shown(others))
    return tables


def tables_in(path: Path, selection: Selection) -> list[Table]:
    """Return the table of a file, one table per sheet, or the views that it is split into."""
    if kind_of(path) == ".xlsx" and len(selection.sheets) > 1:
        parts = [(sheet, replace(selection, sheets=(sheet,))) for sheet in selection.sheets]
        return [replace(read_table(path, part), name=sheet) for sheet, part in parts]
    table = read_table(path, selection)
    return split(table, selection) if selection.views else [table]


def read_table(path: Path, selection: Selection) -> Table:
    """Read the view of one file or folder. Errors begin with its path."""
    reader = read_folder if path.is_dir() else READERS.get(kind_of(path))
    if reader is None:
        raise ValueError(
            f"{path}: unsupported file type: use one .npz or .h5mu file, or .csv, .tsv, .xlsx, "
            ".parquet, .feather, .arrow, .npy, .mtx or .h5ad files; "
            ".csv, .tsv and .mtx files may be compressed (.gz, .bz2, .xz or .zip)"
        )
    try:
        name = path.resolve().name if path.is_dir() else view_name(path)
        table = selected(reader(path, selection), selection)
        return replace(table, name=selection.names.get(path, name))
    except (*DAMAGED, ImportError, UnicodeDecodeError, csv.Error) as error:
        said = str(error)
        raise ValueError(said if said.startswith(f"{path}: ") else f"{path}: {said}") from error


def read_array(path: Path, wanted: Selection) -> Table:
    """Read an .npy file."""
    if wanted.id_column is not None:
        raise ValueError(
            f"an .npy file has no id column {wanted.id_column!r}: leave out --id, or use a table "
            "such as .csv"
        )
    try:
        return Table(read_npy(path), how="a NumPy array")
    except Refused:
        raise
    except DAMAGED as error:
        raise ValueError(
            f"not a readable .npy file of plain numbers{detail_of(error)}: write it again with "
            "numpy.save"
        ) from error


READERS: dict[str, Callable[[Path, Selection], Table]] = {
    ".npy": read_array,
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_frame,
    ".feather": read_frame,
    ".arrow": read_frame,
    ".xlsx": read_excel,
    ".mtx": read_matrix,
    ".h5ad": read_h5ad,
}


def row_order(
    tables: Sequence[Table], how: str | None = None
) -> tuple[list[str] | None, list[Indices | None]]:
    """Return a common order of row ids for all tables, and their positions in each table (-1:
    absent).

    The order is None without ids. By default, all tables must have the same ids, and the order is
    that of the first table. `how` is as in `align_labels`.
    """
    without = [table.name for table in tables if table.ids is None]
    if len(without) == len(tables):
        return None, [None] * len(tables)
    if without:
        named = next(table.name for table in tables if table.ids is not None)
        raise ValueError(
            f"view {named!r} has row ids, but view {without[0]!r} has none: name its column "
            "of row ids with --id"
        )
    labels = [(table.name, table.ids or []) for table in tables]
    if how is None:
        check_same_ids(labels)
    ids, places = align_labels(labels, how or "outer")
    return ids, list(places)


def in_order(values: Any, rows: Indices | None) -> Any:
    """Return the rows of an array or table at the given positions: NaN at -1, or zero if sparse."""
    if rows is None:
        return values
    if sparse.issparse(values):
        there = np.flatnonzero(rows >= 0)
        return padded(sparse.csr_array(values)[rows[there]], there, rows.size)
    if is_table(values):
        return values.reindex(rows).reset_index(drop=True)
    ordered = np.full((rows.size, values.shape[1]), np.nan)
    ordered[rows >= 0] = values[rows[rows >= 0]]
    return ordered


def check_same_ids(labels: Sequence[tuple[str, list[str]]]) -> None:
    """Raise a ValueError unless all tables have the ids of the first."""
    (first, first_ids), *others = labels
    for name, ids in others:
        odd = sorted(set(ids) ^ set(first_ids))
        if odd:
            holder, other = (name, first) if odd[0] not in first_ids else (first, name)
            count = f"{len(odd)} such ids" if len(odd) > 1 else "one such id"
            raise ValueError(
                f"id {odd[0]!r} is in view {holder!r} but not in view {other!r} ({count}): give "
                f"every view the same ids, or use --align outer{lookalike_hint(labels)}"
            )
