"""Networks in edge lists: two columns of node ids and an optional column of weights."""

from __future__ import annotations

import csv
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.archive.array_file import DAMAGED
from rmgl.matrix import Floats, Indices
from rmgl.storage.paths import check_inputs, check_view_names
from rmgl.storage.row_ids import without_marks
from rmgl.storage.text_file import Line, find_separator, lines_of
from rmgl.storage.text_format import (
    find_notation,
    in_some_notation,
    is_whole,
    kind_of,
    read_characters,
    view_name,
)
from rmgl.views.network import Network
from rmgl.views.views import Views

logger = logging.getLogger("rmgl")
HEADS = (
    {"source", "target"},
    {"from", "to"},
    {"node1", "node2"},
    {"node_1", "node_2"},
    {"id1", "id2"},
)
"""Names of the first two columns that identify a header line."""


@dataclass(frozen=True)
class EdgeList:
    """The edges in one file: the ids of their two nodes, and their weights."""

    name: str
    path: Path
    first: list[str]
    second: list[str]
    weights: Floats
    lines: list[int]
    """The line of each edge in its file."""


def read_edge_list(path: Path) -> EdgeList:
    """Read a .csv, .tsv or .txt file with one edge per line: two ids and, if present, a weight.

    Separators, encodings, decimal commas and compression are detected as in tables. In .txt
    files, spaces are separators as well.
    """
    check_inputs([path])
    rows = read_rows(path)
    if rows and is_head(rows[0][1], [row for _, row in rows[1:]]):
        rows = rows[1:]
    if not rows:
        raise ValueError(
            f"{path}: the file has no edges: write two ids and, optionally, a weight on each line"
        )
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width or width not in (2, 3):
            raise ValueError(
                f"{path}: line {line} has {len(row)} fields, but must have two ids and, if the "
                "edges have weights, a weight"
            )
        if None in without_marks(row[:2]):
            raise ValueError(
                f"{path}: line {line} contains {row[0]!r} and {row[1]!r}, but an edge needs two "
                "ids: fill them in, or remove the line"
            )
    first, second = ([row[end] for _, row in rows] for end in (0, 1))
    lines = [line for line, _ in rows]
    return EdgeList(view_name(path), path, first, second, weights_of(path, rows), lines)


def read_rows(path: Path) -> list[Line]:
    """Return the nonempty lines of a file with their fields."""
    try:
        text, _ = read_characters(path)
        separator = find_separator(path, text)
        in_words = kind_of(path) == ".txt" and separator not in text.split("\n", 1)[0]
        words = enumerate(map(str.split, text.splitlines()), 1)
        lines = words if in_words else lines_of(text, separator)
        rows = [(line, [cell.strip() for cell in row]) for line, row in lines]
    except (*DAMAGED, csv.Error) as error:
        raise ValueError(
            f"{path}: not a readable edge list ({error}): write two ids and, optionally, a "
            "weight on each line"
        ) from error
    return [(line, row) for line, row in rows if any(row)]


def is_head(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line holds column names: known names, or text above numbers."""
    if {cell.lower() for cell in first[:2]} in HEADS:
        return True
    if len(first) == 3 and not in_some_notation(first[2]):
        return True
    return (
        bool(others)
        and not any(map(is_whole, first[:2]))
        and all(is_whole(cell) for row in others for cell in row[:2])
    )


def weights_of(path: Path, rows: Sequence[Line]) -> Floats:
    """Return the weights of the edges, all one if the lines have no weights."""
    if len(rows[0][1]) == 2:
        return np.ones(len(rows))
    notation = find_notation((row[2] for _, row in rows), decimal_comma=True)
    weights = [notation.number(row[2]) for _, row in rows]
    for (line, row), weight in zip(rows, weights, strict=True):
        if weight is None or not 0 <= weight < np.inf:
            raise ValueError(
                f"{path}: line {line}, column 3 contains {row[2]!r}, but must contain a weight >= 0"
            )
    return np.array(weights, dtype=np.float64)


def without_head(edges: EdgeList, first: Sequence[Any], second: Sequence[Any]) -> EdgeList:
    """Remove a first line that names no entity, if all other lines name two."""
    left, right = set(map(str, first)), set(map(str, second))
    known = [(a in left, b in right) for a, b in zip(edges.first, edges.second, strict=True)]
    if len(known) < 2 or any(known[0]) or not all(map(all, known[1:])):
        return edges
    logger.info(
        "%s: line 1 (%s, %s) was read as column names",
        edges.path,
        edges.first[0],
        edges.second[0],
    )
    later = (edges.first[1:], edges.second[1:], edges.weights[1:], edges.lines[1:])
    return EdgeList(edges.name, edges.path, *later)


def places_of(edges: EdgeList, ids: Sequence[str], known: Sequence[Any], what: str) -> Indices:
    """Return the positions of ids among known ids. The error for an unknown id names its line."""
    places = {str(label): place for place, label in enumerate(known)}
    unknown = next((at for at, label in enumerate(ids) if label not in places), None)
    if unknown is not None:
        raise ValueError(
            f"{edges.path}: line {edges.lines[unknown]}: {ids[unknown]!r} is not {what}: use "
            "the ids of the entities in the other views (--id) as node names or, without ids, "
            "row numbers from 0"
        )
    return np.array([places[label] for label in ids], dtype=np.intp)


def with_networks(views: Views | None, lists: Sequence[EdgeList]) -> Views:
    """Add a network to the views for each list. Without views, the entities are the nodes."""
    if views is None:
        ids = nodes_of(lists)
    else:
        ids = list(map(str, range(views.n_rows) if views.index is None else views.index))
    networks = {}
    for edges in lists:
        edges = without_head(edges, ids, ids)
        ends = [places_of(edges, nodes, ids, "an entity") for nodes in (edges.first, edges.second)]
        graph = sparse.csr_array((edges.weights, tuple(ends)), shape=(len(ids), len(ids)))
        # each line is an undirected edge
        networks[edges.name] = Network(graph + graph.T)
    names = [] if views is None else list(views.names)
    check_view_names([*names, *(edges.name for edges in lists)])
    if views is None:
        return Views.of(networks, index=np.array(ids, dtype=object))
    return views.beside(Views.of(networks, everyone=False)).checked()


def nodes_of(lists: Sequence[EdgeList]) -> list[str]:
    """Return the distinct nodes of edge lists, in the order of the files."""
    ends = (pair for edges in lists for pair in zip(edges.first, edges.second, strict=True))
    return list(dict.fromkeys(label for pair in ends for label in pair))


def new_edges(
    edges: EdgeList, new_ids: Sequence[Any], fitted_ids: Sequence[Any]
) -> sparse.csr_array:
    """Return the weights of edges from new entities (first ids) to those in the fit (second)."""
    first = places_of(edges, edges.first, new_ids, "a new entity (first column)")
    second = places_of(edges, edges.second, fitted_ids, "an entity in the fit (second column)")
    return sparse.csr_array((edges.weights, (first, second)), shape=(len(new_ids), len(fitted_ids)))
