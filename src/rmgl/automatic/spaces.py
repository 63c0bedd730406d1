"""Spaces in which layers are learned: one per view, and the space of the concatenated views, each
divided by its spread.
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
    """Spaces of scaled views."""

    views: Views
    squares: Sequence[Any] | None
    """Space of all rows of every view, including entities that are missing from it. None if there
    are too many rows.
    """
    few_entities: int = field(default=FEW_ENTITIES, kw_only=True)
    """Number of entities below which the reliability of a view is in doubt."""

    @classmethod
    def of(cls, views: Views, wanted: Sequence[Any], team: Team) -> Spaces:
        """Compute all distances if they fit in memory and the `wanted` candidates are exact, and
        always for views that have distances but no rows.
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
        """Positions of the views to concatenate: all views with distances between any two entities,
        which excludes networks.
        """
        return tuple(place for place, view in enumerate(self.views) if view.comparable)

    @cached_property
    def of_members(self) -> Views:
        """Views to concatenate."""
        return self.views.of_views(self.members)

    @cached_property
    def smoothing(self) -> Smoothing | None:
        """Rows of the members smoothed over the networks. None if no network agrees with the rows,
        or if the smoothed rows do not fit in memory.
        """
        return Smoothing.along(self.views, self.members)

    @cached_property
    def parts(self) -> Floats:
        """How much weight each view has, based on its reliability relative to the most reliable
        view.

        A view without columns, such as a network, has full weight. If there are few entities, a
        view that may be reliable has partial weight (`rmgl.automatic.small`).
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
        """Total variance of each member."""
        if self.smoothing is not None:
            return tuple(total_variance(Y) for Y in self.smoothing.matrices)
        return tuple(self.views[view].variance() for view in self.members)

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """Factor of each member in the concatenated views, which makes its total variance equal to
        its part.
        """
        wanted = self.parts[list(self.members)]
        return tuple(np.sqrt(wanted / self.variances).tolist())

    def of_entities(self, entities: Indices) -> Spaces:
        """Return the spaces restricted to these entities."""
        squares = (
            None if self.squares is None else [square.among(entities) for square in self.squares]
        )
        views = self.views.of_entities(entities)
        return Spaces(views, squares, few_entities=self.few_entities)

    def own(self, view: int) -> Space:
        """Return the space of a view, without the entities that are missing from it."""
        if self.squares is None or self.squares[view] is None:
            return self.views[view].space()
        own: Square = self.squares[view].among(self.views[view].entities)
        return own

    def square(self, view: int) -> Square:
        """Return the distances between all rows of a member, including entities that are missing
        from it.
        """
        found: Square | None = (
            self.views[view].square() if self.squares is None else self.squares[view]
        )
        assert found is not None
        return found

    @cached_property
    def together(self) -> Space:
        """Return the space of the concatenated views, with rows of zeros for missing entities."""
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
    """Return all distances in every view, including missing entities. None for views in which some
    pairs have no distance.
    """
    return team(lambda view, check: view.square(team.in_parts, check), list(views))


def fits(views: Views) -> bool:
    """Return whether all distances, in every view and in the concatenated views, need little more
    memory than the rows, and whether enough memory is available.

    If cells are missing, the distances are allowed to need much more memory than the rows, because
    recomputing them is expensive.
    """
    needed = 8 * (len(views.names) + 2) * views.n_rows**2
    return (views.wide or views.has_gaps) and needed <= MOST_SQUARE_BYTES and is_small(needed)
