"""Where the rows of a view are stored, and how workers read them.

Workers read chunks of rows, each the result of a task that can be run again. A view is a Dask array
or DataFrame, a zarr array, a folder of Parquet files, an `.npy` file that all workers can read, or
an array in the memory of this process. Arrays in memory are written to a temporary `.npy` file
where all workers are on this machine, and else are sent to the scheduler as the arguments of tasks.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.array_file import read_header
from rmgl.distributed.workers import Future, Workers, joined
from rmgl.extras import not_installed
from rmgl.views.check_view import check_view, column_names, is_dask, is_given_view, is_zarr

CHUNK_BYTES = 32 << 20
"""Bytes of a chunk of rows that is read at once, in double precision."""
MOST_CHUNK_ROWS = 1 << 18
"""Rows of a chunk at most; for each of them a number is sent to the scheduler."""
KINDS = (
    "a Dask array or DataFrame, a zarr array or group, a folder of Parquet files, an .npy file "
    "or an array in memory"
)


class NeedsRows(ValueError):
    """This process has to prepare the rows of the views; workers then search among them."""


@dataclass(frozen=True)
class Source:
    """The stored rows of one view."""

    shape: tuple[int, int]
    bounds: tuple[int, ...]
    """The first row of every chunk, and the number of rows."""
    start: Callable[[Workers], list[Future]]
    """start(workers): the chunks as results of tasks."""
    collect: Callable[[], NDArray[Any]]
    """collect(): all rows, in this process."""
    columns: tuple[str, ...] | None = None


def source_of(name: str, X: Any, folder: Path | None, chunk_rows: int | None = None) -> Source:
    """Return the source of one view; arrays in memory are written to the folder, if there is one.

    All workers must be able to read the folder.
    """
    if is_dask(X):
        return dask_source(name, X, chunk_rows)
    if isinstance(X, os.PathLike):
        return path_source(name, Path(X), chunk_rows)
    if is_zarr(X):
        return zarr_source(name, X, chunk_rows)
    return memory_source(name, X, folder, chunk_rows)


def all_rows(name: str, X: Any) -> NDArray[np.float64]:
    """Read all rows of a view into this process."""
    return as_rows(source_of(name, X, None).collect())


def as_rows(raw: Any) -> NDArray[np.float64]:
    """Convert rows as they were stored to numbers in double precision."""
    return np.ascontiguousarray(raw, dtype=np.float64)


def memory_source(name: str, X: Any, folder: Path | None, chunk_rows: int | None) -> Source:
    """Return the source of an array or table in memory, which is checked first."""
    rows = checked_rows(name, X)
    bounds = cut(rows.shape, chunk_rows)

    def send(workers: Workers) -> list[Future]:
        """Send pieces that are small enough, and join them to chunks there."""
        pieces = [
            list(workers.share("rmgl-send-rows", rows[first:stop]).pieces)
            for first, stop in pairwise(bounds)
        ]
        return workers.map("rmgl-join-pieces", joined, pieces)

    def write(workers: Workers) -> list[Future]:
        """Write a file that workers on this machine read."""
        assert folder is not None
        path = folder / f"{uuid.uuid4().hex}.npy"
        np.save(path, rows)
        return read_chunks("rmgl-read-npy", read_npy_rows, str(path), bounds)(workers)

    (columns,) = column_names([(name, X)]) or (None,)
    return Source(rows.shape, bounds, send if folder is None else write, lambda: rows, columns)


def checked_rows(name: str, X: Any) -> NDArray[np.float64]:
    """Check a view in memory; raise `NeedsRows` unless it is a complete, dense table of numbers."""
    if sparse.issparse(X):
        raise NeedsRows(f"view {name!r} is a sparse matrix")
    if is_given_view(X):
        raise NeedsRows(f"view {name!r} is a {type(X).__name__}")
    view = check_view(name, X)
    if view.encoding is not None:
        raise NeedsRows(f"view {name!r} has columns that are not numbers")
    if view.gaps is not None or view.entities is not None:
        raise NeedsRows(f"view {name!r} has missing cells or rows")
    return np.asarray(view.matrix)


def in_this_process(name: str, X: Any, labeled: bool) -> Any:
    """Read a stored view as an array or a table; other views are returned as they are.

    Labels of the rows of stored tables are dropped unless they are wanted (`labeled`): those of
    parts of a table may repeat.
    """
    table = None
    if isinstance(X, os.PathLike) and is_parquet(Path(X)):
        import pandas as pd

        table = pd.read_parquet(X)
    elif is_dask(X):
        refuse_delayed(name, X)
        table = X.compute()
    if table is None:
        is_stored_array = isinstance(X, os.PathLike) or is_zarr(X)
        return source_of(name, X, None).collect() if is_stored_array else X
    return table.reset_index(drop=True) if hasattr(table, "index") and not labeled else table


def is_parquet(path: Path) -> bool:
    """Whether a path is a Parquet file, or a folder that can only hold such files."""
    return path.suffix == ".parquet" or (path.is_dir() and not is_zarr_folder(path))


def check_stored(what: str, name: str, shape: tuple[int, ...], dtype: Any) -> tuple[int, int]:
    """Return the shape of a stored array, or raise an error unless it is a table of numbers."""
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise ValueError(
            f"view {name!r}: {what} has shape {shape} and type {dtype}, but rows and columns of "
            "numbers were expected"
        )
    check_columns(name, shape[1])
    return shape[0], shape[1]


def check_columns(name: str, n_columns: int) -> None:
    """Raise a ValueError where a stored view has no columns."""
    if n_columns == 0:
        raise ValueError(
            f"view {name!r} has no columns, but needs at least one: leave the view out"
        )


def zarr_source(name: str, X: Any, chunk_rows: int | None) -> Source:
    """Return the source of a zarr array."""
    shape = check_stored("the zarr array", name, X.shape, X.dtype)
    bounds = cut(shape, chunk_rows)
    return Source(shape, bounds, read_chunks("rmgl-read-zarr", read_slice, X, bounds), lambda: X[:])


def npy_source(name: str, path: Path, chunk_rows: int | None) -> Source:
    """Return the source of an .npy file, whose header is checked."""
    with path.open("rb") as file:
        header = read_header(file)
        header.check(f"view {name!r}: {path}", os.fstat(file.fileno()).st_size - file.tell())
    shape = check_stored(str(path), name, header.shape, header.dtype)
    bounds = cut(shape, chunk_rows)
    start = read_chunks("rmgl-read-npy", read_npy_rows, str(path.absolute()), bounds)
    return Source(shape, bounds, start, lambda: np.load(path, allow_pickle=False))


def path_source(name: str, path: Path, chunk_rows: int | None) -> Source:
    """Return the source of an .npy file, a zarr folder, or a folder of Parquet files."""
    if path.suffix == ".npy" and path.is_file():
        return npy_source(name, path, chunk_rows)
    if is_zarr_folder(path):
        return zarr_source(name, opened_zarr(name, path), chunk_rows)
    if not path.is_dir() and path.suffix != ".parquet":
        raise ValueError(f"view {name!r}: {path} is not known: use {KINDS}")
    from dask import dataframe

    try:
        table = dataframe.read_parquet(str(path.absolute()))
    except (ValueError, OSError) as error:
        reason = str(error).rpartition("Original Message: ")[2]
        raise ValueError(
            f"view {name!r}: {path} cannot be read as a Parquet file or a folder of them: {reason}"
        ) from error
    return dask_source(name, table, chunk_rows)


def dask_source(name: str, X: Any, chunk_rows: int | None) -> Source:
    """Return the source of a Dask array or DataFrame, whose own chunks do not matter."""
    refuse_delayed(name, X)
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise ValueError(
            f"view {name!r} is a Dask {type(X).__name__} with {getattr(X, 'ndim', 0)} "
            f"dimension(s): use {KINDS}"
        )
    check_columns(name, X.shape[1])
    columns = None
    if hasattr(X, "to_dask_array"):
        check_types(name, X)
        columns = tuple(map(str, X.columns))
        X = X.to_dask_array(lengths=True)
    if X.dtype.kind not in "biuf":
        raise NeedsRows(f"view {name!r} has entries of type {X.dtype}")
    if np.isnan(X.shape).any():
        X = X.compute_chunk_sizes()
    # tasks that can be run again on any worker
    X = X.rechunk({0: rows_of_chunk(X.shape, chunk_rows), 1: -1}, method="tasks")

    def start(workers: Workers) -> list[Future]:
        chunks: list[Future] = workers.client.compute(X.to_delayed().ravel().tolist())
        return chunks

    return Source(X.shape, cut(X.shape, chunk_rows), start, X.compute, columns)


def refuse_delayed(name: str, X: Any) -> None:
    """Raise a ValueError where a view is something of unknown shape that is computed later."""
    if type(X).__module__ == "dask.delayed":
        raise ValueError(
            f"view {name!r} is a dask.delayed object, whose shape is not known: use "
            f"dask.array.from_delayed(value, shape=, dtype=), or {KINDS}"
        )


def check_types(name: str, X: Any) -> None:
    """Raise `NeedsRows` where a column of a Dask DataFrame does not hold NumPy's numbers."""
    kinds = {
        column: dtype.kind if isinstance(dtype, np.dtype) else ""
        for column, dtype in X.dtypes.items()
    }
    for column, kind in kinds.items():
        if not kind or kind not in "biuf":
            raise NeedsRows(f"view {name!r}: column {column!r} is of type {X.dtypes[column]}")
    flags = [column for column, kind in kinds.items() if kind == "b"]
    if flags and len(flags) < len(kinds):
        raise NeedsRows(f"view {name!r}: column {flags[0]!r} holds truth values beside numbers")


