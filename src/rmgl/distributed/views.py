"""Views on a cluster: checked, scaled and described by sums over chunks, with the errors of views in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.distributed.cluster import Cluster
from rmgl.distributed.matrix import RemoteMatrix, Summary, as_rows
from rmgl.distributed.sources import Source, is_stored, is_zarr, missing_message, source_of, with_groups
from rmgl.views.canonical import Canonical, added, tied
from rmgl.views.check_view import check_same_labels, is_collection_of_views, row_labels
from rmgl.views.columns import as_table
from rmgl.views.features import EMPTY_COLUMNS, LEAST_PRESENT, FeatureView
from rmgl.views.hashing import projected, row_keys
from rmgl.views.scaling import Scaler, bounded, choose_scale_by, deviations_to_spans, fit_scaler, skewness_from
from rmgl.views.spread import check_spread
from rmgl.views.views import Views

MOST_CHUNKS = 100
"""Chunks of a view beyond which rows are not put into canonical order: every chunk sends rows to every other one."""


def named_views(data: Any) -> list[tuple[str, Any]]:
    """The views by name; a single one is called view_0."""
    if isinstance(data, Views):
        if not data.complete:
            raise ValueError("entities are missing from some views, which a fit on a cluster does not allow yet: fit without client=")
        data.refuse_gaps("fit without client=")
        for view in data:
            if view.encoding is not None or view.rows is None:
                raise ValueError(f"view {view.name!r} is no table of numbers, which a cluster cannot take yet: fit without client=")
        return list(zip(data.names, data.matrices, strict=True))
    if is_zarr(data):
        return with_groups([("view_0", data)])
    if isinstance(data, Mapping):
        return with_groups([(str(name), as_path_or_table(X)) for name, X in data.items()])
    if is_collection_of_views(data) or has_stored_item(data):
        return with_groups([(f"view_{m}", as_path_or_table(X)) for m, X in enumerate(data)])
    return with_groups([("view_0", as_path_or_table(data))])


def as_path_or_table(X: Any) -> Any:
    """The path that a text names, and a table in memory as one of pandas; anything else as it is."""
    return Path(X) if isinstance(X, str) else X if is_stored(X) else as_table(X)


def index_of(data: Any, named: list[tuple[str, Any]]) -> Any:
    """The labels of the rows of tables in memory, after a check that they are the same; those of stored tables are not read."""
    if isinstance(data, Views):
        return data.index
    tables = [(name, X) for name, X in named if not is_stored(X)]
    check_same_labels(tables)
    return row_labels(tables)


def has_stored_item(data: Any) -> bool:
    """Whether the input is a list with a view that only workers read."""
    return isinstance(data, list | tuple) and any(isinstance(X, str) or is_stored(X) for X in data)


def on_cluster(
    named: list[tuple[str, Any]], cluster: Cluster, folder: Path | None, chunk_rows: int | None = None, index: Any = None
) -> Views:
    """Views whose matrices are on the workers, after all checks of shapes. `index` holds the labels of the rows."""
    return views_from(named, sources_of(named, cluster, folder, chunk_rows), cluster, index)


def sources_of(named: list[tuple[str, Any]], cluster: Cluster, folder: Path | None, chunk_rows: int | None = None) -> list[Source]:
    """Where the rows of all views are, after all checks of shapes. Only the lengths of Dask collections may have to be computed."""
    if not named:
        raise ValueError("no views were given: pass at least one 2-D array")
    names = tuple(name for name, _ in named)
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ, but they are {list(names)}: rename the repeated ones")

    def found() -> list[Source]:
        with cluster.client.as_current():  # it need not be the default one
            return [source_of(name, X, folder, chunk_rows) for name, X in named]

    sources: list[Source] = cluster.attended(found)
    for name, source in zip(names, sources, strict=True):
        if source.shape[0] != sources[0].shape[0]:
            raise ValueError(
                f"view {name!r} has {source.shape[0]} rows but view {names[0]!r} has {sources[0].shape[0]}: every view needs the same "
                "entities in the same order"
            )
    if sources[0].shape[0] < 2:
        raise ValueError(f"view {names[0]!r} has {sources[0].shape[0]} row(s), but needs at least 2")
    return sources


def views_from(named: list[tuple[str, Any]], sources: list[Source], cluster: Cluster, index: Any = None) -> Views:
    """The views, as workers begin to read them."""
    views = []
    for (name, _), source in zip(named, sources, strict=True):
        chunks = tuple(cluster.submit("rmgl-as-numbers", as_rows, chunk) for chunk in source.start(cluster))
        views.append(FeatureView(name, RemoteMatrix(cluster, chunks, source.bounds, source.shape[1]), columns=source.columns))
    return Views(tuple(views), index)


def check_numbers(views: Views) -> None:
    """Raise a ValueError that names the row of an entry that is not finite."""
    for name, matrix in zip(views.names, views.matrices, strict=True):
        summary: Summary = matrix.summary
        if summary.bad_row >= 0 and summary.missing:
            raise ValueError(missing_message(name, summary.bad_row))
        if summary.bad_row >= 0:
            raise ValueError(
                f"view {name!r}: row {summary.bad_row} has an entry that is NaN or infinite in column {summary.bad_column}: "
                "fill it, or drop the row or the column"
            )


def check_empty_rows(views: Views) -> None:
    """Raise a ValueError where rows of zeros would be taken as missing by a fit on one machine."""
    nonzero = [matrix.summary.nonzero for matrix in views.matrices]
    somewhere = np.any(nonzero, axis=0)
    for name, matrix, filled in zip(views.names, views.matrices, nonzero, strict=True):
        empty = np.flatnonzero(somewhere & ~filled)
        n_left = matrix.shape[0] - empty.size
        if matrix.shape[1] >= EMPTY_COLUMNS and empty.size > 1 and n_left >= max(2, LEAST_PRESENT * matrix.shape[0]):
            raise ValueError(
                f"view {name!r}: row {empty[0]} and {empty.size - 1} more hold only zeros, so these entities are taken as missing from the "
                "view, which a fit on a cluster does not allow yet: drop such rows, or fit without client="
            )


def canonical_of(views: Views) -> Canonical:
    """The canonical order of the entities, from keys of the rows that the workers compute; as they stand where chunks are too many."""
    if max(len(matrix.chunks) for matrix in views.matrices) > MOST_CHUNKS:
        return Canonical(np.arange(views.n_rows), None)
    parts, keys = [np.zeros(views.n_rows)], np.zeros(views.n_rows, dtype=np.uint64)
    for view, matrix in enumerate(views.matrices):
        parts.append(np.concatenate(matrix.each("rmgl-project-rows", projected, None, view)) + 1.0)
        keys += np.concatenate(matrix.each("rmgl-hash-rows", row_keys, None, view))
    places = added(parts)
    unclear = tied(places)
    if unclear.size < keys.size:  # as on one machine, where only those are hashed
        keys[np.setdiff1d(np.arange(keys.size), unclear)] = 0
    return Canonical.of(places, keys)


def in_order(views: Views, order: NDArray[np.intp]) -> Views:
    """The views with their rows in another order. The labels of the rows stay those of the caller."""
    return views.with_fields("matrix", [matrix.in_order(order) for matrix in views.matrices])


def chosen_scale(matrix: RemoteMatrix) -> tuple[str, str]:
    """The scale of a view and the reason, as `rmgl.views.scaling.choose_scale` chooses them."""
    summary = matrix.summary

    def skewness() -> float:
        largest, low, high = bounded(summary.low, summary.high)
        return skewness_from(matrix.moments(largest), low, high)

    return choose_scale_by(summary.n_nonzero, summary.n_negative, matrix.shape, skewness)


def fitted_scaler(name: str, how: str, matrix: RemoteMatrix) -> Scaler:
    """The scaler of a view: all but one depend on the ranges of the columns alone."""
    summary = matrix.summary
    try:
        if how == "standard":
            largest, low, high = bounded(summary.low, summary.high)
            divided = matrix.mapped("rmgl-scale", divide, largest)
            return Scaler("standard", False, largest, divided.mean, deviations_to_spans(np.sqrt(divided.variances), low, high))
        return fit_scaler(how, np.vstack([summary.low, summary.high]))
    except ValueError as error:
        raise ValueError(f"view {name!r} {error}") from error


def divide(chunk: Any, largest: Any) -> Any:
    return chunk / largest


def scaled_views(views: Views, scalers: list[Scaler]) -> Views:
    """The views with every chunk scaled, after a check of their spread."""
    matrices = [matrix.scaled(scaler) for matrix, scaler in zip(views.matrices, scalers, strict=True)]
    for name, matrix, scaler in zip(views.names, matrices, scalers, strict=True):
        ranges = np.vstack([matrix.summary.low, matrix.summary.high])
        check_spread(name, ranges, scaler.name, matrix.shape[0])
    return views.with_fields("matrix", matrices).with_fields("scaler", scalers)


@dataclass(frozen=True)
class StoredViews:
    """The views of a fit, where they are stored: they are read and scaled again when a model needs its rows."""

    named: list[tuple[str, Any]]
    scalers: tuple[Scaler, ...]
    columns: tuple[tuple[str, ...] | None, ...] = ()
    index: Any = None

    @cached_property
    def rows(self) -> Views:
        """All rows, which are read into this process when they are first needed."""
        rows = [as_rows(source_of(name, X, None).collect()) for name, X in self.named]
        matrices = [np.ascontiguousarray(scaler(X)) for X, scaler in zip(rows, self.scalers, strict=True)]
        views = [FeatureView(name, X, scaler=scaler) for (name, _), X, scaler in zip(self.named, matrices, self.scalers, strict=True)]
        return Views(tuple(views), self.index).with_columns(self.columns)
