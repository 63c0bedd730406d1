"""Reliability of a view: agreement between halves of its columns.

Let W be the nearest neighbors in one half of the columns, D the squared distances in the other
half, and D' those in the same half. Relative to two random rows, neighbors are at the distances

    h = sum_ij W_ij D_ij / mean of D          q = sum_ij W_ij D'_ij / mean of D'

The other half confirms a share r of their closeness beyond chance. All columns together contain
more information than half of them. The Spearman-Brown formula corrects r for this and gives the
*reliability* of the view:

    r = (1 - h - 3 s)_+ / (1 - q)             reliability = 2 r / (1 + r)

h is 1 if the halves are unrelated, and equals q if they agree; s is the standard deviation of h
over all permutations of the rows. Unrelated columns have no clusters of their own: they form groups
only by combining their values, as in a contingency table. For a single column, that column replaces
D and D' in h and q.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.gaps import Gapped
from rmgl.edges.search import dense_distances
from rmgl.matrix import Matrix, as_dense, chance_deviation, squared_lengths
from rmgl.views.canonical import Keys, mixed
from rmgl.views.scaling import column_ends, unit

MOST_SAMPLED = 500
"""Maximum number of rows of a view that are compared. Larger views are sampled."""
NEIGHBORS = 10
DIGITS = 6
"""Number of decimals that distinguish columns, relative to the largest value of each column."""
FEWEST = 4
"""Number of rows below which chance cannot be estimated."""
UNRELATED = (1.0, 0.0, 0.0)
"""Return value of `compared` for unrelated halves."""
DRAWS = 4
"""Number of times the columns are halved."""
SURE = 3.0
"""Minimum number of standard deviations below chance at which halves count as related."""
FULL = 0.2
"""Minimum reliability, relative to the others, at which a view or column has full weight."""
LEAST = 0.05
"""Minimum weight of a view or column: above 0, because some entities may be in no other view."""
ROUNDING = 1e-9
"""Share of the mean squared distance below which distances, or row norms, count as equal."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def sample_of(n_rows: int) -> Indices:
    """Return the rows that are compared."""
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:MOST_SAMPLED])


def parts_by(reliability: Floats, usual: float) -> Floats:
    """Return the weights of views or columns from their reliability and the usual reliability.

    The weight is full if the reliability is at least 0.2 times the usual. Below that, it is
    proportional to the fourth power of the reliability.

    Examples
    --------
    >>> parts_by(np.array([0.8, 0.2, 0.12, 0.0]), 0.8).round(2).tolist()
    [1.0, 1.0, 0.32, 0.05]
    """
    if usual == 0:
        return np.ones(len(reliability))
    return np.clip((reliability / (FULL * usual)) ** 4, LEAST, 1.0)


