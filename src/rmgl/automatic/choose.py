"""What a user would tune with labels, chosen without them: alpha, the weights of the views, beta and K.

1. Every view gets the layer in which a node has `n_neighbors` edges on average: locally scaled distances, alpha solved for.
2. The *consensus* is a layer learned in the same way from all views side by side (`consensus`); the *neighbors* are their plain graph of
   nearest neighbors, a layer that is given and links every entity to others (`neighbors`).
3. A view counts for more, the better its layer agrees with the embedding of the consensus and with that of all layers (`weighing`). The
   consensus weighs as much as all views together, the neighbors a fifth of all others.
4. Where each view separates only some of the clusters, the views' layers are learned again with costs of the consensus added to their own.
5. All layers are learned again with guidance / 2 |u_i - u_j|^2 added to their costs, u_i the unit rows of the common embedding: an edge
   between entities that the common graph sets apart has to be worth it.
6. What comes out is a problem for Algorithm 1: alpha_m, and beta_m proportional to the weights.

Every embedding is computed without fragments (`rmgl.embedding.fragments`), which would take clusters for themselves.

The numbers and rules are those of a `Policy`.
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

from rmgl.automatic.consensus import consensus_costs, consensus_name, incomplete_space
from rmgl.automatic.learned import Learned
from rmgl.automatic.neighbors import N_NEIGHBORS, neighbor_layer
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.automatic.policy import Policy
from rmgl.automatic.spaces import Spaces
from rmgl.automatic.weighing import FEW_ENTITIES, informative_edges, mean_roughness, roughness, roughness_deviation
from rmgl.edges import Candidates, Vector, find_candidates, resolve
from rmgl.edges.space import Space
from rmgl.edges.ties import nearest_of_all
from rmgl.embedding.eigenvectors import Graph, unit_rows, weighted_sum
from rmgl.embedding.fragments import embed_without, find_fragments, place_fragments
from rmgl.layer import Layer, Origin, given_layer, solve_certified
from rmgl.layer.network import default_alpha, given_candidates, network_candidates
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.matrix import total_variance
from rmgl.model.given import Stores, asked_candidates
from rmgl.model.known import with_known
from rmgl.model.run import Run
from rmgl.model.view_problem import ViewProblem
from rmgl.running.threads import Check, Team
from rmgl.views.canonical import alike_among
from rmgl.views.views import Views

EMBEDDING_TOL = 1e-4
LEAST_PER_CLUSTER = 10
"""Entities for each cluster without which nothing is learned on a part of them."""
NETWORK_TOL = 1e-6
"""KKT residual of the layer of a network that is learned again."""
SMOOTHER = 3.0
"""How many times rougher than the consensus the views may be before they are taken to disagree with it."""

Search = Callable[..., Candidates]
"""search(name, space, check, entities=None): the candidate pairs of a view, or of some of the entities in it, with their costs."""


@dataclass(frozen=True)
class Choice:
    """What Algorithm 1 is to solve, and how much each view counts."""

    problems: list[ViewProblem]
    """One for each view, and one for the consensus, where there is one."""
    n_clusters: int
    weights: Vector
    roughness: Vector | None = None
    """That of every view; NaN for one without informative edges, of which nothing is known."""
    number: NumberOfClusters | None = None
    guide: NDArray[np.float64] | None = None
    """The rows whose squared distances are part of all costs in the end."""
    min_cluster_size: float = 0.0
    """The size below which a cluster that is no island is a fragment."""
    graph: Graph | None = None
    """The weighted sum of the layers before any of them was guided, from which evidence is taken (None: take it from the layers)."""
    uncertainty: float = 0.0
    """How accurately roughness is known, where entities are few."""
    entities: NDArray[np.intp] | None = None
    """The entities that the problems are about, where the others are to be placed later (None: all)."""


def choose_problems(
    views: Views,
    *,
    policy: Policy,
    candidates: Any,
    n_clusters: int | None,
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
) -> Choice:
    """All parameters for given views; the number of clusters, too, if it is None.

    `known` are labels, -1 where they are not known: they change the costs of the layers if `tied`, and the least number of clusters in
    any case. `alike` numbers entities so that copies have the same number. `spaces` are those of views on other machines.
    """
    asked = asked_candidates(candidates, views)
    everywhere = candidates if isinstance(candidates, str | Integral) else "auto"
    wanted = {view.name: resolve(view.own(), None, asked[m], n_neighbors) for m, view in enumerate(views) if view.graph is None}
    if len(views.names) > 1:
        wanted[consensus_name(views.names)] = resolve(views.matrices[0], None, everywhere, n_neighbors)
    stores = Stores(views.n_rows, list(wanted.values()), team, copies=2)

    def search(name: str, space: Space, check: Check, entities: NDArray[np.intp] | None = None) -> Candidates:
        own = wanted[name]
        if entities is not None and not isinstance(own, str | int):  # a given graph of the entities of the view
            rows = views[name].entities
            places = entities if rows is None else np.searchsorted(rows, entities)
            own = own[places][:, places]
        scaling = {"local": policy.local_scaling, "floor_share": policy.floor_share}
        options: dict[str, Any] = {**scaling, "n_neighbors": n_neighbors, "in_parts": team.in_parts, "checkpoint": run.checkpoint}
        return find_candidates(name, space, None, own, shared=stores.of(space.n_rows), check=check, **options)

    found = Spaces.of(views, list(wanted.values()), team) if spaces is None else spaces
    options = (found, policy, n_clusters, n_neighbors, search, team, random_state, run, solver, min_cluster_size)
    return Chooser(*options, known=known, tied=tied, alike=alike).choose()


@dataclass(frozen=True)
class Chooser:
    """The steps of the choice, with what all of them need."""

    spaces: Spaces
    policy: Policy
    n_clusters: int | None
    """None to choose it, too."""
    n_neighbors: float
    search: Search
    team: Team
    random_state: np.random.RandomState
    run: Run
    solver: str = "newton"
    given_size: float | None = None
    """The size below which a cluster that is no island is a fragment (None: that of the policy)."""
    neighbors: Layer | None = None
    """The plain neighbor layer, if there is one."""
    known: NDArray[np.intp] | None = None
    """Labels of entities, -1 where they are not known (None: none is)."""
    tied: bool = True
    """Whether known labels change the costs of the layers."""
    alike: NDArray[np.intp] | None = None
    """Numbers of the entities, the same for copies (None: nothing is known)."""

    @property
    def views(self) -> Views:
        return self.spaces.views

    @property
    def min_cluster_size(self) -> float:
        """The size below which a cluster that is no island is a fragment."""
        if self.given_size is not None:
            return self.given_size
        assert self.n_clusters is not None
        return self.policy.small_cluster * self.views.n_rows / self.n_clusters

    def choose(self) -> Choice:
        """All steps, one after the other. Entities that are missing from a view are left out where they would connect clusters."""
        self.run.stage("neighbors")
        complete = self.views.in_all
        if not self.views.all_rows or not any(self.views.n_missing) or not self.can_do_with(complete):
            return self.choose_from(self.learn_all())
        layers = self.team(self.learn_view, range(len(self.views.names)))
        self.run.tell({"step": "views"})
        chooser = replace(
            self,
            spaces=self.spaces.of_entities(complete),
            search=partial(self.search, entities=complete),
            known=None if self.known is None else self.known[complete],
            alike=alike_among(self.alike, complete),
        )
        consensus = chooser.learn_consensus()
        if chooser.is_complementary([*(part_of(item, complete, self.views.n_rows) for item in layers), consensus]):
            layers = self.team(chooser.learn_view, range(len(self.views.names)))
            return replace(chooser.choose_from([*layers, consensus]), entities=complete)
        del consensus
        if self.has_consensus:
            layers.append(self.learn_consensus())
        return self.choose_from(layers)

    def learn_all(self) -> list[Learned]:
        """The layers of all views and then the consensus, if there is one. They are learned side by side, the longest first."""
        n_views = len(self.views.names)
        order = [n_views, *range(n_views)] if self.has_consensus else list(range(n_views))

        def learn(place: int, check: Check) -> Learned:
            return self.learn_view(place, check) if place < n_views else self.learn_consensus(check)

        learned = self.team(learn, order)
        self.run.tell({"step": "views"})
        if not self.has_consensus:
            return learned
        self.run.tell({"step": "consensus"})
        return [*learned[1:], learned[0]]

    def can_do_with(self, entities: NDArray[np.intp]) -> bool:
        """Whether some of the entities are enough for everything to be learned on them."""
        views, n_clusters = self.views, 2 if self.n_clusters is None else self.n_clusters
        if len(views.names) == 1 or entities.size < max(self.policy.complete_share * views.n_rows, LEAST_PER_CLUSTER * n_clusters):
            return False
        return self.policy.has_consensus(views.of_entities(entities)) and all(total_variance(X[entities]) > 0 for X in views.matrices)

    def is_complementary(self, layers: list[Learned]) -> bool:
        """Whether each view separates only some of the clusters: an entity that is missing from a view then belongs to several of them."""
        chooser = replace(self, neighbors=self.find_neighbors(layers))
        if self.n_clusters is None:
            graph = chooser.sum_of(layers, equal_weights(layers))
            chooser = replace(chooser, n_clusters=self.policy.choose_number(graph, self.random_state, self.run.checkpoint).chosen)
        return bool(chooser.measure(layers)["excess"] >= self.policy.complementary)

    def choose_from(self, layers: list[Learned]) -> Choice:
        """All steps after the layers of the views and the consensus."""
        chooser = replace(self, neighbors=self.find_neighbors(layers))
        if self.n_clusters is not None:
            return chooser.choose_for(layers)
        self.run.stage("number of clusters")
        graph = chooser.sum_of(layers, equal_weights(layers))
        number = self.policy.choose_number(graph, self.random_state, self.run.checkpoint).at_least(self.least_clusters)
        self.run.tell({"step": "number of clusters"})
        return replace(chooser, n_clusters=number.chosen).choose_for(layers, number)

    @property
    def least_clusters(self) -> int:
        """The number of clusters that known labels need."""
        return 1 if self.known is None else int(self.known.max()) + 1

    def choose_for(self, layers: list[Learned], number: NumberOfClusters | None = None) -> Choice:
        """Weights, agreement, guidance and beta for a given number of clusters.

        Layers that are learned again replace those in the list at once: the costs of all candidates take most of the memory of a fit.
        """
        assert self.n_clusters is not None
        self.run.stage("layers")
        weights, found = equal_weights(layers), None
        if len(self.views.names) > 1:
            found = self.measure(layers)
            known = found["roughness"] + found["uncertainty"]
            weights = layer_weights(layers, self.policy.weigh(known, found["shares"], has_consensus(layers)))
            layers[:] = self.agree(layers, self.policy.share_of_consensus(found["excess"]))
        graph = self.sum_of(layers, weights)
        rows = None
        for place, guidance in enumerate(self.policy.guidance):
            if self.run.over:
                break
            rows = self.embed(layers, weights) * np.sqrt(guidance / 2)
            is_last = place == len(self.policy.guidance) - 1
            layers[:] = self.team(partial(self.guide, rows=rows, is_last=is_last), layers)
            self.run.tell({"step": "guidance", "guidance": guidance})
        beta = self.policy.coupling * self.views.n_rows / (2 * self.n_clusters) * weights / weights.max()
        problems = [
            ViewProblem.of_given(item.layer, float(b), self.views.n_rows)
            if item.layer.given
            else ViewProblem(item.layer.origin, item.candidates, item.layer.alpha, float(b), self.views.n_rows, start=item.layer.potentials)
            for item, b in zip(layers, beta, strict=True)
        ]
        if self.neighbors is not None:
            problems.append(ViewProblem.of_given(self.neighbors, float(self.policy.neighbor_share * beta.sum())))
        shares = np.array([weight for item, weight in zip(layers, weights, strict=True) if item.layer.role == "view"])
        evidence: dict[str, Any] = {"number": number, "graph": graph}
        if found is not None:
            rough = np.where(found["shares"] > 0, found["roughness"], np.nan)
            evidence |= {"roughness": rough, "uncertainty": found["uncertainty"]}
        return Choice(problems, self.n_clusters, shares, guide=rows, min_cluster_size=self.min_cluster_size, **evidence)

    def learn_view(self, view: int, check: Check) -> Learned:
        """The layer of one view, alone."""
        if self.views[view].graph is not None:
            return self.learn_network(view, check)
        origin, space = Origin(self.views[view].name, nodes=self.views[view].entities, views=(view,)), self.spaces.own(view)
        learned = self.learn(origin, space, check)
        self.run.stage("neighbors", (view + 1) / (len(self.views.names) + 1))
        return learned

    def known_to(self, origin: Origin, candidates: Candidates, space: Space, check: Check) -> Candidates:
        """Candidates of a layer with the costs that known labels give them."""
        if not self.tied:
            return candidates
        own = self.known if self.known is None or origin.nodes is None else self.known[origin.nodes]
        return with_known(candidates, space, own, check)

    def learn_network(self, view: int, check: Check) -> Learned:
        """The layer of a network: the network itself; if it is to be learned again, as the solution of a problem near it."""
        graph, origin = self.views[view].graph, Origin(self.views[view].name, nodes=self.views[view].entities, views=(view,))
        layer = given_layer(origin, self.views[view].own())
        if graph is None or not graph.learn:
            return Learned(given_candidates(layer), layer)
        alpha = default_alpha(layer)
        candidates = network_candidates(layer, alpha, graph.two_steps, self.team.in_parts)
        return Learned(*solve_certified(origin, candidates, alpha, solver=self.solver, tol=NETWORK_TOL, check=check))

    @cached_property
    def has_consensus(self) -> bool:
        """Whether a layer of all views side by side is learned: networks take part in it by the rows smoothed along them."""
        if self.views.all_rows:
            return self.policy.has_consensus(self.views)
        members = self.spaces.of_members
        return (
            bool(members.names) and (self.spaces.smoothing is not None or len(members.names) > 1) and self.policy.wants_consensus(members)
        )

    @cached_property
    def consensus_space(self) -> Space:
        """The space of all views side by side, or a guess of it where entities are missing from views, or their rows are empty."""
        complete = self.spaces.smoothing is not None or self.spaces.of_members.complete
        return self.spaces.together if complete else incomplete_space(self.spaces)

    @cached_property
    def network_share(self) -> float:
        """The share of the neighbors in the networks in the rows of all views side by side."""
        return 0.0 if self.spaces.smoothing is None else self.spaces.smoothing.share

    def learn_consensus(self, check: Check = lambda: None) -> Learned:
        """The layer of all views side by side, each divided by its spread."""
        factors = self.spaces.factors
        origin = Origin(consensus_name(self.views.names), "consensus", None, self.spaces.members, factors, network_share=self.network_share)
        return self.learn(origin, self.consensus_space, check)

    def find_neighbors(self, layers: Sequence[Learned]) -> Layer | None:
        """The plain neighbor layer of all views side by side, if there is one: rows of zeros are compared as they are.

        The candidate pairs of the consensus, or of a single view, hold the nearest neighbors already, where they are lists.
        """
        members = self.spaces.of_members
        if self.policy.neighbor_share == 0 or not members.names:
            return None
        if not any(members.n_missing) or self.network_share > 0:
            space, last = self.spaces.together, layers[-1]
            of_all = members.complete and last.layer.views == self.spaces.members and last.layer.network_share == self.network_share
            listed = last.candidates.nearest(space, N_NEIGHBORS) if of_all else None
        elif self.has_consensus:
            space, listed = self.consensus_space, None
        else:
            return None
        if listed is None:
            listed = nearest_of_all(space.kept_by(self.run.checkpoint), N_NEIGHBORS, different=True)
        taken = [*self.views.names, consensus_name(self.views.names)]
        return neighbor_layer(listed, taken, self.spaces.members, self.spaces.factors, self.network_share)

    def learn(self, origin: Origin, space: Space, check: Check) -> Learned:
        """The layer of a space in which a node has as many edges as are wanted, on average."""
        candidates = self.known_to(origin, self.search(origin.name, space, check), space, check)
        return Learned(*solve_for_edges(origin, candidates, self.n_neighbors, solver=self.solver, check=check))

    def measure(self, layers: Sequence[Learned]) -> dict[str, Any]:
        """How well layers agree with common embeddings, by their informative edges.

        "roughness" is that of every view, the geometric mean over the embeddings that the policy refers to; "shares" are the shares of the
        edge weight of every view that are informative; "excess" says by how much the views are rougher on the embedding of the consensus
        than three times the consensus itself. Where views share their clusters, neighbors in a view are neighbors in the consensus, too.
        Where each view separates only some of the clusters, its layer has edges between those that it merges, and is rough where the
        consensus is smooth.
        """
        views = [item for item in layers if item.layer.role == "view"]
        consensus = [item for item in layers if item.layer.role == "consensus"]
        embeddings = {"together": self.embed(layers, equal_weights(layers))}
        if consensus:
            embeddings["consensus"] = self.embed(consensus, [1.0])
        used = [embeddings[name] for name in self.policy.references if name in embeddings] or [embeddings["together"]]
        graphs = [self.informative(item) for item in views]
        measured = mean_roughness(np.array([[roughness(rows, graph) for graph in graphs] for rows in used]))
        totals = np.array([float(item.layer.adjacency.sum()) for item in views])
        shares = np.array([float(graph.sum()) for graph in graphs]) / np.where(totals > 0, totals, 1.0)
        few = self.views.n_rows < FEW_ENTITIES
        uncertainty = float(np.mean([roughness_deviation(rows, graph) for rows in used for graph in graphs])) if few else 0.0
        excess = 0.0
        if consensus:
            weights = self.policy.weigh(measured + uncertainty, shares, True)
            of_views = np.array([roughness(embeddings["consensus"], graph) for graph in graphs])
            own = roughness(embeddings["consensus"], self.informative(consensus[0]))
            excess = max(0.0, float(weights @ of_views) - SMOOTHER * own)
            if excess >= self.policy.complementary and weights @ self.measure_on_others(views, graphs) <= weights @ of_views:
                excess = 0.0  # views agree better with one another than with the consensus: it has missed something
        return {"roughness": measured, "shares": shares, "excess": excess, "uncertainty": uncertainty}

    def measure_on_others(self, views: Sequence[Learned], graphs: Sequence[Any]) -> Vector:
        """The least roughness of every view on the embedding of another view alone, copies of it aside.

        Fragments stay in these embeddings: a view that merges clusters has many, and they hardly matter to all edges of another view.
        """
        whole = replace(self, given_size=0.0)
        embeddings = (whole.embed([item], [1.0]) for item in views)
        measured = np.array([[roughness(rows, graph) for graph in graphs] for rows in embeddings])
        measured[[[same_graph(one, other) for other in graphs] for one in graphs]] = np.inf
        least: Vector = measured.min(axis=0)
        return least

    def informative(self, item: Learned) -> Any:
        """The informative edges of a layer, with all entities as nodes."""
        assert self.n_clusters is not None
        if self.policy.small_component == 0:
            return self.among_all(item)
        space: Space | None = None
        if item.layer.role == "consensus":
            space = self.spaces.together
        elif not self.is_network(item):
            space = self.spaces.own(item.layer.views[0])
        min_size = self.policy.small_component * self.views.n_rows / self.n_clusters
        return (
            replace(item.layer, adjacency=informative_edges(space, item.layer.adjacency, min_size)).among_all(self.views.n_rows).adjacency
        )

    def agree(self, layers: list[Learned], share: float) -> list[Learned]:
        """The layers of views that each separate only some of the clusters, learned again with a share of the costs of the consensus."""
        if share == 0:
            return layers
        consensus = next(item for item in layers if item.layer.role == "consensus")
        views = [item for item in layers if item.layer.role == "view"]

        def again(item: Learned, check: Check) -> Learned:
            if self.is_network(item):
                return item
            costs = consensus_costs(consensus.candidates, self.consensus_space, item.layer.nodes, share)
            origin, candidates = replace(item.layer.origin, consensus_share=share), item.candidates.with_added(costs, check=check)
            options: dict[str, Any] = {"last": item.layer, "solver": self.solver, "check": check}
            return Learned(*solve_for_edges(origin, candidates, self.n_neighbors, **options))

        agreeing = self.team(again, views)
        self.run.tell({"step": "agreement"})
        return [*agreeing, consensus]

    def guide(self, item: Learned, check: Check, rows: NDArray[np.float64], is_last: bool) -> Learned:
        """A layer learned again with the squared distances of the rows of a common embedding as part of its costs."""
        if item.layer.given:
            return item
        guided = item.candidates.guided(item.own(rows), check, is_last)
        if self.is_network(item):
            start: dict[str, Any] = {"start": item.layer.potentials, "solver": self.solver, "tol": NETWORK_TOL, "check": check}
            return Learned(*solve_certified(item.layer.origin, guided, item.layer.alpha, **start))
        options: dict[str, Any] = {"last": item.layer, "solver": self.solver, "check": check}
        return Learned(*solve_for_edges(item.layer.origin, guided, self.n_neighbors, **options))

    def is_network(self, item: Learned) -> bool:
        """Whether a layer is that of a network, given or learned again."""
        return item.layer.role == "view" and self.views[item.layer.views[0]].graph is not None

    def among_all(self, item: Learned) -> Any:
        """The edge weights of a layer, with all entities as nodes."""
        return item.layer.among_all(self.views.n_rows).adjacency

    def sum_of(self, layers: Sequence[Learned], weights: Any) -> Graph:
        """The weighted sum of layers and of the plain neighbor layer."""
        weights = np.asarray(weights)
        graphs = [self.among_all(item) for item in layers]
        if self.neighbors is not None:
            graphs, weights = [*graphs, self.neighbors.adjacency], np.append(weights, self.policy.neighbor_share * weights.sum())
        return weighted_sum(graphs, weights.tolist())

    def embed(self, layers: Sequence[Learned], weights: Any) -> NDArray[np.float64]:
        """Unit rows of the common embedding. Fragments take no part in it, and are placed at the mean of their neighbors."""
        n_clusters = self.n_clusters
        assert n_clusters is not None
        graph = self.sum_of(layers, weights)
        options: dict[str, Any] = {"tol": EMBEDDING_TOL, "in_parts": self.team.in_parts, "alike": self.alike}
        options["checkpoint"] = self.run.checkpoint
        links = graph if self.neighbors is None else self.neighbors.adjacency
        embedding = find_fragments(
            lambda fragments: embed_without(graph, n_clusters, fragments, **options),
            links,
            n_clusters,
            self.min_cluster_size,
            random_state=self.random_state,
        )
        rows = unit_rows(embedding.vectors)
        return rows if embedding.fragments is None else unit_rows(place_fragments(rows, embedding.fragments, graph))


def part_of(item: Learned, entities: NDArray[np.intp], n_entities: int) -> Learned:
    """A layer without the edges to other than the given entities, for comparison with others."""
    adjacency = item.layer.among_all(n_entities).adjacency[entities][:, entities]
    return replace(item, layer=replace(item.layer, adjacency=sparse.csr_array(adjacency), nodes=None))


def same_graph(one: Any, other: Any) -> bool:
    """Whether two graphs have the same edges with the same weights, as those of a view and its copy."""
    if one is other or one.nnz != other.nnz or one.nnz == 0:  # graphs without edges say nothing
        return one is other
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("indptr", "indices", "data"))


def has_consensus(layers: Sequence[Learned]) -> bool:
    """Whether one of the layers is the consensus."""
    return any(item.layer.role == "consensus" for item in layers)


def layer_weights(layers: Sequence[Learned], weights: Vector) -> Vector:
    """The weights of all layers from those of the views: the consensus weighs as much as all views together."""
    own = iter(weights)
    return np.array([1.0 if item.layer.role == "consensus" else next(own) for item in layers])


def equal_weights(layers: Sequence[Learned]) -> Vector:
    """The weights of all layers before anything is known about the views: all views count alike."""
    n_views = sum(item.layer.role == "view" for item in layers)
    return layer_weights(layers, np.full(n_views, 1 / n_views))
