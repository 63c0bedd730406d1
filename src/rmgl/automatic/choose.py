"""What a user would tune with labels, chosen without them: alpha, the weights of the views, beta and K.

1. Every view gets the layer in which a node has `n_neighbors` edges on average: locally scaled distances, alpha solved for.
2. The *consensus* is a layer learned in the same way from all views side by side (`consensus`).
3. A view counts for more, the better its layer agrees with the embedding of the consensus and with that of all layers (`weighing`). The
   consensus weighs as much as all views together.
4. All layers are learned again with guidance / 2 |u_i - u_j|^2 added to their costs, u_i the unit rows of the common embedding, for a
   guidance that rises from pass to pass: an edge between entities that the common graph sets apart has to be worth it.
5. What comes out is a problem for Algorithm 1: alpha_m, and beta_m proportional to the weights.

The numbers and rules are those of a `Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.consensus import consensus_factors, consensus_name, incomplete_candidates
from rmgl.automatic.learned import Learned, unpacked_layer
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.automatic.policy import Policy
from rmgl.automatic.weighing import LEAST_ROUGHNESS, mean_roughness, roughness
from rmgl.checks import Unsound, expect, sound_numbers
from rmgl.edges import Candidates, Vector, find_candidates, resolve
from rmgl.embedding.eigenvectors import Graph, smallest_eigenvectors, unit_rows, weighted_sum
from rmgl.layer import Origin
from rmgl.layer.wanted_edges import solve_for_edges
from rmgl.model.given import Stores, asked_candidates
from rmgl.model.run import Run
from rmgl.model.view_problem import ViewProblem
from rmgl.running.threads import Check, Team
from rmgl.views.matrix import side_by_side
from rmgl.views.views import Views

EIGEN_TOL = 1e-4

Search = Callable[[str, Any, Check], Candidates]
"""search(name, X, check): the candidate pairs of a view, with their costs."""


@dataclass(frozen=True)
class Choice:
    """What Algorithm 1 is to solve, and how much each view counts."""

    problems: list[ViewProblem]
    """One for each view, and one for the consensus, where there is one."""
    n_clusters: int
    weights: Vector
    roughness: Vector | None = None
    number: NumberOfClusters | None = None
    guide: NDArray[np.float64] | None = None
    """The rows whose squared distances are part of all costs in the end."""
    graph: Graph | None = None
    """The weighted sum of the layers before any of them was guided, from which evidence is taken (None: take it from the layers)."""


def choose_problems(
    views: Views,
    *,
    policy: Policy,
    candidates: Any,
    n_clusters: int | None,
    n_neighbors: int,
    solver: str,
    team: Team,
    random_state: np.random.RandomState,
    run: Run,
) -> Choice:
    """All parameters for given views; the number of clusters, too, if it is None."""
    asked = asked_candidates(candidates, views)
    everywhere = candidates if isinstance(candidates, str | Integral) else "auto"
    wanted = {name: resolve(views.own(m), None, asked[m], n_neighbors) for m, name in enumerate(views.names)}
    if len(views.names) > 1:
        wanted[consensus_name(views.names)] = resolve(views.matrices[0], None, everywhere, n_neighbors)
    stores = Stores(views.n_rows, list(wanted.values()), team, copies=2)

    def search(name: str, X: Any, check: Check) -> Candidates:
        scaling = {"local": policy.local_scaling, "floor_share": policy.floor_share}
        options: dict[str, Any] = {**scaling, "n_neighbors": n_neighbors, "in_parts": team.in_parts}
        return find_candidates(name, X, None, wanted[name], shared=stores.of(X.shape[0]), check=check, **options)

    return Chooser(views, policy, n_clusters, n_neighbors, search, team, random_state, run, solver).choose()


@dataclass(frozen=True)
class Chooser:
    """The steps of the choice, with what all of them need."""

    views: Views
    policy: Policy
    n_clusters: int | None
    """None to choose it, too."""
    n_neighbors: float
    search: Search
    team: Team
    random_state: np.random.RandomState
    run: Run
    solver: str = "newton"

    def choose(self) -> Choice:
        """All steps, one after the other."""
        layers = self.team(self.learn_view, range(len(self.views.names)))
        self.run.tell({"step": "views"})
        if self.policy.has_consensus(self.views):
            layers = [*layers, self.learn_consensus()]
            self.run.tell({"step": "consensus"})
        if self.n_clusters is not None:
            return self.choose_for(layers)
        graph = self.sum_of(layers, equal_weights(layers))
        number = self.run.step(
            "number",
            lambda: self.policy.choose_number(graph, self.random_state),
            unpack=self.unpack_number,
            random_state=self.random_state,
        )
        self.run.tell({"step": "number of clusters"})
        return replace(self, n_clusters=number.chosen).choose_for(layers, number)

    def choose_for(self, layers: list[Learned], number: NumberOfClusters | None = None) -> Choice:
        """Weights, guidance and beta for a given number of clusters."""
        assert self.n_clusters is not None
        weights, found = equal_weights(layers), None
        if len(self.views.names) > 1:
            found = self.run.step(
                "roughness", lambda: self.measure_roughness(layers), unpack=self.unpack_roughness, random_state=self.random_state
            )
            weights = layer_weights(layers, self.policy.weigh(found, has_consensus(layers)))
        graph = self.sum_of(layers, weights)
        rows = None
        for place, guidance in enumerate(self.policy.guidance):
            if self.run.over and not self.run.has(f"guidance-{place}"):
                break
            rows, layers = self.guided_pass(place, guidance, layers, weights)
            self.run.tell({"step": "guidance", "guidance": guidance})
        beta = self.policy.coupling * self.views.n_rows / (2 * self.n_clusters) * weights / weights.max()
        problems = [
            ViewProblem(item.layer.origin, item.candidates, item.layer.alpha, float(b), self.views.n_rows, item.layer.potentials)
            for item, b in zip(layers, beta, strict=True)
        ]
        shares = np.array([weight for item, weight in zip(layers, weights, strict=True) if item.layer.role == "view"])
        return Choice(problems, self.n_clusters, shares, found, number, rows, graph)

    def learn_view(self, view: int, check: Check) -> Learned:
        """The layer of one view, alone."""
        origin, X = Origin(self.views.names[view], nodes=self.views.observed_rows(view), views=(view,)), self.views.own(view)
        return self.step(f"view-{view}", origin, X, lambda: self.search(origin.name, X, check), check)

    def learn_consensus(self) -> Learned:
        """The layer of all views side by side, each divided by its spread."""
        factors = consensus_factors(self.views)
        matrices = tuple(X * factor for X, factor in zip(self.views.matrices, factors, strict=True))
        scaled = replace(self.views, matrices=matrices)
        origin = Origin(consensus_name(self.views.names), "consensus", None, tuple(range(len(factors))), factors)
        X = side_by_side(matrices) if self.views.complete else None

        def search() -> Candidates:
            floor_share = self.policy.floor_share if self.policy.local_scaling else None
            return incomplete_candidates(scaled, floor_share) if X is None else self.search(origin.name, X, lambda: None)

        return self.step("consensus", origin, X, search, lambda: None)

    def step(self, key: str, origin: Origin, X: Any, search: Callable[[], Candidates], check: Check) -> Learned:
        """A layer, learned or read from the checkpoint."""

        def learn() -> Learned:
            return Learned(*solve_for_edges(origin, search(), self.n_neighbors, solver=self.solver, check=check))

        def unpack(kept: dict[str, Any]) -> Learned:
            packed = expect("the candidate pairs", kept["candidates"], dict[str, Any] | None)
            if packed is not None and X is None:
                raise Unsound("candidate pairs are listed where all pairs were used")
            candidates = search() if packed is None else Candidates.unpacked(packed, X, self.team.in_parts, check)
            return unpacked_layer(origin, candidates, kept["layer"])

        return self.run.step(key, learn, pack=Learned.pack, unpack=unpack)

    def measure_roughness(self, layers: Sequence[Learned]) -> Vector:
        """The roughness of every view: the geometric mean of those on the embeddings that the policy refers to."""
        embeddings = {"together": self.embed(layers, equal_weights(layers))}
        consensus = [item for item in layers if item.layer.role == "consensus"]
        if consensus:
            embeddings["consensus"] = self.embed(consensus, [1.0])
        views = [item for item in layers if item.layer.role == "view"]
        used = [embeddings[name] for name in self.policy.references if name in embeddings] or [embeddings["together"]]
        return mean_roughness(np.array([[roughness(rows, self.among_all(item)) for item in views] for rows in used]))

    def guided_pass(
        self, place: int, guidance: float, layers: Sequence[Learned], weights: Vector
    ) -> tuple[NDArray[np.float64], list[Learned]]:
        """The rows of the embedding that the layers have in common, and the layers learned again with them as guide."""

        def work() -> tuple[NDArray[np.float64], list[Learned]]:
            rows = self.embed(layers, weights) * np.sqrt(guidance / 2)
            return rows, self.team(lambda item, check: self.guide(item, rows, check), layers)

        def unpack(kept: dict[str, Any]) -> tuple[NDArray[np.float64], list[Learned]]:
            longest = 1.01 * np.sqrt(guidance / 2)  # as `work` makes them, with some room for rounding
            sound_numbers("the guide", kept["rows"], (self.views.n_rows, self.n_clusters), least=-longest, most=longest)
            rows = kept["rows"]  # in the order in memory that it was stored in: sums over it are rounded in the same way
            return rows, [
                unpacked_layer(item.layer.origin, item.candidates.regrown(part["candidates"], item.own(rows)), part["layer"])
                for item, part in zip(layers, kept["layers"], strict=True)
            ]

        return self.run.step(
            f"guidance-{place}",
            work,
            pack=lambda result: {"rows": result[0], "layers": [item.pack() for item in result[1]]},
            unpack=unpack,
            random_state=self.random_state,
        )

    def guide(self, item: Learned, rows: NDArray[np.float64], check: Check) -> Learned:
        """A layer learned again with the squared distances of the rows of a common embedding as part of its costs."""
        guided = item.candidates.guided(item.own(rows), check)
        options: dict[str, Any] = {"last": item.layer, "solver": self.solver, "check": check}
        return Learned(*solve_for_edges(item.layer.origin, guided, self.n_neighbors, **options))

    def unpack_number(self, kept: Any) -> NumberOfClusters:
        number: NumberOfClusters = expect("the number of clusters", kept, NumberOfClusters)
        number.check(self.views.n_rows)
        return number

    def unpack_roughness(self, kept: Any) -> Vector:
        return sound_numbers("the roughness of the views", kept, (len(self.views.names),), least=LEAST_ROUGHNESS / 2)

    def among_all(self, item: Learned) -> Any:
        """The edge weights of a layer, with all entities as nodes."""
        return item.layer.among_all(self.views.n_rows).adjacency

    def sum_of(self, layers: Sequence[Learned], weights: Any) -> Graph:
        """The weighted sum of layers."""
        return weighted_sum([self.among_all(item) for item in layers], np.asarray(weights).tolist())

    def embed(self, layers: Sequence[Learned], weights: Any) -> NDArray[np.float64]:
        """Unit rows of the common embedding."""
        assert self.n_clusters is not None
        options: dict[str, Any] = {"tol": EIGEN_TOL, "random_state": self.random_state, "in_parts": self.team.in_parts}
        return unit_rows(smallest_eigenvectors(self.sum_of(layers, weights), self.n_clusters, **options).vectors)


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
