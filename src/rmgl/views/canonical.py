"""Canonical order of entities, which depends on their data and not on their position.

Sums, samples, start vectors and ties depend on the order of rows. A fit therefore sorts the
entities by their content first, and returns its results in the caller's order. The same entities in
another order give the same result, bit for bit.

Entities are sorted by a random projection, sum_m x_mi'r_m over the views m, which puts similar rows
near each other. Entities with equal projections are sorted by a hash of their rows. In networks and
precomputed distances, where columns are entities, the hash repeatedly combines the entries of a row
with the hashes of the other entities, until no more entities are separated. In a regular graph,
this cannot start, so the walks in the graph are hashed instead. Nodes that can be swapped without
changing the network have no canonical order, and any of them may come first. If all views have rows
of features, entities with equal projections and hashes are copies in all views and must be treated
equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from rmgl.views.views import Views

Keys = NDArray[np.uint64]
Vector = NDArray[np.float64]

ROUNDS = 32
"""Number of rounds in which the keys of other entities are mixed in, regardless of cost."""
WORK = 1 << 22
"""Maximum number of entries for additional rounds, and of multiplications for counting walks."""
CACHED_ENTRIES = 1 << 16
"""Number of entries projected at a time, so that they fit into the cache."""


@dataclass(frozen=True)
class Canonical:
    """The caller's entities in canonical order."""

    order: NDArray[np.intp]
    """The caller's rows, in the order in which the fit processes them."""
    alike: NDArray[np.intp] | None
    """One number per entity in canonical order, equal for copies in all views. None if there are no
    copies.
    """

    @classmethod
    def of(cls, places: Vector, keys: Keys) -> Canonical:
        """Sort entities by their positions, and those at the same position by their keys."""
        order = np.lexsort((keys, places))
        first = _differs_from_last(places[order], keys[order])
        return cls(order, None if first.all() else np.cumsum(first) - 1)


