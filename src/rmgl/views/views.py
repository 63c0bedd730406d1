"""The class `Views`: the labels of the entities and a tuple of views of them, checked, named and scaled."""

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
from rmgl.views.check_view import NUMBERS, check_same_rows, check_view, column_names, has_row_labels, is_given_view
from rmgl.views.collecting import matched, named_inputs
from rmgl.views.columns import Encoding
from rmgl.views.incomplete import check_observed, named_rows, refuse_gaps
from rmgl.views.jaccard import JaccardView
from rmgl.views.per_view import per_view
from rmgl.views.scaling import METRICS, SCALES
from rmgl.views.square import looks_like_network
from rmgl.views.view import Indices, View

MOSTLY_ZEROS = 0.9
"""Share of zeros beyond which a matrix with fewer rows than columns is stored as a sparse one,"""
NEARLY_ALL_ZEROS = 0.97
"""and any matrix, if all others are like it."""
DISTANCES: dict[str, Callable[[View, int], View]] = {"jaccard": JaccardView.of_rows}
"""Metrics that are no Euclidean distances of transformed rows: make(view, n_views) makes a view of distances from one of rows."""


@record
@dataclass(frozen=True)
class Views:
    """Views of the same entities. It never writes to the caller's data.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views.of({"height": np.ones((4, 2)), "color": np.eye(4)})
    >>> views.names, views.n_rows, views.n_features, views["color"].n_own
    (('height', 'color'), 4, 6, 4)
    """

    views: tuple[View, ...]
    index: NDArray[Any] | None = None
    """Labels of the entities, or None if they have none."""

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
        """Make views from a list, tuple or dict of 2-D inputs, or from one 2-D input and its column `blocks`.

        Rows that are NaN in every column, or False in the masks `observed`, are missing from their view. `align` matches tables by their
        row labels: "outer" keeps every entity of any table, "inner" those of all tables. A view needs at least `least` rows, and every
        entity some view, unless `everyone` is False. `index` and `columns` name the rows and columns of arrays, which have no names of
        their own. Single cells that are NaN are missing. Columns of tables that are not numbers become numbers (`rmgl.views.columns`): by
        the `encodings` of the views of a fit, if given.
        """
        if isinstance(data, Views):
            refuse_options({"observed": observed, "align": align, "views": blocks})
            return data.checked(least, everyone)
        named = named_inputs(data, blocks)
        if align is not None and observed is not None:
            raise ValueError("observed= cannot be combined with align=, which changes the order of the rows: use one of them")
        named, index = matched(named, align, index)
        masks = check_observed(observed, [name for name, _ in named], next((X.index for _, X in named if has_row_labels(X)), None))
        fitted = {} if encodings is None else {name: NUMBERS if how is None else how for name, how in encodings.items()}
        found: list[View] = [
            X.to_view(name, mask) if is_given_view(X) else check_view(name, X, mask, least, fitted.get(name))
            for (name, X), mask in zip(named, masks, strict=True)
        ]
        check_same_rows(named, [view.n_rows for view in found])
        views = cls(tuple(found), index).with_columns(columns or column_names(named))
        views.check_entities(least, everyone)
        return views

    def checked(self, least: int = 2, everyone: bool = True) -> Views:
        """Check views that users pass back, whose arrays may have been changed since, and return them."""
        self.check()
        self.check_entities(least, everyone)
        return self

    def check(self, most: float = np.inf) -> None:
        """Raise `Unsound` unless every view is sound, and no number is above `most`."""
        if not self.views or len(set(self.names)) < len(self.views):
            raise Unsound(f"the views {list(self.names)} are none, or two of them have the same name")
        for view in self:
            view.check(self.n_rows, most)

    def check_entities(self, least: int = 2, everyone: bool = True) -> None:
        """Check that every view has at least `least` entities and, if `everyone` has to be in some view, that no entity is in none."""
        for view in self:
            if view.entities is not None and view.n_own < least:
                raise ValueError(
                    f"view {view.name!r} has {view.n_own} row(s) that are not missing, but needs at least {least}: leave the view out"
                )
        in_none = self.in_none
        if everyone and in_none.size:
            raise ValueError(f"{named_rows(in_none, self.index)} missing from every view, but an entity must be in at least one: drop it")

    # The views

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, view: int | str) -> View:
        """A view by its place or name."""
        return self.views[self.names.index(view) if isinstance(view, str) else view]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(view.name for view in self.views)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """What the views hold, one row for each entity."""
        return tuple(view.matrix for view in self.views)

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return self.views[0].n_rows

    @property
    def n_features(self) -> int:
        """Number of columns of all views of features together."""
        return sum(view.rows.shape[1] for view in self if view.rows is not None)

    @property
    def all_rows(self) -> bool:
        """Whether every view has rows of features."""
        return all(view.rows is not None for view in self)

    @property
    def has_gaps(self) -> bool:
        """Whether cells of some view are missing."""
        return any(view.gaps is not None for view in self)

    @property
    def graphs(self) -> tuple[int, ...]:
        """The places of the views that are graphs."""
        return tuple(place for place, view in enumerate(self) if view.graph is not None)

    @property
    def recognized(self) -> tuple[str, ...]:
        """The names of views that were given as features and look like networks."""
        return tuple(view.name for view in self if view.rows is not None and looks_like_network(view.rows))

    @property
    def complete(self) -> bool:
        """Whether every view has all entities."""
        return all(view.entities is None for view in self)

    @property
    def in_all(self) -> Indices:
        """The entities that are in all views."""
        return np.flatnonzero(np.all([view.mask for view in self], axis=0))

    @property
    def in_none(self) -> Indices:
        """The entities that are in no view."""
        return np.flatnonzero(~np.any([view.mask for view in self], axis=0))

    @property
    def n_missing(self) -> tuple[int, ...]:
        """Number of entities missing from each view, not counting its rows of zeros."""
        return tuple(view.n_missing for view in self)

    def refuse_gaps(self, advice: str) -> None:
        """Raise a ValueError if single cells are missing; `advice` says what else can be done."""
        for view in self:
            refuse_gaps(view.name, view.gaps, advice)

    # Other views from these

    def each(self, change: Callable[[View], View]) -> Views:
        """The views, each changed."""
        return replace(self, views=tuple(map(change, self.views)))

    def of_entities(self, entities: Indices) -> Views:
        """The views of some of the entities."""
        return replace(self.each(lambda view: view.of(entities)), index=None if self.index is None else self.index[entities])

    def in_order(self, order: Indices) -> Views:
        """The views with their entities in another order: the first is the one that is number order[0] now."""
        return replace(self.each(lambda view: view.in_order(order)), index=None if self.index is None else self.index[order])

    def of_views(self, some: Sequence[int]) -> Views:
        """Some of the views."""
        return replace(self, views=tuple(self.views[view] for view in some))

    def beside(self, others: Views) -> Views:
        """These views, followed by others of the same entities."""
        return replace(self, views=(*self.views, *others.views))

    def with_fields(self, field: str, values: Sequence[Any]) -> Views:
        """The views with another value of one of their fields each."""
        return replace(self, views=tuple(replace(view, **{field: value}) for view, value in zip(self.views, values, strict=True)))

    def with_columns(self, columns: Sequence[tuple[str, ...] | None]) -> Views:
        """The views with names of their columns (None: there are none), where these have no names already; empty if no view has any."""
        own = columns or [None] * len(self)
        return replace(self, views=tuple(view.with_columns(names) for view, names in zip(self.views, own, strict=True)))

    def without_empty_rows(self) -> Views:
        """Take rows of zeros as missing, where that is what they mean; a row that is zero in every view is kept."""
        filled = [view.filled for view in self]
        anywhere = np.any(filled, axis=0)
        return replace(self, views=tuple(view.without_empty(own, anywhere) for view, own in zip(self.views, filled, strict=True)))

    @property
    def wide(self) -> bool:
        """Whether there are fewer rows than columns, so that all distances between rows take less memory than the rows."""
        return self.n_rows <= self.n_features

    def compressed(self) -> Views:
        """Store rows that are mostly zeros as sparse ones: distances are the same, and take less time.

        Where rows are more than columns, all matrices must be, and nearly all zeros: products of single rows are slow then.
        """
        zeros = [share_of_zeros(view) for view in self]
        shares = [share for share in zeros if share is not None]
        if not shares or (not self.wide and min(shares) <= NEARLY_ALL_ZEROS):
            return self
        return replace(
            self,
            views=tuple(
                replace(view, matrix=sparse.csr_array(view.matrix)) if share is not None and share > MOSTLY_ZEROS else view
                for view, share in zip(self.views, zeros, strict=True)
            ),
        )

    # Scales and metrics, which users give once for all views, or once per view

    def scaled(self, scale: Any) -> Views:
        """Scale the views by `scale`: "auto", one of the names in `rmgl.views.scaling.SCALES`, or one of these per view."""
        return self.scaled_as([how for how, _ in self.choose_scales(scale)])

    def scaled_as(self, scales: Sequence[str]) -> Views:
        """Scale the observed rows of each view by the scale of that name."""
        return replace(self, views=tuple(view.scaled(how) for view, how in zip(self.views, scales, strict=True)))

    def with_metrics(self, metric: Any) -> Views:
        """Take the distances of metrics that are no Euclidean ones; other metrics are a matter of scaling."""
        metrics = zip(self.views, self.check_metrics(metric), strict=True)
        made = (view if how not in DISTANCES or view.rows is None else DISTANCES[how](view, len(self)) for view, how in metrics)
        return replace(self, views=tuple(made))

    def check_metrics(self, metric: Any) -> list[str]:
        """The name of the metric of each view."""
        metrics = per_view(metric, self.names, "metric")
        for view, how in zip(self.views, metrics, strict=True):
            if not isinstance(how, str) or how not in ("euclidean", *DISTANCES, *METRICS):
                known = ", ".join(map(repr, ("euclidean", *METRICS, *DISTANCES)))
                raise ValueError(
                    f"metric={how!r} for view {view.name!r} is not known: use one of {known}, or rmgl.Precomputed for any other"
                )
            view.check_metric(how, isinstance(metric, Mapping))
        return metrics

    def scales_for(self, scale: Any, metric: Any) -> list[Any]:
        """What the scale of each view is to be, or the metric that takes its place."""
        found = per_view(scale, self.names, "scale")
        for place, how in enumerate(self.check_metrics(metric)):
            if how == "euclidean" or self[place].rows is None:
                continue
            if found[place] not in ("auto", how):
                raise ValueError(
                    f"scale={found[place]!r} and metric={how!r} are both given for view {self.names[place]!r}: the metric takes the place "
                    "of scaling; leave scale at 'auto'"
                )
            found[place] = how
        return found

    def choose_scales(self, scale: Any) -> list[tuple[str, str]]:
        """The name of the scale of each view, and why it was chosen."""
        scales = self.asked_scales(scale)
        for view, how in zip(self.views, scales, strict=True) if isinstance(scale, Mapping) else ():
            view.check_scale(how)
        return [view.choose_scale(how) for view, how in zip(self.views, scales, strict=True)]

    def asked_scales(self, scale: Any) -> list[str]:
        """What `scale` asks for in each view, which may be "auto"."""
        scales = per_view(scale, self.names, "scale")
        for name, how in zip(self.names, scales, strict=True):
            if not isinstance(how, str) or how not in (*SCALES, *METRICS, "auto"):
                known = ", ".join(map(repr, ("auto", *SCALES)))
                raise ValueError(f"scale={how!r} for view {name!r} is not known: use one of {known}")
        return list(scales)


def refuse_options(options: Mapping[str, Any]) -> None:
    """Raise a ValueError if an option is given that only arrays and tables have a use for."""
    given = [f"{name}=" for name, value in options.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} is for arrays and tables, but the input is a Views, which includes it already: leave {given[0]} out")


def share_of_zeros(view: View) -> float | None:
    """The share of zeros in the rows of a view, which count as none where cells are missing (None: the view has no rows)."""
    if view.rows is None or view.gaps is not None:
        return None if view.rows is None else 0.0
    return 1.0 if sparse.issparse(view.rows) else 1 - np.count_nonzero(view.rows) / view.rows.size
