"""Read networks from edge list files: two columns of node ids, and one of weights if there is a third."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.storage.paths import check_inputs
from rmgl.views.network import Network
from rmgl.views.views import Views

HEADS = ({"source", "target"}, {"from", "to"}, {"node1", "node2"}, {"node_1", "node_2"}, {"id1", "id2"})
"""Names of the first two columns by which a line of names is known."""


@dataclass(frozen=True)
class EdgeList:
    """The edges of one file: the ids of their two nodes, and their weights."""

    name: str
    path: Path
    first: list[str]
    second: list[str]
    weights: NDArray[np.float64]
    lines: list[int]
    """The line of each edge in its file."""


def read_edge_list(path: Path) -> EdgeList:
    """Read a .csv, .tsv or .txt file with one edge a line: two ids and, if there is a third column, a weight >= 0."""
    check_inputs([path])
    delimiter = {".tsv": "\t", ".csv": ","}.get(path.suffix.lower())
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            if delimiter is None:
                rows = [(line, text.split()) for line, text in enumerate(file, 1)]
            else:
                reader = csv.reader(file, delimiter=delimiter)
                rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: not a readable list of edges ({error}): write two ids, and a weight if there is one, a line") from error
    rows = [(line, row) for line, row in rows if any(row)]
    if rows and is_head(rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise ValueError(f"{path}: there is no edge in the file: write two ids, and a weight if there is one, a line")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width or width not in (2, 3) or not row[0] or not row[1]:
            raise ValueError(f"{path}: line {line} has {len(row)} fields, but an edge has two ids and, in every line or none, a weight")
    weights = np.array([weight_of(path, line, row) for line, row in rows])
    return EdgeList(path.stem, path, [row[0] for _, row in rows], [row[1] for _, row in rows], weights, [line for line, _ in rows])


def is_head(row: Sequence[str]) -> bool:
    """Whether a line holds the names of the columns."""
    if {cell.lower() for cell in row[:2]} in HEADS:
        return True
    return len(row) == 3 and not is_number(row[2])


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def weight_of(path: Path, line: int, row: Sequence[str]) -> float:
    """The weight of an edge, one if there is none."""
    if len(row) == 2:
        return 1.0
    if not is_number(row[2]) or not 0 <= float(row[2]) < np.inf:
        raise ValueError(f"{path}: line {line}, column 3 holds {row[2]!r} where a weight >= 0 is needed")
    return float(row[2])


def places_of(edges: EdgeList, ids: Sequence[str], known: Sequence[Any], what: str) -> NDArray[np.intp]:
    """The places of the ids of nodes among known ones; an unknown id raises a ValueError that names its line."""
    places = {str(label): place for place, label in enumerate(known)}
    unknown = next((at for at, label in enumerate(ids) if label not in places), None)
    if unknown is not None:
        raise ValueError(
            f"{edges.path}: line {edges.lines[unknown]}: {ids[unknown]!r} is no {what}: the nodes of a network must be the entities of the "
            "other views, named by their ids (--id) or, without ids, by their row numbers from 0"
        )
    return np.array([places[label] for label in ids], dtype=np.intp)


def with_networks(views: Views | None, lists: Sequence[EdgeList]) -> Views:
    """Views with one more network for each list of edges. Without other views, the entities are the nodes, in the order of the files."""
    if views is None:
        ids = list(dict.fromkeys(label for edges in lists for pair in zip(edges.first, edges.second, strict=True) for label in pair))
        index: NDArray[Any] | None = np.array(ids, dtype=object)
    else:
        index, ids = views.index, [str(label) for label in (range(views.n_rows) if views.index is None else views.index)]
    networks = {}
    for edges in lists:
        first, second = (places_of(edges, own, ids, "entity") for own in (edges.first, edges.second))
        graph = sparse.csr_array((edges.weights, (first, second)), shape=(len(ids), len(ids)))
        networks[edges.name] = Network(graph + graph.T)  # a line is an edge, in whichever direction it is written
    taken = [] if views is None else list(views.names)
    if len(networks) < len(lists) or set(networks) & set(taken):
        names = [*taken, *(edges.name for edges in lists)]
        raise ValueError(f"view names are file names without their suffix and must differ, but they are {names}: rename a file")
    if views is None:
        return Views.of(networks, index=index)
    return views.beside(Views.of(networks, everyone=False))


def new_edges(edges: EdgeList, new_ids: Sequence[Any], fitted_ids: Sequence[Any]) -> sparse.csr_array:
    """The weights of edges from new entities, named first, to fitted ones, named second."""
    first = places_of(edges, edges.first, new_ids, "new entity (first column)")
    second = places_of(edges, edges.second, fitted_ids, "fitted entity (second column)")
    return sparse.csr_array((edges.weights, (first, second)), shape=(len(new_ids), len(fitted_ids)))
