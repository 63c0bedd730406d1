"""Spaces whose distances are in memory: all of them (`Square`), or those of some pairs (`Listed`).

`Rows` computes distances from the rows, tile by tile (`rmgl.edges.search`); `Gapped` estimates them
for rows with missing cells (`rmgl.edges.gaps`). With `Square`, no distance is computed twice,
however many columns there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from rmgl import kernels
from rmgl.edges.gaps import BLOCK_ENTRIES, Blocks, Gapped, Summed, blocks_of, nearest_in_blocks
from rmgl.edges.interface import Costs, Floats, Indices, Nodes, PairStore, Space, Vector
from rmgl.edges.search import Rows, as_space, everyone_else
from rmgl.edges.stores import CANCELLATION, PairList
from rmgl.matrix import squared_lengths
from rmgl.running.threads import Check, InParts, no_check, one_part

if TYPE_CHECKING:
    from rmgl.edges.certificate import Certificate
__all__ = ["Blocks", "Gapped", "Listed", "Rows", "Space", "Square", "Summed", "as_space"]


@dataclass(frozen=True)
class Square(Space):
    """A space defined by the symmetric matrix of all squared distances.

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

    distances: Floats

    @classmethod
    def of(cls, X: Any, in_parts: InParts = one_part, check: Check = no_check) -> Square:
        """Compute all distances as |x|^2 + |y|^2 - 2x'y, or from differences if rows are close."""
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
                upper = np.triu(block[:, : len(block)], 1)
                # the two orders of a pair may be rounded differently
                block[:, : len(block)] = upper + upper.T
                distances[some, first:] = block
                distances[first:, some] = block.T

        in_parts(measure_blocks, -(-n // size))
        return cls(distances)

    @classmethod
    def of_blocks(
        cls, space: Blocks, in_parts: InParts = one_part, check: Check = no_check
    ) -> Square:
        """Compute all distances of a space, block by block."""
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

    def among(self, nodes: Nodes | None) -> Square:
        return self if nodes is None else Square(self.distances[np.ix_(nodes, nodes)])

    def measure(self, edges: PairStore, check: Check = no_check) -> Costs:
        return edges.entries_of(self.distances)

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        if length >= self.n_rows - 1:
            return everyone_else(nodes, self.n_rows)
        take = self.distances.__getitem__
        return nearest_in_blocks(nodes, length, self.n_rows, take, check)

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        return self.distances[nodes[:, None], neighbors]

    @property
    def mean_distance(self) -> float:
        return float(self.distances.mean()) or 1.0

    def search(
        self, length: int, local: float | None, in_parts: InParts, check: Check
    ) -> Certificate:
        from rmgl.edges.neighborhoods import Checked  # uses this space

        return Checked.search(self, length, in_parts, check, local)

    def missing(
        self,
        u: Vector,
        edges: PairList,
        scales: Vector,
        floors: Vector,
        guide: Floats,
        most: int,
        check: Check = no_check,
    ) -> tuple[Indices, Indices]:
        """Find unlisted pairs that would carry weight at u: the `most` heaviest at each node.

        Their costs are max(z_ij / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2, from scales s, floors
        f and the rows g of a guide.
        """
        given = (self.distances, scales, floors, guide, u, *edges.pairs)
        room = np.zeros(self.n_rows, dtype=np.int32), np.empty(self.n_rows)
        lefts, rights = [], []
        for some in blocks_of(self.n_rows, self.n_rows, check):
            scores = np.zeros((some.stop - some.start, most))
            heaps = np.zeros(scores.shape, dtype=np.int32)
            kernels.missing_pairs(*given, some.start, some.stop, *room, scores, heaps)
            left, place = np.nonzero(scores)
            lefts.append(left + some.start)
            rights.append(heaps[left, place])
        return np.concatenate(lefts), np.concatenate(rights)


def copies(X: Any) -> Indices:
    """Return, for every row, the first row that equals it entry by entry."""
    first: dict[Any, int] = {}
    rows: Iterable[Any] = (row.tobytes() for row in X)
    if sparse.issparse(X):
        rows = (
            (X.indices[start:stop].tobytes(), X.data[start:stop].tobytes())
            for start, stop in pairwise(X.indptr.tolist())
        )
    return np.array([first.setdefault(row, i) for i, row in enumerate(rows)])


def repair(block: Floats, X: Any, norms: Vector, same: Indices, first: int) -> None:
    """Recompute small distances of a block, which starts at row `first`, from differences.

    Copies get zero.
    """
    total = norms[first : first + len(block)][:, None] + norms[first:]
    rows, columns = np.nonzero(block <= CANCELLATION * total)
    differ = same[rows + first] != same[columns + first]
    block[rows[~differ], columns[~differ]] = 0.0
    rows, columns = rows[differ], columns[differ]
    chunk = max(1, BLOCK_ENTRIES // X.shape[1])
    for at in range(0, rows.size, chunk):
        left, right = rows[at : at + chunk], columns[at : at + chunk]
        block[left, right] = squared_lengths(X[left + first] - X[right + first])


@dataclass(frozen=True)
class Listed(Space):
    """Pairs with known squared distances.

    All other pairs are treated as too far apart to be neighbors. The pairs are a symmetric
    CSR array in which an entry may be zero.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    >>> space = Listed(sparse.csr_array(pairs))
    >>> space.nearest(np.arange(3), 2)[0]
    array([[1, 0],
           [0, 2],
           [1, 0]])
    >>> space.distances_to(np.arange(3), np.array([[1, 0], [0, 2], [1, 0]]))
    array([[ 1., inf],
           [ 1.,  4.],
           [ 4., inf]])
    """

    pairs: sparse.csr_array

    @property
    def n_rows(self) -> int:
        return int(self.pairs.shape[0])

    def among(self, nodes: Nodes | None) -> Listed:
        return self if nodes is None else Listed(sparse.csr_array(self.pairs[nodes][:, nodes]))

    def measure(self, edges: PairStore, check: Check = no_check) -> Vector:
        assert isinstance(edges, PairList)
        return self._entries(edges.owners, edges.indices)

    @property
    def mean_distance(self) -> float:
        return float(self.pairs.data.mean()) or 1.0

    @property
    def given_pairs(self) -> sparse.csr_array:
        return self.pairs

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        """Return the `length` nearest listed points of each node.

        Shorter lists are padded with node 0, which is treated as a far point. The bounds are the
        distances to the next points, infinite if there are none.
        """
        length = max(1, min(length, self.n_rows - 1))
        part = self.pairs[nodes]
        owner = np.repeat(np.arange(len(nodes)), np.diff(part.indptr))
        order = np.lexsort((part.data, owner))
        rank = np.arange(owner.size) - part.indptr[owner]
        kept, following = rank < length, rank == length
        neighbors = np.zeros((len(nodes), length), dtype=np.int64)
        neighbors[owner[kept], rank[kept]] = part.indices[order[kept]]
        bounds = np.full(len(nodes), np.inf)
        bounds[owner[following]] = part.data[order[following]]
        return neighbors, bounds

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        """Return the squared distances from nodes to these points; infinite if not listed."""
        entries = self._entries(np.repeat(nodes, neighbors.shape[1]), neighbors.ravel())
        apart = entries.reshape(neighbors.shape)
        ordered = np.sort(neighbors, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():  # some lists were padded
            first = np.ones(neighbors.shape, dtype=bool)
            for place in range(1, neighbors.shape[1]):
                first[:, place] = (neighbors[:, :place] != neighbors[:, [place]]).all(axis=1)
            apart[~first] = np.inf
        return apart

    def _entries(self, rows: Nodes, columns: Nodes) -> Vector:
        """Return the squared distances of pairs; infinite if a pair is not listed."""
        n = np.int64(self.n_rows)
        owner = np.repeat(np.arange(self.n_rows, dtype=np.int64), np.diff(self.pairs.indptr))
        keys = owner * n + self.pairs.indices
        order = np.argsort(keys, kind="stable")
        wanted = rows.astype(np.int64) * n + columns
        place = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)]
        return np.where(keys[place] == wanted, self.pairs.data[place], np.inf)
