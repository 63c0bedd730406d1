"""From what users pass as views to a list of names and inputs, in one order of the entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.views.check_view import is_collection_of_views, is_given_view, row_labels
from rmgl.views.column_blocks import split_columns
from rmgl.views.columns import as_table
from rmgl.views.incomplete import aligned

Named: TypeAlias = list[tuple[str, Any]]


def named_inputs(data: Any, blocks: Any) -> Named:
    """The inputs by name: those of a list, tuple or dict, or the column `blocks` of one table."""
    if hasattr(data, "obs_names"):
        kind = "mudata(mdata)" if hasattr(data, "mod") else "anndata(adata, ['X', ...])"
        raise TypeError(f"the input is of type {type(data).__name__}, but arrays or tables were expected: use rmgl.from_{kind}")
    if is_collection_of_views(data):
        if blocks is not None:
            raise ValueError("views= describes the column blocks of one 2-D input, but several views were given: leave views=None")
        items = data.items() if isinstance(data, Mapping) else ((f"view_{m}", X) for m, X in enumerate(data))
        named = [(str(name), as_table(X)) for name, X in items]
    elif blocks is None:
        named = [("view_0", as_table(data))]
    else:
        named = split_columns(as_table(data), blocks)
    names = [name for name, _ in named]
    if not names:
        raise ValueError("no views were given: pass at least one 2-D array")
    if len(set(names)) < len(names):
        raise ValueError(f"view names must differ, but they are {names}: rename the repeated ones")
    return named


def matched(named: Named, align: str | None, index: NDArray[Any] | None) -> tuple[Named, NDArray[Any] | None]:
    """Inputs whose entities are in one order, as far as they have names: by `align`, or that of the row labels; and these labels."""
    if align is not None:
        tables = dict(aligned(tables_in(named), align))
        named = [(name, tables.get(name, X)) for name, X in named]
    named, index = with_nodes_placed(named, index)
    labels = row_labels(tables_in(named)) if index is None else index
    if labels is not None:
        named = [(name, X.in_order(name, labels) if hasattr(X, "in_order") else X) for name, X in named]
    return named, row_labels(named) if index is None else index


def tables_in(named: Named) -> Named:
    """The inputs that are arrays or tables."""
    return [(name, X) for name, X in named if not is_given_view(X)]


def with_nodes_placed(named: Named, index: NDArray[Any] | None) -> tuple[Named, NDArray[Any] | None]:
    """Put networks with named nodes in the order of the entities: that of the row labels or, if all views are networks, of the nodes."""
    labels = {name: X.labels() for name, X in named if hasattr(X, "labels")}
    if not any(labels.values()):
        return named, index
    known = row_labels(named) if index is None else index
    if known is None and len(labels) == len(named) and all(labels.values()):
        known = np.array(list(dict.fromkeys(label for own in labels.values() for label in own or ())), dtype=object)
        index = known
    if known is None:
        unnamed = next(name for name, _ in named if not labels.get(name))
        name = next(name for name, own in labels.items() if own)
        raise ValueError(
            f"view {name!r}: the nodes of the network have names, but the rows of view {unnamed!r} have none to match them with: give "
            "tables with row labels, or name the nodes 0, 1, 2, ... in the order of the rows"
        )
    return [(name, X.placed(name, known.tolist()) if labels.get(name) else X) for name, X in named], index