def is_zarr_folder(path: Path) -> bool:
    """Whether a path is a folder that zarr opens, by its name."""
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
            f"view {name!r}: {path} is neither a zarr array nor a group of them ({error}): use "
            f"{KINDS}"
        ) from error


def with_groups(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Replace zarr groups by their 2-D arrays, under their own names if a group is all there is."""
    views = []
    for name, X in named:
        opened = opened_zarr(name, X) if isinstance(X, Path) and is_zarr_folder(X) else X
        if not is_zarr(opened) or not hasattr(opened, "arrays"):
            views.append((name, X))
            continue
        arrays = {key: array for key, array in opened.arrays() if array.ndim == 2}
        if not arrays:
            raise ValueError(
                f"view {name!r} is a zarr group without 2-D arrays, which would be the views: use "
                f"{KINDS}"
            )
        prefix = "" if len(named) == 1 else f"{name}_"
        views += [(f"{prefix}{key}", arrays[key]) for key in sorted(arrays)]
    return views


def read_chunks(
    name: str, read: Callable[[Any, int, int], Any], where: Any, bounds: Sequence[int]
) -> Callable[[Workers], list[Future]]:
    """Return a function that starts the tasks read(where, first, stop) of all chunks."""
    return lambda workers: [
        workers.submit(name, read, where, first, stop) for first, stop in pairwise(bounds)
    ]


def rows_of_chunk(shape: tuple[int, ...], chunk_rows: int | None) -> int:
    """Return the number of rows in a chunk, which depends on the columns unless it is given."""
    if chunk_rows is not None:
        return chunk_rows
    return max(1, min(MOST_CHUNK_ROWS, CHUNK_BYTES // (8 * max(1, shape[1]))))


def cut(shape: tuple[int, ...], chunk_rows: int | None) -> tuple[int, ...]:
    """Return where chunks begin, and the number of rows; it depends on the shape alone."""
    return (*range(0, shape[0], rows_of_chunk(shape, chunk_rows)), shape[0])


def read_slice(X: Any, first: int, stop: int) -> NDArray[Any]:
    """Read some rows of a zarr array."""
    return np.asarray(X[first:stop])


def read_npy_rows(path: str, first: int, stop: int) -> NDArray[Any]:
    """Read some rows of an .npy file, and no more of it."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[first:stop])


def all_here(workers: Workers) -> bool:
    """Whether all workers are on this machine, by their addresses."""
    here = {"127.0.0.1", "localhost", socket.gethostname()}
    with suppress(OSError):
        here |= {str(item[4][0]) for item in socket.getaddrinfo(socket.gethostname(), None)}
    addresses = workers.addresses()
    hosts = {address.rpartition(":")[0].rpartition("/")[2] for address in addresses}
    return all(address.startswith("inproc://") for address in addresses) or hosts <= here
