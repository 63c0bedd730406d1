"""Candidate pairs from nearest-neighbour lists, with a certificate that no other pair can matter.

A pair can carry weight only if z_ij < u_i + u_j. Let the candidates be the union of nearest-neighbour lists by data distance, and
rho_i the distance to the last neighbour in i's list. If u_i <= rho_i / 2 for all i, then for a pair in no list

    u_i + u_j <= (rho_i + rho_j) / 2 <= max(rho_i, rho_j) <= z_ij

so it carries none, whatever the embedding adds to the costs: the solution over the candidates *is* the solution over all pairs.
Where a node fails the test its list is lengthened and the solve goes on from where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from rmgl.edges.interface import Vector
from rmgl.edges.pair_list import PairList

# The search may rank rows by |x|^2 + |y|^2 - 2x'y; what rounding can do to it is taken off the reach of a list.
ROUNDING = 1e-14


@dataclass(frozen=True)
class NeighbourLists:
    """For every row of X its nearest other rows: a CSR pattern, and the squared distance that no unlisted row is nearer than."""

    X: Any
    lists: sparse.csr_array
    reach: Vector

    @classmethod
    def search(cls, X: Any, length: int) -> NeighbourLists:
        """Lists of the `length` nearest rows, found exactly."""
        neighbours, reach = nearest_rows(X, np.arange(X.shape[0]), length)
        return cls(X, pattern_of(np.arange(X.shape[0]), neighbours, X.shape[0]), reach)

    @property
    def edges_pattern(self) -> sparse.csr_array:
        """The union of all lists, as a symmetric pattern."""
        return sparse.csr_array(self.lists + self.lists.T)

    @cached_property
    def edges(self) -> PairList:
        """The union of all lists, as an edge store."""
        return PairList(self.edges_pattern)

    def too_short(self, potentials: Vector) -> NDArray[np.intp]:
        """The nodes whose lists do not prove that nothing was left out."""
        return np.flatnonzero(2 * potentials > self.reach)

    def lengthened(self, nodes: NDArray[np.intp]) -> NeighbourLists:
        """The same with lists twice as long at the given nodes."""
        n = self.X.shape[0]
        length = min(n - 1, 2 * int(np.diff(self.lists.indptr)[nodes].max()))
        neighbours, reach = nearest_rows(self.X, nodes, length)
        new_reach = self.reach.copy()
        new_reach[nodes] = reach
        return NeighbourLists(self.X, sparse.csr_array(self.lists + pattern_of(nodes, neighbours, n)), new_reach)


def nearest_rows(X: Any, nodes: NDArray[np.intp], length: int) -> tuple[NDArray[np.intp], Vector]:
    """The `length` nearest other rows of each node, and a squared distance that no other row is nearer than.

    That is the distance of the last one less what rounding can do, and infinity if all rows are listed.
    """
    n = X.shape[0]
    length = min(length, n - 1)
    found = NearestNeighbors(n_neighbors=length + 1).fit(X).kneighbors(X[nodes], return_distance=False)
    others = found != nodes[:, None]
    others[others.all(axis=1), -1] = False  # among many duplicates a row may not list itself: leave out the farthest
    neighbours = found[others].reshape(len(nodes), length)
    if length == n - 1:
        return neighbours, np.full(len(nodes), np.inf)
    last = squared_lengths(X[neighbours[:, -1]] - X[nodes])
    return neighbours, last - ROUNDING * (4 * squared_lengths(X[nodes]) + last)


def squared_lengths(rows: Any) -> Vector:
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def pattern_of(nodes: NDArray[np.intp], neighbours: NDArray[np.intp], n: int) -> sparse.csr_array:
    """Lists of neighbours of some nodes as rows of an n x n pattern."""
    rows = np.repeat(nodes, neighbours.shape[1])
    return sparse.csr_array((np.ones(neighbours.size, dtype=bool), (rows, neighbours.ravel())), shape=(n, n))
