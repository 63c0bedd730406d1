"""A model's layers as graphs for networkx and igraph, and in files for Gephi and other tools."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np

from rmgl.layer import Layer
from rmgl.layer.graphs import edge_list, load
from rmgl.matrix import Floats, Indices
from rmgl.storage.row_ids import shown_as_text

NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def node_attributes(
    labels: Indices, outlier_score: Floats, names: Any = None
) -> dict[str, list[Any]]:
    """Return the attributes of the nodes: label, outlier score and, if rows have names, name."""
    attributes = {"label": labels.tolist(), "outlier_score": outlier_score.tolist()}
    return attributes if names is None else attributes | {"name": list(names)}


def layers_to_networkx(
    layers: Sequence[Layer], nodes: Mapping[str, Sequence[Any]], *, numbered: bool = False
) -> Any:
    """Return a `networkx.MultiGraph` on rows 0 to N-1, with the attributes in `nodes`.

    Each edge has the attributes `layer` and `weight`. Its key is the name of the layer, or the
    number of the edge if `numbered`.

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
    """Write the graph from `layers_to_networkx` to a GraphML file, with numbers as edge ids.

    Each node has its name as `label`, which Gephi displays, and its `cluster`. Characters in names
    that XML does not allow, such as control characters, are written as escapes (``\\x01``).
    """
    graph = layers_to_networkx(layers, shown_nodes(nodes, xml_text), numbered=True)
    layer_names = {layer.name: xml_text(layer.name) for layer in layers}
    for *_, attributes in graph.edges(data=True):
        attributes["layer"] = layer_names[attributes["layer"]]
    load("networkx").write_graphml(graph, path)


def shown_nodes(
    nodes: Mapping[str, Sequence[Any]], written: Callable[[str], str]
) -> dict[str, Sequence[Any]]:
    """Return the attributes of nodes in files: their names or numbers as `label`, and the cluster.

    `written` converts a name to its form in the file.
    """
    names = [written(str(name)) for name in nodes.get("name", range(len(nodes["label"])))]
    shown = {"label": names, "cluster": nodes["label"], "outlier_score": nodes["outlier_score"]}
    return shown | {"name": names} if "name" in nodes else shown


def write_graphmls(
    folder: Path, layers: Sequence[Layer], stems: Sequence[str], nodes: Mapping[str, Sequence[Any]]
) -> None:
    """Write one GraphML file per layer. `stems` are the file names without a suffix."""
    for layer, stem in zip(layers, stems, strict=True):
        write_graphml(folder / f"{stem}.graphml", [layer], nodes)


def write_edge_lists(
    folder: Path, layers: Sequence[Layer], stems: Sequence[str], nodes: Mapping[str, Sequence[Any]]
) -> None:
    """Write the nodes, and the edges of every layer, to CSV files with Gephi's columns.

    nodes.csv has Id, Label, cluster and outlier_score. The file of a layer has Source, Target, Type
    and Weight. Ids are row numbers.
    """
    shown = shown_nodes(nodes, shown_as_text)
    columns = zip(shown["label"], shown["cluster"], shown["outlier_score"], strict=True)
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Id", "Label", "cluster", "outlier_score"])
        writer.writerows([row, *values] for row, values in enumerate(columns))
    for layer, stem in zip(layers, stems, strict=True):
        with (folder / f"{stem}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["Source", "Target", "Type", "Weight"])
            writer.writerows((i, j, "Undirected", w) for i, j, _, w in all_edges([layer]))


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
