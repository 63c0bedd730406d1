"""Algorithm 1: the only loop over both the layers and the embedding.

minimize   sum_m  tr(L_m S_m) + alpha_m ||L_m||_F^2 + beta_m tr(Q' L_m Q)
subject to L_m a graph Laplacian, tr(L_m) = N, Q'Q = I_K

If views are networks, entities have masses (`rmgl.embedding.balance`). The masses come from the
first common graph, so they stay the same in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from rmgl.edges import Costs, PairList, PairStore
from rmgl.edges.interface import as_vector
from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph, weighted_sum
from rmgl.embedding.eigenvectors import Embedding
from rmgl.embedding.labels import embed_without, judge_without
from rmgl.layer import Layer, solve_certified
from rmgl.layer.problem import squared_norm
from rmgl.layer.result import padded_graph
from rmgl.matrix import Floats, Indices, Mask
from rmgl.model.problems import ViewProblem
from rmgl.model.run import Run
from rmgl.model.spreads import shared_spreads, spread_of, store_of
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Check, Team


@dataclass(frozen=True)
class Accuracy:
    """Tolerances of a round: KKT residual of the layers, relative residual of the eigenvectors."""

    layer: float
    eigen: float
    certified: bool
    """Whether candidates are extended until no other pair can carry weight."""
    settled: float
    """Smallest tolerance for the objective at which rounds of this accuracy end."""


COARSE = Accuracy(layer=1e-4, eigen=1e-4, certified=False, settled=1e-2)
TIGHT = Accuracy(layer=1e-8, eigen=1e-8, certified=True, settled=0.0)
EIGEN_TOL = 1e-6
"""Relative residual of the eigenvectors beyond which a fit has not converged."""


@dataclass(frozen=True)
class Setup:
    """Inputs that all half steps share."""

    team: Team
    solver: str = "newton"
    clock: Stopwatch = field(default_factory=Stopwatch)
    run: Run = field(default_factory=Run)
    """The run, which may stop the rounds and stores eigenvectors."""
    alike: Indices | None = None
    """Entity numbers; copies have the same number (None: unknown)."""


@dataclass(frozen=True)
class State:
    """Layers, embedding and the values derived from them.

    The state includes the problems, because their candidates may grow.
    """

    problems: list[ViewProblem]
    layers: list[Layer]
    embedding: Embedding
    terms: Floats
    """The three terms of the objective for each view: (M, 3)."""
    setup: Setup
    balance: Balance | None = None
    """The masses of the entities (None: all are one)."""

    @property
    def objective(self) -> float:
        """The sum of all terms, correctly rounded, so that no decrease appears as an increase."""
        return fsum([*self.terms.flat, self.uniform_term])

    @property
    def uniform_term(self) -> float:
        """t tr(Q' U Q), the contribution of the uniform graph (0: no uniform graph)."""
        return 0.0 if self.balance is None else self.balance.uniform_term(self.embedding.own)


@dataclass
class Outcome:
    """The final state of Algorithm 1 and its history."""

    state: State
    converged: bool
    n_iter: int
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False
    """Whether the run was stopped before it converged."""
    eigen_residual: float = 0.0
    """The residual of the last embedding on the layers it came from, before they were certified."""

    @property
    def embedded(self) -> bool:
        """Whether the last embedding solved its eigenvalue problem."""
        return self.eigen_residual <= EIGEN_TOL


def alternate(
    problems: Sequence[ViewProblem],
    n_clusters: int,
    setup: Setup,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    progress: Callable[[dict[str, Any]], None] = lambda row: None,
    fragments: Mask | None = None,
    balanced: bool = False,
) -> Outcome:
    """Update layers and embedding in turn until neither the objective nor the subspace changes.

    No half step increases the objective. The first layers use the data alone (Q = 0), on certified
    candidates. Half steps are coarse until a round changes little. From then on they are tight, on
    certified candidates, until a round changes nothing. A run may stop the loop between rounds. In
    any case, the layers are certified at the end: they are the exact solutions for the returned
    embedding. With `balanced`, entities have masses based on their degrees in the sum of the
    first layers.
    """
    log = History(progress)
    accuracy = COARSE if max_iter > 1 else TIGHT
    done, converged, stopped = 0, False, False
    state = first_state(problems, n_clusters, accuracy, setup, fragments, balanced)
    log.add("start", 0, state)
    for iteration in range(1, max_iter + 1):
        if setup.run.over:
            stopped = True
            break
        # problem (6), one per view
        after_layers = update_layers(state, accuracy)
        log.add("layers", iteration, after_layers)
        after_embedding = update_embedding(after_layers, accuracy)  # problem (10)
        log.add("embedding", iteration, after_embedding)
        settled = has_settled(state, after_embedding, max(tol, accuracy.settled))
        state, done = after_embedding, iteration
        if settled and accuracy is TIGHT:
            converged = True
            break
        if settled or iteration == max_iter - 1:
            accuracy = TIGHT
    last = certified(state)
    log.add("certificate", done, last)
    return Outcome(last, converged, done, log.entries, stopped, state.embedding.residual)


def has_settled(old: State, new: State, tol: float) -> bool:
    """Check whether a round changed little.

    The objective fell by a fraction of at most `tol`, and the subspace changed by at most
    sqrt(tol).
    """
    # the objective may be 0 if layers are given
    fall = (old.objective - new.objective) / max(abs(old.objective), np.finfo(float).tiny)
    before, after = (
        state.embedding.vectors
        if state.balance is None
        else state.balance.orthonormal(state.embedding.vectors)
        for state in (old, new)
    )
    return fall <= tol and subspace_change(before, after) <= np.sqrt(tol)


def first_state(
    problems: Sequence[ViewProblem],
    n_clusters: int,
    accuracy: Accuracy,
    setup: Setup,
    fragments: Mask | None = None,
    balanced: bool = False,
) -> State:
    """Learn the layers from the data alone, and compute their common embedding."""

    def learn(view: ViewProblem, check: Check) -> tuple[ViewProblem, Layer]:
        if view.given is not None:
            return view, view.given
        candidates, layer = solve_certified(
            view.origin,
            view.candidates,
            view.alpha,
            solver=setup.solver,
            tol=accuracy.layer,
            start=view.start,
            check=check,
        )
        return replace(view, candidates=candidates), layer

    with setup.clock.shared() as spent:
        learned = setup.team(learn, problems)
        problems, layers = [view for view, _ in learned], [layer for _, layer in learned]
        spent += [layer.seconds for layer in layers]
    with setup.clock("embedding"):
        graph = _graph(problems, layers)
        balance = Balance.of(graph) if balanced else None
        embedding = _embed(graph, n_clusters, accuracy, setup, fragments, balance)
        terms = setup.team(
            lambda item, check: _view_terms(item[0], item[1], embedding, check),
            list(zip(problems, layers, strict=True)),
        )
        return State(problems, layers, embedding, np.array(terms), setup, balance)


def update_layers(state: State, accuracy: Accuracy) -> State:
    """Solve problem (6) for every layer from its last potentials; keep what cannot be improved."""
    embedding, setup = state.embedding, state.setup

    def update(
        item: tuple[ViewProblem, Layer, Floats], check: Check
    ) -> tuple[ViewProblem, Layer, Floats]:
        view, layer, terms = item
        if view.given is not None:
            return view, layer, terms

        def coupling(edges: PairStore) -> Costs:
            spread = shared.get(store_of(view)) if edges is view.edges else None
            return view.beta * (
                spread_of(view, edges, embedding, check) if spread is None else spread
            )

        candidates, found = solve_certified(
            view.origin,
            view.candidates,
            view.alpha,
            added=coupling,
            solver=setup.solver,
            tol=accuracy.layer,
            start=layer.potentials,
            certified=accuracy.certified,
            check=check,
        )
        grown = replace(view, candidates=candidates)
        new_terms = _view_terms(grown, found, embedding, check)
        if fsum([*new_terms, *-terms]) <= 0:
            return grown, found, new_terms
        return grown, replace(found, adjacency=layer.adjacency, objective=fsum(terms)), terms

    with setup.clock.shared() as spent:
        shared = shared_spreads([view for view in state.problems if view.given is None], embedding)
        updated = setup.team(
            update, list(zip(state.problems, state.layers, state.terms, strict=True))
        )
        problems, layers, terms = ([item[place] for item in updated] for place in range(3))
        spent += [layer.seconds for layer in layers]
    return replace(state, problems=problems, layers=layers, terms=np.array(terms))


def update_embedding(state: State, accuracy: Accuracy) -> State:
    """Solve problem (10). The last embedding is kept if it cannot be improved."""
    setup, n_clusters = state.setup, state.embedding.vectors.shape[1]
    with setup.clock("embedding"):
        known = (state.embedding.fragments, state.balance)
        embedding = _embed(common_graph(state), n_clusters, accuracy, setup, *known)
        terms = state.terms.copy()  # the first two do not depend on the embedding
        terms[:, 2] = setup.team(
            lambda item, check: _coupling(item[0], item[1], embedding, check),
            list(zip(state.problems, state.layers, strict=True)),
        )
        candidate = replace(state, embedding=embedding, terms=terms)
        if candidate.objective <= state.objective:
            return candidate
        return replace(state, embedding=_judge(state))


def certified(state: State) -> State:
    """Certify the layers for the last embedding, and judge it by the new layers.

    Problem (6) is solved once more, tightly and over all pairs.

    A run may stop while half steps are coarse, and the embedding has changed since the layers were
    learned. After this step, the certificates of the layers hold for costs that users can compute:
    the costs from the data plus beta ||q_i - q_j||^2 in the returned embedding.
    """
    last = update_layers(state, TIGHT)
    with state.setup.clock("embedding"):
        return replace(last, embedding=_judge(last))


def subspace_change(old: Floats, new: Floats) -> float:
    """Compute ||(I - Q Q') Q_old||_F / sqrt(K): 0 for equal subspaces, 1 for orthogonal ones."""
    return float(np.linalg.norm(old - new @ (new.T @ old)) / np.sqrt(old.shape[1]))


HistoryRow: TypeAlias = dict[str, float | str]
HISTORY = {
    *("iteration", "step", "objective", "smoothness", "ridge", "coupling"),
    *("kkt_residual", "eigen_residual", "seconds"),
}
"""Keys of a history entry."""


class History:
    """The history of a fit: one entry per half step."""

    def __init__(self, progress: Callable[[dict[str, Any]], None]) -> None:
        self.entries: list[dict[str, Any]] = []
        self.progress = progress
        self.began = perf_counter()

    def add(self, step: str, iteration: int, state: State) -> None:
        smoothness, ridge, coupling = state.terms.sum(axis=0)
        row = {
            "iteration": iteration,
            "step": step,
            "objective": state.objective,
            "smoothness": float(smoothness),
            "ridge": float(ridge),
            "coupling": float(coupling) + state.uniform_term,
            "kkt_residual": max(layer.kkt_residual for layer in state.layers),
            "eigen_residual": state.embedding.residual,
            "seconds": perf_counter() - self.began,
        }
        self.entries.append(row)
        self.progress(row)


def _embed(
    graph: Graph,
    n_clusters: int,
    accuracy: Accuracy,
    setup: Setup,
    fragments: Mask | None,
    balance: Balance | None,
) -> Embedding:
    return embed_without(
        graph,
        n_clusters,
        fragments,
        balance=balance,
        tol=accuracy.eigen,
        in_parts=setup.team.in_parts,
        alike=setup.alike,
        checkpoint=setup.run.checkpoint,
    )


def _judge(state: State) -> Embedding:
    """Judge the last embedding by the last layers."""
    in_parts = state.setup.team.in_parts
    return judge_without(common_graph(state), state.embedding, in_parts, state.balance)


def _graph(problems: Sequence[ViewProblem], layers: Sequence[Layer]) -> Graph:
    adjacencies = [
        padded_graph(layer.adjacency, layer.nodes, problems[0].n_entities) for layer in layers
    ]
    return weighted_sum(adjacencies, [view.beta for view in problems])


def common_graph(state: State) -> Graph:
    """Return the weighted sum of the layers."""
    return _graph(state.problems, state.layers)


def _view_terms(view: ViewProblem, layer: Layer, embedding: Embedding, check: Check) -> Floats:
    """Compute tr(L S), alpha ||L||_F^2 and beta tr(Q'LQ) of one view."""
    smoothness = view.edges.inner(view.distances, layer.adjacency)
    return np.array(
        [
            smoothness,
            view.alpha * squared_norm(layer.adjacency),
            _coupling(view, layer, embedding, check),
        ]
    )


def _coupling(view: ViewProblem, layer: Layer, embedding: Embedding, check: Check) -> float:
    """Compute beta tr(Q'LQ), measuring only the pairs that carry weight."""
    edges = PairList(layer.adjacency)
    spread = as_vector(spread_of(view, edges, embedding, check))
    return view.beta * edges.inner(spread, layer.adjacency)
