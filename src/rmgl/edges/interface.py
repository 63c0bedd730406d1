"""Interfaces of pair stores and spaces, which connect data, candidate pairs and solvers.

A *pair store* holds candidate pairs and no data. A solver takes `(edges, costs, alpha)`: a store,
the costs of its pairs, and alpha. It uses only the methods of `PairStore`. A *space* holds points
and their squared distances, and finds candidate pairs among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl import kernels
from rmgl.running.checkpoint import Checkpoint
from rmgl.running.threads import Check, Executor, InParts, no_check

if TYPE_CHECKING:
    from rmgl.edges.certificate import Certificate

Vector = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float64]
"""A matrix, or an array of any shape."""
Nodes: TypeAlias = NDArray[np.intp]
Indices = NDArray[np.signedinteger[Any]]
Ends = NDArray[np.integer[Any]]
"""The first members, or the second members, of pairs of rows."""
Products = NDArray[np.floating[Any]]
"""Products of rows, in single or double precision."""
OwnCosts: TypeAlias = Any
"""`Costs` of the same store; type checkers cannot distinguish stores."""


class Costs(Protocol):
    """Numbers >= 0 for the candidate pairs of one store, in the store's own format.

    Costs from the same store can be added to, subtracted from and multiplied by one another and
    numbers.
    """

    def __add__(self, other: Any, /) -> Costs: ...

    def __sub__(self, other: Any, /) -> Costs: ...

    def __mul__(self, other: Any, /) -> Costs: ...

    def __rmul__(self, other: Any, /) -> Costs: ...

    def __rsub__(self, other: Any, /) -> Costs: ...


def as_vector(costs: Costs) -> Vector:
    """Return the costs of an in-memory store, which are a vector."""
    assert isinstance(costs, np.ndarray)
    return costs


@dataclass(frozen=True)
class Evaluation:
    """Sums over the pairs at a dual vector u, from one pass, with t_ij = u_i + u_j - z_ij."""

    excess: Vector
    """sum_j (t_ij)_+ for every node i."""
    counts: Vector
    """The number of pairs of node i with t_ij > 0."""
    squares: float
    """sum_{i<j} (t_ij)_+^2."""


@dataclass(frozen=True)
class Cheapest:
    """The cheapest pairs of a store, compared with the next cheapest pair."""

    excess: float
    """sum (z - z_ij) over these pairs, with z the cost of the next cheapest pair."""
    mean: float
    """The mean cost of all pairs."""


@dataclass
class ActivePairs:
    """The matrix D_A + A: A is the 0/1 matrix of active pairs, D_A the diagonal of its row sums.

    Calling it multiplies it by a vector. If few pairs are active, they are copied once, so that
    products need not pass over all candidates.
    """

    multiply: Callable[[Vector], Vector]
    passes: float
    """Number of passes over the candidates so far; a partial pass counts as a fraction."""
    passes_per_product: float

    def __call__(self, v: Vector) -> Vector:
        self.passes += self.passes_per_product
        return self.multiply(v)


class PairStore(Protocol):
    """A store of candidate pairs, as solvers use it."""

    n_nodes: int
    n_pairs: int
    max_degree: int
    """The largest number of candidate pairs that share a node."""

    def measure(self, X: Floats | sparse.csr_array, check: Check = ...) -> Costs:
        """Compute ||x_i - x_j||^2 for every candidate pair, from the rows of a view or embedding.

        `check` is called repeatedly and may raise.
        """

    def entries_of(self, square: Floats) -> Costs:
        """Return the entry of a symmetric matrix for every candidate pair."""

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[Nodes, Nodes, Nodes]:
        """Return all pairs of chosen nodes: positions in a cost vector, and the two nodes."""

    def localized(self, distances: OwnCosts, scales: Vector, floors: Vector) -> Costs:
        """Compute max(z_ij / (s_i s_j), min(f_i, f_j)) for every candidate pair."""

    def evaluate(self, u: Vector, costs: OwnCosts) -> Evaluation:
        """Compute the sums behind degrees and dual value at u, without alpha, in one pass."""

    def active_pairs(self, u: Vector, costs: OwnCosts, counts: Vector) -> ActivePairs:
        """Return the matrix D_A + A of the pairs active at u; `counts` come from `evaluate`."""

    def active(self, u: Vector, costs: OwnCosts, least: float) -> sparse.csr_array:
        """Return the symmetric matrix of the t_ij that exceed `least`."""

    def inner(self, costs: OwnCosts, weights: sparse.csr_array) -> float:
        """Compute z'w = sum_{i<j} z_ij w_ij for symmetric weights on candidate pairs."""

    def least(self, costs: OwnCosts) -> float:
        """Return the smallest cost."""

    def largest(self, costs: OwnCosts) -> float:
        """Return the largest cost."""

    def sample(self, costs: OwnCosts, size: int) -> Vector:
        """Return about `size` evenly spaced costs, or all of them if there are fewer."""

    def cheapest(self, costs: OwnCosts, share: float) -> Cheapest:
        """Compare the cheapest `share` of the pairs (at most half) with the next cheapest pair."""


