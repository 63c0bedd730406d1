"""The candidate pairs of a layer, and bounds on all others.

Candidates are all pairs, certified or approximate lists of nearest neighbors, or a user's graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from rmgl.checks import sound_sparse
from rmgl.edges.approximate import approximate_pattern, measured_recall
from rmgl.edges.certificate import Certificate, Growth
from rmgl.edges.gaps import BLOCK_ENTRIES
from rmgl.edges.interface import Costs, Floats, Nodes, PairStore, Vector, as_vector
from rmgl.edges.local_scaling import FLOOR_SHARE, LISTED, LocalScaling, NearBlock
from rmgl.edges.neighborhoods import nearest_listed, require_list_memory, scaling_among
from rmgl.edges.space import Rows, Space, as_space
from rmgl.edges.stores import AllPairs, PairList
from rmgl.matrix import square_in_order, squared_lengths
from rmgl.running.checkpoint import Checkpoint
from rmgl.running.threads import ALONE, Check, Executor, InParts, no_check

SMALL = 1500
"""Number of rows up to which all pairs are as fast as lists, even for sparse layers."""
LARGE = 10_000
"""Number of rows beyond which the memory for all pairs is also taken into account."""
LENGTH_ROWS = 50
"""Number of rows sampled to estimate the number of neighbors."""
LONGEST_EXPECTED = 20_000
"""Largest estimate of the number of neighbors."""
SEARCHED = 3
"""Neighbors to search for, as a multiple of those that a node is expected to keep."""
KINDS_OF_CANDIDATES = "'auto', 'all', 'approximate', a number of neighbors or a sparse graph"


AddedCosts: TypeAlias = Callable[[PairStore, Check], Costs]
"""added(edges, check): costs >= 0 for the pairs in a store."""


@dataclass(frozen=True)
class Candidates:
    """Candidate pairs, their distances, and bounds on all other pairs.

    Distances are locally scaled if there is a `scaling`.
    """

    edges: PairStore
    distances: Costs
    reason: str
    """"all pairs", "certified" (extended until the certificate holds), "approximate" or "given"."""
    neighborhoods: Certificate | None = None
    scaling: LocalScaling | None = None
    recall: float | None = None
    """Share of the true neighbors of sampled rows that are candidates (None: certified)."""
    guide: Floats | None = None
    """An embedding whose squared distances are added to `distances` (None: no guidance)."""
    unguided: Costs | None = None
    """The distances without those of the guide (None: no guide, or no other guide will follow)."""
    added: tuple[AddedCosts, ...] = ()
    """Costs from other data about the entities, added to `distances` in order."""
    growth: Growth | None = None
    """The pairs that the last extension added (None: no extension, or unknown)."""

    @classmethod
    def certified(cls, certificate: Certificate, check: Check = no_check) -> Candidates:
        """Make candidates from the certificate of their neighborhoods."""
        edges, scaling = certificate.edges, certificate.scaling
        distances = measured(edges, certificate.space, scaling, check)
        return cls(edges, distances, "certified", certificate, scaling)

    def guided(self, guide: Floats, check: Check = no_check, is_last: bool = False) -> Candidates:
        """Add the squared distances of the rows of `guide`, replacing those of an earlier guide.

        After the last guide, the distances without it are dropped.
        """
        unguided = self.distances if self.guide is None else self.unguided
        assert unguided is not None, "no other guide was to follow"
        distances = self.edges.measure(guide, check)
        distances += unguided
        kept = None if is_last else unguided
        return replace(self, distances=distances, guide=guide, unguided=kept)

    def with_added(self, *added: AddedCosts, check: Check = no_check) -> Candidates:
        """Add costs from other data about the same entities to distances without a guide.

        They must not lower the cost of any pair outside the candidates. Earlier costs stay.
        """
        distances = self.distances
        for costs in added:
            distances = distances + costs(self.edges, check)
        return replace(self, distances=distances, added=(*self.added, *added))

    def nearest(self, space: Space, length: int) -> list[NearBlock] | None:
        """Return closed lists of the `length` nearest neighbors (None: some may be missing)."""
        if self.neighborhoods is not None:
            return self.neighborhoods.nearest(length)
        if self.reason != "approximate" or not isinstance(self.edges, PairList):
            return None
        return nearest_listed(self.edges, space, length)

    @classmethod
    def uncertain(
        cls,
        space: Space,
        pattern: sparse.csr_array,
        reason: str,
        local: float | None,
        in_parts: InParts,
        check: Check = no_check,
    ) -> Candidates:
        """Make candidates from a pattern without a certificate, and measure their recall."""
        union = sparse.csr_array(pattern + pattern.T)
        edges = PairList(union, in_parts)
        scaling = None
        if reason == "approximate" and local is not None:
            scaling = scaling_among(edges, as_vector(space.measure(edges, check)), local)
        candidates = cls.uncertified(edges, space, reason, local, check, scaling)
        length = max(1, round(pattern.nnz / space.n_rows))
        return replace(candidates, recall=measured_recall(space, union, length))

    @classmethod
    def uncertified(
        cls,
        edges: PairStore,
        space: Space,
        reason: str,
        local: float | None,
        check: Check,
        scaling: LocalScaling | None = None,
    ) -> Candidates:
        """Make candidates from the pairs of a store, without a certificate.

        With a floor share `local`, distances are locally scaled. If no scaling is passed, it is
        computed from the nearest points.
        """
        if scaling is None and local is not None:
            scaling = LocalScaling.of(space, local, check)
        return cls(edges, measured(edges, space, scaling, check), reason, scaling=scaling)

    def extended(self, potentials: Vector, check: Check = no_check) -> Candidates:
        """Add the candidates that a certificate at the solution u needs; if none, return self."""
        if self.neighborhoods is None:
            return self
        grown = self.neighborhoods.extended(potentials, self.distances, self.guide, check)
        if grown is self.neighborhoods:
            return self
        growth = grown.growth
        if growth is None:
            wider = Candidates.certified(grown, check).with_added(*self.added, check=check)
            return wider.guided_like(self, check)
        new_distances = measured(growth.pairs, grown.space, self.scaling, check)
        new = Candidates(growth.pairs, new_distances, self.reason)
        new = new.with_added(*self.added, check=check)
        if self.guide is not None:
            new = new.guided(self.guide, check)
        unguided = None
        if self.unguided is not None:
            assert new.unguided is not None
            unguided = growth.carried(self.unguided, new.unguided)
        return replace(
            self,
            edges=grown.edges,
            distances=growth.carried(self.distances, new.distances),
            unguided=unguided,
            neighborhoods=grown.settled(),
            growth=growth,
        )

    def guided_like(self, other: Candidates, check: Check = no_check) -> Candidates:
        """Add the guide of other candidates, if they have one."""
        if other.guide is None:
            return self
        return self.guided(other.guide, check, is_last=other.unguided is None)

    def pruned(self, potentials: Vector) -> Candidates:
        """Drop pairs that are far from carrying weight at u and can be found again easily."""
        if self.neighborhoods is None or self.added:
            return self
        return self._with(self.neighborhoods.pruned(potentials, self.distances))

    def tightened(self, potentials: Vector) -> Candidates:
        """Drop the pairs that few later solutions need: most of the searched lists."""
        if self.neighborhoods is None or self.added or self.guide is not None:
            return self
        return self._with(self.neighborhoods.tightened(potentials, self.distances))

    def _with(self, certificate: Certificate) -> Candidates:
        """Return the candidates of another certificate of the same space."""
        if certificate is self.neighborhoods:
            return self
        return Candidates.certified(certificate).guided_like(self)


def measured(
    edges: PairStore, space: Space, scaling: LocalScaling | None, check: Check = no_check
) -> Costs:
    """Measure the squared distances of candidate pairs, locally scaled if `scaling` is given."""
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
    executor: Executor = ALONE,
    checkpoint: Checkpoint | None = None,
    check: Check = no_check,
) -> Candidates:
    """Find the candidate pairs of a view and their distances.

    `candidates` is what `resolve` returned; X is a matrix or a space. An executor runs searches,
    and a checkpoint keeps their results. All pairs replace approximate ones where all distances are
    known; exact lists replace them where cells are missing.

    Raises a MemoryError before allocating what would not fit. Views that use all pairs share one
    store, `shared`, whose memory the caller has checked.
    """
    space, view, in_parts = as_space(X), f"view {name!r}", executor.in_parts
    n, floors = space.n_rows, floor_share if local else None
    searched = space.searched_by(executor).kept_by(checkpoint)
    if space.given_pairs is not None:
        # a layer is exact over these, because there are no others
        edges: PairStore = PairList(space.given_pairs.copy(), in_parts)
        return Candidates.uncertified(edges, space, "given pairs", floors, check)
    if not isinstance(candidates, str | int):
        pattern = given_pattern(name, candidates, n)
        return Candidates.uncertain(searched, pattern, "given", floors, in_parts, check)
    if candidates == "approximate" and space.indexed is not None:
        # approximate lists are not extended later, so they start out longer
        length = first_length(space.indexed, alpha, n_neighbors, share=1.5)
        length = length if floors is None else min(max(length, LISTED), n - 1)
        require_list_memory(n, length, view)
        pattern = approximate_pattern(space.indexed, length, checkpoint)
        return Candidates.uncertain(searched, pattern, "approximate", floors, in_parts, check)
    if candidates == "approximate":
        candidates = space.exact_instead(lambda rows: first_length(rows, alpha, n_neighbors))
    if isinstance(candidates, int):
        require_list_memory(n, candidates, view)
        return Candidates.certified(searched.search(candidates, floors, in_parts, check), check)
    if shared is None:
        shared = AllPairs(n, in_parts)
        shared.require_memory(2, view)
    return Candidates.uncertified(shared, space, "all pairs", floors, check)


def resolve(X: Any, alpha: float | None, candidates: Any, n_neighbors: int = 0) -> Any:
    """Decide what `candidates` means for a view.

    The result is "all", "approximate", the initial length of certified lists, or the user's graph.
    "auto" chooses all pairs where they are cheaper. If alpha is None, a node is expected to keep
    `n_neighbors` neighbors.
    """
    n = X.shape[0]
    if isinstance(candidates, str) and candidates == "auto":
        length = n if n <= SMALL else first_length(X, alpha, n_neighbors)
        if (40 if n <= LARGE else 6) * length >= n:
            return "all"
        return searched_length(length) if alpha is None else length
    if isinstance(candidates, str) and candidates in ("all", "approximate"):
        return candidates
    is_number = isinstance(candidates, Integral) and not isinstance(candidates, bool)
    if is_number and int(candidates) >= 1:
        return int(candidates) if int(candidates) < n - 1 else "all"
    if candidates is None or isinstance(candidates, str | Real):
        raise ValueError(f"candidates={candidates!r} is not known: use {KINDS_OF_CANDIDATES}")
    return candidates


def first_length(X: Any, alpha: float | None, n_neighbors: int = 0, share: float = 1.1) -> int:
    """Return the initial length of lists: a few more neighbors than nodes are expected to keep."""
    expected = n_neighbors if alpha is None else expected_neighbors(X, alpha)
    return min(int(X.shape[0]) - 1, int(share * expected) + 5)


def searched_length(length: int) -> int:
    """Return how many neighbors to search for if nodes keep nearly `length`, with alpha unknown.

    The potentials of some nodes reach far beyond the neighbors that they keep. Longer lists take
    longer to fill; shorter ones must be extended at more nodes.
    """
    return SEARCHED * length


def expected_neighbors(X: Any, alpha: float) -> int:
    """Return the k at which the sample mean of sum_{j<=k} (z_k+1 - z_j) / 4 reaches alpha."""
    X, n = Rows.of(X).X, X.shape[0]
    rows = np.random.RandomState(0).permutation(n)[: min(n, LENGTH_ROWS)]
    norms = squared_lengths(X)
    longest = min(n - 1, LONGEST_EXPECTED)
    ridge = np.zeros(longest - 1)
    for block in np.array_split(rows, -(-rows.size * n // BLOCK_ENTRIES)):
        products = X[block] @ X.T
        products = products.toarray() if sparse.issparse(products) else products
        z = np.maximum(norms[block][:, None] + norms - 2 * products, 0.0)
        z[np.arange(block.size), block] = np.inf
        if longest < n - 1:
            z = np.partition(z, longest - 1, axis=1)[:, :longest]
        z = np.sort(z, axis=1)[:, :longest]
        ridge += (np.arange(1, longest) * z[:, 1:] - np.cumsum(z, axis=1)[:, :-1]).sum(axis=0)
    return int(np.searchsorted(ridge / (4 * len(rows)), alpha)) + 1


def given_pattern(name: str, graph: Any, n_nodes: int) -> sparse.csr_array:
    """Return the pattern of a sparse graph, such as one from `KNeighborsTransformer`."""
    given = f"candidates for view {name!r} is"
    if not sparse.issparse(graph):
        raise ValueError(f"{given} of type {type(graph).__name__}: use {KINDS_OF_CANDIDATES}")
    if graph.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"{given} a graph of shape {graph.shape}, but the view has {n_nodes} rows: use a graph "
            "with one node for each row"
        )
    entries = sound_graph(name, graph).tocoo()
    differ = entries.row != entries.col
    pairs = (entries.row[differ], entries.col[differ])
    pattern = sparse.csr_array((np.ones(pairs[0].size, dtype=bool), pairs), shape=graph.shape)
    if pattern.nnz == 0:
        raise ValueError(f"{given} a graph without edges: add at least one pair of different rows")
    return pattern


def sound_graph(name: str, graph: Any) -> sparse.csr_array:
    """Convert a user's graph to CSR; an error names an entry that is not a distance or weight."""
    matrix = sound_sparse(f"the candidate graph for view {name!r}", graph)
    wrong = np.arange(matrix.nnz)
    if matrix.dtype.kind in "biuf":
        wrong = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if wrong.size:
        first = wrong[0]
        row = np.searchsorted(matrix.indptr, first, side="right") - 1
        raise ValueError(
            f"candidates for view {name!r} is a graph whose entry ({row}, "
            f"{matrix.indices[first]}) is {matrix.data[first]}, but distances or weights must "
            "be real numbers >= 0: correct it, or remove the entries of pairs that are not "
            "candidates"
        )
    return matrix


