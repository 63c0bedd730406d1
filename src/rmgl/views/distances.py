"""`DistanceView`: squared distances between all entities or, in a sparse matrix, between some; others are too far to be neighbors.

A kind of distances derives from it: it says how it is described, and how the distances of new entities are found.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.listed import Listed
from rmgl.edges.space import Square
from rmgl.matrix import Matrix
from rmgl.running.threads import Check, InParts, one_part
from rmgl.views.features import FeatureView, no_rows
from rmgl.views.pairs import PairView
from rmgl.views.view import Comparing, View


@dataclass(frozen=True)
class DistanceView(PairView):
    """A symmetric matrix of squared distances with a zero diagonal; those of missing entities are zero."""

    @property
    def comparable(self) -> bool:
        return not sparse.issparse(self.matrix)

    def points(self) -> Square | Listed:
        return square_space(self.own())

    def whole_space(self) -> Square | Listed:
        return square_space(self.matrix)

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
        return Square(self.matrix) if self.comparable else None

    @property
    def words(self) -> str:
        return "precomputed"

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the distances are, or were made from."""

    @property
    def described(self) -> str:
        return f"{self.kind} of all pairs" if self.comparable else f"{self.kind} of {self.matrix.nnz // 2} pairs"

    @property
    def made_from(self) -> str:
        return f"the {self.kind} of pairs"

    @abstractmethod
    def squared_of_new(self, rows: View, given: Any) -> Matrix:
        """The squared distances of new entities to all of this view, from checked rows of what was fitted."""

    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        if rows is None:
            return no_rows(self.name, n_new, self.n_rows, sparse.issparse(self.matrix))
        squared, present = self.squared_of_new(rows, given), rows.mask
        if sparse.issparse(squared):
            present &= np.diff(squared.indptr) > 0
        return FeatureView(self.name, squared, np.flatnonzero(present), gaps=rows.gaps)

    def comparing(self) -> Comparing:
        return given_distances


def square_space(X: Matrix) -> Square | Listed:
    """The space of given squared distances, dense or sparse."""
    return Listed(X) if sparse.issparse(X) else Square(X)


def given_distances(new: FeatureView) -> NDArray[np.float64]:
    """The distances that new rows are; infinite where a sparse row has no entry."""
    X = new.matrix
    if not sparse.issparse(X):
        return np.asarray(X)
    entries = sparse.coo_array(X)
    distances = np.full(X.shape, np.inf)
    distances[entries.coords] = entries.data
    return distances
