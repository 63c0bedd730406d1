"""Choose what users would otherwise tune with labels: alpha, the weights of the views, beta and K.

    learn      learn one layer per view, the consensus of all views, and the plain neighbor layer
    count      choose the number of clusters, if it is not specified
    weigh      give views more weight if their columns agree with one another, and if their layers
               agree with the common embeddings
    agree      add consensus costs to views that separate only some of the clusters
    guide      learn all layers again, guided by the common embedding
    state      pose the problem for Algorithm 1: alpha_m as found, beta_m proportional to weights

Each step is a function in this module that takes a `State` and returns the next one. Its docstring
gives the formula. Embeddings are computed without fragments (`rmgl.embedding.labels`), which would
otherwise be mistaken for clusters. A `Policy` contains the numbers and rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.beyond_chance import agreement, weights_beyond_chance
from rmgl.automatic.consensus import consensus_costs
from rmgl.automatic.layers import (
    NETWORK_TOL,
    Learned,
    Task,
    find_neighbors,
    learn_all,
    learn_consensus,
    learn_views,
)
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.automatic.state import Measured, State, with_consensus_weight
from rmgl.automatic.weighing import (
    mean_roughness,
    roughness,
    roughness_deviation,
    same_graph,
)
from rmgl.edges import Candidates, Vector
from rmgl.embedding.common_graph import Graph
from rmgl.layer import solve_certified
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.matrix import total_variance
from rmgl.model.problems import ViewProblem
from rmgl.running.threads import Check


@dataclass(frozen=True)
class Choice:
    """The problem for Algorithm 1, and the weights of the views."""

    problems: list[ViewProblem]
    """Problem for each view and, if they exist, for the consensus and the neighbor layer."""
    n_clusters: int
    weights: Vector
    """Weights of the views, which sum to one."""
    roughness: Vector | None = None
    """Roughness of each view. NaN for a view without informative edges."""
    number: NumberOfClusters | None = None
    """Evidence for the number of clusters. None if the number was set by the user."""
    guide: NDArray[np.float64] | None = None
    """Rows whose squared distances are part of all final costs."""
    min_cluster_size: float = 0.0
    """Size below which a cluster is a fragment, unless it is an island."""
    graph: Graph | None = None
    """Weighted sum of the layers before they were guided. None to compute it from the layers."""
    uncertainty: float = 0.0
    """Standard deviation of the roughness if there are few entities."""
    entities: NDArray[np.intp] | None = None
    """Entities included in the problems if others are placed later. None for all."""


def choose(task: Task, n_clusters: int | None) -> Choice:
    """Run all steps in order."""
    state = learn(task, n_clusters)
    if n_clusters is None:
        state = count(state)
    task.run.stage("layers")
    state = weigh(state)
    state = agree(state)
    state = guide(state)
    return state_problem(state)


def learn(task: Task, n_clusters: int | None) -> State:
    """Learn the layers of the views, the consensus and the neighbor layer.

    If views are complementary, an entity that is missing from one of them fits several clusters. It
    would connect them, so it is left out.
    """
    task.run.stage("neighbors")
    views, complete = task.views, task.views.in_all
    incomplete = views.all_rows and any(views.n_missing)
    if not incomplete or not can_do_with(task, complete, n_clusters):
        return first_state(task, learn_all(task), n_clusters)
    layers = learn_views(task)
    task.run.tell({"step": "views"})
    part = task.of_entities(complete)
    consensus = learn_consensus(part)
    cut = [part_of(item, complete, views.n_rows) for item in layers]
    if is_complementary(first_state(part, [*cut, consensus], n_clusters)):
        of_part = first_state(part, [*learn_views(part), consensus], n_clusters)
        return replace(of_part, entities=complete)
    del consensus
    if task.has_consensus:
        layers.append(learn_consensus(task))
    return first_state(task, layers, n_clusters)


def first_state(task: Task, layers: list[Learned], n_clusters: int | None) -> State:
    """Return the state before anything is chosen."""
    neighbors = find_neighbors(task, layers)
    return State(task, [item.tightened() for item in layers], neighbors, n_clusters or 0)


def can_do_with(task: Task, entities: NDArray[np.intp], n_clusters: int | None) -> bool:
    """Return whether these entities are enough to learn everything from."""
    views, policy = task.views, task.policy
    per_cluster = policy.rows_per_cluster * (2 if n_clusters is None else n_clusters)
    needed = max(policy.complete_share * views.n_rows, per_cluster)
    if len(views.names) == 1 or entities.size < needed:
        return False
    varied = all(total_variance(X[entities]) > 0 for X in views.matrices)
    return policy.has_consensus(views.of_entities(entities)) and varied


def is_complementary(state: State) -> bool:
    """Return whether each view separates only some of the clusters.

    If the number of clusters is not set, use the largest number in its range. With fewer clusters,
    those that only some of the views separate would merge.
    """
    if not state.n_clusters:
        number = count_once(state).number
        assert number is not None
        state = replace(state, number=number, n_clusters=number.range[1])
    return measure(state).excess >= state.task.policy.complementary


def count(state: State) -> State:
    """Choose the number of clusters from the sum of the layers, weighted by reliability."""
    state.task.run.stage("number of clusters")
    counted = count_once(state)
    assert counted.number is not None
    number = counted.number.at_least(state.task.least_clusters)
    state.task.run.tell({"step": "number of clusters"})
    return replace(counted, number=number, n_clusters=number.chosen)


def count_once(state: State) -> State:
    """Choose the number of clusters from the sum of the layers, ignoring known labels."""
    task, graph = state.task, state.sum_of(state.layers, state.layer_weights)

    def going(part: float) -> bool:
        task.run.stage("number of clusters", part)
        return not task.run.over

    number = task.policy.choose_number(graph, task.random_state, task.run.checkpoint, going)
    return replace(state, number=number, n_clusters=number.chosen)


def weigh(state: State) -> State:
    """Compute the weights of the views: w_m proportional to part_m share_m r_m^-2, where r_m is the
    roughness of view m.

    The part of a view depends on its reliability (`rmgl.views.halves`). The consensus has as much
    weight as all views together. A single view has all the weight. If some views are networks, the
    less the views agree, the more equal their weights are (`rmgl.automatic.beyond_chance`).
    """
    if len(state.task.views.names) == 1:
        return replace(state, weights=state.layer_weights)
    measured, policy = measure(state), state.task.policy
    if measured.beyond_chance is not None and policy.weighing == "agreement":
        weights = weights_beyond_chance(measured.beyond_chance)
    else:
        known = measured.roughness + measured.uncertainty
        shares = measured.shares * state.task.spaces.parts
        weights = policy.weigh(known, shares, state.consensus is not None)
    return replace(state, measured=measured, weights=with_consensus_weight(state.layers, weights))


def measure(state: State) -> Measured:
    """Measure how well the layers of the views agree with two common embeddings.

    The first is the embedding of all layers together. The second is the embedding of the consensus,
    if there is one.

    If views share their clusters, neighbors in a view are also neighbors in the consensus. If each
    view separates only some of the clusters, its layer has edges between clusters that it merges,
    and is rough where the consensus is smooth: excess = sum_m w_m r_m - 3 r_consensus.
    """
    if state.task.views.graphs:
        return measure_beyond_chance(state)
    policy, consensus, n_rows = state.task.policy, state.consensus, state.task.views.n_rows
    embeddings = [state.embed(state.layers, state.layer_weights)]
    if consensus is not None:
        embeddings.append(state.embed([consensus], np.ones(1)))
    views = state.of_views
    graphs = [state.informative(item) for item in views]
    by_embedding = np.array([[roughness(rows, graph) for graph in graphs] for rows in embeddings])
    mean = mean_roughness(by_embedding, policy.least_roughness)
    totals = np.array([float(item.layer.adjacency.sum()) for item in views])
    informative = np.array([float(graph.sum()) for graph in graphs])
    shares = informative / np.where(totals > 0, totals, 1.0)
    uncertainty = 0.0
    if n_rows < policy.few_entities:
        deviations = [roughness_deviation(rows, graph) for rows in embeddings for graph in graphs]
        uncertainty = float(np.mean(deviations))
    if consensus is None:
        return Measured(mean, shares, uncertainty=uncertainty)
    weights = policy.weigh(mean + uncertainty, shares * state.task.spaces.parts, True)
    of_views = float(weights @ by_embedding[-1])
    of_consensus = roughness(embeddings[-1], state.informative(consensus))
    excess = max(0.0, of_views - policy.smoother * of_consensus)
    if excess >= policy.complementary and weights @ measure_on_others(state, graphs) <= of_views:
        excess = 0.0  # views agree better with one another than with the consensus
    return Measured(mean, shares, excess, uncertainty)


def measure_beyond_chance(state: State) -> Measured:
    """Measure how well each view agrees with the embedding of all others, compared with chance.

    A sparse network always agrees with an embedding to which it contributes, so the embedding
    leaves it out. A network may also agree with the rows of other views; that comparison needs no
    embedding.
    """
    views, smoothing = state.of_views, state.task.spaces.smoothing
    agreed = [agreement(state.embed_others(item), state.informative(item)) for item in views]
    with_rows = {} if smoothing is None else smoothing.followed
    return Measured(
        np.array([one.roughness for one in agreed]) + state.task.policy.least_roughness,
        np.ones(len(views)),
        beyond_chance=np.array(
            [max(one.share, with_rows.get(m, 0.0)) for m, one in enumerate(agreed)]
        ),
    )


def measure_on_others(state: State, graphs: Sequence[sparse.csr_array]) -> Vector:
    """Return the minimum roughness of each view on the embeddings of the other views, ignoring its
    copies.

    Fragments stay in these embeddings. A view that merges clusters has many fragments, but they
    hardly affect the roughness over all edges of another view.
    """
    embeddings = (state.embed([item], np.ones(1), min_size=0.0) for item in state.of_views)
    measured = np.array([[roughness(rows, graph) for graph in graphs] for rows in embeddings])
    measured[[[same_graph(one, other) for other in graphs] for one in graphs]] = np.inf
    least: Vector = measured.min(axis=0)
    return least


def agree(state: State) -> State:
    """Learn layers of complementary views again, with costs z_ij + s c_ij.

    Here c_ij are the costs in the consensus, and s increases with the views' excess roughness.
    """
    task, consensus, measured = state.task, state.consensus, state.measured
    share = 0.0 if measured is None else task.policy.share_of_consensus(measured.excess)
    if share > 0:
        assert consensus is not None

        def again(item: Learned, check: Check) -> Learned:
            if state.is_network(item):
                return item
            layer, space = item.layer, task.consensus_space
            costs = consensus_costs(consensus.candidates, space, layer.nodes, share)
            candidates = item.candidates.with_added(costs, check=check)
            shared = replace(item, layer=replace(layer, consensus_share=share))
            return learned_again(task, shared, candidates, check)

        state.layers[:] = [*task.team(again, state.of_views), consensus]
        task.run.tell({"step": "agreement"})
    return replace(state, graph=state.sum_of(state.layers, state.layer_weights))


def guide(state: State) -> State:
    """Learn all layers again with costs z_ij + g/2 |u_i - u_j|^2.

    Here u_i are the unit rows of the common embedding, and g is the guidance strength. An edge
    between entities that are far apart in the common graph costs more.
    """
    task, rows = state.task, None
    strengths = task.policy.guidance
    for place, strength in enumerate(strengths):
        if task.run.over:
            break
        rows = state.embed(state.layers, state.layer_weights) * np.sqrt(strength / 2)
        is_last = place == len(strengths) - 1
        guided = partial(guided_by, state, rows, is_last)
        state.layers[:] = task.team(guided, state.layers)
        task.run.tell({"step": "guidance", "guidance": strength})
    return replace(state, guide=rows)


def guided_by(
    state: State, rows: NDArray[np.float64], is_last: bool, item: Learned, check: Check
) -> Learned:
    """Learn a layer again with the squared distances between rows added to its costs."""
    if item.layer.given:
        return item
    candidates = item.candidates.guided(item.own(rows), check, is_last)
    if not state.is_network(item):
        return learned_again(state.task, item, candidates, check)
    solved = solve_certified(
        item.layer.origin,
        candidates,
        item.layer.alpha,
        start=item.layer.potentials,
        solver=state.task.solver,
        tol=NETWORK_TOL,
        check=check,
    )
    return Learned(*solved)


def learned_again(task: Task, item: Learned, candidates: Candidates, check: Check) -> Learned:
    """Learn a layer again from different costs, with as many edges as before."""
    solved = solve_for_edges(
        item.layer.origin,
        candidates,
        task.n_neighbors,
        last=item.layer,
        solver=task.solver,
        check=check,
    )
    return Learned(*solved)


def state_problem(state: State) -> Choice:
    """Pose the problem for Algorithm 1, with beta_m = coupling N / (2K) w_m / max w.

    The squared distance between rows of Q in two different clusters of N/K entities is 2K/N.
    """
    task, weights = state.task, state.layer_weights
    n, policy, measured = task.views.n_rows, task.policy, state.measured
    beta = policy.coupling * n / (2 * state.n_clusters) * weights / weights.max()
    problems = [problem_of(item, float(b), n) for item, b in zip(state.layers, beta, strict=True)]
    if state.neighbors is not None:
        share = float(task.neighbor_share * beta.sum())
        problems.append(ViewProblem.of_given(state.neighbors, share))
    rough = None
    if measured is not None:
        rough = np.where(measured.shares > 0, measured.roughness, np.nan)
    roles = [item.layer.role for item in state.layers]
    return Choice(
        problems,
        state.n_clusters,
        weights[np.array(roles) == "view"],
        rough,
        state.number,
        state.guide,
        state.min_cluster_size,
        state.graph,
        0.0 if measured is None else measured.uncertainty,
        state.entities,
    )


def problem_of(item: Learned, beta: float, n_entities: int) -> ViewProblem:
    """Return the problem for a layer, starting from its potentials. A layer that is given rather
    than learned is not changed.
    """
    layer = item.layer
    if layer.given:
        return ViewProblem.of_given(layer, beta, n_entities)
    return ViewProblem(
        layer.origin, item.candidates, layer.alpha, beta, n_entities, start=layer.potentials
    )


def part_of(item: Learned, entities: NDArray[np.intp], n_entities: int) -> Learned:
    """Return a layer that keeps only the edges among these entities, for comparison with other
    layers.
    """
    graph = item.layer.among_all(n_entities).adjacency[entities][:, entities]
    return replace(item, layer=replace(item.layer, adjacency=sparse.csr_array(graph), nodes=None))
