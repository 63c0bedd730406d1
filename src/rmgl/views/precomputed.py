"""`Precomputed`: distances, kernels or similarities between the entities, given as a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.matrix import Matrix
from rmgl.views.distances import DistanceView
from rmgl.views.features import check_columns
from rmgl.views.square import check_not_negative, check_symmetric, observed_nodes, square_matrix
from rmgl.views.view import Indices, View

Kind = Literal["distance", "squared", "kernel", "similarity"]
KINDS = get_args(Kind)
ROUNDING = 1e-8
"""Share of the largest entry up to which a number that should be zero or positive may be negative."""


@dataclass(frozen=True, eq=False)
class Precomputed:
    """A view that is a square matrix of distances or similarities between the entities. It is not scaled.

    The layer of the view is learned from squared distances z_ij, which are computed from the entries m_ij:

    | kind | z_ij |
    |---|---|
    | "distance" | m_ij^2 |
    | "squared" | m_ij |
    | "kernel" | m_ii + m_jj - 2 m_ij |
    | "similarity" | the largest entry - m_ij |

    In a sparse matrix, what is absent means far: only the pairs that are given can carry weight, and the layer is exact over these. A pair
    may be given in one direction or in both. Entities without any pair are missing from the view.

    Parameters
    ----------
    matrix : array, DataFrame or sparse matrix of shape (N, N)
        For `predict`, the rows of new entities against the fitted ones: (n, N).
    kind : {"distance", "squared", "kernel", "similarity"}
    diagonal : array of shape (n,), optional
        For new rows of a kernel: the kernel of each new entity with itself. It may be left out if all fitted ones have the same.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import RMGL, Precomputed
    >>> x = np.array([0.0, 0.2, 0.3, 5.0, 5.1, 5.3])
    >>> D = abs(x[:, None] - x)
    >>> model = RMGL(2, random_state=0).fit({"a": Precomputed(D)})
    >>> model.predict({"a": abs(np.array([[4.9]]) - x)}) == model.labels_[-1]
    array([ True])
    """

    matrix: Any = field(repr=False)
    kind: Kind = "distance"
    diagonal: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Precomputed: kind={self.kind!r} is not known: use one of {', '.join(map(repr, KINDS))}")

    def in_order(self, name: str, index: Sequence[Any]) -> Precomputed:
        """This matrix with its rows and columns in the order of the entities, if it is a table with labels."""
        if not hasattr(self.matrix, "iloc") or list(self.matrix.index) == list(range(len(self.matrix))):
            return self
        labels, wanted = [str(label) for label in self.matrix.index], [str(label) for label in index]
        if sorted(labels) != sorted(wanted) or len(set(labels)) < len(labels):
            odd = next((label for label in [*wanted, *labels] if labels.count(label) != 1 or wanted.count(label) != 1), labels[0])
            raise ValueError(
                f"view {name!r}: the labels of the {self.kind} matrix are not those of the rows of the other views (first: {odd!r}): "
                "give the same entities, each once"
            )
        places = {label: place for place, label in enumerate(labels)}
        order = [places[label] for label in wanted]
        return replace(self, matrix=self.matrix.iloc[order, order])

    def to_view(self, name: str, observed: NDArray[np.bool_] | None) -> PrecomputedView:
        """Squared distances, symmetric with a zero diagonal; entities without any are missing."""
        what = f"the {self.kind} matrix"
        given = square_matrix(name, what, self.matrix)
        given = both_directions(name, what, given) if sparse.issparse(given) else check_symmetric(name, what, given, ADVICE)
        seen = observed_nodes(name, given.shape[0], observed)
        if self.kind != "kernel":
            check_not_negative(name, what, given)
        check_magnitude(name, what, given, self.kind)
        loops: NDArray[np.float64] = np.array(given.diagonal())
        if self.kind in ("distance", "squared") and loops.any():
            at = int(np.flatnonzero(loops)[0])
            raise ValueError(f"view {name!r}: entry ({at}, {at}) of {what} is {loops[at]:g}, but the distance of an entity to itself is 0")
        ceiling = float(entries_of(given).max()) if self.kind == "similarity" else 0.0
        view = PrecomputedView(name, given, None, self.kind, loops if self.kind == "kernel" else None, ceiling)
        squared = view.squared(given, loops)
        if sparse.issparse(squared):
            squared, present = _among(squared, seen)
        else:
            np.fill_diagonal(squared, 0.0)
            squared[~seen] = squared[:, ~seen] = 0.0
            present = seen
        if not entries_of(squared).any():
            raise ValueError(f"view {name!r}: all distances are zero, so it cannot separate clusters; leave it out")
        return replace(view, matrix=squared, entities=None if present.all() else np.flatnonzero(present))


@record
@dataclass(frozen=True)
class PrecomputedView(DistanceView):
    """Squared distances that were computed from what a `Precomputed` holds."""

    kind: Kind = "distance"
    loops: NDArray[np.float64] | None = None
    """The kernel of every entity with itself."""
    ceiling: float = 0.0
    """The largest similarity."""

    def parts_of(self, places: Indices) -> dict[str, Any]:
        return {"loops": None if self.loops is None else self.loops[places]}

    def squared(self, given: Matrix, own: NDArray[np.float64]) -> Matrix:
        """Squared distances from rows of what was given; `own` is the kernel of the entity of each row with itself."""
        values = entries_of(given)
        if self.kind == "distance":
            found = values**2
        elif self.kind == "kernel":
            found = self._from_kernel(given, own)
        elif self.kind == "similarity":
            found = np.maximum(self.ceiling - values, 0.0)
        else:
            found = values.copy()
        return sparse.csr_array((found, given.indices, given.indptr), shape=given.shape) if sparse.issparse(given) else found

    def _from_kernel(self, given: Matrix, own: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self.loops is not None
        if sparse.issparse(given):
            rows, columns = sparse.coo_array(given).coords
            total = own[rows] + self.loops[columns]
        else:
            total = own[:, None] + self.loops
        found: NDArray[np.float64] = total - 2 * entries_of(given)
        if found.size and found.min() < -ROUNDING * max(1e-300, float(np.abs(total).max())):
            raise ValueError(
                f"view {self.name!r}: the kernel has m_ii + m_jj - 2 m_ij = {found.min():g} < 0 for some pair, so it is no kernel: give a "
                "positive semidefinite matrix with its diagonal, or kind='similarity'"
            )
        return np.maximum(found, 0.0)

    def against(self, given: Any) -> Any:
        if not isinstance(given, Precomputed):
            return super().against(given)
        if given.kind != self.kind:
            raise ValueError(f"view {self.name!r} is of kind {given.kind!r}, but was fitted on kind {self.kind!r}: give the same kind")
        return given.matrix

    def squared_of_new(self, rows: View, given: Any) -> Matrix:
        check_columns(self, rows, self.n_rows)
        X = rows.matrix
        if not self.comparable and rows.gaps is None:
            X = sparse.csr_array(X)
        elif sparse.issparse(X):
            raise ValueError(
                f"view {self.name!r} was fitted on the {self.kind} of all pairs, but new rows are sparse: give all their entries"
            )
        if self.kind == "kernel":
            return self.squared(X, self._loops_of_new(given.diagonal if isinstance(given, Precomputed) else None, X.shape[0]))
        check_not_negative(self.name, f"the {self.kind} of new rows", X)
        return self.squared(X, np.zeros(X.shape[0]))

    def _loops_of_new(self, diagonal: Any, n_new: int) -> NDArray[np.float64]:
        """The kernel of each new entity with itself, which may be left out if it is the same for all fitted ones."""
        assert self.loops is not None
        loops = np.full(n_new, self.loops[0]) if diagonal is None else np.asarray(diagonal, dtype=np.float64)
        if diagonal is None and not np.allclose(self.loops, self.loops[0], rtol=ROUNDING):
            raise ValueError(
                f"view {self.name!r} is a kernel whose diagonal is not constant, so the kernel of each new entity with itself is needed: "
                "give rmgl.Precomputed(rows, kind='kernel', diagonal=...)"
            )
        if loops.shape != (n_new,):
            raise ValueError(f"view {self.name!r}: diagonal has shape {loops.shape} for {n_new} new rows: give one number for each")
        return loops

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        if self.kind == "kernel":
            sound_numbers(f"the kernel of the entities of view {self.name!r} with themselves", self.loops, (n_rows,))
        if not np.isfinite(self.ceiling):
            raise Unsound(f"the largest similarity of view {self.name!r} is not finite")


def entries_of(X: Matrix) -> NDArray[np.float64]:
    """The entries of a dense matrix, and those that a sparse one stores."""
    values: NDArray[np.float64] = X.data if sparse.issparse(X) else X
    return values


LARGEST = 1e70
"""Distances whose squares, squared again in the dual, do not overflow; the smallest is the inverse of it."""


def check_magnitude(name: str, what: str, X: Matrix, kind: str) -> None:
    """Raise a ValueError if a matrix has no entry, or entries too large or small to square."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    most = LARGEST if kind == "distance" else LARGEST**2
    if values.size == 0:
        raise ValueError(f"view {name!r}: {what} has no pair of entities: leave the view out")
    if largest > most or 0 < largest < 1 / most:
        raise ValueError(
            f"view {name!r}: {what} has entries up to {largest:.0e}, too large or small for double precision: multiply it by a constant"
        )


