"""Layers as graphs of networkx and igraph: one alone, or all layers of a fitted model as one graph with parallel edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from rmgl.estimators.rmgl import RMGL
    from rmgl.layer import Layer

NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def layer_to_networkx(layer: Layer) -> Any:
    """One layer as a `networkx.Graph` with edge attribute `weight`; its nodes are the rows 0 to N-1.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1)
    >>> sorted(layer_to_networkx(layer).edges)
    [(0, 1), (2, 3)]
    """
    networkx = load("networkx")
    first, second, weights = edge_list(layer.adjacency)
    graph = networkx.Graph(name=layer.name)
    graph.add_nodes_from(range(layer.n_nodes))
    graph.add_weighted_edges_from(zip(first.tolist(), second.tolist(), weights.tolist(), strict=True))
    return graph


def layer_to_igraph(layer: Layer) -> Any:
    """One layer as an `igraph.Graph` with edge attribute `weight`; vertex i is row i.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1)
    >>> layer_to_igraph(layer).get_edgelist()
    [(0, 1), (2, 3)]
    """
    igraph = load("igraph")
    first, second, weights = edge_list(layer.adjacency)
    edges = np.column_stack([first, second]).tolist()
    return igraph.Graph(layer.n_nodes, edges, graph_attrs={"name": layer.name}, edge_attrs={"weight": weights.tolist()})


def model_to_networkx(model: RMGL, names: Iterable[Any] | None = None, *, numbered: bool = False) -> Any:
    """All layers of a fitted model as one `networkx.MultiGraph`; its nodes are the rows 0 to N-1.

    Edges have the attributes `layer` and `weight`, and the name of the layer as key (or their number, if `numbered`). Nodes have `label`,
    `outlier_score` and, where rows have labels or `names` are given, `name`.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
    >>> graph = model_to_networkx(model, names=list("uvwxyz"))
    >>> graph.nodes[0]["name"], graph[0][1]["a"]["layer"]
    ('u', 'a')
    """
    check_is_fitted(model)
    networkx = load("networkx")
    attributes = node_attributes(model, names)
    graph = networkx.MultiGraph()
    graph.add_nodes_from(
        (node, dict(zip(attributes, values, strict=True))) for node, values in enumerate(zip(*attributes.values(), strict=True))
    )
    numbers = count()
    graph.add_edges_from(
        (i, j, next(numbers) if numbered else layer, {"layer": layer, "weight": weight}) for i, j, layer, weight in all_edges(model)
    )
    return graph


def model_to_igraph(model: RMGL) -> Any:
    """All layers of a fitted model as one `igraph.Graph` with parallel edges; vertex i is row i.

    Edges have the attributes `layer` and `weight`. Vertices have `label`, `outlier_score` and, where rows have labels, `name`.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
    >>> graph = model_to_igraph(model)
    >>> graph.ecount() == sum(layer.n_edges for layer in model.layers_)
    True
    """
    check_is_fitted(model)
    igraph = load("igraph")
    lists = [edge_list(layer.adjacency) for layer in model.layers_]
    edges = np.concatenate([np.column_stack([first, second]) for first, second, _ in lists]).tolist()
    layers = [layer.name for layer in model.layers_ for _ in range(layer.n_edges)]
    weights = np.concatenate([weights for _, _, weights in lists]).tolist()
    return igraph.Graph(len(model.labels_), edges, vertex_attrs=node_attributes(model), edge_attrs={"layer": layers, "weight": weights})


def write_graphml(model: RMGL, path: Path | str, names: Iterable[Any] | None = None) -> None:
    """Write all layers of a fitted model to a GraphML file: the graph of `model_to_networkx`, names as text, numbers as ids of the edges.

    Characters in names that XML cannot hold, such as control characters, are written as Python shows them (``\\x01``).

    Examples
    --------
    >>> import tempfile
    >>> from rmgl import RMGL
    >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graphml(model, Path(folder) / "layers.graphml")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['layers.graphml']
    """
    check_is_fitted(model)
    names = model.index_ if names is None else names
    graph = model_to_networkx(model, None if names is None else [xml_text(str(name)) for name in names], numbered=True)
    layer_names = {layer.name: xml_text(layer.name) for layer in model.layers_}
    for *_, attributes in graph.edges(data=True):
        attributes["layer"] = layer_names[attributes["layer"]]
    load("networkx").write_graphml(graph, path)


def xml_text(text: str) -> str:
    """The text with a visible escape in place of every character that XML 1.0 cannot hold, or that a reader changes.

    Examples
    --------
    >>> print(xml_text("a\\x01b"))
    a\\x01b
    """
    return NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def edge_list(adjacency: sparse.csr_array) -> tuple[NDArray, NDArray, NDArray]:
    """Every edge once: its ends and its weight."""
    upper = sparse.triu(adjacency, k=1, format="coo")
    return upper.row, upper.col, upper.data


def all_edges(model: RMGL) -> Iterator[tuple[int, int, str, float]]:
    """Ends, layer and weight of every edge, layer by layer."""
    for layer in model.layers_:
        first, second, weights = edge_list(layer.adjacency)
        yield from zip(first.tolist(), second.tolist(), repeat(layer.name), weights.tolist(), strict=False)


def node_attributes(model: RMGL, names: Iterable[Any] | None = None) -> dict[str, list[Any]]:
    """What is known of every row: its cluster, how far out it lies, and its name, if it has one."""
    names = model.index_ if names is None else names
    attributes = {"label": model.labels_.tolist(), "outlier_score": model.outlier_score_.tolist()}
    return attributes if names is None else attributes | {"name": list(names)}


def load(package: str) -> Any:
    """An optional package; the extra that brings it has its name."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"graphs for {package} need {package}: pip install 'rmgl[{package}]'") from error
