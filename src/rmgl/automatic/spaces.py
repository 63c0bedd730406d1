"""The spaces that layers are learned in: that of every view, and that of all views side by side, each divided by its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.smoothing import Smoothing
from rmgl.edges.space import Rows, Space, Square, Summed, gapped_space, space_of
from rmgl.running.memory import available_memory, require_memory
from rmgl.running.threads import Check, InParts, Team, one_part
from rmgl.views.matrix import side_by_side, total_variance
from rmgl.views.views import Views

MOST_SQUARE_BYTES = 1 << 30
MOST_SHARE = 0.25
"""Share of the available memory that distances may take."""


@dataclass(frozen=True)
class Spaces:
    """The spaces of views whose rows are scaled already."""

    views: Views
    squares: Sequence[Any] | None
    """The space of all rows of every view, rows that are missing from it included; None if rows are too many."""

    @classmethod
    def of(cls, views: Views, wanted: Sequence[Any], team: Team) -> Spaces:
        """Compute all distances, if they fit into memory and the candidates that are `wanted` are certain."""
        square = [view for view in members_of(views) if views.relation(view) is not None]
        if square:
            require_memory(
                8 * (len(views.names) + 2) * views.n_rows**2, "all distances in every view", "leave views out, or use fewer rows"
            )
            return cls(views, team(lambda view, check: square_of(views, view, team.in_parts, check), range(len(views.names))))
        if views.relations:
            return cls(views, None)
        certain = all(isinstance(how, int) or (isinstance(how, str) and how == "all") for how in wanted)
        if not certain or not fits(views):
            return cls(views, None)
        return cls(views, team(lambda view, check: square_of(views, view, team.in_parts, check), range(len(views.names))))

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The views that are put side by side: all that have distances between any two entities, so not the networks."""
        return members_of(self.views)

    @cached_property
    def of_members(self) -> Views:
        """The views that are put side by side."""
        return self.views.of_views(self.members) if self.views.relations else self.views

    @cached_property
    def smoothing(self) -> Smoothing | None:
        """The rows of the members smoothed along the networks, if there are any and rows fit into memory."""
        return Smoothing(self.views, self.members) if Smoothing.possible(self.views, self.members) else None

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """What each member is multiplied by before it is put beside the others: its total variance is one then."""
        if self.smoothing is not None:
            return tuple(1 / float(np.sqrt(total_variance(Y))) for Y in self.smoothing.matrices)
        return tuple(1 / float(np.sqrt(self._variance(view))) for view in self.members)

    def _variance(self, view: int) -> float:
        """The total variance of a view: half the mean squared distance between two random entities."""
        own = self.views.measured(view)
        return total_variance(own) if self.views.relation(view) is None else float(own.mean() / 2)

    def of_entities(self, entities: NDArray[np.intp]) -> Spaces:
        """The spaces of some of the entities."""
        squares = None if self.squares is None else [square.among(entities) for square in self.squares]
        return Spaces(self.views.of_entities(entities), squares)

    def own(self, view: int) -> Space:
        """The space of a view, without the entities that are missing from it."""
        if self.squares is None or self.squares[view] is None:
            return space_of(self.views, view)
        own: Square = self.squares[view].among(self.views.observed_rows(view))
        return own

    def square(self, view: int) -> Square:
        """All distances of all rows of a member, rows that are missing from it included."""
        found = square_of(self.views, view) if self.squares is None else self.squares[view]
        assert found is not None
        return found

    @cached_property
    def together(self) -> Space:
        """The space of all views side by side, with rows of zeros for what is missing."""
        if self.squares is None and self.views.gaps:
            return Summed([gapped_space(self.views, view) for view in self.members], self.factors)
        if self.squares is None:
            own = [self.views.matrices[view] for view in self.members] if self.smoothing is None else self.smoothing.matrices
            return Rows.of(side_by_side([factor * X for X, factor in zip(own, self.factors, strict=True)]))
        total = np.zeros((self.views.n_rows, self.views.n_rows))
        for view, factor in zip(self.members, self.factors, strict=True):
            total += factor**2 * self.squares[view].distances
        return Square(total)


def members_of(views: Views) -> tuple[int, ...]:
    """The views that have a distance between any two entities: neither networks nor sparse distances."""
    return tuple(view for view, X in enumerate(views.matrices) if views.relation(view) is None or not sparse.issparse(X))


def square_of(views: Views, view: int, in_parts: InParts = one_part, check: Check = lambda: None) -> Square | None:
    """All distances between the rows of a view, missing ones included; None for networks and sparse distances."""
    if view not in members_of(views):
        return None
    if views.relation(view) is not None:
        return Square(views.matrices[view])
    if views.missing_cells(view) is not None:
        return Square.of_blocks(gapped_space(views, view), in_parts, check)
    return Square.of(views.matrices[view], in_parts, check)


def fits(views: Views) -> bool:
    """Whether all distances, in every view and in all views side by side, take little more memory than the rows, and there is room.

    Where cells are missing, they may take more: they are costly to compute again.
    """
    needed = 8 * (len(views.names) + 2) * views.n_rows**2
    available = available_memory()
    return (views.wide or bool(views.gaps)) and needed <= MOST_SQUARE_BYTES and (available is None or needed <= MOST_SHARE * available)
