"""The spaces that layers are learned in: that of every view, and that of all views side by side, each divided by its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.smoothing import Smoothing
from rmgl.edges.space import Rows, Space, Square
from rmgl.running.memory import available_memory
from rmgl.running.threads import Team
from rmgl.views.matrix import side_by_side, total_variance
from rmgl.views.views import Views

MOST_SQUARE_BYTES = 1 << 30
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
        if views.relations:
            return cls(views, None)
        certain = all(isinstance(how, int) or (isinstance(how, str) and how == "all") for how in wanted)
        if not certain or not fits(views):
            return cls(views, None)
        return cls(views, team(lambda X, check: Square.of(X, team.in_parts, check), views.matrices))

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The views that are put side by side: all that have distances between any two entities, so not the networks."""
        return tuple(view for view in range(len(self.views.names)) if self.views.relation(view) is None)

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
        own = [self.views.own(view) for view in self.members] if self.smoothing is None else self.smoothing.matrices
        return tuple(1 / float(np.sqrt(total_variance(X))) for X in own)

    def of_entities(self, entities: NDArray[np.intp]) -> Spaces:
        """The spaces of some of the entities."""
        squares = None if self.squares is None else [square.among(entities) for square in self.squares]
        return Spaces(self.views.of_entities(entities), squares)

    def own(self, view: int) -> Space:
        """The space of a view, without the entities that are missing from it."""
        rows = self.views.observed_rows(view)
        return Rows.of(self.views.own(view)) if self.squares is None else self.squares[view].among(rows)

    @cached_property
    def together(self) -> Space:
        """The space of all views side by side, with rows of zeros for what is missing."""
        if self.squares is None:
            own = [self.views.matrices[view] for view in self.members] if self.smoothing is None else self.smoothing.matrices
            return Rows.of(side_by_side([factor * X for X, factor in zip(own, self.factors, strict=True)]))
        total = np.zeros((self.views.n_rows, self.views.n_rows))
        for square, factor in zip(self.squares, self.factors, strict=True):
            total += factor**2 * square.distances
        return Square(total)


def fits(views: Views) -> bool:
    """Whether all distances, in every view and in all views side by side, take little more memory than the rows, and there is room."""
    needed = 8 * (len(views.names) + 2) * views.n_rows**2
    available = available_memory()
    return views.wide and needed <= MOST_SQUARE_BYTES and (available is None or needed <= MOST_SHARE * available)
