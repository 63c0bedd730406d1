"""Weights of the views, based on how well their layers agree with a common embedding.

The *roughness* of the embedding on the layer of view m is

    r_m = sum_ij w_ij |u_i - u_j|^2 / sum_ij w_ij  /  mean of |u_i - u_j|^2 over all pairs

where u_i are the rows of the embedding, with length one. It is 0 if neighbors in the layer have the
same position in the embedding, and 1 if they are unrelated. To add a rule, write a function in this
module and add it to `WEIGHING_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from rmgl.automatic.small import FEW_ENTITIES
from rmgl.edges import PairList, Vector
from rmgl.edges.interface import as_vector
from rmgl.edges.space import Space
from rmgl.matrix import Floats, chance_deviation
from rmgl.rules import find_rule, ranged

WeighingRule = Callable[[Any, Any, bool], Vector]
"""rule(roughness, shares, with_consensus) -> the weights of the views, which sum to one. `shares`
contains the share of each view's edge weight on which its roughness was measured."""
ROUNDED_SUM = 1e-9
"""Maximum deviation of a sum of weights from one."""


@dataclass(frozen=True)
class Weighing:
    """Parameters and rule for weighting views."""

    weighing: str | WeighingRule = "agreement"
    """Rule for the weights of the views: "agreement" (views have more weight if the common
    embedding is smoother on their layers), "equal", or rule(roughness, shares, with_consensus) ->
    weights that sum to one."""
    power: float = ranged(-2.0, -10.0, 0.0)
    """Power of the roughness in the weight of a view."""
    power_alone: float = ranged(-1.5, -10.0, 0.0)
    """Power of the roughness in the weight of a view if there is no consensus, so that each view
    contributes to the embedding with which it is compared."""
    least_roughness: float = ranged(0.005, 0.0, 1.0)
    """Constant added to the roughness of each view, so that a view that agrees perfectly does not
    get all the weight.
    """
    few_entities: int = ranged(FEW_ENTITIES, 0, 1e9)
    """Number of entities below which four rules apply: the uncertainty of the roughness is added
    to it, the neighbor layer has more weight, views that may be reliable are given partial weight,
    and the verdict notes that there are few entities."""
    small_component: float = ranged(0.2, 0.0, 1.0)
    """Size of a component, relative to the mean cluster size, below which its edges are
    ignored when roughness and weights are computed. Edges between identical rows are ignored, too.
    0 means that all edges count."""

    def weigh(self, roughness: Any, shares: Any, with_consensus: bool) -> Vector:
        """Return the weights of the views, which sum to one."""
        rule: Callable[..., Any] = find_rule("weighing", self.weighing, WEIGHING_RULES)
        built_in = {"numbers": self} if isinstance(self.weighing, str) else {}
        given = rule(roughness, shares, with_consensus, **built_in)
        weights = np.asarray(given, dtype=np.float64)
        sound = weights.shape == (len(roughness),) and weights.min() >= 0
        if not sound or not abs(weights.sum() - 1) <= ROUNDED_SUM:
            raise ValueError(
                f"policy: the rule for weighing returned {weights.tolist()}, but must return "
                f"{len(roughness)} numbers >= 0 that sum to one, one for each view: divide them "
                "by their sum"
            )
        return weights


def by_agreement(
    roughness: Any, shares: Any, with_consensus: bool, numbers: Weighing | None = None
) -> Vector:
    """Return weights proportional to the share of informative edges times r^-2.

    Without a consensus, views can be compared only with the embedding of all views, to which each
    view contributes. In that case, the power is -1.5.
    """
    numbers = Weighing() if numbers is None else numbers
    power = numbers.power if with_consensus else numbers.power_alone
    return normalized(np.asarray(shares) * np.asarray(roughness) ** power)


def equally(
    roughness: Any, shares: Any, with_consensus: bool, numbers: Weighing | None = None
) -> Vector:
    """Give every view the same weight."""
    return np.full(len(roughness), 1 / len(roughness))


WEIGHING_RULES: dict[str, WeighingRule] = {"agreement": by_agreement, "equal": equally}


def normalized(values: Vector) -> Vector:
    """Scale values so that they sum to one; if all are zero, make them equal."""
    total = float(values.sum())
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def roughness(rows: Floats, adjacency: sparse.csr_array) -> float:
    """Return the edge-weighted mean of |u_i - u_j|^2, divided by the mean over all pairs."""
    degrees = adjacency.sum(axis=1)
    if not degrees.any():
        return 1.0
    image = degrees[:, None] * rows - adjacency @ rows
    unrelated = np.square(rows).sum() / len(rows) - np.square(rows.mean(axis=0)).sum()
    if unrelated <= 0:
        return 0.0
    return max(0.0, float(np.einsum("nk,nk->", rows, image) / degrees.sum() / unrelated))


def mean_roughness(measured: Floats, least: float) -> Vector:
    """Return the geometric mean over embeddings (rows) of the roughness of each view (columns)."""
    mean: Vector = np.log(measured + least).mean(axis=0)
    return np.exp(mean)


def roughness_deviation(rows: Floats, adjacency: sparse.csr_array) -> float:
    """Return the standard deviation of the roughness over all permutations of the rows.

    The roughness would vary by this much if the rows were unrelated to the edges.
    """
    n = len(rows)
    return n / (n - 1) * chance_deviation(adjacency.toarray(), cdist(rows, rows, "sqeuclidean"))


def informative_edges(
    space: Space | None, adjacency: sparse.csr_array, min_size: float
) -> sparse.csr_array:
    """Return the edges between points that differ, in components of at least `min_size` nodes. If
    `space` is None, all points are considered different.

    Copies of a point agree on everything, and so do the nodes of a small component. Their edges do
    not show whether a view agrees with the others.
    """
    adjacency = adjacency.copy()
    adjacency.prune()
    n_components, component = csgraph.connected_components(adjacency, directed=False)
    large = np.bincount(component, minlength=n_components)[component] >= min_size
    kept = np.repeat(large, np.diff(adjacency.indptr))
    if space is not None:
        kept &= as_vector(space.measure(PairList(adjacency))) > 0
    entries = (adjacency.data * kept, adjacency.indices, adjacency.indptr)
    graph = sparse.csr_array(entries, shape=adjacency.shape)
    graph.eliminate_zeros()
    return graph


def same_graph(one: sparse.csr_array, other: sparse.csr_array) -> bool:
    """Return whether two graphs have the same edges and weights, as for a view and its copy."""
    if one is other or one.nnz != other.nnz or one.nnz == 0:  # graphs without edges say nothing
        return one is other
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
