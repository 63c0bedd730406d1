"""A learned graph layer and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.edges import Vector
from rmgl.edges.local_scaling import LocalScaling
from rmgl.layer.graphs import graph_to_igraph, graph_to_networkx
from rmgl.layer.problem import LayerProblem
from rmgl.layer.solution import ADVICE, DualSolution, Status
from rmgl.matrix import square_in_order

Role = Literal["view", "consensus", "neighbors"]
PROVEN = ("all pairs", "certified", "given edges", "given pairs")
"""Candidates over which a layer is exact: no other pair can carry weight, because of its cost or because it is not among the given ones."""


@dataclass(frozen=True)
class Origin:
    """What a layer is learned from: the fields of `Layer` that are known before it is learned."""

    name: str
    role: Role = "view"
    nodes: NDArray[np.intp] | None = None
    views: tuple[int, ...] = (0,)
    factors: tuple[float, ...] = (1.0,)
    consensus_share: float = 0.0
    network_share: float = 0.0


@record
@dataclass(frozen=True, eq=False)
class Layer:
    """One learned graph: the solution of the layer problem (P), with a certificate of its accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1)
    >>> layer.n_edges, layer.n_components, layer.status
    (2, 2, 'converged')
    """

    name: str
    adjacency: sparse.csr_array = field(repr=False)
    """Symmetric edge weights, degrees summing to N."""
    alpha: float
    kkt_residual: float
    """max_i |d_i + (u_i - mean(u))/(2 alpha) - 1| at the potentials; zero at the exact solution. If a solve does not improve on the
    layer it started from, that layer is kept, and `gap` bounds its error."""
    objective: float
    """z'w + alpha (||d||^2 + 2 ||w||^2)."""
    lower_bound: float
    """alpha N - Phi(u), a lower bound of the objective of every layer."""
    status: Status
    n_iter: int
    n_passes: float
    """Passes over the candidate edges; a product with the Hessian counts as the share of the edges that is active."""
    potentials: Vector = field(repr=False)
    """The dual solution u: an edge exists where u_i + u_j exceeds its cost."""
    candidates: str = "all pairs"
    """Which pairs could carry an edge: "all pairs", "certified" (nearest neighbors, with a proof that no other pair carries weight),
    "given edges" or "given pairs" (of a network or sparse distances, which have no other pairs), or "approximate" and "given" (no such
    proof)."""
    seconds: dict[str, float] = field(default_factory=dict, repr=False)
    """Seconds spent on "neighbors" (widening the candidates) and on "layers" (solving) in the last solve."""
    recall: float | None = None
    """Share of the true nearest neighbors of a sample of rows that are candidates; None for exact candidates."""
    role: Role = "view"
    """Whether the layer is that of one "view", is the "consensus" of all views, or the given graph of nearest "neighbors"."""
    nodes: NDArray[np.intp] | None = field(default=None, repr=False)
    """Indices of the entities that the layer was learned on (None: all)."""
    views: tuple[int, ...] = (0,)
    """Indices of the views that the layer was learned from."""
    factors: tuple[float, ...] = (1.0,)
    """Factor that each of these views was multiplied by."""
    consensus_share: float = 0.0
    """The costs of the pairs in the consensus times this share are part of the costs."""
    network_share: float = 0.0
    """The share of the neighbors in the networks in each row that the layer was learned from (0: rows are as they are)."""
    scaling: LocalScaling | None = field(default=None, repr=False)
    """Local scales of the nodes that the layer was learned on; None if squared distances are not rescaled."""

    @property
    def given(self) -> bool:
        """Whether the layer is a given graph and was not learned."""
        return self.status == "given"

    @property
    def solved(self) -> bool:
        """Whether the layer is given, or its solver converged."""
        return self.status in ("given", "converged")

    @property
    def exact(self) -> bool:
        """Whether the layer is the solution over all pairs or, where only some are given, over those."""
        return self.given or (self.candidates in PROVEN and self.status == "converged")

    @property
    def doubt(self) -> str:
        """Why the layer is not known to be exact; empty if it is."""
        if self.given or self.exact:
            return ""
        if self.status != "converged":
            return f"its solver did not converge ({self.status})"
        return f"it is exact among its {self.candidates} candidates only"

    @property
    def gap(self) -> float:
        """Relative duality gap |objective - lower bound| / objective; no layer has an objective lower by more than this share."""
        return 0.0 if self.given else abs(self.objective - self.lower_bound) / self.objective

    @cached_property
    def degrees(self) -> Vector:
        """Sum of the edge weights of each node."""
        degrees: Vector = self.adjacency.sum(axis=1)
        return degrees

    @cached_property
    def laplacian(self) -> sparse.csr_array:
        """The graph Laplacian diag(degrees) - adjacency, with trace N."""
        return sparse.csr_array(sparse.diags_array(self.degrees) - self.adjacency)

    @property
    def n_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        return int(self.adjacency.nnz) // 2

    @cached_property
    def n_components(self) -> int:
        """Number of connected components among the entities that the layer was learned on."""
        n_absent = 0 if self.nodes is None else self.n_nodes - self.nodes.size
        return int(csgraph.connected_components(self.adjacency, directed=False, return_labels=False)) - n_absent

    @property
    def origin(self) -> Origin:
        """What the layer was learned from."""
        return Origin(self.name, self.role, self.nodes, self.views, self.factors, self.consensus_share, self.network_share)

    @cached_property
    def own_potentials(self) -> Vector:
        """The potentials of the entities that the layer was learned on."""
        return self.potentials if self.nodes is None else self.potentials[self.nodes]

    @property
    def message(self) -> str:
        """The status in words and, if the layer did not converge, what to change."""
        if self.given:
            return f"layer {self.name!r} is given"
        if self.status == "converged":
            among = "" if self.exact else f" (among {self.candidates} candidates, recall {self.recall:.3f})"
            return f"layer {self.name!r} converged{among}: KKT residual {self.kkt_residual:.1e}, relative gap {self.gap:.1e}"
        return (
            f"layer {self.name!r} did not converge in {self.n_iter} iterations "
            f"(KKT residual {self.kkt_residual:.1e}, relative gap {self.gap:.1e}): {ADVICE[self.status]}"
        )

    def check(self, n_nodes: int) -> None:
        """Raise an error if a layer read from a file is not a valid layer on `n_nodes` nodes."""
        what = f"layer {self.name!r}"
        sound_sparse(f"{what}: its adjacency", self.adjacency, (n_nodes, n_nodes))
        sound_numbers(f"{what}: its edge weights", self.adjacency.data, (None,), least=0.0)
        sound_numbers(f"{what}: its potentials", self.potentials, (n_nodes,))
        own = n_nodes if self.nodes is None else sound_indices(f"{what}: its nodes", self.nodes, n_nodes).size
        if self.scaling is not None:
            self.scaling.check(own)
        numbers = [self.alpha, self.kkt_residual, self.objective, self.lower_bound, self.n_passes, self.consensus_share]
        positive = self.role in ("neighbors", "view") if self.given else (self.alpha > 0 and self.objective > 0)
        if not 0 <= self.network_share < 1:
            raise Unsound(f"{what} has a share of the networks of {self.network_share}, which must be from 0 to 1")
        if not np.isfinite(numbers).all() or not positive or min(self.n_iter, self.n_passes, self.consensus_share) < 0:
            raise Unsound(f"{what} has a number out of range: all must be finite, alpha and the objective > 0, and counts >= 0")

    def among_all(self, n_entities: int) -> Layer:
        """Extend the layer to all entities: those that it was not learned on get no edges and potential zero."""
        if self.nodes is None:
            return self
        potentials = np.zeros(n_entities)
        potentials[self.nodes] = self.potentials
        return replace(self, adjacency=padded_graph(self.adjacency, self.nodes, n_entities), potentials=potentials)

    def of_own(self) -> Layer:
        """Return the layer with the entities only that it was learned on, which `among_all` extended."""
        if self.nodes is None:
            return self
        return replace(self, adjacency=square_in_order(self.adjacency, self.nodes), potentials=self.own_potentials, nodes=None)

    def in_order(self, order: NDArray[np.intp]) -> Layer:
        """Return the layer with its nodes in another order: the first is the one that is number order[0] now."""
        adjacency, potentials = square_in_order(self.adjacency, order), self.potentials[order]
        if self.nodes is None:
            scaling = None if self.scaling is None else self.scaling.of_nodes(order)
            return replace(self, adjacency=adjacency, potentials=potentials, scaling=scaling)
        places = np.argsort(order)[self.nodes]
        scaling = None if self.scaling is None else self.scaling.of_nodes(np.argsort(places))
        return replace(self, adjacency=adjacency, potentials=potentials, scaling=scaling, nodes=np.sort(places))

    def to_networkx(self) -> Any:
        """Convert the layer to a `networkx.Graph` with edge attribute `weight` (needs networkx)."""
        return graph_to_networkx(self.name, self.adjacency)

    def to_igraph(self) -> Any:
        """Convert the layer to an `igraph.Graph` with edge attribute `weight` (needs igraph)."""
        return graph_to_igraph(self.name, self.adjacency)


