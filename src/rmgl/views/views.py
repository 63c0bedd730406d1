"""The class `Views`: the data of users, checked, named and scaled. It never writes to the caller's data.

An entity may be missing from some views. Such a view holds a row of zeros in its place, and `present` lists the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.views.check_view import (
    check_same_rows,
    check_spread,
    check_view,
    column_names,
    has_row_labels,
    is_collection_of_views,
    row_labels,
)
from rmgl.views.column_blocks import split_columns
from rmgl.views.incomplete import aligned, check_observed, named_rows
from rmgl.views.matrix import Matrix, padded
from rmgl.views.per_view import per_view
from rmgl.views.scaling import SCALES, Scaler, choose_scale, fit_scaler

EMPTY_COLUMNS = 10
"""A row of zeros is taken as missing only in views of at least so many columns: in a narrow view zeros are ordinary values."""
LEAST_PRESENT = 0.2
"""Rows of zeros are not taken as missing where less than this share of a view's rows would remain."""

MOSTLY_ZEROS = 0.9
"""Share of zeros beyond which a matrix with fewer rows than columns is stored as a sparse one,"""
NEARLY_ALL_ZEROS = 0.97
"""and any matrix, if all others are like it."""


@record
@dataclass(frozen=True)
class Views:
    """Named matrices (dense float64, or CSR) with the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"height": np.ones((4, 2)), "color": np.eye(4)})
    >>> views.names, views.n_rows, views.n_features
    (('height', 'color'), 4, 6)
    """

    names: tuple[str, ...]
    matrices: tuple[Matrix, ...]
    present: tuple[NDArray[np.intp] | None, ...] = ()
    """Indices of the rows observed in each view (None: all); empty if every view is complete. The other rows are zero."""
    index: NDArray[Any] | None = None
    """Row labels, or None if the rows have none."""
    columns: tuple[tuple[str, ...] | None, ...] = ()
    """Column names of each view (None: it has none); empty if no view has any."""
    n_empty: tuple[int, ...] = ()
    """Number of rows of each view that are taken as missing because they hold only zeros; empty if there are none."""

    @classmethod
    def of(
        cls,
        data: Any,
        blocks: Any = None,
        *,
        align: str | None = None,
        observed: Any = None,
        least: int = 2,
        index: NDArray[Any] | None = None,
        columns: tuple[tuple[str, ...] | None, ...] = (),
    ) -> Views:
        """Make views from a list, tuple or dict of 2-D inputs, or from one 2-D input and its column `blocks`.

        Rows that are NaN in every column, or False in the masks `observed`, are missing from their view. `align` matches tables by their
        row labels: "outer" keeps every entity of any table, "inner" those of all tables. A view needs at least `least` rows.
        `index` and `columns` name the rows and columns of arrays, which have no names of their own.
        """
        if isinstance(data, Views):
            given = [f"{name}=" for name, value in (("observed", observed), ("align", align), ("views", blocks)) if value is not None]
            if given:
                raise ValueError(
                    f"{given[0]} is for arrays and tables, but the input is a Views, which includes it already: leave {given[0]} out"
                )
            return data.checked(least)
        if hasattr(data, "obs_names"):
            kind = "mudata(mdata)" if hasattr(data, "mod") else "anndata(adata, ['X', ...])"
            raise TypeError(f"the input is of type {type(data).__name__}, but arrays or tables were expected: use rmgl.from_{kind}")
        if is_collection_of_views(data):
            if blocks is not None:
                raise ValueError("views= describes the column blocks of one 2-D input, but several views were given: leave views=None")
            items = data.items() if isinstance(data, Mapping) else ((f"view_{m}", X) for m, X in enumerate(data))
            named = [(str(name), X) for name, X in items]
        elif blocks is None:
            named = [("view_0", data)]
        else:
            named = split_columns(data, blocks)
        names = tuple(name for name, _ in named)
        if not names:
            raise ValueError("no views were given: pass at least one 2-D array")
        if len(set(names)) < len(names):
            raise ValueError(f"view names must differ, but they are {list(names)}: rename the repeated ones")
        if align is not None:
            if observed is not None:
                raise ValueError("observed= cannot be combined with align=, which changes the order of the rows: use one of them")
            named = aligned(named, align)
        masks = check_observed(observed, names, next((X.index for _, X in named if has_row_labels(X)), None))
        checked = [check_view(name, X, mask, least) for (name, X), mask in zip(named, masks, strict=True)]
        matrices, present = tuple(X for X, _ in checked), tuple(rows for _, rows in checked)
        check_same_rows(named, matrices)
        present = present if any(rows is not None for rows in present) else ()
        views = cls(names, matrices, present, row_labels(named) if index is None else index, columns or column_names(named))
        views.check_entities(least)
        return views

    def checked(self, least: int = 2) -> Views:
        """Check views that users pass back, whose arrays may have been changed since, and return them."""
        for view, (name, X) in enumerate(zip(self.names, self.matrices, strict=True)):
            if sparse.issparse(X):
                sound_numbers(f"view {name!r}", sound_sparse(f"view {name!r}", X).data, (None,))
            else:
                sound_numbers(f"view {name!r}", X, (None, None))
            if X.shape[0] != self.n_rows:
                raise Unsound(
                    f"view {name!r} has {X.shape[0]} rows but view {self.names[0]!r} has {self.n_rows}: make the views again from your data"
                )
            if self.observed_rows(view) is not None:
                sound_indices(f"the observed rows of view {name!r}", self.observed_rows(view), self.n_rows)
        self.check_entities(least)
        return self

    def check_entities(self, least: int = 2) -> None:
        """Check that every entity is in some view, and that every view has at least `least` of them."""
        in_some_view = np.zeros(self.n_rows, dtype=bool)
        for view, name in enumerate(self.names):
            rows = self.observed_rows(view)
            if rows is not None and rows.size < least:
                raise ValueError(
                    f"view {name!r} has {rows.size} row(s) that are not missing, but needs at least {least}: leave the view out"
                )
            in_some_view[slice(None) if rows is None else rows] = True
        in_none = np.flatnonzero(~in_some_view)
        if in_none.size:
            raise ValueError(f"{named_rows(in_none, self.index)} missing from every view, but an entity must be in at least one: drop it")

    @property
    def n_rows(self) -> int:
        return int(self.matrices[0].shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of all views together."""
        return sum(X.shape[1] for X in self.matrices)

    @property
    def complete(self) -> bool:
        """Whether every view has all rows."""
        return all(rows is None for rows in self.present)

    def observed_rows(self, view: int) -> NDArray[np.intp] | None:
        """Indices of the rows observed in a view (None: all)."""
        return self.present[view] if self.present else None

    def mask(self, view: int) -> NDArray[np.bool_]:
        """Boolean mask of the rows observed in a view."""
        rows = self.observed_rows(view)
        present = np.full(self.n_rows, rows is None)
        present[slice(0) if rows is None else rows] = True
        return present

    def own(self, view: int) -> Matrix:
        """The matrix of a view without its missing rows."""
        rows = self.observed_rows(view)
        return self.matrices[view] if rows is None else self.matrices[view][rows]

    def of_entities(self, entities: NDArray[np.intp]) -> Views:
        """The views of some of the entities."""
        present = tuple(np.flatnonzero(self.mask(view)[entities]) for view in range(len(self.names)))
        present = () if all(rows.size == entities.size for rows in present) else present
        index = None if self.index is None else self.index[entities]
        return replace(self, matrices=tuple(X[entities] for X in self.matrices), present=present, index=index, n_empty=())

    @property
    def in_all(self) -> NDArray[np.intp]:
        """The entities that are in all views."""
        return np.flatnonzero(np.all([self.mask(view) for view in range(len(self.names))], axis=0))

    def without_empty_rows(self) -> Views:
        """Take rows of zeros as missing, in views of at least `EMPTY_COLUMNS` columns.

        A row that is zero in every view is kept, and so are all rows of a view of which less than the share `LEAST_PRESENT` would remain.
        """
        nonzero = [np.asarray((X != 0).sum(axis=1)).ravel() > 0 for X in self.matrices]
        nonzero_anywhere = np.any(nonzero, axis=0)
        present, n_empty = [], []
        for view, (X, filled) in enumerate(zip(self.matrices, nonzero, strict=True)):
            given = self.observed_rows(view)
            rows = np.arange(self.n_rows) if given is None else given
            left = rows[(filled | ~nonzero_anywhere)[rows]]
            drop = X.shape[1] >= EMPTY_COLUMNS and rows.size - left.size > 1 and left.size >= max(2, LEAST_PRESENT * rows.size)
            present.append(left if drop else given)
            n_empty.append(rows.size - left.size if drop else 0)
        if not any(n_empty):
            return self
        return replace(self, present=tuple(present), n_empty=tuple(n_empty))

    @property
    def wide(self) -> bool:
        """Whether there are fewer rows than columns, so that all distances between rows take less memory than the rows."""
        return self.n_rows <= self.n_features

    def compressed(self) -> Views:
        """Store matrices that are mostly zeros as sparse ones: distances are the same, and take less time.

        Where rows are more than columns, all matrices must be, and nearly all zeros: products of single rows are slow then.
        """
        zeros = [1.0 if sparse.issparse(X) else 1 - np.count_nonzero(X) / X.size for X in self.matrices]
        if not self.wide and min(zeros) <= NEARLY_ALL_ZEROS:
            return self
        matrices = [sparse.csr_array(X) if share > MOSTLY_ZEROS else X for X, share in zip(self.matrices, zeros, strict=True)]
        return replace(self, matrices=tuple(matrices))

    @property
    def n_missing(self) -> tuple[int, ...]:
        """Number of entities missing from each view, not counting its rows of zeros."""
        sizes = [self.n_rows if rows is None else rows.size for rows in map(self.observed_rows, range(len(self.names)))]
        return tuple(self.n_rows - size - empty for size, empty in zip(sizes, self.n_empty or [0] * len(sizes), strict=True))

    def scaled(self, scale: Any) -> Views:
        """Scale the views by `scale`: "auto", one of the names in `rmgl.views.scaling.SCALES`, or one of these per view."""
        return self.scaled_by(self.fit_scalers([how for how, _ in self.choose_scales(scale)]))

    def fit_scalers(self, scales: Sequence[str]) -> list[Scaler]:
        """Fit one scaler to the observed rows of each view."""
        return [self._apply(view, partial(fit_scaler, how)) for view, how in enumerate(scales)]

    def scaled_by(self, scalers: Sequence[Scaler], check: bool = True) -> Views:
        """Scale the views by fitted scalers. `check` refuses views that are constant, or too large or small to square."""
        matrices = tuple(self._apply(view, scaler) for view, scaler in enumerate(scalers))
        if check:
            for name, own, scaler in zip(self.names, matrices, scalers, strict=True):
                check_spread(name, own, scaler.name)
        return replace(self, matrices=tuple(self._padded(view, own) for view, own in enumerate(matrices)))

    def choose_scales(self, scale: Any) -> list[tuple[str, str]]:
        """The name of the scale of each view, and why it was chosen."""
        asked = self.asked_scales(scale)
        return [choose_scale(self.own(view)) if how == "auto" else (how, "given") for view, how in enumerate(asked)]

    def asked_scales(self, scale: Any) -> list[str]:
        """What `scale` asks for in each view, which may be "auto"."""
        scales = per_view(scale, self.names, "scale")
        for name, how in zip(self.names, scales, strict=True):
            if not isinstance(how, str) or how not in (*SCALES, "auto"):
                known = ", ".join(map(repr, ("auto", *SCALES)))
                raise ValueError(f"scale={how!r} for view {name!r} is not known: use one of {known}")
        return list(scales)

    def _apply(self, view: int, function: Callable[[Matrix], Any]) -> Any:
        """Apply a function to the observed rows of a view; its errors name the view."""
        try:
            return function(self.own(view))
        except ValueError as error:
            raise ValueError(f"view {self.names[view]!r} {error}") from error

    def _padded(self, view: int, own: Matrix) -> Matrix:
        rows = self.observed_rows(view)
        return own if rows is None else padded(own, rows, self.n_rows)