ADVICE = "give the mean of the matrix and its transpose, if the difference does not matter"


def both_directions(name: str, what: str, X: sparse.csr_array) -> sparse.csr_array:
    """A sparse matrix with every pair in both directions; where both are given they must agree. Entries that are zero stay."""
    n = X.shape[0]
    rows, columns = (np.asarray(axis, dtype=np.int64) for axis in sparse.coo_array(X).coords)
    keys, values = np.concatenate([rows * n + columns, columns * n + rows]), np.concatenate([X.data, X.data])
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if keys.size else np.empty(0, dtype=np.int64)
    last = np.r_[first[1:], keys.size] - 1 if keys.size else first
    apart = np.abs(values[first] - values[last])
    if apart.size and apart.max() > ROUNDING * np.abs(values).max():
        at = int(apart.argmax())
        row, column = divmod(int(keys[first[at]]), n)
        raise ValueError(
            f"view {name!r}: {what} is not symmetric: entry ({row}, {column}) is {X[row, column]:g}, but entry ({column}, {row}) is "
            f"{X[column, row]:g}, a difference of {apart[at]:g}, the largest of all: {ADVICE}"
        )
    pairs = keys[first]
    return sparse.csr_array(((values[first] + values[last]) / 2, (pairs // n, pairs % n)), shape=X.shape)


def _among(squared: sparse.csr_array, seen: NDArray[np.bool_]) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """The pairs of different entities that are seen, and the entities that have any."""
    rows, columns = sparse.coo_array(squared).coords
    kept = (rows != columns) & seen[rows] & seen[columns]
    pairs = sparse.csr_array((squared.data[kept], (rows[kept], columns[kept])), shape=squared.shape)
    pairs.sort_indices()
    return pairs, np.diff(pairs.indptr) > 0