def padded_graph(adjacency: sparse.csr_array, nodes: NDArray[np.intp] | None, n_nodes: int) -> sparse.csr_array:
    """Extend a graph on some of the nodes to all of them; the others have no edges."""
    if nodes is None:
        return adjacency
    counts = np.zeros(n_nodes, dtype=adjacency.indptr.dtype)
    counts[nodes] = np.diff(adjacency.indptr)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(adjacency.indptr.dtype)
    indices = nodes[adjacency.indices].astype(adjacency.indices.dtype)
    return sparse.csr_array((adjacency.data, indices, indptr), shape=(n_nodes, n_nodes))


def make_layer(origin: Origin, problem: LayerProblem, solution: DualSolution) -> Layer:
    """Return the feasible layer at the last point of a solver, with its certificate."""
    adjacency = problem.weights(solution.point.u)
    return Layer(
        **vars(origin),
        adjacency=adjacency,
        alpha=problem.alpha,
        kkt_residual=solution.point.residual,
        objective=problem.objective(adjacency),
        lower_bound=problem.lower_bound(solution.point),
        status=solution.status,
        n_iter=solution.n_iter,
        n_passes=solution.n_passes,
        potentials=solution.point.u,
    )


def given_layer(origin: Origin, adjacency: sparse.csr_array) -> Layer:
    """Make a layer of a given graph with symmetric weights >= 0, scaled so that the degrees sum to the number of nodes."""
    n = adjacency.shape[0]
    scaled = sparse.csr_array(adjacency * (n / adjacency.sum()))
    numbers: dict[str, Any] = dict.fromkeys(("alpha", "kkt_residual", "objective", "lower_bound", "n_passes"), 0.0)
    return Layer(**vars(origin), **numbers, adjacency=scaled, status="given", n_iter=0, potentials=np.zeros(n), candidates="given")
