"""Read views stored in files, zarr arrays or Dask collections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.archive.array_file import read_header
from rmgl.extras import not_installed
from rmgl.running.threads import require_memory
from rmgl.views.check_view import (
    Named,
    has_stored,
    is_collection_of_views,
    is_dask,
    is_stored,
    is_zarr,
)
from rmgl.views.views import Views

KINDS = (
    "a Dask array or DataFrame, a zarr array, a zarr group that contains 2-D arrays, the folder of "
    "either, a Parquet file or a folder of Parquet files, an .npy file or an array in memory"
)


def read_stored(data: Any, labeled: bool = False) -> Any:
    """Read all stored views into this process. Other views are returned unchanged.

    The row labels of stored tables are dropped unless `labeled`, because they may repeat across the
    parts of a table.
    """
    if isinstance(data, Views) or not has_stored(data):
        return data
    named = named_views(data)
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ, but they are {names}: rename the duplicates")
    views = {name: in_memory(name, X, labeled) for name, X in named}
    return views if isinstance(data, Mapping) or names != ["view_0"] else views["view_0"]


def named_views(data: Any) -> Named:
    """Name the views, and replace zarr groups with their arrays. A single view is called view_0."""
    if isinstance(data, Mapping):
        items = [(str(name), X) for name, X in data.items()]
    elif not is_zarr(data) and (is_collection_of_views(data) or isinstance(data, list | tuple)):
        items = [(f"view_{m}", X) for m, X in enumerate(data)]
    else:
        items = [("view_0", data)]
    return with_groups([(name, Path(X) if isinstance(X, str) else X) for name, X in items])


def in_memory(name: str, X: Any, labeled: bool) -> Any:
    """Read a stored view as an array or a table. Other views are returned unchanged."""
    if not is_stored(X):
        return X
    if is_dask(X):
        check_dask(name, X)
        if not hasattr(X, "to_dask_array") and not np.isnan(X.shape).any():  # the shape is known
            require_memory(8 * X.shape[0] * X.shape[1], f"view {name!r}: its numbers")
        return relabeled(X.compute(), labeled)
    rows, columns = shape_of(name, X)  # raises an error if X is not a view
    require_memory(8 * rows * columns, f"view {name!r}: its numbers")
    if is_zarr(X):
        return X[:]
    if is_zarr_folder(Path(X)):
        return opened_zarr(name, Path(X))[:]
    if Path(X).suffix == ".npy":
        return np.load(X, allow_pickle=False)
    import pandas as pd

    return relabeled(pd.read_parquet(X), labeled)


def relabeled(table: Any, labeled: bool) -> Any:
    """Number the rows of a table, unless `labeled`."""
    return table.reset_index(drop=True) if hasattr(table, "index") and not labeled else table


def shape_of(name: str, X: Any) -> tuple[int, int]:
    """Return the shape of a view, reading no more of it than necessary."""
    if is_dask(X):
        return dask_shape(name, X)
    if is_zarr(X):
        return array_shape("the zarr array", name, X.shape, X.dtype)
    if isinstance(X, str | os.PathLike):
        return path_shape(name, Path(X))
    shape: tuple[int, ...] = getattr(X, "shape", None) or np.shape(X)
    if len(shape) != 2:
        raise ValueError(
            f"view {name!r} is of type {type(X).__name__}, whose rows and columns are not known: "
            f"use {KINDS}"
        )
    return int(shape[0]), int(shape[1])


def array_shape(what: str, name: str, shape: tuple[int, ...], dtype: Any) -> tuple[int, int]:
    """Return the shape of a stored array. Raise an error unless it is 2-D and numeric."""
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise ValueError(
            f"view {name!r}: {what} has shape {shape} and type {dtype}, but a two-dimensional "
            "array of numbers was expected"
        )
    check_columns(name, shape[1])
    return shape[0], shape[1]


def check_columns(name: str, n_columns: int) -> None:
    """Raise a ValueError if a stored view has no columns."""
    if n_columns == 0:
        raise ValueError(
            f"view {name!r} has no columns, but at least one is required: leave the view out"
        )


def path_shape(name: str, path: Path) -> tuple[int, int]:
    """Return the shape of an .npy file, a zarr folder, or a folder of Parquet files."""
    if not path.exists():
        raise ValueError(f"view {name!r}: {path}: no such file or folder")
    if path.suffix == ".npy" and path.is_file():
        with path.open("rb") as file:
            try:
                header = read_header(file)
            except ValueError as error:
                raise ValueError(f"view {name!r}: {path}: {error}") from error
            header.check(f"view {name!r}: {path}", os.fstat(file.fileno()).st_size - file.tell())
        return array_shape(str(path), name, header.shape, header.dtype)
    if is_zarr_folder(path):
        return shape_of(name, opened_zarr(name, path))
    if not path.is_dir() and path.suffix != ".parquet":
        raise ValueError(f"view {name!r}: {path}: unsupported file type: use {KINDS}")
    try:
        from pyarrow import dataset
    except ImportError as error:
        reason = not_installed("Parquet files need", "pyarrow")
        raise ValueError(f"view {name!r}: {path}: {reason}") from error
    try:
        table = dataset.dataset(path, format="parquet")
        shape = table.count_rows(), len(table.schema.names)
    except (ValueError, OSError) as error:
        raise ValueError(
            f"view {name!r}: cannot read {path} as Parquet, either a file or a folder: {error}"
        ) from error
    if 0 in shape:
        raise ValueError(
            f"view {name!r}: {path} has {shape[0]} rows and {shape[1]} columns; pass a Parquet "
            "file or folder with at least one of each"
        )
    return shape


def dask_shape(name: str, X: Any) -> tuple[int, int]:
    """Return the shape of a Dask array or DataFrame. The rows may have to be counted."""
    check_dask(name, X)
    if hasattr(X, "to_dask_array"):
        return len(X), X.shape[1]
    known = X.compute_chunk_sizes() if np.isnan(X.shape).any() else X
    return known.shape[0], known.shape[1]


def check_dask(name: str, X: Any) -> None:
    """Raise a ValueError if a Dask collection is not 2-D."""
    refuse_delayed(name, X)
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise ValueError(
            f"view {name!r} is a Dask {type(X).__name__} with {getattr(X, 'ndim', 0)} "
            f"dimension(s): use {KINDS}"
        )
    check_columns(name, X.shape[1])


def refuse_delayed(name: str, X: Any) -> None:
    """Raise a ValueError if a view is a delayed object of unknown shape."""
    if type(X).__module__ == "dask.delayed":
        raise ValueError(
            f"view {name!r} is a dask.delayed object of unknown shape: use "
            f"dask.array.from_delayed(value, shape=, dtype=), or {KINDS}"
        )


def is_zarr_folder(path: Path) -> bool:
    """Return whether a path is a zarr folder, based on its name."""
    return path.suffix == ".zarr" and path.is_dir()


def opened_zarr(name: str, path: Path) -> Any:
    """Open the zarr array or group in a folder."""
    try:
        import zarr
    except ImportError as error:
        reason = not_installed("zarr folders need", "zarr")
        raise ValueError(f"view {name!r}: {path}: {reason}") from error
    try:
        return zarr.open(str(path.absolute()), mode="r")
    except (ValueError, OSError) as error:
        raise ValueError(
            f"view {name!r}: {path} is neither a zarr array nor a zarr group ({error}): use {KINDS}"
        ) from error


def with_groups(named: Named) -> Named:
    """Replace zarr groups with their 2-D arrays, under their own names if there is one input."""
    views = []
    for name, X in named:
        is_folder = isinstance(X, os.PathLike) and is_zarr_folder(Path(X))
        opened = opened_zarr(name, Path(X)) if is_folder else X
        if not is_zarr(opened) or not hasattr(opened, "arrays"):
            views.append((name, X))
            continue
        arrays = {key: array for key, array in opened.arrays() if array.ndim == 2}
        if not arrays:
            raise ValueError(
                f"view {name!r} is a zarr group that contains no 2-D arrays to use as views: "
                f"use {KINDS}"
            )
        prefix = "" if len(named) == 1 else f"{name}_"
        views += [(f"{prefix}{key}", arrays[key]) for key in sorted(arrays)]
    return views
