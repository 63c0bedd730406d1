"""The whole fit, from scaled views to a `FittedModel`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rmgl.automatic.choose import Choice, choose
from rmgl.automatic.layers import Task, wanted_pairs
from rmgl.automatic.spaces import Spaces
from rmgl.embedding.common_graph import components, weighted_sum
from rmgl.embedding.eigenvectors import signed, unit_rows
from rmgl.embedding.labels import label_rows, label_with_known, matched, place_fragments
from rmgl.fitting.entities import in_order_of_caller, with_others_placed
from rmgl.fitting.fitted import FitEvidence, FittedModel
from rmgl.fitting.ready import Parameters, Ready, in_canonical_order, scaled
from rmgl.layer import Layer
from rmgl.matrix import Floats, Indices, Mask
from rmgl.model.again import separate, separated, without_fragments
from rmgl.model.alternate import Outcome, Setup, alternate, common_graph
from rmgl.model.known import AGREEING
from rmgl.model.problems import Stores, ViewProblem, candidates_in_order, given_problems
from rmgl.model.run import Run
from rmgl.placing.outliers import score_outliers
from rmgl.running.progress import Stopwatch
from rmgl.running.threads import Searching, Team, number_of_workers, team_of
from rmgl.views.canonical import alike_among
from rmgl.views.views import Views


def fit_model(ready: Ready, parameters: Parameters, run: Run, team: Team) -> FittedModel:
    """Learn layers, embedding and labels. Problems are recorded (`rmgl.results.evidence`)."""
    work = Work(parameters, run, team, check_random_state(parameters.random_state))
    with run:
        begin(ready, work)
        solved = solve(pose(ready, work), ready, work)
    run.stage("clusters")
    with work.clock("clustering"):
        learned = model_of(solved, ready, work)
        model = in_order_of_caller(
            with_others_placed(learned, solved.choice.entities, ready, team), ready
        )
    return replace(
        model,
        seconds=work.clock.seconds,
        evidence=evidence_of(solved, learned.labels, model.labels, ready, work),
    )


def begin(ready: Ready, work: Work) -> None:
    """Open the checkpoint, if there is one."""
    stated = work.parameters.essential()
    known = {} if ready.known is None else {"known": ready.known, "tied": ready.tied}
    work.run.begin({**stated, **known}, ready.views, work.random_state)


def model_of(solved: Solved, ready: Ready, work: Work) -> FittedModel:
    """Return the model for the entities included in the problems, in canonical order."""
    choice, outcome = solved.choice, solved.outcome
    views = ready.views if choice.entities is None else ready.views.of_entities(choice.entities)
    embedding, fragments = without_holes(solved)
    layers = [layer.among_all(len(embedding)) for layer in outcome.state.layers]
    return FittedModel(
        parameters=work.parameters,
        view_names=list(ready.views.names),
        index=ready.index,
        views=views,
        scale=ready.scale,
        n_clusters=choice.n_clusters,
        number=choice.number,
        view_weights=choice.weights,
        view_roughness=choice.roughness,
        guide=choice.guide,
        layers=layers,
        alpha=np.array([problem.alpha for problem in solved.problems]),
        beta=solved.beta,
        embedding=embedding,
        eigenvalues=outcome.state.embedding.values,
        labels=label(solved, embedding, layers, ready, work),
        fragments=fragments,
        placed=np.empty(0, dtype=np.intp),
        outlier_score=score_outliers(views, layers, choice.weights),
        history=outcome.history,
        converged=outcome.converged and outcome.embedded,
        n_iter=outcome.n_iter,
        seconds={},
        balance=outcome.state.balance,
    )


def without_holes(solved: Solved) -> tuple[Floats, Indices]:
    """Return the embedding with rows for the fragments, placed among the rows of their neighbors,
    and the indices of the fragments.
    """
    state = solved.outcome.state
    vectors, fragments = state.embedding.vectors, state.embedding.fragments
    if fragments is None:
        return signed(vectors), np.empty(0, dtype=np.intp)
    return signed(place_fragments(vectors, fragments, common_graph(state))), np.flatnonzero(
        fragments
    )


def label(
    solved: Solved, embedding: Floats, layers: list[Layer], ready: Ready, work: Work
) -> Indices:
    """Return the labels: the components if they were requested and found, and otherwise k-means on
    the rows of the embedding, starting from known labels if there are any.
    """
    parameters, choice = work.parameters, solved.choice
    if parameters.components and separated(solved.outcome, choice.n_clusters):
        return components(
            weighted_sum([layer.adjacency for layer in layers], solved.beta.tolist())
        )[1]
    rows = unit_rows(embedding) if parameters.of_unit_length else embedding
    aside = solved.outcome.state.embedding.fragments
    found = label_rows(
        rows, aside, choice.n_clusters, n_init=parameters.n_init, random_state=work.random_state
    )
    if ready.known is None:
        return found
    known = ready.known if choice.entities is None else ready.known[choice.entities]
    return label_with_known(rows, found, known, choice.n_clusters, aside)


def evidence_of(
    solved: Solved, first_labels: Indices, labels: Indices, ready: Ready, work: Work
) -> FitEvidence:
    """Return the data for the report. The report itself is not made here, because its quick refits
    can take as long as the fit, and many callers need only labels.
    """
    choice, order = solved.choice, ready.canonical.order
    return FitEvidence(
        order=order,
        entities=order if choice.entities is None else order[choice.entities],
        first_labels=first_labels,
        labels=labels.copy(),
        embedding=solved.outcome.state.embedding,
        graph=choice.graph,
        uncertainty=choice.uncertainty,
        columns=[view.describe_columns() for view in ready.views],
        recognized=ready.recognized,
        random_state=deepcopy(work.random_state),
        settled=solved.outcome.converged,
        stopped=why_stopped(work) if solved.outcome.stopped else "",
        eigen_residual=solved.outcome.eigen_residual,
        tied=ready.tied,
    )


def why_stopped(work: Work) -> str:
    """Return why a fit stopped before it converged."""
    return (
        "the callback requested it"
        if work.run.asked_to_stop
        else f"max_seconds={work.parameters.max_seconds:g} was reached"
    )


def found_without(
    views: Views, known: Indices, parameters: Parameters, searching: Searching | None = None
) -> bool:
    """Return whether a fit without the known labels agrees with nearly all of them, so that they
    need not change the layers.

    This is not tried if there is a time limit. `searching` lets Dask workers search.
    """
    if parameters.max_seconds is not None:
        return False
    seed = parameters.random_state if isinstance(parameters.random_state, Integral) else 0
    plain = replace(parameters, random_state=seed)
    ready = scaled(*in_canonical_order(views, plain), plain, index=views.index)
    model = fit_quietly(ready, plain, searching)
    if model.n_clusters <= known.max():
        return False
    found, fixed = matched(model.labels, known, model.n_clusters), known >= 0
    return bool(np.mean(found[fixed] == known[fixed]) >= AGREEING)


def fit_quietly(
    ready: Ready, parameters: Parameters, searching: Searching | None = None
) -> FittedModel:
    """Run a fit in addition to the caller's, without warnings, progress or checkpoint."""
    n_threads = number_of_workers(parameters.n_jobs)
    with warnings.catch_warnings(), team_of(n_threads, searching) as team:
        warnings.simplefilter("ignore")
        return fit_model(ready, parameters, Run(), team)


