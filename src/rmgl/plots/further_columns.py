"""Further columns that users give for the entities of a model, such as known classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def further_columns(columns: Any, n_rows: int) -> list[tuple[str, NDArray[Any]]]:
    """The names and values of the columns of a dict or table, one value for every entity."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise TypeError(
            f"columns is of type {type(columns).__name__}: give a dict or table of columns "
            "with one value for each entity"
        )
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    return [(str(name), _checked(str(name), columns[name], n_rows)) for name in names]


def _checked(name: str, given: Any, n_rows: int) -> NDArray[Any]:
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(
            f"columns: {name!r} has shape {values.shape}, but the model has {n_rows} "
            "entities: give one value for each"
        )
    return values


def matched_by_id(columns: Any, index: NDArray[Any] | None) -> Any:
    """A pandas table in the order of the entities, if its index has all of their ids; anything else
    as it is.
    """
    if index is None or not isinstance(columns, pd.DataFrame | pd.Series):
        return columns
    table = columns.to_frame() if isinstance(columns, pd.Series) else columns
    if not pd.Index(index).isin(table.index).all():
        return table
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise ValueError(f"columns have the id {twice!r} twice: give one row for each entity")
    return table.reindex(index)
