"""Column blocks: several views in one 2-D input, as needed in a scikit-learn Pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.checks import sound_sparse


def split_columns(data: Any, blocks: Any) -> list[tuple[str, Any]]:
    """Split one 2-D input into named views by its column blocks.

    Blocks are sizes, slices, or lists of column names or positions.
    """
    if isinstance(blocks, str) or not isinstance(blocks, Mapping | Sequence | np.ndarray):
        raise ValueError(
            f"views={blocks!r} is not a list or dict of column blocks; pass block sizes, "
            "slices, or lists of column names or positions"
        )
    if not isinstance(blocks, Mapping):
        blocks = {f"view_{m}": part for m, part in enumerate(blocks)}
    names, parts = list(map(str, blocks)), list(blocks.values())
    columns = getattr(data, "columns", None)
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    if len(data.shape) != 2:
        raise ValueError(
            f"views= requires one 2-D input, but the input has {len(data.shape)} dimension(s): "
            "pass one array or table"
        )
    if parts and all(isinstance(part, Integral) for part in parts):
        parts = _slices(parts, data.shape[1])
    where = [
        _positions(name, part, data.shape[1], columns)
        for name, part in zip(names, parts, strict=True)
    ]
    if sparse.issparse(data):
        data = sound_sparse("the input", data)
    table = data.iloc if hasattr(data, "iloc") else data
    return [(name, table[:, places]) for name, places in zip(names, where, strict=True)]


def _slices(sizes: Sequence[int], width: int) -> list[slice]:
    """Return the slices for blocks of these sizes in an input with `width` columns."""
    if sum(sizes) != width or min(sizes) < 1:
        raise ValueError(
            f"views={sizes} describes {sum(sizes)} columns, but the input has {width}: "
            "block sizes must be at least 1 and add up to the number of columns"
        )
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]


def _positions(name: str, part: Any, width: int, columns: Any) -> NDArray[np.intp]:
    """Return the column positions of one block in an input with `width` columns."""
    if isinstance(part, slice):
        ends = (part.start, part.stop, part.step)
        if not all(end is None or isinstance(end, Integral) for end in ends):
            raise ValueError(
                f"views: block {name!r} is {part!r}, but slices need positions; to select "
                "by name, list the column names"
            )
        return np.arange(width)[part]
    if isinstance(part, str | bytes) or not isinstance(part, Sequence | np.ndarray):
        raise ValueError(
            f"views: block {name!r} is {part!r}; pass block sizes, slices, or lists of "
            "column names or positions"
        )
    if len(part) and all(isinstance(column, bool | np.bool_) for column in part):
        if len(part) != width:
            raise ValueError(
                f"views: block {name!r} is a mask of length {len(part)}, but the input "
                f"has {width} columns; pass one entry per column"
            )
        return np.flatnonzero(part)
    return _named_positions(name, part, width, [] if columns is None else list(columns))


def _named_positions(
    name: str, part: Iterable[Any], width: int, columns: list[Any]
) -> NDArray[np.intp]:
    """Return the positions of a block's columns, each specified by name or position."""
    known = {column: position for position, column in enumerate(columns)}
    where = []
    for column in part:
        if column in known and columns.count(column) > 1:
            raise ValueError(
                f"views: block {name!r} names column {column!r}, which occurs more than "
                "once; select it by position"
            )
        if column in known:
            where.append(known[column])
        elif isinstance(column, int | np.integer) and 0 <= column < width:
            where.append(int(column))
        else:
            raise ValueError(
                f"views: block {name!r} names column {column!r}, which the input does not "
                f"have; check the spelling, or use positions from 0 to {width - 1}"
            )
    return np.array(where, dtype=np.intp)
