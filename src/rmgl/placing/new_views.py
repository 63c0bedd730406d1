"""Check and scale new rows of the views that a model was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.views.check_view import LARGEST_VALUE, is_collection_of_views, is_square_view
from rmgl.views.incomplete import check_observed, named_rows
from rmgl.views.matrix import Matrix
from rmgl.views.precomputed import Precomputed
from rmgl.views.relations import check_not_negative
from rmgl.views.scaling import Scaler
from rmgl.views.views import Views, where_any


def new_views(
    fitted: Views,
    data: Any,
    blocks: Any = None,
    *,
    align: str | None = None,
    observed: Any = None,
    everyone: bool = True,
    scalers: Sequence[Scaler] = (),
) -> Views:
    """Check new rows against the views that a model was fitted on; views that are not given are missing for all rows.

    Unless `everyone` is False, every row must be in some view.
    """
    data, diagonals = [data] if is_square_view(data) else data, {}
    if isinstance(data, list | tuple) and is_collection_of_views(data):
        if len(data) != len(fitted.names):
            raise ValueError(
                f"{len(data)} views are given, but the model was fitted on {len(fitted.names)}: put None for a view that is missing"
            )
        data = dict(zip(fitted.names, data, strict=True))
    elif not is_collection_of_views(data) and not isinstance(data, Views) and blocks is None:
        data = {fitted.names[0]: data}
    if isinstance(data, Mapping):
        blocks = None
        diagonals = {str(name): X.diagonal for name, X in data.items() if isinstance(X, Precomputed)}
        data = {name: rows_against_fitted(fitted, str(name), X) for name, X in data.items()}
        if observed is not None and not isinstance(observed, Mapping) and len(data) == len(fitted.names):
            observed = dict(zip(data, check_observed(observed, list(map(str, data))), strict=True))
        data = {str(name): X for name, X in data.items() if X is not None}
        if isinstance(observed, Mapping):
            observed = {str(name): mask for name, mask in observed.items() if str(name) in data}
        if not all(hasattr(X, "reindex") for X in data.values()):
            align = None  # rows without labels are taken to be in the same order
    if isinstance(data, Views):
        blocks = align = observed = None
    encodings = dict(zip(fitted.names, fitted.encodings or [None] * len(fitted.names), strict=True))
    new = Views.of(data, blocks, align=align, observed=observed, least=0, everyone=everyone, encodings=encodings)
    unknown = [name for name in new.names if name not in fitted.names]
    if unknown:
        raise ValueError(f"the model has no views {unknown}: it was fitted on {list(fitted.names)}; rename the views or leave them out")
    given = {name: place for place, name in enumerate(new.names)}
    matrices, present = [], []
    for view, name in enumerate(fitted.names):
        levels = scalers[view].levels if scalers else None
        width = fitted.matrices[view].shape[1] if levels is None else len(levels)
        matrices.append(_rows_like(fitted, view, new, given.get(name), width))
        present.append(new.mask(given[name]) if name in given else np.zeros(new.n_rows, dtype=bool))
    gaps = where_any(new.missing_cells(given[name]) if name in given else None for name in fitted.names)
    for view, relation in enumerate(fitted.relations):
        if relation is not None and not relation.is_network and fitted.names[view] in given:
            matrices[view] = relation.squared_of_new(fitted.names[view], matrices[view], diagonals.get(fitted.names[view]))
            if sparse.issparse(matrices[view]):
                present[view] &= np.diff(matrices[view].indptr) > 0
    for view in fitted.networks:
        check_not_negative(fitted.names[view], "the network", matrices[view])
        matrices[view] = sparse.csr_array(matrices[view])
        matrices[view].eliminate_zeros()
        present[view] &= np.diff(matrices[view].indptr) > 0
    _leave_out_empty(fitted, matrices, present, gaps)
    named = [new.columns[given[name]] if new.columns and name in given else None for name in fitted.names]
    columns = tuple(own or known for own, known in zip(named, fitted.columns or [None] * len(named), strict=True))
    rows, names = tuple(map(np.flatnonzero, present)), columns if any(columns) else ()
    kinds: dict[str, Any] = {"encodings": fitted.encodings, "relations": fitted.relations}
    return Views(fitted.names, tuple(matrices), rows, new.index, names, gaps=gaps, **kinds)


def rows_against_fitted(fitted: Views, name: str, X: Any) -> Any:
    """The rows of new entities against the fitted ones, from a `Network` or `Precomputed`; other views are returned as they are."""
    relation = fitted.relation(fitted.names.index(name)) if name in fitted.names else None
    if not is_square_view(X):
        return X
    if isinstance(X, Precomputed) and relation is not None and X.kind != relation.kind:
        raise ValueError(f"view {name!r} is of kind {X.kind!r}, but was fitted on kind {relation.kind!r}: give the same kind")
    if relation is None or relation.kind == "jaccard" or relation.is_network != (not isinstance(X, Precomputed)):
        raise ValueError(f"view {name!r} was fitted on rows of features, but a {type(X).__name__} is given: give rows of the same kind")
    return X.graph if hasattr(X, "graph") else X.matrix


def check_placeable(new: Views) -> Views:
    """Raise a ValueError if a new row has no edge in any network, and no other view."""
    nowhere = np.flatnonzero(~np.any([new.mask(view) for view in range(len(new.names))], axis=0))
    if new.networks and nowhere.size:
        raise ValueError(
            f"{named_rows(nowhere, new.index)} in no view, without an edge to a fitted entity in any network and without a row in another "
            "view: drop such rows"
        )
    return new


def _leave_out_empty(
    fitted: Views, matrices: Sequence[Matrix], present: Sequence[NDArray[np.bool_]], gaps: Sequence[NDArray[np.bool_] | None]
) -> None:
    """Treat rows of zeros as missing in views where the fit did so, unless the row has no other view, or lacks some cells only."""
    nonzero = [np.asarray((X != 0).sum(axis=1)).ravel() > 0 for X in matrices]
    nonzero = [
        filled if own is None else filled | own.any(axis=1) for filled, own in zip(nonzero, gaps or [None] * len(nonzero), strict=True)
    ]
    elsewhere = np.any([own & filled for own, filled in zip(present, nonzero, strict=True)], axis=0)
    for view, n_empty in enumerate(fitted.n_empty):
        if n_empty:
            present[view][~nonzero[view] & elsewhere] = False


def scaled_like(scalers: Sequence[Scaler], new: Views) -> Views:
    """Scale new rows like the fitted ones; raise a ValueError if a value is too large for squared distances in double precision."""
    with np.errstate(over="ignore"):
        scaled = new.scaled_by(scalers, check=False)
    for name, X in zip(scaled.names, scaled.matrices, strict=True):
        entries = sparse.coo_array(X)
        beyond = ~(np.abs(entries.data) <= LARGEST_VALUE)
        if beyond.any():
            raise ValueError(
                f"row {entries.coords[0][beyond].min()} of view {name!r} has values up to {np.abs(entries.data).max():.0e} in units of the "
                "fitted ones, too large to square in double precision: leave the row out, or set all its values to NaN if it is missing"
            )
    return scaled


def _rows_like(fitted: Views, view: int, new: Views, place: int | None, width: int) -> Matrix:
    """Return the new rows of one fitted view of that many columns, sparse if the fitted view is; zeros if the view is not given."""
    X, name = fitted.matrices[view], fitted.names[view]
    relation = fitted.relation(view)
    if relation is not None and relation.kind == "jaccard":
        X, width = relation.rows, relation.rows.shape[1]
    if place is None:
        return sparse.csr_array((new.n_rows, width)) if sparse.issparse(X) else np.zeros((new.n_rows, width))
    rows = new.matrices[place]
    if rows.shape[1] != width:
        raise ValueError(
            f"view {name!r} has {rows.shape[1]} columns, but the model was fitted on {width}: give the same columns in the same order"
        )
    known, found = (views.columns[at] if views.columns else None for views, at in ((fitted, view), (new, place)))
    if known is not None and found is not None and known != found:
        wrong = next(at for at, (ours, theirs) in enumerate(zip(known, found, strict=True)) if ours != theirs)
        raise ValueError(
            f"column {wrong} of view {name!r} is {found[wrong]!r}, but {known[wrong]!r} in the fitted one: put columns in the same order"
        )
    if sparse.issparse(X) and new.missing_cells(place) is None:
        return sparse.csr_array(rows)
    if relation is not None and sparse.issparse(rows):
        raise ValueError(f"view {name!r} was fitted on the {relation.kind} of all pairs, but new rows are sparse: give all their entries")
    return rows.toarray() if sparse.issparse(rows) else rows
