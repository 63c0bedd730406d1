"""Where the rows of a view are stored, and how workers read them: as chunks of rows, each the result of a task that can be run again.

A view is a Dask array or DataFrame, a zarr array, a folder of Parquet files, an `.npy` file that all workers can read, or an array in the
memory of this process. Arrays in memory are written to a temporary `.npy` file where all workers are on this machine, and else are sent
to the scheduler as the arguments of tasks.
"""

from __future__ import annotations

import os
import socket
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
from rmgl.distributed.cluster import Cluster, Future
from rmgl.views.check_view import check_view, is_square_view

CHUNK_BYTES = 32 << 20
"""Size of a chunk of rows that is read at once, in double precision."""
MOST_ROWS = 1 << 18
"""Rows of a chunk, for each of which a number is sent to the scheduler."""
KINDS = "a Dask array or DataFrame, a zarr array, a folder of Parquet files, an .npy file or an array in memory"


@dataclass(frozen=True)
class Source:
    """The stored rows of one view."""

    shape: tuple[int, int]
    bounds: tuple[int, ...]
    """The first row of every chunk, and the number of rows."""
    start: Callable[[Cluster], list[Future]]
    """start(cluster): the chunks as results of tasks."""
    collect: Callable[[], NDArray[Any]]
    """collect(): all rows, in this process."""
    columns: tuple[str, ...] | None = None


