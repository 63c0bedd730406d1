"""The plain neighbor layer: the graph of nearest neighbors of all views side by side, which is given and not learned.

Learned layers may fall into small groups of close rows that keep their weight to themselves. In this graph every entity is linked to its
nearest others, however far away they are, so that such groups are connected in the common graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from rmgl.automatic.consensus import free_name
from rmgl.edges.ties import STAND_IN, NearBlock
from rmgl.layer import Layer, Origin, given_layer

NAME = "neighbors"
N_NEIGHBORS = 9
"""Neighbors of every entity."""


def neighbor_layer(
    lists: Sequence[NearBlock], taken: Sequence[str], views: Sequence[int], factors: Sequence[float], network_share: float = 0.0
) -> Layer | None:
    """The layer of closed lists of nearest neighbors in views side by side, each of which was multiplied by its factor.

    Every entity gives a weight of 1 to each of the nine nearest entities that differ from it; those that are tied for the last places
    share them. Copies get nothing: they say no more about the place of an entity than it does itself. An edge has the mean of the weights
    that its ends give to each other, before all weights are scaled. There is no layer without any edge.
    """
    n = sum(block.nodes.size for block in lists)
    given = sum((graph_of(block, n) for block in lists), start=sparse.csr_array((n, n)))
    if given.nnz == 0:
        return None
    origin = Origin(free_name(NAME, taken), "neighbors", None, tuple(views), tuple(factors), network_share=network_share)
    return given_layer(origin, sparse.csr_array((given + given.T) / 2))


def graph_of(block: NearBlock, n_nodes: int) -> sparse.csr_array:
    """The weights that some nodes give to their neighbors."""
    there = np.isfinite(block.distances) & (block.neighbors != STAND_IN)
    shares = there * (1.0 if block.shares is None else block.shares)
    row, place = np.nonzero(shares)
    return sparse.csr_array((shares[row, place], (block.nodes[row], block.neighbors[row, place])), shape=(n_nodes, n_nodes))
