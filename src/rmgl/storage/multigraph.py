"""All layers of a model as one graph with parallel edges, for networkx, igraph and GraphML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.layer import Layer
from rmgl.layer.graphs import edge_list, load

NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node_attributes(
    labels: NDArray[np.intp], outlier_score: NDArray[np.float64], names: Any = None
) -> dict[str, list[Any]]:
    """Return the attributes of the nodes: label, outlier score and, if rows have one, the name."""
    attributes = {"label": labels.tolist(), "outlier_score": outlier_score.tolist()}
    return attributes if names is None else attributes | {"name": list(names)}


def layers_to_networkx(
    layers: Sequence[Layer], nodes: Mapping[str, Sequence[Any]], *, numbered: bool = False
) -> Any:
    """Return a `networkx.MultiGraph` on the rows 0 to N-1, which have the attributes `nodes`.

    Edges have the attributes `layer` and `weight`, and the name of the layer as key (or their
    number, if `numbered`).

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1, name="a")
    >>> graph = layers_to_networkx([layer], {"name": list("uvwx")})
    >>> graph.nodes[0]["name"], graph[0][1]["a"]["layer"]
    ('u', 'a')
    """
    graph = load("networkx").MultiGraph()
    graph.add_nodes_from(
        (node, dict(zip(nodes, values, strict=True)))
        for node, values in enumerate(zip(*nodes.values(), strict=True))
    )
    numbers = count()
    graph.add_edges_from(
        (i, j, next(numbers) if numbered else layer, {"layer": layer, "weight": weight})
        for i, j, layer, weight in all_edges(layers)
    )
    return graph


def layers_to_igraph(layers: Sequence[Layer], nodes: Mapping[str, Sequence[Any]]) -> Any:
    """Return an `igraph.Graph` on the rows, whose edges have the attributes `layer` and `weight`.

    Examples
    --------
    >>> import numpy as np
    >>> from rmgl import learn_layer
    >>> layer = learn_layer(np.array([[0.0], [0.1], [5.0], [5.1]]), alpha=0.1, name="a")
    >>> layers_to_igraph([layer, layer], {"name": list("uvwx")}).ecount()
    4
    """
    igraph = load("igraph")
    lists = [edge_list(layer.adjacency) for layer in layers]
    edges = np.concatenate(
        [np.column_stack([first, second]) for first, second, _ in lists]
    ).tolist()
    names = [layer.name for layer in layers for _ in range(layer.n_edges)]
    weights = np.concatenate([weights for _, _, weights in lists]).tolist()
    return igraph.Graph(
        layers[0].n_nodes,
        edges,
        vertex_attrs=dict(nodes),
        edge_attrs={"layer": names, "weight": weights},
    )


def write_graphml(
    path: Path | str, layers: Sequence[Layer], nodes: Mapping[str, Sequence[Any]]
) -> None:
    """Write the graph of `layers_to_networkx` to a GraphML file, with numbers as edge ids.

    Characters in names that XML does not allow, such as control characters, are written as escapes
    (``\\x01``).
    """
    named = {
        name: [xml_text(str(value)) for value in values] if name == "name" else values
        for name, values in nodes.items()
    }
    graph = layers_to_networkx(layers, named, numbered=True)
    layer_names = {layer.name: xml_text(layer.name) for layer in layers}
    for *_, attributes in graph.edges(data=True):
        attributes["layer"] = layer_names[attributes["layer"]]
    load("networkx").write_graphml(graph, path)


def xml_text(text: str) -> str:
    """Escape the characters that XML 1.0 does not allow, or that its readers change.

    Examples
    --------
    >>> print(xml_text("a\\x01b"))
    a\\x01b
    """
    return NOT_IN_XML.sub(
        lambda odd: odd[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )


def all_edges(layers: Sequence[Layer]) -> Iterator[tuple[int, int, str, float]]:
    """Yield both end nodes, the layer and the weight of every edge, layer by layer."""
    for layer in layers:
        first, second, weights = edge_list(layer.adjacency)
        yield from zip(
            first.tolist(), second.tolist(), repeat(layer.name), weights.tolist(), strict=False
        )
