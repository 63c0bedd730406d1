"""Prepare a fit on workers: connect to the workers, read stored views, and make the plan."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy import sparse

from rmgl.distributed.plan import Plan
from rmgl.distributed.workers import Workers
from rmgl.views.stored import named_views, read_stored, shape_of
from rmgl.views.views import Views

logger = logging.getLogger(__name__)
LONG = 100_000
"""Minimum number of rows for which a trial of under a second is timed, to log the search time."""


@contextmanager
def searching_on(client: Any, progress: bool = False) -> Iterator[Workers]:
    """Let the workers of a client search among rows that this process prepares."""
    workers = Workers.of(client, progress)
    with workers.until_stopped():
        yield workers


def loaded(X: Any, workers: Workers, labeled: bool = False) -> Any:
    """Read all stored views into this process. The workers compute Dask collections."""

    def read() -> Any:
        with workers.client.as_current():  # it may not be the default client
            return read_stored(X, labeled)

    return workers.attended(read)


def planned(X: Any, client: Any, n_neighbors: int, candidates: Any = "auto") -> Plan:
    """Return what a fit will need. Only the shapes of stored views are read."""
    workers = Workers.of(client)

    def shapes() -> list[tuple[int, int]]:
        with workers.client.as_current():
            return [shape_of(name, view) for name, view in named_views(X)]

    found = shapes_of(X) if isinstance(X, Views) else workers.attended(shapes)
    if not found:
        raise ValueError(
            "no plan can be made, because no view has rows to search: fit without workers"
        )
    n_rows = [rows for rows, _ in found]
    if len(set(n_rows)) > 1:
        raise ValueError(f"the views have {n_rows} rows: every view must have the same entities")
    return Plan.of(found, n_neighbors, candidates, workers)


def check_plan(views: Views, workers: Workers, n_neighbors: int, candidates: Any) -> None:
    """Log what a fit needs, and raise a MemoryError if the workers have too little memory."""
    shapes = shapes_of(views)
    if shapes:
        timed = views.n_rows >= LONG
        plan = Plan.of(shapes, n_neighbors, candidates, workers, timed=timed)
        logger.info("%s", plan)
        plan.check_workers()


def shapes_of(views: Views) -> list[tuple[int, int]]:
    """Return the numbers of rows and columns of the views that workers search.

    For a sparse view, the number of columns is twice the mean number of entries per row, because
    each entry also has an index.
    """
    n = views.n_rows
    matrices: list[Any] = [view.rows for view in views if view.rows is not None]
    return [(n, -(-2 * X.nnz // n) if sparse.issparse(X) else X.shape[1]) for X in matrices]
