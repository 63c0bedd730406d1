"""The class `Views`: the data of users, checked, named and scaled. It never writes to the caller's data.

An entity may be missing from some views. Such a view holds a row of zeros in its place, and `present` lists the other rows. Single cells
of a dense view may be missing, too: they are zero, and `gaps` marks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.checks import Unsound, sound_indices, sound_numbers, sound_sparse
from rmgl.views.check_view import (
    NUMBERS,
    check_same_rows,
    check_spread,
    check_square_view,
    check_view,
    column_names,
    has_row_labels,
    is_collection_of_views,
    is_square_view,
    row_labels,
)
from rmgl.views.column_blocks import split_columns
from rmgl.views.columns import Encoding, as_table, left_out_sentence
from rmgl.views.incomplete import aligned, check_observed, named_rows, refuse_gaps
from rmgl.views.jaccard import binary, distances_among
from rmgl.views.matrix import Matrix, padded, square_in_order
from rmgl.views.per_view import per_view
from rmgl.views.relations import Relation, looks_like_network
from rmgl.views.scaling import METRICS, SCALES, Scaler, choose_mixed, choose_scale, fit_mixed, fit_scaler

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
    gaps: tuple[NDArray[np.bool_] | None, ...] = ()
    """Which cells of each view are missing from observed rows (None: none); empty if no view has such cells. They are zero."""
    encodings: tuple[Encoding | None, ...] = ()
    """How the columns of each table became numbers (None: they were numbers); empty if all views are numbers."""
    relations: tuple[Relation | None, ...] = ()
    """How the square matrices of networks and distances are to be read (None: the view has rows of features); empty if all have rows."""

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
        columns: tuple[tuple[str, ...] | None, ...] = (),
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
            given = [f"{name}=" for name, value in (("observed", observed), ("align", align), ("views", blocks)) if value is not None]
            if given:
                raise ValueError(
                    f"{given[0]} is for arrays and tables, but the input is a Views, which includes it already: leave {given[0]} out"
                )
            return data.checked(least, everyone)
        if hasattr(data, "obs_names"):
            kind = "mudata(mdata)" if hasattr(data, "mod") else "anndata(adata, ['X', ...])"
            raise TypeError(f"the input is of type {type(data).__name__}, but arrays or tables were expected: use rmgl.from_{kind}")
        if is_collection_of_views(data):
            if blocks is not None:
                raise ValueError("views= describes the column blocks of one 2-D input, but several views were given: leave views=None")
            items = data.items() if isinstance(data, Mapping) else ((f"view_{m}", X) for m, X in enumerate(data))
            named = [(str(name), as_table(X)) for name, X in items]
        elif blocks is None:
            named = [("view_0", as_table(data))]
        else:
            named = split_columns(as_table(data), blocks)
        names = tuple(name for name, _ in named)
        if not names:
            raise ValueError("no views were given: pass at least one 2-D array")
        if len(set(names)) < len(names):
            raise ValueError(f"view names must differ, but they are {list(names)}: rename the repeated ones")
        if align is not None:
            if observed is not None:
                raise ValueError("observed= cannot be combined with align=, which changes the order of the rows: use one of them")
            tables = dict(aligned([(name, X) for name, X in named if not is_square_view(X)], align))
            named = [(name, tables.get(name, X)) for name, X in named]
        named, index = with_nodes_placed(named, index)
        labels = row_labels([(name, X) for name, X in named if not is_square_view(X)]) if index is None else index
        if labels is not None:
            named = [(name, X.in_order(name, labels) if hasattr(X, "in_order") else X) for name, X in named]
        masks = check_observed(observed, names, next((X.index for _, X in named if has_row_labels(X)), None))
        fitted = {} if encodings is None else {name: NUMBERS if how is None else how for name, how in encodings.items()}
        checked = [
            check_square_view(name, X, mask) if is_square_view(X) else check_view(name, X, mask, least, fitted.get(name))
            for (name, X), mask in zip(named, masks, strict=True)
        ]
        matrices = tuple(view.matrix for view in checked)
        check_same_rows(named, matrices)
        found = columns or column_names(named)
        if any(view.encoding for view in checked):
            own = [None if view.encoding is None else view.encoding.features for view in checked]
            found = tuple(features or names for features, names in zip(own, found or [None] * len(own), strict=True))
        views = cls(
            names,
            matrices,
            where_any(view.rows for view in checked),
            row_labels(named) if index is None else index,
            found,
            gaps=where_any(view.gaps for view in checked),
            encodings=where_any(view.encoding for view in checked),
            relations=where_any(view.relation for view in checked),
        )
        views.check_entities(least, everyone)
        return views

    def checked(self, least: int = 2, everyone: bool = True) -> Views:
        """Check views that users pass back, whose arrays may have been changed since, and return them."""
        if self.relations and len(self.relations) != len(self.names):
            raise Unsound(f"{len(self.relations)} kinds for {len(self.names)} views: make the views again from your data")
        for view, (name, X) in enumerate(zip(self.names, self.matrices, strict=True)):
            check_relation(name, X, self.relation(view), self.n_rows)
            if sparse.issparse(X):
                sound_numbers(f"view {name!r}", sound_sparse(f"view {name!r}", X).data, (None,))
            else:
                sound_numbers(f"view {name!r}", X, (None, None))
            if X.shape[0] != self.n_rows:
                raise Unsound(
                    f"view {name!r} has {X.shape[0]} rows but view {self.names[0]!r} has {self.n_rows}: make the views again from your data"
                )
            if self.missing_cells(view) is not None:
                sound_gaps(f"view {name!r}", X, self.missing_cells(view))
            if self.observed_rows(view) is not None:
                sound_indices(f"the observed rows of view {name!r}", self.observed_rows(view), self.n_rows)
        self.check_entities(least, everyone)
        return self

    def check_entities(self, least: int = 2, everyone: bool = True) -> None:
        """Check that every view has at least `least` entities and, if `everyone` has to be in some view, that no entity is in none."""
        in_some_view = np.zeros(self.n_rows, dtype=bool)
        for view, name in enumerate(self.names):
            rows = self.observed_rows(view)
            if rows is not None and rows.size < least:
                raise ValueError(
                    f"view {name!r} has {rows.size} row(s) that are not missing, but needs at least {least}: leave the view out"
                )
            in_some_view[slice(None) if rows is None else rows] = True
        in_none = np.flatnonzero(~in_some_view)
        if everyone and in_none.size:
            raise ValueError(f"{named_rows(in_none, self.index)} missing from every view, but an entity must be in at least one: drop it")

    @property
    def n_rows(self) -> int:
        return int(self.matrices[0].shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of all views of features together."""
        return sum(X.shape[1] for view, X in enumerate(self.matrices) if self.relation(view) is None)

    def relation(self, view: int) -> Relation | None:
        """How the square matrix of a view is to be read (None: the view has rows of features)."""
        return self.relations[view] if self.relations else None

    @property
    def networks(self) -> tuple[int, ...]:
        """The views that are networks."""
        return tuple(view for view, relation in enumerate(self.relations) if relation is not None and relation.is_network)

    @property
    def recognized(self) -> tuple[str, ...]:
        """The names of views that were given as features and look like networks."""
        features = [view for view in range(len(self.names)) if self.relation(view) is None]
        return tuple(self.names[view] for view in features if looks_like_network(self.matrices[view]))

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
        if rows is None:
            return self.matrices[view]
        return self.matrices[view][rows] if self.relation(view) is None else self.matrices[view][rows][:, rows]

    def missing_cells(self, view: int) -> NDArray[np.bool_] | None:
        """Which cells of a view are missing from its observed rows (None: none)."""
        return self.gaps[view] if self.gaps else None

    def own_gaps(self, view: int) -> NDArray[np.bool_] | None:
        """The missing cells of the observed rows of a view (None: none)."""
        gaps, rows = self.missing_cells(view), self.observed_rows(view)
        return gaps if gaps is None or rows is None else gaps[rows]

    def measured(self, view: int) -> Matrix:
        """The matrix of a view without its missing rows, with NaN for its missing cells."""
        gaps = self.own_gaps(view)
        return self.own(view) if gaps is None else np.where(gaps, np.nan, self.own(view))

    def encoding(self, view: int) -> Encoding | None:
        """How the columns of a table became numbers (None: they were numbers)."""
        return self.encodings[view] if self.encodings else None

    @property
    def each_gaps(self) -> list[NDArray[np.bool_] | None]:
        """The missing cells of every view (None: none)."""
        return [self.missing_cells(view) for view in range(len(self.names))]

    def table_gaps(self, view: int) -> NDArray[np.bool_]:
        """Which cells of the observed rows of a view are missing, with one column for each column of a table that was encoded."""
        gaps, encoding = self.own_gaps(view), self.encoding(view)
        if gaps is None:
            n_columns = self.matrices[view].shape[1] if encoding is None else encoding.first_features.size
            return np.zeros((self.own(view).shape[0], n_columns), dtype=bool)
        return gaps if encoding is None else gaps[:, encoding.first_features]

    @property
    def n_gaps(self) -> tuple[int, ...]:
        """Number of cells that are missing from the observed rows of each view."""
        return tuple(0 if gaps is None else int(self.table_gaps(view).sum()) for view, gaps in enumerate(self.each_gaps))

    def refuse_gaps(self, advice: str) -> None:
        """Raise a ValueError if single cells are missing; `advice` says what else can be done."""
        for view, name in enumerate(self.names):
            refuse_gaps(name, self.missing_cells(view), advice)

    def of_entities(self, entities: NDArray[np.intp]) -> Views:
        """The views of some of the entities."""
        present = tuple(np.flatnonzero(self.mask(view)[entities]) for view in range(len(self.names)))
        present = () if all(rows.size == entities.size for rows in present) else present
        index = None if self.index is None else self.index[entities]
        gaps = tuple(None if own is None else own[entities] for own in self.gaps)
        matrices = tuple(X[entities] if self.relation(view) is None else X[entities][:, entities] for view, X in enumerate(self.matrices))
        return replace(self, matrices=matrices, present=present, index=index, n_empty=(), gaps=gaps)

    def in_order(self, order: NDArray[np.intp]) -> Views:
        """The views with their entities in another order: the first is the one that is number order[0] now."""
        place = np.argsort(order)
        present = tuple(None if rows is None else np.sort(place[rows]) for rows in self.present)
        index = None if self.index is None else self.index[order]
        gaps = tuple(None if own is None else own[order] for own in self.gaps)
        relations = tuple(None if relation is None else relation.in_order(order) for relation in self.relations)
        matrices = tuple(X[order] if self.relation(view) is None else square_in_order(X, order) for view, X in enumerate(self.matrices))
        return replace(self, matrices=matrices, present=present, index=index, gaps=gaps, relations=relations)

    def beside(self, others: Views) -> Views:
        """These views, followed by others of the same entities."""

        def both(field: str) -> tuple[Any, ...]:
            own, more = getattr(self, field), getattr(others, field)
            return where_any((*(own or (None,) * len(self.names)), *(more or (None,) * len(others.names))))

        per_view: dict[str, Any] = {field: both(field) for field in ("present", "columns", "gaps", "encodings", "relations")}
        return replace(self, names=(*self.names, *others.names), matrices=(*self.matrices, *others.matrices), **per_view)

    def of_views(self, some: Sequence[int]) -> Views:
        """Some of the views."""

        def only(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(values[view] for view in some) if values else ()

        return replace(
            self,
            names=only(self.names),
            matrices=only(self.matrices),
            present=where_any(only(self.present)),
            columns=only(self.columns),
            n_empty=only(self.n_empty),
            gaps=where_any(only(self.gaps)),
            encodings=where_any(only(self.encodings)),
            relations=where_any(only(self.relations)),
        )

    @property
    def in_all(self) -> NDArray[np.intp]:
        """The entities that are in all views."""
        return np.flatnonzero(np.all([self.mask(view) for view in range(len(self.names))], axis=0))

    def without_empty_rows(self) -> Views:
        """Take rows of zeros as missing, in views of at least `EMPTY_COLUMNS` columns.

        A row that is zero in every view is kept, and so are all rows of a view of which less than the share `LEAST_PRESENT` would remain.
        """
        nonzero = [np.asarray((X != 0).sum(axis=1)).ravel() > 0 for X in self.matrices]
        nonzero = [filled if own is None else filled | own.any(axis=1) for filled, own in zip(nonzero, self.each_gaps, strict=True)]
        nonzero_anywhere = np.any(nonzero, axis=0)
        present, n_empty = [], []
        for view, (X, filled) in enumerate(zip(self.matrices, nonzero, strict=True)):
            given = self.observed_rows(view)
            rows = np.arange(self.n_rows) if given is None else given
            left = rows[(filled | ~nonzero_anywhere)[rows]]
            drop = (
                self.relation(view) is None
                and X.shape[1] >= EMPTY_COLUMNS
                and rows.size - left.size > 1
                and left.size >= max(2, LEAST_PRESENT * rows.size)
            )
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
        features = [view for view in range(len(self.names)) if self.relation(view) is None]
        if not features:
            return self

        def zeros_of(X: Matrix) -> float:
            return 1.0 if sparse.issparse(X) else 1 - np.count_nonzero(X) / X.size

        zeros = {view: zeros_of(self.matrices[view]) if self.missing_cells(view) is None else 0.0 for view in features}
        if not self.wide and min(zeros.values()) <= NEARLY_ALL_ZEROS:
            return self
        matrices = tuple(sparse.csr_array(X) if zeros.get(view, 0.0) > MOSTLY_ZEROS else X for view, X in enumerate(self.matrices))
        return replace(self, matrices=matrices)

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
        return [
            self._apply(view, self._fitting(view, how)) if self.relation(view) is None else Scaler("none")
            for view, how in enumerate(scales)
        ]

    def _fitting(self, view: int, how: str) -> Callable[[Matrix], Scaler]:
        encoding = self.encoding(view)
        return partial(fit_scaler, how) if encoding is None else partial(fit_mixed, how, encoding=encoding)

    def scaled_by(self, scalers: Sequence[Scaler], check: bool = True) -> Views:
        """Scale the views by fitted scalers. `check` refuses views that are constant, or too large or small to square."""
        features = [view for view in range(len(self.names)) if self.relation(view) is None]
        matrices = list(self.matrices)
        for view in features:
            own = self._apply(view, scalers[view])
            if check:
                check_spread(self.names[view], own, scalers[view].name)
            matrices[view] = self._padded(view, own)
        return replace(self, matrices=tuple(matrices))

    def with_metrics(self, metric: Any) -> Views:
        """Take the Jaccard distances of the views whose metric is "jaccard"; other metrics are a matter of scaling."""
        relations = list(self.relations or [None] * len(self.names))
        matrices = list(self.matrices)
        for view, how in enumerate(self.check_metrics(metric)):
            if how != "jaccard" or self.relation(view) is not None:
                continue
            rows = binary(self.names[view], self.matrices[view])
            distances = distances_among(self.names[view], rows, self.mask(view), len(self.names))
            if not (distances.data if sparse.issparse(distances) else distances).any():
                raise ValueError(
                    f"view {self.names[view]!r} is constant: all its rows are equal, so it cannot separate clusters; leave it out"
                )
            matrices[view], relations[view] = distances, Relation("jaccard", rows=rows)
        return replace(self, matrices=tuple(matrices), relations=tuple(relations)) if any(relations) else self

    def check_metrics(self, metric: Any) -> list[str]:
        """The name of the metric of each view."""
        metrics = per_view(metric, self.names, "metric")
        for view, (name, how) in enumerate(zip(self.names, metrics, strict=True)):
            if not isinstance(how, str) or how not in ("euclidean", "jaccard", *METRICS):
                known = ", ".join(map(repr, ("euclidean", *METRICS, "jaccard")))
                raise ValueError(f"metric={how!r} for view {name!r} is not known: use one of {known}, or rmgl.Precomputed for any other")
            relation = self.relation(view)
            if how != "euclidean" and relation is not None and relation.kind != how and isinstance(metric, Mapping):
                raise ValueError(f"metric={how!r} for view {name!r}, which is no table of features: leave it at 'euclidean'")
            if how in ("hamming", "jaccard") and relation is None:
                categories = "make the columns categories (astype('category')) and leave metric at 'euclidean'"
                refuse_gaps(name, self.missing_cells(view), categories if how == "hamming" else "use another metric")
                if self.encoding(view) is not None:
                    raise ValueError(f"metric={how!r} for view {name!r}, which has columns of other kinds than numbers: use 'euclidean'")
        return metrics

    def scales_for(self, scale: Any, metric: Any) -> list[Any]:
        """What the scale of each view is to be, or the metric that takes its place."""
        found = per_view(scale, self.names, "scale")
        for view, how in enumerate(self.check_metrics(metric)):
            if how == "euclidean" or self.relation(view) is not None:
                continue
            if found[view] not in ("auto", how):
                raise ValueError(
                    f"scale={found[view]!r} and metric={how!r} are both given for view {self.names[view]!r}: the metric takes the place of "
                    "scaling; leave scale at 'auto'"
                )
            found[view] = how
        return found

    def choose_scales(self, scale: Any) -> list[tuple[str, str]]:
        """The name of the scale of each view, and why it was chosen."""
        scales = self.asked_scales(scale)
        chosen = []
        for view, (name, how) in enumerate(zip(self.names, scales, strict=True)):
            relation = self.relation(view)
            if relation is not None and how not in ("auto", "none") and isinstance(scale, Mapping):
                raise ValueError(f"scale={how!r} for view {name!r}, which is no table of features: networks and distances are not scaled")
            if relation is not None:
                chosen.append((relation.words, f"given, not scaled: {self._described(view, relation)}"))
            else:
                chosen.append(self._choose_scale(view) if how == "auto" else (how, "given"))
        return chosen

    def asked_scales(self, scale: Any) -> list[str]:
        """What `scale` asks for in each view, which may be "auto"."""
        scales = per_view(scale, self.names, "scale")
        for name, how in zip(self.names, scales, strict=True):
            if not isinstance(how, str) or how not in (*SCALES, *METRICS, "auto"):
                known = ", ".join(map(repr, ("auto", *SCALES)))
                raise ValueError(f"scale={how!r} for view {name!r} is not known: use one of {known}")
        return list(scales)

    def _choose_scale(self, view: int) -> tuple[str, str]:
        encoding = self.encoding(view)
        return choose_scale(self.measured(view), self.n_gaps[view]) if encoding is None else choose_mixed(self.measured(view), encoding)

    def describe_columns(self, scalers: Sequence[Scaler]) -> list[list[str]]:
        """For every view what its columns were taken for, where they are not all numbers, and which are left out."""
        found = []
        for view, scaler in enumerate(scalers):
            encoding = self.encoding(view)
            constant = np.empty(0, dtype=np.intp) if scaler.span is None else np.flatnonzero(np.isinf(scaler.span))
            names = self.columns[view] if self.columns else None
            said = [] if encoding is None else encoding.sentences()
            found.append([*said, left_out_sentence(constant, names)] if constant.size else said)
        return found

    def _described(self, view: int, relation: Relation) -> str:
        """What the square matrix of a view holds, in words."""
        X = self.matrices[view]
        if relation.is_network:
            return f"{X.nnz // 2} edges"
        return f"{relation.kind} of {X.nnz // 2} pairs" if sparse.issparse(X) else f"{relation.kind} of all pairs"

    def _apply(self, view: int, function: Callable[[Matrix], Any]) -> Any:
        """Apply a function to the observed rows of a view; its errors name the view."""
        try:
            return function(self.measured(view))
        except ValueError as error:
            raise ValueError(f"view {self.names[view]!r} {error}") from error

    def _padded(self, view: int, own: Matrix) -> Matrix:
        rows, gaps = self.observed_rows(view), self.own_gaps(view)
        own = own if gaps is None else np.where(gaps, 0.0, own)
        return own if rows is None else padded(own, rows, self.n_rows)


def where_any(parts: Iterable[Any]) -> tuple[Any, ...]:
    """One entry for each view; empty if all are None."""
    found = tuple(parts)
    return found if any(part is not None for part in found) else ()


def sound_gaps(what: str, X: Matrix, gaps: Any) -> None:
    """Raise `Unsound` unless missing cells are marked by truth values of the shape of a dense matrix, which is zero there."""
    if sparse.issparse(X) or not isinstance(gaps, np.ndarray) or gaps.dtype != bool or gaps.shape != X.shape or X[gaps].any():
        raise Unsound(f"the missing cells of {what} do not fit its {X.shape[0]} rows and {X.shape[1]} columns, or are not zero there")


def with_nodes_placed(named: list[tuple[str, Any]], index: NDArray[Any] | None) -> tuple[list[tuple[str, Any]], NDArray[Any] | None]:
    """Put networks with named nodes in the order of the entities: that of the row labels or, if all views are networks, of the nodes."""
    labels = {name: X.labels() for name, X in named if hasattr(X, "labels")}
    if not any(labels.values()):
        return named, index
    known = row_labels(named) if index is None else index
    if known is None and len(labels) == len(named) and all(labels.values()):
        known = np.array(list(dict.fromkeys(label for own in labels.values() for label in own or ())), dtype=object)
        index = known
    if known is None:
        unnamed = next(name for name, _ in named if not labels.get(name))
        name = next(name for name, own in labels.items() if own)
        raise ValueError(
            f"view {name!r}: the nodes of the network have names, but the rows of view {unnamed!r} have none to match them with: give "
            "tables with row labels, or name the nodes 0, 1, 2, ... in the order of the rows"
        )
    return [(name, X.placed(name, known.tolist()) if labels.get(name) else X) for name, X in named], index


def check_relation(name: str, X: Any, relation: Relation | None, n_rows: int) -> None:
    """Raise `Unsound` unless the matrix of a network or of distances is square, symmetric and >= 0, with a zero diagonal."""
    if relation is None:
        return
    if getattr(X, "shape", None) != (n_rows, n_rows) or (relation.is_network and not sparse.issparse(X)):
        raise Unsound(f"view {name!r} is no square matrix of a {relation.kind}")
    entries = sound_sparse(f"view {name!r}", X) if sparse.issparse(X) else X
    values = entries.data if sparse.issparse(entries) else entries
    if not np.isfinite(values).all() or (values.size and values.min() < 0) or entries.diagonal().any():
        raise Unsound(f"view {name!r} has a negative or infinite entry, or one that is not zero on its diagonal")
    if (entries - entries.T).max() > 0:
        raise Unsound(f"view {name!r} is not symmetric")
    if relation.kind == "kernel":
        sound_numbers(f"the kernel of the entities of view {name!r} with themselves", relation.loops, (n_rows,))
    if relation.kind == "jaccard":
        rows = sound_sparse(f"the rows of view {name!r}", relation.rows)
        if rows.shape[0] != n_rows or not np.isin(rows.data, (0.0, 1.0)).all():
            raise Unsound(f"the rows of view {name!r} are not {n_rows} rows of zeros and ones")
    if not np.isfinite(relation.ceiling):
        raise Unsound(f"the largest similarity of view {name!r} is not finite")
