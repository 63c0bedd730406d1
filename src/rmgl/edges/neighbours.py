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
from rmgl.memory import require_memory

BYTES_PER_LISTED = 100


@dataclass(frozen=True)
class NeighbourLists:
    """For every row of X its nearest other rows: a CSR pattern, and the squared distance that no unlisted row is nearer than."""

    X: Any
    lists: sparse.csr_array
    reach: Vector

    @classmethod
    def search(cls, X: Any, length: int) -> NeighbourLists:
        """Lists of the `length` nearest rows, found exactly."""
        X = centred(X)
        nodes = np.arange(X.shape[0])
        neighbours, reach = nearest_rows(X, nodes, length)
        return cls(X, pattern_of(nodes, neighbours, X.shape[0]), reach)

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
        lengths = np.diff(self.lists.indptr)[nodes]
        require_list_memory(1, int(2 * lengths.sum() + self.lists.nnz), "longer neighbour lists")
        lists, reach = self.lists, self.reach.copy()
        for length in np.unique(lengths):
            own = nodes[lengths == length]
            neighbours, reach[own] = nearest_rows(self.X, own, min(n - 1, 2 * int(length)))
            lists = lists + pattern_of(own, neighbours, n)
        return NeighbourLists(self.X, sparse.csr_array(lists), reach)


def require_list_memory(n_nodes: int, length: int, purpose: str) -> None:
    """Refuse lists that would not fit: pattern, its transpose and union, distances and costs."""
    advice = "use fewer neighbours (a smaller alpha) or fewer rows"
    require_memory(BYTES_PER_LISTED * n_nodes * length, f"{purpose}: {n_nodes * length:,} listed neighbours", advice)


def centred(X: Any) -> Any:
    """Dense rows without their mean, so that |x|^2 + |y|^2 - 2x'y keeps its digits."""
    return X if sparse.issparse(X) else X - X.mean(axis=0)


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
    rounding = (X.shape[1] + 10) * np.finfo(np.float64).eps  # of |x|^2 + |y|^2 - 2x'y, by which the search may rank
    return neighbours, last - rounding * (4 * squared_lengths(X[nodes]) + last)


def squared_lengths(rows: Any) -> Vector:
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def pattern_of(nodes: NDArray[np.intp], neighbours: NDArray[np.intp], n: int) -> sparse.csr_array:
    """Lists of neighbours of some nodes as rows of an n x n pattern."""
    rows = np.repeat(nodes, neighbours.shape[1])
    return sparse.csr_array((np.ones(neighbours.size, dtype=bool), (rows, neighbours.ravel())), shape=(n, n))
