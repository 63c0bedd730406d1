"""The layers on which all choices are based: one per view, the consensus, and the neighbor layer.

The layer of a view has an average of `n_neighbors` edges per node. Its costs are locally scaled
distances, and alpha is solved for. The *consensus* is learned in the same way from the concatenated
views. The *neighbor layer* is their nearest-neighbor graph, which is computed, not learned. Learned
layers may break up into small groups of close rows that have no edges to others. The neighbor layer
connects every entity to the nearest other entities, however far away they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
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
from rmgl.layer.result import Role, given_candidates
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.matrix import Floats, Indices
from rmgl.model.known import with_known
from rmgl.model.problems import Stores, asked_candidates
from rmgl.model.run import Run
from rmgl.running.threads import Check, Team, no_check
from rmgl.views.canonical import alike_among
from rmgl.views.views import Views

NEIGHBORS = "neighbors"
PLAIN_NEIGHBORS = 9
"""Number of neighbors of each entity in the neighbor layer."""
NETWORK_TOL = 1e-6
"""KKT residual of a network layer that is learned again."""


@dataclass(frozen=True)
class Task:
    """Data and parameters that all steps of the choice use."""

    spaces: Spaces
    policy: Policy
    n_neighbors: int
    """Average number of edges per node that layers should have."""
    wanted: Mapping[str, Any]
    """Candidate pairs for each layer, by name (`wanted_pairs`)."""
    stores: Stores
    team: Team
    random_state: np.random.RandomState
    run: Run
    solver: str = "newton"
    min_cluster_size: float | None = None
    """Size below which a cluster is a fragment, unless it is an island. None to use the policy."""
    known: Indices | None = None
    """Known labels of entities, -1 for unknown. None if no label is known."""
    tied: bool = True
    """Whether known labels change the costs of the layers."""
    alike: Indices | None = None
    """Entity numbers; copies have the same number. None if unknown."""

    @property
    def views(self) -> Views:
        """Scaled views."""
        return self.spaces.views

    @property
    def least_clusters(self) -> int:
        """Minimum number of clusters required by known labels."""
        return 1 if self.known is None else int(self.known.max()) + 1

    @cached_property
    def has_consensus(self) -> bool:
        """Whether a consensus is learned. Networks contribute to it through rows that are smoothed
        over them.
        """
        if self.views.all_rows:
            return self.policy.has_consensus(self.views)
        members = self.spaces.of_members
        several = len(self.views.graphs) > 0 or len(members.names) > 1
        return bool(members.names) and several and self.policy.wants_consensus(members)

    @cached_property
    def consensus_space(self) -> Space:
        """Space of the concatenated views, or an estimate if entities are missing from views."""
        complete = self.spaces.smoothing is not None or self.spaces.of_members.complete
        return self.spaces.together if complete else incomplete_space(self.spaces)

    @cached_property
    def network_share(self) -> float:
        """Share of network neighbors in the rows of the concatenated views."""
        return 0.0 if self.spaces.smoothing is None else self.spaces.smoothing.share

    @property
    def neighbor_share(self) -> float:
        """Weight of the neighbor layer relative to that of all other layers.

        Rows that are smoothed over networks fall into more small groups, which the neighbor layer
        must connect. If there are few entities, learned layers are uncertain
        (`rmgl.automatic.small`).
        """
        doubt = doubt_of(self.views.n_rows, self.policy.few_entities)
        return max(self.policy.neighbor_share, doubt) * (1 + self.network_share)

    def origin_of_all(self, role: Role, name: str) -> Origin:
        """Return the origin of a layer of the concatenated views."""
        members, factors = self.spaces.members, self.spaces.factors
        return Origin(name, role, None, members, factors, network_share=self.network_share)

    def find(self, name: str, space: Space, check: Check) -> Candidates:
        """Return the candidate pairs and their costs for a layer that is learned in this space."""
        return find_candidates(
            name,
            space,
            None,
            self.wanted[name],
            shared=self.stores.of(space.n_rows),
            check=check,
            local=self.policy.local_scaling,
            floor_share=self.policy.floor_share,
            n_neighbors=self.n_neighbors,
            executor=self.team,
            checkpoint=self.run.checkpoint,
        )

    def of_entities(self, entities: Indices) -> Task:
        """Return the task restricted to these entities."""

        def among(name: str, pairs: Any) -> Any:
            if isinstance(pairs, str | int):
                return pairs
            rows = self.views[name].entities  # if the pairs are a user-supplied graph
            places = entities if rows is None else np.searchsorted(rows, entities)
            return pairs[places][:, places]

        return replace(
            self,
            spaces=self.spaces.of_entities(entities),
            wanted={name: among(name, pairs) for name, pairs in self.wanted.items()},
            known=None if self.known is None else self.known[entities],
            alike=alike_among(self.alike, entities),
        )


def wanted_pairs(views: Views, candidates: Any, n_neighbors: int) -> dict[str, Any]:
    """Return what the `candidates` parameter means for each learned layer, by name."""
    wanted = {
        view.name: resolve(view.own(), None, asked, n_neighbors)
        for view, asked in zip(views, asked_candidates(candidates, views), strict=True)
        if view.graph is None
    }
    if len(views.names) > 1:
        everywhere = candidates if isinstance(candidates, str | Integral) else "auto"
        name = consensus_name(views.names)
        wanted[name] = resolve(views.matrices[0], None, everywhere, n_neighbors)
    return wanted


@dataclass(frozen=True)
class Learned:
    """A layer and its candidate pairs. The next layer of the same view starts from these pairs."""

    candidates: Candidates
    layer: Layer

    def tightened(self) -> Learned:
        """Return this layer without the candidate pairs that later costs are unlikely to need."""
        return replace(self, candidates=self.candidates.tightened(self.layer.potentials))

    def own(self, rows: Floats) -> Floats:
        """Return the rows of the entities on which the layer was learned."""
        return self.layer.origin.own(rows)


def learn_all(task: Task) -> list[Learned]:
    """Learn the layers of all views and the consensus, if there is one, in parallel."""
    n_views = len(task.views.names)
    # the consensus takes longest, so it starts first
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
    """Learn the layers of all views, without a consensus."""
    return task.team(partial(learn_view, task), range(len(task.views.names)))


def learn_view(task: Task, place: int, check: Check) -> Learned:
    """Learn the layer of one view."""
    view = task.views[place]
    origin = Origin(view.name, nodes=view.entities, views=(place,))
    if view.graph is not None:
        return learn_network(task, origin, check)
    learned = learn(task, origin, task.spaces.own(place), check)
    task.run.stage("neighbors", (place + 1) / (len(task.views.names) + 1))
    return learned


def learn_network(task: Task, origin: Origin, check: Check) -> Learned:
    """Return the layer of a network: the network itself or, if it is to be learned, a solution
    close to it.
    """
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


def learn_consensus(task: Task, check: Check = no_check) -> Learned:
    """Learn the layer of the concatenated views, each divided by its spread."""
    origin = task.origin_of_all("consensus", consensus_name(task.views.names))
    return learn(task, origin, task.consensus_space, check)


def learn(task: Task, origin: Origin, space: Space, check: Check) -> Learned:
    """Learn the layer of a space with the requested average number of edges per node."""
    candidates = task.find(origin.name, space, check)
    if task.known is not None and task.tied:
        candidates = with_known(candidates, space, origin.own(task.known), check)
    solved = solve_for_edges(origin, candidates, task.n_neighbors, solver=task.solver, check=check)
    learned = Learned(*solved)
    # the nearest neighbors are taken from the last layer before it is tightened
    return learned.tightened() if origin.role == "view" and task.has_consensus else learned


def find_neighbors(task: Task, layers: Sequence[Learned]) -> Layer | None:
    """Find the neighbor layer of the concatenated views. Returns None if there is none.

    Rows of zeros are compared like any other rows. If the candidate pairs of the consensus, or of a
    single view, are lists, they already contain the nearest neighbors.
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
    taken = [*task.views.names, consensus_name(task.views.names)]
    return neighbor_layer(task.origin_of_all("neighbors", free_name(NEIGHBORS, taken)), lists)


def neighbor_layer(origin: Origin, lists: Sequence[NearBlock]) -> Layer | None:
    """Return the layer built from closed nearest-neighbor lists. None if it has no edges.

    Every entity gives a weight of 1 to each of the nine nearest entities that differ from it.
    Entities that are tied for the last places share them. Copies get no weight, because they say no
    more about the position of an entity than the entity itself does. The weight of an edge is the
    mean of the weights that its two nodes give each other, before all weights are scaled.
    """
    n = sum(block.nodes.size for block in lists)
    given = sum((graph_of(block, n) for block in lists), start=sparse.csr_array((n, n)))
    if given.nnz == 0:
        return None
    return given_layer(origin, sparse.csr_array((given + given.T) / 2))


def graph_of(block: NearBlock, n_nodes: int) -> sparse.csr_array:
    """Return the weights that the nodes in a block give to their neighbors."""
    there = np.isfinite(block.distances) & (block.neighbors != STAND_IN)
    shares = there * (1.0 if block.shares is None else block.shares)
    row, place = np.nonzero(shares)
    ends = (block.nodes[row], block.neighbors[row, place])
    return sparse.csr_array((shares[row, place], ends), shape=(n_nodes, n_nodes))
