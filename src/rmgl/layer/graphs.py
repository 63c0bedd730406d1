"""Edges of a layer for networkx and igraph; both libraries are imported when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scipy import sparse

from rmgl.extras import not_installed
from rmgl.matrix import Floats, Indices


def edge_list(adjacency: sparse.csr_array) -> tuple[Indices, Indices, Floats]:
    """Return the two nodes and the weight of every edge, each edge once."""
    upper = sparse.triu(adjacency, k=1, format="coo")
    return upper.row, upper.col, upper.data


def load(package: str) -> Any:
    """Import an optional package."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(not_installed(f"exporting to {package} needs", package)) from error
