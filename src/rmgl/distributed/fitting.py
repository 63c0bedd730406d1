"""What a fit on a cluster begins with: views on the workers, checked and scaled, and the spaces that layers are learned in."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rmgl.distributed.cluster import NEEDS_DASK, Cluster
from rmgl.distributed.plan import Plan
from rmgl.distributed.rows import Tiling
from rmgl.distributed.sources import all_here, is_stored
from rmgl.distributed.spaces import DistributedSpaces
from rmgl.distributed.views import (
    StoredViews,
    canonical_of,
    check_empty_rows,
    check_numbers,
    chosen_scale,
    fitted_scaler,
    in_order,
    index_of,
    named_views,
    scaled_views,
    sources_of,
    views_from,
)
from rmgl.edges.candidates import first_length, searched_length
from rmgl.edges.local_scaling import LISTED
from rmgl.running.checkpoint import Checkpoint
from rmgl.views.canonical import Canonical
from rmgl.views.scaling import Scaler
from rmgl.views.views import Views

logger = logging.getLogger(__name__)
LONG = 100_000
"""Rows from which the plan that a fit logs says how many minutes the search takes, from a trial of less than a second."""


@dataclass(frozen=True)
class Prepared:
    """The scaled views of a fit on a cluster."""

    views: Views
    scales: list[tuple[str, str]]
    scalers: list[Scaler]
    spaces: DistributedSpaces
    named: list[tuple[str, Any]]
    cluster: Cluster
    length: int
    """How many neighbors the candidate lists begin with."""
    canonical: Canonical
    """The order of the rows in which the workers have them. The labels of the views are in the order of the caller."""

    def kept(self) -> Views | StoredViews:
        """What a model keeps of its rows: those that are in this process if all are; or else where they are stored."""
        stored = StoredViews(self.named, tuple(self.scalers), tuple(view.columns for view in self.views), self.views.index)
        return stored if any(is_stored(X) for _, X in self.named) else stored.rows

    def digests(self) -> dict[str, Any]:
        """Numbers that differ for other data, for a checkpoint."""
        return {name: matrix.digest() for name, matrix in zip(self.views.names, self.views.matrices, strict=True)}


def wants_cluster(X: Any) -> bool:
    """Whether views can only be read by workers of a cluster: one of them is a Dask collection, a zarr array or a path."""
    if isinstance(X, Views):
        return False
    items = X.values() if isinstance(X, dict) else X if isinstance(X, list | tuple) else [X]
    return any(map(is_stored, items))


def default_client() -> Any:
    """The current client of this process."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(NEEDS_DASK) from error
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "a view is a Dask collection, a zarr array or a path, which the workers of a cluster read, but there is no client: create one "
            "with dask.distributed.Client(), or load the view into memory"
        ) from error


def planned(X: Any, client: Any, n_neighbors: int, candidates: Any = "auto") -> Plan:
    """What a fit will need; nothing but the shapes of the views is read."""
    cluster, named = Cluster.of(client), named_views(X)
    shapes = [source.shape for source in sources_of(named, cluster, None)]
    index_of(X, named)
    return Plan.of(shapes, listed_length(candidates, shapes[0][0], n_neighbors), n_neighbors, cluster)


def expected_length(n_rows: int, n_neighbors: int) -> int:
    """How many neighbors candidate lists begin with."""
    return max(LISTED, searched_length(first_length(np.empty((n_rows, 0)), None, n_neighbors)))


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
    tiling: Tiling | None = None,
    chunk_rows: int | None = None,
) -> Iterator[Prepared]:
    """Views on the cluster of a client, as long as the block lasts, if the workers have enough memory for them.

    `n_neighbors` is the number of neighbors that nodes are to keep, and `candidates` the length of the lists to begin with; a
    checkpoint keeps the results of searches; `tiling` and `chunk_rows` say how rows are cut.
    """
    cluster = Cluster.of(client, progress)
    named = named_views(X)
    with TemporaryDirectory(prefix="rmgl-") as folder:
        shared = Path(folder) if all_here(cluster) else None
        sources = sources_of(named, cluster, shared, chunk_rows)
        length = first_lists(candidates, sources[0].shape[0], n_neighbors)
        shapes = [source.shape for source in sources]
        plan = Plan.of(shapes, length, n_neighbors, cluster, tiling, timed=shapes[0][0] >= LONG)
        logger.info("%s", plan)
        plan.check()
        index = index_of(X, named)
        with cluster.until_stopped():
            views = views_from(named, sources, cluster, index)
            del sources
            check_numbers(views)
            check_empty_rows(views)
            canonical = canonical_of(views)
            views = views if canonical.keeps_order else in_order(views, canonical.order)
            asked = views.asked_scales(scale)
            scales = [chosen_scale(matrix) if how == "auto" else (how, "given") for how, matrix in zip(asked, views.matrices, strict=True)]
            scalers = [fitted_scaler(name, how, matrix) for name, (how, _), matrix in zip(views.names, scales, views.matrices, strict=True)]
            scaled = scaled_views(views, scalers)
            del views  # Dask forgets the rows that were not scaled, but not how to read them
            spaces = DistributedSpaces.on_cluster(scaled, tiling, checkpoint)
            yield Prepared(scaled, scales, scalers, spaces, named, cluster, length, canonical)
        logger.info("%s", cluster.traffic)


def listed_length(candidates: Any, n_rows: int, n_neighbors: int) -> int:
    """How many neighbors of every row a fit on a cluster is to search for: local scaling needs some in any case."""
    if isinstance(candidates, str) and candidates == "auto":
        return expected_length(n_rows, n_neighbors)
    if not isinstance(candidates, Integral) or isinstance(candidates, bool) or int(candidates) < 1:
        raise ValueError(
            f"candidates={candidates!r} is not possible on a cluster, which searches exactly: use 'auto' or a number of neighbors"
        )
    return max(LISTED, int(candidates))


def first_lists(candidates: Any, n_rows: int, n_neighbors: int) -> int:
    """How many neighbors the candidate lists of a fit on a cluster begin with."""
    length = listed_length(candidates, n_rows, n_neighbors)
    if length >= n_rows - 1:
        raise ValueError(f"{n_rows} rows are too few for a cluster and lists of {length} neighbors: fit without client=")
    return length
