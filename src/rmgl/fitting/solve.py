"""State the problem of Algorithm 1, and solve it: with components, or without fragments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.choose import Choice, choose_problems
from rmgl.fitting.parameters import Parameters
from rmgl.fitting.ready import Ready
from rmgl.model.alternate import Outcome, alternate
from rmgl.model.given import candidates_in_order, given_problems
from rmgl.model.run import Run
from rmgl.model.separate import separate
from rmgl.model.view_problem import ViewProblem
from rmgl.model.without_fragments import without_fragments
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Team
from rmgl.views.canonical import alike_among


@dataclass(frozen=True)
class Work:
    """What all steps of a fit work with."""

    parameters: Parameters
    run: Run
    team: Team
    random_state: np.random.RandomState
    clock: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True)
class Solved:
    """A choice of the problem, the problems that were solved in the end, and where that led."""

    choice: Choice
    problems: Sequence[ViewProblem]
    outcome: Outcome

    @property
    def beta(self) -> NDArray[np.float64]:
        """The weight of each layer in the embedding."""
        return np.array([problem.beta for problem in self.problems])


def pose(ready: Ready, work: Work) -> Choice:
    """What Algorithm 1 is to solve: chosen from the data, or as given."""
    work.run.stage("neighbors")
    asked = candidates_in_order(work.parameters.candidates, ready.views, ready.canonical.order)
    with work.clock("neighbors"):
        return chosen(ready, asked, work) if work.parameters.automatic else given(ready, asked, work)


def chosen(ready: Ready, asked: Any, work: Work) -> Choice:
    """The problem that is chosen from the data; `asked` are the candidates that the caller asks for."""
    parameters, workers = work.parameters, ready.workers
    if workers is not None:
        workers.cluster.in_parts = work.team.in_parts
    rules = parameters.rules
    return choose_problems(
        ready.views,
        policy=replace(rules, neighbor_share=0.0) if parameters.components else rules,  # a given graph has its own components
        candidates=asked if workers is None else workers.length,
        n_clusters=parameters.given_number,
        n_neighbors=parameters.n_neighbors,
        min_cluster_size=parameters.given_size,
        solver=parameters.solver,
        team=work.team,
        random_state=work.random_state,
        run=work.run,
        known=ready.known,
        tied=ready.tied,
        alike=ready.canonical.alike,
        spaces=None if workers is None else workers.spaces,
    )


def given(ready: Ready, asked: Any, work: Work) -> Choice:
    """The problem of given parameters, with heuristic defaults of the others."""
    parameters = work.parameters
    problems = given_problems(
        ready.views,
        parameters.alpha,
        parameters.beta,
        candidates=asked,
        n_clusters=parameters.n_clusters,
        n_neighbors=parameters.n_neighbors,
        team=work.team,
        run=work.run,
        known=ready.known,
        tied=ready.tied,
    )
    beta = np.array([problem.beta for problem in problems])
    return Choice(problems, parameters.n_clusters, beta / beta.sum(), min_cluster_size=parameters.given_size or 0.0)


def solve(choice: Choice, ready: Ready, work: Work) -> Solved:
    """Algorithm 1; if it was asked for, until every layer has K components, or else without fragments."""
    alike = alike_among(ready.canonical.alike, choice.entities)

    def again(problems: Sequence[ViewProblem], fragments: NDArray[np.bool_] | None = None) -> Outcome:
        return algorithm_1(problems, choice.n_clusters, fragments, alike, work)

    outcome = again(choice.problems)
    if work.parameters.components:
        return Solved(choice, *separate(choice.problems, outcome, choice.n_clusters, again))
    outcome = without_fragments(choice.problems, outcome, choice.n_clusters, choice.min_cluster_size, again, work.random_state)
    return Solved(choice, choice.problems, outcome)


def algorithm_1(
    problems: Sequence[ViewProblem],
    n_clusters: int,
    fragments: NDArray[np.bool_] | None,
    alike: NDArray[np.intp] | None,
    work: Work,
) -> Outcome:
    """Layers and embedding in turn (`rmgl.model.alternate`)."""
    parameters, rounds = work.parameters, count()

    def progress(row: dict[str, Any]) -> None:
        work.run.stage("embedding", 1 - 0.5 ** next(rounds))  # few rounds are usual, and their number is not known
        work.run.tell(row)

    return alternate(
        problems,
        n_clusters,
        solver=parameters.solver,
        tol=parameters.tol,
        max_iter=parameters.max_iter,
        team=work.team,
        clock=work.clock,
        progress=progress,
        run=work.run,
        fragments=fragments,
        alike=alike,
    )
