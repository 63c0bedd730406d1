"""`StoredViews`: views that a fitted model reads from their storage on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.views.features import FeatureView
from rmgl.views.scaling import Scaler
from rmgl.views.views import Views


@dataclass(frozen=True)
class StoredViews:
    """Views of a fit with rows outside of this process. They are read and scaled on demand."""

    named: list[tuple[str, Any]]
    """Name and storage location of each view."""
    scalers: tuple[Scaler, ...]
    columns: tuple[tuple[str, ...] | None, ...]
    index: NDArray[Any] | None
    read: Callable[[str, Any], NDArray[np.float64]]
    """Function read(name, X) that returns all rows of a view stored at X."""

    @property
    def column_names(self) -> dict[str, tuple[str, ...]]:
        """Column names of each view. Empty if the columns have no names."""
        names = self.columns or (None,) * len(self.named)
        return {name: own or () for (name, _), own in zip(self.named, names, strict=True)}

    @cached_property
    def rows(self) -> Views:
        """All rows, read into this process on first access."""
        raw = [self.read(name, X) for name, X in self.named]
        views = [
            FeatureView(name, np.ascontiguousarray(scaler(X)), scaler=scaler)
            for (name, _), X, scaler in zip(self.named, raw, self.scalers, strict=True)
        ]
        return Views(tuple(views), self.index).with_columns(self.columns)
