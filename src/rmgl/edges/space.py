"""The rows of a view as points in a space: what candidate pairs are found with, and their squared distances taken from.

`Rows` computes distances from the rows, tile by tile (`rmgl.edges.search`). `Square` has all of them in memory: where rows are few, no
distance is computed twice, however many columns there are. `Gapped` is for rows with missing cells (`rmgl.edges.gaps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.all_pairs import CANCELLATION
from rmgl.edges.gaps import Blocks, Gapped, Summed
from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Costs, Edges, Searchable, Space, Vector
from rmgl.edges.listed import Listed
from rmgl.edges.pair_list import PairList
from rmgl.edges.search import Rows, everyone_else
from rmgl.edges.tiles import squared_lengths
from rmgl.running.threads import Check, InParts, one_part

__all__ = ["Blocks", "Gapped", "Listed", "Rows", "Searchable", "Space", "Square", "Summed", "as_space"]

BLOCK_ENTRIES = 1 << 20
"""Entries of a block of distances that is looked through at once."""


@dataclass(frozen=True)
class Square(Space):
    """A space given by the symmetric matrix of all squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> space = Square.of(np.array([[0.0], [1.0], [3.0]]))
    >>> space.distances
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    >>> neighbors, bounds = space.nearest(np.arange(3), 1)
    >>> neighbors.ravel(), bounds
    (array([1, 0, 1]), array([1., 1., 4.]))
    """

    distances: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, in_parts: InParts = one_part, check: Check = lambda: None) -> Square:
        """The space of the rows of a matrix, dense or sparse, by |x|^2 + |y|^2 - 2x'y; near-duplicates by the difference of their rows."""
        n = X.shape[0]
        X = X if sparse.issparse(X) else X - X.mean(axis=0)
        norms, same = squared_lengths(X), copies(X)
        distances = np.empty((n, n))
        size = max(1, BLOCK_ENTRIES // n)

        def measure_blocks(begin: int, end: int) -> None:
            for first in range(begin * size, min(end * size, n), size):
                check()
                some = slice(first, min(first + size, n))
                gram: Any = X[some] @ X[first:].T
                block = gram.toarray() if sparse.issparse(gram) else gram
                block *= -2.0
                block += norms[some][:, None]
                block += norms[first:]
                np.maximum(block, 0.0, out=block)
                repair(block, X, norms, same, first)
                own = np.triu(block[:, : len(block)], 1)
                block[:, : len(block)] = own + own.T  # both orders of a pair may have been rounded in different ways
                distances[some, first:] = block
                distances[first:, some] = block.T

        in_parts(measure_blocks, -(-n // size))
        return cls(distances)

    @classmethod
    def of_blocks(cls, space: Blocks, in_parts: InParts = one_part, check: Check = lambda: None) -> Square:
        """All distances of a space that is computed block by block."""
        n = space.n_rows
        distances, size = np.empty((n, n)), max(1, BLOCK_ENTRIES // n)

        def measure_blocks(begin: int, end: int) -> None:
            for first in range(begin * size, min(end * size, n), size):
                check()
                some = np.arange(first, min(first + size, n))
                distances[some] = space.block(some)

        in_parts(measure_blocks, -(-n // size))
        upper = np.triu(distances, 1)
        return cls(upper + upper.T)

    @property
    def n_rows(self) -> int:
        return len(self.distances)

    def among(self, nodes: NDArray[np.intp] | None) -> Square:
        return self if nodes is None else Square(self.distances[np.ix_(nodes, nodes)])

    def measure(self, edges: Edges, check: Check = lambda: None) -> Costs:
        return edges.entries_of(self.distances)

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        if length >= self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        found, last = np.empty((len(nodes), length), dtype=np.int64), np.empty(len(nodes))
        for some in self._blocks(len(nodes), check):
            apart = self.distances[nodes[some]]
            apart[np.arange(len(apart)), nodes[some]] = np.inf
            found[some] = np.argpartition(apart, length - 1, axis=1)[:, :length]
            last[some] = np.take_along_axis(apart, found[some], axis=1).max(axis=1)
        return found, last

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        return self.distances[nodes[:, None], neighbors]

    @property
    def mean_distance(self) -> float:
        return float(self.distances.mean()) or 1.0

    def search(self, length: int, local: float | None, in_parts: InParts, check: Check) -> Any:
        from rmgl.edges.checked import Checked  # which is about this space

        return Checked.search(self, length, in_parts, check, local)

    def missing(
        self, u: Vector, edges: PairList, scales: Vector, floors: Vector, guide: NDArray[np.float64], most: int, check: Check = lambda: None
    ) -> tuple[Indices, Indices]:
        """Pairs that are not listed and would carry weight at u, at most so many a node: those of the largest weight.

        Their costs are max(z_ij / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2, from scales s, floors f and the rows g of a guide.
        """
        from rmgl import kernels

        given = (self.distances, scales, floors, guide, u, *edges.pairs)
        room = np.zeros(self.n_rows, dtype=np.int32), np.empty(self.n_rows)
        pairs = []
        for some in self._blocks(self.n_rows, check):
            scores, found = np.zeros((some.stop - some.start, most)), np.zeros((some.stop - some.start, most), dtype=np.int32)
            kernels.missing_pairs(*given, some.start, some.stop, *room, scores, found)
            left, place = np.nonzero(scores)
            pairs.append((left + some.start, found[left, place]))
        return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])

    def _blocks(self, n_nodes: int, check: Check) -> Any:
        """Parts of the nodes that are looked through at once."""
        size = max(1, BLOCK_ENTRIES // self.n_rows)
        for first in range(0, n_nodes, size):
            check()
            yield slice(first, min(first + size, n_nodes))


def copies(X: Any) -> Indices:
    """For every row the first row that is the same, entry by entry."""
    first: dict[Any, int] = {}
    if sparse.issparse(X):
        parts = [(X.indices[start:stop].tobytes(), X.data[start:stop].tobytes()) for start, stop in pairwise(X.indptr.tolist())]
        return np.array([first.setdefault(row, i) for i, row in enumerate(parts)])
    return np.array([first.setdefault(row.tobytes(), i) for i, row in enumerate(X)])


def repair(block: NDArray[np.float64], X: Any, norms: Vector, same: Indices, first: int) -> None:
    """Compute small distances from the difference of rows, and set those of copies to zero; the block begins at row and column `first`."""
    rows, columns = np.nonzero(block <= CANCELLATION * (norms[first : first + len(block)][:, None] + norms[first:]))
    differ = same[rows + first] != same[columns + first]
    block[rows[~differ], columns[~differ]] = 0.0
    rows, columns = rows[differ], columns[differ]
    chunk = max(1, BLOCK_ENTRIES // X.shape[1])
    for at in range(0, rows.size, chunk):
        some = slice(at, at + chunk)
        block[rows[some], columns[some]] = squared_lengths(X[rows[some] + first] - X[columns[some] + first])


def as_space(X: Any) -> Searchable | Square | Listed:
    """The space of the rows of a matrix; a space is returned as it is."""
    space: Searchable | Square | Listed = X if hasattr(X, "nearest") else Rows.of(X)
    return space
