"""Names of the features in views, for explanations and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rmgl.views.view import View
from rmgl.views.views import Views


def check_feature_names(views: Views, given: Any) -> list[list[str]]:
    """Return the column names of every view: the names that were passed (a list per view, or a dict
    by view name), the column names of tables, or positions.
    """
    names = [_names_of(view) for view in views]
    if given is None:
        return names
    given = given if isinstance(given, Mapping) else names_by_view(views, given)
    unknown = [name for name in given if str(name) not in views.names]
    if unknown:
        raise ValueError(
            f"feature_names contains unknown views {unknown}; the views are {list(views.names)}"
        )
    for name, features in given.items():
        view = views.names.index(str(name))
        if features is None:
            continue
        if isinstance(features, str) or len(features) != len(names[view]):
            found = "a string" if isinstance(features, str) else f"{len(features)} names"
            raise ValueError(
                f"feature_names has {found} for view {name!r}, which has "
                f"{len(names[view])} columns; pass one name per column"
            )
        names[view] = [str(feature) for feature in features]
    return names


def names_by_view(views: Views, given: Any) -> dict[str, Any]:
    """Return one list of names per view, by view name. For a single view, a plain list of names is
    accepted.
    """
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise TypeError(
            f"feature_names is of type {type(given).__name__}; pass one list of names per "
            "view, or a dict by view name"
        )
    is_one_list = len(given) and all(isinstance(name, str) for name in given)
    lists = [given] if len(views.names) == 1 and is_one_list else list(given)
    if len(lists) != len(views.names):
        raise ValueError(
            f"feature_names has {len(lists)} lists for {len(views.names)} views "
            f"{list(views.names)}; pass one list per view"
        )
    return dict(zip(views.names, lists, strict=True))


def _names_of(view: View) -> list[str]:
    columns, width = view.columns, view.matrix.shape[1]
    # except where columns were replaced by indicators of their values
    named = columns is not None and len(columns) == width
    return list(columns or ()) if named else [f"column {column}" for column in range(width)]
