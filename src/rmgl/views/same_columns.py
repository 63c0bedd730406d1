"""Match the columns of new rows to the fitted columns by name.

A fitted column missing from the new rows becomes a column of missing cells, and a column not seen
during fit is ignored. One warning for all views reports each case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.matrix import as_dense
from rmgl.running.progress import warn_caller
from rmgl.running.threads import require_memory
from rmgl.views.encoding import listed
from rmgl.views.features import FeatureView
from rmgl.views.view import View

MOST_ABSENT = 0.5
"""Maximum share of a view's columns that may be missing from new rows."""


@dataclass(frozen=True)
class Match:
    """Columns of new rows in one view, compared with the columns seen during fit."""

    view: str
    known: tuple[str, ...]
    """Columns seen during fit."""
    places: NDArray[np.intp]
    """Position of each fitted column among the columns of the new rows, -1 if it is absent."""
    further: tuple[str, ...]
    """Columns of the new rows that were not seen during fit."""

    @property
    def absent(self) -> tuple[str, ...]:
        """Fitted columns that are missing from the new rows."""
        return tuple(self.known[at] for at in np.flatnonzero(self.places < 0))


@dataclass(frozen=True)
class NewRows:
    """New rows of one fitted view, and the names of their columns."""

    view: View
    """Fitted view."""
    given: Any
    known: tuple[str, ...] | None
    """Names of the fitted columns. None if they have no names."""
    names: tuple[str, ...] | None
    """Names of the columns of the new rows."""
    pick: Callable[[Any, Match], Any]
    """Function pick(given, match) that returns the new rows with the fitted columns, in order."""

    @classmethod
    def of_table(cls, view: View, X: Any, names: tuple[str, ...] | None = None) -> NewRows:
        """Return new rows from a table, or from an array with column names."""
        return cls(view, X, view.given_columns, names or names_of(view, X), at)

    @classmethod
    def of_view(cls, view: View, rows: View) -> NewRows:
        """Return new rows that are already numbers."""
        same_kind = (view.encoding is None) == (rows.encoding is None)
        known = view.columns if same_kind else None
        return cls(view, rows, known, rows.columns, of_view_at)

    def match(self) -> Match | None:
        """Find the fitted columns among the columns of the new rows.

        Returns None if they are the same, or if names are missing or not unique. Columns are then
        matched by position.
        """
        known, names, view = self.known, self.names, self.view
        if known is None or names is None or names == known:
            return None
        wanted, place = set(known), {name: at for at, name in enumerate(names)}
        if len(wanted) < len(known):
            return None
        twice = (name for at, name in enumerate(names) if place[name] != at and name in wanted)
        repeated = next(twice, None)
        if repeated is not None:
            raise ValueError(
                f"view {view.name!r}: column {repeated!r} occurs more than once in the new rows: "
                "leave out all but one of them"
            )
        places = np.array([place.get(name, -1) for name in known], dtype=np.intp)
        expected = wanted.union(view.unused_columns)
        further = tuple(name for name in place if name not in expected)
        found = Match(view.name, known, places, further)
        if len(found.absent) > MOST_ABSENT * len(known):
            raise ValueError(
                f"view {view.name!r}: more than half of the columns seen during fit are missing "
                f"from the new rows ({len(found.absent):,} of {len(known):,}: "
                f"{listed(found.absent)}): leave the view out, or use the column names from the fit"
            )
        return found


def names_of(view: View, X: Any) -> tuple[str, ...] | None:
    """Return the column names of a table in the form recorded by the fit."""
    columns = tuple(getattr(X, "columns", ()))
    if not columns or (view.encoding is None and not all(isinstance(c, str) for c in columns)):
        return None
    return tuple(map(str, columns))


def with_fitted_columns(given: Iterable[NewRows]) -> list[Any]:
    """Return new rows with the fitted columns, in order, and warn about differences."""
    rows, matches = list[Any](), list[Match]()
    for new in given:
        found = new.match()
        rows.append(new.given if found is None else new.pick(new.given, found))
        matches += [] if found is None else [found]
    tell(matches)
    return rows


def at(X: Any, found: Match) -> Any:
    """Return the columns of a table or matrix in fitted order, with NaN for missing columns."""
    there = found.places >= 0
    if hasattr(X, "iloc"):
        table = X.iloc[:, found.places[there]]
        if there.all():
            return table.set_axis(list(found.known), axis=1)
        dense = table.sparse.to_dense() if hasattr(table, "sparse") else table
        names = [found.known[place] for place in np.flatnonzero(there)]
        return dense.set_axis(names, axis=1).reindex(columns=list(found.known))
    if there.all():
        return X[:, found.places]
    require_memory(8 * X.shape[0] * len(found.known), f"view {found.view!r}: rows with NaN")
    filled = np.full((X.shape[0], len(found.known)), np.nan)
    picked = X[:, found.places[there]]
    filled[:, there] = picked.toarray() if sparse.issparse(picked) else picked
    return filled


def of_view_at(rows: View, found: Match) -> FeatureView:
    """Return new rows in the order of the fit, with missing cells for missing columns."""
    features = rows.features
    assert features is not None, "only rows of features have column names"
    there, places = found.places >= 0, np.maximum(found.places, 0)
    matrix, gaps = features.matrix[:, places], features.gaps
    gaps = None if gaps is None else gaps[:, places]
    if not there.all():
        require_memory(8 * rows.n_rows * there.size, f"view {found.view!r}: rows with gaps")
        matrix = as_dense(matrix) * there
        gaps = np.zeros(matrix.shape, dtype=bool) if gaps is None else gaps
        gaps = (gaps | ~there) & rows.mask[:, None]
    return replace(features, matrix=matrix, gaps=gaps, columns=found.known)


def tell(matches: Sequence[Match]) -> None:
    """Warn about missing and additional columns, once for all views."""
    lacking = [found for found in matches if found.absent]
    if lacking:
        views = "; ".join(
            f"{len(found.absent):,} of {len(found.known):,} in view {found.view!r} "
            f"({listed(found.absent)})"
            for found in lacking
        )
        warn_caller(
            "columns seen during fit are missing from the new rows and count as missing cells: "
            f"{views}"
        )
    longer = [found for found in matches if found.further]
    if longer:
        views = "; ".join(
            f"{len(found.further):,} in view {found.view!r} ({listed(found.further)})"
            for found in longer
        )
        warn_caller(f"columns of the new rows that were not seen during fit are ignored: {views}")
