"""Detect clusters that are a cross-tabulation of categories: one to three columns whose cells
determine the clusters.

Such clusters add nothing to these columns. They are not suspicious if the rest of the data also
shows them, because the columns then only name clusters that exist without them. Columns of zeros
and ones that together encode one category count as one column. Otherwise, the columns outside the
table would repeat its information.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.matrix import as_dense
from rmgl.results.own_neighbors import own_neighbors, points_of, sample_of
from rmgl.views.canonical import projected
from rmgl.views.column_groups import MOST_COLUMNS, one_hots
from rmgl.views.features import FeatureView
from rmgl.views.views import Views

MOST_FACTORS = 24
"""Number of columns that are crossed, up to three at a time. They are the columns with few values
and the most information about the clusters.
"""
CROSSED = 3
FEW = 3
"""Maximum number of cells per cluster in a small table."""
CELL_MEMBERS = 5
"""Minimum number of entities per cell. With fewer, a shared cluster may be a coincidence."""
SAME = 0.95
"""Minimum share of the entities that must be in the majority cluster of their cell."""
CLEAR = 0.7
"""Share of nearest neighbors in the same cluster above which the rest of a view shows the clusters.
"""

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Factor:
    """A column with few distinct values, or the rows of a view with few distinct rows."""

    view: int
    view_name: str
    columns: tuple[int, ...]
    """Columns of the view that the factor includes, with those that encode the same category."""
    name: str
    levels: Indices
    """Code of the value of every sampled entity, starting at 0."""
    is_rows: bool = False

    @property
    def n_levels(self) -> int:
        return int(self.levels.max()) + 1


@dataclass(frozen=True)
class Table:
    """A cross-tabulation whose cells determine the clusters."""

    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        return " x ".join(f"{factor.name} of view {factor.view_name!r}" for factor in self.factors)

    def columns_of(self, view: int) -> list[int]:
        """Return the columns of a view that the table uses."""
        return [
            column for factor in self.factors if factor.view == view for column in factor.columns
        ]


def cross_table(views: Views, labels: Indices) -> Table | None:
    """Find a table whose cells determine the clusters. Columns are preferred to whole rows, and few
    factors to many. Returns None if there is no such table.

    If there are many entities, a sample is used.

    Examples
    --------
    >>> import numpy as np
    >>> sex, smokes = np.tile([0, 0, 1, 1], 20), np.tile([0, 1, 0, 1], 20)
    >>> views = Views.of({"people": np.column_stack([sex, smokes, np.arange(80)])})
    >>> str(cross_table(views, 2 * sex + smokes))
    "column 0 of view 'people' x column 1 of view 'people'"
    """
    asked = sample_of(views)
    if asked is not None:
        labels = labels[asked]
    labels = np.unique(labels, return_inverse=True)[1]
    n_clusters = int(labels.max()) + 1
    if n_clusters < 2:
        return None
    few = [
        factor
        for place, view in enumerate(views)
        if view.features is not None
        for factor in factors_of(view.features, place, asked)
        if 2 <= factor.n_levels <= FEW * n_clusters
    ]
    # ties keep the order of views and columns
    few.sort(key=lambda factor: -information(counts_of([factor], labels)))
    columns = [factor for factor in few if not factor.is_rows]
    for factors in (columns, few) if len(columns) < len(few) else (columns,):
        for crossed in crossings(factors):
            if determines(counts_of(crossed, labels)):
                return Table(
                    tuple(sorted(crossed, key=lambda factor: (factor.view, factor.columns)))
                )
    return None


def crossings(factors: Sequence[Factor]) -> Iterator[tuple[Factor, ...]]:
    """Yield all combinations of up to three of the first factors, individual factors first."""
    for size in range(1, CROSSED + 1):
        yield from combinations(factors[:MOST_FACTORS], size)


def factors_of(view: FeatureView, place: int, asked: NDArray[np.bool_] | None) -> Iterator[Factor]:
    """Return the factors of a view with their values for the sampled entities: columns, categories
    encoded by several columns, and whole rows.
    """
    own = view if asked is None else view.of(np.flatnonzero(asked))
    X, gaps, there = own.own(), own.own_gaps(), own.mask

    def levels(values: Indices) -> Indices:
        with_missing = np.full(own.n_rows, -1)
        with_missing[there] = values
        # entities that are missing from the view have their own level
        return np.unique(with_missing, return_inverse=True)[1]

    if not there.any():
        return
    values, of_all = (places_of(X), places_of(view.own())) if view.has_levels else (X, None)
    groups = column_groups(view)
    dense = as_dense(values) if groups else values
    categories = one_hots(dense) if groups and gaps is None else []
    names = {column: name for columns, name in groups for column in columns}
    coded = [(columns, f"{names[columns[0]]} to {names[columns[-1]]}") for columns in categories]
    for columns, name in dict([*coded, *groups]).items():
        some = list(columns)
        places = projected(
            dense[:, some] if gaps is None else np.hstack([dense[:, some], gaps[:, some]])
        )
        taken = with_categories(columns, categories)
        numbers = taken if of_all is None else numbers_of(of_all, taken)
        yield Factor(
            place,
            view.name,
            tuple(numbers),
            name,
            levels(np.unique(places, return_inverse=True)[1]),
        )
    if len(groups) != 1:
        everything = tuple(range(X.shape[1]))
        yield Factor(
            place,
            view.name,
            everything,
            "the distinct rows",
            levels(points_of(own)[1]),
            is_rows=True,
        )


def places_of(X: sparse.csr_array) -> Any:
    """Return the number of the indicator column for the value of every cell, if each value of a
    column has its own indicator.
    """
    return X.sorted_indices().indices.reshape(X.shape[0], -1)


def numbers_of(places: Indices, columns: Sequence[int]) -> list[int]:
    """Return the indicator columns for the values in the given columns."""
    return [
        number
        for column in columns
        for number in range(places[:, column].min(), places[:, column].max() + 1)
    ]


def column_groups(view: FeatureView) -> list[tuple[tuple[int, ...], str]]:
    """Return the encoded columns and the name of each original column of a view. Empty if there are
    too many columns.
    """
    encoding = view.encoding
    if encoding is not None:
        taken = [column for column in encoding.columns if column.features]
        parts = np.split(
            np.arange(sum(len(column.features) for column in taken)), encoding.first_features[1:]
        )
        found = [
            (tuple(part.tolist()), repr(column.name))
            for part, column in zip(parts, taken, strict=True)
        ]
    elif view.columns is not None:
        found = [((column,), repr(name)) for column, name in enumerate(view.columns)]
    else:
        found = [((column,), f"column {column}") for column in range(view.width)]
    return found if len(found) <= MOST_COLUMNS else []


def with_categories(columns: Sequence[int], categories: Sequence[Sequence[int]]) -> list[int]:
    """Return the given columns together with all columns that encode one of their categories."""
    sharing = (category for category in categories if set(category) & set(columns))
    return sorted(set(columns).union(*sharing))


def counts_of(factors: Sequence[Factor], labels: Indices) -> NDArray[np.intp]:
    """Count the entities of each cluster in every nonempty cell of a table."""
    codes = np.ravel_multi_index(
        [factor.levels for factor in factors], tuple(factor.n_levels for factor in factors)
    )
    cells = np.unique(codes, return_inverse=True)[1]  # there may be many more empty cells
    n_cells, n_clusters = int(cells.max()) + 1, int(labels.max()) + 1
    return np.bincount(cells * n_clusters + labels, minlength=n_cells * n_clusters).reshape(
        n_cells, n_clusters
    )


def determines(counts: NDArray[np.intp]) -> bool:
    """Return whether a few large cells determine the clusters: nearly all entities of each cell
    share a cluster, and every cluster is the main cluster of at least one cell.
    """
    n_cells, n_clusters = counts.shape
    n, most = counts.sum(), counts.argmax(axis=1)
    few = n_cells <= FEW * n_clusters and n >= CELL_MEMBERS * n_cells
    return bool(few and counts.max(axis=1).sum() >= SAME * n and np.unique(most).size == n_clusters)


def information(counts: NDArray[np.intp]) -> float:
    """Return the mutual information of cells and clusters."""
    shares = counts / counts.sum()
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return float(np.sum(shares[there] * np.log(shares[there] / alone[there])))


def rest_has_clusters(views: Views, table: Table, labels: Indices) -> bool:
    """Return whether any view shows the clusters without the columns of the table: it has many
    distinct rows, and its neighbors share clusters.
    """
    n_clusters = np.unique(labels).size
    for neighbors in own_neighbors(without_columns(views, table)):
        share = neighbors.inside(labels)
        is_table = neighbors.graph.shape[0] <= FEW * n_clusters
        if share.is_more and share.found >= CLEAR and not is_table:
            return True
    return False


def without_columns(views: Views, table: Table) -> Views:
    """Return the views without the columns of a table."""
    taken = [table.columns_of(place) for place in range(len(views))]
    return replace(
        views,
        views=tuple(
            view.without(columns) if columns else view
            for view, columns in zip(views, taken, strict=True)
        ),
    )
