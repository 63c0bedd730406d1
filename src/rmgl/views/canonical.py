"""The order in which entities are worked on: by what the data say about them, not by where they stand.

Sums, samples, start vectors and ties among equals depend on the order of rows. A fit therefore sorts the entities by a key of their content
first, and returns its results in the order of the caller: the same entities in another order have the same result, to the last bit.

    key_i = sum_m h(s_m, sum_j h(c_mj, x_ij) - h(c_mj, 0))        c_mj = sum_i h(0, x_ij) - h(0, 0)        modulo 2^64

with h a hash of two numbers, c a number for every column and s one for every view, which are sums over rows. Sums do not depend on the
order of their terms, so keys change neither with the order of the rows nor with that of the columns or views, and zeros and constant
columns add nothing. In networks and given distances, where columns are entities, the keys of the others take the place of c, again and
again until that tells no more entities apart. Entities of one key are copies in all views; nothing may treat these differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.views.views import Views

Keys = NDArray[np.uint64]
BLOCK = 1 << 16
"""Entries that are hashed at once, which stay in the cache."""
MISSING = np.uint64(0x7FF8_0000_0000_0001)
"""What a missing cell counts as: a number that is no number."""
ROUNDS = 32
"""How often the keys of others enter those of an entity, at the most."""


@dataclass(frozen=True)
class Canonical:
    """The entities of the caller sorted by their keys."""

    order: NDArray[np.intp]
    """The rows of the caller, in the order in which they are worked on."""
    alike: NDArray[np.intp] | None
    """Numbers of the entities in that order, the same for those that are copies in all views (None: there are none)."""

    @property
    def keeps_order(self) -> bool:
        """Whether the entities stand in that order already."""
        return bool((np.diff(self.order) > 0).all())

    @classmethod
    def of(cls, keys: Keys) -> Canonical:
        order = np.argsort(keys, kind="stable")
        first = np.concatenate([[True], np.diff(keys[order]) > 0])
        return cls(order, None if first.all() else np.cumsum(first) - 1)


def alike_among(alike: NDArray[np.intp] | None, entities: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """The numbers of some of the entities (None: all), from 0 on and the same for copies."""
    if alike is None or entities is None:
        return alike
    numbers: NDArray[np.intp] = np.unique(alike[entities], return_inverse=True)[1]
    return numbers


def canonical_order(views: Views, known: NDArray[np.intp] | None = None) -> Canonical:
    """The entities sorted by their keys; `known` labels are part of what is known about them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> first, second = (Views.of({"a": rows}) for rows in (X, X[::-1]))
    >>> bool((X[canonical_order(first).order] == X[::-1][canonical_order(second).order]).all())
    True
    """
    features = [view for view in range(len(views.names)) if views.relation(view) is None]
    parts = [mixed(0, bits(known)) if known is not None else np.zeros(views.n_rows, dtype=np.uint64)]
    for view in features:
        keys = salted(row_keys(views.matrices[view], views.missing_cells(view)))
        parts.append(np.where(views.mask(view), keys, np.uint64(0)))
    keys = combined(parts)
    squares = [views.matrices[view] for view in range(len(views.names)) if view not in features]
    return Canonical.of(refined(keys, squares) if squares else keys)


def salted(keys: Keys) -> Keys:
    """The keys of the rows of one view, such that those of another one add something else."""
    return mixed(keys.sum(dtype=np.uint64), keys)


def combined(parts: list[Keys]) -> Keys:
    """The sum of keys from several sources."""
    total: Keys = np.sum(parts, axis=0, dtype=np.uint64)
    return total


def bits(values: Any) -> Keys:
    """The bits of numbers in double precision; minus zero is zero."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def mixed(salt: Any, values: Keys) -> Keys:
    """A hash of two numbers, by the steps of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        x = (values ^ np.asarray(salt, dtype=np.uint64)) + np.uint64(0x9E37_79B9_7F4A_7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58_476D_1CE4_E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D0_49BB_1331_11EB)
        x ^= x >> np.uint64(31)
    return x


OF_ZERO = mixed(0, np.zeros(1, dtype=np.uint64))


def row_keys(X: Any, gaps: NDArray[np.bool_] | None = None) -> Keys:
    """A key of every row of a matrix, dense or sparse, that does not depend on the order of rows or columns."""
    if sparse.issparse(X):
        return sparse_keys(X)
    varies = (X[:1] != X).any(axis=0) if gaps is None else np.ones(X.shape[1], dtype=bool)
    return keys_by_columns(X, column_numbers(X, gaps), varies, gaps)


def column_numbers(X: NDArray[np.float64], gaps: NDArray[np.bool_] | None = None) -> Keys:
    """The numbers c of the columns of a dense matrix; those of several matrices with the same columns add up."""
    total = np.zeros(X.shape[1], dtype=np.uint64)
    for _, entries in blocks_of(X, gaps):
        total += (mixed(0, entries) - OF_ZERO).sum(axis=0, dtype=np.uint64)
    return total


def keys_by_columns(X: NDArray[np.float64], numbers: Keys, varies: NDArray[np.bool_], gaps: NDArray[np.bool_] | None = None) -> Keys:
    """The keys of the rows of a dense matrix, from the numbers of its columns and which of these vary."""
    keys, of_zero = np.empty(X.shape[0], dtype=np.uint64), mixed(numbers, np.zeros(1, dtype=np.uint64))
    for some, entries in blocks_of(X, gaps):
        keys[some] = ((mixed(numbers, entries) - of_zero) * varies).sum(axis=1, dtype=np.uint64)
    return keys


def blocks_of(X: NDArray[np.float64], gaps: NDArray[np.bool_] | None) -> Iterator[tuple[slice, Keys]]:
    """The bits of the entries of a dense matrix, some rows at a time."""
    size = max(1, BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], size):
        some = slice(start, start + size)
        yield some, bits_of(X[some], None if gaps is None else gaps[some])


def bits_of(X: NDArray[np.float64], gaps: NDArray[np.bool_] | None) -> Keys:
    found = bits(X)
    return found if gaps is None else np.where(gaps, MISSING, found)


def sparse_keys(X: Any) -> Keys:
    """The keys of the rows of a sparse matrix: entries that are not stored add nothing."""
    entries = bits(X.data)
    by_column, counts = np.argsort(X.indices, kind="stable"), np.bincount(X.indices, minlength=X.shape[1])
    total = run_sums((mixed(0, entries) - OF_ZERO)[by_column], np.concatenate([[0], np.cumsum(counts)]))
    of_zero = mixed(total, np.zeros(1, dtype=np.uint64))
    return run_sums(mixed(total[X.indices], entries) - of_zero[X.indices], X.indptr)


def run_sums(values: Keys, starts: NDArray[Any]) -> Keys:
    """Sums modulo 2^64 of the values between consecutive starts."""
    sums: Keys = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: Keys = sums[starts[1:]] - sums[starts[:-1]]
    return found


def refined(keys: Keys, squares: list[Any]) -> Keys:
    """Keys that also depend on the keys of others, by the entries of square matrices, until that tells no more entities apart."""
    n_different = np.unique(keys).size
    for _ in range(ROUNDS):
        parts = [mixed(1, keys)]
        for X in squares:
            of_others = mixed(2, keys)
            if sparse.issparse(X):
                found = run_sums(mixed(of_others[X.indices], bits(X.data)), X.indptr)
            else:
                found = np.array([mixed(of_others, bits(row)).sum(dtype=np.uint64) for row in X])
            parts.append(salted(found))
        keys = combined(parts)
        n_now = np.unique(keys).size
        if n_now in (n_different, keys.size):
            break
        n_different = n_now
    return keys
