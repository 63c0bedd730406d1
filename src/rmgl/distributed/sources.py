"""Where the rows of a view are stored, and how workers read them: as chunks of rows, each the result of a task that can be run again.

A view is a Dask array or DataFrame, a zarr array, a folder of Parquet files, an `.npy` file that all workers can read, or an array in the
memory of this process. Arrays in memory are written to a temporary `.npy` file where all workers are on this machine, and else are sent
to the scheduler as the arguments of tasks.
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
from rmgl.distributed.cluster import Cluster, Future, joined
from rmgl.extras import not_installed
from rmgl.views.check_view import check_view, is_given_view

CHUNK_BYTES = 32 << 20
"""Size of a chunk of rows that is read at once, in double precision."""
MOST_ROWS = 1 << 18
"""Rows of a chunk, for each of which a number is sent to the scheduler."""
KINDS = "a Dask array or DataFrame, a zarr array or group, a folder of Parquet files, an .npy file or an array in memory"


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
        return dask_source(name, X, chunk_rows)
    if isinstance(X, os.PathLike):
        return path_source(name, Path(X), chunk_rows)
    if is_zarr(X):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(
                f"view {name!r}: the zarr array has shape {X.shape} and type {X.dtype}, but rows and columns of numbers were expected"
            )
        check_columns(name, X.shape[1])
        bounds = cut(X.shape, chunk_rows)
        return Source(X.shape, bounds, started("rmgl-read-zarr", bounds, lambda first, stop: (read_slice, X, first, stop)), lambda: X[:])
    if sparse.issparse(X):
        raise ValueError(f"view {name!r} is a sparse matrix, which a cluster cannot search yet: fit without client=, or give a dense array")
    if is_given_view(X):
        raise ValueError(f"view {name!r} is a {type(X).__name__}, which a cluster cannot take yet: fit without client=")
    view = check_view(name, X)
    if view.encoding is not None:
        raise ValueError(f"view {name!r} has columns that are no numbers, which a cluster cannot take yet: fit without client=")
    if view.gaps is not None:
        row = int(np.flatnonzero(view.gaps.any(axis=1))[0])
        raise ValueError(f"view {name!r}: row {row} has missing cells, which a cluster cannot take yet: fill them, or fit without client=")
    if view.entities is not None:
        raise ValueError(missing_message(name, int(np.setdiff1d(np.arange(view.matrix.shape[0]), view.entities)[0])))
    checked = np.asarray(view.matrix)
    columns = tuple(X.columns) if hasattr(X, "columns") and all(isinstance(column, str) for column in X.columns) else None
    bounds = cut(checked.shape, chunk_rows)

    def send(cluster: Cluster) -> list[Future]:
        """Pieces that are small enough to send, and the chunks as anywhere else."""
        pieces = [cluster.share("rmgl-send-rows", checked[first:stop]).pieces for first, stop in pairwise(bounds)]
        return cluster.map("rmgl-join-pieces", joined, [list(own) for own in pieces])

    def write(cluster: Cluster) -> list[Future]:
        """A file that workers on this machine read."""
        assert folder is not None
        path = folder / f"{uuid.uuid4().hex}.npy"
        np.save(path, checked)
        return started("rmgl-read-npy", bounds, lambda first, stop: (read_npy_rows, str(path), first, stop))(cluster)

    return Source(checked.shape, bounds, send if folder is None else write, lambda: checked, columns)


def missing_message(name: str, row: int) -> str:
    return (
        f"view {name!r}: row {row} is missing (NaN), which a fit on a cluster does not allow yet: "
        "drop or fill such rows, or fit without client="
    )


def check_columns(name: str, n_columns: int) -> None:
    """Raise a ValueError where a stored view has no columns."""
    if n_columns == 0:
        raise ValueError(f"view {name!r} has no columns, but needs at least one: leave the view out")


def refuse_delayed(name: str, X: Any) -> None:
    """Raise a ValueError where a view is something of unknown shape that is computed later."""
    if type(X).__module__ == "dask.delayed":
        raise ValueError(
            f"view {name!r} is a dask.delayed object, whose shape is not known: use dask.array.from_delayed(value, shape=, dtype=), or "
            f"{KINDS}"
        )


def check_types(name: str, X: Any) -> None:
    """Raise a ValueError that names a column of a Dask DataFrame which does not hold numbers as NumPy does."""
    kinds = {column: dtype.kind if isinstance(dtype, np.dtype) else "" for column, dtype in X.dtypes.items()}
    for column, kind in kinds.items():
        if not kind or kind not in "biuf":
            raise ValueError(
                f"view {name!r}: column {column!r} is of type {X.dtypes[column]}, but a cluster takes columns of NumPy's numbers: convert "
                "it with .astype('float64'), encode it, or drop it"
            )
    if len(set(kinds.values()) - {"b"}) and "b" in kinds.values():
        column = next(column for column, kind in kinds.items() if kind == "b")
        raise ValueError(
            f"view {name!r}: column {column!r} holds truth values beside columns of numbers, which a cluster cannot take yet: convert it "
            "with .astype('float64')"
        )


def dask_source(name: str, X: Any, chunk_rows: int | None) -> Source:
    """The source of a Dask array or DataFrame; its rows are cut as those of any other view, whatever its own chunks are."""
    refuse_delayed(name, X)
    if not hasattr(X, "to_delayed") or getattr(X, "ndim", 0) != 2:
        raise ValueError(f"view {name!r} is a Dask {type(X).__name__} with {getattr(X, 'ndim', 0)} dimension(s): use {KINDS}")
    check_columns(name, X.shape[1])
    columns = None
    if hasattr(X, "to_dask_array"):
        check_types(name, X)
        columns = tuple(map(str, X.columns))
        X = X.to_dask_array(lengths=True)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"view {name!r} has entries of type {X.dtype}, but numbers were expected: encode them first")
    if np.isnan(X.shape).any():
        X = X.compute_chunk_sizes()
    X = X.rechunk({0: rows_of_chunk(X.shape, chunk_rows), 1: -1}, method="tasks")  # tasks that can be run again on any worker
    bounds = cut(X.shape, chunk_rows)
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
        check_columns(name, header.shape[1])
        bounds = cut(header.shape, chunk_rows)
        start = started("rmgl-read-npy", bounds, lambda first, stop: (read_npy_rows, str(path.absolute()), first, stop))
        return Source((header.shape[0], header.shape[1]), bounds, start, lambda: np.load(path, allow_pickle=False))
    if is_zarr_folder(path):
        return source_of(name, opened_zarr(name, path), None, chunk_rows)
    if path.is_dir() or path.suffix == ".parquet":
        from dask import dataframe

        try:
            table = dataframe.read_parquet(str(path.absolute()))
        except (ValueError, OSError) as error:
            reason = str(error).rpartition("Original Message: ")[2]
            raise ValueError(f"view {name!r}: {path} cannot be read as a Parquet file or a folder of them: {reason}") from error
        return dask_source(name, table, chunk_rows)
    raise ValueError(f"view {name!r}: {path} is not known: use {KINDS}")


def is_zarr_folder(path: Path) -> bool:
    return path.suffix == ".zarr" and path.is_dir()


def opened_zarr(name: str, path: Path) -> Any:
    """The zarr array or group in a folder."""
    try:
        import zarr
    except ImportError as error:
        raise ValueError(f"view {name!r}: {path}: {not_installed('zarr folders need', 'zarr')}") from error
    try:
        return zarr.open(str(path.absolute()), mode="r")
    except (ValueError, OSError) as error:
        raise ValueError(f"view {name!r}: {path} is neither a zarr array nor a group of them ({error}): use {KINDS}") from error


def with_groups(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The views, with the 2-D arrays of a zarr group in place of the group: by their own names, where it is all that was given."""
    found = []
    for name, X in named:
        stored = opened_zarr(name, X) if isinstance(X, Path) and is_zarr_folder(X) else X
        if not is_zarr(stored) or not hasattr(stored, "arrays"):
            found.append((name, X))
            continue
        arrays = sorted(((key, own) for key, own in stored.arrays() if own.ndim == 2), key=lambda item: item[0])
        if not arrays:
            raise ValueError(f"view {name!r} is a zarr group without 2-D arrays, which would be the views: use {KINDS}")
        found += [(key if len(named) == 1 else f"{name}_{key}", own) for key, own in arrays]
    return found


def started(name: str, bounds: Sequence[int], task: Callable[[int, int], tuple[Any, ...]]) -> Callable[[Cluster], list[Future]]:
    """A function that starts the tasks of all chunks."""
    return lambda cluster: [cluster.submit(name, *task(first, stop)) for first, stop in pairwise(bounds)]


def rows_of_chunk(shape: tuple[int, ...], chunk_rows: int | None) -> int:
    return max(1, min(MOST_ROWS, CHUNK_BYTES // (8 * max(1, shape[1])))) if chunk_rows is None else chunk_rows


def cut(shape: tuple[int, ...], chunk_rows: int | None) -> tuple[int, ...]:
    """Where chunks begin, and the number of rows; it depends on the shape alone."""
    return (*range(0, shape[0], rows_of_chunk(shape, chunk_rows)), shape[0])


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
