"""The layers that everything is chosen from: one per view, the consensus, and the neighbor layer.

A view's layer has `n_neighbors` edges a node on average: costs are locally scaled distances, and
alpha is solved for. The *consensus* is learned in the same way from all views side by side. The
*neighbor layer* is their plain graph of nearest neighbors, which is given and not learned. Learned
layers may fall into small groups of close rows that keep their weight to themselves; the neighbor
layer links every entity to its nearest others, however far away they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.consensus import consensus_name, free_name, incomplete_space
from rmgl.automatic.policy import Policy
from rmgl.automatic.small import doubt_of
from rmgl.automatic.spaces import Spaces
from rmgl.edges import Candidates, find_candidates, resolve
from rmgl.edges.local_scaling import STAND_IN, NearBlock, nearest_of_all
from rmgl.edges.space import Space
from rmgl.layer import Layer, Origin, given_layer, solve_certified
from rmgl.layer.network import default_alpha, network_candidates
from rmgl.layer.result import given_candidates
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.model.known import with_known
from rmgl.model.problems import Stores, asked_candidates
from rmgl.model.run import Run
from rmgl.running.threads import Check, Team
from rmgl.views.canonical import alike_among
from rmgl.views.views import Views

NEIGHBORS = "neighbors"
PLAIN_NEIGHBORS = 9
"""Neighbors of every entity in the neighbor layer."""
NETWORK_TOL = 1e-6
"""KKT residual of the layer of a network that is learned again."""

Search = Callable[..., Candidates]
"""search(name, space, check, entities=None) -> the candidate pairs of a view, or of some of the
entities in it, with their costs."""


@dataclass(frozen=True)
class Task:
    """What all steps of the choice work with."""

    spaces: Spaces
    policy: Policy
    n_neighbors: float
    """Edges of a node that layers are to have on average."""
    search: Search
    team: Team
    random_state: np.random.RandomState
    run: Run
    solver: str = "newton"
    min_cluster_size: float | None = None
    """Size below which a cluster that is not an island is a fragment (None: the policy's share)."""
    known: NDArray[np.intp] | None = None
    """Labels of entities, -1 where they are not known (None: none is)."""
    tied: bool = True
    """Whether known labels change the costs of the layers."""
    alike: NDArray[np.intp] | None = None
    """Numbers of the entities, the same for copies (None: nothing is known)."""

    @property
    def views(self) -> Views:
        """The scaled views."""
        return self.spaces.views

    @property
    def least_clusters(self) -> int:
        """The number of clusters that known labels need."""
        return 1 if self.known is None else int(self.known.max()) + 1

    @cached_property
    def has_consensus(self) -> bool:
        """Whether a consensus is learned. Networks take part in it by rows smoothed along them."""
        if self.views.all_rows:
            return self.policy.has_consensus(self.views)
        members = self.spaces.of_members
        several = len(self.views.graphs) > 0 or len(members.names) > 1
        return bool(members.names) and several and self.policy.wants_consensus(members)

    @cached_property
    def consensus_space(self) -> Space:
        """The space of all views side by side, or a guess where entities are missing from views."""
        complete = self.spaces.smoothing is not None or self.spaces.of_members.complete
        return self.spaces.together if complete else incomplete_space(self.spaces)

    @cached_property
    def network_share(self) -> float:
        """The share of network neighbors in the rows of all views side by side."""
        return 0.0 if self.spaces.smoothing is None else self.spaces.smoothing.share

    @property
    def neighbor_share(self) -> float:
        """The weight of the neighbor layer, as a share of that of all other layers.

        Rows that are smoothed along networks fall into more small groups, which it has to link.
        Where entities are few, learned layers are uncertain (`rmgl.automatic.small`).
        """
        doubt = doubt_of(self.views.n_rows, self.policy.few_entities)
        return max(self.policy.neighbor_share, doubt) * (1 + self.network_share)

    def of_entities(self, entities: NDArray[np.intp]) -> Task:
        """The task for some of the entities."""
        return replace(
            self,
            spaces=self.spaces.of_entities(entities),
            search=partial(self.search, entities=entities),
            known=None if self.known is None else self.known[entities],
            alike=alike_among(self.alike, entities),
        )


def task_of(
    views: Views,
    *,
    policy: Policy,
    candidates: Any,
    n_neighbors: int,
    min_cluster_size: float | None = None,
    solver: str,
    team: Team,
    random_state: np.random.RandomState,
    run: Run,
    known: NDArray[np.intp] | None = None,
    tied: bool = True,
    alike: NDArray[np.intp] | None = None,
    spaces: Spaces | None = None,
) -> Task:
    """The task of choosing all parameters for given views.

    `known` are labels, -1 where they are not known: they change the costs of the layers if `tied`,
    and the least number of clusters in any case. `alike` numbers entities so that copies have the
    same number. `spaces` are those of views on workers.
    """
    asked = asked_candidates(candidates, views)
    everywhere = candidates if isinstance(candidates, str | Integral) else "auto"
    wanted = {
        view.name: resolve(view.own(), None, asked[m], n_neighbors)
        for m, view in enumerate(views)
        if view.graph is None
    }
    if len(views.names) > 1:
        name = consensus_name(views.names)
        wanted[name] = resolve(views.matrices[0], None, everywhere, n_neighbors)
    stores = Stores(views.n_rows, list(wanted.values()), team, copies=2)

    def search(
        name: str, space: Space, check: Check, entities: NDArray[np.intp] | None = None
    ) -> Candidates:
        pairs = wanted[name]
        if entities is not None and not isinstance(pairs, str | int):  # a given graph
            rows = views[name].entities
            places = entities if rows is None else np.searchsorted(rows, entities)
            pairs = pairs[places][:, places]
        return find_candidates(
            name,
            space,
            None,
            pairs,
            shared=stores.of(space.n_rows),
            check=check,
            local=policy.local_scaling,
            floor_share=policy.floor_share,
            n_neighbors=n_neighbors,
            executor=team,
            checkpoint=run.checkpoint,
        )

    spaces = Spaces.of(views, list(wanted.values()), team) if spaces is None else spaces
    return Task(
        replace(spaces, few_entities=policy.few_entities),
        policy,
        n_neighbors,
        search,
        team,
        random_state,
        run,
        solver,
        min_cluster_size,
        known,
        tied,
        alike,
    )


@dataclass(frozen=True)
class Learned:
    """A layer and its candidate pairs, which the next layer of the same view starts from."""

    candidates: Candidates
    layer: Layer

    def tightened(self) -> Learned:
        """This layer, without the candidate pairs that later costs are unlikely to need."""
        return replace(self, candidates=self.candidates.tightened(self.layer.potentials))

    def own(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of the entities that the layer was learned on."""
        return rows if self.layer.nodes is None else rows[self.layer.nodes]


def learn_all(task: Task) -> list[Learned]:
    """The layers of all views and then the consensus, if any, learned side by side."""
    n_views = len(task.views.names)
    # the consensus takes longest, so it is begun first
    order = [n_views, *range(n_views)] if task.has_consensus else list(range(n_views))

    def learn(place: int, check: Check) -> Learned:
        return learn_view(task, place, check) if place < n_views else learn_consensus(task, check)

    learned = task.team(learn, order)
    task.run.tell({"step": "views"})
    if not task.has_consensus:
        return learned
    task.run.tell({"step": "consensus"})
    return [*learned[1:], learned[0]]


def learn_views(task: Task) -> list[Learned]:
    """The layers of all views, without a consensus."""
    return task.team(partial(learn_view, task), range(len(task.views.names)))


def learn_view(task: Task, place: int, check: Check) -> Learned:
    """The layer of one view, alone."""
    view = task.views[place]
    origin = Origin(view.name, nodes=view.entities, views=(place,))
    if view.graph is not None:
        return learn_network(task, origin, check)
    learned = learn(task, origin, task.spaces.own(place), check)
    task.run.stage("neighbors", (place + 1) / (len(task.views.names) + 1))
    return learned


def learn_network(task: Task, origin: Origin, check: Check) -> Learned:
    """The layer of a network: the network itself or, if it is to be learned, a solution near it."""
    view = task.views[origin.views[0]]
    graph, layer = view.graph, given_layer(origin, view.own())
    if graph is None or not graph.learn:
        return Learned(given_candidates(layer), layer)
    alpha = default_alpha(layer)
    candidates = network_candidates(layer, alpha, graph.two_steps, task.team.in_parts)
    solved = solve_certified(
        origin, candidates, alpha, solver=task.solver, tol=NETWORK_TOL, check=check
    )
    return Learned(*solved)


def learn_consensus(task: Task, check: Check = lambda: None) -> Learned:
    """The layer of all views side by side, each divided by its spread."""
    origin = Origin(
        consensus_name(task.views.names),
        "consensus",
        views=task.spaces.members,
        factors=task.spaces.factors,
        network_share=task.network_share,
    )
    return learn(task, origin, task.consensus_space, check)


def learn(task: Task, origin: Origin, space: Space, check: Check) -> Learned:
    """The layer of a space in which a node has as many edges as are wanted, on average."""
    candidates = task.search(origin.name, space, check)
    if task.tied:
        known = task.known
        if known is not None and origin.nodes is not None:
            known = known[origin.nodes]
        candidates = with_known(candidates, space, known, check)
    solved = solve_for_edges(origin, candidates, task.n_neighbors, solver=task.solver, check=check)
    learned = Learned(*solved)
    # the nearest neighbors of the last layer are asked for before it is tightened
    return learned.tightened() if origin.role == "view" and task.has_consensus else learned


def find_neighbors(task: Task, layers: Sequence[Learned]) -> Layer | None:
    """The neighbor layer of all views side by side, if there is one.

    Rows of zeros are compared as they are. The candidate pairs of the consensus, or of a single
    view, hold the nearest neighbors already, where they are lists.
    """
    members = task.spaces.of_members
    if task.policy.neighbor_share == 0 or not members.names:
        return None
    lists = None
    if not any(members.n_missing) or task.network_share > 0:
        space, last = task.spaces.together, layers[-1]
        same_rows = (last.layer.views, last.layer.network_share)
        if members.complete and same_rows == (task.spaces.members, task.network_share):
            lists = last.candidates.nearest(space, PLAIN_NEIGHBORS)
    elif task.has_consensus:
        space = task.consensus_space
    else:
        return None
    if lists is None:
        space = space.searched_by(task.team).kept_by(task.run.checkpoint)
        lists = nearest_of_all(space, PLAIN_NEIGHBORS, different=True)
    origin = Origin(
        free_name(NEIGHBORS, [*task.views.names, consensus_name(task.views.names)]),
        "neighbors",
        views=task.spaces.members,
        factors=task.spaces.factors,
        network_share=task.network_share,
    )
    return neighbor_layer(origin, lists)


def neighbor_layer(origin: Origin, lists: Sequence[NearBlock]) -> Layer | None:
    """The layer of closed lists of nearest neighbors; None if it has no edge.

    Every entity gives a weight of 1 to each of the nine nearest entities that differ from it; those
    that are tied for the last places share them. Copies get nothing: they say no more about the
    place of an entity than it does itself. An edge has the mean of the weights that its ends give
    to each other, before all weights are scaled.
    """
    n = sum(block.nodes.size for block in lists)
    given = sum((graph_of(block, n) for block in lists), start=sparse.csr_array((n, n)))
    if given.nnz == 0:
        return None
    return given_layer(origin, sparse.csr_array((given + given.T) / 2))


def graph_of(block: NearBlock, n_nodes: int) -> sparse.csr_array:
    """The weights that some nodes give to their neighbors."""
    there = np.isfinite(block.distances) & (block.neighbors != STAND_IN)
    shares = there * (1.0 if block.shares is None else block.shares)
    row, place = np.nonzero(shares)
    ends = (block.nodes[row], block.neighbors[row, place])
    return sparse.csr_array((shares[row, place], ends), shape=(n_nodes, n_nodes))
