"""Refit selected clusters of a model: get their rows as views, and the model with finer labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.matrix import Indices
from rmgl.views.views import Views


def rows_of(model: FittedModel, clusters: Any) -> Indices:
    """Return the rows in these clusters, in model order."""
    wanted = np.atleast_1d(np.asarray(clusters))
    known = wanted.dtype.kind in "iu" and wanted.size > 0
    if not known or not np.isin(wanted, np.arange(model.n_clusters)).all():
        raise ValueError(
            f"clusters={clusters!r} are not clusters of the model: pass numbers from 0 to "
            f"{model.n_clusters - 1}, such as [0]"
        )
    return np.flatnonzero(np.isin(model.labels, wanted))


def rows_again(model: FittedModel, rows: Indices, views: Sequence[str] | None) -> Views:
    """Return these rows of the views as they were scaled for the fit.

    The rows keep their row labels or, if they have none, are labeled with their row numbers in the
    model.
    """
    kept = model.views
    unknown = [name for name in views or () if name not in kept.names]
    if unknown:
        raise ValueError(
            f"views={list(views or ())} names unknown views {unknown}: the views are "
            f"{list(kept.names)}"
        )
    names = np.arange(model.n_rows) if model.index is None else model.index
    chosen = range(len(kept)) if views is None else [kept.names.index(name) for name in views]
    return replace(kept.of_views(list(chosen)).of_entities(rows), index=names[rows])


def rows_named(model: FittedModel, names: NDArray[Any] | None) -> Indices:
    """Return the rows of a model with these names, which come from `rows_again`."""
    if names is None:
        raise ValueError(
            "the rows of the second model have no labels: pass the clusters that it was fitted "
            "on, such as clusters=[0]"
        )
    known = list(range(model.n_rows) if model.index is None else model.index)
    place = {name: row for row, name in enumerate(known)}
    if len(place) < len(known):
        raise ValueError(
            "some row labels in this model occur more than once: pass the clusters that the "
            "second model was fitted on, such as clusters=[0]"
        )
    unknown = next((name for name in names.tolist() if name not in place), None)
    if unknown is not None:
        raise ValueError(
            f"row {unknown!r} of the second model is not in this one: fit it on rows from "
            "model.subset(...)"
        )
    return np.array([place[name] for name in names.tolist()], dtype=np.intp)


def with_labels(model: FittedModel, rows: Indices, labels: Indices) -> FittedModel:
    """Return a model in which these rows have new labels, and all other rows keep theirs.

    The first new clusters reuse the numbers of clusters that have no rows left, and the others get
    the next free numbers.

    The evidence for the number of clusters is left out, because it is about the earlier clusters.
    """
    rest = np.delete(model.labels, rows)
    free = np.setdiff1d(np.arange(model.n_clusters), rest)
    parts = np.unique(labels)
    more = np.arange(model.n_clusters, model.n_clusters + parts.size)
    numbers = np.concatenate([free, more])[: parts.size]
    finer = model.labels.copy()
    finer[rows] = numbers[np.searchsorted(parts, labels)]
    used, finer = np.unique(finer, return_inverse=True)  # no gaps if there are fewer clusters
    return replace(model, labels=finer, n_clusters=int(used.size), number=None, evidence=None)
