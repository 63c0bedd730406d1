"""The order in which entities are worked on: by what the data say about them, not by where they stand.

Sums, samples, start vectors and ties among equals depend on the order of rows. A fit therefore sorts the entities by their content first,
and returns its results in the order of the caller: the same entities in another order have the same result, to the last bit.

They are sorted by a random projection, sum_m x_mi'r_m over the views m, which puts similar rows near each other; those that it cannot tell
apart, by a hash of their rows. In networks and given distances, where columns are entities, the hash is of the entries of a row and the
hashes of the other entities, again and again until that tells no more entities apart. That cannot begin in a regular graph: there the
hashes of walks do. Nodes that can be exchanged without changing the network have no order of their own, and any of them comes first. Where
all views have rows, entities with the same projection and hash are copies in all views; nothing may treat these differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.views.hashing import Keys, Vector, bits, mixed
from rmgl.views.views import Views

ROUNDS = 32
"""How often the keys of others may enter those of an entity, whatever it costs,"""
WORK = 1 << 22
"""and how many entries may be looked at in all where that is more; also multiplications that count walks."""


@dataclass(frozen=True)
class Canonical:
    """The entities of the caller in canonical order."""

    order: NDArray[np.intp]
    """The rows of the caller, in the order in which they are worked on."""
    alike: NDArray[np.intp] | None
    """Numbers of the entities in that order, the same for those that are copies in all views (None: there are none)."""

    @classmethod
    def of(cls, places: Vector, keys: Keys) -> Canonical:
        """Sort entities by their places, and those in the same place by their keys."""
        order = np.lexsort((keys, places))
        first = np.concatenate([[True], (np.diff(places[order]) != 0) | (np.diff(keys[order]) != 0)])
        return cls(order, None if first.all() else np.cumsum(first) - 1)

    @property
    def keeps_order(self) -> bool:
        """Whether the entities stand in that order already."""
        return bool((np.diff(self.order) > 0).all())


def alike_among(alike: NDArray[np.intp] | None, entities: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """The numbers of some of the entities (None: all), from 0 on and the same for copies."""
    if alike is None or entities is None:
        return alike
    numbers: NDArray[np.intp] = np.unique(alike[entities], return_inverse=True)[1]
    return numbers


def canonical_order(views: Views, known: NDArray[np.intp] | None = None, graphs: Sequence[sparse.csr_array] = ()) -> Canonical:
    """The canonical order of entities; `known` labels, and given `graphs` of candidate pairs, are part of what is known about them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> first, second = (Views.of({"a": rows}) for rows in (X, X[::-1]))
    >>> bool((X[canonical_order(first).order] == X[::-1][canonical_order(second).order]).all())
    True
    """
    squares = [view.relating for view in views if view.relating is not None]
    given = np.zeros(views.n_rows) if known is None else known.astype(np.float64)
    places = added([given, *(view.projected(place) for place, view in enumerate(views))])
    unclear = np.arange(views.n_rows) if squares else tied(places)
    keys = np.zeros(views.n_rows, dtype=np.uint64)
    for place, view in enumerate(views):
        keys[unclear] += view.keys(unclear, place)
    keys += mixed(0, bits(given))
    if squares:
        return Canonical(Canonical.of(np.zeros(views.n_rows), told_apart(keys, [*squares, *graphs])).order, None)
    found = Canonical.of(places, keys)
    if found.alike is None or not graphs:
        return found
    return Canonical(Canonical.of(places, told_apart(mixed(bits(places), keys), list(graphs))).order, None)


def tied(places: Vector | Keys) -> NDArray[np.intp]:
    """The entities in a place with others."""
    _, group, counts = np.unique(places, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[group] > 1)


def added(parts: Sequence[Vector]) -> Vector:
    """The sum of the projections of all views, in their order; a number where they are too large to add."""
    with np.errstate(over="ignore", invalid="ignore"):
        total: Vector = np.nan_to_num(np.add.reduce(list(parts), axis=0))
        return total


def run_sums(values: Keys, starts: NDArray[Any]) -> Keys:
    """Sums modulo 2^64 of the values between consecutive starts."""
    sums: Keys = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: Keys = sums[starts[1:]] - sums[starts[:-1]]
    return found


def told_apart(keys: Keys, squares: list[Any]) -> Keys:
    """Keys that also depend on the entries of square matrices, different for all entities as far as `WORK` allows.

    Where neither the keys of others nor walks tell entities apart, any of them is chosen, which tells others apart, and so on. If they can
    be exchanged without changing the matrices, each choice leads to the same matrices in the order of the keys.
    """
    affordable = WORK // (keys.size + sum(X.nnz if sparse.issparse(X) else X.size for X in squares))
    keys, left = refined(keys, squares, max(ROUNDS, affordable))
    if n_different(keys) < keys.size:
        keys = with_numbers_of_twins(keys, squares)
    if n_different(keys) < keys.size:
        keys, left = refined(by_walks(keys, squares), squares, left)
    rounds = min(left, affordable)
    while rounds > 0 and (unclear := tied(keys)).size:
        keys[unclear[keys[unclear].argmin()]] ^= np.uint64(1)
        keys, rounds = refined(keys, squares, rounds)
    return keys


def n_different(keys: Keys) -> int:
    """How many different keys there are."""
    return int(np.unique(keys).size)


def refined(keys: Keys, squares: list[Any], rounds: int) -> tuple[Keys, int]:
    """Keys that also depend on the keys of others, until that tells no more entities apart (color refinement); and the rounds left."""
    n_before = n_different(keys)
    while rounds > 0:
        rounds -= 1
        keys = mixed(1, keys) + of_others(mixed(2, keys), squares)
        n_now = n_different(keys)
        if n_now in (n_before, keys.size):
            break
        n_before = n_now
    return keys, rounds


def of_others(keys: Keys, squares: list[Any]) -> Keys:
    """A hash, for every entity, of the entries in its rows of square matrices with the keys of the others."""
    parts = list[Keys]()
    for X in squares:
        if sparse.issparse(X):
            found = run_sums(mixed(keys[X.indices], bits(X.data)), X.indptr)
        else:
            found = np.array([mixed(keys, bits(row)).sum(dtype=np.uint64) for row in X])
        parts.append(mixed(len(parts) + 1, found))
    total: Keys = np.sum(parts, axis=0, dtype=np.uint64)
    return total


def with_numbers_of_twins(keys: Keys, squares: list[Any]) -> Keys:
    """Different keys for twins, which have the same rows in all square matrices and can be exchanged whatever else is."""
    rows = of_others(mixed(6, np.arange(keys.size, dtype=np.uint64)), squares)
    order = np.lexsort((rows, keys))
    first = np.concatenate([[True], (np.diff(keys[order]) != 0) | (np.diff(rows[order]) != 0)])
    number = np.empty_like(keys)
    number[order] = np.arange(keys.size) - np.maximum.accumulate(np.where(first, np.arange(keys.size), 0))
    return mixed(number, keys)


def by_walks(keys: Keys, squares: list[Any]) -> Keys:
    """Keys that also depend on the walks of 2, 4, 8, ... steps to other entities in sparse matrices, until they tell all entities apart.

    Color refinement cannot tell the nodes of a regular graph apart; the short cycles through them can. Walks are counted modulo 2^64, and
    the counts are hashed before they are multiplied again, as pairs are in the Weisfeiler-Leman algorithm of dimension two.
    """
    walks = sparse.diags_array(mixed(3, keys), dtype=np.uint64, format="csr")
    for salt, X in enumerate(filter(sparse.issparse, squares), start=4):
        walks = walks + sparse.csr_array((mixed(salt, bits(X.data)), X.indices, X.indptr), shape=X.shape)
    told = (0, 0)
    while told < (now := (walks.nnz, n_different(keys))) and now[1] < keys.size and multiplications(walks) <= WORK:
        told, walks = now, walks @ walks
        walks.data = mixed(5, walks.data)
        keys = mixed(run_sums(walks.data, walks.indptr), keys)
    return keys


def multiplications(square: sparse.csr_array) -> float:
    """How many multiplications a symmetric matrix takes to multiply with itself."""
    return float(np.square(np.diff(square.indptr), dtype=np.float64).sum())
