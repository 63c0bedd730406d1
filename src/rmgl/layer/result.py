"""A learned graph layer with its certificate, and a layer made from a user's graph."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.edges import Candidates, PairList, Vector
from rmgl.edges.local_scaling import LocalScaling
from rmgl.layer.graphs import edge_list, load
from rmgl.layer.problem import DualSolution, LayerProblem, Status
from rmgl.matrix import Indices, square_in_order

Role = Literal["view", "consensus", "neighbors"]
PROVEN = ("all pairs", "certified", "given edges", "given pairs")
"""Candidates over which a layer is exact, because no other pair exists or can carry weight."""
SOLVER_ADVICE = {
    "max_iter": (
        "increase max_iter in learn_layer; solver='newton' and a larger alpha need fewer iterations"
    ),
    "stalled": (
        "rounding errors prevent further progress, because alpha is very small compared with the "
        "costs; increase alpha or scale the data"
    ),
}


@dataclass(frozen=True)
class Origin:
    """The origin of a layer: the fields of `Layer` that are known before it is learned."""

    name: str
    role: Role = "view"
    nodes: Indices | None = None
    views: tuple[int, ...] = (0,)
    factors: tuple[float, ...] = (1.0,)
    consensus_share: float = 0.0
    network_share: float = 0.0

    def own(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of the entities in the layer."""
        return rows if self.nodes is None else rows[self.nodes]


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
    """Symmetric edge weights; the degrees sum to N."""
    alpha: float
    kkt_residual: float
    """max_i |d_i + (u_i - mean(u))/(2 alpha) - 1| at the potentials; zero at the solution.

    If a solve does not improve the layer that it started from, the result is that layer, and `gap`
    bounds its error.
    """
    objective: float
    """z'w + alpha (||d||^2 + 2 ||w||^2)."""
    lower_bound: float
    """alpha N - Phi(u), a lower bound on the objective of every layer."""
    status: Status
    n_iter: int
    n_passes: float
    """Number of passes over the candidate pairs; a Hessian product counts its active pairs only."""
    potentials: Vector = field(repr=False)
    """The dual solution u: an edge exists where u_i + u_j exceeds its cost."""
    candidates: str = "all pairs"
    """The pairs that could carry an edge.

    "all pairs"; "certified": nearest neighbors, with a proof that no other pair carries weight;
    "given edges" or "given pairs": those of a network or of sparse distances; "approximate" or
    "given": other pairs might carry weight.
    """
    seconds: dict[str, float] = field(default_factory=dict, repr=False)
    """Seconds spent in the last solve: "neighbors" for extending the candidates, "layers" for
    solving."""
    recall: float | None = None
    """Share of the true neighbors of sampled rows that are candidates (None: exact candidates)."""
    role: Role = "view"
    """"view" for the layer of one view, "consensus", or "neighbors" for nearest neighbors."""
    nodes: Indices | None = field(default=None, repr=False)
    """Indices of the entities in the layer (None: all)."""
    views: tuple[int, ...] = (0,)
    """Indices of the views that the layer was learned from."""
    factors: tuple[float, ...] = (1.0,)
    """Factor of each view in `views`."""
    consensus_share: float = 0.0
    """Multiple of the consensus costs that is added to the costs of the pairs."""
    network_share: float = 0.0
    """Share of the network neighbors in the rows from which the layer was learned (0: none)."""
    scaling: LocalScaling | None = field(default=None, repr=False)
    """Local scales of the nodes (None: plain distances)."""

    @property
    def given(self) -> bool:
        """Whether the layer is a user-supplied graph, not a learned one."""
        return self.status == "given"

    @property
    def solved(self) -> bool:
        """Whether the layer is user-supplied, or its solver converged."""
        return self.status in ("given", "converged")

    @property
    def exact(self) -> bool:
        """Whether the layer is the solution over all pairs, or over all given pairs."""
        return self.given or (self.candidates in PROVEN and self.status == "converged")

    @property
    def doubt(self) -> str:
        """The reason why the layer may not be exact; empty if it is exact."""
        if self.given or self.exact:
            return ""
        if self.status != "converged":
            return f"its solver did not converge ({self.status})"
        return f"it is exact only among its {self.candidates} candidates"

    @property
    def gap(self) -> float:
        """Relative duality gap |objective - lower bound| / objective.

        The objective of any other layer is lower by at most this fraction.
        """
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
        """Number of connected components among the entities of the layer."""
        n_absent = 0 if self.nodes is None else self.n_nodes - self.nodes.size
        count = csgraph.connected_components(self.adjacency, directed=False, return_labels=False)
        return int(count) - n_absent

    @property
    def origin(self) -> Origin:
        """The fields of the layer that were known before it was learned."""
        return Origin(**{name.name: getattr(self, name.name) for name in fields(Origin)})

    @cached_property
    def own_potentials(self) -> Vector:
        """The potentials of the entities that the layer was learned on."""
        return self.potentials if self.nodes is None else self.potentials[self.nodes]

    @property
    def message(self) -> str:
        """A description of the status, with advice if the solver did not converge."""
        layer = f"layer {self.name!r}"
        if self.given:
            return f"{layer} is user-supplied"
        accuracy = f"KKT residual {self.kkt_residual:.1e}, relative gap {self.gap:.1e}"
        if self.status != "converged":
            advice = SOLVER_ADVICE[self.status]
            return f"{layer} did not converge in {self.n_iter} iterations ({accuracy}): {advice}"
        if self.exact:
            return f"{layer} converged: {accuracy}"
        among = f"(among {self.candidates} candidates, recall {self.recall:.3f})"
        return f"{layer} converged {among}: {accuracy}"

    def check(self, n_nodes: int) -> None:
        """Raise an error if a layer read from a file is not a valid layer on `n_nodes` nodes."""
        what = f"layer {self.name!r}"
        sound_sparse(f"{what}: its adjacency", self.adjacency, (n_nodes, n_nodes))
        sound_numbers(f"the edge weights of {what}", self.adjacency.data, (None,), least=0.0)
        sound_numbers(f"the potentials of {what}", self.potentials, (n_nodes,))
        n_learned = n_nodes
        if self.nodes is not None:
            n_learned = sound_indices(f"the nodes of {what}", self.nodes, n_nodes).size
        if self.scaling is not None:
            self.scaling.check(n_learned)
        if not 0 <= self.network_share < 1:
            raise Unsound(
                f"{what} has network_share={self.network_share}, but it must be from 0 to 1"
            )
        counts = (self.n_iter, self.n_passes, self.consensus_share)
        numbers = (self.alpha, self.kkt_residual, self.objective, self.lower_bound, *counts)
        if self.given:
            in_range = self.role in ("neighbors", "view")
        else:
            in_range = self.alpha > 0 and self.objective > 0
        if not in_range or not np.isfinite(numbers).all() or min(counts) < 0:
            raise Unsound(
                f"{what} has a number out of range: all must be finite, alpha and the "
                "objective > 0, and counts >= 0"
            )

    def among_all(self, n_entities: int) -> Layer:
        """Extend the layer to all entities; the others get no edges and potential zero."""
        if self.nodes is None:
            return self
        potentials = np.zeros(n_entities)
        potentials[self.nodes] = self.potentials
        adjacency = padded_graph(self.adjacency, self.nodes, n_entities)
        return replace(self, adjacency=adjacency, potentials=potentials)

    def of_own(self) -> Layer:
        """Return the layer restricted to the entities that it was learned on.

        This is the inverse of `among_all`.
        """
        if self.nodes is None:
            return self
        adjacency = square_in_order(self.adjacency, self.nodes)
        return replace(self, adjacency=adjacency, potentials=self.own_potentials, nodes=None)

    def in_order(self, order: Indices) -> Layer:
        """Return the layer with its nodes in another order: `order` lists their current numbers."""
        nodes, scaling_order = None, order
        if self.nodes is not None:
            places = np.argsort(order)[self.nodes]
            nodes, scaling_order = np.sort(places), np.argsort(places)
        return replace(
            self,
            adjacency=square_in_order(self.adjacency, order),
            potentials=self.potentials[order],
            scaling=None if self.scaling is None else self.scaling.of_nodes(scaling_order),
            nodes=nodes,
        )

    def to_networkx(self) -> Any:
        """Convert the layer to a `networkx.Graph` with edge attribute `weight` (needs networkx).

        Examples
        --------
        >>> from rmgl import learn_layer
        >>> layer = learn_layer([[0.0], [1.0], [10.0], [11.0]], alpha=0.1)
        >>> sorted(layer.to_networkx().edges)
        [(0, 1), (2, 3)]
        """
        graph = load("networkx").Graph(name=self.name)
        graph.add_nodes_from(range(self.n_nodes))
        ends = (values.tolist() for values in edge_list(self.adjacency))
        graph.add_weighted_edges_from(zip(*ends, strict=True))
        return graph

    def to_igraph(self) -> Any:
        """Convert the layer to an `igraph.Graph` with edge attribute `weight` (needs igraph).

        Examples
        --------
        >>> from rmgl import learn_layer
        >>> layer = learn_layer([[0.0], [1.0], [10.0], [11.0]], alpha=0.1)
        >>> sorted(layer.to_igraph().get_edgelist())
        [(0, 1), (2, 3)]
        """
        first, second, weights = edge_list(self.adjacency)
        edges = np.column_stack([first, second]).tolist()
        named, weighted = {"name": self.name}, {"weight": weights.tolist()}
        igraph = load("igraph")
        return igraph.Graph(self.n_nodes, edges, graph_attrs=named, edge_attrs=weighted)


def padded_graph(
    adjacency: sparse.csr_array, nodes: Indices | None, n_nodes: int
) -> sparse.csr_array:
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
    """Make a layer from a user's graph, with weights scaled so that the degrees sum to N.

    The weights must be symmetric and >= 0.
    """
    n = adjacency.shape[0]
    return Layer(
        **vars(origin),
        adjacency=sparse.csr_array(adjacency * (n / adjacency.sum())),
        alpha=0.0,
        kkt_residual=0.0,
        objective=0.0,
        lower_bound=0.0,
        status="given",
        n_iter=0,
        n_passes=0.0,
        potentials=np.zeros(n),
        candidates="given",
    )


def given_candidates(layer: Layer) -> Candidates:
    """Return the edges of a user-supplied layer as candidate pairs, with costs of zero."""
    edges = PairList(layer.adjacency.copy())
    return Candidates(edges, np.zeros(edges.indices.size), "given")
