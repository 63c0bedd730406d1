"""How many clusters there are, from the common graph alone.

For every K the graph is cut spectrally into K parts. The choice is the smallest K whose *modularity*

    sum_c  (weight inside c) / (all weight)  -  (degrees in c / all degrees)^2

is within a hundredth of the largest. Beside it stand the relative gap after eigenvalue K of the normalized Laplacian, and for the best
few K the *stability*: the agreement (adjusted Rand index) with the parts found after three in ten edges were left out, at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_indices, sound_numbers
from rmgl.embedding.eigenvectors import Graph, smallest_eigenvectors, unit_rows
from rmgl.embedding.labels import cluster_rows

LARGEST = 25
ROWS_PER_CLUSTER = 6
PLATEAU = 0.01
KEPT_EDGES = 0.7
DRAWS = 4
BEST = 5
N_INIT = 3
STABLE = 0.9
WIDE = 3


@record
@dataclass(frozen=True)
class NumberOfClusters:
    """K and the evidence for it."""

    chosen: int
    candidates: NDArray[np.intp]
    modularity: NDArray[np.float64]
    eigengap: NDArray[np.float64]
    stability: NDArray[np.float64]
    """NaN where it was not measured."""

    def check(self, n_nodes: int) -> None:
        """Refuse evidence from a file that cannot be about so many nodes."""
        sound_indices("the candidate numbers of clusters", self.candidates, n_nodes + 1)
        for name in ("modularity", "eigengap", "stability"):
            values = getattr(self, name)
            sound_numbers(f"the {name} of numbers of clusters", np.nan_to_num(values), self.candidates.shape)
        if self.chosen not in self.candidates or self.chosen < 1:
            raise Unsound(f"{self.chosen} clusters were chosen, which is not among the candidates")

    @property
    def rivals(self) -> list[int]:
        """The K whose modularity is within a hundredth of the best."""
        return [int(k) for k in self.candidates[nearly_best(self.modularity)]]

    @property
    def confidence(self) -> str:
        """ "high" if the parts survive the loss of edges and few other K, all of them tried, do as well, else "low"."""
        at = int(np.flatnonzero(self.candidates == self.chosen)[0])
        ends = self.candidates[-1] in self.rivals  # a larger number might do better
        return "high" if self.stability[at] >= STABLE and len(self.rivals) <= WIDE and not ends else "low"

    @property
    def reason(self) -> str:
        at = int(np.flatnonzero(self.candidates == self.chosen)[0])
        return (
            f"chosen: modularity {self.modularity[at]:.3f}, best of {self.candidates[0]} to {self.candidates[-1]} within a hundredth; "
            f"stability {self.stability[at]:.2f}; about as good: {self.rivals}; confidence {self.confidence}"
        )

    def as_dict(self) -> dict[str, object]:
        rows = zip(self.candidates.tolist(), self.modularity, self.eigengap, self.stability, strict=True)
        names = ("n_clusters", "modularity", "eigengap", "stability")
        return {
            "chosen": self.chosen,
            "confidence": self.confidence,
            "candidates": [dict(zip(names, row, strict=True)) for row in rows],
        }


def by_modularity(graph: Graph, random_state: np.random.RandomState) -> NumberOfClusters:
    """The smallest number of clusters of a weighted graph whose modularity is within a hundredth of the largest."""
    graph = sparse.csr_array(graph)
    n = graph.shape[0]
    if n < 3:
        raise ValueError(f"n_clusters='auto' needs at least 3 rows, but the views have {n}: give n_clusters")
    largest = max(2, min(LARGEST, n // ROWS_PER_CLUSTER))
    candidates = np.arange(2, largest + 1)
    spectrum = smallest_eigenvectors(graph, min(largest + 1, n), normalized=True, random_state=random_state)
    values = np.append(spectrum.values, 2.0)
    parts = {int(k): _parts(spectrum.vectors, k, random_state) for k in candidates}
    modularities = np.array([modularity(graph, parts[int(k)]) for k in candidates])
    gaps = (values[candidates] - values[candidates - 1]) / np.maximum(values[candidates], np.finfo(float).tiny)
    chosen = int(candidates[nearly_best(modularities)][0])
    measured = {chosen, *candidates[np.argsort(-modularities)[:BEST]].tolist()}
    stability = np.full(candidates.size, np.nan)
    found = _stability(graph, {k: parts[k] for k in measured}, random_state)
    for k, value in found.items():
        stability[candidates == k] = value
    return NumberOfClusters(chosen, candidates, modularities, gaps, stability)


NumberRule = Callable[[Graph, np.random.RandomState], NumberOfClusters]
"""rule(graph, random_state): the number of clusters of the common graph, with the evidence for it."""
NUMBER_RULES: dict[str, NumberRule] = {"modularity": by_modularity}


def nearly_best(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    best = float(values.max())
    return values >= best - PLATEAU * abs(best)


def modularity(graph: sparse.csr_array, labels: NDArray[np.intp]) -> float:
    """Weight inside clusters beyond what their degrees would give by chance, as a share of all weight."""
    shares = np.bincount(labels, weights=graph.sum(axis=1)) / graph.sum()
    return share_inside(graph, labels) - float(shares @ shares)


def share_inside(graph: sparse.csr_array, labels: NDArray[np.intp]) -> float:
    """The share of all edge weight that lies inside clusters."""
    entries = graph.tocoo()
    return float(entries.data[labels[entries.row] == labels[entries.col]].sum() / entries.data.sum())


def _parts(vectors: NDArray[np.float64], count: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    return cluster_rows(unit_rows(vectors[:, :count]), int(count), n_init=N_INIT, random_state=random_state)


def _stability(graph: sparse.csr_array, parts: dict[int, NDArray[np.intp]], random_state: np.random.RandomState) -> dict[int, float]:
    """The mean agreement of the parts with those of graphs without some of the edges."""
    upper = sparse.triu(graph, format="coo")
    agreement: dict[int, list[float]] = {k: [] for k in parts}
    for _ in range(DRAWS):
        kept = random_state.uniform(size=upper.nnz) < KEPT_EDGES
        half = sparse.coo_array((upper.data[kept], (upper.row[kept], upper.col[kept])), shape=graph.shape)
        less = sparse.csr_array(half + half.T)
        vectors = smallest_eigenvectors(less, max(parts), normalized=True, tol=1e-4, random_state=random_state).vectors
        for k, labels in parts.items():
            agreement[k].append(adjusted_rand_score(labels, _parts(vectors, k, random_state)))
    return {k: float(np.mean(values)) for k, values in agreement.items()}
