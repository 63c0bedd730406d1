"""`StoredViews`: views that a fitted model reads from where they are stored, when it needs them."""

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
    """The views of a fit whose rows are not in this process; they are read and scaled on demand."""

    named: list[tuple[str, Any]]
    """The name of each view, and where it is stored."""
    scalers: tuple[Scaler, ...]
    columns: tuple[tuple[str, ...] | None, ...]
    index: NDArray[Any] | None
    read: Callable[[str, Any], NDArray[np.float64]]
    """read(name, X): all rows of a view that is stored at X."""

    @property
    def column_names(self) -> dict[str, tuple[str, ...]]:
        """The names of the columns of each view; none where they have no names."""
        names = self.columns or (None,) * len(self.named)
        return {name: own or () for (name, _), own in zip(self.named, names, strict=True)}

    @cached_property
    def rows(self) -> Views:
        """All rows, which are read into this process when they are first needed."""
        raw = [self.read(name, X) for name, X in self.named]
        views = [
            FeatureView(name, np.ascontiguousarray(scaler(X)), scaler=scaler)
            for (name, _), X, scaler in zip(self.named, raw, self.scalers, strict=True)
        ]
        return Views(tuple(views), self.index).with_columns(self.columns)
