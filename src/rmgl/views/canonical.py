"""The order in which entities are worked on: by what the data say about them, not by where they stand.

Sums, samples, start vectors and ties among equals depend on the order of rows. A fit therefore sorts the entities by a key of their content
first, and returns its results in the order of the caller: the same entities in another order have the same result, to the last bit.

    key_i = sum_j h(j, x_ij) - h(j, 0)        modulo 2^64

with h a hash of two numbers and j the columns of all views, one after the other: zeros add nothing, so sparse matrices have the same keys.
In networks and given distances, where columns are entities, the keys of the others take the place of j, again and again until that tells no
more entities apart. Where all views have rows, entities of one key are copies in all of them; nothing may treat these differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    parts = [np.zeros(views.n_rows, dtype=np.uint64) if known is None else mixed(1, bits(known))]
    for view in features:
        keys = row_keys(views.matrices[view], views.missing_cells(view), view)
        parts.append(np.where(views.mask(view), keys, np.uint64(0)))
    squares = [views.matrices[view] for view in range(len(views.names)) if view not in features]
    if not squares:
        return Canonical.of(combined(parts))
    return replace(Canonical.of(refined(combined(parts), squares)), alike=None)


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


ZERO = np.zeros(1, dtype=np.uint64)


def row_keys(X: Any, gaps: NDArray[np.bool_] | None = None, view: int = 0) -> Keys:
    """A key of every row of a matrix, dense or sparse; those of several views add up."""
    columns = mixed(0, np.arange(X.shape[1], dtype=np.uint64) + np.uint64(view << 40))
    of_zero = mixed(columns, ZERO)
    if sparse.issparse(X):
        return run_sums(mixed(columns[X.indices], bits(X.data)) - of_zero[X.indices], X.indptr)
    keys, size = np.empty(X.shape[0], dtype=np.uint64), max(1, BLOCK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], size):
        some = slice(start, start + size)
        entries = bits(X[some]) if gaps is None else np.where(gaps[some], MISSING, bits(X[some]))
        keys[some] = (mixed(columns, entries) - of_zero).sum(axis=1, dtype=np.uint64)
    return keys


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
            parts.append(mixed(len(parts), found))
        keys = combined(parts)
        n_now = np.unique(keys).size
        if n_now in (n_different, keys.size):
            break
        n_different = n_now
    return keys
