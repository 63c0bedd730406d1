"""Names of entities and additional columns that users pass for the page."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from rmgl.page.elements import readable, shortened
from rmgl.page.features import kind_of
from rmgl.plots.further_columns import further_columns
from rmgl.results.explain import Explanation
from rmgl.views.dates import days_since_1970
from rmgl.views.view import View
from rmgl.views.views import Views

MOST_CATEGORIES = 200
"""Maximum number of distinct strings in a column. Rarer strings are shown as "other"."""


@dataclass(frozen=True)
class GivenColumn:
    """A column for coloring points: numbers, or codes of categories."""

    name: str
    values: NDArray[np.float32] | NDArray[np.uint16]
    categories: list[str] | None
    """Strings that the codes represent. None for numbers."""
    kind: str = "number"
    """How numbers are displayed: "number", or "date" for days since 1970."""


def check_ids(ids: Any, index: NDArray[Any] | None, n_rows: int) -> list[str] | None:
    """Return the names of the entities: those passed, or else the row labels from the fit. None if
    there are none.
    """
    if ids is None:
        return None if index is None else [shortened(str(name)) for name in index]
    if isinstance(ids, str) or not hasattr(ids, "__len__"):
        raise TypeError(
            f"ids is of type {type(ids).__name__}; pass a list or array with one name for "
            f"each of the {n_rows} entities"
        )
    if len(ids) != n_rows:
        raise ValueError(
            f"ids has {len(ids)} names, but the model has {n_rows} entities; pass one "
            "name per entity"
        )
    return [shortened(str(name)) for name in ids]


def check_columns(columns: Any, n_rows: int) -> list[GivenColumn]:
    """Return the columns of a dict or table, each with one value per entity."""
    return [_checked(name, values) for name, values in further_columns(columns, n_rows)]


def _checked(name: str, values: NDArray[Any]) -> GivenColumn:
    if is_dates(values):
        days = days_since_1970(pd.Series(values)).astype(np.float32)
        return GivenColumn(readable(name), days, None, "date")
    if values.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float32)
        return GivenColumn(
            readable(name), np.where(np.isfinite(numbers), numbers, np.float32(np.nan)), None
        )
    return _categories(readable(name), [str(value) for value in values])


def is_dates(values: NDArray[Any]) -> bool:
    """Return whether all nonmissing values are dates or times, and there is at least one."""
    return values.dtype.kind == "M" or (
        values.dtype.kind == "O"
        and pd.api.types.infer_dtype(values, skipna=True) in ("date", "datetime", "datetime64")
    )


def _categories(name: str, texts: Sequence[str]) -> GivenColumn:
    found, codes, counts = np.unique(
        np.array(texts, dtype=object), return_inverse=True, return_counts=True
    )
    if found.size <= MOST_CATEGORIES:
        return GivenColumn(name, codes.astype(np.uint16), [shortened(text) for text in found])
    common = np.argsort(-counts, kind="stable")[: MOST_CATEGORIES - 1]
    renamed = np.full(found.size, MOST_CATEGORIES - 1)
    renamed[common] = np.arange(common.size)
    return GivenColumn(
        name,
        renamed[codes].astype(np.uint16),
        [*(shortened(text) for text in found[common]), "other"],
    )


N_BINS = 20
MOST_HELD_ROWS = 20_000
"""Maximum number of rows per view used for histograms. Larger views are sampled."""
TAIL = 0.005
"""Share of the values at each end that are counted in the first and the last bin."""


def histograms(
    table: Explanation, views: Views, labels: NDArray[np.intp], own_units: bool = True
) -> list[dict[str, Any] | None]:
    """Return, for every row of the table, the ends of the range, the shares of the values in each
    bin inside and outside the cluster, and how the values are displayed.
    """
    parts = [_sampled(view, labels) for view in views]
    places = {name: view for view, name in enumerate(views.names)}
    found: list[dict[str, Any] | None] = []
    for row in range(len(table)):
        X, own, gaps = parts[places[table.view[row]]]
        column = X[:, [table.column[row]]]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        there = slice(None) if gaps is None else ~gaps[:, table.column[row]]
        drawn = histogram(values[there], (own == table.cluster[row])[there])
        kind = kind_of(views[table.view[row]], table.column[row], values[there], own_units)
        found.append(None if drawn is None else {**drawn, "kind": kind})
    return found


def histogram(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Return one histogram of a feature. None if there are no values inside or outside."""
    if inside.all() or not inside.any():
        return None
    low, high = (float(end) for end in np.quantile(values, [TAIL, 1 - TAIL]))
    if not high > low:
        low, high = float(values.min()), float(values.max())
    width = high - low
    if not 0 < width < np.inf:
        return None
    bins = np.clip((values - low) / width * N_BINS, 0, N_BINS - 1).astype(np.intp)
    shares = [
        np.bincount(bins[part], minlength=N_BINS) / np.count_nonzero(part)
        for part in (inside, ~inside)
    ]
    return {
        "low": low,
        "high": high,
        "inside": shares[0].round(3).tolist(),
        "outside": shares[1].round(3).tolist(),
    }


def _sampled(
    view: View, labels: NDArray[np.intp]
) -> tuple[Any, NDArray[np.intp], NDArray[np.bool_] | None]:
    """Return the observed rows of a view, or a sample of them, with their clusters and missing
    cells (None if no cells are missing).
    """
    rows = np.flatnonzero(view.mask)
    if rows.size > MOST_HELD_ROWS:
        rows = np.sort(np.random.RandomState(0).permutation(rows)[:MOST_HELD_ROWS])
    X, gaps = view.matrix[rows], view.gaps
    return (
        (sparse.csc_array(X) if sparse.issparse(X) else X),
        labels[rows],
        None if gaps is None else gaps[rows],
    )


NOT_KNOWN = 255
"""Byte that represents NaN in arrays of shares."""
KINDS_OF_COLORS = {
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "float32": "Float32Array",
}


def packed(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Pack facts (JSON) and arrays into text. The packed data consist of a line of JSON with the
    positions of the arrays, followed by the arrays.

    Before compression, the block consists of the length of the JSON (8 bytes, little-endian), the
    JSON, padding to a multiple of 8 bytes, and the arrays, each padded likewise.
    """
    places: dict[str, list[Any]] = {}
    content = bytearray()
    for name, values in arrays.items():
        places[name] = [KINDS_OF_COLORS[values.dtype.name], len(content), int(values.size)]
        content += values.astype(values.dtype.newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)
    text = json.dumps({**facts, "arrays": places}, allow_nan=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    block = len(text).to_bytes(8, "little") + text + bytes(content)
    return base64.b64encode(zlib.compress(block, 6)).decode("ascii")


def as_bytes(shares: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Encode shares from 0 to 1 in steps of 1/254, with `NOT_KNOWN` for NaN."""
    known = np.isfinite(shares)
    return np.where(
        known, np.rint(np.clip(np.where(known, shares, 0.0), 0.0, 1.0) * 254), NOT_KNOWN
    ).astype(np.uint8)
