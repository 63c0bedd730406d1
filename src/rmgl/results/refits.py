"""Quick second answers on the learned graph: do the clusters stay when something is left out?

Nothing is learned again. The common graph is a weighted sum of layers, so an answer without one of them, or without some of the entities,
is one more spectral clustering. Agreement is measured by the adjusted Rand index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rmgl.archive.records import record
from rmgl.embedding.eigenvectors import Embedding, Graph, weighted_sum
from rmgl.embedding.resampling import four_fifths, parts_of
from rmgl.layer import Layer

MOST_ENTITIES = 50_000
"""Entities beyond which no second answers are computed: each takes as long as the embedding."""
MEMBERS = 2
"""Entities for each cluster below which there are none: too few to leave some out."""
DRAWS = 3
TOL = 1e-3


@record
@dataclass(frozen=True)
class Refits:
    """How well second answers agree with the first: 1 the same, 0 no better than chance."""

    resampled: float = 1.0
    """The mean over draws of four fifths of the entities."""
    without: dict[str, float] = field(default_factory=dict)
    """Without the layer of each view, if there are several. The consensus and the neighbors stay."""
    neighbors_only: float | None = None
    """The answer of the plain neighbor layer alone (None: there is none)."""


def second_answers(
    layers: Sequence[Layer],
    beta: NDArray[np.float64],
    labels: NDArray[np.intp],
    embedding: Embedding,
    random_state: np.random.RandomState,
    of_unit_length: bool = True,
) -> Refits | None:
    """Compare the labels with those of quick refits, without fragments; None if entities are too many, or too few for the clusters.

    `of_unit_length` says whether k-means sees rows of length one, as it did for the labels.
    """
    n_clusters = embedding.vectors.shape[1]
    everyone = np.arange(labels.size) if embedding.fragments is None else np.flatnonzero(~embedding.fragments)
    if not can_answer_again(everyone.size, n_clusters):
        return None

    def agreement(graph: Graph, nodes: NDArray[np.intp]) -> float:
        (found,) = parts_of(graph, nodes, [n_clusters], random_state, tol=TOL, of_unit_length=of_unit_length)
        return float(adjusted_rand_score(labels[nodes], found))

    graph = weighted_sum([layer.adjacency for layer in layers], beta.tolist())
    draws = [four_fifths(everyone, random_state) for _ in range(DRAWS)]
    without = {}
    several = sum(layer.role == "view" for layer in layers) > 1
    for at, view in enumerate(layers):
        others, weights = [layer.adjacency for layer in layers if layer is not view], np.delete(beta, at)
        if several and view.role == "view" and weights.any():
            without[view.name] = agreement(weighted_sum(others, weights.tolist()), everyone)
    plain = next((layer.adjacency for layer in layers if layer.role == "neighbors"), None)
    return Refits(
        float(np.mean([agreement(graph, nodes) for nodes in draws])),
        without,
        None if plain is None else agreement(plain, everyone),
    )


def can_answer_again(n_entities: int, n_clusters: int) -> bool:
    """Whether entities are enough for the clusters, and not too many for second answers."""
    return n_clusters >= 2 and MEMBERS * n_clusters <= n_entities <= MOST_ENTITIES
