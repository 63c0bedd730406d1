"""Heat map of the entities ordered by cluster, with one block of distinguishing features per view
and with additional columns on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Floats, Indices
from rmgl.plots.drawing import MOST_ENTITIES, axes_of, sample_by_cluster
from rmgl.plots.further_columns import further_columns, matched_by_id
from rmgl.plots.heatmap_drawing import CATEGORIES, Bar, HeatMap, Picture
from rmgl.plots.models import fitted_model
from rmgl.results.explain import Explanation, explain_clusters
from rmgl.results.feature_names import check_feature_names
from rmgl.results.outcomes import largest_groups
from rmgl.views.view import View
from rmgl.views.views import Views

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAMPLED = 10_000
"""Number of entities shown if there are more than 100,000."""
MOST_CATEGORIES = len(CATEGORIES) - 1
"""Maximum number of distinct values in a column that have their own color. Rarer values share the
last color.
"""


def heatmap_data(
    model: Any,
    columns: Any = None,
    *,
    n_features: int = 10,
    explanation: Explanation | None = None,
    random_state: int = 0,
) -> HeatMap:
    """Choose the most distinctive features of each view, and order entities by cluster.

    In each view, the clusters take turns selecting features. Each cluster selects the feature with
    its largest effect size among those not selected yet. Features are ordered by the cluster in
    which their values are largest. Within a cluster, entities are ordered by the first principal
    component of these features. If there are more than 100,000 entities, a sample with the same
    fraction of each cluster is used.

    Parameters
    ----------
    model : fitted RMGL
    columns : dict or table of columns with N values each, optional
        Additional columns for the bars on top, such as age or treatment. The rows of a pandas table
        are matched by id if its index contains the ids of the entities.
    n_features : int, default 10
        Maximum number of features per view.
    explanation : Explanation, optional
        Table returned by `explain`, with effect sizes and names of features. By default, it is
        computed from the rows that the model keeps.
    random_state : int, default 0
        Seed for the sample.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"size": [[1.0, 7.0], [1.2, 7.0], [1.1, 9.0], [5.0, 8.0], [5.2, 8.0], [5.1, 7.0]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> found = heatmap_data(model, {"sex": list("fmfmfm")}, n_features=1)
    >>> found.features, found.values.shape, found.bars[0].categories
    (['column 0'], (1, 6), ['f', 'm'])
    """
    fitted = fitted_model(model)
    if n_features < 1:
        raise ValueError(
            f"n_features={n_features} is not a valid number of features; use at least 1"
        )
    held = [view.features for view in fitted.views]
    views = Views(tuple(view for view in held if view is not None))
    table = _explained(fitted, views, explanation)
    shown = np.arange(fitted.n_rows)
    if fitted.n_rows > MOST_ENTITIES:
        shown = sample_by_cluster(fitted.labels, SAMPLED, random_state)
    chosen = [(view, chosen_features(table, view.name, n_features)) for view in views]
    if not any(rows.size for _, rows in chosen):
        raise ValueError(
            "no feature distinguishes clusters; a heat map requires at least two clusters, "
            "and a view of features in addition to networks or distances"
        )
    names = [view.name for view, rows in chosen for _ in rows]
    features = [str(table.feature[row]) for _, rows in chosen for row in rows]
    values = np.concatenate(
        [standardized(view, table.column[rows], shown) for view, rows in chosen]
    )
    clusters = fitted.labels[shown]
    order = _order(values, clusters)
    given = further_columns(matched_by_id(columns, fitted.index), fitted.n_rows)
    bars = [_bar(name, column[shown[order]]) for name, column in given]
    return HeatMap(
        shown[order], clusters[order], names, features, values[:, order], bars, fitted.n_rows
    )


def _explained(fitted: FittedModel, views: Views, given: Explanation | None) -> Explanation:
    """Return the given table of features, or compute one from the views."""
    if given is None:
        names = check_feature_names(views, None)
        return explain_clusters(views, fitted.labels, fitted.n_clusters, names)
    if not isinstance(given, Explanation):
        raise TypeError(
            f"explanation is of type {type(given).__name__}; pass the table returned by explain"
        )
    return given


def chosen_features(table: Explanation, view: str, most: int) -> Indices:
    """Return one row of the table for each displayed feature of a view, in order."""
    own = np.flatnonzero((table.view == view) & ~np.isnan(table.effect_size))
    clusters = np.unique(table.cluster[own]).tolist()
    ranked = {
        cluster: own[table.cluster[own] == cluster].tolist() for cluster in clusters
    }  # largest effects first, as in the table
    named: set[int] = set()
    turn = 0
    while len(named) < most and any(ranked.values()):
        rest = ranked[clusters[turn % len(clusters)]]
        while rest and int(table.column[rest[0]]) in named:
            rest.pop(0)
        if rest:
            named.add(int(table.column[rest.pop(0)]))
        turn += 1
    largest = [_largest(table, own, column) for column in sorted(named)]
    largest.sort(key=lambda row: (table.cluster[row], -table.effect_size[row]))
    return np.array(largest, dtype=np.intp)


def _largest(table: Explanation, own: Indices, column: int) -> int:
    """Return the row of the cluster in which the values of a feature are largest."""
    rows = own[table.column[own] == column]
    return int(rows[np.argmax(table.effect_size[rows])])


def standardized(view: View, columns: Indices, entities: Indices) -> Floats:
    """Return the values of the selected features for the given entities, with one row per feature,
    standardized to mean 0 and variance 1. Missing values are NaN, and features that do not vary
    are zero.
    """
    if not columns.size:
        return np.empty((0, entities.size))
    part: Any = view.matrix[entities][:, columns]
    values = np.array(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64).T
    values[:, ~view.mask[entities]] = np.nan
    if view.gaps is not None:
        values[view.gaps[np.ix_(entities, columns)].T] = np.nan
    there = np.isfinite(values)
    counts = np.maximum(there.sum(axis=1, keepdims=True), 1)
    centered = values - np.where(there, values, 0.0).sum(axis=1, keepdims=True) / counts
    squares = np.where(there, centered, 0.0) ** 2
    spread = np.sqrt(squares.sum(axis=1, keepdims=True) / counts)
    scale = np.abs(np.where(there, values, 0.0)).max(axis=1, keepdims=True, initial=0.0)
    varies = spread > 1e-12 * scale
    return np.where(there & ~varies, 0.0, centered / np.where(varies, spread, 1.0))


def _order(values: Floats, clusters: Indices) -> Indices:
    """Return the entities by cluster and, within each, by their first principal component."""
    place = np.zeros(clusters.size)
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        rows = np.nan_to_num(values[:, members])
        rows = rows - rows.mean(axis=1, keepdims=True)
        axis = np.linalg.eigh(rows @ rows.T)[1][:, -1]
        place[members] = rows.T @ (axis * np.sign(axis[np.abs(axis).argmax()]))
    return np.lexsort((place.round(9), clusters))


def _bar(name: str, column: NDArray[Any]) -> Bar:
    """Return an additional column as numbers. Dates and numbers keep their values, and other values
    become codes of categories.
    """
    series = pd.Series(column).infer_objects()
    missing = series.isna().to_numpy()
    dates = pd.api.types.is_datetime64_any_dtype(series)
    if dates:
        series = pd.to_datetime(series, utc=True) - pd.Timestamp(0, tz="UTC")
    if pd.api.types.is_timedelta64_dtype(series):
        series = series / pd.Timedelta(days=1)
    if pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        numbers = np.where(missing | ~np.isfinite(numbers), np.nan, numbers)
        return Bar(name, numbers, None, dates)
    texts = series[~missing].astype(str).to_numpy()
    found, codes = np.unique(texts, return_inverse=True)
    kept, codes = largest_groups(codes, found.size, MOST_CATEGORIES)
    values = np.full(column.size, np.nan)
    values[~missing] = codes
    others = [f"{found.size - kept.size} others"] if kept.size < found.size else []
    return Bar(name, values, [*found[kept].tolist(), *others])


def plot_heatmap(
    model: Any,
    columns: Any = None,
    *,
    n_features: int = 10,
    explanation: Explanation | None = None,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Plot the most distinctive features of each view as a heat map, with entities ordered by
    cluster.

    The bars on top show the clusters and the additional columns. Below them is one block per view.
    Colors show how many standard deviations a value is from the mean of its feature. Larger values
    are lighter, even in grayscale. Missing values are white.

    Parameters
    ----------
    model, columns, n_features, explanation, random_state : as for `heatmap_data`
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"size": [[1.0, 7.0], [1.2, 7.0], [1.1, 9.0], [5.0, 8.0], [5.2, 8.0], [5.1, 7.0]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> plot_heatmap(model, {"sex": list("fmfmfm")})  # doctest: +SKIP
    """
    found = heatmap_data(
        model,
        columns,
        n_features=n_features,
        explanation=explanation,
        random_state=random_state,
    )
    lines = len(found.features) + len(found.bars) + len(set(found.views)) + 1
    ax = axes_of(ax, 8.0, max(3.6, 0.2 * lines + 1.4))
    picture = Picture(ax, found)
    picture.draw_clusters()
    for bar in found.bars:
        picture.draw_bar(bar)
    for view in dict.fromkeys(found.views):
        picture.draw_view(view)
    picture.finish()
    return ax
