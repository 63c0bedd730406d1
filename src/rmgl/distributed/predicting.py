"""Labels and embedding of new rows that are Dask arrays, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rmgl.distributed.sources import is_dask, refuse_delayed


def is_lazy(X: Any) -> bool:
    """Whether new rows are given as Dask arrays or DataFrames."""
    items = X.values() if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else [X]
    return any(map(is_dask, items))


def by_chunk(work: Callable[[Any], Any], X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The Dask array of work(views) for every chunk of rows; `shape` is that of the result of a row. All views must be Dask collections."""
    import dask
    from dask import array as dask_array

    array: Any = dask_array  # only parts of it have types
    delayed: Any = dask.delayed  # type: ignore[attr-defined]

    names = list(X) if isinstance(X, Mapping) else None
    items = list(X.values()) if isinstance(X, Mapping) else list(X) if isinstance(X, list | tuple) else [X]
    if not all(map(is_dask, items)):
        raise ValueError("some views are Dask collections and some are not: give all new rows as Dask arrays, or none")
    for place, item in enumerate(items):
        refuse_delayed(f"view_{place}" if names is None else str(names[place]), item)
    arrays = [item.to_dask_array(lengths=True) if hasattr(item, "to_dask_array") else item for item in items]
    arrays = [item.compute_chunk_sizes() if np.isnan(item.shape).any() else item for item in arrays]
    if len({item.shape[0] for item in arrays}) > 1:
        raise ValueError(f"the views have {[item.shape[0] for item in arrays]} rows: every view needs the same entities")
    rows = arrays[0].chunks[0]
    parts = [item.rechunk({0: rows, 1: -1}).to_delayed().ravel() for item in arrays]
    columns = [list(item.columns) if hasattr(item, "to_dask_array") else None for item in items]
    one = not isinstance(X, Mapping | list | tuple)
    function = delayed(work)
    task = delayed(work_on, pure=False)
    blocks = [
        array.from_delayed(task(function, list(part), columns, names, one), (n_rows, *shape), dtype=dtype)
        for n_rows, part in zip(rows, zip(*parts, strict=True), strict=True)
    ]
    return array.concatenate(blocks)


def work_on(work: Callable[[Any], Any], parts: list[Any], columns: list[Any], names: list[str] | None, one: bool) -> Any:
    """The work on one chunk of all views, in the form in which they were given: tables have their columns again."""
    import pandas as pd

    parts = [part if own is None else pd.DataFrame(part, columns=own).infer_objects() for part, own in zip(parts, columns, strict=True)]
    return work(parts[0] if one else parts if names is None else dict(zip(names, parts, strict=True)))
