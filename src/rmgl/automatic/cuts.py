"""Cuts of a graph into parts, and the quality of each cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from rmgl.embedding.eigenvectors import smallest_eigenvectors, unit_rows
from rmgl.embedding.resampling import cut, four_fifths, parts_of
from rmgl.matrix import Floats, Indices
from rmgl.running.checkpoint import Checkpoint

DRAW_TOL = 1e-4
"""Relative residual of the eigenvectors of resampled graphs."""
MANY_NODES = 10_000
"""Number of nodes above which stability is measured on half as many draws."""

Going = Callable[[float], bool]
"""going(part) -> whether there is time to continue. `part` is the fraction of work done so far."""


def always(part: float) -> bool:
    """Return True: there is always time to continue."""
    return True


def is_peak(values: Floats, at: int) -> bool:
    """Return whether a value is at least as large as its neighbors."""
    return bool(values[at] >= values[max(0, at - 1) : at + 2].max())


@dataclass
class Cuts:
    """Cuts of a graph made so far, by number of parts."""

    graph: sparse.csr_array
    random_state: np.random.RandomState
    checkpoint: Checkpoint | None = None
    parts: dict[int, Indices] = field(default_factory=dict)
    modularity: dict[int, float] = field(default_factory=dict)
    silhouette: dict[int, float] = field(default_factory=dict)
    stability: dict[int, float] = field(default_factory=dict)
    vectors: Floats = field(default_factory=lambda: np.empty((0, 0)))
    values: Floats = field(default_factory=lambda: np.empty(0))
    """Eigenvectors and eigenvalues of the normalized Laplacian."""

    def find_vectors(self, count: int) -> None:
        """Find the eigenvectors for the `count` smallest eigenvalues, or for all of them if there
        are fewer nodes.
        """
        spectrum = smallest_eigenvectors(
            self.graph,
            min(count, self.graph.shape[0]),
            normalized=True,
            checkpoint=self.checkpoint,
        )
        self.vectors, self.values = spectrum.vectors, spectrum.values

    def add_all(self, more: Sequence[int], going: Going) -> None:
        """Cut the graph into these numbers of parts while there is time, but at least once."""
        for place, k in enumerate(more):
            if self.parts and not going(0.5 * place / len(more)):
                return
            self.add(k)

    def add(self, number: int) -> None:
        """Cut the graph into this number of parts."""
        labels = cut(self.vectors, number, self.random_state)
        self.parts[number] = labels
        self.modularity[number] = modularity(self.graph, labels)
        self.silhouette[number] = silhouette(unit_rows(self.vectors[:, :number]), labels)

    def find_stability(self, numbers: Sequence[int], n_draws: int, going: Going = always) -> None:
        """Measure the stability of these cuts: their mean agreement with cuts of random subsets of
        four fifths of the nodes, using as many draws as time allows.
        """
        n = self.graph.shape[0]
        n_draws = n_draws if n <= MANY_NODES else max(1, n_draws // 2)
        found = []
        for draw in range(n_draws):
            if not going(0.5 + 0.5 * draw / n_draws):
                break
            found.append(self.find_again(numbers, four_fifths(np.arange(n), self.random_state)))
        if found:
            self.stability.update(zip(numbers, np.mean(found, axis=0).tolist(), strict=True))

    def find_again(self, numbers: Sequence[int], nodes: Indices) -> Floats:
        """Return the adjusted Rand index between each cut and the cut of the subgraph on these
        nodes.
        """
        again = parts_of(
            self.graph,
            nodes,
            numbers,
            self.random_state,
            tol=DRAW_TOL,
            normalized=True,
            checkpoint=self.checkpoint,
        )
        pairs = zip(numbers, again, strict=True)
        return np.array([adjusted_rand_score(self.parts[k][nodes], found) for k, found in pairs])

    @property
    def numbers(self) -> list[int]:
        """Numbers of parts in increasing order."""
        return sorted(self.parts)

    def eigengap(self, number: int) -> float:
        """Return (next eigenvalue - last one used) / next eigenvalue."""
        after = self.values[number] if number < self.values.size else 2.0
        return float((after - self.values[number - 1]) / max(after, np.finfo(float).tiny))


def modularity(graph: sparse.csr_array, labels: Indices) -> float:
    """Return the modularity: the share of edge weight inside clusters, minus the share expected by
    chance from the degrees.
    """
    shares = np.bincount(labels, weights=graph.sum(axis=1)) / graph.sum()
    return share_inside(graph, labels) - float(shares @ shares)


def share_inside(graph: sparse.csr_array, labels: Indices) -> float:
    """Return the share of all edge weight that lies inside clusters."""
    entries = graph.tocoo()
    return float(
        entries.data[labels[entries.row] == labels[entries.col]].sum() / entries.data.sum()
    )


def silhouette(rows: Floats, labels: Indices) -> float:
    """Return the mean of (b - a) / max(a, b) over all rows, where a is the distance of a row from
    the center of its own cluster, and b is its distance from the nearest other center (simplified
    silhouette).

    The result is 1 if all rows are at their centers, and 0 if there is only one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> silhouette(np.array([[0.0], [0.0], [4.0], [8.0]]), np.array([0, 0, 1, 1]))
    0.8125
    """
    clusters, labels = np.unique(labels, return_inverse=True)
    if clusters.size < 2:
        return 0.0
    members = sparse.csr_array(
        (np.ones(labels.size), (labels, np.arange(labels.size))), (clusters.size, labels.size)
    )
    centers = (members @ rows) / np.bincount(labels)[:, None]
    squares = np.square(rows).sum(axis=1)[:, None] + np.square(centers).sum(axis=1)
    distances = np.sqrt(np.maximum(squares - 2 * rows @ centers.T, 0.0))
    everyone = np.arange(labels.size)
    own = distances[everyone, labels]
    distances[everyone, labels] = np.inf
    other = distances.min(axis=1)
    return float(np.mean((other - own) / np.maximum(np.maximum(own, other), 1e-12)))
