"""One view as Algorithm 1 sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.edges import Candidates, Costs, Edges, Vector
from rmgl.layer import Layer, Origin
from rmgl.layer.network import given_candidates


@dataclass(frozen=True)
class ViewProblem:
    """What one layer is learned from: candidate pairs with the data distances on them, and its two parameters."""

    origin: Origin
    candidates: Candidates
    alpha: float
    beta: float
    n_entities: int
    """The number of entities in all views together."""
    given: Layer | None = None
    """The layer itself, if it is a given graph and not learned."""
    start: Vector | None = None
    """Potentials to start the first layer from."""

    @classmethod
    def of_given(cls, layer: Layer, beta: float, n_entities: int | None = None) -> ViewProblem:
        """A given layer, which only takes part in the embedding: its pairs have no cost but their distance in the embedding.

        `n_entities` is the number of all entities, if some are no nodes of the layer.
        """
        n_entities = layer.n_nodes if n_entities is None else n_entities
        return cls(layer.origin, given_candidates(layer), 0.0, beta, n_entities, given=layer)

    @property
    def name(self) -> str:
        return self.origin.name

    @property
    def nodes(self) -> NDArray[np.intp] | None:
        """Indices of the entities that are the nodes of its pairs (None: all)."""
        return self.origin.nodes

    @property
    def edges(self) -> Edges:
        return self.candidates.edges

    @property
    def distances(self) -> Costs:
        return self.candidates.distances

    def own(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of its entities."""
        return rows if self.nodes is None else rows[self.nodes]
