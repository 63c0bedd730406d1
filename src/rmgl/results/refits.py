"""Quick second answers on the learned graph: do the clusters stay when something is left out?

Nothing is learned again. The common graph is a weighted sum of layers, so an answer without one of them, or without some of the entities,
is one more spectral clustering. Agreement is measured by the adjusted Rand index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl.archive.records import record
from rmgl.embedding.eigenvectors import Embedding, Graph, smallest_eigenvectors, unit_rows, weighted_sum
from rmgl.embedding.labels import cluster_rows
from rmgl.layer import Layer

MOST_ENTITIES = 50_000
"""Entities beyond which no second answers are computed: each takes as long as the embedding."""
KEPT = 0.8
DRAWS = 3
TOL = 1e-3
N_INIT = 3


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
    n = everyone.size
    if not 2 * n_clusters <= n <= MOST_ENTITIES or n_clusters < 2:
        return None

    def agreement(graph: Graph, nodes: NDArray[np.intp]) -> float:
        part = sparse.csr_array(graph)[nodes][:, nodes]
        vectors = smallest_eigenvectors(part, n_clusters, tol=TOL).vectors
        found = cluster_rows(unit_rows(vectors) if of_unit_length else vectors, n_clusters, n_init=N_INIT, random_state=random_state)
        return float(adjusted_rand_score(labels[nodes], found))

    graph = weighted_sum([layer.adjacency for layer in layers], beta.tolist())
    draws = [np.sort(random_state.permutation(everyone)[: round(KEPT * n)]) for _ in range(DRAWS)]
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
