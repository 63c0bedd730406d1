"""Detect columns that were used in the fit. Clusters that were found using a column differ in it by
construction.

Columns are compared by name with the columns of all views, and by content with those of tables of
features. Scaling changes numbers but keeps their order. A column therefore matches a feature if
both put the entities into the same order, or into reverse order, with the same ties. With few
distinct values, this can happen by chance, so a match counts only if chance would produce it in
fewer than one in a million tables. Rows that are divided by their lengths or sums do not keep the
order of a column, so only names are compared for them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rmgl.matrix import as_dense
from rmgl.results.outcomes import CATEGORIES, Outcome, Outcomes
from rmgl.views.features import FeatureView
from rmgl.views.view import View
from rmgl.views.views import Views

Vector = NDArray[np.float64]
LEAST_BITS = 20.0
"""Minimum improbability of the order of the entities, as a number of coin tosses."""
COMPARED_FIRST = 64
"""Number of entities used to rule out features before a full comparison."""
MEANINGLESS = (
    "the clusters were found using this column, so they differ in it by construction and "
    "a p-value would be meaningless; leave it out, and use explain() to see how the "
    "clusters differ in the columns used in the fit"
)


def check_unused(views: Views, outcomes: Outcomes) -> None:
    """Raise a ValueError if a column was used in the fit, judged by its name or its content."""
    check_names({view.name: used_names(view) for view in views}, outcomes)
    for view in views:
        features = view.features
        for column in _all_columns(outcomes) if features is not None else ():
            assert features is not None
            same = same_feature(features, _ordered(column))
            if same is not None:
                raise ValueError(
                    f"column {column.name!r} was used in the fit: it orders the entities in the "
                    f"same way as {_name_of(view, same)} of view {view.name!r}; "
                    f"{MEANINGLESS}"
                )


def check_names(names: Mapping[str, Collection[str]], outcomes: Outcomes) -> None:
    """Raise a ValueError if a column has the name of a column used in the fit."""
    for view, used in names.items():
        for column in _all_columns(outcomes):
            if column.name in used:
                raise ValueError(
                    f"column {column.name!r} was used in the fit (view {view!r}): "
                    f"{MEANINGLESS}; if it is a different column with the same name, rename "
                    "it"
                )


def _all_columns(outcomes: Outcomes) -> list[Outcome]:
    """Return the columns of a table, including those of survival."""
    survival, columns = outcomes.survival, list(outcomes.columns)
    if survival is not None:
        times, events = survival.names
        columns += [
            Outcome(times, "number", survival.times),
            Outcome(events, "Boolean", survival.events),
        ]
    return columns


def _name_of(view: View, feature: int) -> str:
    return f"column {feature}" if view.columns is None else repr(view.columns[feature])


def used_names(view: View) -> set[str]:
    """Return the names of the columns of a view that were used in the fit."""
    if view.encoding is not None:
        return {column.name for column in view.encoding.used}
    return set(view.columns or ())


def _ordered(column: Outcome) -> Vector:
    """Return the numbers in a column. For a category, return whether each entity has its most
    common value.
    """
    if column.kind not in CATEGORIES or len(column.levels) < 3:
        return column.values
    known = np.isfinite(column.values)
    counts = np.bincount(column.values[known].astype(np.intp))
    return np.where(known, column.values == counts.argmax(), np.nan)


def same_feature(view: FeatureView, values: Vector) -> int | None:
    """Return the first feature of a view that orders the entities as `values` do, or None."""
    rows = np.flatnonzero(view.mask & np.isfinite(values))
    order = rows[np.argsort(values[rows], kind="stable")]
    width = view.matrix.shape[1]
    least = LEAST_BITS + np.log2(2 * width)
    if bits_of_order(values[order]) < least:
        return None
    some = order[np.unique(np.linspace(0, order.size - 1, COMPARED_FIRST).astype(np.intp))]
    rises = (np.diff(values[some]) > 0)[:, None]
    steps = np.sign(np.diff(as_dense(view.matrix[some]), axis=0))
    unknown = False if view.gaps is None else view.gaps[some][1:] | view.gaps[some][:-1]
    for sign in (1, -1):
        alike = ((sign * steps == rises) | unknown).all(axis=0)
        for feature in np.flatnonzero(alike):
            if _same_order(view, int(feature), sign, order, values, least):
                return int(feature)
    return None


def _same_order(
    view: FeatureView,
    feature: int,
    sign: int,
    order: NDArray[np.intp],
    values: Vector,
    least: float,
) -> bool:
    """Return whether a feature rises (or falls) exactly where the values do."""
    own = as_dense(view.matrix[:, [feature]]).ravel()
    known = order if view.gaps is None else order[~view.gaps[order, feature]]
    same = np.array_equal(sign * np.sign(np.diff(own[known])), np.diff(values[known]) > 0)
    return same and bits_of_order(values[known]) >= least


def bits_of_order(values: Vector) -> float:
    """Return the improbability of the order of sorted values, as a number of coin tosses.

    This is the logarithm of the number of orders of n entities with the same ties.

    Examples
    --------
    >>> import numpy as np
    >>> round(bits_of_order(np.array([0.0, 0.0, 1.0, 1.0])), 3), np.log2(6).round(3).item()
    (2.585, 2.585)
    """
    if not values.size:
        return 0.0
    _, counts = np.unique(values, return_counts=True)
    return float((gammaln(values.size + 1) - gammaln(counts + 1).sum()) / np.log(2))
