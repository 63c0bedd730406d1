"""The space of rows with missing cells, whose distances are estimated from shared columns.

Let S = sum of (x_k - y_k)^2 over the shared columns, v_k the mean squared difference between two
rows in column k (twice its variance), V the sum of all v_k (the mean squared distance in the view),
and V_s the sum over the shared columns. The estimate is

    z = S + max( (V - V_s) (S + c) / (V_s + c),  D )

The estimate assumes that the columns that one of the two rows lacks differ as much as the shared
ones, relative to what is usual: if all columns are alike and c = 0, it scales S up from the number
of shared columns to all. c is the usual difference in one column: without c, rows that agree in the
only column they share would be the nearest of all. D sums (x_k - mean_k)^2 over the columns that
one row has and the other lacks: x_k is expected to differ from an unknown value by at least that
much. Without D, a row that lacks the only column in which two clusters differ would be near both.
Rows that share all columns have z = S, and rows that share no column have z = V.

Let X be the rows minus the column means, with zeros at missing cells, P the 0/1 matrix of present
cells and Q the squares of X. Over all pairs, S takes three matrix products and V_s takes one:

    S = Q P' + P Q' - 2 X X'        V_s = (P v) P'        D = |x|^2 + |y|^2 - (Q P' + P Q')

These costs do not obey the triangle inequality, so geometry cannot rule out pairs: all pairs are
examined, block by block. The certificate of `rmgl.edges.neighborhoods` still holds, because it is
about costs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.interface import Ends, Floats, Indices, Nodes, PairStore, Searchable, Vector
from rmgl.edges.stores import CANCELLATION, AllPairs, PairList
from rmgl.edges.within import BYTES_PER_CANDIDATE
from rmgl.running.checkpoint import digest_of
from rmgl.running.threads import Check, no_check, require_memory

BLOCK_ENTRIES = 1 << 20
"""Number of entries in a block of distances, which is computed or scanned at once."""
GAPS_ROUNDING = 1e-6
"""Generous bound on the relative rounding error of distances in a block."""
PRIOR = 1.0
"""The constant c, in multiples of the usual difference in a column."""


class Blocks(Searchable):
    """A space whose distances are computed in blocks, from a few rows to all rows."""

    @abstractmethod
    def block(self, nodes: Any) -> Floats:
        """Compute the squared distances from the given rows to all rows, up to rounding."""

    @abstractmethod
    def pairs(self, left: Indices, right: Indices) -> Vector:
        """Compute the squared distances of individual pairs of rows, the same in both orders."""

    def exact_instead(self, length: Callable[[Any], int]) -> int:
        return length(np.empty((self.n_rows, 0)))

    def measure(self, edges: PairStore, check: Check = no_check) -> Vector:
        if isinstance(edges, AllPairs):
            return self._all_pairs(check)
        assert isinstance(edges, PairList)
        rows, out = edges.owners, np.empty(edges.indices.size)
        size = max(1, BLOCK_ENTRIES // self._width)
        for at in range(0, out.size, size):
            check()
            out[at : at + size] = self.pairs(rows[at : at + size], edges.indices[at : at + size])
        return out

    def _all_pairs(self, check: Check) -> Vector:
        n = self.n_rows
        out, at = np.empty(n * (n - 1) // 2), 0
        for some in blocks_of(n, n, check):
            block = self.block(np.arange(some.start, some.stop))
            for place, row in enumerate(range(some.start, some.stop)):
                out[at : at + n - 1 - row] = block[place, row + 1 :]
                at += n - 1 - row
        return out

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        length = min(length, self.n_rows - 1)
        neighbors, last = nearest_in_blocks(nodes, length, self.n_rows, self.block, check)
        is_all = length == self.n_rows - 1
        return neighbors, np.full(len(nodes), np.inf) if is_all else (1 - GAPS_ROUNDING) * last

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        out = np.empty(neighbors.shape)
        size = max(1, BLOCK_ENTRIES // (self._width * neighbors.shape[1]))
        for at in range(0, len(nodes), size):
            listed = neighbors[at : at + size]
            rows = np.repeat(nodes[at : at + size], listed.shape[1])
            out[at : at + size] = self.pairs(rows, listed.ravel()).reshape(listed.shape)
        return out

    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None = None, check: Check = no_check
    ) -> tuple[Ends, Ends]:
        scales = np.ones(self.n_rows) if scales is None else scales
        # a node with an infinite radius already has all its pairs
        radii = np.where(np.isfinite(radii), radii, 0.0)
        lefts, rights, count = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
        for some in blocks_of(len(nodes), self.n_rows, check):
            rows = nodes[some]
            reach = (scales[rows][:, None] * scales) * (radii[rows][:, None] + radii)
            left, right = np.nonzero((1 - GAPS_ROUNDING) * self.block(rows) < reach)
            differ = rows[left] != right
            lefts.append(rows[left[differ]])
            rights.append(right[differ])
            count += right.size
            purpose = f"{count:,} candidate pairs"
            require_memory(
                BYTES_PER_CANDIDATE * count, purpose, "use a smaller alpha or fewer rows"
            )
        return np.concatenate(lefts), np.concatenate(rights)

    @property
    def _width(self) -> int:
        """Number of values that one pair needs in memory."""
        return 1


def blocks_of(n_nodes: int, n_rows: int, check: Check) -> Iterator[slice]:
    """Yield groups of nodes whose distances to all rows form one block."""
    size = max(1, BLOCK_ENTRIES // n_rows)
    for first in range(0, n_nodes, size):
        check()
        yield slice(first, min(first + size, n_nodes))


def nearest_in_blocks(
    nodes: Nodes, length: int, n_rows: int, block: Callable[[Any], Floats], check: Check
) -> tuple[Indices, Vector]:
    """Find the `length` rows nearest to each node, and the squared distance to the last.

    `block(nodes)` returns the distances from the given nodes to all rows.
    """
    neighbors, last = np.empty((len(nodes), length), dtype=np.int64), np.empty(len(nodes))
    for some in blocks_of(len(nodes), n_rows, check):
        apart = block(nodes[some])
        apart[np.arange(len(apart)), nodes[some]] = np.inf
        neighbors[some] = np.argpartition(apart, length - 1, axis=1)[:, :length]
        last[some] = np.take_along_axis(apart, neighbors[some], axis=1).max(axis=1)
    return neighbors, last


def cells_present(X: Floats, gaps: NDArray[np.bool_] | None) -> Floats:
    """Return 1 for every present cell and 0 for every missing one."""
    return np.ones(X.shape) if gaps is None else (~gaps).astype(np.float64)


@dataclass(frozen=True)
class Gapped(Blocks):
    """The space of rows with missing cells.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    >>> space = Gapped.of(X, np.array([[False, False], [False, True], [False, False]]))
    >>> space.pairs(np.array([0]), np.array([2])).tolist()
    [5.0]
    """

    X: Floats
    """Rows minus the column means, with zeros at missing cells."""
    present: Floats
    """1 for every present cell, 0 for every missing one."""
    center: Vector
    usual: Vector
    """v_k: the mean squared difference between two rows in each column."""

    @classmethod
    def of(cls, X: Floats, gaps: NDArray[np.bool_] | None, rows: Nodes | None = None) -> Gapped:
        """Make the space of rows with missing cells; means are over `rows` (None: all)."""
        present = cells_present(X, gaps)
        if rows is not None:
            there = np.zeros((len(X), 1))
            there[rows] = 1.0
            present = present * there
        counts = np.maximum(present.sum(axis=0), 1.0)
        center = (X * present).sum(axis=0) / counts
        centered = (X - center) * present
        return cls(centered, present, center, 2 * np.square(centered).sum(axis=0) / counts)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def _width(self) -> int:
        return int(self.X.shape[1])

    def exact_instead(self, length: Callable[[Any], int]) -> int:
        return length(self.X)

    @cached_property
    def mean_distance(self) -> float:
        """V: the mean squared distance between two rows."""
        return float(self.usual.sum())

    @cached_property
    def prior(self) -> float:
        return PRIOR * self.mean_distance / max(1, int(np.count_nonzero(self.usual)))

    @cached_property
    def squares(self) -> Floats:
        return np.square(self.X)

    def digest(self) -> str:
        return digest_of(self.X, self.present, self.usual)

    def among(self, nodes: Nodes | None) -> Gapped:
        if nodes is None:
            return self
        return Gapped(self.X[nodes], self.present[nodes], self.center, self.usual)

    def block(self, nodes: Any) -> Floats:
        return self._to_all(self.X[nodes], self.present[nodes])

    def pairs(self, left: Indices, right: Indices) -> Vector:
        shared = self.present[left] * self.present[right]
        apart = np.square(self.X[left] - self.X[right])
        usual, one_lacks = shared * self.usual, apart * (1.0 - shared)
        return self._estimate(
            (apart * shared).sum(axis=1), usual.sum(axis=1), one_lacks.sum(axis=1)
        )

    def distances_from(self, X: Floats, gaps: NDArray[np.bool_] | None) -> Floats:
        """Return squared distances from new rows to all rows: 0 to equal rows, even with gaps."""
        present = cells_present(X, gaps)
        centered = (X - self.center) * present
        distances = self._to_all(centered, present)
        if gaps is None:
            return distances
        shared = present @ self.present.T
        alike = (shared == present.sum(axis=1)[:, None]) & (shared == self.present.sum(axis=1))
        for row, other in np.argwhere(alike & (shared > 0)).tolist():
            if np.array_equal(centered[row], self.X[other]):
                distances[row, other] = 0.0
        return distances

    def _to_all(self, X: Floats, present: Floats) -> Floats:
        """Compute the distances to all rows from rows in the form of `X` and `present`."""
        norms = np.square(X)
        total = norms @ self.present.T
        total += present @ self.squares.T
        apart = X @ self.X.T
        apart *= -2.0
        apart += total
        np.maximum(apart, 0.0, out=apart)
        rows, columns = np.nonzero(apart <= CANCELLATION * total)
        size = max(1, BLOCK_ENTRIES // X.shape[1])
        # distances that have lost digits are recomputed from differences
        for at in range(0, rows.size, size):
            left, right = rows[at : at + size], columns[at : at + size]
            shared = present[left] * self.present[right]
            apart[left, right] = (np.square(X[left] - self.X[right]) * shared).sum(axis=1)
        one_lacks = np.maximum(norms.sum(axis=1)[:, None] + self.squares.sum(axis=1) - total, 0.0)
        return self._estimate(apart, (present * self.usual) @ self.present.T, one_lacks)

    def _estimate(self, apart: Floats, shared: Floats, one_lacks: Floats) -> Floats:
        """Apply the formula to S, V_s and D; if all rows are equal, distances are zero."""
        lacking = np.maximum(self.mean_distance - shared, 0.0)
        complete = lacking <= 1e-12 * self.mean_distance  # up to the rounding of sums
        usual = np.maximum(shared + self.prior, np.finfo(np.float64).tiny)
        scaled_up = lacking * (apart + self.prior) / usual
        guess = np.where(shared > 0, np.maximum(scaled_up, one_lacks), scaled_up)
        return apart + np.where(complete, 0.0, guess)


@dataclass(frozen=True)
class Summed(Blocks):
    """The space of several views, each multiplied by its factor; squared distances add up."""

    parts: Sequence[Gapped]
    factors: Sequence[float]

    @property
    def n_rows(self) -> int:
        return self.parts[0].n_rows

    @property
    def _width(self) -> int:
        return sum(part._width for part in self.parts)

    @property
    def mean_distance(self) -> float:
        """The mean squared distance between two rows."""
        return sum(factor**2 * part.mean_distance for part, factor in self._pairs)

    @property
    def _pairs(self) -> list[tuple[Gapped, float]]:
        return list(zip(self.parts, self.factors, strict=True))

    def digest(self) -> str:
        return digest_of(*(part.digest() for part in self.parts), *self.factors)

    def among(self, nodes: Nodes | None) -> Summed:
        if nodes is None:
            return self
        return Summed([part.among(nodes) for part in self.parts], self.factors)

    def block(self, nodes: Any) -> Floats:
        total = self.factors[0] ** 2 * self.parts[0].block(nodes)
        for part, factor in self._pairs[1:]:
            total += factor**2 * part.block(nodes)
        return total

    def pairs(self, left: Indices, right: Indices) -> Vector:
        distances = [factor**2 * part.pairs(left, right) for part, factor in self._pairs]
        total: Vector = np.sum(distances, axis=0)
        return total
