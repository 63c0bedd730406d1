"""Additional columns that users pass for the entities of a model, such as known classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmgl.matrix import Indices


def further_columns(columns: Any, n_rows: int) -> list[tuple[str, NDArray[Any]]]:
    """Return the names and values of the columns of a dict or table, with one value per entity."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise TypeError(
            f"columns is of type {type(columns).__name__}; pass a dict or table of "
            "columns with one value per entity"
        )
    names = list(columns) if isinstance(columns, Mapping) else list(columns.columns)
    return [(str(name), _checked(str(name), columns[name], n_rows)) for name in names]


def _checked(name: str, given: Any, n_rows: int) -> NDArray[Any]:
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(
            f"columns: {name!r} has shape {values.shape}, but the model has {n_rows} "
            "entities; pass one value per entity"
        )
    return values


def matched_by_id(columns: Any, index: NDArray[Any] | None) -> Any:
    """Reorder a pandas table to the order of the entities if both have ids. Entities without a row
    get missing values. Other inputs are returned unchanged.
    """
    if not isinstance(columns, pd.DataFrame | pd.Series):
        return columns
    table = columns.to_frame() if isinstance(columns, pd.Series) else columns
    places = places_by_id(table.index, index, "columns")
    if places is None:
        return table
    absent = int((places < 0).sum())
    if absent:
        warnings.warn(
            f"columns have no rows for {absent} of the {places.size} entities, whose values are "
            "treated as missing",
            UserWarning,
            stacklevel=3,
        )
    return table.reindex(index)


def places_by_id(given: pd.Index, index: NDArray[Any] | None, what: str) -> Indices | None:
    """Return the position of every entity among the ids, -1 if it is absent. None if rows are
    matched by position, because the model has no ids or the rows are only numbered.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> places_by_id(pd.Index(["b", "a"]), np.array(["a", "b", "c"]), "columns").tolist()
    [1, 0, -1]
    >>> places_by_id(pd.RangeIndex(3), np.array(["a", "b", "c"]), "columns")
    """
    if index is None:
        return None
    if not given.is_unique:
        twice = given[given.duplicated()][0]
        raise ValueError(f"{what}: the id {twice!r} occurs twice; pass one row per entity")
    places: Indices = given.get_indexer(pd.Index(index))
    if (places >= 0).all():
        return places
    if isinstance(given, pd.RangeIndex):
        return None
    if (places < 0).all():
        raise ValueError(
            f"{what}: none of the ids belongs to the model, whose ids look like {index[0]!r} (the "
            f"first id here is {given[0]!r}); pass rows for the same entities"
        )
    return places