class CostVectors:
    """Shared methods of pair stores whose costs are vectors."""

    n_pairs: int

    def least(self, costs: Vector) -> float:
        return float(costs.min())

    def largest(self, costs: Vector) -> float:
        return float(costs.max())

    def sample(self, costs: Vector, size: int) -> Vector:
        return costs[:: max(1, costs.size // size)]

    def cheapest(self, costs: Vector, share: float) -> Cheapest:
        place = min(int(share * costs.size), costs.size // 2)
        costs = np.partition(costs, place)
        excess = float((costs[place] - costs[:place]).sum()) * self.n_pairs / costs.size
        return Cheapest(excess, float(costs.mean()))


def loop_indices(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return row starts (64-bit) and column indices (32-bit) of a CSR matrix for compiled loops."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)


def multiplier(
    starts: NDArray[np.integer[Any]], indices: NDArray[np.integer[Any]], in_parts: InParts
) -> Callable[[Vector], Vector]:
    """Return the function v -> (D_A + A) v for the active pairs of a symmetric CSR pattern."""

    def multiply(v: Vector) -> Vector:
        out = np.empty(v.size)

        def multiply_rows(first: int, stop: int) -> None:
            kernels.pattern_product(starts, indices, v, first, stop, out)

        in_parts(multiply_rows, v.size)
        return out

    return multiply


class Space(ABC):
    """Points with their squared distances, and the search for candidate pairs among them."""

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @abstractmethod
    def among(self, nodes: Nodes | None) -> Space:
        """Return the space of the given points (None: all)."""

    @abstractmethod
    def measure(self, edges: PairStore, check: Check = no_check) -> Costs:
        """Compute the squared distance of every candidate pair.

        `check` is called repeatedly and may raise.
        """

    @abstractmethod
    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        """Find the `length` points nearest to each node, and bound the distances to all others.

        Points are in no particular order. The bound is a lower bound on squared distances, infinite
        where all points are listed.
        """

    @abstractmethod
    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        """Compute the squared distances from each node to the points listed for it."""

    @property
    @abstractmethod
    def mean_distance(self) -> float:
        """The mean squared distance between two random points, or over the given pairs."""

    @property
    def given_pairs(self) -> sparse.csr_array | None:
        """The only pairs that have a distance, as a CSR array (None: all pairs have one)."""
        return None

    @property
    def indexed(self) -> Any:
        """The rows for building an approximate index (None: unavailable)."""
        return None

    def exact_instead(self, length: Callable[[Any], int]) -> int | str:
        """Return what replaces approximate lists: the length of exact lists, or "all" pairs."""
        return "all"

    def searched_by(self, executor: Executor) -> Space:
        """Return the space with searches run by an executor, or self if it has no searches."""
        return self

    def kept_by(self, checkpoint: Checkpoint | None) -> Space:
        """Return the space with its search results kept by the checkpoint, if there is one.

        A space without searches returns itself.
        """
        return self

    def search(
        self, length: int, local: float | None, in_parts: InParts, check: Check
    ) -> Certificate:
        """Return a certificate that starts from the `length` nearest neighbors of each point.

        `local` is the floor share of local scaling (None: no scaling).
        """
        raise TypeError("all pairs of this space are given: there are no others to search for")


class Searchable(Space):
    """A space in which all pairs within specified radii can be found."""

    @abstractmethod
    def digest(self) -> str:
        """Return a string that identifies the points. Search results are stored under it."""

    @abstractmethod
    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None = None, check: Check = no_check
    ) -> tuple[Ends, Ends]:
        """Find all pairs of a node and another point nearer than s_i s_j (radii_i + radii_j).

        Distances are squared. A pair may occur in one order or in both, and rounding may add a few
        pairs. `scales` are the s_i (None: all are one).
        """

    def kept_by(self, checkpoint: Checkpoint | None) -> Searchable:
        from rmgl.edges.kept_searches import KeptSearches  # subclasses Searchable

        return self if checkpoint is None else KeptSearches(self, checkpoint)

    def search(
        self, length: int, local: float | None, in_parts: InParts, check: Check
    ) -> Certificate:
        from rmgl.edges.neighborhoods import Neighborhoods  # imports Space

        return Neighborhoods.search(self, length, in_parts, check, local)
