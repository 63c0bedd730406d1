"""`Precomputed`: a view defined by distances, a kernel or similarities between the entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_numbers
from rmgl.matrix import Matrix, is_sparse
from rmgl.views.features import LARGEST_VALUE, check_columns
from rmgl.views.incomplete import Mask
from rmgl.views.pair_view import (
    DistanceView,
    check_not_negative,
    entries_of,
    observed_nodes,
    square_matrix,
)
from rmgl.views.view import Indices, View

Kind = Literal["distance", "squared", "kernel", "similarity"]
MATRIX_KINDS = get_args(Kind)
TOLERANCE = 1e-8
"""Share of the largest entry below which violations of equality or nonnegativity are tolerated."""


@dataclass(frozen=True, eq=False)
class Precomputed:
    """A view defined by a square matrix of distances or similarities between the entities.

    RMGL does not scale the matrix. It learns the view's layer from squared distances z_ij, which it
    computes from the entries m_ij:

    | kind | z_ij |
    |---|---|
    | "distance" | m_ij^2 |
    | "squared" | m_ij |
    | "kernel" | m_ii + m_jj - 2 m_ij |
    | "similarity" | the largest entry - m_ij |

    In a sparse matrix, pairs that are not stored are treated as far apart. Only stored pairs can
    carry weight, and the layer is exact over them. A pair may be stored in one or both directions.
    Entities without stored pairs are treated as missing from the view.

    Parameters
    ----------
    matrix : array, DataFrame or sparse matrix of shape (N, N)
        For `predict`, pass an (n, N) matrix of the entries between new entities and those in the
        fit.
    kind : {"distance", "squared", "kernel", "similarity"}
        Meaning of the entries; see the table above.
    diagonal : array of shape (n,), optional
        For new rows of a kernel, the kernel value of each new entity with itself. You can omit it
        if this value is the same for all entities in the fit.

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
        if self.kind not in MATRIX_KINDS:
            raise ValueError(
                f"Precomputed: kind={self.kind!r} is unknown; use one of "
                f"{', '.join(map(repr, MATRIX_KINDS))}"
            )

    def in_order(self, name: str, index: Sequence[Any]) -> Precomputed:
        """Return the matrix in the order of the entities, if it is a table with row labels."""
        table = self.matrix
        if not hasattr(table, "iloc") or list(table.index) == list(range(len(table))):
            return self
        labels, wanted = list(map(str, table.index)), list(map(str, index))
        if sorted(labels) != sorted(wanted) or len(set(labels)) < len(labels):
            both = [*wanted, *labels]
            odd = next(x for x in both if labels.count(x) != 1 or wanted.count(x) != 1)
            raise ValueError(
                f"view {name!r}: the labels of the {self.kind} matrix do not match the row "
                f"labels of the other views (first: {odd!r}): pass every entity exactly once"
            )
        places = {label: place for place, label in enumerate(labels)}
        order = [places[label] for label in wanted]
        return replace(self, matrix=self.matrix.iloc[order, order])

    def to_view(self, name: str, observed: Mask | None) -> PrecomputedView:
        """Return symmetric squared distances. Entities without distances count as missing."""
        what = f"the {self.kind} matrix"
        given = square_matrix(name, what, self.matrix)
        symmetric = both_directions if sparse.issparse(given) else check_symmetric
        given = symmetric(name, what, given)
        seen = observed_nodes(name, given.shape[0], observed)
        if self.kind != "kernel":
            check_not_negative(name, what, given)
        check_magnitude(name, what, given, self.kind)
        loops: NDArray[np.float64] = np.array(given.diagonal())
        if self.kind in ("distance", "squared") and loops.any():
            at = int(np.flatnonzero(loops)[0])
            raise ValueError(
                f"view {name!r}: entry ({at}, {at}) of {what} is {loops[at]:g}, but the "
                "distance from an entity to itself must be 0"
            )
        view = PrecomputedView(name, given, None, self.kind)
        if self.kind == "kernel":
            view = replace(view, loops=loops)
        if self.kind == "similarity":
            view = replace(view, ceiling=float(entries_of(given).max()))
        squared = view.squared(given, loops)
        if sparse.issparse(squared):
            squared, seen = _among(squared, seen)
        else:
            np.fill_diagonal(squared, 0.0)
            squared[~seen] = squared[:, ~seen] = 0.0
        if not entries_of(squared).any():
            raise ValueError(
                f"view {name!r}: all distances are zero, so it cannot separate clusters; "
                "leave it out"
            )
        return replace(view, matrix=squared, entities=None if seen.all() else np.flatnonzero(seen))