@dataclass(frozen=True)
class Halves:
    """Rows that are compared, and the group number of each numeric column.

    Numeric columns with the same group number encode one category and stay together.
    """

    X: Matrix
    groups: Indices
    gaps: Mask | None = None

    @cached_property
    def varying(self) -> Indices:
        """Numeric columns that are not constant over their observed cells."""
        low, high = column_ends(self.X)
        if self.gaps is not None:
            X = as_dense(self.X)
            low = np.where(self.gaps, np.inf, X).min(axis=0)
            high = np.where(self.gaps, -np.inf, X).max(axis=0)
        return np.flatnonzero(low < high)

    @cached_property
    def columns(self) -> Indices:
        """Group number, starting at 0, of each numeric column that varies.

        The groups are sorted by hashes of their values, so the halves do not depend on the order of
        rows or columns.
        """
        found, places = np.unique(self.groups[self.varying], return_inverse=True)
        keys = np.zeros(found.size, dtype=np.uint64)
        np.add.at(keys, places, hashed(self.X[:, self.varying]))
        ranks = np.empty(found.size, dtype=np.intp)
        ranks[keys.argsort(kind="stable")] = np.arange(found.size)
        return ranks[places]

    @cached_property
    def n_columns(self) -> int:
        return int(self.columns.max(initial=-1)) + 1

    def halves(self) -> Iterator[Mask]:
        """Yield random halves of the columns."""
        random_state = np.random.RandomState(0)
        for _ in range(DRAWS):
            yield random_state.permutation(self.n_columns) < self.n_columns // 2

    def reliability(self) -> float:
        """Return the reliability of all columns together, from 0 to 1.

        A single column has no halves, and counts as unrelated.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> noise, twice = Halves(X, np.arange(2)), Halves(X[:, [0, 0]], np.arange(2))
        >>> round(noise.reliability(), 1), round(twice.reliability(), 1)
        (0.0, 0.9)
        """
        h, q, deviation = self.means
        return float(reliability_by(h + SURE * deviation, q))

    def deviations(self) -> float:
        """Return how many standard deviations h is below the mean expected by chance.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> noise, twice = Halves(X, np.arange(2)), Halves(X[:, [0, 0]], np.arange(2))
        >>> noise.deviations() < 3 < twice.deviations()
        True
        """
        h, _, deviation = self.means
        return (1 - h) / deviation if deviation > 0 else 0.0

    @cached_property
    def means(self) -> tuple[float, float, float]:
        """Means of h, q and the deviation of h expected by chance, over random halves."""
        if self.n_columns < 2:
            return UNRELATED
        found = []
        for first in self.halves():
            one, other = self.distances_in(first[self.columns])
            known = len(one) >= FEWEST  # otherwise hardly any row has entries in both halves
            found += [compared(one, other), compared(other, one)] if known else [UNRELATED] * 2
        h, q, deviation = np.mean(found, axis=0).tolist()
        return h, q, deviation

    def distances_in(self, first: Mask) -> tuple[Floats, Floats]:
        """Return the squared distances in some of the columns that vary, and in the rest.

        If all rows have the same norm, both parts of each row are scaled to the same norm, and rows
        without an entry in one part are left out: a part with a small norm would be close to all
        others.
        """
        X, places = self.X, (self.varying[first], self.varying[~first])
        if self.gaps is not None:
            one, other = (self._with_gaps(some) for some in places)
            return one, other
        parts = [X[:, some] for some in places]
        lengths = squared_lengths(X)
        least = lengths.min(where=lengths > 0, initial=np.inf)
        if lengths.max() - least <= ROUNDING * lengths.max():
            there = np.all([squared_lengths(part) > 0 for part in parts], axis=0)
            if there.sum() < FEWEST:
                return np.zeros((0, 0)), np.zeros((0, 0))
            parts = [unit(part)(part[there]) for part in parts]
        one, other = (apart(part) for part in parts)
        return one, other

    def _with_gaps(self, some: Indices) -> Floats:
        assert self.gaps is not None
        X = as_dense(self.X)[:, some]
        D = Gapped.of(X, self.gaps[:, some]).block(np.arange(len(X)))
        np.fill_diagonal(D, 0.0)
        return D

    def of_columns(self, tested: Indices) -> Floats:
        """Return the reliability of each column that varies.

        Chance is subtracted only for the `tested` columns.
        """
        n, X = self.X.shape[0], as_dense(self.X)[:, self.varying]
        there = np.ones((n, 1)) if self.gaps is None else 1.0 * ~self.gaps[:, self.varying]
        counts = there.sum(axis=0)
        Y = (X - (X * there).sum(axis=0) / counts) * there
        usual = self._summed(2 * np.square(Y).sum(axis=0) / counts) * n / (n - 1)
        found = np.zeros((2, self.n_columns))
        deviations = np.zeros(self.n_columns)
        for first in self.halves():
            distances = self.distances_in(first[self.columns])
            for D, inside in zip(distances, (first, ~first), strict=True):
                near = neighbors_in(D)
                linked = near @ there
                squares = 2 * np.einsum("nk,nk->k", Y, linked * Y - near @ Y)
                pairs = (there * linked).sum(axis=0)
                relative = self._summed(squares / np.maximum(pairs, ROUNDING)) / usual
                found += np.where([~inside, inside], relative / DRAWS, 0.0)
        for column in tested:
            deviations[column] = chance_deviation(near, apart(Y[:, self.columns == column]))
        h, q = found
        reliability: Floats = reliability_by(h + SURE * deviations, q)
        return reliability

    def _summed(self, values: Floats) -> Floats:
        """Sum the values for the numeric columns in each group."""
        return np.bincount(self.columns, values, self.n_columns).astype(np.float64)


def hashed(X: Matrix) -> Keys:
    """Return a hash of each column's values that does not depend on their order. Zeros are ignored.

    Values are rounded, so summing in another order does not change the hash.
    """
    entries = sparse.csc_array(X, copy=True)
    entries.eliminate_zeros()
    keys = np.zeros(X.shape[1], dtype=np.uint64)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(entries.indptr))
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, columns, np.abs(entries.data))
    rounded = np.round(entries.data / largest[columns], DIGITS) + 0.0
    np.add.at(keys, columns, mixed(1, rounded.view(np.uint64)))
    return keys


def reliability_by(h: Any, q: Any) -> Any:
    """Return the reliability 2 r / (1 + r), if 1 - h confirms a share r of the closeness 1 - q."""
    share = np.clip((1 - h) / np.maximum(1 - q, ROUNDING), 0.0, 1.0)
    return 2 * share / (1 + share)


def apart(X: Matrix) -> Floats:
    """Return all squared distances between rows."""
    D = dense_distances(X, X)
    np.fill_diagonal(D, 0.0)
    return D


def compared(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Return h, q and the deviation of h expected by chance, for the neighbors in one part."""
    near = neighbors_in(one)
    n = len(near)
    scale = near.sum() / (n * (n - 1))
    h, q = (float(np.sum(near * D) / (scale * D.sum())) if D.any() else 1.0 for D in (other, one))
    return h, q, chance_deviation(near, other)


def neighbors_in(D: Floats) -> Floats:
    """Return the weights of nearest neighbors. Rows tied for the last places share them."""
    n, tolerance = len(D), ROUNDING * D.mean()
    places = min(NEIGHBORS, n - 1)
    D = D + np.diag(np.full(n, np.inf))
    last = np.partition(D, places - 1, axis=1)[:, places - 1 : places]
    nearer = last - tolerance > D
    tied = (last + tolerance >= D) & ~nearer
    left = places - nearer.sum(axis=1, keepdims=True)
    near: Floats = nearer + tied * (left / tied.sum(axis=1, keepdims=True))
    return (near + near.T) / 2