@dataclass(frozen=True)
class Work:
    """Data and parameters that all steps of a fit use."""

    parameters: Parameters
    run: Run
    team: Team
    random_state: np.random.RandomState
    clock: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True)
class Solved:
    """The chosen problem, the problems that were solved last, and their solution."""

    choice: Choice
    problems: Sequence[ViewProblem]
    outcome: Outcome

    @property
    def beta(self) -> Floats:
        """Weight of each layer in the embedding."""
        return np.array([problem.beta for problem in self.problems])


def pose(ready: Ready, work: Work) -> Choice:
    """Return the problem for Algorithm 1, chosen from the data or with the user's parameters."""
    work.run.stage("neighbors")
    asked = candidates_in_order(work.parameters.candidates, ready.views, ready.canonical.order)
    with work.clock("neighbors"):
        return (
            chosen(ready, asked, work) if work.parameters.automatic else given(ready, asked, work)
        )


def chosen(ready: Ready, asked: Any, work: Work) -> Choice:
    """Return the problem chosen from the data. `asked` contains the candidates that the caller
    requested.
    """
    parameters, rules, views = work.parameters, work.parameters.rules, ready.views
    wanted = wanted_pairs(views, asked, parameters.n_neighbors)
    pairs = list(wanted.values())
    task = Task(
        spaces=replace(Spaces.of(views, pairs, work.team), few_entities=rules.few_entities),
        # the neighbor layer is not learned, so it would keep its own components
        policy=replace(rules, neighbor_share=0.0) if parameters.components else rules,
        n_neighbors=parameters.n_neighbors,
        wanted=wanted,
        stores=Stores(views.n_rows, pairs, work.team, copies=2),
        team=work.team,
        random_state=work.random_state,
        run=work.run,
        solver=parameters.solver,
        min_cluster_size=parameters.given_size,
        known=ready.known,
        tied=ready.tied,
        alike=ready.canonical.alike,
    )
    return choose(task, parameters.given_number)


def given(ready: Ready, asked: Any, work: Work) -> Choice:
    """Return the problem with the user's parameters, and heuristic defaults for the others."""
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
        known=ready.known if ready.tied else None,
    )
    beta = np.array([problem.beta for problem in problems])
    return Choice(
        problems,
        parameters.n_clusters,
        beta / beta.sum(),
        min_cluster_size=parameters.given_size or 0.0,
    )


def solve(choice: Choice, ready: Ready, work: Work) -> Solved:
    """Run Algorithm 1, either until every layer has K components, if this was requested, or without
    fragments.
    """
    parameters = work.parameters
    alike = alike_among(ready.canonical.alike, choice.entities)
    setup = Setup(work.team, parameters.solver, work.clock, work.run, alike)

    def again(problems: Sequence[ViewProblem], fragments: Mask | None = None) -> Outcome:
        return alternate(
            problems,
            choice.n_clusters,
            setup,
            tol=parameters.tol,
            max_iter=parameters.max_iter,
            progress=progress_of(work.run),
            fragments=fragments,
            balanced=ready.views.only_graphs,
        )

    outcome = again(choice.problems)
    if parameters.components:
        return Solved(choice, *separate(choice.problems, outcome, choice.n_clusters, again))
    outcome = without_fragments(
        choice.problems,
        outcome,
        choice.n_clusters,
        choice.min_cluster_size,
        again,
        work.random_state,
        parameters.rules,
    )
    return Solved(choice, choice.problems, outcome)


def progress_of(run: Run) -> Callable[[dict[str, Any]], None]:
    """Return a function that reports the rounds of Algorithm 1 to a run."""
    rounds = count()

    def progress(row: dict[str, Any]) -> None:
        # there are usually few rounds, and their number is not known in advance
        run.stage("embedding", 1 - 0.5 ** next(rounds))
        run.tell(row)

    return progress
