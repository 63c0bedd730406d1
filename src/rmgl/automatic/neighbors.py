"""The plain neighbor layer: the graph of nearest neighbors of all views side by side, which is given and not learned.

Learned layers may fall into small groups of close rows that keep their weight to themselves. In this graph every entity is linked to its
nearest others, however far away they are, so that such groups are connected in the common graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.consensus import free_name
from rmgl.layer import Layer, Origin, given_layer

NAME = "neighbors"
N_NEIGHBORS = 9
"""Neighbors of every entity."""


def neighbor_layer(
    neighbors: NDArray[np.intp], taken: Sequence[str], views: Sequence[int], factors: Sequence[float], network_share: float = 0.0
) -> Layer:
    """The layer of given lists of nearest neighbors in views side by side, each of which was multiplied by its factor.

    An edge has weight 1 between neighbors of each other, and 1/2 if one is the neighbor of the other alone, before all weights are scaled.
    """
    n, length = neighbors.shape
    listed = sparse.csr_array((np.ones(neighbors.size), (np.repeat(np.arange(n), length), neighbors.ravel())), shape=(n, n))
    origin = Origin(free_name(NAME, taken), "neighbors", None, tuple(views), tuple(factors), network_share=network_share)
    return given_layer(origin, sparse.csr_array((listed + listed.T) / 2))
