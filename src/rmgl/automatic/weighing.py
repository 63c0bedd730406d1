"""How much each view counts, from how well its layer agrees with a common embedding.

The *roughness* of the embedding on the layer of view m is

    r_m = sum_ij w_ij |u_i - u_j|^2 / sum_ij w_ij   divided by the mean of |u_i - u_j|^2 over all pairs of nodes

with u_i the rows of the embedding, of length one: 0 where neighbors in the layer have the same place in the embedding, 1 where they are
unrelated. A new rule is one function here: add it to `WEIGHING_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges import Vector

LEAST_ROUGHNESS = 0.005
"""Added to every roughness, so that a view that agrees perfectly does not get all the weight."""
POWER = -2.0
POWER_WITHOUT_CONSENSUS = -1.5

WeighingRule = Callable[[Any, bool], Vector]
"""rule(roughness, with_consensus): the weights of the views, which sum to one."""


def roughness(rows: NDArray[np.float64], adjacency: sparse.csr_array) -> float:
    """The mean of |u_i - u_j|^2 over the edges, by weight, divided by that over all pairs of nodes."""
    degrees = adjacency.sum(axis=1)
    image = degrees[:, None] * rows - adjacency @ rows
    unrelated = np.square(rows).sum() / len(rows) - np.square(rows.mean(axis=0)).sum()
    return float(np.einsum("nk,nk->", rows, image) / degrees.sum() / unrelated) if unrelated > 0 else 0.0


def mean_roughness(measured: NDArray[np.float64]) -> Vector:
    """The geometric mean over several embeddings (rows) of the roughness of every view (columns)."""
    mean: Vector = np.log(measured + LEAST_ROUGHNESS).mean(axis=0)
    return np.exp(mean)


def by_agreement(roughness: Any, with_consensus: bool) -> Vector:
    """Weights proportional to r^-2.

    Without a consensus the embedding of all views together is all there is to agree with, and each view has a part in it: r^-1.5.
    """
    return normalized(np.asarray(roughness) ** (POWER if with_consensus else POWER_WITHOUT_CONSENSUS))


def equally(roughness: Any, with_consensus: bool) -> Vector:
    """The same weight for every view."""
    return np.full(len(roughness), 1 / len(roughness))


def normalized(values: Vector) -> Vector:
    return values / float(values.sum())


WEIGHING_RULES: dict[str, WeighingRule] = {"agreement": by_agreement, "equal": equally}
