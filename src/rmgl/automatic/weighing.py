"""How much each view counts, from how well its layer agrees with a common embedding.

The *roughness* of the embedding on the layer of view m is

    r_m = sum_ij w_ij |u_i - u_j|^2 / sum_ij w_ij   divided by the mean of |u_i - u_j|^2 over all pairs of nodes

with u_i the rows of the embedding, of length one: 0 where neighbors in the layer have the same place in the embedding, 1 where they are
unrelated. A new rule is one function here: add it to `WEIGHING_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from rmgl.edges import PairList, Vector
from rmgl.edges.space import Space

LEAST_ROUGHNESS = 0.005
"""Added to every roughness, so that a view that agrees perfectly does not get all the weight."""
FEW_ENTITIES = 100
"""Entities below which choices are hardly supported by the data, and it counts how accurately roughness is known."""
POWER = -2.0
POWER_WITHOUT_CONSENSUS = -1.5

WeighingRule = Callable[[Any, Any, bool], Vector]
"""rule(roughness, shares, with_consensus): the weights of the views, which sum to one. `shares` are those of the edge weight of each view
on which roughness was measured."""


def roughness(rows: NDArray[np.float64], adjacency: sparse.csr_array) -> float:
    """The mean of |u_i - u_j|^2 over the edges, by weight, divided by that over all pairs of nodes."""
    degrees = adjacency.sum(axis=1)
    if not degrees.any():
        return 1.0
    image = degrees[:, None] * rows - adjacency @ rows
    unrelated = np.square(rows).sum() / len(rows) - np.square(rows.mean(axis=0)).sum()
    return max(0.0, float(np.einsum("nk,nk->", rows, image) / degrees.sum() / unrelated)) if unrelated > 0 else 0.0


def roughness_deviation(rows: NDArray[np.float64], adjacency: sparse.csr_array) -> float:
    """The standard deviation of the roughness over all orders of the rows: how much it would vary if they had nothing to do with the edges.

    The variance of sum_ij a_ij b_p(i)p(j) over all permutations p is that of the test of Mantel (1967), in closed form.
    """
    n = len(rows)
    a, b = adjacency.toarray(), cdist(rows, rows, "sqeuclidean")
    if n < 4 or not a.any() or not b.any():
        return 0.0
    (a0, a1, a2), (b0, b1, b2) = ((m.sum(), 2 * np.square(m).sum(), 4 * np.square(m.sum(axis=1)).sum()) for m in (a, b))
    square = mean_square((a0, a1, a2), (b0, b1, b2), n)
    return float(np.sqrt(max(0.0, square - (a0 * b0 / (n * (n - 1))) ** 2)) * n**2 / (a0 * b0))


def mean_square(a: Sequence[float], b: Sequence[float], n: int) -> float:
    """The mean of (sum_ij a_ij b_p(i)p(j))^2 over all permutations p of n >= 4 nodes, for symmetric matrices with zeros on the diagonal.

    Of both matrices three sums are given: sum_ij a_ij, 2 sum_ij a_ij^2 and 4 sum_i (sum_j a_ij)^2.
    """
    (a0, a1, a2), (b0, b1, b2), pairs = a, b, n * (n - 1)
    return (
        a1 * b1 / (2 * pairs)
        + (a2 - 2 * a1) * (b2 - 2 * b1) / (4 * pairs * (n - 2))
        + (a0**2 + a1 - a2) * (b0**2 + b1 - b2) / (pairs * (n - 2) * (n - 3))
    )


def mean_roughness(measured: NDArray[np.float64]) -> Vector:
    """The geometric mean over several embeddings (rows) of the roughness of every view (columns)."""
    mean: Vector = np.log(measured + LEAST_ROUGHNESS).mean(axis=0)
    return np.exp(mean)


def informative_edges(space: Space | None, adjacency: sparse.csr_array, min_size: float) -> sparse.csr_array:
    """The edges of a layer between points that differ (None: all do), in components of at least `min_size` nodes.

    Copies of a point agree on everything, and the nodes of a small component with one another: their edges do not show whether a view
    agrees with the others.
    """
    adjacency = adjacency.copy()
    adjacency.prune()
    n_components, component = csgraph.connected_components(adjacency, directed=False)
    large = np.bincount(component, minlength=n_components)[component] >= min_size
    kept = np.repeat(large, np.diff(adjacency.indptr))
    if space is not None:
        kept &= space.measure(PairList(adjacency)) > 0
    graph = sparse.csr_array((adjacency.data * kept, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    graph.eliminate_zeros()
    return graph


def by_agreement(roughness: Any, shares: Any, with_consensus: bool) -> Vector:
    """Weights proportional to the share of informative edges times r^-2.

    Without a consensus the embedding of all views together is all there is to agree with, and each view has a part in it: r^-1.5.
    """
    return normalized(np.asarray(shares) * np.asarray(roughness) ** (POWER if with_consensus else POWER_WITHOUT_CONSENSUS))


def equally(roughness: Any, shares: Any, with_consensus: bool) -> Vector:
    """Give every view an equal weight."""
    return np.full(len(roughness), 1 / len(roughness))


def normalized(values: Vector) -> Vector:
    """Values that sum to one; all the same if all are zero."""
    total = float(values.sum())
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


WEIGHING_RULES: dict[str, WeighingRule] = {"agreement": by_agreement, "equal": equally}