def pairs_among(name: str, candidates: Any, rows: Nodes | None, n_nodes: int) -> Any:
    """Restrict a graph of all entities to a view's rows; return other candidates unchanged."""
    if rows is None or not is_graph_of(n_nodes, candidates):
        return candidates
    return sound_graph(name, candidates)[rows][:, rows]


def among_all(name: str, candidates: Any, rows: Nodes | None, n_nodes: int) -> Any:
    """Extend a graph of a view's rows to all entities; return other candidates unchanged."""
    if rows is None or not is_graph_of(rows.size, candidates):
        return candidates
    graph = sound_graph(name, candidates).tocoo()
    pairs = rows[graph.row], rows[graph.col]
    return sparse.csr_array((graph.data, pairs), shape=(n_nodes, n_nodes))


def graph_in_order(name: str, candidates: Any, order: Nodes) -> Any:
    """Reorder the entities in a graph; return other candidates unchanged."""
    if not is_graph_of(order.size, candidates):
        return candidates
    return square_in_order(sparse.csr_array(sound_graph(name, candidates)), order)


def is_graph_of(n_nodes: int, candidates: Any) -> bool:
    """Check whether candidates are a graph with this number of nodes."""
    return bool(sparse.issparse(candidates) and candidates.shape == (n_nodes, n_nodes))
