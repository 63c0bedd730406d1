"""Increase beta until every layer has exactly K components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import Embedding
from rmgl.embedding.labels import Fragments, embed_without, find_fragments
from rmgl.matrix import Mask
from rmgl.model.alternate import Outcome, State, common_graph
from rmgl.model.problems import ViewProblem
from rmgl.running.progress import warn_caller

FACTOR = 4.0
"""Factor by which beta grows between attempts."""
MAX_STEPS = 15

Solve = Callable[[Sequence[ViewProblem]], Outcome]
"""solve(problems) runs Algorithm 1."""


def separate(
    problems: list[ViewProblem], outcome: Outcome, n_clusters: int, solve: Solve
) -> tuple[list[ViewProblem], Outcome]:
    """Increase beta until every layer, and their sum, has exactly `n_clusters` components.

    Warns if no beta achieves this.
    """
    for _ in range(MAX_STEPS):
        if separated(outcome, n_clusters) or outcome.stopped:
            return problems, outcome
        if any(layer.n_components > n_clusters for layer in outcome.state.layers):
            break  # a larger beta does not join components
        problems = [replace(problem, beta=FACTOR * problem.beta) for problem in problems]
        outcome = solve(problems)
    if not separated(outcome, n_clusters):
        counts = {layer.name: layer.n_components for layer in outcome.state.layers}
        warn_caller(
            f"components=True: no beta gives every layer exactly {n_clusters} components (found "
            f"{counts}): increase n_neighbors or alpha to keep clusters connected, or change "
            "n_clusters",
        )
    return problems, outcome


def separated(outcome: Outcome, n_clusters: int) -> bool:
    """Check whether every layer and their sum have exactly `n_clusters` components."""
    state = outcome.state
    return state.embedding.n_components == n_clusters and all(
        layer.n_components == n_clusters for layer in state.layers
    )


FRAGMENT_TOL = 1e-4
"""Relative residual of the eigenvectors that are used to find fragments."""

SolveWithout = Callable[[Sequence[ViewProblem], Mask | None], Outcome]
"""solve(problems, fragments) runs Algorithm 1 without the fragments."""


def _embed(state: State, graph: Graph, n_clusters: int, fragments: Mask | None) -> Embedding:
    """Return the last embedding if it excludes these fragments, otherwise a new one."""
    if fragments is state.embedding.fragments:
        return state.embedding
    return embed_without(
        graph,
        n_clusters,
        fragments,
        tol=FRAGMENT_TOL,
        alike=state.setup.alike,
        checkpoint=state.setup.run.checkpoint,
        balance=state.balance,
    )


def without_fragments(
    problems: Sequence[ViewProblem],
    outcome: Outcome,
    n_clusters: int,
    min_size: float,
    solve: SolveWithout,
    random_state: np.random.RandomState,
    numbers: Fragments | None = None,
) -> Outcome:
    """Exclude clusters with fewer than `min_size` members from the embedding, except for islands.

    Repeats Algorithm 1 until there are no such clusters.
    """
    while min_size > 0 and not outcome.stopped:
        state, graph = outcome.state, common_graph(outcome.state)
        given = [layer.adjacency for layer in state.layers if layer.role == "neighbors"]
        links = given[0] if given else graph
        known = state.embedding.fragments
        embed = partial(_embed, state, graph, n_clusters)
        found = find_fragments(
            embed,
            links,
            n_clusters,
            min_size,
            known=known,
            random_state=random_state,
            numbers=numbers,
        )
        if found.fragments is known:
            break
        warm = [
            replace(problem, candidates=grown.candidates, start=layer.potentials)
            for problem, grown, layer in zip(problems, state.problems, state.layers, strict=True)
        ]
        outcome = solve(warm, found.fragments)
    return outcome
