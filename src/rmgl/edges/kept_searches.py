"""Exact searches whose results a checkpoint keeps: they are the most expensive part of a fit.

A search is identified by the rows of its space and by its arguments. A resumed run therefore finds
the results of all finished searches, whatever their order, and runs only the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.checks import Unsound, sound_indices, sound_numbers
from rmgl.edges.interface import (
    Costs,
    Ends,
    Floats,
    Indices,
    Nodes,
    PairStore,
    Searchable,
    Space,
    Vector,
)
from rmgl.running.checkpoint import Checkpoint, Found, check_arrays, digest_of
from rmgl.running.threads import Check, no_check


@dataclass(frozen=True)
class KeptSearches(Searchable):
    """A space whose search results are kept by a checkpoint."""

    space: Searchable
    checkpoint: Checkpoint

    @property
    def n_rows(self) -> int:
        return self.space.n_rows

    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return self.space.digest()

    @property
    def mean_distance(self) -> float:
        return self.space.mean_distance

    def among(self, nodes: Nodes | None) -> Space:
        return self if nodes is None else self.space.among(nodes).kept_by(self.checkpoint)

    def measure(self, edges: PairStore, check: Check = no_check) -> Costs:
        return self.space.measure(edges, check)

    def distances_to(self, nodes: Nodes, neighbors: Indices) -> Floats:
        return self.space.distances_to(nodes, neighbors)

    def nearest(self, nodes: Nodes, length: int, check: Check = no_check) -> tuple[Indices, Vector]:
        def search() -> Found:
            neighbors, bounds = self.space.nearest(nodes, length, check)
            return {"neighbors": neighbors, "bounds": bounds}

        def examine(kept: Found) -> None:
            check_lists(kept, nodes, min(length, self.n_rows - 1), self.n_rows, bounded=True)

        name = f"nearest-{digest_of(self._digest, nodes, length)}"
        kept = self.checkpoint.step(name, search, examine)
        return kept["neighbors"], kept["bounds"]

    def within(
        self, nodes: Nodes, radii: Vector, scales: Vector | None = None, check: Check = no_check
    ) -> tuple[Ends, Ends]:
        def search() -> Found:
            left, right = self.space.within(nodes, radii, scales, check)
            return {"left": left, "right": right}

        name = f"within-{digest_of(self._digest, nodes, radii, scales)}"
        kept = self.checkpoint.step(name, search, lambda kept: check_pairs(kept, self.n_rows))
        return kept["left"], kept["right"]


def check_lists(
    kept: Found, nodes: NDArray[Any], length: int, n_rows: int, *, bounded: bool = False
) -> None:
    """Raise `Unsound` unless there is a list of other rows for each node.

    If the lists are `bounded`, there must also be a bound on the distances to all other rows.
    """
    check_arrays(kept, "neighbors", *["bounds"] * bounded)
    neighbors, shape = kept["neighbors"], (len(nodes), length)
    if neighbors.shape != shape:
        raise Unsound(f"the neighbor lists have shape {neighbors.shape}, but {shape} was expected")
    check_ends("the neighbors", neighbors.reshape(-1), n_rows)
    if (neighbors == nodes[:, None]).any():
        raise Unsound("a node is in its own list of neighbors")
    if bounded:
        bounds, what = kept["bounds"], "the bound on the distances to all other rows"
        sound_numbers(what, bounds, shape[:1], least=0.0, infinite=True)


def check_pairs(kept: Found, n_rows: int) -> None:
    """Raise `Unsound` unless these are valid pairs of different rows."""
    check_arrays(kept, "left", "right")
    left, right = kept["left"], kept["right"]
    check_ends("the first rows of the pairs", left, n_rows)
    check_ends("the second rows of the pairs", right, n_rows, size=left.size)
    if (left == right).any():
        raise Unsound("a row is paired with itself")


def check_ends(what: str, rows: NDArray[Any], n_rows: int, *, size: int | None = None) -> None:
    """Raise `Unsound` unless these are row numbers from a search, `size` of them if specified."""
    if rows.dtype not in (np.int32, np.int64):
        expected = "4-byte or 8-byte integers were expected"
        raise Unsound(f"{what} are of type {rows.dtype}, but {expected}")
    sound_indices(what, rows, n_rows, size=size)