@record
@dataclass(frozen=True)
class PrecomputedView(DistanceView):
    """Squared distances computed from the matrix of a `Precomputed`."""

    kind: Kind = "distance"
    loops: NDArray[np.float64] | None = None
    """Kernel value of each entity with itself. None if the matrix is not a kernel."""
    ceiling: float = 0.0
    """Largest similarity."""

    def at(self, places: Indices) -> PrecomputedView:
        return self if self.loops is None else replace(self, loops=self.loops[places])

    def squared(self, given: Matrix, loops: NDArray[np.float64]) -> Matrix:
        """Return squared distances from rows of the specified kind.

        `loops` contains the kernel value of each row's entity with itself.
        """
        values = entries_of(given)
        if self.kind == "distance":
            squares = values**2
        elif self.kind == "kernel":
            squares = self._from_kernel(given, loops)
        elif self.kind == "similarity":
            squares = np.maximum(self.ceiling - values, 0.0)
        else:
            squares = values.copy()
        if not is_sparse(given):
            return squares
        return sparse.csr_array((squares, given.indices, given.indptr), shape=given.shape)

    def _from_kernel(self, given: Matrix, loops: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self.loops is not None
        if sparse.issparse(given):
            rows, columns = sparse.coo_array(given).coords
            total = loops[rows] + self.loops[columns]
        else:
            total = loops[:, None] + self.loops
        squares: NDArray[np.float64] = total - 2 * entries_of(given)
        if squares.size and squares.min() < -TOLERANCE * max(1e-300, float(np.abs(total).max())):
            raise ValueError(
                f"view {self.name!r}: the matrix has m_ii + m_jj - 2 m_ij = {squares.min():g} "
                "< 0 for some pair, so it is not a valid kernel: pass a positive semidefinite "
                "matrix with its diagonal, or use kind='similarity'"
            )
        return np.maximum(squares, 0.0)

    def against(self, given: Any) -> Any:
        if not isinstance(given, Precomputed):
            return super().against(given)
        if given.kind != self.kind:
            raise ValueError(
                f"view {self.name!r} is of kind {given.kind!r}, but was fitted on kind "
                f"{self.kind!r}: pass the same kind"
            )
        return given.matrix

    def squared_of_new(self, rows: View, given: Any) -> Matrix:
        check_columns(self, rows, self.n_rows)
        X = rows.matrix
        if not self.comparable and rows.gaps is None:
            X = sparse.csr_array(X)
        elif sparse.issparse(X):
            raise ValueError(
                f"view {self.name!r} was fitted on the {self.kind} for all pairs, but the new "
                "rows are sparse: pass all entries of the new rows"
            )
        if self.kind == "kernel":
            diagonal = given.diagonal if isinstance(given, Precomputed) else None
            return self.squared(X, self._loops_of_new(diagonal, X.shape[0]))
        check_not_negative(self.name, f"the {self.kind} of new rows", X)
        return self.squared(X, np.zeros(X.shape[0]))

    def _loops_of_new(self, diagonal: Any, n_new: int) -> NDArray[np.float64]:
        """Return the kernel value of each new entity with itself.

        The values may be omitted if they are equal for all entities in the fit.
        """
        assert self.loops is not None
        if diagonal is not None:
            loops = np.asarray(diagonal, dtype=np.float64)
        elif np.allclose(self.loops, self.loops[0], rtol=TOLERANCE):
            loops = np.full(n_new, self.loops[0])
        else:
            raise ValueError(
                f"view {self.name!r} is a kernel whose diagonal is not constant, so new "
                "entities need their diagonal values: pass "
                "rmgl.Precomputed(rows, kind='kernel', diagonal=...)"
            )
        if loops.shape != (n_new,):
            raise ValueError(
                f"view {self.name!r}: diagonal has shape {loops.shape} for {n_new} new rows: "
                "pass one number for each"
            )
        return loops

    def check(self, n_rows: int, most: float = np.inf) -> None:
        super().check(n_rows, most)
        if self.kind == "kernel":
            what = f"the kernel diagonal of view {self.name!r}"
            sound_numbers(what, self.loops, (n_rows,))
        if not np.isfinite(self.ceiling):
            raise Unsound(f"the largest similarity of view {self.name!r} is not finite")


def check_magnitude(name: str, what: str, X: Matrix, kind: str) -> None:
    """Raise a ValueError if a matrix has no entry, or entries too large or small to square."""
    values = entries_of(X)
    if values.size == 0:
        raise ValueError(f"view {name!r}: {what} contains no pairs of entities: leave the view out")
    largest = float(np.abs(values).max(initial=0.0))
    most = LARGEST_VALUE if kind == "distance" else LARGEST_VALUE**2
    if largest > most or 0 < largest < 1 / most:
        raise ValueError(
            f"view {name!r}: {what} has entries up to {largest:.0e}, too large or small for "
            "double precision: multiply it by a constant"
        )


def check_symmetric(name: str, what: str, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of X and its transpose, which may differ only by rounding errors."""
    apart = abs(X - X.T)
    if X.size and apart.max() > TOLERANCE * abs(X).max():
        row, column = divmod(int(apart.argmax()), X.shape[1])
        raise _not_symmetric(name, what, X, row, column)
    return (X + X.T) / 2


def both_directions(name: str, what: str, X: sparse.csr_array) -> sparse.csr_array:
    """Return a sparse matrix with every pair in both directions, including zero entries.

    If both directions are stored, they must agree.
    """
    n = X.shape[0]
    if not X.nnz:
        return sparse.csr_array(X.shape)
    rows, columns = (np.asarray(axis, dtype=np.int64) for axis in sparse.coo_array(X).coords)
    keys = np.concatenate([rows * n + columns, columns * n + rows])
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], np.concatenate([X.data, X.data])[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    last = np.r_[first[1:], keys.size] - 1
    apart = np.abs(values[first] - values[last])
    if apart.max() > TOLERANCE * np.abs(values).max():
        row, column = divmod(int(keys[first[apart.argmax()]]), n)
        raise _not_symmetric(name, what, X, row, column)
    pairs = keys[first]
    means = (values[first] + values[last]) / 2
    return sparse.csr_array((means, (pairs // n, pairs % n)), shape=X.shape)


def _not_symmetric(name: str, what: str, X: Matrix, row: int, column: int) -> ValueError:
    """Return an error that names the pair of entries with the largest difference."""
    one, other = X[row, column], X[column, row]
    return ValueError(
        f"view {name!r}: {what} is not symmetric: entry ({row}, {column}) is {one:g}, but "
        f"entry ({column}, {row}) is {other:g}, a difference of {abs(one - other):g}, the "
        "largest of all; if the difference does not matter, pass the mean of the matrix "
        "and its transpose"
    )


def _among(squared: sparse.csr_array, seen: Mask) -> tuple[sparse.csr_array, Mask]:
    """Return the observed pairs of different entities, and the entities that have any."""
    rows, columns = sparse.coo_array(squared).coords
    kept = (rows != columns) & seen[rows] & seen[columns]
    pairs = sparse.csr_array((squared.data[kept], (rows[kept], columns[kept])), shape=squared.shape)
    pairs.sort_indices()
    return pairs, np.diff(pairs.indptr) > 0
