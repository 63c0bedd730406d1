"""Everything a user would tune with labels, chosen without them: alpha, the weights of the views, beta.

1. Every view gets the layer in which a node has `n_neighbors` edges on average: locally scaled distances, alpha solved for.
2. The *consensus* is a layer learned in the same way from all views side by side, each divided by its spread. Where entities are absent
   from views, a view that one of two lacks counts as a distance between that of neighbors and that of strangers; where two entities
   have fewer than two views, and less than three quarters of all, in common on average, there is no consensus.
3. A view counts for more the better its layer agrees with the embedding of the consensus. Its *roughness* is

       r_m = sum_ij w_ij |u_i - u_j|^2 / sum_ij w_ij  divided by the mean of |u_i - u_j|^2 over all pairs

   with u_i the rows of an embedding, of length one: 0 where neighbors sit in the same place, 1 where they are unrelated. It is measured
   on the embedding of the consensus alone and on that of consensus and views together, and the geometric mean is taken. The weight of
   view m in the common graph is proportional to r_m^-2; the consensus weighs as much as all views together. Without a consensus the
   embedding of all views together is all there is to agree with, and weights are r_m^-1.5.
4. All layers are learned again with guidance / 2 |u_i - u_j|^2 added to their costs, for a guidance that rises pass by pass: an edge
   between rows that the common graph sets apart has to be worth it.
5. What comes out is a problem for Algorithm 1: alpha_m, and beta_m proportional to the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform

from rmgl.automatic.number_of_clusters import NumberOfClusters, choose_number
from rmgl.checks import Unsound, expect, sound_numbers
from rmgl.edges import AllPairs, Candidates, Vector
from rmgl.edges.local_scaling import LISTED, LocalScaling
from rmgl.embedding.eigenvectors import Graph, smallest_eigenvectors, unit_rows, weighted_sum
from rmgl.layer import Layer
from rmgl.layer.learn import solve_for_edges
from rmgl.layer.result import padded_graph
from rmgl.model.alternate import ViewProblem
from rmgl.model.run import Run
from rmgl.running.threads import Check, Team
from rmgl.views.views import Views, side_by_side, total_variance

CONSENSUS = "consensus"
REFERENCES = ("consensus", "together")
LEAST_ROUGHNESS = 0.005  # of a view that agrees perfectly
VIEW_POWER = -2.0
POWER_WITHOUT_CONSENSUS = -1.5
GUIDANCE = (0.1, 0.3, 1.0)
COUPLING = 0.01
EIGEN_TOL = 1e-4
LEAST_IN_COMMON = 2.0  # views that two entities have in common on average
LEAST_SHARE_IN_COMMON = 0.75  # or this share of all views
UNKNOWN = 0.7  # of the mean squared distance: what a view counts that one of two lacks
MOST_SHARED = 5000

Search = Callable[[str, Any, Check], Candidates]
"""search(name, X, check): the candidate pairs of a view, with locally scaled distances."""


@dataclass(frozen=True)
class Learned:
    """A layer and the candidates it was chosen from."""

    name: str
    candidates: Candidates
    layer: Layer
    nodes: NDArray[np.intp] | None = None
    """The entities it was learned on, if not all."""

    def own(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of its entities."""
        return rows if self.nodes is None else rows[self.nodes]

    def pack(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"candidates": self.candidates.pack(), "layer": self.layer}


@dataclass(frozen=True)
class Choice:
    """What was chosen: problems for Algorithm 1 (the consensus last, where there is one), and how much each view counts."""

    problems: list[ViewProblem]
    n_clusters: int
    weights: Vector
    roughness: Vector | None = None
    number: NumberOfClusters | None = None
    guide: NDArray[np.float64] | None = None
    """The rows whose squared distances were added to all costs in the end."""
    graph: Graph | None = None
    """The weighted sum of the layers before any of them was guided: what evidence is taken from, if not from the layers."""


