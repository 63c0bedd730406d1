"""Clusters that are a table of categories: one to three columns, of one view or several, whose
cells determine the clusters.

Such clusters say no more than these columns do. They are no reason for doubt where the rest of the
data has them, too: then the columns name what is there without them. Columns of zeros and ones that
code one category side by side are one column here: those that the table leaves out say the same
once more.
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
"""Columns of few values, those that say most about the clusters, of which up to three are crossed.
"""
CROSSED = 3
FEW = 3
"""Cells for each cluster up to which a table has few,"""
CELL_MEMBERS = 5
"""and entities for each cell from which it is no accident that they share a cluster."""
SAME = 0.95
"""Share of the entities that must be in the cluster of most in their cell."""
CLEAR = 0.7
"""Share of the nearest neighbors in the same cluster from which the rest of a view has the
clusters.
"""

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Factor:
    """A column of few different values, or the rows of a view that has few different ones."""

    view: int
    view_name: str
    columns: tuple[int, ...]
    """The columns of numbers that it takes in its view, with those of the same category."""
    name: str
    levels: Indices
    """The number of its value for every entity that is looked at, from 0."""
    is_rows: bool = False

    @property
    def n_levels(self) -> int:
        return int(self.levels.max()) + 1


@dataclass(frozen=True)
class Table:
    """A cross table of which the clusters are unions of cells."""

    factors: tuple[Factor, ...]

    def __str__(self) -> str:
        return " x ".join(f"{factor.name} of view {factor.view_name!r}" for factor in self.factors)

    def columns_of(self, view: int) -> list[int]:
        """The columns of numbers of a view that it takes."""
        return [
            column for factor in self.factors if factor.view == view for column in factor.columns
        ]


def cross_table(views: Views, labels: Indices) -> Table | None:
    """A table whose cells determine the clusters (None: there is none), from columns rather than
    whole rows, and from as few as possible.

    Where entities are many, a sample of them is looked at.

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
    # equals stay in the order of views and columns
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
    """All combinations of up to three of the first factors, single ones first."""
    for size in range(1, CROSSED + 1):
        yield from combinations(factors[:MOST_FACTORS], size)


def factors_of(view: FeatureView, place: int, asked: NDArray[np.bool_] | None) -> Iterator[Factor]:
    """The columns of a view at a place, the categories that some of them code, and its whole rows,
    with their values for those asked.
    """
    own = view if asked is None else view.of(np.flatnonzero(asked))
    X, gaps, there = own.own(), own.own_gaps(), own.mask

    def levels(values: Indices) -> Indices:
        with_missing = np.full(own.n_rows, -1)
        with_missing[there] = values
        # those that are missing from the view have a level of their own
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
            "the different rows",
            levels(points_of(own)[1]),
            is_rows=True,
        )


def places_of(X: sparse.csr_array) -> Any:
    """The column of numbers that stands for the value of every cell, where each value of a column
    has one of its own.
    """
    return X.sorted_indices().indices.reshape(X.shape[0], -1)


def numbers_of(places: Indices, columns: Sequence[int]) -> list[int]:
    """The columns of numbers that stand for the values of some columns."""
    return [
        number
        for column in columns
        for number in range(places[:, column].min(), places[:, column].max() + 1)
    ]


def column_groups(view: FeatureView) -> list[tuple[tuple[int, ...], str]]:
    """The columns of values that each column of a view takes, and what it is called; none if there
    are too many.
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
    """Some columns, and all others that code one of the categories with them."""
    sharing = (category for category in categories if set(category) & set(columns))
    return sorted(set(columns).union(*sharing))


def counts_of(factors: Sequence[Factor], labels: Indices) -> NDArray[np.intp]:
    """The entities of each cluster in every cell of a table that is not empty."""
    codes = np.ravel_multi_index(
        [factor.levels for factor in factors], tuple(factor.n_levels for factor in factors)
    )
    cells = np.unique(codes, return_inverse=True)[1]  # there may be many more empty ones
    n_cells, n_clusters = int(cells.max()) + 1, int(labels.max()) + 1
    return np.bincount(cells * n_clusters + labels, minlength=n_cells * n_clusters).reshape(
        n_cells, n_clusters
    )


def determines(counts: NDArray[np.intp]) -> bool:
    """Whether few cells of many entities determine the clusters: nearly all entities of a cell
    share one, and no cluster is without.
    """
    n_cells, n_clusters = counts.shape
    n, most = counts.sum(), counts.argmax(axis=1)
    few = n_cells <= FEW * n_clusters and n >= CELL_MEMBERS * n_cells
    return bool(few and counts.max(axis=1).sum() >= SAME * n and np.unique(most).size == n_clusters)


def information(counts: NDArray[np.intp]) -> float:
    """The mutual information of cells and clusters."""
    shares = counts / counts.sum()
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return float(np.sum(shares[there] * np.log(shares[there] / alone[there])))


def rest_has_clusters(views: Views, table: Table, labels: Indices) -> bool:
    """Whether some view has the clusters without the columns of the table: from many different
    rows, its own neighbors share them.
    """
    n_clusters = np.unique(labels).size
    for neighbors in own_neighbors(without_columns(views, table)):
        share = neighbors.inside(labels)
        is_table = neighbors.graph.shape[0] <= FEW * n_clusters
        if share.is_more and share.found >= CLEAR and not is_table:
            return True
    return False


def without_columns(views: Views, table: Table) -> Views:
    """The views without the columns of a table."""
    taken = [table.columns_of(place) for place in range(len(views))]
    return replace(
        views,
        views=tuple(
            view.without(columns) if columns else view
            for view, columns in zip(views, taken, strict=True)
        ),
    )
