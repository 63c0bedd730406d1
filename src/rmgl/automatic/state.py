"""`State`: the choices that the steps have made so far, and the measurements they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rmgl.automatic.layers import Learned, Task
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.automatic.weighing import informative_edges, normalized
from rmgl.edges import Vector
from rmgl.edges.space import Space
from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph, weighted_sum
from rmgl.embedding.eigenvectors import Embedding, unit_rows
from rmgl.embedding.labels import embed_without, find_fragments, place_fragments
from rmgl.layer import Layer
from rmgl.matrix import Floats, Indices, Mask

EMBEDDING_TOL = 1e-4
"""Relative residual of the eigenvectors in the embeddings that are compared."""


@dataclass(frozen=True)
class Measured:
    """Agreement of layers with common embeddings, measured on their informative edges."""

    roughness: Vector
    """Roughness of each view: the geometric mean over the embeddings."""
    shares: Vector
    """Share of each view's edge weight that is informative."""
    excess: float = 0.0
    """Mean roughness of the views on the consensus embedding, minus three times the roughness of
    the consensus.
    """
    uncertainty: float = 0.0
    """Standard deviation of the roughness if there are few entities."""
    beyond_chance: Vector | None = None
    """Share of each view's agreement with the others that is not due to chance, if some views are
    networks.
    """


@dataclass(frozen=True)
class State:
    """Choices that the steps have made so far.

    A step replaces layers in the list immediately, because the costs of their candidates take up
    most of a fit's memory.
    """

    task: Task
    layers: list[Learned]
    """Layers of the views and, if there is one, the consensus."""
    neighbors: Layer | None = None
    """Neighbor layer, if there is one."""
    n_clusters: int = 0
    """Number of clusters. 0 if it has not been chosen yet."""
    number: NumberOfClusters | None = None
    weights: Vector | None = None
    """Weights of the layers. None until they are chosen: views are then weighted by reliability."""
    measured: Measured | None = None
    graph: Graph | None = None
    """Weighted sum of the layers before they were guided."""
    guide: Floats | None = None
    entities: Indices | None = None

    @property
    def layer_weights(self) -> Vector:
        """Return the weights of the layers. Until weights are chosen, views are weighted by their
        reliability.
        """
        if self.weights is not None:
            return self.weights
        return with_consensus_weight(self.layers, normalized(self.task.spaces.parts))

    @property
    def of_views(self) -> list[Learned]:
        """Layers of the views."""
        return [item for item in self.layers if item.layer.role == "view"]

    @property
    def consensus(self) -> Learned | None:
        """Consensus, if there is one."""
        return next((item for item in self.layers if item.layer.role == "consensus"), None)

    @property
    def min_cluster_size(self) -> float:
        """Size below which a cluster is a fragment, unless it is an island."""
        given, policy = self.task.min_cluster_size, self.task.policy
        share = policy.small_cluster * self.task.views.n_rows / self.n_clusters
        return share if given is None else given

    def is_network(self, item: Learned) -> bool:
        """Return whether a layer is a network, or was learned from a network."""
        layer = item.layer
        return layer.role == "view" and self.task.views[layer.views[0]].graph is not None

    def sum_of(self, layers: Sequence[Learned], weights: Vector) -> Graph:
        """Return the weighted sum of these layers and the neighbor layer."""
        graphs = [item.layer.among_all(self.task.views.n_rows).adjacency for item in layers]
        if self.neighbors is not None:
            graphs.append(self.neighbors.adjacency)
            weights = np.append(weights, self.task.neighbor_share * weights.sum())
        return weighted_sum(graphs, weights.tolist())

    def embed(
        self, layers: Sequence[Learned], weights: Vector, min_size: float | None = None
    ) -> Floats:
        """Return the unit rows of the common embedding of these layers.

        Fragments (clusters of fewer than `min_size` entities) are left out of the embedding and
        placed at the mean of their neighbors.
        """
        task, graph = self.task, self.sum_of(layers, weights)
        networks = self.neighbors is None and all(map(self.is_network, layers))
        balance = Balance.of(graph) if networks else None

        def embedding_without(fragments: Mask | None) -> Embedding:
            return embed_without(
                graph,
                self.n_clusters,
                fragments,
                tol=EMBEDDING_TOL,
                in_parts=task.team.in_parts,
                alike=task.alike,
                checkpoint=task.run.checkpoint,
                balance=balance,
            )

        embedding = find_fragments(
            embedding_without,
            graph if self.neighbors is None else self.neighbors.adjacency,
            self.n_clusters,
            self.min_cluster_size if min_size is None else min_size,
            random_state=task.random_state,
            numbers=task.policy,
        )
        rows = unit_rows(embedding.vectors)
        if embedding.fragments is None:
            return rows
        return unit_rows(place_fragments(rows, embedding.fragments, graph))

    def embed_others(self, left_out: Learned) -> Floats:
        """Return the unit rows of the embedding of all other views, with equal weights."""
        others = [item for item in self.of_views if item is not left_out]
        return replace(self, neighbors=None).embed(others, np.ones(len(others)))

    def informative(self, item: Learned) -> sparse.csr_array:
        """Return the informative edges of a layer, with all entities as nodes."""
        layer, task, spaces = item.layer, self.task, self.task.spaces
        share = task.policy.small_component
        if share > 0:
            space: Space | None = None
            if layer.role == "consensus":
                space = spaces.together
            elif not self.is_network(item):
                space = spaces.own(layer.views[0])
            min_size = share * task.views.n_rows / self.n_clusters
            layer = replace(layer, adjacency=informative_edges(space, layer.adjacency, min_size))
        return layer.among_all(task.views.n_rows).adjacency


def with_consensus_weight(layers: Sequence[Learned], weights: Vector) -> Vector:
    """Return the weights of all layers from the weights of the views. The consensus has a weight of
    one.
    """
    of_views = iter(weights)
    return np.array([1.0 if item.layer.role == "consensus" else next(of_views) for item in layers])
