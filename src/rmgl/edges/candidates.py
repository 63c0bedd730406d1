"""Which pairs a layer may use: all of them, or nearest neighbours that prove the rest away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from rmgl.edges.all_pairs import AllPairs
from rmgl.edges.interface import Edges, Vector
from rmgl.edges.neighbours import NeighbourLists, squared_lengths

SMALL = 5000  # rows up to which passes over all pairs take milliseconds
SAMPLE = 200
Check = Callable[[], None]


@dataclass(frozen=True)
class Candidates:
    """Candidate edges, the data distances on them, and how they can be extended."""

    edges: Edges
    distances: Vector
    lists: NeighbourLists | None = None

    @classmethod
    def all_pairs(cls, X: Any, edges: AllPairs, check: Check = lambda: None) -> Candidates:
        return cls(edges, edges.measure(X, check))

    @classmethod
    def neighbours(cls, lists: NeighbourLists, check: Check = lambda: None) -> Candidates:
        return cls(lists.edges, lists.edges.measure(lists.X, check), lists)

    @property
    def reason(self) -> str:
        """Why a layer over these candidates is exact."""
        return "all pairs" if self.lists is None else "certified"

    def extended(self, potentials: Vector, check: Check = lambda: None) -> Candidates:
        """These candidates if they are enough at a solution u, else more of them."""
        if self.lists is None:
            return self
        nodes = self.lists.too_short(potentials)
        return self if nodes.size == 0 else Candidates.neighbours(self.lists.lengthened(nodes), check)


def state_candidates(
    X: Any, alpha: float, candidates: Any, purpose: str, *, n_vectors: int = 2, shared: AllPairs | None = None, check: Check = lambda: None
) -> Candidates:
    """The candidates that the parameter `candidates` asks for, with their distances.

    All pairs are refused, before anything is allocated, where `n_vectors` vectors over them would not fit into memory. Views that use
    all pairs share one store.
    """
    length = list_length(X, alpha, candidates)
    if length is not None:
        return Candidates.neighbours(NeighbourLists.search(X, length), check)
    edges = AllPairs(X.shape[0]) if shared is None else shared
    edges.require_memory(n_vectors, purpose)
    return Candidates.all_pairs(X, edges, check)


def list_length(X: Any, alpha: float, candidates: Any) -> int | None:
    """How long neighbour lists should be at first; None for all pairs.

    "auto" takes all pairs where they are the cheaper choice.
    """
    n = X.shape[0]
    if isinstance(candidates, str):
        if candidates == "all":
            return None
        if candidates != "auto":
            raise ValueError(f"candidates={candidates!r} is not known: use 'auto', 'all' or a number of neighbours")
        if n <= SMALL:
            return None
        length = int(1.5 * expected_neighbours(X, alpha)) + 5
        return length if 6 * length < n else None
    if not isinstance(candidates, Integral) or isinstance(candidates, bool) or candidates < 1:
        raise ValueError(f"candidates={candidates!r} is not known: use 'auto', 'all' or a number of neighbours >= 1")
    return int(candidates) if candidates < n - 1 else None


def expected_neighbours(X: Any, alpha: float) -> int:
    """The k at which sum_{j<=k} (z_k+1 - z_j) / 4 reaches alpha, on average over a sample of rows."""
    n = X.shape[0]
    rows = np.random.RandomState(0).permutation(n)[: min(n, SAMPLE)]
    norms = squared_lengths(X)
    products = X[rows] @ X.T
    products = products.toarray() if hasattr(products, "toarray") else products
    z = np.maximum(norms[rows][:, None] + norms - 2 * products, 0.0)
    z[np.arange(len(rows)), rows] = np.inf
    z = np.sort(z, axis=1)[:, : n - 1]
    k = np.arange(1, n - 1)
    ridge = (k * z[:, 1:] - np.cumsum(z, axis=1)[:, :-1]).mean(axis=0) / 4
    return int(np.searchsorted(ridge, alpha)) + 1
