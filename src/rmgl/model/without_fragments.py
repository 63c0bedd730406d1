"""Solve again without the fragments of the common embedding, until it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rmgl.embedding.eigenvectors import Embedding, Graph
from rmgl.embedding.fragments import embed_without, find_fragments
from rmgl.model.alternate import Outcome, State, common_graph
from rmgl.model.view_problem import ViewProblem

TOL = 1e-4
"""Relative residual of the eigenvectors in which fragments are looked for."""

Solve = Callable[[Sequence[ViewProblem], NDArray[np.bool_] | None], Outcome]
"""solve(problems, fragments): Algorithm 1 without the fragments."""


def _embed(state: State, graph: Graph, n_clusters: int, fragments: NDArray[np.bool_] | None) -> Embedding:
    """The last embedding if it is without these fragments, or a new one."""
    if fragments is state.embedding.fragments:
        return state.embedding
    return embed_without(graph, n_clusters, fragments, tol=TOL, alike=state.alike, checkpoint=state.checkpoint)


def without_fragments(
    problems: Sequence[ViewProblem],
    outcome: Outcome,
    n_clusters: int,
    min_size: float,
    solve: Solve,
    random_state: np.random.RandomState,
) -> Outcome:
    """Leave clusters of fewer than `min_size` members that are no islands out of the embedding, and solve again until there are none."""
    while min_size > 0 and not outcome.stopped:
        state, graph = outcome.state, common_graph(outcome.state)
        given = [layer.adjacency for layer in state.layers if layer.role == "neighbors"]
        links = given[0] if given else graph
        known = state.embedding.fragments
        embed = partial(_embed, state, graph, n_clusters)
        found = find_fragments(embed, links, n_clusters, min_size, known=known, random_state=random_state)
        if found.fragments is known:
            break
        warm = [
            replace(problem, candidates=grown.candidates, start=layer.potentials)
            for problem, grown, layer in zip(problems, state.problems, state.layers, strict=True)
        ]
        outcome = solve(warm, found.fragments)
    return outcome
