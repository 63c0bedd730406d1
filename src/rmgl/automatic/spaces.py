"""The spaces that layers are learned in: that of every view, and that of all views side by side, each divided by its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.space import Gapped, Rows, Space, Square, Summed, as_space, space_of
from rmgl.running.memory import available_memory, require_memory
from rmgl.running.threads import Check, InParts, Team, one_part
from rmgl.views.matrix import side_by_side, total_variance
from rmgl.views.views import Views

MOST_SQUARE_BYTES = 1 << 30
COPIES = 4
"""Matrices of the size of a view that distances with missing cells take."""
MOST_SHARE = 0.25
"""Share of the available memory that distances may take."""


@dataclass(frozen=True)
class Spaces:
    """The spaces of views whose rows are scaled already."""

    views: Views
    squares: Sequence[Square] | None
    """The space of all rows of every view, rows that are missing from it included; None if rows are too many."""

    @classmethod
    def of(cls, views: Views, wanted: Sequence[Any], team: Team) -> Spaces:
        """Compute all distances, if they fit into memory and the candidates that are `wanted` are certain."""
        certain = all(isinstance(how, int) or (isinstance(how, str) and how == "all") for how in wanted)
        if not certain or not fits(views):
            return cls(views, None)
        return cls(views, team(lambda view, check: square_of(views, view, team.in_parts, check), range(len(views.names))))

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """What each view is multiplied by before it is put beside the others: its total variance is one then."""
        return tuple(1 / float(np.sqrt(total_variance(self.views.measured(view)))) for view in range(len(self.views.names)))

    def of_entities(self, entities: NDArray[np.intp]) -> Spaces:
        """The spaces of some of the entities."""
        squares = None if self.squares is None else [square.among(entities) for square in self.squares]
        return Spaces(self.views.of_entities(entities), squares)

    def own(self, view: int) -> Space:
        """The space of a view, without the entities that are missing from it."""
        rows = self.views.observed_rows(view)
        if self.squares is not None:
            return self.squares[view].among(rows)
        return as_space(space_of(self.views.own(view), self.views.own_gaps(view)))

    def square(self, view: int) -> Square:
        """All distances of all rows of a view, rows that are missing from it included."""
        return square_of(self.views, view) if self.squares is None else self.squares[view]

    @cached_property
    def together(self) -> Space:
        """The space of all views side by side, with rows of zeros for what is missing."""
        if self.squares is None and self.views.gaps:
            return Summed([whole_space(self.views, view) for view in range(len(self.views.names))], self.factors)
        if self.squares is None:
            return Rows.of(side_by_side([factor * X for X, factor in zip(self.views.matrices, self.factors, strict=True)]))
        total = np.zeros((self.views.n_rows, self.views.n_rows))
        for square, factor in zip(self.squares, self.factors, strict=True):
            total += factor**2 * square.distances
        return Square(total)


def whole_space(views: Views, view: int) -> Gapped:
    """The space of all rows of a view with missing cells, rows that are missing from it included."""
    X = views.matrices[view]
    require_memory(COPIES * 8 * X.shape[0] * X.shape[1], f"view {views.names[view]!r}: distances with missing cells")
    return Gapped.of(X.toarray() if sparse.issparse(X) else X, views.missing_cells(view), views.observed_rows(view))


def square_of(views: Views, view: int, in_parts: InParts = one_part, check: Check = lambda: None) -> Square:
    """All distances of all rows of a view."""
    if views.missing_cells(view) is None:
        return Square.of(views.matrices[view], in_parts, check)
    return Square.of_blocks(whole_space(views, view), in_parts, check)


def fits(views: Views) -> bool:
    """Whether all distances, in every view and in all views side by side, take little more memory than the rows, and there is room.

    Where cells are missing, they may take more: they are costly to compute again.
    """
    needed = 8 * (len(views.names) + 2) * views.n_rows**2
    available = available_memory()
    return (views.wide or bool(views.gaps)) and needed <= MOST_SQUARE_BYTES and (available is None or needed <= MOST_SHARE * available)