def is_dask(X: Any) -> bool:
    """Whether an object is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def is_stored(X: Any) -> bool:
    """Whether an object is a view that only workers read: a Dask collection, a zarr array, or the path of a file or folder."""
    return is_dask(X) or isinstance(X, os.PathLike) or is_zarr(X)


def is_zarr(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "zarr"


def source_of(name: str, X: Any, folder: Path | None, chunk_rows: int | None = None) -> Source:
    """The source of one view. Arrays in memory are written to a folder that all workers can read, if there is one."""
    if is_dask(X):
        return dask_source(name, X)
    if isinstance(X, os.PathLike):
        return path_source(name, Path(X), chunk_rows)
    if is_zarr(X):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(
                f"view {name!r}: the zarr array has shape {X.shape} and type {X.dtype}, but rows and columns of numbers were expected"
            )
        bounds = cut(X.shape, chunk_rows)
        return Source(X.shape, bounds, started("rmgl-read-zarr", bounds, lambda first, stop: (read_slice, X, first, stop)), lambda: X[:])
    if sparse.issparse(X):
        raise ValueError(f"view {name!r} is a sparse matrix, which a cluster cannot search yet: fit without client=, or give a dense array")
    if is_square_view(X):
        raise ValueError(f"view {name!r} is a {type(X).__name__}, which a cluster cannot take yet: fit without client=")
    view = check_view(name, X)
    if view.encoding is not None:
        raise ValueError(f"view {name!r} has columns that are no numbers, which a cluster cannot take yet: fit without client=")
    if view.gaps is not None:
        row = int(np.flatnonzero(view.gaps.any(axis=1))[0])
        raise ValueError(f"view {name!r}: row {row} has missing cells, which a cluster cannot take yet: fill them, or fit without client=")
    if view.rows is not None:
        raise ValueError(missing_message(name, int(np.setdiff1d(np.arange(view.matrix.shape[0]), view.rows)[0])))
    checked = np.asarray(view.matrix)
    columns = tuple(X.columns) if hasattr(X, "columns") and all(isinstance(column, str) for column in X.columns) else None
    bounds = cut(checked.shape, chunk_rows)
    if folder is None:
        start = started("rmgl-send-rows", bounds, lambda first, stop: (np.asarray, checked[first:stop]))
    else:
        path = folder / f"{len(list(folder.iterdir()))}.npy"
        np.save(path, checked)
        start = started("rmgl-read-npy", bounds, lambda first, stop: (read_npy_rows, str(path), first, stop))
    return Source(checked.shape, bounds, start, lambda: checked, columns)


def missing_message(name: str, row: int) -> str:
    return (
        f"view {name!r}: row {row} is missing (NaN), which a fit on a cluster does not allow yet: "
        "drop or fill such rows, or fit without client="
    )


def dask_source(name: str, X: Any) -> Source:
    """The source of a Dask array or DataFrame; a chunk holds all columns of some rows."""
    columns = None
    if hasattr(X, "to_dask_array"):
        columns = tuple(map(str, X.columns))
        X = X.to_dask_array(lengths=True)
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise ValueError(f"view {name!r} is a Dask {type(X).__name__} with {getattr(X, 'ndim', 0)} dimension(s): use {KINDS}")
    if np.isnan(X.shape).any():
        X = X.compute_chunk_sizes()
    if X.dtype.kind not in "biuf":
        raise ValueError(f"view {name!r} has entries of type {X.dtype}, but numbers were expected: encode them first")
    X = X.rechunk({1: -1})
    bounds = tuple(np.cumsum([0, *X.chunks[0]]).tolist())
    return Source(X.shape, bounds, lambda cluster: cluster.client.compute(X.to_delayed().ravel().tolist()), X.compute, columns)


def path_source(name: str, path: Path, chunk_rows: int | None) -> Source:
    """The source of an .npy file, a zarr folder, or a folder of Parquet files."""
    if path.suffix == ".npy" and path.is_file():
        with path.open("rb") as file:
            header = read_header(file)
            header.check(f"view {name!r}: {path}", os.fstat(file.fileno()).st_size - file.tell())
        if len(header.shape) != 2 or header.dtype.kind not in "biuf":
            raise ValueError(
                f"view {name!r}: {path} holds {header.dtype} of shape {header.shape}, but rows and columns of numbers were expected"
            )
        bounds = cut(header.shape, chunk_rows)
        start = started("rmgl-read-npy", bounds, lambda first, stop: (read_npy_rows, str(path.absolute()), first, stop))
        return Source((header.shape[0], header.shape[1]), bounds, start, lambda: np.load(path, allow_pickle=False))
    if path.suffix == ".zarr" and path.is_dir():
        import zarr

        return source_of(name, zarr.open_array(str(path.absolute()), mode="r"), None, chunk_rows)
    if path.is_dir() or path.suffix == ".parquet":
        from dask import dataframe

        return dask_source(name, dataframe.read_parquet(str(path.absolute())))
    raise ValueError(f"view {name!r}: {path} is not known: use {KINDS}")


def started(name: str, bounds: Sequence[int], task: Callable[[int, int], tuple[Any, ...]]) -> Callable[[Cluster], list[Future]]:
    """A function that starts the tasks of all chunks."""
    return lambda cluster: [cluster.submit(name, *task(first, stop)) for first, stop in pairwise(bounds)]


def cut(shape: tuple[int, ...], chunk_rows: int | None) -> tuple[int, ...]:
    """Where chunks begin, and the number of rows; it depends on the shape alone."""
    size = max(1, min(MOST_ROWS, CHUNK_BYTES // (8 * max(1, shape[1])))) if chunk_rows is None else chunk_rows
    return (*range(0, shape[0], size), shape[0])


def read_slice(X: Any, first: int, stop: int) -> NDArray[Any]:
    return np.asarray(X[first:stop])


def read_npy_rows(path: str, first: int, stop: int) -> NDArray[Any]:
    """Some rows of an .npy file, of which no more is read."""
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[first:stop])


def all_here(cluster: Cluster) -> bool:
    """Whether all workers are on this machine, by their addresses."""
    own = {"127.0.0.1", "localhost", socket.gethostname()}
    with suppress(OSError):
        own |= {str(item[4][0]) for item in socket.getaddrinfo(socket.gethostname(), None)}
    hosts = {address.rpartition(":")[0].rpartition("/")[2] for address in cluster.threads_by_worker()}
    return all(address.startswith("inproc://") for address in cluster.threads_by_worker()) or hosts <= own
