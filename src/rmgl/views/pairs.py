"""`PairView`: a square matrix of what is known about pairs of entities, in place of rows of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from rmgl.checks import Unsound, sound_sparse
from rmgl.matrix import Matrix, square_in_order
from rmgl.views.features import FeatureView, no_features
from rmgl.views.view import Indices, View


@dataclass(frozen=True)
class PairView(View):
    """A symmetric matrix >= 0 with a zero diagonal; rows and columns of missing entities are zero."""

    def own(self) -> Matrix:
        return self.matrix if self.entities is None else self.matrix[self.entities][:, self.entities]

    def of(self, entities: Indices) -> Self:
        matrix = self.matrix[entities][:, entities]
        return replace(self, matrix=matrix, entities=self._entities_of(entities), **self.parts_of(entities))

    def in_order(self, order: Indices) -> Self:
        return replace(self, matrix=square_in_order(self.matrix, order), entities=self._entities_in(order), **self.parts_of(order))

    def parts_of(self, places: Indices) -> dict[str, Any]:
        """The other fields that hold something about every entity, for those at the given places."""
        return {}

    def again(self, rows: View | None, n_new: int) -> FeatureView:
        return no_features(rows, self.name, n_new)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        X, what = self.matrix, f"view {self.name!r}"
        if getattr(X, "shape", None) != (n_rows, n_rows):
            raise Unsound(f"{what} is no square matrix of a {self.words}")
        entries = sound_sparse(what, X) if sparse.issparse(X) else X
        values = entries.data if sparse.issparse(entries) else entries
        if not np.isfinite(values).all() or (values.size and values.min() < 0) or entries.diagonal().any():
            raise Unsound(f"{what} has a negative or infinite entry, or one that is not zero on its diagonal")
        if (entries - entries.T).max() > 0:
            raise Unsound(f"{what} is not symmetric")
        super().check(n_rows, most)
