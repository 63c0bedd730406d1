"""Histograms of the features that distinguish a cluster, inside and outside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.results.explain import Explanation
from rmgl.views.view import View
from rmgl.views.views import Views

N_BINS = 20
MOST_ROWS = 20_000
"""Rows of a view beyond which a sample of them is counted."""
TAIL = 0.005
"""Share of the values at each end that are counted in the first and the last bin."""


def histograms(table: Explanation, views: Views, labels: NDArray[np.intp]) -> list[dict[str, Any] | None]:
    """For every row of the table: the ends of the range, and the shares of the values in each bin inside and outside of the cluster."""
    parts = [_sampled(view, labels) for view in views]
    places = {name: view for view, name in enumerate(views.names)}
    found: list[dict[str, Any] | None] = []
    for row in range(len(table)):
        X, own, gaps = parts[places[table.view[row]]]
        column = X[:, [table.column[row]]]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        there = slice(None) if gaps is None else ~gaps[:, table.column[row]]
        found.append(histogram(values[there], (own == table.cluster[row])[there]))
    return found


def histogram(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> dict[str, Any] | None:
    """One histogram of a feature; None if there are no values inside or outside."""
    if inside.all() or not inside.any():
        return None
    low, high = (float(end) for end in np.quantile(values, [TAIL, 1 - TAIL]))
    if not high > low:
        low, high = float(values.min()), float(values.max())
    width = high - low
    if not 0 < width < np.inf:
        return None
    bins = np.clip((values - low) / width * N_BINS, 0, N_BINS - 1).astype(np.intp)
    shares = [np.bincount(bins[part], minlength=N_BINS) / np.count_nonzero(part) for part in (inside, ~inside)]
    return {"low": low, "high": high, "inside": shares[0].round(3).tolist(), "outside": shares[1].round(3).tolist()}


def _sampled(view: View, labels: NDArray[np.intp]) -> tuple[Any, NDArray[np.intp], NDArray[np.bool_] | None]:
    """The observed rows of a view, or some of them, their clusters, and their missing cells (None: none)."""
    rows = np.flatnonzero(view.mask)
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.RandomState(0).permutation(rows)[:MOST_ROWS])
    X, gaps = view.matrix[rows], view.gaps
    return (sparse.csc_array(X) if sparse.issparse(X) else X), labels[rows], None if gaps is None else gaps[rows]
