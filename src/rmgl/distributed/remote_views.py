"""Views on workers: checked, scaled and described by sums over chunks.

Errors are those of views in memory, as far as they are possible. New rows that are Dask arrays get
labels and embedding chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.sources import (
    NeedsRows,
    Source,
    as_rows,
    refuse_delayed,
    source_of,
    with_groups,
)
from rmgl.distributed.workers import Workers
from rmgl.views.canonical import Canonical, added, projected, row_keys, tied
from rmgl.views.check_view import (
    as_table,
    check_same_labels,
    given_items,
    is_collection_of_views,
    is_dask,
    is_stored,
    is_zarr,
    row_labels,
)
from rmgl.views.features import EMPTY_COLUMNS, LEAST_PRESENT, FeatureView, check_spread
from rmgl.views.scaling import (
    Scaler,
    bounded,
    choose_scale_by,
    deviations_to_spans,
    fit_scaler,
    skewness_from,
)
from rmgl.views.views import Views

MOST_CHUNKS = 100
"""Chunks of a view beyond which rows stay in their order: every chunk sends rows to every other."""


def named_views(data: Any) -> list[tuple[str, Any]]:
    """Return the views by name; a single one is called view_0."""
    if isinstance(data, Views):
        return in_memory(data)
    if is_zarr(data):
        items = [("view_0", data)]
    elif isinstance(data, Mapping):
        items = [(str(name), as_path_or_table(X)) for name, X in data.items()]
    elif is_collection_of_views(data) or has_stored_item(data):
        items = [(f"view_{m}", as_path_or_table(X)) for m, X in enumerate(data)]
    else:
        items = [("view_0", as_path_or_table(data))]
    return with_groups(items)


def in_memory(views: Views) -> list[tuple[str, Any]]:
    """Return the matrices of views by name, if they are complete tables of numbers."""
    for view in views:
        if view.encoding is not None or view.rows is None or view.gaps is not None:
            raise NeedsRows(f"view {view.name!r} is not a complete table of numbers")
    if not views.complete:
        raise NeedsRows("entities are missing from some views")
    return list(zip(views.names, views.matrices, strict=True))


def as_path_or_table(X: Any) -> Any:
    """Return the path that a text names, and a table in memory as one of pandas."""
    if isinstance(X, str):
        return Path(X)
    return X if is_stored(X) else as_table(X)


def index_of(data: Any, named: list[tuple[str, Any]]) -> NDArray[Any] | None:
    """Return the row labels of tables in memory, which must agree; stored ones are not read."""
    if isinstance(data, Views):
        return data.index
    tables = [(name, X) for name, X in named if not is_stored(X)]
    check_same_labels(tables)
    return row_labels(tables)


def has_stored_item(data: Any) -> bool:
    """Whether the input is a list with a view that only workers read."""
    return isinstance(data, list | tuple) and any(isinstance(X, str) or is_stored(X) for X in data)


def on_workers(
    named: list[tuple[str, Any]],
    workers: Workers,
    folder: Path | None,
    chunk_rows: int | None = None,
) -> Views:
    """Return views whose matrices are on the workers, after all checks of shapes."""
    return views_from(named, sources_of(named, workers, folder, chunk_rows), workers)


def sources_of(
    named: list[tuple[str, Any]],
    workers: Workers,
    folder: Path | None,
    chunk_rows: int | None = None,
) -> list[Source]:
    """Return where the rows of all views are, after all checks of shapes.

    Only the lengths of Dask collections may have to be computed.
    """
    if not named:
        raise ValueError("no views were given: pass at least one 2-D array")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ, but they are {names}: rename the repeated ones")

    def opened() -> list[Source]:
        with workers.client.as_current():  # it need not be the default one
            return [source_of(name, X, folder, chunk_rows) for name, X in named]

    sources: list[Source] = workers.attended(opened)
    n_rows = sources[0].shape[0]
    for name, source in zip(names, sources, strict=True):
        if source.shape[0] != n_rows:
            raise ValueError(
                f"view {name!r} has {source.shape[0]} rows but view {names[0]!r} has {n_rows}: "
                "every view needs the same entities in the same order"
            )
    if n_rows < 2:
        raise ValueError(f"view {names[0]!r} has {n_rows} row(s), but needs at least 2")
    return sources


def views_from(
    named: list[tuple[str, Any]],
    sources: list[Source],
    workers: Workers,
    index: NDArray[Any] | None = None,
) -> Views:
    """Let the workers read the views; `index` holds the labels of the rows."""
    views = []
    for (name, _), source in zip(named, sources, strict=True):
        chunks = tuple(
            workers.submit("rmgl-as-numbers", as_rows, chunk) for chunk in source.start(workers)
        )
        matrix = RemoteMatrix(workers, chunks, source.bounds, source.shape[1])
        views.append(FeatureView(name, matrix, columns=source.columns))
    return Views(tuple(views), index)


def remote(views: Views) -> list[RemoteMatrix]:
    """The matrices of views on the workers."""
    return [cast(RemoteMatrix, view.matrix) for view in views]


def check_numbers(views: Views) -> None:
    """Raise `NeedsRows` where an entry is NaN, which means missing, or infinite: an error."""
    for name, matrix in zip(views.names, remote(views), strict=True):
        if matrix.summary.bad_row >= 0:
            raise NeedsRows(f"view {name!r} has missing cells or rows")


def check_empty_rows(views: Views) -> None:
    """Raise `NeedsRows` where rows of zeros are taken as missing."""
    nonzero = [matrix.summary.nonzero for matrix in remote(views)]
    somewhere = np.any(nonzero, axis=0)
    for name, matrix, filled in zip(views.names, remote(views), nonzero, strict=True):
        n_rows, n_columns = matrix.shape
        empty = np.flatnonzero(somewhere & ~filled)
        few_left = n_rows - empty.size < max(2, LEAST_PRESENT * n_rows)
        if n_columns < EMPTY_COLUMNS or empty.size <= 1 or few_left:
            continue
        raise NeedsRows(f"view {name!r} has {empty.size} rows of zeros, which count as missing")


def canonical_of(views: Views) -> Canonical:
    """Return the canonical order of the entities, from keys of rows that the workers compute.

    Entities stay as they are where chunks are too many.
    """
    if max(len(matrix.chunks) for matrix in remote(views)) > MOST_CHUNKS:
        return Canonical(np.arange(views.n_rows), None)
    parts, keys = [np.zeros(views.n_rows)], np.zeros(views.n_rows, dtype=np.uint64)
    for view, matrix in enumerate(remote(views)):
        parts.append(np.concatenate(matrix.each("rmgl-project-rows", projected, None, view)) + 1.0)
        keys += np.concatenate(matrix.each("rmgl-hash-rows", row_keys, None, view))
    places = added(parts)
    unclear = tied(places)
    if unclear.size < keys.size:  # as on one machine, where only those are hashed
        keys[np.setdiff1d(np.arange(keys.size), unclear)] = 0
    return Canonical.of(places, keys)


def in_order(views: Views, order: NDArray[np.intp]) -> Views:
    """Put the rows in another order; their labels stay in the order of the caller."""
    return views.with_fields("matrix", [matrix.in_order(order) for matrix in remote(views)])


def chosen_scale(matrix: RemoteMatrix) -> tuple[str, str]:
    """Choose the scale of a view as `rmgl.views.scaling.choose_scale` does; return it and why."""
    summary = matrix.summary

    def skewness() -> float:
        largest, low, high = bounded(summary.low, summary.high)
        return skewness_from(matrix.moments(largest), low, high)

    return choose_scale_by(summary.n_nonzero, summary.n_negative, matrix.shape, skewness)


def fitted_scaler(name: str, how: str, matrix: RemoteMatrix) -> Scaler:
    """Fit the scaler of a view: all but one depend on the ranges of the columns alone."""
    summary = matrix.summary
    try:
        if how != "standard":
            return fit_scaler(how, np.vstack([summary.low, summary.high]))
        largest, low, high = bounded(summary.low, summary.high)
        divided = matrix.mapped("rmgl-scale", np.divide, largest)
        spans = deviations_to_spans(np.sqrt(divided.variances), low, high)
        return Scaler("standard", False, largest, divided.mean, spans)
    except ValueError as error:
        raise ValueError(f"view {name!r} {error}") from error


def scaled_views(views: Views, scalers: list[Scaler]) -> Views:
    """Scale every chunk of the views, after a check of their spread."""
    pairs = zip(remote(views), scalers, strict=True)
    matrices = [matrix.scaled(scaler) for matrix, scaler in pairs]
    for name, matrix, scaler in zip(views.names, matrices, scalers, strict=True):
        ranges = np.vstack([matrix.summary.low, matrix.summary.high])
        check_spread(name, ranges, scaler.name, matrix.shape[0])
    return views.with_fields("matrix", matrices).with_fields("scaler", scalers)


def by_chunk(work: Callable[[Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return the Dask array of work(views) for every chunk of rows.

    `shape` is that of the result of a row. All views must be Dask collections.
    """
    import dask
    from dask import array as dask_array

    array: Any = dask_array  # only parts of it have types
    delayed: Any = dask.delayed  # type: ignore[attr-defined]

    names = list(X) if isinstance(X, Mapping) else None
    items = given_items(X)
    arrays = as_arrays(items, names)
    rows = arrays[0].chunks[0]
    parts = [item.rechunk({0: rows, 1: -1}).to_delayed().ravel() for item in arrays]
    columns = [list(item.columns) if hasattr(item, "to_dask_array") else None for item in items]
    alone = not isinstance(X, Mapping | list | tuple)
    function, task = delayed(work), delayed(work_on, pure=False)
    blocks = []
    for n_rows, chunks in zip(rows, zip(*parts, strict=True), strict=True):
        result = task(function, list(chunks), columns, names, alone)
        blocks.append(array.from_delayed(result, (n_rows, *shape), dtype=dtype))
    return array.concatenate(blocks)


