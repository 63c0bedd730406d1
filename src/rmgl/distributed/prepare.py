"""What a fit on workers begins with: views that are checked and scaled there, and their spaces."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.spaces import Spaces
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.plan import Plan, first_lists, listed_length
from rmgl.distributed.remote_matrix import beside
from rmgl.distributed.remote_views import (
    canonical_of,
    check_empty_rows,
    check_numbers,
    chosen_scale,
    fitted_scaler,
    in_order,
    index_of,
    named_views,
    remote,
    scaled_views,
    sources_of,
    views_from,
)
from rmgl.distributed.rows import DistributedRows
from rmgl.distributed.sources import NeedsRows, all_here, all_rows, in_this_process
from rmgl.distributed.workers import NEEDS_DASK, Workers
from rmgl.running.checkpoint import Checkpoint
from rmgl.running.threads import Team
from rmgl.views.canonical import Canonical
from rmgl.views.check_view import has_stored, is_stored
from rmgl.views.halves import Halves, sample_of
from rmgl.views.scaling import Scaler
from rmgl.views.stored import StoredViews
from rmgl.views.views import Views

logger = logging.getLogger(__name__)
LONG = 100_000
"""Rows from which a fit times a trial of less than a second, to log the minutes of the search."""


@dataclass(frozen=True)
class DistributedSpaces(Spaces):
    """The spaces of scaled views whose rows are on the workers."""

    tiling: Tiling
    checkpoint: Checkpoint | None

    @cached_property
    def variances(self) -> tuple[float, ...]:
        return tuple(float(matrix.variances.sum()) for matrix in remote(self.views))

    def halves_of(self, view: int) -> Halves | None:
        matrix = remote(self.views)[view]
        rows = matrix.rows(sample_of(matrix.shape[0]))
        return replace(self.views[view], matrix=rows).halves()

    def of_entities(self, entities: NDArray[np.intp]) -> Spaces:
        raise ValueError("a fit on workers cannot leave entities out: fit without client=")

    def own(self, view: int) -> DistributedRows:
        return self._by_view[view]

    @cached_property
    def _by_view(self) -> list[DistributedRows]:
        return [
            DistributedRows(matrix, self.tiling, self.checkpoint) for matrix in remote(self.views)
        ]

    @cached_property
    def together(self) -> DistributedRows:
        matrix = beside(remote(self.views), self.factors)
        return DistributedRows(matrix, self.tiling, self.checkpoint)


@dataclass(frozen=True)
class Prepared:
    """The scaled views of a fit on workers."""

    views: Views
    scales: list[tuple[str, str]]
    scalers: list[Scaler]
    spaces: DistributedSpaces
    named: list[tuple[str, Any]]
    """The views as the caller gave them."""
    workers: Workers
    length: int
    """How many neighbors the candidate lists begin with."""
    canonical: Canonical
    """The order in which the workers have the rows; row labels are in the order of the caller."""

    def use(self, team: Team) -> None:
        """Let the client share its own work among the threads of a team."""
        self.workers.in_parts = team.in_parts

    def kept(self) -> Views | StoredViews:
        """Return what a model keeps: its rows if all are in memory, else where they are stored."""
        columns = tuple(view.columns for view in self.views)
        stored = StoredViews(
            self.named, tuple(self.scalers), columns, self.views.index, read=all_rows
        )
        return stored if any(is_stored(X) for _, X in self.named) else stored.rows

    def digests(self) -> dict[str, Any]:
        """Return texts that differ for other data, for a checkpoint."""
        matrices = zip(self.views.names, remote(self.views), strict=True)
        return {name: matrix.digest() for name, matrix in matrices}


def default_client() -> Any:
    """Return the current client of this process."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(NEEDS_DASK) from error
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "a view is a Dask collection, a zarr array or a path, which Dask workers read, but "
            "there is no client: create one with dask.distributed.Client(), or load the view into "
            "memory"
        ) from error


def planned(X: Any, client: Any, n_neighbors: int, candidates: Any = "auto") -> Plan:
    """Return what a fit will need; nothing but the shapes of the views is read."""
    workers = Workers.of(client)
    try:
        named = named_views(X)
        shapes = [source.shape for source in sources_of(named, workers, None)]
        length = listed_length(candidates, shapes[0][0], n_neighbors)
    except NeedsRows as reason:
        raise ValueError(
            f"no plan can be made, because {reason}: the client prepares such views in its own "
            "memory, and the workers search among their rows"
        ) from reason
    index_of(X, named)
    return Plan.of(shapes, length, n_neighbors, workers)


@contextmanager
def searching_on(client: Any, progress: bool = False) -> Iterator[Workers]:
    """Let the workers of a client search among rows that this process prepares."""
    workers = Workers.of(client, progress)
    with workers.until_stopped():
        yield workers


def loaded(X: Any, workers: Workers, labeled: bool = False) -> Any:
    """Read all stored views into this process; return others as they are.

    Labels of the rows of stored tables are kept if they are wanted (`labeled`).
    """
    if isinstance(X, Views) or not has_stored(X):
        return X

    def read() -> list[tuple[str, Any]]:
        with workers.client.as_current():  # it need not be the default one
            return [(name, in_this_process(name, view, labeled)) for name, view in named_views(X)]

    views: list[tuple[str, Any]] = workers.attended(read)
    return dict(views) if isinstance(X, Mapping) or len(views) > 1 else views[0][1]


@contextmanager
def prepared(
    X: Any,
    client: Any,
    scale: Any,
    *,
    n_neighbors: int,
    candidates: Any = "auto",
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Iterator[Prepared]:
    """Keep views on the workers of a client as long as the context lasts, if they have the memory.

    `n_neighbors` is the number of neighbors that nodes are to keep, and `candidates` the length of
    the lists to begin with; a checkpoint keeps the results of searches.
    """
    workers = Workers.of(client, progress)
    named = named_views(X)
    with TemporaryDirectory(prefix="rmgl-") as folder:
        sources = sources_of(named, workers, Path(folder) if all_here(workers) else None)
        shapes = [source.shape for source in sources]
        n_rows = shapes[0][0]
        length = first_lists(candidates, n_rows, n_neighbors)
        plan = Plan.of(shapes, length, n_neighbors, workers, timed=n_rows >= LONG)
        logger.info("%s", plan)
        plan.check()
        index = index_of(X, named)
        with workers.until_stopped():
            views = views_from(named, sources, workers, index)
            del sources
            check_numbers(views)
            check_empty_rows(views)
            canonical = canonical_of(views)
            if not canonical.keeps_order:
                views = in_order(views, canonical.order)
            scales = [
                chosen_scale(matrix) if how == "auto" else (how, "given")
                for how, matrix in zip(views.asked_scales(scale), remote(views), strict=True)
            ]
            scalers = [
                fitted_scaler(name, how, matrix)
                for name, (how, _), matrix in zip(views.names, scales, remote(views), strict=True)
            ]
            scaled = scaled_views(views, scalers)
            del views  # Dask forgets the rows that were not scaled, but not how to read them
            spaces = DistributedSpaces(scaled, None, plan.tiling, checkpoint)
            yield Prepared(scaled, scales, scalers, spaces, named, workers, length, canonical)
        logger.info("%s", workers.traffic)
