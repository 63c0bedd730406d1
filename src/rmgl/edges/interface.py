"""The interface between solvers and edge stores.

An *edge store* holds candidate pairs and no data. A solver works with `(edges, costs, alpha)`, where `costs` belong to the store, and
uses only the methods of `Edges`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.running.checkpoint import Checkpoint
from rmgl.running.threads import Check, InParts

Vector = NDArray[np.float64]
Costs: TypeAlias = Any
"""Numbers >= 0 for the candidate pairs of one store, in a form that only the store knows: a vector, or parts of one on other machines.
Costs of the same store can be added, subtracted and multiplied, with one another and with numbers."""


@dataclass(frozen=True)
class Evaluation:
    """Sums over the pairs at u, from one pass, with t_ij = u_i + u_j - z_ij."""

    excess: Vector
    """sum_j (t_ij)_+ for every node i."""
    counts: Vector
    """The number of pairs of node i with t_ij > 0."""
    squares: float
    """sum_{i<j} (t_ij)_+^2."""


@dataclass(frozen=True)
class Cheapest:
    """The cheapest pairs of a store, compared with the next one."""

    excess: float
    """sum (z - z_ij) over them, with z the cost of the next one."""
    mean: float
    """The mean cost of all pairs."""


@dataclass
class ActivePairs:
    """The matrix D_A + A, with A the 0/1 matrix of the active pairs; a call multiplies it by a vector.

    If few pairs are active, they are copied once, so that products need not pass over all candidates.
    """

    multiply: Callable[[Vector], Vector]
    passes: float
    """Number of passes over the candidates so far; a partial pass counts as a fraction."""
    passes_per_product: float

    def __call__(self, v: Vector) -> Vector:
        self.passes += self.passes_per_product
        return self.multiply(v)


class Edges(Protocol):
    """An edge store, as solvers use it."""

    n_nodes: int
    n_pairs: int
    max_degree: int
    """The largest number of candidate pairs that share a node."""

    def measure(self, X: NDArray[np.float64] | sparse.csr_array, check: Check = ...) -> Costs:
        """||x_i - x_j||^2 for every candidate pair, from the rows of a view or embedding. `check` is called repeatedly and may raise."""

    def entries_of(self, square: NDArray[np.float64]) -> Costs:
        """The entries of a symmetric matrix for every candidate pair."""

    def pairs_among(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The places in a vector of costs of all candidate pairs of chosen nodes, and their two nodes."""

    def localized(self, distances: Costs, scales: Vector, floors: Vector) -> Costs:
        """max(z_ij / (s_i s_j), min(f_i, f_j)) for every candidate pair."""

    def evaluate(self, u: Vector, costs: Costs) -> Evaluation:
        """Sums for the degrees and the dual value at u, not yet divided by powers of alpha; one pass."""

    def active_pairs(self, u: Vector, costs: Costs, counts: Vector) -> ActivePairs:
        """The matrix D_A + A of the pairs active at u; `counts` are those that `evaluate` returned."""

    def active(self, u: Vector, costs: Costs, least: float) -> sparse.csr_array:
        """The symmetric matrix of the t_ij that exceed `least`."""

    def inner(self, costs: Costs, weights: sparse.csr_array) -> float:
        """z'w = sum_{i<j} z_ij w_ij, for symmetric weights on candidate pairs."""

    def least(self, costs: Costs) -> float:
        """The smallest cost."""

    def largest(self, costs: Costs) -> float:
        """The largest cost."""

    def sample(self, costs: Costs, size: int) -> Vector:
        """About `size` of the costs, taken at equal steps; all if there are fewer."""

    def cheapest(self, costs: Costs, share: float) -> Cheapest:
        """Compare the given share of pairs, at most half, that have the smallest costs with the next one."""


class Space(ABC):
    """Points and their squared distances, and how candidate pairs are found among them."""

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @abstractmethod
    def among(self, nodes: NDArray[np.intp] | None) -> Space:
        """The space of some of the points (None: all)."""

    @abstractmethod
    def measure(self, edges: Edges, check: Check = lambda: None) -> Costs:
        """The squared distance of every candidate pair. `check` is called repeatedly and may raise."""

    @abstractmethod
    def nearest(self, nodes: NDArray[np.intp], length: int, check: Check = lambda: None) -> tuple[NDArray[np.int64], Vector]:
        """The `length` nearest other points of each node, in any order, and a lower bound of the squared distance to all others.

        The bound is infinite where all points are listed.
        """

    @abstractmethod
    def distances_to(self, nodes: NDArray[np.intp], neighbors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Squared distances of each node to the points listed for it."""

    @property
    @abstractmethod
    def mean_distance(self) -> float:
        """The mean squared distance between two random points; over the given pairs where others are not known."""

    @property
    def given_pairs(self) -> Any:
        """The only pairs that have a distance, as a CSR array (None: all have one)."""
        return None

    @property
    def indexed(self) -> Any:
        """The rows that an approximate index can be built from (None: something exact takes its place)."""
        return None

    def exact_instead(self, length: Callable[[Any], int]) -> int | str:
        """What takes the place of approximate candidates: exact lists as long as length(rows) says, or "all" pairs."""
        return "all"

    def kept_by(self, checkpoint: Checkpoint | None) -> Space:
        """The space with the results of its searches kept by a checkpoint (None: there is none); itself if it searches for nothing."""
        return self

    @property
    def keeps_pairs(self) -> bool:
        """Whether candidate pairs are kept elsewhere, such as on other machines, and take no memory here."""
        return False

    def search(self, length: int, local: float | None, in_parts: InParts, check: Check) -> Any:
        """The certificate (`rmgl.edges.certificate`) that begins with the `length` nearest points of each.

        `local` is the floor share of a local scaling (None: no scaling).
        """
        raise TypeError("all pairs of this space are given: there are no others to search for")


class Searchable(Space):
    """A space in which all pairs within given radii can be found."""

    @abstractmethod
    def digest(self) -> str:
        """A text that differs for other points: results of a search are kept under it."""

    @abstractmethod
    def within(
        self, nodes: NDArray[np.intp], radii: Vector, scales: Vector | None = None, check: Check = lambda: None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """All pairs of a node and another point with squared distance below s_i s_j (radii_i + radii_j), in one order or both.

        Rounding may add a few pairs. `scales` are the s_i (None: all are one).
        """

    def kept_by(self, checkpoint: Checkpoint | None) -> Searchable:
        from rmgl.edges.kept_searches import KeptSearches  # which are such a space

        return self if checkpoint is None else KeptSearches(self, checkpoint)

    def search(self, length: int, local: float | None, in_parts: InParts, check: Check) -> Any:
        from rmgl.edges.neighborhoods import Neighborhoods  # which asks spaces

        return Neighborhoods.search(self, length, in_parts, check, local)
