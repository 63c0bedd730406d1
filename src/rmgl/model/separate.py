"""Raise beta until every layer falls into exactly K components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rmgl.model.alternate import Outcome
from rmgl.model.view_problem import ViewProblem
from rmgl.running.warn import warn_caller

FACTOR = 4.0
"""What beta is multiplied by from one attempt to the next."""
MAX_STEPS = 15

Solve = Callable[[Sequence[ViewProblem]], Outcome]
"""solve(problems): Algorithm 1."""


def separate(problems: list[ViewProblem], outcome: Outcome, n_clusters: int, solve: Solve) -> tuple[list[ViewProblem], Outcome]:
    """Solve again with larger beta until every layer, and their sum, has exactly `n_clusters` components; warn if no beta does it."""
    for _ in range(MAX_STEPS):
        if separated(outcome, n_clusters) or outcome.stopped:
            return problems, outcome
        if any(layer.n_components > n_clusters for layer in outcome.state.layers):
            break  # a larger beta joins nothing
        problems = [replace(problem, beta=FACTOR * problem.beta) for problem in problems]
        outcome = solve(problems)
    if not separated(outcome, n_clusters):
        counts = {layer.name: layer.n_components for layer in outcome.state.layers}
        warn_caller(
            f"components=True, but no beta gives every layer exactly {n_clusters} components (now {counts}): "
            "raise n_neighbors or alpha to keep clusters connected, or ask for another number",
        )
    return problems, outcome


def separated(outcome: Outcome, n_clusters: int) -> bool:
    """Whether every layer has exactly `n_clusters` components, and so has their sum."""
    state = outcome.state
    return state.embedding.n_components == n_clusters and all(layer.n_components == n_clusters for layer in state.layers)
