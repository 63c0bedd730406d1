"""Features of the views on the page: their display, and their values at the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.page.elements import shortened
from rmgl.results.explain import Explanation
from rmgl.views.view import View
from rmgl.views.views import Views

MOST_VALUES = 1_500_000
"""Maximum number of feature values on the page, over all points: about 3 MB before compression."""
STEPS, MISSING = 65534, 65535
"""Code of the largest value. Values are coded as whole numbers from 0 (smallest) to `STEPS`
(largest), and missing values as `MISSING`.
"""


@dataclass(frozen=True)
class PointFeature:
    """A feature for coloring points."""

    view: str
    name: str
    kind: str
    """How the values are displayed: "number", "share" (of zeros and ones) or "date"."""
    low: float
    high: float
    codes: NDArray[np.uint16]
    """Coded values, one per point."""

    def facts(self) -> dict[str, Any]:
        """Return the data of the feature for the page, without the codes."""
        return {
            "view": shortened(self.view, 60),
            "name": shortened(self.name),
            "kind": self.kind,
            "low": self.low,
            "high": self.high,
        }


def kind_of(view: View, column: int, values: NDArray[np.float64], own_units: bool) -> str:
    """Return how a feature's values are displayed. Scaled values are shown as numbers."""
    if not own_units:
        return "number"
    if view.encoding is not None:
        kinds = [own.kind for own in view.encoding.columns for _ in own.features]
        if column < len(kinds) and kinds[column] == "date":
            return "date"
    return "share" if values.size and bool(((values == 0) | (values == 1)).all()) else "number"


def second_sides(view: View) -> NDArray[np.intp]:
    """Return, for each feature, 1 or 2 for the two sides of a column with two categories, and 0
    otherwise.
    """
    if view.encoding is None:
        return np.zeros(view.matrix.shape[1], dtype=np.intp)
    sides = [
        side if own.kind == "category" and len(own.features) == 2 else 0
        for own in view.encoding.columns
        for side in range(1, len(own.features) + 1)
    ]
    return np.array([*sides, 0] if view.encoding.has_categories else sides, dtype=np.intp)


def one_side_each(table: Explanation, views: Views) -> Explanation:
    """Keep one of the two sides of a column with two categories: the one that is more common
    inside the cluster.
    """
    kept = np.ones(len(table), dtype=bool)
    for view in views:
        sides = second_sides(view)
        if not sides.any():
            continue
        rows = np.flatnonzero(table.view == view.name)
        own, effect = sides[table.column[rows]], table.effect_size[rows]
        kept[rows] = (own == 0) | (effect > 0) | ((own == 1) & ~(effect < 0))
    return table if kept.all() else table.rows(np.flatnonzero(kept))


def point_features(
    table: Explanation, views: Views, points: NDArray[np.intp], own_units: bool
) -> tuple[list[PointFeature], int]:
    """Return the features for coloring points, and the number of features that vary. Each view
    contributes its features with the largest effects, as many as fit on the page.
    """
    ranked = []
    for at, view in enumerate(views):
        rows = np.flatnonzero(table.view == view.name)
        if not rows.size:
            continue
        largest = np.full(view.matrix.shape[1], -1.0)
        effects = np.nan_to_num(np.abs(table.effect_size[rows]), nan=-1.0, posinf=np.inf)
        np.maximum.at(largest, table.column[rows], effects)
        names = dict(zip(table.column[rows].tolist(), table.feature[rows].tolist(), strict=True))
        largest[second_sides(view) == 2] = -1.0
        order = np.argsort(-largest, kind="stable")
        known = order[largest[order] >= 0].tolist()
        ranked += [(rank, at, column, names[column]) for rank, column in enumerate(known)]
    room = MOST_VALUES // max(1, points.size)
    chosen = sorted(ranked, key=lambda entry: entry[:2])[:room]
    found = []
    for at, view in enumerate(views):
        own = sorted((entry[2], entry[3]) for entry in chosen if entry[1] == at)
        if own:
            found += _features_in(view, own, points, own_units)
    return found, len(ranked)


def _features_in(
    view: View, columns: list[tuple[int, str]], points: NDArray[np.intp], own_units: bool
) -> list[PointFeature]:
    """Return the selected features of a view, without those that are constant at the points."""
    places = [column for column, _ in columns]
    chosen = (
        sparse.csc_array(view.matrix[points])[:, places].toarray()
        if sparse.issparse(view.matrix)
        else view.matrix[np.ix_(points, np.array(places))]
    )
    absent = np.repeat(~view.mask[points][:, None], len(places), axis=1)
    if view.gaps is not None:
        absent |= view.gaps[points][:, places]
    found = []
    for at, (column, name) in enumerate(columns):
        values, gaps = chosen[:, at], absent[:, at]
        known = values[~gaps]
        if not known.size:
            continue
        low, high = float(known.min()), float(known.max())
        if not 0 < high - low < np.inf:
            continue
        codes = np.full(values.size, MISSING, dtype=np.uint16)
        codes[~gaps] = np.rint((known - low) / (high - low) * STEPS).astype(np.uint16)
        kind = kind_of(view, column, known, own_units)
        found.append(PointFeature(view.name, name, kind, low, high, codes))
    return found
