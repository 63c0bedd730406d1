"""Clusters that are a table of categories: one to three columns, of one view or several, whose cells determine the clusters.

Such clusters say no more than these columns do. They are no reason for doubt where the rest of the data has them, too: then the columns
name what is there without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.results.own_neighbors import own_neighbors, points_of, sample_of
from rmgl.views.canonical import projected
from rmgl.views.matrix import Matrix
from rmgl.views.views import Views

MOST_COLUMNS = 200
"""Columns of a view up to which they are looked at one by one; of a wider view, only its whole rows."""
MOST_FACTORS = 24
"""Columns of few values, those that say most about the clusters, of which up to three are crossed."""
CROSSED = 3
FEW = 3
"""Cells for each cluster up to which a table has few,"""
MEMBERS = 5
"""and entities for each cell from which it is no accident that they share a cluster."""
SAME = 0.95
"""Share of the entities that must be in the cluster of most in their cell."""
CLEAR = 0.7
"""Share of the nearest neighbors in the same cluster from which the rest of a view has the clusters."""

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Factor:
    """A column of few different values, or the rows of a view that has few different ones."""

    view: int
    view_name: str
    columns: tuple[int, ...]
    """The columns of numbers that it takes in its view."""
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
        return [column for factor in self.factors if factor.view == view for column in factor.columns]


def cross_table(views: Views, labels: Indices) -> Table | None:
    """A table whose cells determine the clusters (None: there is none), from columns rather than whole rows, and from as few as possible.

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
    features = [view for view in range(len(views.names)) if views.relation(view) is None]
    if n_clusters < 2 or not features:
        return None
    few = [factor for view in features for factor in factors_of(views, view, asked) if 2 <= factor.n_levels <= FEW * n_clusters]
    few.sort(key=lambda factor: -information(counts_of([factor], labels)))  # equals stay in the order of views and columns
    columns = [factor for factor in few if not factor.is_rows]
    for factors in (columns, few) if len(columns) < len(few) else (columns,):
        for size in range(1, CROSSED + 1):
            for crossed in combinations(factors[:MOST_FACTORS], size):
                if determines(counts_of(crossed, labels)):
                    return Table(tuple(sorted(crossed, key=lambda factor: (factor.view, factor.columns))))
    return None


def factors_of(views: Views, view: int, asked: NDArray[np.bool_] | None) -> Iterator[Factor]:
    """The columns of a view, and its whole rows, with their values for the entities that are asked."""
    own = views.of_views([view]) if asked is None else views.of_views([view]).of_entities(np.flatnonzero(asked))
    X, gaps, there = own.own(0), own.own_gaps(0), own.mask(0)

    def levels(values: Indices) -> Indices:
        of_all = np.full(own.n_rows, -1)
        of_all[there] = values
        found: Indices = np.unique(of_all, return_inverse=True)[1]  # those that are missing from the view have a level of their own
        return found

    if not there.any():
        return
    groups = column_groups(views, view)
    dense = X.toarray() if groups and sparse.issparse(X) else X
    for columns, name in groups:
        some = list(columns)
        places = projected(dense[:, some] if gaps is None else np.hstack([dense[:, some], gaps[:, some]]))
        yield Factor(view, views.names[view], columns, name, levels(np.unique(places, return_inverse=True)[1]))
    if len(groups) != 1:
        everything = tuple(range(X.shape[1]))
        yield Factor(view, views.names[view], everything, "the different rows", levels(points_of(own, 0)[1]), is_rows=True)


def column_groups(views: Views, view: int) -> list[tuple[tuple[int, ...], str]]:
    """The columns of numbers that each column of a view takes, and what it is called; none if there are too many."""
    width, encoding = views.matrices[view].shape[1], views.encoding(view)
    if encoding is not None:
        taken = [column for column in encoding.columns if column.features]
        parts = np.split(np.arange(sum(len(column.features) for column in taken)), encoding.first_features[1:])
        found = [(tuple(part.tolist()), repr(column.name)) for part, column in zip(parts, taken, strict=True)]
    elif views.columns and views.columns[view] is not None:
        found = [((column,), repr(name)) for column, name in enumerate(views.columns[view] or ())]
    else:
        found = [((column,), f"column {column}") for column in range(width)]
    return found if len(found) <= MOST_COLUMNS else []


def counts_of(factors: Sequence[Factor], labels: Indices) -> NDArray[np.intp]:
    """The entities of each cluster in every cell of a table that is not empty."""
    codes = np.ravel_multi_index([factor.levels for factor in factors], tuple(factor.n_levels for factor in factors))
    cells = np.unique(codes, return_inverse=True)[1]  # there may be many more empty ones
    n_cells, n_clusters = int(cells.max()) + 1, int(labels.max()) + 1
    return np.bincount(cells * n_clusters + labels, minlength=n_cells * n_clusters).reshape(n_cells, n_clusters)


def determines(counts: NDArray[np.intp]) -> bool:
    """Whether few cells of many entities determine the clusters: nearly all entities of a cell share one, and no cluster is without."""
    n_cells, n_clusters = counts.shape
    n, most = counts.sum(), counts.argmax(axis=1)
    few = n_cells <= FEW * n_clusters and n >= MEMBERS * n_cells
    return bool(few and counts.max(axis=1).sum() >= SAME * n and np.unique(most).size == n_clusters)


def information(counts: NDArray[np.intp]) -> float:
    """The mutual information of cells and clusters."""
    shares = counts / counts.sum()
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return float(np.sum(shares[there] * np.log(shares[there] / alone[there])))


def rest_has_clusters(views: Views, table: Table, labels: Indices) -> bool:
    """Whether some view has the clusters without the columns of the table: from many different rows, its own neighbors share them."""
    n_clusters = np.unique(labels).size
    for neighbors in own_neighbors(without_columns(views, table)):
        share = neighbors.inside(labels)
        is_table = neighbors.graph.shape[0] <= FEW * n_clusters
        if share.is_more and share.found >= CLEAR and not is_table:
            return True
    return False


def without_columns(views: Views, table: Table) -> Views:
    """The views without the columns of a table."""

    def rest(view: int, X: Matrix | None) -> Matrix | None:
        taken = table.columns_of(view)
        return X if X is None or not taken else X[:, np.setdiff1d(np.arange(X.shape[1]), taken)]

    matrices = tuple(rest(view, X) for view, X in enumerate(views.matrices))
    gaps = tuple(rest(view, own) for view, own in enumerate(views.gaps))
    return replace(views, matrices=matrices, gaps=gaps, columns=(), encodings=())
