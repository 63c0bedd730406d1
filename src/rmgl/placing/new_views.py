"""Check and scale new rows for the fitted views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.views.check_view import as_table, is_collection_of_views, is_given_view
from rmgl.views.features import LARGEST_VALUE, FeatureView
from rmgl.views.incomplete import check_observed, named_rows
from rmgl.views.same_columns import NewRows, with_fitted_columns
from rmgl.views.views import Views


def new_views(
    fitted: Views,
    data: Any,
    blocks: Any = None,
    *,
    align: str | None = None,
    observed: Any = None,
    everyone: bool = True,
    again: bool = False,
) -> Views:
    """Check new rows against the fitted views.

    Views that are not passed are treated as missing for all rows. Unless `everyone` is False, every
    row must be in some view. With `again`, the rows are those of the fit, passed again to explain
    its clusters.
    """
    given: dict[str, Any] = {}
    data = named_like(fitted, data, blocks)
    if isinstance(data, Mapping):
        blocks, given = None, {str(name): as_table(X) for name, X in data.items()}
        data, observed = of_given_views(compared_with(fitted, given), observed, len(fitted))
        data = dict(zip(data, aligned_columns(fitted, data), strict=True))
        if not all(hasattr(X, "reindex") for X in data.values()):
            align = None  # rows without labels are assumed to be in the same order
    if isinstance(data, Views):
        blocks = align = observed = None
        check_names(fitted, data)
        rows_like = [NewRows.of_view(fitted[rows.name], rows) for rows in data]
        data = replace(data, views=tuple(with_fitted_columns(rows_like)))
    new = Views.of(
        data,
        blocks,
        align=align,
        observed=observed,
        least=0,
        everyone=everyone,
        encodings={view.name: view.encoding for view in fitted},
    )
    check_names(fitted, new)
    rows, n = {view.name: view for view in new}, new.n_rows
    if again:
        like = [view.again(rows.get(view.name), n) for view in fitted]
    else:
        like = [view.new(rows.get(view.name), n, given.get(view.name)) for view in fitted]
    return Views(tuple(without_empty(fitted, like)), new.index)


def named_like(fitted: Views, data: Any, blocks: Any) -> Any:
    """Return new views under the names of the fitted views, if passed as a list or as one view."""
    data = [data] if is_given_view(data) else data
    if not is_collection_of_views(data):
        if isinstance(data, Views) or (blocks is not None and not by_name(fitted, data)):
            return data
        return {fitted.names[0]: data} if blocks is None else split_by_name(fitted, data)
    if not isinstance(data, list | tuple):
        return data
    if len(data) != len(fitted):
        raise ValueError(
            f"{len(data)} views were given, but the model was fitted on {len(fitted)}; "
            "pass None for a missing view"
        )
    return dict(zip(fitted.names, data, strict=True))


def by_name(fitted: Views, table: Any) -> bool:
    """Return whether the columns of one input can be assigned to all views by their names."""
    names = getattr(as_table(table), "columns", ())
    named = all(view.given_columns is not None for view in fitted)
    return named and len(names) > 0 and all(isinstance(name, str) for name in names)


def split_by_name(fitted: Views, table: Any) -> dict[str, Any]:
    """Split the columns of one table into the fitted views."""
    table = as_table(table)
    own = [{*(view.given_columns or ()), *view.unused_columns} for view in fitted]
    columns = [np.flatnonzero([name in names for name in table.columns]) for names in own]
    return {name: table.iloc[:, places] for name, places in zip(fitted.names, columns, strict=True)}


def aligned_columns(fitted: Views, data: Mapping[str, Any]) -> list[Any]:
    """Return new views in dict order; tables of known views get the columns seen during fit."""
    known = [name for name, X in data.items() if name in fitted.names and not is_given_view(X)]
    new = [NewRows.of_table(fitted[name], data[name]) for name in known]
    found = dict(zip(known, with_fitted_columns(new), strict=True))
    return [found.get(name, X) for name, X in data.items()]


def compared_with(fitted: Views, given: dict[str, Any]) -> dict[str, Any]:
    """Return new views, with views of pairs compared with the fitted ones."""
    return {
        name: fitted[name].against(X) if is_given_view(X) and name in fitted.names else X
        for name, X in given.items()
    }


def check_names(fitted: Views, new: Views) -> None:
    """Raise a ValueError if a view does not belong to the model."""
    unknown = [name for name in new.names if name not in fitted.names]
    if unknown:
        raise ValueError(
            f"unknown views {unknown}: the model was fitted on {list(fitted.names)}; "
            "rename the views or leave them out"
        )


def of_given_views(
    data: dict[str, Any], observed: Any, n_fitted: int
) -> tuple[dict[str, Any], Any]:
    """Return the views that are not None, and the masks of their rows."""
    if observed is not None and not isinstance(observed, Mapping) and len(data) == n_fitted:
        observed = dict(zip(data, check_observed(observed, list(data)), strict=True))
    data = {name: X for name, X in data.items() if X is not None}
    if isinstance(observed, Mapping):
        observed = {str(name): mask for name, mask in observed.items() if str(name) in data}
    return data, observed


def check_placeable(fitted: Views, new: Views) -> Views:
    """Raise a ValueError if a new row has no edge in any network and no other view."""
    nowhere = new.in_none
    if fitted.graphs and nowhere.size:
        raise ValueError(
            f"{named_rows(nowhere, new.index)} missing from every view, without an edge to a "
            "fitted entity in any network or a row in another view; drop such rows"
        )
    return new


def without_empty(fitted: Views, new: Sequence[FeatureView]) -> list[FeatureView]:
    """Treat rows of zeros as missing in views where the fit did so.

    Rows without any other view, and rows that lack only some cells, are kept.
    """
    elsewhere = np.any([view.mask & view.filled for view in new], axis=0)
    return [
        replace(view, entities=np.flatnonzero(view.mask & (view.filled | ~elsewhere)))
        if known.n_empty
        else view
        for known, view in zip(fitted, new, strict=True)
    ]


def scaled_like(fitted: Views, new: Views) -> Views:
    """Scale new rows like the fitted ones, and check that their distances can be squared."""
    with np.errstate(over="ignore"):
        scaled = [view.scaled_new(rows) for view, rows in zip(fitted, new, strict=True)]
    for view in scaled:
        entries = sparse.coo_array(view.matrix)
        beyond = ~(np.abs(entries.data) <= LARGEST_VALUE)
        if beyond.any():
            raise ValueError(
                f"row {entries.coords[0][beyond].min()} of view {view.name!r} has values "
                f"up to {np.abs(entries.data).max():.0e} times those seen during fit, too "
                "large to square in double precision; leave the row out, or set all of its "
                "values to NaN if it is missing"
            )
    return Views(tuple(scaled), new.index)
