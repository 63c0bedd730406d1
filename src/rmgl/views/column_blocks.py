"""Column blocks: several views in one 2-D input, as a scikit-learn Pipeline needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import sound_sparse


def split_columns(data: Any, blocks: Any) -> list[tuple[str, Any]]:
    """Split one 2-D input into named views by its column blocks: sizes, slices, or lists of column names or positions."""
    if isinstance(blocks, str) or not isinstance(blocks, Mapping | Sequence | np.ndarray):
        raise ValueError(
            f"views={blocks!r} is not a list or dict of column blocks: give block sizes, slices, or lists of column names or positions"
        )
    names = list(map(str, blocks)) if isinstance(blocks, Mapping) else [f"view_{m}" for m in range(len(blocks))]
    parts = list(blocks.values()) if isinstance(blocks, Mapping) else list(blocks)
    columns = getattr(data, "columns", None)
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise ValueError(f"views= needs one 2-D input, but the input has {len(data.shape)} dimension(s): pass one array or table")
    if parts and all(isinstance(part, Integral) for part in parts):
        if sum(parts) != data.shape[1] or min(parts) < 1:
            raise ValueError(
                f"views={parts} describes {sum(parts)} columns, but the input has {data.shape[1]}: "
                "block sizes must be at least 1 and add up to the number of columns"
            )
        ends = np.cumsum(parts)
        parts = [slice(int(end - size), int(end)) for end, size in zip(ends, parts, strict=True)]
    positions = [_positions(name, part, data.shape[1], columns) for name, part in zip(names, parts, strict=True)]
    table = data.iloc if hasattr(data, "iloc") else sound_sparse("the input", data) if sparse.issparse(data) else data
    return [(name, table[:, where]) for name, where in zip(names, positions, strict=True)]


def _positions(name: str, part: Any, width: int, columns: Any) -> NDArray[np.intp]:
    """The column positions of one block of an input of `width` columns."""
    if isinstance(part, slice):
        if not all(end is None or isinstance(end, Integral) for end in (part.start, part.stop, part.step)):
            raise ValueError(f"views: block {name!r} is {part!r}: slices take positions; to select by name, list the column names")
        return np.arange(width)[part]
    if isinstance(part, str) or not isinstance(part, Sequence | np.ndarray) or isinstance(part, bytes):
        raise ValueError(f"views: block {name!r} is {part!r}: give block sizes, slices, or lists of column names or positions")
    if len(part) and all(isinstance(column, bool | np.bool_) for column in part):
        if len(part) != width:
            raise ValueError(
                f"views: block {name!r} is a mask of length {len(part)}, but the input has {width} columns: give one entry for each column"
            )
        return np.flatnonzero(part)
    known = {column: position for position, column in enumerate(columns)} if columns is not None else {}
    where = []
    for column in part:
        if column in known and list(columns).count(column) > 1:
            raise ValueError(f"views: block {name!r} names column {column!r}, which occurs more than once: select it by position")
        if column in known:
            where.append(known[column])
        elif isinstance(column, int | np.integer) and 0 <= column < width:
            where.append(int(column))
        else:
            raise ValueError(
                f"views: block {name!r} names column {column!r}, which the input does not have: "
                f"check the spelling, or use positions from 0 to {width - 1}"
            )
    return np.array(where, dtype=np.intp)
