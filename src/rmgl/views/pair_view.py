"""Views of pairs: a square matrix of data about pairs of entities instead of rows of features.

`PairView` is the base of all such views, and `DistanceView` the base of views of squared distances.
The functions below check the square matrices that users pass.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from rmgl.checks import Unsound, sound_sparse
from rmgl.edges.space import Listed, Square
from rmgl.matrix import Matrix, as_dense, is_sparse, square_in_order
from rmgl.running.threads import Check, InParts, one_part
from rmgl.views.canonical import row_keys
from rmgl.views.features import FeatureView, no_rows
from rmgl.views.incomplete import Mask
from rmgl.views.view import Comparing, Indices, View


@dataclass(frozen=True)
class PairView(View):
    """A symmetric matrix >= 0 with a zero diagonal, and zeros for pairs with missing entities."""

    def own(self) -> Matrix:
        return self.matrix if self.entities is None else self._among(self.entities)

    def _among(self, entities: Indices) -> Matrix:
        return self.matrix[entities][:, entities]

    def of(self, entities: Indices) -> Self:
        matrix, present = self._among(entities), self._entities_of(entities)
        return replace(self.at(entities), matrix=matrix, entities=present)

    def in_order(self, order: Indices) -> Self:
        matrix, present = square_in_order(self.matrix, order), self._entities_in(order)
        return replace(self.at(order), matrix=matrix, entities=present)

    def at(self, places: Indices) -> Self:
        """Return the view with its additional data restricted to these entities."""
        return self

    def again(self, rows: View | None, n_new: int) -> FeatureView:
        return no_features(rows, self.name, n_new)

    def check(self, n_rows: int, most: float = np.inf) -> None:
        X, what = self.matrix, f"view {self.name!r}"
        if getattr(X, "shape", None) != (n_rows, n_rows):
            raise Unsound(f"{what} is not a square matrix ({self.words})")
        X = sound_sparse(what, X) if sparse.issparse(X) else X
        values = entries_of(X)
        negative = values.size and values.min() < 0
        if not np.isfinite(values).all() or negative or X.diagonal().any():
            raise Unsound(f"{what} has a negative or infinite entry, or a nonzero diagonal")
        if (X - X.T).max() > 0:
            raise Unsound(f"{what} is not symmetric")
        super().check(n_rows, most)


@dataclass(frozen=True)
class DistanceView(PairView):
    """A symmetric matrix of squared distances, with zeros for pairs with missing entities."""

    @property
    def comparable(self) -> bool:
        return not sparse.issparse(self.matrix)

    def points(self) -> Square | Listed:
        return square_space(self.own())

    def whole_space(self) -> Square | Listed:
        return square_space(self.matrix)

    def square(self, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
        return Square(self.matrix) if self.comparable else None

    def without_clusters(
        self, normal: NDArray[np.float64], random_state: np.random.RandomState
    ) -> Self | None:
        """Return the distances within a single normal cloud, estimated from the points with these
        distances.
        """
        if not self.comparable:
            return None
        places = np.arange(self.n_rows) if self.entities is None else self.entities
        Z = self.matrix[places][:, places]
        if 2 * np.unique(row_keys(Z)).size <= len(Z):
            return None  # a table with few categories looks clustered
        means = Z.mean(axis=0)
        values, vectors = np.linalg.eigh((means[:, None] + means - Z - means.mean()) / 2)
        Y = normal[places][:, places] @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        matrix = np.zeros_like(self.matrix)
        matrix[np.ix_(places, places)] = cdist(Y, Y, "sqeuclidean") / len(places)
        return replace(self, matrix=matrix)

    @property
    def words(self) -> str:
        return "precomputed"

    @property
    @abstractmethod
    def kind(self) -> str:
        """Kind of the distances, or of the data from which they were computed."""

    @property
    def described(self) -> str:
        if self.comparable:
            return f"{self.kind} for all pairs"
        return f"{self.kind} for {sparse.csr_array(self.matrix).nnz // 2} pairs"

    @property
    def made_from(self) -> str:
        return f"a precomputed matrix of kind {self.kind!r}"

    @abstractmethod
    def squared_of_new(self, rows: View, given: Any) -> Matrix:
        """Return the squared distances between new entities and all entities in this view, from
        validated rows.
        """

    def new(self, rows: View | None, n_new: int, given: Any = None) -> FeatureView:
        if rows is None:
            return no_rows(self.name, n_new, self.n_rows, sparse.issparse(self.matrix))
        squared, present = self.squared_of_new(rows, given), rows.mask
        if is_sparse(squared):
            present &= np.diff(squared.indptr) > 0
        return FeatureView(self.name, squared, np.flatnonzero(present), gaps=rows.gaps)

    def comparing(self) -> Comparing:
        return given_distances


def square_space(X: Matrix) -> Square | Listed:
    """Return the space of precomputed squared distances, dense or sparse."""
    return Listed(X) if sparse.issparse(X) else Square(X)


def given_distances(new: FeatureView) -> NDArray[np.float64]:
    """Return the distances in new rows. They are infinite where a sparse row has no entry."""
    X = new.matrix
    if not sparse.issparse(X):
        return np.asarray(X)
    entries = sparse.coo_array(X)
    distances = np.full(X.shape, np.inf)
    distances[entries.coords] = entries.data
    return distances


def no_features(rows: View | None, name: str, n_new: int) -> FeatureView:
    """Return entities of a view without features. `rows` indicates which were passed."""
    entities = np.empty(0, dtype=np.intp) if rows is None else rows.entities
    return FeatureView(name, np.zeros((n_new, 0)), entities)


# Square matrices that users pass


def entries_of(X: Matrix) -> NDArray[np.float64]:
    """Return the entries of a dense matrix, or the stored entries of a sparse matrix."""
    return X.data if is_sparse(X) else X


def square_matrix(name: str, what: str, given: Any) -> Matrix:
    """Copy a square matrix of finite numbers as float64, dense or CSR. Errors name the view."""
    X = given.to_numpy() if hasattr(given, "to_numpy") else given
    if sparse.issparse(X):
        X = sparse.csr_array(sound_sparse(f"view {name!r}", X), copy=True)
        X.sum_duplicates()
        if X.dtype.kind not in "biuf":
            raise ValueError(
                f"view {name!r}: {what} has values of type {X.dtype}, but must be numeric"
            )
        X = X.astype(np.float64)
    else:
        try:
            X = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"view {name!r}: {what} is not numeric ({error}); pass a square matrix of numbers"
            ) from error
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"view {name!r}: {what} has shape {X.shape}, but must be square, with one row "
            "and one column per entity"
        )
    if not np.isfinite(entries_of(X)).all():
        raise ValueError(
            f"view {name!r}: {what} contains NaN or infinity; replace them, or mark missing "
            "entities with observed="
        )
    return X


def check_not_negative(name: str, what: str, X: Matrix) -> None:
    """Raise a ValueError that names the first negative entry."""
    values = entries_of(X)
    if values.size and values.min() < 0:
        is_small = sparse.issparse(X) and X.shape[0] <= 1000
        rows, columns = np.nonzero((as_dense(X) if is_small else X) < 0)
        first = float(X[rows[0], columns[0]])
        raise ValueError(
            f"view {name!r}: {what} has {rows.size} negative entries (first: entry "
            f"({rows[0]}, {columns[0]}) is {first:g}): they must be >= 0"
        )


def observed_nodes(name: str, n_rows: int, observed: Mask | None) -> Mask:
    """Return the mask of observed entities. Without a mask, all entities are observed."""
    if observed is not None and observed.size != n_rows:
        raise ValueError(
            f"observed has {observed.size} values for the {n_rows} entities of view {name!r}: "
            "pass one Boolean value for each entity"
        )
    return np.ones(n_rows, dtype=bool) if observed is None else observed
