"""Names of entities and further columns that users give for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.page.elements import readable, shortened

MOST_CATEGORIES = 200
"""Different texts of a column that are told apart; the rarer ones are shown as "other"."""


@dataclass(frozen=True)
class GivenColumn:
    """A column to color points by: numbers, or codes of categories."""

    name: str
    values: NDArray[np.float32] | NDArray[np.uint16]
    categories: list[str] | None
    """The texts that the codes stand for; None for numbers."""


def check_ids(ids: Any, index: NDArray[Any] | None, n_rows: int) -> list[str] | None:
    """The names of the entities: those given, or else the row labels of the fit (None: there are none)."""
    if ids is None:
        return None if index is None else [shortened(str(name)) for name in index]
    if isinstance(ids, str) or not hasattr(ids, "__len__"):
        raise TypeError(f"ids is of type {type(ids).__name__}: give a list or array with one name for each of the {n_rows} entities")
    if len(ids) != n_rows:
        raise ValueError(f"ids has {len(ids)} names, but the model has {n_rows} entities: give one name for each")
    return [shortened(str(name)) for name in ids]


def check_columns(columns: Any, n_rows: int) -> list[GivenColumn]:
    """The columns of a dict or table, each with one value for every entity."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise TypeError(f"columns is of type {type(columns).__name__}: give a dict or table of columns with one value for each entity")
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    return [_checked(str(name), columns[name], n_rows) for name in names]


def _checked(name: str, given: Any, n_rows: int) -> GivenColumn:
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"columns: {name!r} has shape {values.shape}, but the model has {n_rows} entities: give one value for each")
    if values.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float32)
        return GivenColumn(readable(name), np.where(np.isfinite(numbers), numbers, np.float32(np.nan)), None)
    return _categories(readable(name), [str(value) for value in values])


def _categories(name: str, texts: Sequence[str]) -> GivenColumn:
    found, codes, counts = np.unique(np.array(texts, dtype=object), return_inverse=True, return_counts=True)
    if found.size <= MOST_CATEGORIES:
        return GivenColumn(name, codes.astype(np.uint16), [shortened(text) for text in found])
    common = np.argsort(-counts, kind="stable")[: MOST_CATEGORIES - 1]
    renamed = np.full(found.size, MOST_CATEGORIES - 1)
    renamed[common] = np.arange(common.size)
    return GivenColumn(name, renamed[codes].astype(np.uint16), [*(shortened(text) for text in found[common]), "other"])
