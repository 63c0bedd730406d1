"""The problem for one view in Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges import AllPairs, Candidates, Costs, PairStore, Vector, find_candidates
from rmgl.edges.candidates import among_all, given_pattern, graph_in_order, pairs_among
from rmgl.edges.neighborhoods import require_list_memory
from rmgl.edges.space import as_space
from rmgl.layer import Layer, Origin, given_layer
from rmgl.layer.certified import check_magnitudes
from rmgl.layer.network import default_alpha as network_alpha
from rmgl.layer.network import network_candidates
from rmgl.layer.result import given_candidates
from rmgl.matrix import Floats, Indices, total_variance
from rmgl.model.known import with_known
from rmgl.model.run import Run
from rmgl.running.threads import Check, Team
from rmgl.views.check_view import per_view, positive_per_view
from rmgl.views.view import View
from rmgl.views.views import Views


@dataclass(frozen=True)
class ViewProblem:
    """The input of one layer: candidate pairs, their data distances, and alpha and beta."""

    origin: Origin
    candidates: Candidates
    alpha: float
    beta: float
    n_entities: int
    """The number of entities in all views together."""
    given: Layer | None = None
    """The layer, if it is fixed rather than learned."""
    start: Vector | None = None
    """Potentials to start the first layer from."""

    @classmethod
    def of_given(cls, layer: Layer, beta: float, n_entities: int | None = None) -> ViewProblem:
        """Make the problem for a fixed layer; the only costs are distances in the embedding.

        `n_entities` is the total number of entities, if some are not nodes of the layer.
        """
        n_entities = layer.n_nodes if n_entities is None else n_entities
        return cls(layer.origin, given_candidates(layer), 0.0, beta, n_entities, given=layer)

    @property
    def name(self) -> str:
        return self.origin.name

    @property
    def nodes(self) -> Indices | None:
        """Indices of the entities that are nodes in this problem (None: all)."""
        return self.origin.nodes

    @property
    def edges(self) -> PairStore:
        return self.candidates.edges

    @property
    def distances(self) -> Costs:
        return self.candidates.distances

    def own(self, rows: Floats) -> Floats:
        """Return the rows of the entities in this problem."""
        return self.origin.own(rows)


def is_auto(value: Any) -> bool:
    """Check whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def asked_candidates(candidates: Any, views: Views) -> list[Any]:
    """Return `candidates` for each view; graphs are restricted to the entities in the view."""
    given = per_view(candidates, views.names, "candidates")
    return [
        pairs_among(view.name, asked, view.entities, views.n_rows)
        for view, asked in zip(views, given, strict=True)
    ]


def given_graphs(candidates: Any, views: Views) -> list[sparse.csr_array]:
    """Return the graphs passed as candidates, symmetric and without weights.

    Graphs of the wrong size raise an error later.
    """
    n, everyone = views.n_rows, np.arange(views.n_rows)
    asked = (
        candidates_in_order(candidates, views, everyone)
        if not isinstance(candidates, str | Integral)
        else []
    )
    found = [
        given_pattern(name, graph, n)
        for name, graph in zip(views.names, asked, strict=False)
        if np.shape(graph) == (n, n)
    ]
    return [sparse.csr_array(pattern + pattern.T) for pattern in found]


def candidates_in_order(candidates: Any, views: Views, order: Indices) -> Any:
    """Return `candidates` with graphs extended to all entities, in the order of the views.

    `order` holds the caller's row number for each row of the views.
    """
    if isinstance(candidates, str | Integral):
        return candidates
    found = list[Any]()
    for view, asked in zip(views, per_view(candidates, views.names, "candidates"), strict=True):
        rows = None if view.entities is None else np.sort(order[view.entities])
        found.append(
            graph_in_order(view.name, among_all(view.name, asked, rows, order.size), order)
        )
    return found


def given_problems(
    views: Views,
    alpha: Any,
    beta: Any,
    *,
    candidates: Any,
    n_clusters: Any,
    n_neighbors: int,
    team: Team,
    run: Run,
    known: Indices | None = None,
) -> list[ViewProblem]:
    """Make one problem for each view from the parameters of `RMGL`.

    `known` holds labels (-1: unknown). Parameters set to "auto" get a heuristic default.
    """
    points = [view.points() if view.graph is None else None for view in views]
    asked = asked_candidates(candidates, views)
    alphas, betas = given_weights(views, points, alpha, beta, n_clusters, n_neighbors, team)
    wanted = [view.wanted(a, c) for view, a, c in zip(views, alphas, asked, strict=True)]
    stores = Stores(views.n_rows, wanted, team)

    def state(m: int, check: Check) -> ViewProblem:
        view, a, b = views[m], float(alphas[m]), float(betas[m])
        origin = Origin(view.name, nodes=view.entities, views=(m,))
        if view.graph is not None:
            return network_problem(view, origin, a, b, team)
        pairs = find_candidates(
            view.name,
            points[m],
            a,
            wanted[m],
            shared=stores.of(view.n_own),
            executor=team,
            checkpoint=run.checkpoint,
            check=check,
        )
        if known is not None:
            pairs = with_known(pairs, points[m], origin.own(known), check)
        check_magnitudes(view.name, a, pairs.edges.largest(pairs.distances), b)
        return ViewProblem(origin, pairs, a, b, views.n_rows)

    return team(state, range(len(views)))


