"""The space of rows with missing cells: squared distances are estimated from the columns that two rows share.

Let S = sum of (x_k - y_k)^2 over the shared columns, v_k the mean squared difference of two rows in column k (twice its variance),
V the sum of all v_k, the mean squared distance of the view, and V_s that over the shared columns. The estimate is

    z = S + max( (V - V_s) (S + c) / (V_s + c),  D )

The columns that one of the two rows lacks are taken to differ as much as the shared ones do, relative to what is usual: with columns alike
and c = 0, S is scaled up from the number of shared columns to all. c is the usual difference of one column: it keeps rows that agree in the
one column they share from being the nearest of all. D sums (x_k - mean_k)^2 over the columns that one row has and the other lacks: from a
value that is not known, x_k is expected to differ at least so much. Without it, a row that lacks the one column by which two clusters
differ would be near to both. Rows that share all columns have z = S, and rows that share none z = V.

With rows less their means, zeros at missing cells, P the 0/1 matrix of cells that are there and Q the squares, all pairs take three matrix
products for S and one for V_s:

    S = Q P' + P Q' - 2 X X'        V_s = (P v) P'        D = |x|^2 + |y|^2 - (Q P' + P Q')

Such costs obey no triangle inequality, so no pair is ruled out by geometry: all of them are looked at, block by block. The certificate of
`rmgl.edges.neighborhoods` holds nevertheless, because it is about costs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.edges.all_pairs import CANCELLATION, AllPairs
from rmgl.edges.heaps import BYTES_PER_PAIR, Ends, Indices
from rmgl.edges.interface import Edges, Searchable, Vector
from rmgl.edges.pair_list import PairList
from rmgl.running.checkpoint import digest_of
from rmgl.running.memory import require_memory
from rmgl.running.threads import Check

Floats = NDArray[np.float64]
BLOCK_ENTRIES = 1 << 20
"""Entries of a block of distances."""
ROUNDING = 1e-6
"""Relative rounding error of the distances in a block, generously."""
PRIOR = 1.0
"""The constant c, in multiples of the usual difference of a column."""


class Blocks(Searchable):
    """A space whose distances are computed block by block, from all pairs of some rows and all others."""

    @abstractmethod
    def block(self, nodes: Any) -> Floats:
        """Squared distances of some of the rows to all rows, up to rounding."""

    @abstractmethod
    def pairs(self, left: Indices, right: Indices) -> Vector:
        """The squared distances of single pairs of rows; the same in both orders."""

    def exact_instead(self, length: Callable[[Any], int]) -> int:
        """Exact lists take the place of approximate ones."""
        return length(np.empty((self.n_rows, 0)))

    def measure(self, edges: Edges, check: Check = lambda: None) -> Vector:
        """The squared distance of every candidate pair."""
        if isinstance(edges, AllPairs):
            return self._all_pairs(check)
        assert isinstance(edges, PairList)
        rows, out = np.repeat(np.arange(edges.n_nodes), np.diff(edges.indptr)), np.empty(edges.indices.size)
        size = max(1, BLOCK_ENTRIES // self._width)
        for at in range(0, out.size, size):
            check()
            out[at : at + size] = self.pairs(rows[at : at + size], edges.indices[at : at + size])
        return out

    def _all_pairs(self, check: Check) -> Vector:
        n = self.n_rows
        out, at = np.empty(n * (n - 1) // 2), 0
        for some in self._parts(n, check):
            block = self.block(np.arange(some.start, some.stop))
            for place, row in enumerate(range(some.start, some.stop)):
                out[at : at + n - 1 - row] = block[place, row + 1 :]
                at += n - 1 - row
        return out

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        """The `length` nearest other rows of each node, and a lower bound of the squared distance to all others."""
        length = min(length, self.n_rows - 1)
        found, last = np.empty((len(nodes), length), dtype=np.int64), np.empty(len(nodes))
        for some in self._parts(len(nodes), check):
            apart = self.block(nodes[some])
            apart[np.arange(len(apart)), nodes[some]] = np.inf
            found[some] = np.argpartition(apart, length - 1, axis=1)[:, :length]
            last[some] = np.take_along_axis(apart, found[some], axis=1).max(axis=1)
        return found, np.full(len(nodes), np.inf) if length == self.n_rows - 1 else (1 - ROUNDING) * last

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> Floats:
        """Squared distances of each node to the rows listed for it."""
        out, size = np.empty(neighbors.shape), max(1, BLOCK_ENTRIES // (self._width * neighbors.shape[1]))
        for at in range(0, len(nodes), size):
            listed = neighbors[at : at + size]
            out[at : at + size] = self.pairs(np.repeat(nodes[at : at + size], listed.shape[1]), listed.ravel()).reshape(listed.shape)
        return out

    def within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
    ) -> tuple[Ends, Ends]:
        """All pairs of a node and another row with squared distance below s_i s_j (radii_i + radii_j); rounding may add a few pairs."""
        scales = np.ones(self.n_rows) if scales is None else scales
        radii = np.where(np.isfinite(radii), radii, 0.0)  # a node with an infinite radius has all its pairs already
        found, count = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))], 0
        for some in self._parts(len(nodes), check):
            own = nodes[some]
            reach = (scales[own][:, None] * scales) * (radii[own][:, None] + radii)
            left, right = np.nonzero((1 - ROUNDING) * self.block(own) < reach)
            differ = own[left] != right
            found.append((own[left[differ]], right[differ]))
            count += right.size
            require_memory(BYTES_PER_PAIR * count, f"{count:,} candidate pairs", "use a smaller alpha or fewer rows")
        return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])

    @property
    def _width(self) -> int:
        """Numbers that one pair takes in memory."""
        return 1

    def _parts(self, n_nodes: int, check: Check) -> Iterator[slice]:
        """Parts of the nodes whose blocks are computed at once."""
        size = max(1, BLOCK_ENTRIES // self.n_rows)
        for first in range(0, n_nodes, size):
            check()
            yield slice(first, min(first + size, n_nodes))


def cells_present(X: Floats, gaps: NDArray[np.bool_] | None) -> Floats:
    """1 for every cell that is there, 0 for a missing one."""
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
    """Rows less the mean of each column, with zeros at missing cells."""
    present: Floats
    """1 for every cell that is there, 0 for a missing one."""
    center: Vector
    usual: Vector
    """v_k: the mean squared difference of two rows in each column."""

    @classmethod
    def of(cls, X: Floats, gaps: NDArray[np.bool_] | None, rows: NDArray[np.intp] | None = None) -> Gapped:
        """The space of the rows of a matrix with the given missing cells. Means are taken over the given rows (None: all)."""
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
        """V: the mean squared distance of two rows."""
        return float(self.usual.sum())

    @cached_property
    def prior(self) -> float:
        return PRIOR * self.mean_distance / max(1, int(np.count_nonzero(self.usual)))

    @cached_property
    def squares(self) -> Floats:
        return np.square(self.X)

    def digest(self) -> str:
        return digest_of(self.X, self.present, self.usual)

    def among(self, nodes: NDArray[np.intp] | None) -> Gapped:
        return self if nodes is None else Gapped(self.X[nodes], self.present[nodes], self.center, self.usual)

    def block(self, nodes: Any) -> Floats:
        return self._to_all(self.X[nodes], self.present[nodes])

    def pairs(self, left: Indices, right: Indices) -> Vector:
        shared = self.present[left] * self.present[right]
        apart = np.square(self.X[left] - self.X[right])
        known = (apart * shared).sum(axis=1)
        found: Vector = self._estimate(known, (shared * self.usual).sum(axis=1), (apart * (1.0 - shared)).sum(axis=1))
        return found

    def distances_from(self, X: Floats, gaps: NDArray[np.bool_] | None) -> Floats:
        """Squared distances of new rows to all rows; 0 to a row that is the same, cell by cell, missing ones included."""
        present = cells_present(X, gaps)
        distances = self._to_all((X - self.center) * present, present)
        shared = present @ self.present.T
        alike = (shared == present.sum(axis=1)[:, None]) & (shared == self.present.sum(axis=1)) & (shared > 0)
        for row, other in np.argwhere(alike).tolist() if gaps is not None else ():
            if np.array_equal((X[row] - self.center) * present[row], self.X[other]):
                distances[row, other] = 0.0
        return distances

    def _to_all(self, X: Floats, present: Floats) -> Floats:
        """The distances of rows of this form to all rows."""
        norms = np.square(X)
        total = norms @ self.present.T
        total += present @ self.squares.T
        apart = X @ self.X.T
        apart *= -2.0
        apart += total
        np.maximum(apart, 0.0, out=apart)
        rows, columns = np.nonzero(apart <= CANCELLATION * total)
        size = max(1, BLOCK_ENTRIES // X.shape[1])
        for at in range(0, rows.size, size):  # what has lost its digits is computed from differences
            left, right = rows[at : at + size], columns[at : at + size]
            shared = present[left] * self.present[right]
            apart[left, right] = (np.square(X[left] - self.X[right]) * shared).sum(axis=1)
        one_lacks = np.maximum(norms.sum(axis=1)[:, None] + self.squares.sum(axis=1) - total, 0.0)
        found: Floats = self._estimate(apart, (present * self.usual) @ self.present.T, one_lacks)
        return found

    def _estimate(self, apart: Any, shared: Any, one_lacks: Any) -> Any:
        """The formula, from S, V_s and D; a view whose rows are all equal has no distances."""
        lacking = np.maximum(self.mean_distance - shared, 0.0)
        complete = lacking <= 1e-12 * self.mean_distance  # up to the rounding of sums
        scaled_up = lacking * (apart + self.prior) / np.maximum(shared + self.prior, np.finfo(np.float64).tiny)
        guess = np.where(shared > 0, np.maximum(scaled_up, one_lacks), scaled_up)
        return apart + np.where(complete, 0.0, guess)


@dataclass(frozen=True)
class Summed(Blocks):
    """The space of several views side by side, each multiplied by its factor: squared distances are summed."""

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
        """The mean squared distance of two rows."""
        return sum(factor**2 * part.mean_distance for part, factor in zip(self.parts, self.factors, strict=True))

    def digest(self) -> str:
        return digest_of(*(part.digest() for part in self.parts), *self.factors)

    def among(self, nodes: NDArray[np.intp] | None) -> Summed:
        return self if nodes is None else Summed([part.among(nodes) for part in self.parts], self.factors)

    def block(self, nodes: Any) -> Floats:
        total = self.factors[0] ** 2 * self.parts[0].block(nodes)
        for part, factor in zip(self.parts[1:], self.factors[1:], strict=True):
            total += factor**2 * part.block(nodes)
        return total

    def pairs(self, left: Indices, right: Indices) -> Vector:
        found = [factor**2 * part.pairs(left, right) for part, factor in zip(self.parts, self.factors, strict=True)]
        total: Vector = np.sum(found, axis=0)
        return total