def alike_among(
    alike: NDArray[np.intp] | None, entities: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Number these entities (None for all) from 0, giving copies the same number."""
    if alike is None or entities is None:
        return alike
    return np.unique(alike[entities], return_inverse=True)[1]


def canonical_order(
    views: Views, known: NDArray[np.intp] | None = None, graphs: Sequence[sparse.csr_array] = ()
) -> Canonical:
    """Return the canonical order of the entities in these views.

    `known` labels and `graphs` of candidate pairs are part of an entity's data.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl.views.views import Views
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> first, second = (Views.of({"a": rows}) for rows in (X, X[::-1]))
    >>> bool((X[canonical_order(first).order] == X[::-1][canonical_order(second).order]).all())
    True
    """
    squares = [view.relating for view in views if view.relating is not None]
    labels = np.zeros(views.n_rows) if known is None else known.astype(np.float64)
    places = added([labels, *(view.projected(salt) for salt, view in enumerate(views))])
    unclear = np.arange(views.n_rows) if squares else tied(places)
    keys = np.zeros(views.n_rows, dtype=np.uint64)
    for salt, view in enumerate(views):
        keys[unclear] += view.keys(unclear, salt)
    keys += mixed(0, bits(labels))
    if squares:
        return Canonical(np.lexsort((told_apart(keys, [*squares, *graphs]),)), None)
    by_rows = Canonical.of(places, keys)
    if by_rows.alike is None or not graphs:
        return by_rows
    keys = told_apart(mixed(bits(places), keys), list(graphs))
    return Canonical(np.lexsort((keys, places)), None)


def tied(places: Vector | Keys) -> NDArray[np.intp]:
    """Return the entities that share their position with others."""
    _, group, counts = np.unique(places, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[group] > 1)


def added(parts: Sequence[Vector]) -> Vector:
    """Add the projections of all views in order. Sums that overflow are made finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total: Vector = np.nan_to_num(np.add.reduce(list(parts), axis=0))
        return total


def _differs_from_last(places: Vector | Keys, keys: Keys) -> NDArray[np.bool_]:
    """Return which sorted pairs of position and key differ from the previous pair."""
    return np.concatenate([[True], (np.diff(places) != 0) | (np.diff(keys) != 0)])


# Square matrices, in which columns are entities, too


def told_apart(keys: Keys, squares: list[Any]) -> Keys:
    """Compute a key for each entity from square matrices, distinct as far as `WORK` allows.

    If some entities cannot be told apart by walks or by the keys of other entities, one of them is
    singled out, which separates others, and so on. If the entities can be swapped without changing
    the matrices, each choice gives the same matrices when sorted by key.
    """
    affordable = WORK // (keys.size + sum(X.nnz if sparse.issparse(X) else X.size for X in squares))
    keys, left = refined(keys, squares, max(ROUNDS, affordable))
    if n_different(keys) < keys.size:
        keys = with_numbers_of_copies(keys, squares)
    if n_different(keys) < keys.size:
        keys, left = refined(by_walks(keys, squares), squares, left)
    rounds = min(left, affordable)
    while rounds > 0 and (unclear := tied(keys)).size:
        keys[unclear[keys[unclear].argmin()]] ^= np.uint64(1)
        keys, rounds = refined(keys, squares, rounds)
    return keys


def n_different(keys: Keys) -> int:
    """Count the distinct keys."""
    return int(np.unique(keys).size)


def refined(keys: Keys, squares: list[Any], rounds: int) -> tuple[Keys, int]:
    """Mix the keys of other entities into each key until no more entities are separated (color
    refinement).

    Returns the keys, and the number of `rounds` left.
    """
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
    """Hash the entries in the rows of square matrices together with the keys of their columns."""
    total = np.zeros(keys.size, dtype=np.uint64)
    for salt, X in enumerate(squares, start=1):
        if sparse.issparse(X):
            sums = run_sums(mixed(keys[X.indices], bits(X.data)), X.indptr)
        else:
            sums = np.array([mixed(keys, bits(row)).sum(dtype=np.uint64) for row in X])
        total += mixed(salt, sums)
    return total


def with_numbers_of_copies(keys: Keys, squares: list[Any]) -> Keys:
    """Assign different keys to entities that have the same rows in all square matrices.

    Swapping these entities changes nothing else.
    """
    places = np.arange(keys.size)
    rows = of_others(mixed(6, places.astype(np.uint64)), squares)
    order = np.lexsort((rows, keys))
    first = _differs_from_last(keys[order], rows[order])
    number = np.empty_like(keys)
    number[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return mixed(number, keys)


def by_walks(keys: Keys, squares: list[Any]) -> Keys:
    """Mix walks of 2, 4, 8, ... steps in sparse matrices into the keys until all keys differ.

    Color refinement cannot separate the nodes of a regular graph, but the short cycles through them
    can. Walks are counted modulo 2^64, and the counts are hashed before they are multiplied again,
    like pairs in the two-dimensional Weisfeiler-Leman algorithm.
    """
    walks = sparse.diags_array(mixed(3, keys), dtype=np.uint64, format="csr")
    for salt, X in enumerate(filter(sparse.issparse, squares), start=4):
        steps = mixed(salt, bits(X.data))
        walks = walks + sparse.csr_array((steps, X.indices, X.indptr), shape=X.shape)
    before, now = (0, 0), (walks.nnz, n_different(keys))
    while before < now and now[1] < keys.size and multiplications(walks) <= WORK:
        walks = walks @ walks
        walks.data = mixed(5, walks.data)
        keys = mixed(run_sums(walks.data, walks.indptr), keys)
        before, now = now, (walks.nnz, n_different(keys))
    return keys


def multiplications(square: sparse.csr_array) -> float:
    """Count the multiplications needed to square a symmetric matrix."""
    return float(np.square(np.diff(square.indptr), dtype=np.float64).sum())


def run_sums(values: Keys, starts: NDArray[Any]) -> Keys:
    """Sum the values between consecutive starts, modulo 2^64."""
    sums: Keys = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    runs: Keys = sums[starts[1:]] - sums[starts[:-1]]
    return runs


# Projections and hashes of rows, which do not depend on the positions of the rows


def projected(X: Any, gaps: NDArray[np.bool_] | None = None, view: int = 0) -> Vector:
    """Project the rows of a matrix onto a random direction, summing each row in the same order."""
    direction = np.random.RandomState(view).standard_normal(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            along: Vector = X @ direction
            return along
        places, size = np.empty(X.shape[0]), max(1, CACHED_ENTRIES // max(1, X.shape[1]))
        for start in range(0, X.shape[0], size):
            some = slice(start, start + size)
            entries = np.ascontiguousarray(X[some]) * direction
            if gaps is not None:
                entries = entries + gaps[some] * direction[::-1]
            places[some] = entries.sum(axis=1)
        return places


def row_keys(X: Any, gaps: NDArray[np.bool_] | None = None, view: int = 0) -> Keys:
    """Hash every row of a dense or sparse matrix. The hashes of several views can be added."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        rows: Any = (
            X.indices[start:stop].astype(np.int64).tobytes() + (X.data[start:stop] + 0.0).tobytes()
            for start, stop in pairwise(X.indptr.tolist())
        )
    else:
        # negative zero is zero
        rows = np.ascontiguousarray(X + 0.0 if gaps is None else np.where(gaps, np.nan, X + 0.0))
    hashes = [int.from_bytes(blake2b(row, digest_size=8).digest(), "little") for row in rows]
    return mixed(view + 2, np.array(hashes, dtype=np.uint64))


def bits(values: Any) -> Keys:
    """Return the bits of numbers in double precision, treating negative zero as zero."""
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def mixed(salt: Any, values: Keys) -> Keys:
    """Hash pairs of numbers with the steps of SplitMix64 (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        x = (values ^ np.asarray(salt, dtype=np.uint64)) + np.uint64(0x9E37_79B9_7F4A_7C15)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58_476D_1CE4_E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D0_49BB_1331_11EB)
        x ^= x >> np.uint64(31)
    return x