def given_weights(
    views: Views,
    points: Sequence[Any],
    alpha: Any,
    beta: Any,
    n_clusters: Any,
    n_neighbors: int,
    team: Team,
) -> tuple[Floats, Floats]:
    """Return alpha and beta for each view."""
    names = views.names
    alphas = None if is_auto(alpha) else positive_per_view(alpha, names, "alpha")
    betas = None if is_auto(beta) else positive_per_view(beta, names, "beta", zero_allowed=True)
    if betas is not None and not betas.any():
        raise ValueError(
            "beta is 0 for every view, so the embedding is not defined: set a positive beta for "
            "at least one view"
        )
    if is_auto(n_clusters):
        raise ValueError(
            "n_clusters='auto' requires alpha='auto' and beta='auto': leave both at 'auto', or "
            "set n_clusters to a number"
        )
    if alphas is None:
        alphas = np.array(
            team(lambda m, check: first_alpha(views[m], points[m], n_neighbors), range(len(names)))
        )
    if betas is None:
        betas = np.full(len(names), default_beta(alphas, views.n_rows, n_clusters, n_neighbors))
    return alphas, betas


def first_alpha(view: View, points: Any, n_neighbors: int) -> float:
    """Compute the default alpha of a view; `points` holds its distances."""
    if view.graph is not None:
        return network_alpha(given_layer(Origin(view.name), view.own()))
    return default_alpha(points, n_neighbors)


def network_problem(
    view: View, origin: Origin, alpha: float, beta: float, team: Team
) -> ViewProblem:
    """Make the problem for a graph: a fixed layer, or candidates if the layer is learned."""
    graph, layer = view.graph, given_layer(origin, view.own())
    if graph is None or not graph.learn:
        return ViewProblem.of_given(layer, beta, view.n_rows)
    pairs = network_candidates(layer, alpha, graph.two_steps, team.in_parts)
    check_magnitudes(origin.name, alpha, pairs.edges.largest(pairs.distances), beta)
    return ViewProblem(origin, pairs, alpha, beta, view.n_rows)


class Stores:
    """The stores of all pairs; views with the same number of entities share a store.

    Stores that do not fit into memory raise a MemoryError before anything is allocated.
    """

    def __init__(self, n_rows: int, wanted: Sequence[Any], team: Team, copies: int = 1) -> None:
        """`copies` is the number of distance vectors per view."""
        self.team = team
        self.by_size = {n_rows: AllPairs(n_rows, team.in_parts)}
        n_dense = sum(map(is_all, wanted))
        if n_dense:
            self.by_size[n_rows].require_memory(
                copies * (n_dense + min(team.n_threads, n_dense)) + 2, f"{n_dense} view(s)"
            )
        lengths = [c for c in wanted if isinstance(c, int)]
        if lengths:
            require_list_memory(n_rows, sum(lengths), f"{len(lengths)} view(s)")

    def of(self, n_rows: int) -> AllPairs:
        """Return the store for this number of entities."""
        return self.by_size.setdefault(n_rows, AllPairs(n_rows, self.team.in_parts))


def is_all(candidates: Any) -> bool:
    """Check whether all pairs are candidates."""
    return isinstance(candidates, str) and candidates == "all"


DEFAULT_NEIGHBORS = 20
COUPLING = 0.1
SAMPLED_SPREADS = 2000


def default_alpha(X: Any, n_neighbors: int = DEFAULT_NEIGHBORS) -> float:
    """Return the alpha at which nodes at typical distances keep about `n_neighbors` neighbors.

    If all nodes were like node i, with k neighbors at squared distances z_i1 <= ... <= z_ik and the
    next at z_i,k+1, its degree would be sum_j (z_i,k+1 - z_ij) / (4 alpha); it is 1 on average at
    alpha = mean_i sum_j (z_i,k+1 - z_ij) / 4. For more than 2000 rows, the mean is taken over a
    sample. X is a matrix or a space.
    """
    space = as_space(X)
    n = space.n_rows
    k = min(n_neighbors, n - 2)
    if k >= 1:
        rows = (
            np.arange(n)
            if n <= SAMPLED_SPREADS
            else np.sort(np.random.RandomState(0).permutation(n)[:SAMPLED_SPREADS])
        )
        nearest = np.sort(space.distances_to(rows, space.nearest(rows, k + 1)[0]), axis=1)
        # the last known distance replaces missing distances
        nearest = np.maximum.accumulate(np.where(np.isfinite(nearest), nearest, 0.0), axis=1)
        alpha = float((nearest[:, -1:] - nearest[:, :-1]).sum(axis=1).mean() / 4)
        if alpha > 0:
            return alpha
    # too few rows, or too many duplicates
    return space.mean_distance if space is X else 2 * total_variance(X)


def default_beta(
    alpha: Floats, n_nodes: int, n_clusters: int, n_neighbors: int = DEFAULT_NEIGHBORS
) -> float:
    """Return one beta for all views: a weak coupling.

    The squared distance between rows of Q in two clusters of N/K nodes is about 2K/N, so beta = N/K
    times a cost adds about twice that cost to every edge between clusters. The cost used is a tenth
    of the mean of alpha / n_neighbors, the scale at which cost differences change edge weights.
    """
    return COUPLING * float(alpha.mean()) * n_nodes / (n_clusters * n_neighbors)
