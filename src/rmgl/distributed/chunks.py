"""Label and embed Dask collections of new rows with a fitted model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rmgl.views.check_view import given_items, is_dask
from rmgl.views.stored import refuse_delayed


def by_chunk(work: Callable[[Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return the Dask array of work(views) for every chunk of rows.

    `shape` is the shape of the result for a single row. All views must be Dask collections.
    """
    import dask
    from dask import array as dask_array

    array: Any = dask_array  # only parts of it are typed
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
            "some views are Dask collections and some are not: pass either all new rows as Dask "
            "arrays, or none of them"
        )
    arrays = []
    for place, item in enumerate(items):
        refuse_delayed(f"view_{place}" if names is None else str(names[place]), item)
        rows = item.to_dask_array(lengths=True) if hasattr(item, "to_dask_array") else item
        arrays.append(rows.compute_chunk_sizes() if np.isnan(rows.shape).any() else rows)
    lengths = [rows.shape[0] for rows in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"the views have {lengths} rows: every view must have the same entities")
    return arrays


def work_on(
    work: Callable[[Any], Any],
    chunks: list[Any],
    columns: list[Any],
    names: list[str] | None,
    alone: bool,
) -> Any:
    """Do the work on one chunk of all views, in the form in which the user passed them."""
    import pandas as pd

    parts = [
        chunk if labels is None else pd.DataFrame(chunk, columns=labels).infer_objects()
        for chunk, labels in zip(chunks, columns, strict=True)
    ]
    if alone:
        return work(parts[0])
    return work(parts if names is None else dict(zip(names, parts, strict=True)))
