"""Features that distinguish each cluster from all other entities, by standardized difference.

Take a cluster with n_in members, and the n_out other entities that are observed in a view. For
every column of the view,

    effect size = (mean inside - mean outside) / s       s^2 = (SS_in + SS_out) / (n_in + n_out - 2)
    AUC         = P(x > y) + P(x = y) / 2                x a random member, y a random other entity

SS is the sum of squared differences from the mean of the group, so s is the pooled standard
deviation and the effect size is Cohen's d. The AUC depends only on the order of the values: it is 1
if every member has a larger value than every non-member, 0.5 if there is no difference, and 0 if
every member has a smaller value. There are no p-values, because the clusters were found in the same
data: a test would call almost every feature significant, even in noise.

Columns are read once, one after the other. The zeros of a sparse column are counted rather than
stored, which gives the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.frames import as_html
from rmgl.views.check_view import is_given_view
from rmgl.views.view import View
from rmgl.views.views import Views

Vector = NDArray[np.float64]
BLOCK = 16
"""Number of columns of a dense view that are copied at a time to make each column contiguous."""
ROUNDING = 1e-12
"""Threshold below which differences are treated as rounding errors, relative to the largest value
in a column.
"""


@dataclass(frozen=True)
class Explanation:
    """A table of features with one row per cluster, view and feature. Within each cluster, the
    largest effects come first.

    Every field is a column, an array with one entry per row. `to_frame` converts them to a
    DataFrame. Notebooks show the largest effects.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"size": [[1.0, 7.0], [1.2, 7.0], [1.1, 9.0], [5.0, 8.0], [5.2, 8.0], [5.1, 7.0]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> table = model.explain(views, feature_names={"size": ["length", "width"]})
    >>> len(table), table.feature[0], abs(table.effect_size[0]).round(1).item()
    (4, 'length', 40.0)
    """

    cluster: NDArray[np.intp]
    view: NDArray[np.object_]
    feature: NDArray[np.object_]
    effect_size: Vector
    """(mean inside - mean outside) / pooled standard deviation. Infinite if the means
    differ and the values do not vary within the groups, NaN if a group is empty.
    """
    mean_inside: Vector
    mean_outside: Vector
    auc: Vector
    """Probability that a member has a larger value than a non-member. Equal values count half."""
    n_inside: NDArray[np.intp]
    """Number of members of the cluster that are observed in the view."""
    n_outside: NDArray[np.intp]
    column: NDArray[np.intp]
    """Position of the feature in its view, starting at 0."""

    def __len__(self) -> int:
        return int(self.cluster.size)

    def as_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the table by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.as_dict())

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the five largest effects for each cluster."""
        return as_html(
            self.top().to_frame().drop(columns="column"),
            "The five features with the largest effects for each cluster:",
        )

    def top(self, n: int = 5, by_view: bool = False) -> Explanation:
        """Return the `n` features with the largest effects for each cluster or, with `by_view`, for
        each cluster and view.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0, 5], [0.1, 4], [0.3, 5], [5.0, 4], [5.1, 5], [5.3, 4]]}
        >>> RMGL(2, random_state=0).fit(views).explain(views).top(1).feature.tolist()
        ['column 0', 'column 0']
        """
        if n < 0:
            raise ValueError(f"n={n} is not a valid number of features; use a whole number >= 0")
        codes = {name: code for code, name in enumerate(dict.fromkeys(self.view.tolist()))}
        views = np.fromiter(
            map(codes.__getitem__, self.view.tolist()), dtype=np.intp, count=len(self)
        )
        groups = self.cluster * len(codes) + views if by_view else self.cluster
        order = np.argsort(groups, kind="stable")
        _, first, counts = np.unique(groups[order], return_index=True, return_counts=True)
        rank = np.arange(len(self)) - np.repeat(first, counts)
        return self.rows(np.sort(order[rank < n]))

    def of_cluster(self, cluster: int) -> Explanation:
        """Return the rows of one cluster."""
        return self.rows(np.flatnonzero(self.cluster == cluster))

    def rows(self, rows: NDArray[np.intp]) -> Explanation:
        """Return the rows at the given positions."""
        return Explanation(**{name: values[rows] for name, values in self.as_dict().items()})

    def __str__(self) -> str:
        """Return the five features with the largest effects for each cluster as text."""
        lines = [
            (
                f"{'cluster':>7s} {'view':12s} {'feature':20s} {'effect':>8s} {'inside':>10s} "
                f"{'outside':>10s} {'AUC':>5s}"
            )
        ]
        top = self.top()
        for row in range(len(top)):
            lines.append(
                f"{top.cluster[row]:7d} {top.view[row]:12s} {top.feature[row]:20s} "
                f"{top.effect_size[row]:8.2f} "
                f"{top.mean_inside[row]:10.4g} {top.mean_outside[row]:10.4g} {top.auc[row]:5.2f}"
            )
        return "\n".join(lines)


def explain_clusters(
    views: Views, labels: NDArray[np.intp], n_clusters: int, names: Sequence[Sequence[str]]
) -> Explanation:
    """Compare every cluster with all other entities in every feature. Networks and views without
    observed rows are skipped.
    """
    shown = [(view, own) for view, own in zip(views, names, strict=True) if has_features(view)]
    if not shown:
        return no_features()
    parts = [_explain_view(view, labels, n_clusters, own) for view, own in shown]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    effects = np.nan_to_num(np.abs(columns["effect_size"]), nan=-1.0, posinf=np.inf)
    order = np.lexsort((-effects, columns["cluster"]))
    return Explanation(**{name: values[order] for name, values in columns.items()})


def has_features(view: View) -> bool:
    """Return whether a view has columns and at least one observed entity."""
    return view.rows is not None and view.rows.shape[1] > 0 and bool(view.mask.any())


def no_features() -> Explanation:
    """Return the empty table, for models without features."""
    kinds = {
        "view": object,
        "feature": object,
        **dict.fromkeys(("cluster", "n_inside", "n_outside", "column"), np.intp),
    }
    return Explanation(
        **{
            field.name: np.empty(0, dtype=kinds.get(field.name, np.float64))
            for field in fields(Explanation)
        }
    )


def _explain_view(
    view: View, labels: NDArray[np.intp], n_clusters: int, names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the columns of the table for one view."""
    rows, encoding = view.entities, view.encoding
    own = labels if rows is None else labels[rows]
    columns = list(columns_of(view.own(), own, n_clusters, view.own_gaps()))
    # the last column is for new rows only
    columns = columns[:-1] if encoding is not None and encoding.has_categories else columns
    names = names[: len(columns)]
    sizes = [
        np.bincount(column.clusters, minlength=n_clusters) + column.n_zeros for column in columns
    ]
    compared = [compare(column, size) for column, size in zip(columns, sizes, strict=True)]
    n_columns = len(compared)
    measures = [field.name for field in fields(Compared)]
    numbers = {
        name: np.concatenate([getattr(found, name) for found in compared]) for name in measures
    }
    return {
        "cluster": np.tile(np.arange(n_clusters), n_columns),
        "view": np.full(n_columns * n_clusters, view.name, dtype=object),
        "feature": np.repeat(np.array([*map(str, names), ""], dtype=object)[:-1], n_clusters),
        **numbers,
        "n_inside": np.concatenate(sizes),
        "n_outside": np.concatenate([size.sum() - size for size in sizes]),
        "column": np.repeat(np.arange(n_columns), n_clusters),
    }


def features_again(fitted: Views, data: Any) -> Any:
    """Return views that were passed again, with None for those without features, such as networks.
    Returns None if no other views were passed.
    """
    data = [data] if is_given_view(data) else data
    views = (
        data.values()
        if isinstance(data, Mapping)
        else data
        if isinstance(data, list | tuple)
        else ()
    )
    if not any(is_given_view(X) for X in views):
        return data
    named = data.items() if isinstance(data, Mapping) else zip(fitted.names, data, strict=False)
    found = {
        str(name): fitted[str(name)].features_of(X)
        if is_given_view(X) and name in fitted.names
        else X
        for name, X in named
    }
    return found if any(X is not None for X in found.values()) else None


def with_all_entities(fitted: Views, data: Any, align: str | None) -> Any:
    """Reorder tables that the fit aligned by row label. Rows missing from a table become NaN."""
    if align is None or fitted.index is None or not isinstance(data, Mapping | list | tuple):
        return data
    named = data.items() if isinstance(data, Mapping) else zip(fitted.names, data, strict=False)
    tables = {str(name): X for name, X in named if X is not None}
    if len(tables) > len(fitted.names) or not all(hasattr(X, "reindex") for X in tables.values()):
        return data
    for name, X in tables.items() if align == "outer" else ():
        unknown = X.index[~X.index.isin(fitted.index)]
        if len(unknown):
            raise ValueError(
                f"row {unknown[0]!r} of view {name!r} was not in the fit; pass the same "
                "entities as in the fit"
            )
    return {name: X.reindex(fitted.index) for name, X in tables.items()}


def check_same_entities(fitted: Views, views: Views) -> Views:
    """Check that views that were passed again have the rows of the fit. Rows that are missing now,
    or were missing in the fit, are skipped.
    """
    if views.n_rows != fitted.n_rows:
        raise ValueError(
            f"views have {views.n_rows} rows, but the model was fitted on "
            f"{fitted.n_rows}; pass the same entities as in the fit"
        )
    if views.index is not None and fitted.index is not None:
        differs = np.flatnonzero(views.index.astype(str) != fitted.index.astype(str))
        if differs.size:
            row = differs[0]
            raise ValueError(
                f"row {row} of the views is labeled {views.index[row]!r}, but "
                f"{fitted.index[row]!r} in the fit; pass the same entities in the same "
                "order as in the fit"
            )
    present = [
        np.flatnonzero(view.mask & known.mask) for view, known in zip(views, fitted, strict=True)
    ]
    if not any(rows.size for rows in present):
        raise ValueError(
            "none of the views of the fit has observed rows; pass at least one of them"
        )
    return views.with_fields("entities", present)


@dataclass(frozen=True)
class Column:
    """Values of one feature and their clusters. The zeros of a sparse view are only counted."""

    values: Vector
    clusters: NDArray[np.intp]
    n_zeros: NDArray[np.intp]
    """Number of zeros in each cluster that are not among the values."""


def columns_of(
    X: Any, clusters: NDArray[np.intp], n_clusters: int, gaps: NDArray[np.bool_] | None = None
) -> Iterator[Column]:
    """Yield the columns of a dense or sparse matrix one after the other, without missing cells."""
    if sparse.issparse(X):
        sizes = np.bincount(clusters, minlength=n_clusters)
        by_column = sparse.csc_array(X, copy=True)
        by_column.eliminate_zeros()
        for start, end in zip(by_column.indptr[:-1], by_column.indptr[1:], strict=True):
            own = clusters[by_column.indices[start:end]]
            yield Column(
                by_column.data[start:end], own, sizes - np.bincount(own, minlength=n_clusters)
            )
        return
    none = np.zeros(n_clusters, dtype=np.intp)
    for start in range(0, X.shape[1], BLOCK):
        for place, values in enumerate(np.ascontiguousarray(X[:, start : start + BLOCK].T), start):
            there = slice(None) if gaps is None else ~gaps[:, place]
            yield Column(values[there], clusters[there], none)


@dataclass(frozen=True)
class Compared:
    """Statistics of one feature inside and outside every cluster."""

    effect_size: Vector
    mean_inside: Vector
    mean_outside: Vector
    auc: Vector


def compare(column: Column, sizes: NDArray[np.intp]) -> Compared:
    """Compare the values inside every cluster with those outside."""
    # makes a constant column exactly zero
    shift = 0.0 if column.n_zeros.any() or not column.values.size else float(column.values[0])
    with np.errstate(over="ignore"):
        centered = column.values - shift
    unit = float(np.abs(centered).max(initial=0.0)) or 1.0
    if not np.isfinite(unit):
        shift, centered, unit = 0.0, column.values, float(np.abs(column.values).max())
    means, squares = _moments(Column(centered / unit, column.clusters, column.n_zeros), sizes)
    others, pooled = _outside(means, squares, sizes)
    difference = means - others
    flat, same = pooled <= ROUNDING, np.abs(difference) <= ROUNDING
    effect = np.divide(
        difference, pooled, out=np.where(same, 0.0, np.copysign(np.inf, difference)), where=~flat
    )
    effect[np.isnan(difference)] = np.nan
    return Compared(effect, shift + unit * means, shift + unit * others, _auc(column, sizes))


def _moments(column: Column, sizes: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """Return the mean of every cluster (NaN if empty) and its sum of squared deviations."""
    totals = np.bincount(column.clusters, weights=column.values, minlength=sizes.size)
    means = np.divide(totals, sizes, out=np.full(sizes.size, np.nan), where=sizes > 0)
    squares = np.bincount(
        column.clusters, weights=(column.values - means[column.clusters]) ** 2, minlength=sizes.size
    )
    return means, squares + column.n_zeros * np.nan_to_num(means) ** 2


def _outside(means: Vector, squares: Vector, sizes: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """Return the mean outside each cluster and the pooled standard deviation."""
    others, pooled = np.full(sizes.size, np.nan), np.full(sizes.size, np.nan)
    known = np.nan_to_num(means)
    for cluster in np.flatnonzero(sizes):
        weights = np.where(np.arange(sizes.size) == cluster, 0, sizes)
        if not weights.any():
            continue
        others[cluster] = weights @ known / weights.sum()
        total = squares.sum() + weights @ (known - others[cluster]) ** 2  # SS_in + SS_out
        pooled[cluster] = np.sqrt(total / max(1, sizes.sum() - 2))
    return others, pooled


def _auc(column: Column, sizes: NDArray[np.intp]) -> Vector:
    """Return the area under the ROC curve for each cluster, from the rank sum of its members. Ties
    get their mean rank.
    """
    order = np.argsort(column.values)
    values, clusters = column.values[order], column.clusters[order]
    n_zeros, n_negative = int(column.n_zeros.sum()), int(np.searchsorted(values, 0.0))
    first = (
        np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
        if values.size
        else np.empty(0, dtype=np.intp)
    )
    lengths = np.diff(np.r_[first, values.size])
    ranks = np.repeat(first + (lengths + 1) / 2, lengths)
    ranks[n_negative:] += n_zeros
    sums = np.bincount(clusters, weights=ranks, minlength=sizes.size) + column.n_zeros * (
        n_negative + (n_zeros + 1) / 2
    )
    pairs = sizes * (sizes.sum() - sizes)
    auc: Vector = np.divide(
        sums - sizes * (sizes + 1) / 2, pairs, out=np.full(sizes.size, np.nan), where=pairs > 0
    )
    return auc
