"""The spaces that layers are learned in: that of every view, and that of all views side by side,
each divided by its spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rmgl.automatic.small import FEW_ENTITIES, doubt_of, undecided
from rmgl.automatic.smoothing import Smoothing
from rmgl.edges.space import Rows, Space, Square, Summed
from rmgl.matrix import Floats, Indices, side_by_side, total_variance
from rmgl.running.threads import Team, is_small, require_memory
from rmgl.views.halves import SURE, parts_by
from rmgl.views.views import Views

MOST_SQUARE_BYTES = 1 << 30


@dataclass(frozen=True)
class Spaces:
    """The spaces of views whose rows are scaled already."""

    views: Views
    squares: Sequence[Any] | None
    """The space of all rows of every view, rows that are missing from it included; None if rows are
    too many.
    """
    few_entities: int = field(default=FEW_ENTITIES, kw_only=True)
    """Number of entities below which it is in doubt whether a view is reliable."""

    @classmethod
    def of(cls, views: Views, wanted: Sequence[Any], team: Team) -> Spaces:
        """Compute all distances, if they fit into memory and the candidates that are `wanted` are
        certain.
        """
        if any(view.comparable and view.rows is None for view in views):
            require_memory(
                8 * (len(views.names) + 2) * views.n_rows**2,
                "all distances in every view",
                "leave views out, or use fewer rows",
            )
            return cls(views, squares_of(views, team))
        if not views.all_rows:
            return cls(views, None)
        certain = all(
            isinstance(how, int) or (isinstance(how, str) and how == "all") for how in wanted
        )
        if not certain or not fits(views):
            return cls(views, None)
        return cls(views, squares_of(views, team))

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The views that are put side by side: all that have distances between any two entities, so
        not the networks.
        """
        return tuple(place for place, view in enumerate(self.views) if view.comparable)

    @cached_property
    def of_members(self) -> Views:
        """The views that are put side by side."""
        return self.views.of_views(self.members)

    @cached_property
    def smoothing(self) -> Smoothing | None:
        """The rows of the members smoothed along the networks, if these follow the rows, which fit
        into memory.
        """
        return Smoothing.along(self.views, self.members)

    @cached_property
    def parts(self) -> Floats:
        """What each view counts for, by its reliability beside that of the most reliable one.

        A view without columns, such as a network, counts in full. Where entities are few, a view
        that may be reliable counts for something (`rmgl.automatic.small`).
        """
        if len(self.views) == 1:
            return np.ones(1)
        halves = [view.halves() for view in self.views]
        known = [None if half is None else half.reliability() for half in halves]
        best = max((value for value in known if value is not None), default=0.0)
        parts = parts_by(np.array([best if value is None else value for value in known]), best)
        doubt = doubt_of(self.views.n_rows, self.few_entities)
        if doubt == 0:
            return parts
        deviations = [SURE if half is None else half.deviations() for half in halves]
        return np.maximum(parts, doubt * undecided(np.array(deviations)))

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The total variance of every member."""
        if self.smoothing is not None:
            return tuple(total_variance(Y) for Y in self.smoothing.matrices)
        return tuple(self.views[view].variance() for view in self.members)

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """What each member is multiplied by before it is put beside the others: its total variance
        is its part then.
        """
        wanted = self.parts[list(self.members)]
        return tuple(np.sqrt(wanted / self.variances).tolist())

    def of_entities(self, entities: Indices) -> Spaces:
        """The spaces of some of the entities."""
        squares = (
            None if self.squares is None else [square.among(entities) for square in self.squares]
        )
        views = self.views.of_entities(entities)
        return Spaces(views, squares, few_entities=self.few_entities)

    def own(self, view: int) -> Space:
        """The space of a view, without the entities that are missing from it."""
        if self.squares is None or self.squares[view] is None:
            return self.views[view].space()
        own: Square = self.squares[view].among(self.views[view].entities)
        return own

    def square(self, view: int) -> Square:
        """All distances of all rows of a member, rows that are missing from it included."""
        found: Square | None = (
            self.views[view].square() if self.squares is None else self.squares[view]
        )
        assert found is not None
        return found

    @cached_property
    def together(self) -> Space:
        """The space of all views side by side, with rows of zeros for what is missing."""
        if self.squares is None and self.views.has_gaps:
            return Summed([self.views[view].gapped() for view in self.members], self.factors)
        if self.squares is None:
            own = (
                [self.views.matrices[view] for view in self.members]
                if self.smoothing is None
                else self.smoothing.matrices
            )
            return Rows.of(
                side_by_side([factor * X for X, factor in zip(own, self.factors, strict=True)])
            )
        total = np.zeros((self.views.n_rows, self.views.n_rows))
        for view, factor in zip(self.members, self.factors, strict=True):
            total += factor**2 * self.squares[view].distances
        return Square(total)


def squares_of(views: Views, team: Team) -> list[Square | None]:
    """All distances in every view, missing entities included; None where some pairs have none."""
    return team(lambda view, check: view.square(team.in_parts, check), list(views))


def fits(views: Views) -> bool:
    """Whether all distances, in every view and in all views side by side, take little more memory
    than the rows, and there is room.

    Where cells are missing, they may take more: they are costly to compute again.
    """
    needed = 8 * (len(views.names) + 2) * views.n_rows**2
    return (views.wide or views.has_gaps) and needed <= MOST_SQUARE_BYTES and is_small(needed)