@dataclass(frozen=True)
class Chooser:
    """What all steps need to know."""

    views: Views
    n_clusters: int | None
    """None to choose it, too."""
    n_neighbors: float
    search: Search
    team: Team
    random_state: np.random.RandomState
    run: Run
    solver: str = "newton"

    @property
    def with_consensus(self) -> bool:
        """A single view is its own consensus; entities that have few views in common, or are too many for all pairs, have none."""
        shares = [1.0 if rows is None else rows.size / self.views.n_rows for rows in self.views.present]
        in_common = np.square(shares).sum() >= min(LEAST_IN_COMMON, LEAST_SHARE_IN_COMMON * len(shares))
        return len(self.views.names) > 1 and (self.views.complete or bool(in_common and self.views.n_rows <= MOST_SHARED))

    def choose(self) -> Choice:
        """All steps, one after the other."""
        layers = self.team(self.learn_view, range(len(self.views.names)))
        self.run.tell({"step": "views"})
        if self.with_consensus:
            layers = [*layers, self.learn_consensus()]
            self.run.tell({"step": "consensus"})
        if self.n_clusters is None:
            graph = weighted_sum([self.among_all(item) for item in layers], self.equal_weights())
            number = self.run.step(
                "number", lambda: choose_number(graph, self.random_state), unpack=self.unpack_number, random_state=self.random_state
            )
            self.run.tell({"step": "number of clusters"})
            return replace(self, n_clusters=number.chosen).choose_for(layers, number)
        return self.choose_for(layers)

    def choose_for(self, layers: list[Learned], number: NumberOfClusters | None = None) -> Choice:
        """Weights, guidance and beta for a given number of clusters."""
        assert self.n_clusters is not None
        weights, roughness = np.array(self.equal_weights()), None
        if len(self.views.names) > 1:
            roughness = self.run.step("roughness", lambda: self.weigh(layers), unpack=self.unpack_roughness, random_state=self.random_state)
            weights = normalized(roughness ** (VIEW_POWER if self.with_consensus else POWER_WITHOUT_CONSENSUS))
            weights = np.append(weights, [1.0] * self.with_consensus)
        graph = weighted_sum([self.among_all(item) for item in layers], np.asarray(weights).tolist())
        rows = None
        for place, guidance in enumerate(GUIDANCE):
            if self.run.over and not self.run.has(f"guidance-{place}"):
                break
            rows, layers = self.guided_pass(place, guidance, layers, weights)
            self.run.tell({"step": "guidance", "guidance": guidance})
        beta = COUPLING * self.views.n_rows / (2 * self.n_clusters) * weights / weights.max()
        problems = [
            ViewProblem(item.name, item.candidates, item.layer.alpha, float(b), item.layer.potentials, item.nodes, self.views.n_rows)
            for item, b in zip(layers, beta, strict=True)
        ]
        return Choice(problems, self.n_clusters, weights[: len(self.views.names)], roughness, number, rows, graph)

    def equal_weights(self) -> list[float]:
        """Before anything is known about the views: all count alike, and the consensus, if there is one, as much as they together."""
        n_views = len(self.views.names)
        return [1 / n_views] * n_views + [1.0] * self.with_consensus

    def learn_view(self, view: int, check: Check) -> Learned:
        """The layer of one view, alone."""
        name, X, nodes = self.views.names[view], self.views.own(view), self.views.rows(view)

        def search() -> Candidates:
            return self.search(name, X, check)

        return self.step(f"view-{view}", name, X, nodes, search, check)

    def step(self, key: str, name: str, X: Any, nodes: NDArray[np.intp] | None, search: Callable[[], Candidates], check: Check) -> Learned:
        """A layer, learned or from the checkpoint."""

        def unpack(kept: dict[str, Any]) -> Learned:
            packed = expect("the candidate pairs", kept["candidates"], dict[str, Any] | None)
            if packed is not None and X is None:
                raise Unsound("candidate pairs are listed where all pairs were used")
            candidates = search() if packed is None else Candidates.unpacked(packed, X, self.team.rows, check)
            return unpacked_layer(name, candidates, kept["layer"], nodes)

        return self.run.step(key, lambda: self.learn(name, search(), nodes, check), pack=Learned.pack, unpack=unpack)

    def learn(self, name: str, candidates: Candidates, nodes: NDArray[np.intp] | None, check: Check = lambda: None) -> Learned:
        return Learned(name, *solve_for_edges(name, candidates, self.n_neighbors, solver=self.solver, check=check), nodes)

    def weigh(self, layers: Sequence[Learned]) -> Vector:
        """The roughness of every view, given its layers and the consensus, which is the last one, if there is one."""
        embeddings = {"together": self.embed(layers, self.equal_weights())}
        if self.with_consensus:
            embeddings["consensus"] = self.embed(layers[-1:], [1.0])
        own = layers[: len(self.views.names)]
        measured = np.array([[rough(embeddings[name], self.among_all(item)) for item in own] for name in REFERENCES if name in embeddings])
        return np.exp(np.log(measured + LEAST_ROUGHNESS).mean(axis=0))

    def learn_consensus(self) -> Learned:
        """The layer of all views side by side, each divided by its spread."""
        matrices = tuple(X * factor for X, factor in zip(self.views.matrices, consensus_factors(self.views), strict=True))
        scaled = replace(self.views, matrices=matrices)
        name, X = consensus_name(self.views.names), side_by_side(matrices) if self.views.complete else None

        def search() -> Candidates:
            return shared_candidates(scaled) if X is None else self.search(name, X, lambda: None)

        return self.step("consensus", name, X, None, search, lambda: None)

    def guided_pass(
        self, place: int, guidance: float, layers: Sequence[Learned], weights: Vector
    ) -> tuple[NDArray[np.float64], list[Learned]]:
        """The rows of the embedding that the layers have in common, and the layers learned again with them as guide."""

        def work() -> tuple[NDArray[np.float64], list[Learned]]:
            rows = self.embed(layers, weights) * np.sqrt(guidance / 2)
            return rows, self.guide(layers, rows)

        def unpack(kept: dict[str, Any]) -> tuple[NDArray[np.float64], list[Learned]]:
            longest = 1.01 * np.sqrt(guidance / 2)  # as `work` makes them, with some room for rounding
            rows = sound_numbers("the guide", kept["rows"], (self.views.n_rows, self.n_clusters), least=-longest, most=longest)
            return rows, [
                unpacked_layer(item.name, item.candidates.regrown(part["candidates"], item.own(rows)), part["layer"], item.nodes)
                for item, part in zip(layers, kept["layers"], strict=True)
            ]

        return self.run.step(
            f"guidance-{place}",
            work,
            pack=lambda result: {"rows": result[0], "layers": [item.pack() for item in result[1]]},
            unpack=unpack,
            random_state=self.random_state,
        )

    def unpack_number(self, kept: Any) -> NumberOfClusters:
        number = expect("the number of clusters", kept, NumberOfClusters)
        number.check(self.views.n_rows)
        return number

    def unpack_roughness(self, kept: Any) -> Vector:
        return sound_numbers("the roughness of the views", kept, (len(self.views.names),), least=LEAST_ROUGHNESS / 2)

    def guide(self, layers: Sequence[Learned], rows: NDArray[np.float64]) -> list[Learned]:
        """The layers learned again with the squared distances of the rows of the embedding they have in common as part of their costs."""

        def learn(item: Learned, check: Check) -> Learned:
            guided = item.candidates.guided(item.own(rows), check)
            options: dict[str, Any] = {"last": item.layer, "solver": self.solver, "check": check}
            return Learned(item.name, *solve_for_edges(item.name, guided, self.n_neighbors, **options), item.nodes)

        return self.team(learn, layers)

    def among_all(self, item: Learned) -> sparse.csr_array:
        """The edge weights of a layer with all entities as nodes."""
        return padded_graph(item.layer.adjacency, item.nodes, self.views.n_rows)

    def embed(self, layers: Sequence[Learned], weights: Sequence[float] | Vector) -> NDArray[np.float64]:
        """Unit rows of the common embedding."""
        assert self.n_clusters is not None
        graph = weighted_sum([self.among_all(item) for item in layers], np.asarray(weights).tolist())
        options: dict[str, Any] = {"tol": EIGEN_TOL, "random_state": self.random_state, "rows": self.team.rows}
        return unit_rows(smallest_eigenvectors(graph, self.n_clusters, **options).vectors)


