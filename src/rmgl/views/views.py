"""`Views`: the labels of the entities and a tuple of their views, checked, named and scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound
from rmgl.matrix import Matrix
from rmgl.views.check_view import (
    NUMBERS,
    check_same_rows,
    check_view,
    column_names,
    has_row_labels,
    is_given_view,
    matched,
    named_inputs,
    per_view,
)
from rmgl.views.encoding import Encoding
from rmgl.views.incomplete import check_observed, named_rows, refuse_gaps
from rmgl.views.jaccard import JaccardView
from rmgl.views.network import looks_like_network
from rmgl.views.scaling import METRICS, SCALES
from rmgl.views.view import Indices, View

MOSTLY_ZEROS = 0.9
"""Share of zeros beyond which a matrix with fewer rows than columns is stored as sparse."""
NEARLY_ALL_ZEROS = 0.97
"""Share of zeros in all matrices beyond which those with more rows than columns are stored as
sparse.
"""
DISTANCES: dict[str, Callable[[View, int], View]] = {"jaccard": JaccardView.of_rows}
"""Metrics that are not Euclidean distances of transformed rows.

Function make(view, n_views) that creates a view of distances from a view of rows.
"""


@record
@dataclass(frozen=True)
class Views:
    """Views of the same entities. They never modify the caller's data.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"height": np.ones((4, 2)), "color": np.eye(4)})
    >>> views.names, views.n_rows, views.n_features, views["color"].n_own
    (('height', 'color'), 4, 6, 4)
    """

    views: tuple[View, ...]
    index: NDArray[Any] | None = None
    """Labels of the entities. None if they have none."""

    @classmethod
    def of(
        cls,
        data: Any,
        blocks: Any = None,
        *,
        align: str | None = None,
        observed: Any = None,
        least: int = 2,
        everyone: bool = True,
        index: NDArray[Any] | None = None,
        columns: Sequence[tuple[str, ...] | None] = (),
        encodings: Mapping[str, Encoding | None] | None = None,
    ) -> Views:
        """Create views from a list, tuple or dict of 2-D inputs, or from column `blocks` of one
        input.

        Rows that are NaN in every column, or False in the masks `observed`, are treated as missing
        from their view, and so are individual cells that are NaN. `align` matches tables by their
        row labels: "outer" keeps the entities in any table, and "inner" keeps those in all tables.
        A view needs at least `least` rows. Unless `everyone` is False, every entity must be in at
        least one view. `index` and `columns` name the rows and columns of arrays, which have no
        names of their own. Table columns that are not numeric are encoded (`rmgl.views.encoding`),
        with the `encodings` of fitted views, if specified.
        """
        if isinstance(data, Views):
            refuse_options({"observed": observed, "align": align, "views": blocks})
            return data.checked(least, everyone)
        named = named_inputs(data, blocks)
        if align is not None and observed is not None:
            raise ValueError(
                "observed= cannot be combined with align=, which changes the order of "
                "the rows; use one of them"
            )
        named, index = matched(named, align, index)
        labels = next((X.index for _, X in named if has_row_labels(X)), None)
        masks = check_observed(observed, [name for name, _ in named], labels)
        checked = list[View]()
        for (name, X), mask in zip(named, masks, strict=True):
            if is_given_view(X):
                checked.append(X.to_view(name, mask))
                continue
            encoding = None
            if encodings is not None and name in encodings:
                encoding = encodings[name] or NUMBERS
            checked.append(check_view(name, X, mask, least, encoding, encodings is not None))
        check_same_rows(named, [view.n_rows for view in checked])
        views = cls(tuple(checked), index).with_columns(columns or column_names(named))
        views.check_entities(least, everyone)
        return views

    def checked(self, least: int = 2, everyone: bool = True) -> Views:
        """Check and return views that users pass back, because their arrays may have changed."""
        self.check()
        self.check_entities(least, everyone)
        return self

    def check(self, most: float = np.inf) -> None:
        """Raise `Unsound` unless every view is valid and no number is above `most`."""
        if not self.views or len(set(self.names)) < len(self.views):
            raise Unsound(
                f"there are no views, or two views have the same name: {list(self.names)}"
            )
        for view in self:
            view.check(self.n_rows, most)

    def check_entities(self, least: int = 2, everyone: bool = True) -> None:
        """Check that every view has at least `least` entities and, with `everyone`, that every
        entity is in a view.
        """
        for view in self:
            if view.entities is not None and view.n_own < least:
                raise ValueError(
                    f"view {view.name!r} has too few rows that are not missing ({view.n_own}; "
                    f"at least {least} are required): leave the view out"
                )
        in_none = self.in_none
        if everyone and in_none.size:
            raise ValueError(
                f"{named_rows(in_none, self.index)} missing from every view, but an entity "
                "must be in at least one: drop such rows"
            )

    # The views

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, view: int | str) -> View:
        """Return a view by its position or name."""
        return self.views[self.names.index(view) if isinstance(view, str) else view]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(view.name for view in self.views)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """Matrices of the views, with one row per entity."""
        return tuple(view.matrix for view in self.views)

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return self.views[0].n_rows

    @property
    def n_features(self) -> int:
        """Total number of columns in all views of features."""
        return sum(view.rows.shape[1] for view in self if view.rows is not None)

    @property
    def all_rows(self) -> bool:
        """Whether every view has rows of features."""
        return all(view.rows is not None for view in self)

    @property
    def has_gaps(self) -> bool:
        """Whether cells are missing from any view."""
        return any(view.gaps is not None for view in self)

    @property
    def graphs(self) -> tuple[int, ...]:
        """Positions of the views that are graphs."""
        return tuple(place for place, view in enumerate(self) if view.graph is not None)

    @property
    def only_graphs(self) -> bool:
        """Whether all views are graphs, so nothing is learned from rows."""
        return len(self.graphs) == len(self.names)

    @property
    def recognized(self) -> tuple[str, ...]:
        """Names of views that were passed as features and look like networks."""
        return tuple(
            view.name for view in self if view.rows is not None and looks_like_network(view.rows)
        )

    @property
    def complete(self) -> bool:
        """Whether every view contains all entities."""
        return all(view.entities is None for view in self)

    @property
    def in_all(self) -> Indices:
        """Entities that are in all views."""
        return np.flatnonzero(np.all([view.mask for view in self], axis=0))

    @property
    def in_none(self) -> Indices:
        """Entities that are in no view."""
        return np.flatnonzero(~np.any([view.mask for view in self], axis=0))

    @property
    def n_missing(self) -> tuple[int, ...]:
        """Number of entities missing from each view, not counting rows of zeros."""
        return tuple(view.n_missing for view in self)

    def refuse_gaps(self, advice: str) -> None:
        """Raise a ValueError, with `advice` on what to do, if individual cells are missing."""
        for view in self:
            refuse_gaps(view.name, view.gaps, advice)

    # Derived views

    def each(self, change: Callable[..., View], *given: Sequence[Any]) -> Views:
        """Return the views, each changed with its entry in each of the `given` sequences."""
        changed = (change(*of_view) for of_view in zip(self.views, *given, strict=True))
        return replace(self, views=tuple(changed))

    def of_entities(self, entities: Indices) -> Views:
        """Return the views restricted to these entities."""
        index = None if self.index is None else self.index[entities]
        return replace(self.each(lambda view: view.of(entities)), index=index)

    def in_order(self, order: Indices) -> Views:
        """Return the views with the entities in another order: entity order[0] comes first."""
        index = None if self.index is None else self.index[order]
        return replace(self.each(lambda view: view.in_order(order)), index=index)

    def of_views(self, some: Sequence[int]) -> Views:
        """Return the views at these positions."""
        return replace(self, views=tuple(self.views[view] for view in some))

    def beside(self, others: Views) -> Views:
        """Return these views, followed by others of the same entities."""
        return replace(self, views=(*self.views, *others.views))

    def with_fields(self, field: str, values: Sequence[Any]) -> Views:
        """Return the views, each with a new value for one of its fields."""
        return self.each(lambda view, value: replace(view, **{field: value}), values)

    def with_columns(self, columns: Sequence[tuple[str, ...] | None]) -> Views:
        """Return the views with column names for those without (empty if no view has names)."""
        return self.each(lambda view, names: view.with_columns(names), columns) if columns else self

    def without_empty_rows(self) -> Views:
        """Return the views with rows of zeros treated as missing, if that is their meaning.

        A row that is zero in every view is kept.
        """
        filled = [view.filled for view in self]
        anywhere = np.any(filled, axis=0)
        return self.each(lambda view, here: view.without_empty(here, anywhere), filled)

    @property
    def wide(self) -> bool:
        """Whether there are fewer rows than columns: all distances then need less memory than the
        rows.
        """
        return self.n_rows <= self.n_features

    def compressed(self) -> Views:
        """Store rows that are mostly zeros as sparse, which gives the same distances in less time.

        If there are more rows than columns, all matrices must be nearly all zeros, because products
        of single rows are slow.
        """
        zeros = [share_of_zeros(view) for view in self]
        shares = [share for share in zeros if share is not None]
        if not shares or (not self.wide and min(shares) <= NEARLY_ALL_ZEROS):
            return self

        def compress(view: View, share: float | None) -> View:
            if share is None or share <= MOSTLY_ZEROS:
                return view
            return replace(view, matrix=sparse.csr_array(view.matrix))

        return self.each(compress, zeros)

    # Scales and metrics, specified once for all views, or once per view

    def scaled(self, scale: Any) -> Views:
        """Scale the views. `scale` is "auto", a name in `rmgl.views.scaling.SCALES`, or one name
        per view.
        """
        return self.scaled_as([how for how, _ in self.choose_scales(scale)])

    def scaled_as(self, scales: Sequence[str]) -> Views:
        """Scale the observed rows of each view to the named scale."""
        return self.each(lambda view, how: view.scaled(how), scales)

    def with_metrics(self, metric: Any) -> Views:
        """Return views of distances for metrics in `DISTANCES`. Other metrics are scalings."""

        def measured(view: View, how: str) -> View:
            has_rows = how in DISTANCES and view.rows is not None
            return DISTANCES[how](view, len(self)) if has_rows else view

        return self.each(measured, self.check_metrics(metric))

    def check_metrics(self, metric: Any) -> list[str]:
        """Return the name of the metric for each view."""
        metrics = per_view(metric, self.names, "metric")
        for view, how in zip(self.views, metrics, strict=True):
            if not isinstance(how, str) or how not in ("euclidean", *DISTANCES, *METRICS):
                known = ", ".join(map(repr, ("euclidean", *METRICS, *DISTANCES)))
                raise ValueError(
                    f"metric={how!r} for view {view.name!r} is unknown; use one of "
                    f"{known}, or rmgl.Precomputed for any other"
                )
            view.check_metric(how, isinstance(metric, Mapping))
        return metrics

    def scales_for(self, scale: Any, metric: Any) -> list[Any]:
        """Return the requested scale of each view, or the metric that replaces it."""
        scales = per_view(scale, self.names, "scale")
        for place, how in enumerate(self.check_metrics(metric)):
            if how == "euclidean" or self[place].rows is None:
                continue
            if scales[place] not in ("auto", how):
                raise ValueError(
                    f"scale={scales[place]!r} and metric={how!r} are both given for view "
                    f"{self.names[place]!r}, but a metric replaces the scaling: leave scale at "
                    "'auto'"
                )
            scales[place] = how
        return scales

    def choose_scales(self, scale: Any) -> list[tuple[str, str]]:
        """Return the name of each view's scale and the reason for it."""
        scales = self.asked_scales(scale)
        asked = list(zip(self.views, scales, strict=True))
        if isinstance(scale, Mapping):
            for view, how in asked:
                view.check_scale(how)
        return [view.choose_scale(how) for view, how in asked]

    def asked_scales(self, scale: Any) -> list[str]:
        """Return the requested scale of each view, which may be "auto"."""
        scales = per_view(scale, self.names, "scale")
        for name, how in zip(self.names, scales, strict=True):
            if not isinstance(how, str) or how not in (*SCALES, *METRICS, "auto"):
                known = ", ".join(map(repr, ("auto", *SCALES)))
                raise ValueError(f"scale={how!r} for view {name!r} is unknown; use one of {known}")
        return scales


def refuse_options(options: Mapping[str, Any]) -> None:
    """Raise a ValueError if any of these options, which are for arrays and tables, is set."""
    given = [f"{name}=" for name, value in options.items() if value is not None]
    if given:
        raise ValueError(
            f"{given[0]} applies to arrays and tables, but the input is a Views object that "
            f"already includes it: leave {given[0]} out"
        )


def share_of_zeros(view: View) -> float | None:
    """Return the share of zeros in the rows of a view. None if it has no rows.

    Rows with missing cells count as rows without zeros.
    """
    if view.rows is None or view.gaps is not None:
        return None if view.rows is None else 0.0
    return 1.0 if sparse.issparse(view.rows) else 1 - np.count_nonzero(view.rows) / view.rows.size
