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

Role = Literal["view", "consensus"]


@dataclass(frozen=True)
class Origin:
    """What a layer is learned from: the fields of `Layer` that are known before it is learned."""

    name: str
    role: Role = "view"
    nodes: NDArray[np.intp] | None = None
    views: tuple[int, ...] = (0,)
    factors: tuple[float, ...] = (1.0,)


@record
@dataclass(frozen=True, eq=False)
class Layer:
    """One graph layer: the solution of problem (P) for one view, with the numbers that prove it.

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
    """max_i |d_i + (u_i - mean(u))/(2 alpha) - 1| at the potentials; zero at the exact solution. (Where a solve could not better the
    layer it started from, that layer is kept, and its gap tells how good it is.)"""
    objective: float
    """z'w + alpha (||d||^2 + 2 ||w||^2)."""
    lower_bound: float
    """What no layer can get below: alpha N - Phi(u)."""
    status: Status
    n_iter: int
    n_passes: float
    """Passes over the candidate edges; a Hessian product counts by the share of them that are active."""
    potentials: Vector = field(repr=False)
    """The dual solution u: an edge exists where u_i + u_j exceeds its cost."""
    candidates: str = "all pairs"
    """Which pairs could carry an edge: "all pairs", "certified" nearest neighbors that prove the rest away, or "approximate" and
    "given" ones, which prove nothing."""
    seconds: dict[str, float] = field(default_factory=dict, repr=False)
    """What was spent on "neighbors" (widening the candidates) and on "layers" (solving) at the last solve."""
    recall: float | None = None
    """For approximate and given candidates: the share of nearest neighbors, of a sample of rows, that are among them."""
    role: Role = "view"
    """Whether it was learned from one "view", or is the "consensus" of all views side by side."""
    nodes: NDArray[np.intp] | None = field(default=None, repr=False)
    """Indices of the entities that it was learned on (None: all)."""
    views: tuple[int, ...] = (0,)
    """Places of the views that it was learned from."""
    factors: tuple[float, ...] = (1.0,)
    """What each of these views was multiplied by."""
    scaling: LocalScaling | None = field(default=None, repr=False)
    """The local scales of the nodes that it was learned on; None where squared distances are taken as they are."""

    @property
    def exact(self) -> bool:
        """Whether this is the solution over all pairs."""
        return self.candidates in ("all pairs", "certified")

    @property
    def gap(self) -> float:
        """|objective - lower bound| / objective: no layer is better by more than this share."""
        return abs(self.objective - self.lower_bound) / self.objective

    @cached_property
    def degrees(self) -> Vector:
        return self.adjacency.sum(axis=1)

    @cached_property
    def laplacian(self) -> sparse.csr_array:
        """diag(degrees) - adjacency, with trace N."""
        return sparse.csr_array(sparse.diags_array(self.degrees) - self.adjacency)

    @property
    def n_nodes(self) -> int:
        return self.adjacency.shape[0]

    @property
    def n_edges(self) -> int:
        return self.adjacency.nnz // 2

    @cached_property
    def n_components(self) -> int:
        """Connected components of the entities that the layer was learned on."""
        n_absent = 0 if self.nodes is None else self.n_nodes - self.nodes.size
        return int(csgraph.connected_components(self.adjacency, directed=False, return_labels=False)) - n_absent

    @property
    def origin(self) -> Origin:
        """What the layer was learned from."""
        return Origin(self.name, self.role, self.nodes, self.views, self.factors)

    @cached_property
    def own_potentials(self) -> Vector:
        """The potentials of the entities that the layer was learned on."""
        return self.potentials if self.nodes is None else self.potentials[self.nodes]

    @property
    def message(self) -> str:
        """What the status means, and what to change."""
        if self.status == "converged":
            among = "" if self.exact else f" (among {self.candidates} candidates, recall {self.recall:.3f})"
            return f"layer {self.name!r} converged{among}: KKT residual {self.kkt_residual:.1e}, relative gap {self.gap:.1e}"
        return (
            f"layer {self.name!r} did not converge in {self.n_iter} iterations "
            f"(KKT residual {self.kkt_residual:.1e}, relative gap {self.gap:.1e}): {ADVICE[self.status]}"
        )

    def check(self, n_nodes: int) -> None:
        """Raise an error if a layer that was read from a file cannot be one on so many nodes."""
        what = f"layer {self.name!r}"
        sound_sparse(f"{what}: its adjacency", self.adjacency, (n_nodes, n_nodes))
        sound_numbers(f"{what}: its edge weights", self.adjacency.data, (None,), least=0.0)
        sound_numbers(f"{what}: its potentials", self.potentials, (n_nodes,))
        own = n_nodes if self.nodes is None else sound_indices(f"{what}: its nodes", self.nodes, n_nodes).size
        if self.scaling is not None:
            self.scaling.check(own)
        numbers = [self.alpha, self.kkt_residual, self.objective, self.lower_bound, self.n_passes]
        if not np.isfinite(numbers).all() or not self.alpha > 0 or not self.objective > 0 or min(self.n_iter, self.n_passes) < 0:
            raise Unsound(f"{what} holds numbers that no layer can have")

    def among_all(self, n_entities: int) -> Layer:
        """The layer on all entities, if it was learned on some of them: the others have no edges and potential zero."""
        if self.nodes is None:
            return self
        potentials = np.zeros(n_entities)
        potentials[self.nodes] = self.potentials
        return replace(self, adjacency=padded_graph(self.adjacency, self.nodes, n_entities), potentials=potentials)

    def without_origin(self) -> Layer:
        """The layer as a checkpoint keeps it: what its origin and its candidates know is not kept twice."""
        return replace(self, nodes=None, scaling=None)

    def with_origin(self, origin: Origin, scaling: LocalScaling | None) -> Layer:
        """The layer that `without_origin` was made of."""
        return replace(self, **vars(origin), scaling=scaling)

    def to_networkx(self) -> Any:
        """The layer as a `networkx.Graph` with edge attribute `weight` (needs networkx)."""
        return graph_to_networkx(self.name, self.adjacency)

    def to_igraph(self) -> Any:
        """The layer as an `igraph.Graph` with edge attribute `weight` (needs igraph)."""
        return graph_to_igraph(self.name, self.adjacency)


def padded_graph(adjacency: sparse.csr_array, nodes: NDArray[np.intp] | None, n_nodes: int) -> sparse.csr_array:
    """A graph on some of the nodes as one on all of them."""
    if nodes is None:
        return adjacency
    counts = np.zeros(n_nodes, dtype=adjacency.indptr.dtype)
    counts[nodes] = np.diff(adjacency.indptr)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(adjacency.indptr.dtype)
    indices = nodes[adjacency.indices].astype(adjacency.indices.dtype)
    return sparse.csr_array((adjacency.data, indices, indptr), shape=(n_nodes, n_nodes))


def make_layer(origin: Origin, problem: LayerProblem, solution: DualSolution) -> Layer:
    """The feasible layer at a solver's last point, judged by the problem."""
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
