"""Flows between two clusterings: the clusters of a model, and those of another model or known
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Indices
from rmgl.plots.bands import HALF_BOX, Layout, draw_layout, lay_out
from rmgl.plots.drawing import axes_of, color_of, short
from rmgl.plots.further_columns import places_by_id
from rmgl.plots.models import fitted_model, model_in
from rmgl.results.outcomes import largest_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GROUPS = 30
"""Maximum number of groups in a clustering. The smallest groups are merged if there are more."""
NOT_KNOWN = "unknown"
"""Name of the group of entities without a class."""


@dataclass(frozen=True, eq=False)
class Flows:
    """Number of entities in each pair of groups of two clusterings.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> from rmgl.plots import flows_data
    >>> found = flows_data(model, ["low", "low", "low", "high", "high", "high"])
    >>> found.groups, found.agreement
    ((['0', '1'], ['high', 'low']), 1.0)
    """

    groups: tuple[list[str], list[str]]
    """Names of the groups in both clusterings."""
    counts: Indices
    """Number of shared entities, with one row per group of the model and one column per group of
    the other clustering.
    """
    agreement: float
    """Adjusted Rand index of the entities in both clusterings: 1 if identical, 0 if no better than
    chance, NaN if there are none.
    """
    n_only: tuple[int, int]
    """Number of entities only in the model, and only in the other clustering."""
    layout: Layout
    """Positions of boxes and bands in the plot."""

    def to_frame(self) -> pd.DataFrame:
        """Return the counts as a table.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> model = RMGL(2, random_state=0).fit(views)
        >>> from rmgl.plots import flows_data
        >>> flows_data(model, ["x", "x", "x", "x", "y", "y"]).to_frame()
           x  y
        0  3  0
        1  1  2
        """
        return pd.DataFrame(self.counts, index=self.groups[0], columns=self.groups[1])


def flows_data(model: Any, other: Any) -> Flows:
    """Count the entities shared by each cluster of a model and each group of another clustering.

    Entities are matched by id if both clusterings have ids, which are the `index_` of a model or
    the index of a pandas Series. Otherwise, both clusterings must contain the same entities in the
    same order. Missing classes (None, NaN) form one group, "unknown". If a clustering has more
    than 30 groups, the smallest ones are counted together.

    Parameters
    ----------
    model : fitted RMGL
    other : fitted RMGL, or labels of the entities (list, array or Series)
        Another model, such as an earlier one (`RMGL.load`), or known classes.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> flows_data(model, ["low", "low", "low", "low", "high", "high"]).to_frame()
       high  low
    0     0    3
    1     2    1
    """
    fitted = fitted_model(model)
    here, there, n_only = _matched(fitted, other)
    names, codes = zip(*map(_groups, (here, there)), strict=True)
    known = ~(pd.isna(here) | pd.isna(there))
    texts = (here[known].astype(str), there[known].astype(str))
    agreement = float(adjusted_rand_score(*texts)) if known.any() else float("nan")
    counts = np.zeros((len(names[0]), len(names[1])), dtype=np.intp)
    np.add.at(counts, codes, 1)
    return Flows((names[0], names[1]), counts, agreement, n_only, lay_out(codes, colored=0))


def _matched(fitted: FittedModel, other: Any) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int]]:
    """Return the labels of the entities in both clusterings, and the number of entities in only
    one.
    """
    found = model_in(other)
    values = _values(other) if found is None else found.labels
    ids = (
        found.index if found is not None else other.index if isinstance(other, pd.Series) else None
    )
    places = None if ids is None else places_by_id(pd.Index(ids), fitted.index, "other")
    if places is not None:
        both = places >= 0
        n_common = int(both.sum())
        n_only = fitted.n_rows - n_common, len(values) - n_common
        return fitted.labels[both], values[places[both]], n_only
    if len(values) != fitted.n_rows:
        raise ValueError(
            f"other has {len(values)} labels, but the model has {fitted.n_rows} entities; "
            "pass one label per entity, or a Series with the ids of the model as its "
            "index"
        )
    return fitted.labels, values, (0, 0)


def _values(other: Any) -> NDArray[Any]:
    """Return user-supplied labels as a one-dimensional array."""
    if isinstance(other, str) or not hasattr(other, "__len__"):
        raise TypeError(
            f"other is of type {type(other).__name__}; pass a fitted RMGL model, or one "
            "label per entity"
        )
    values = np.asarray(other) if hasattr(other, "dtype") else np.asarray(other, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"other has shape {values.shape}; pass one label per entity")
    return values


def _groups(values: NDArray[Any]) -> tuple[list[str], Indices]:
    """Return the names of the groups, and the group of each entity. If there are too many groups,
    the smallest ones are merged. Missing values form one group.
    """
    missing = np.asarray(pd.isna(values))
    classes = pd.unique(pd.Series(values[~missing]))
    try:
        classes = np.sort(classes)
    except TypeError:  # values of mixed types
        classes = np.array(sorted(classes, key=str), dtype=object)
    names = [short(value) for value in classes]
    known = pd.Index(classes).get_indexer(pd.Index(values[~missing]))
    if len(names) > MOST_GROUPS:
        kept, known = largest_groups(known, len(names), MOST_GROUPS - 1)
        names = [*(names[group] for group in kept), f"{len(names) - kept.size} others"]
    codes = np.full(values.size, len(names), dtype=np.intp)
    codes[~missing] = known
    return (names if not missing.any() else [*names, NOT_KNOWN]), codes


def plot_flows(
    model: Any,
    other: Any,
    *,
    names: tuple[str, str] = ("this model", "other clustering"),
    ax: Axes | None = None,
) -> Axes:
    """Plot how the entities of each cluster are distributed over the groups of another clustering.

    The width of a band is proportional to its number of entities, and its color is that of the
    model's cluster. The title shows the agreement of the two clusterings. The numbers are
    counts of entities. Only counts are drawn, so the plot works for any number of entities.

    Parameters
    ----------
    model, other : as for `flows_data`
    names : pair of str, default ("this model", "other clustering")
        Names of the two clusterings.
    ax : Axes, optional
        Axes to draw on. By default, a new figure is created.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> plot_flows(model, [1, 1, 1, 2, 2, 2], names=("clusters", "classes"))  # doctest: +SKIP
    """
    found = flows_data(model, other)
    if len(names) != 2 or isinstance(names, str):
        raise ValueError("names is not a pair of strings; pass one name per clustering")
    most = max(map(len, found.groups))
    ax = axes_of(ax, 6.4, max(3.6, 0.3 * most + 1.2))
    draw_layout(
        ax, found.layout, [color_of(group) for group in range(len(found.groups[0]))], downward=False
    )
    for box in found.layout.boxes:
        side, beyond = ("right", -1) if box.answer == 0 else ("left", 1)
        text = f"{found.groups[box.answer][box.group]}  ({box.size:,})"
        at = box.answer + beyond * (HALF_BOX + 0.02)
        ax.text(
            at, (box.start + box.end) / 2, text, ha=side, va="center", fontsize=9, parse_math=False
        )
    ax.set(xlim=(-0.45, 1.45), yticks=[])
    ax.set_xticks([0, 1], [short(name) for name in names])
    ax.tick_params(axis="x", length=0)
    only = [
        f"{count:,} entities only in {short(name)}"
        for name, count in zip(names, found.n_only, strict=True)
        if count
    ]
    agreement = round(found.agreement, 2) + 0.0  # not -0.00
    ax.set_title(
        f"Agreement {agreement:.2f} (adjusted Rand index; 1: identical, 0: chance)"
        + "".join(f"\n{line}" for line in only),
        fontsize=10,
        parse_math=False,
    )
    return ax
