"""The problem that Algorithm 1 solves where alpha, beta or both are given."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges import AllPairs, find_candidates
from rmgl.edges.approximate import among_all, given_pattern, graph_in_order, pairs_among
from rmgl.edges.neighborhoods import require_list_memory
from rmgl.layer import Origin, given_layer
from rmgl.layer.certified import check_magnitudes
from rmgl.layer.network import default_alpha as network_alpha
from rmgl.layer.network import network_candidates
from rmgl.model.defaults import default_alpha, default_beta
from rmgl.model.known import with_known
from rmgl.model.run import Run
from rmgl.model.view_problem import ViewProblem
from rmgl.running.threads import Check, Team
from rmgl.views.per_view import per_view, positive_per_view
from rmgl.views.view import View
from rmgl.views.views import Views


def is_auto(value: Any) -> bool:
    """Whether a parameter asks for a value chosen from the data."""
    return isinstance(value, str) and value == "auto"


def asked_candidates(candidates: Any, views: Views) -> list[Any]:
    """What the parameter `candidates` asks for in each view; given graphs are cut to the entities that a view has."""
    given = per_view(candidates, views.names, "candidates")
    return [pairs_among(view.name, asked, view.entities, views.n_rows) for view, asked in zip(views, given, strict=True)]


def given_graphs(candidates: Any, views: Views) -> list[sparse.csr_array]:
    """The graphs that are given as candidates, symmetric and without weights; those of another size are refused later."""
    n, everyone = views.n_rows, np.arange(views.n_rows)
    asked = candidates_in_order(candidates, views, everyone) if not isinstance(candidates, str | Integral) else []
    found = [given_pattern(name, graph, n) for name, graph in zip(views.names, asked, strict=False) if np.shape(graph) == (n, n)]
    return [sparse.csr_array(pattern + pattern.T) for pattern in found]


def candidates_in_order(candidates: Any, views: Views, order: NDArray[np.intp]) -> Any:
    """The parameter `candidates` with given graphs among all entities, in the order of the views: `order` has the rows of the caller."""
    if isinstance(candidates, str | Integral):
        return candidates
    found = list[Any]()
    for view, asked in zip(views, per_view(candidates, views.names, "candidates"), strict=True):
        rows = None if view.entities is None else np.sort(order[view.entities])
        found.append(graph_in_order(view.name, among_all(view.name, asked, rows, order.size), order))
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
    known: Any = None,
    tied: bool = True,
) -> list[ViewProblem]:
    """One problem for each view, from the parameters of `RMGL`. What is left at "auto" gets a heuristic default (`rmgl.model.defaults`)."""
    names, points = views.names, [view.points() if view.graph is None else None for view in views]
    alphas = None if is_auto(alpha) else positive_per_view(alpha, names, "alpha")
    betas = None if is_auto(beta) else positive_per_view(beta, names, "beta", zero_allowed=True)
    if betas is not None and not betas.any():
        raise ValueError("beta is 0 for every view, so nothing defines the embedding: give at least one view a positive beta")
    asked = asked_candidates(candidates, views)
    if is_auto(n_clusters):
        raise ValueError("n_clusters='auto' is part of the automatic choice: leave alpha and beta at 'auto', or give n_clusters")
    if alphas is None:
        alphas = np.array(team(lambda m, check: first_alpha(views[m], points[m], n_neighbors), range(len(names))))
    if betas is None:
        betas = np.full(len(names), default_beta(alphas, views.n_rows, n_clusters, n_neighbors))
    wanted = [view.wanted(a, c) for view, a, c in zip(views, alphas, asked, strict=True)]
    stores = Stores(views.n_rows, wanted, team)

    def state(m: int, check: Check) -> ViewProblem:
        view, a, b = views[m], float(alphas[m]), float(betas[m])
        origin = Origin(view.name, nodes=view.entities, views=(m,))
        if view.graph is not None:
            return network_problem(view, origin, a, b, team)

        options: dict[str, Any] = {"shared": stores.of(view.n_own), "in_parts": team.in_parts, "check": check}
        pairs = find_candidates(view.name, points[m], a, wanted[m], checkpoint=run.checkpoint, **options)
        if tied:
            pairs = with_known(pairs, points[m], known if known is None or view.entities is None else known[view.entities], check)
        check_magnitudes(view.name, a, pairs.edges.largest(pairs.distances), b)
        return ViewProblem(origin, pairs, a, b, views.n_rows)

    return team(state, range(len(names)))


def first_alpha(view: View, points: Any, n_neighbors: int) -> float:
    """The alpha of a view where it is not given; `points` has its distances."""
    if view.graph is not None:
        return network_alpha(given_layer(Origin(view.name), view.own()))
    return default_alpha(points, n_neighbors)


def network_problem(view: View, origin: Origin, alpha: float, beta: float, team: Team) -> ViewProblem:
    """The problem of a graph: it is given or, if it is to be learned again, its edges are candidates."""
    graph, layer = view.graph, given_layer(origin, view.own())
    if graph is None or not graph.learn:
        return ViewProblem.of_given(layer, beta, view.n_rows)
    pairs = network_candidates(layer, alpha, graph.two_steps, team.in_parts)
    check_magnitudes(origin.name, alpha, pairs.edges.largest(pairs.distances), beta)
    return ViewProblem(origin, pairs, alpha, beta, view.n_rows)


class Stores:
    """The stores of all pairs, which views with as many entities share. What would not fit into memory is refused at once."""

    def __init__(self, n_rows: int, wanted: Sequence[Any], team: Team, copies: int = 1) -> None:
        """`copies` is the number of vectors of distances a view."""
        self.team = team
        self.by_size = {n_rows: AllPairs(n_rows, team.in_parts)}
        n_dense = sum(map(is_all, wanted))
        if n_dense:
            self.by_size[n_rows].require_memory(copies * (n_dense + min(team.n_threads, n_dense)) + 2, f"{n_dense} view(s)")
        lengths = [c for c in wanted if isinstance(c, int)]
        if lengths:
            require_list_memory(n_rows, sum(lengths), f"{len(lengths)} view(s)")

    def of(self, n_rows: int) -> AllPairs:
        """The store for so many entities."""
        return self.by_size.setdefault(n_rows, AllPairs(n_rows, self.team.in_parts))


def is_all(candidates: Any) -> bool:
    """Whether all pairs are candidates."""
    return isinstance(candidates, str) and candidates == "all"