def unpacked_layer(name: str, candidates: Candidates, layer: Any, nodes: NDArray[np.intp] | None) -> Learned:
    """A layer from a checkpoint on its candidates, if it can be one."""
    expect("the layer", layer, Layer).check(candidates.edges.n_nodes)
    candidates.check_support(layer.adjacency)
    return Learned(name, candidates, layer, nodes)


def consensus_name(names: Sequence[str]) -> str:
    """ "consensus", with as many underscores as it takes to be no view's name."""
    name = CONSENSUS
    while name in names:
        name += "_"
    return name


def consensus_factors(views: Views) -> list[float]:
    """What each view is multiplied by before it is put beside the others: its total variance is one then."""
    return [1 / float(np.sqrt(total_variance(views.own(view)))) for view in range(len(views.names))]


def shared_candidates(views: Views) -> Candidates:
    """All pairs of entities that may be absent from views, at sum_m |x_i - x_j|^2, locally scaled.

    The views have a total variance of 1, so 2 is the mean squared distance in each; where a view lacks one of two, it adds 1.4.
    """
    n = views.n_rows
    edges = AllPairs(n)
    edges.require_memory(6, "entities that are missing from some views")
    distances = np.zeros(edges.n_pairs)
    for view, X in enumerate(views.matrices):
        present = views.mask(view)
        both = squareform(np.outer(present, present), checks=False)
        distances += np.where(both, edges.measure(X), 2 * UNKNOWN)
    square = squareform(distances)
    np.fill_diagonal(square, np.inf)
    listed = min(LISTED, n - 1)
    nearest = np.argpartition(square, listed - 1, axis=1)[:, :listed]
    scaling = LocalScaling.from_lists(nearest, np.take_along_axis(square, nearest, axis=1))
    return Candidates(edges, scaling.costs(edges, distances), "all pairs", scaling=scaling)


def normalized(values: Vector) -> Vector:
    return values / values.sum()


def rough(rows: NDArray[np.float64], adjacency: sparse.csr_array) -> float:
    """The mean of |u_i - u_j|^2 over the edges, by weight, divided by that over all pairs of nodes."""
    degrees = adjacency.sum(axis=1)
    image = degrees[:, None] * rows - adjacency @ rows
    unrelated = np.square(rows).sum() / len(rows) - np.square(rows.mean(axis=0)).sum()
    return float(np.einsum("nk,nk->", rows, image) / degrees.sum() / unrelated) if unrelated > 0 else 0.0
