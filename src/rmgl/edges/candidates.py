"""Which pairs a layer may use: all pairs, certified lists of nearest neighbors, approximate lists, or a given graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.all_pairs import AllPairs
from rmgl.edges.approximate import KINDS, approximate_pattern, given_pattern, measured_recall
from rmgl.edges.certificate import Certificate
from rmgl.edges.growth import Growth
from rmgl.edges.interface import Costs, Edges, Vector
from rmgl.edges.local_scaling import FLOOR_SHARE, LocalScaling
from rmgl.edges.neighborhoods import nearest_listed, require_list_memory
from rmgl.edges.pair_list import PairList
from rmgl.edges.space import Rows, Space, as_space
from rmgl.edges.ties import NearBlock
from rmgl.edges.tiles import squared_lengths
from rmgl.running.checkpoint import Checkpoint
from rmgl.running.threads import Check, InParts, one_part

SMALL = 1500
"""Number of rows up to which all pairs are no slower than lists of neighbors, even for sparse layers."""
LARGE = 10_000
"""Number of rows beyond which the memory for all pairs is also taken into account."""
SAMPLE = 50
"""Rows from which the number of neighbors is estimated."""
LONGEST_EXPECTED = 20_000
"""Largest estimate of the number of neighbors."""
SEARCHED = 3
"""Neighbors that are searched for, as a multiple of those that a node is expected to keep."""
BLOCK_ENTRIES = 1 << 20
"""Entries of a block of distances."""


AddedCosts: TypeAlias = Callable[[Edges, Check], Costs]
"""added(edges, check): costs >= 0 of the pairs of a store."""


@dataclass(frozen=True)
class Candidates:
    """Candidate pairs, their distances (locally scaled or not), and what is known about the pairs that are left out."""

    edges: Edges
    distances: Costs
    reason: str
    """"all pairs", "certified" (they are extended until the certificate holds), "approximate" or "given"."""
    neighborhoods: Certificate | None = None
    scaling: LocalScaling | None = None
    recall: float | None = None
    """For approximate and given candidates: the share of the nearest neighbors that are candidates, for a sample of rows."""
    guide: NDArray[np.float64] | None = None
    """An embedding whose squared distances are added to `distances` (None: no guidance)."""
    unguided: Costs | None = None
    """The distances without those of the guide (None: there is no guide, or no other one will follow)."""
    added: tuple[AddedCosts, ...] = ()
    """Costs from other data of the same entities that are part of `distances`, in the order in which they were added."""
    growth: Growth | None = None
    """The pairs that these candidates have more than those that they were extended from (None: there are none, or it is not known)."""

    @classmethod
    def certified(cls, found: Certificate, check: Check = lambda: None) -> Candidates:
        """Candidates with the certificate of their neighborhoods."""
        return cls(found.edges, measured(found.edges, found.space, found.scaling, check), "certified", found, found.scaling)

    def guided(self, guide: NDArray[np.float64], check: Check = lambda: None, is_last: bool = False) -> Candidates:
        """Add the squared distances of the rows of `guide` to the distances, in place of those of an earlier guide.

        After the last guide, the distances without it are not kept.
        """
        unguided = self.distances if self.guide is None else self.unguided
        assert unguided is not None, "no other guide was to follow"
        distances = self.edges.measure(guide, check)
        distances += unguided
        return replace(self, distances=distances, guide=guide, unguided=None if is_last else unguided)

    def with_added(self, *added: AddedCosts, check: Check = lambda: None) -> Candidates:
        """Add costs from other data of the same entities, one after the other, to the distances of candidates without a guide.

        No cost of a pair that is not a candidate may become smaller. Costs that were added before stay.
        """
        distances = self.distances
        for costs in added:
            distances = distances + costs(self.edges, check)
        return replace(self, distances=distances, added=(*self.added, *added))

    def nearest(self, space: Space, length: int) -> list[NearBlock] | None:
        """The closed lists of the `length` nearest neighbors of every node; None where candidates need not include them."""
        if self.neighborhoods is not None:
            return self.neighborhoods.nearest(length)
        if self.reason != "approximate" or not isinstance(self.edges, PairList):
            return None
        return nearest_listed(self.edges, space, length)

    @classmethod
    def uncertain(
        cls, space: Space, pattern: sparse.csr_array, reason: str, local: float | None, in_parts: InParts, check: Check = lambda: None
    ) -> Candidates:
        """Candidates from a pattern without a certificate, with their measured recall."""
        union = sparse.csr_array(pattern + pattern.T)
        edges = PairList(union, in_parts)
        length = max(1, round(pattern.nnz / space.n_rows))
        scaling = LocalScaling.of(space, local, check) if local is not None else None
        return cls(edges, measured(edges, space, scaling, check), reason, scaling=scaling, recall=measured_recall(space, union, length))

    @classmethod
    def listed(cls, space: Space, local: float | None, in_parts: InParts, check: Check = lambda: None) -> Candidates:
        """The given pairs of a space, which has no others: a layer is exact over these."""
        edges = PairList(space.given_pairs.copy(), in_parts)
        scaling = LocalScaling.of(space, local, check) if local is not None else None
        return cls(edges, measured(edges, space, scaling, check), "given pairs", scaling=scaling)

    def extended(self, potentials: Vector, check: Check = lambda: None) -> Candidates:
        """Add the candidates that a certificate at the solution u needs; return these if the certificate holds already."""
        if self.neighborhoods is None:
            return self
        grown = self.neighborhoods.extended(potentials, self.distances, self.guide, check)
        if grown is self.neighborhoods:
            return self
        growth = grown.growth
        if growth is None:
            wider = Candidates.certified(grown, check).with_added(*self.added, check=check)
            return wider if self.guide is None else wider.guided(self.guide, check, self.unguided is None)
        new = Candidates(growth.pairs, measured(growth.pairs, grown.space, self.scaling, check), self.reason)
        new = new.with_added(*self.added, check=check)
        if self.guide is not None:
            new = new.guided(self.guide, check)
        distances, unguided = growth.carried(self.distances, new.distances), None
        if self.unguided is not None:
            assert new.unguided is not None
            unguided = growth.carried(self.unguided, new.unguided)
        settled = grown.settled()
        return replace(self, edges=grown.edges, distances=distances, unguided=unguided, neighborhoods=settled, growth=growth)

    def pruned(self, potentials: Vector) -> Candidates:
        """Without pairs that are far from carrying weight at the solution u, where they can be found again easily."""
        if self.neighborhoods is None or self.added:
            return self
        found = self.neighborhoods.pruned(potentials, self.distances)
        if found is self.neighborhoods:
            return self
        shorter = Candidates.certified(found)
        return shorter if self.guide is None else shorter.guided(self.guide, is_last=self.unguided is None)


def measured(edges: Edges, space: Space, scaling: LocalScaling | None, check: Check = lambda: None) -> Costs:
    """Squared distances of candidate pairs, locally scaled if `scaling` is given."""
    distances = space.measure(edges, check)
    return distances if scaling is None else scaling.costs(edges, distances)


def find_candidates(
    name: str,
    X: Any,
    alpha: float | None,
    candidates: Any,
    *,
    local: bool = False,
    floor_share: float = FLOOR_SHARE,
    n_neighbors: int = 0,
    shared: AllPairs | None = None,
    in_parts: InParts = one_part,
    checkpoint: Checkpoint | None = None,
    check: Check = lambda: None,
) -> Candidates:
    """Find the candidate pairs of a view and their distances. `candidates` is what `resolve` returned; X is a matrix or a space.

    A checkpoint keeps the results of searches.

    Approximate ones are not searched for where all distances are known; where cells are missing, exact lists take their place.

    Raises a MemoryError before it allocates what would not fit. Views that use all pairs share one store, `shared`, for which the
    caller has checked the memory.
    """
    space = as_space(X)
    n, floors, searched = space.n_rows, floor_share if local else None, space.kept_by(checkpoint)
    if space.given_pairs is not None:
        return Candidates.listed(space, floors, in_parts, check)
    if not isinstance(candidates, str | int):
        return Candidates.uncertain(searched, given_pattern(name, candidates, n), "given", floors, in_parts, check)
    if candidates == "approximate" and space.indexed is not None:
        length = first_length(space.indexed, alpha, n_neighbors, share=1.5)  # approximate lists are not extended later: they begin longer
        require_list_memory(n, length, f"view {name!r}")
        pattern = approximate_pattern(space.indexed, length, checkpoint)
        return Candidates.uncertain(searched, pattern, "approximate", floors, in_parts, check)
    if candidates == "approximate":
        candidates = space.exact_instead(lambda rows: first_length(rows, alpha, n_neighbors))
    if isinstance(candidates, int):
        if not space.keeps_pairs:
            require_list_memory(n, candidates, f"view {name!r}")
        return Candidates.certified(searched.search(candidates, floors, in_parts, check), check)
    edges = AllPairs(n, in_parts) if shared is None else shared
    if shared is None:
        edges.require_memory(2, f"view {name!r}")
    scaling = LocalScaling.of(space, floor_share, check) if local else None
    return Candidates(edges, measured(edges, space, scaling, check), "all pairs", scaling=scaling)


def resolve(X: Any, alpha: float | None, candidates: Any, n_neighbors: int = 0) -> Any:
    """Decide what `candidates` means for a view: "all", "approximate", the initial length of certified lists, or a given graph.

    "auto" chooses all pairs where they are cheaper. If alpha is None, a node is expected to keep `n_neighbors`.
    """
    n = X.shape[0]
    if isinstance(candidates, str) and candidates == "auto":
        length = n if n <= SMALL else first_length(X, alpha, n_neighbors)
        if (40 if n <= LARGE else 6) * length >= n:
            return "all"
        return searched_length(length) if alpha is None else length
    if isinstance(candidates, str) and candidates in ("all", "approximate"):
        return candidates
    if isinstance(candidates, Integral) and not isinstance(candidates, bool) and int(candidates) >= 1:
        return int(candidates) if int(candidates) < n - 1 else "all"
    if candidates is None or isinstance(candidates, str | Real):
        raise ValueError(f"candidates={candidates!r} is not known: use {KINDS}")
    return candidates


def first_length(X: Any, alpha: float | None, n_neighbors: int = 0, share: float = 1.1) -> int:
    """The initial length of lists: a few more neighbors than a node is expected to keep, enough for a first solution."""
    expected = n_neighbors if alpha is None else expected_neighbors(X, alpha)
    return min(int(X.shape[0]) - 1, int(share * expected) + 5)


def searched_length(length: int) -> int:
    """How many neighbors are searched for where nodes keep nearly `length`, and alpha is not known yet.

    The potentials of some nodes reach far beyond the neighbors that they keep. Longer lists take longer to fill, shorter ones have to be
    extended at more nodes.
    """
    return SEARCHED * length


def expected_neighbors(X: Any, alpha: float) -> int:
    """The number k of neighbors at which sum_{j<=k} (z_k+1 - z_j) / 4, averaged over a sample of rows, reaches alpha."""
    X, n = Rows.of(X).X, X.shape[0]
    rows = np.random.RandomState(0).permutation(n)[: min(n, SAMPLE)]
    norms = squared_lengths(X)
    longest = min(n - 1, LONGEST_EXPECTED)
    ridge = np.zeros(longest - 1)
    for block in np.array_split(rows, -(-rows.size * n // BLOCK_ENTRIES)):
        products = X[block] @ X.T
        z = np.maximum(norms[block][:, None] + norms - 2 * (products.toarray() if sparse.issparse(products) else products), 0.0)
        z[np.arange(block.size), block] = np.inf
        if longest < n - 1:
            z = np.partition(z, longest - 1, axis=1)[:, :longest]
        z = np.sort(z, axis=1)[:, :longest]
        ridge += (np.arange(1, longest) * z[:, 1:] - np.cumsum(z, axis=1)[:, :-1]).sum(axis=0)
    return int(np.searchsorted(ridge / (4 * len(rows)), alpha)) + 1
