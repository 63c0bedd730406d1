"""Square views: a network, or the distances between all or some entities, in place of rows of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import sound_sparse
from rmgl.running.memory import require_memory
from rmgl.views.jaccard import binary, jaccard_distances
from rmgl.views.matrix import Matrix

Kind = Literal["network", "distance", "squared", "kernel", "similarity", "jaccard"]
SMALLEST_NETWORK = 10
ROUNDING = 1e-8
"""Share of the largest entry up to which a number that should be positive may be negative."""
MOST_EDGES = 0.2
"""Share of entries that are not zero up to which a square view may be a network."""


@record
@dataclass(frozen=True)
class Relation:
    """How the square matrix of a view is to be read.

    The matrix of a "network" holds edge weights. That of any other kind holds squared distances, which were computed from what was given;
    where it is sparse, entities without an entry are too far apart to be neighbors.
    """

    kind: Kind
    learn: bool = False
    """Whether the network is learned again on its edges."""
    two_steps: bool = False
    """Whether the neighbors of neighbors may get edges, too, if it is learned again."""
    loops: NDArray[np.float64] | None = None
    """The kernel of every entity with itself."""
    ceiling: float = 0.0
    """The largest similarity."""
    rows: Any = None
    """The rows of zeros and ones that Jaccard distances are taken between."""

    @property
    def is_network(self) -> bool:
        return self.kind == "network"

    @property
    def words(self) -> str:
        """What the view is, in reports."""
        if not self.is_network:
            return "jaccard" if self.kind == "jaccard" else "precomputed"
        return "network, learned again" if self.learn else "network"

    def in_order(self, order: NDArray[np.intp]) -> Relation:
        """The relation of entities in another order."""
        loops, rows = (None if values is None else values[order] for values in (self.loops, self.rows))
        return replace(self, loops=loops, rows=rows)

    def squared(self, name: str, given: Matrix, own: NDArray[np.float64]) -> Matrix:
        """Squared distances from rows of what was given; `own` is the kernel of the entity of each row with itself."""
        values = given.data if sparse.issparse(given) else given
        if self.kind == "distance":
            found = values**2
        elif self.kind == "kernel":
            assert self.loops is not None
            if sparse.issparse(given):
                rows, columns = sparse.coo_array(given).coords
                total = own[rows] + self.loops[columns]
            else:
                total = own[:, None] + self.loops
            found = total - 2 * values
            if found.size and found.min() < -ROUNDING * max(1e-300, float(np.abs(total).max())):
                raise ValueError(
                    f"view {name!r}: the kernel has m_ii + m_jj - 2 m_ij = {found.min():g} < 0 for some pair, so it is no kernel: give a "
                    "positive semidefinite matrix with its diagonal, or kind='similarity'"
                )
            found = np.maximum(found, 0.0)
        elif self.kind == "similarity":
            found = np.maximum(self.ceiling - values, 0.0)
        else:
            found = values.copy()
        return sparse.csr_array((found, given.indices, given.indptr), shape=given.shape) if sparse.issparse(given) else found

    def squared_of_new(self, name: str, given: Matrix, own: Any = None) -> Matrix:
        """Squared distances of new entities to the fitted ones, from rows of the same kind as was fitted."""
        if self.kind == "jaccard":
            needed = 24 * given.shape[0] * self.rows.shape[0]
            require_memory(needed, f"view {name!r}: the Jaccard distances of new rows", "give fewer rows at once")
            return jaccard_distances(binary(name, given), self.rows)
        loops = np.zeros(given.shape[0])
        if self.kind == "kernel":
            assert self.loops is not None
            loops = np.full(given.shape[0], self.loops[0]) if own is None else np.asarray(own, dtype=np.float64)
            if own is None and not np.allclose(self.loops, self.loops[0], rtol=ROUNDING):
                raise ValueError(
                    f"view {name!r} is a kernel whose diagonal is not constant, so the kernel of each new entity with itself is needed: "
                    "give rmgl.Precomputed(rows, kind='kernel', diagonal=...)"
                )
            if loops.shape != (given.shape[0],):
                raise ValueError(f"view {name!r}: diagonal has shape {loops.shape} for {given.shape[0]} new rows: give one number for each")
        else:
            check_not_negative(name, f"the {self.kind} of new rows", given)
        return self.squared(name, given, loops)


def square_matrix(name: str, what: str, given: Any) -> Matrix:
    """A square matrix of finite numbers, dense or CSR, float64; the caller's own is not changed. Errors name the view."""
    X = given.to_numpy() if hasattr(given, "to_numpy") else given
    if sparse.issparse(X):
        X = sparse.csr_array(sound_sparse(f"view {name!r}", X), copy=True)
        X.sum_duplicates()
        if X.dtype.kind not in "biuf":
            raise ValueError(f"view {name!r}: {what} holds values of type {X.dtype}, but numbers are needed")
        X = X.astype(np.float64)
        values = X.data
    else:
        try:
            X = values = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"view {name!r}: {what} does not hold numbers ({error}): give a square matrix of numbers") from error
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(f"view {name!r}: {what} has shape {X.shape}, but must be square, with one row and one column for each entity")
    if not np.isfinite(values).all():
        raise ValueError(f"view {name!r}: {what} holds NaN or infinity: replace them; where an entity is missing, say so with observed=")
    return X


def check_symmetric(name: str, what: str, X: Matrix, advice: str) -> Matrix:
    """The mean of X and its transpose, after a check that they differ by rounding errors only; the error tells the largest difference."""
    difference = abs(X - X.T)
    largest = float(difference.max()) if X.shape[0] else 0.0
    scale = float(abs(X).max()) if X.shape[0] else 0.0
    if largest > 1e-8 * scale:
        place = difference.argmax()
        row, column = np.unravel_index(int(place), X.shape)
        raise ValueError(
            f"view {name!r}: {what} is not symmetric: entry ({row}, {column}) is {X[row, column]:g}, but entry ({column}, {row}) is "
            f"{X[column, row]:g}, a difference of {largest:g}, the largest of all: {advice}"
        )
    halved = (X + X.T) / 2
    return sparse.csr_array(halved) if sparse.issparse(halved) else halved


def check_not_negative(name: str, what: str, X: Matrix) -> None:
    """Raise a ValueError that names the first negative entry."""
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        rows, columns = np.nonzero(X.toarray() < 0 if sparse.issparse(X) and X.shape[0] <= 1000 else X < 0)
        raise ValueError(
            f"view {name!r}: {what} has {rows.size} negative entries (first: entry ({rows[0]}, {columns[0]}) is "
            f"{float(X[rows[0], columns[0]]):g}): they must be >= 0"
        )


def observed_nodes(name: str, n_rows: int, observed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """The mask of observed entities, all if none is given."""
    if observed is not None and observed.size != n_rows:
        raise ValueError(f"observed has {observed.size} truth values for the {n_rows} entities of view {name!r}: give one for each")
    return np.ones(n_rows, dtype=bool) if observed is None else observed


def looks_like_network(X: Matrix) -> bool:
    """Whether rows of features look like the adjacency matrix of a network: square, symmetric, mostly zeros, >= 0, with a zero diagonal."""
    if X.shape[0] != X.shape[1] or X.shape[0] < SMALLEST_NETWORK:
        return False
    entries = sparse.csr_array(X)
    share = entries.count_nonzero() / X.shape[0] ** 2
    if not 0 < share <= MOST_EDGES or entries.data.min() < 0 or entries.diagonal().any():
        return False
    return bool(abs(entries - entries.T).max() == 0)
