"""A space that knows the squared distances of some pairs only; all others are too far apart to be neighbors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.heaps import Indices
from rmgl.edges.interface import Edges, Space, Vector
from rmgl.edges.pair_list import PairList
from rmgl.running.threads import Check


@dataclass(frozen=True)
class Listed(Space):
    """Given pairs with their squared distances: a symmetric CSR array in which an entry may be zero.

    Examples
    --------
    >>> import numpy as np
    >>> space = Listed(sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 4.0], [0.0, 4.0, 0.0]])))
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

    def among(self, nodes: NDArray[np.intp] | None) -> Listed:
        return self if nodes is None else Listed(sparse.csr_array(self.pairs[nodes][:, nodes]))

    def measure(self, edges: Edges, check: Check = lambda: None) -> Vector:
        assert isinstance(edges, PairList)
        return self._entries(np.repeat(np.arange(self.n_rows), np.diff(edges.indptr)), edges.indices)

    @property
    def mean_distance(self) -> float:
        return float(self.pairs.data.mean()) or 1.0

    @property
    def given_pairs(self) -> sparse.csr_array:
        return self.pairs

    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[Indices, Vector]:
        """The `length` nearest points that are given for each node; a node with fewer has its list filled with node 0, which is far.

        The bounds are the distances of the next given points, infinite where there are none.
        """
        length = max(1, min(length, self.n_rows - 1))
        part = self.pairs[nodes]
        owner = np.repeat(np.arange(len(nodes)), np.diff(part.indptr))
        order = np.lexsort((part.data, owner))
        rank = np.arange(owner.size) - part.indptr[owner]
        kept = rank < length
        found = np.zeros((len(nodes), length), dtype=np.int64)
        found[owner[kept], rank[kept]] = part.indices[order[kept]]
        bounds, following = np.full(len(nodes), np.inf), rank == length
        bounds[owner[following]] = part.data[order[following]]
        return found, bounds

    def distances_to(self, nodes: NDArray[np.intp], neighbors: Indices) -> NDArray[np.float64]:
        """Squared distances of each node to the points listed for it; infinite where the pair is not given."""
        apart = self._entries(np.repeat(nodes, neighbors.shape[1]), neighbors.ravel()).reshape(neighbors.shape)
        repeated = np.sort(neighbors, axis=1)
        if (repeated[:, 1:] == repeated[:, :-1]).any():  # lists that were filled
            first = np.ones(neighbors.shape, dtype=bool)
            for place in range(1, neighbors.shape[1]):
                first[:, place] = (neighbors[:, :place] != neighbors[:, [place]]).all(axis=1)
            apart[~first] = np.inf
        return apart

    def _entries(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Vector:
        """The squared distances of pairs; infinite where they are not given."""
        n = np.int64(self.n_rows)
        owner = np.repeat(np.arange(self.n_rows, dtype=np.int64), np.diff(self.pairs.indptr))
        keys = owner * n + self.pairs.indices
        order = np.argsort(keys, kind="stable")
        wanted = rows.astype(np.int64) * n + columns
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)
        found: Vector = np.where(keys[order[place]] == wanted, self.pairs.data[order[place]], np.inf)
        return found
