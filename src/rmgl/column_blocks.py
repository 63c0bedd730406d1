"""The column blocks of one 2-D input: how several views travel through a Pipeline as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import sound_sparse


def split_columns(data: Any, blocks: Any) -> list[tuple[str, Any]]:
    """The column blocks of one 2-D input: sizes, slices, or lists of column names or positions."""
    if isinstance(blocks, str) or not isinstance(blocks, Mapping | Sequence | np.ndarray):
        raise ValueError(
            f"views={blocks!r} is no list or dict of column blocks: give block sizes, slices, or lists of column names or positions"
        )
    names = list(map(str, blocks)) if isinstance(blocks, Mapping) else [f"view_{m}" for m in range(len(blocks))]
    parts = list(blocks.values()) if isinstance(blocks, Mapping) else list(blocks)
    columns = getattr(data, "columns", None)
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise ValueError(f"views= needs one 2-D input, but the input has {len(data.shape)} dimension(s)")
    if parts and all(isinstance(part, Integral) for part in parts):
        if sum(parts) != data.shape[1] or min(parts) < 1:
            raise ValueError(
                f"views={parts} are {sum(parts)} columns in blocks, but the input has {data.shape[1]}: sizes must be >= 1 and add up"
            )
        ends = np.cumsum(parts)
        parts = [slice(int(end - size), int(end)) for end, size in zip(ends, parts, strict=True)]
    positions = [_positions(name, part, data.shape[1], columns) for name, part in zip(names, parts, strict=True)]
    table = data.iloc if hasattr(data, "iloc") else sound_sparse("the input", data) if sparse.issparse(data) else data
    return [(name, table[:, where]) for name, where in zip(names, positions, strict=True)]


def _positions(name: str, part: Any, width: int, columns: Any) -> NDArray[np.intp]:
    if isinstance(part, slice):
        if not all(end is None or isinstance(end, Integral) for end in (part.start, part.stop, part.step)):
            raise ValueError(f"views: block {name!r} is {part!r}; slices take positions, so list the column names instead")
        return np.arange(width)[part]
    if isinstance(part, str) or not isinstance(part, Sequence | np.ndarray) or isinstance(part, bytes):
        raise ValueError(f"views: block {name!r} is {part!r}; give block sizes, slices, or lists of column names or positions")
    if len(part) and all(isinstance(column, bool | np.bool_) for column in part):
        if len(part) != width:
            raise ValueError(f"views: block {name!r} is a mask of {len(part)} columns, but the input has {width}")
        return np.flatnonzero(part)
    known = {column: place for place, column in enumerate(columns)} if columns is not None else {}
    where = []
    for column in part:
        if column in known and list(columns).count(column) > 1:
            raise ValueError(f"views: block {name!r} names column {column!r}, which stands more than once: use positions")
        if column in known:
            where.append(known[column])
        elif isinstance(column, int | np.integer) and 0 <= column < width:
            where.append(int(column))
        else:
            raise ValueError(f"views: block {name!r} names column {column!r}, which the input does not have")
    return np.array(where, dtype=np.intp)
