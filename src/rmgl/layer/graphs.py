"""Convert a layer to a networkx or igraph graph; both libraries are imported when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.extras import not_installed
from rmgl.matrix import Floats, Indices


def graph_to_networkx(name: str, adjacency: sparse.csr_array) -> Any:
    """Return a `networkx.Graph` with edge attribute `weight`; its nodes are the rows 0 to N-1.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1)
    >>> sorted(graph_to_networkx("a", layer.adjacency).edges)
    [(0, 1), (2, 3)]
    """
    networkx = load("networkx")
    first, second, weights = edge_list(adjacency)
    graph = networkx.Graph(name=name)
    graph.add_nodes_from(range(adjacency.shape[0]))
    edges = zip(first.tolist(), second.tolist(), weights.tolist(), strict=True)
    graph.add_weighted_edges_from(edges)
    return graph


def graph_to_igraph(name: str, adjacency: sparse.csr_array) -> Any:
    """Return an `igraph.Graph` with edge attribute `weight`; vertex i is row i.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1)
    >>> graph_to_igraph("a", layer.adjacency).get_edgelist()
    [(0, 1), (2, 3)]
    """
    igraph = load("igraph")
    first, second, weights = edge_list(adjacency)
    edges = np.column_stack([first, second]).tolist()
    named, weighted = {"name": name}, {"weight": weights.tolist()}
    return igraph.Graph(adjacency.shape[0], edges, graph_attrs=named, edge_attrs=weighted)


def edge_list(adjacency: sparse.csr_array) -> tuple[Indices, Indices, Floats]:
    """Return the two end nodes and the weight of every edge, each edge once."""
    upper = sparse.triu(adjacency, k=1, format="coo")
    return upper.row, upper.col, upper.data


def load(package: str) -> Any:
    """Import an optional package."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(not_installed(f"graphs for {package} need", package)) from error