def as_arrays(items: list[Any], names: list[str] | None) -> list[Any]:
    """Check Dask collections, and return them as arrays whose chunks have known sizes."""
    if not all(map(is_dask, items)):
        raise ValueError(
            "some views are Dask collections and some are not: give all new rows as Dask arrays, "
            "or none"
        )
    arrays = []
    for place, item in enumerate(items):
        refuse_delayed(f"view_{place}" if names is None else str(names[place]), item)
        rows = item.to_dask_array(lengths=True) if hasattr(item, "to_dask_array") else item
        arrays.append(rows.compute_chunk_sizes() if np.isnan(rows.shape).any() else rows)
    lengths = [rows.shape[0] for rows in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"the views have {lengths} rows: every view needs the same entities")
    return arrays


def work_on(
    work: Callable[[Any], Any],
    chunks: list[Any],
    columns: list[Any],
    names: list[str] | None,
    alone: bool,
) -> Any:
    """Do the work on one chunk of all views, in the form in which they were given."""
    import pandas as pd

    parts = [
        chunk if labels is None else pd.DataFrame(chunk, columns=labels).infer_objects()
        for chunk, labels in zip(chunks, columns, strict=True)
    ]
    if alone:
        return work(parts[0])
    return work(parts if names is None else dict(zip(names, parts, strict=True)))
