"""Base class and parameter checks shared by all multi-view clusterers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import validate_data

from rmgl.embedding.eigenvectors import signed
from rmgl.views.check_view import is_collection_of_views
from rmgl.views.scaling import SCALES
from rmgl.views.views import Views


@dataclass(frozen=True)
class Kind:
    """A kind of parameter value, with a description for error messages and a test."""

    words: str
    """One or more alternatives, separated by commas."""
    accepts: Callable[[Any], bool]


Table = Mapping[str, tuple[Kind, ...]]
"""Allowed kinds of values for each parameter."""


def check_parameters(owner: str, values: Mapping[str, Any], table: Table) -> None:
    """Raise a ValueError that names the first invalid parameter."""
    for name, kinds in table.items():
        if not any(kind.accepts(values[name]) for kind in kinds):
            wanted = " or ".join(", ".join(kind.words for kind in kinds).rsplit(", ", 1))
            raise ValueError(
                f"The {name!r} parameter of {owner} must be {wanted}. Got "
                f"{shown(values[name])} instead."
            )


def shown(value: Any) -> str:
    """Return a short description of a value for an error message."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:60]}... ({type(value).__name__})"


def number(*, least: float | None = None, above: float | None = None) -> Kind:
    """Return a kind that accepts numbers within a bound. Infinity is allowed, but NaN is not."""
    bound = f" >= {least:g}" if least is not None else f" > {above:g}" if above is not None else ""

    def accepts(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        return (
            not np.isnan(number)
            and (least is None or number >= least)
            and (above is None or number > above)
        )

    return Kind(f"a number{bound}", accepts)


def whole_number(least: int | None = None) -> Kind:
    """Return a kind that accepts whole numbers no smaller than `least`."""
    bound = "" if least is None else f" >= {least}"
    return Kind(
        f"a whole number{bound}",
        lambda value: (
            isinstance(value, Integral)
            and not isinstance(value, bool | np.bool_)
            and (least is None or int(value) >= least)
        ),
    )


def one_of(*words: str) -> Kind:
    """Return a kind that accepts only the specified words."""
    return Kind(
        ", ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words
    )


def is_sequence(value: Any) -> bool:
    """Return whether a value is a list, tuple, array or Series. Text is not a sequence here."""
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Sequence) or (
        hasattr(value, "__array__") and hasattr(value, "__len__")
    )


TRUTH_VALUE = Kind("True, False", lambda value: isinstance(value, bool | np.bool_))
NAME = Kind("text", lambda value: isinstance(value, str))
NOTHING = Kind("None", lambda value: value is None)
LIST = Kind("a list", is_sequence)
BY_NAME = Kind("a dict", lambda value: isinstance(value, Mapping))
SPARSE = Kind("a sparse graph", sparse.issparse)
ARRAY = Kind("an array", lambda value: is_sequence(value) or sparse.issparse(value))
VERBOSITY = Kind(
    "a whole number >= 0, True, False",
    lambda value: isinstance(value, Integral | np.bool_) and int(value) >= 0,
)
SEED = Kind(
    "a whole number >= 0, a numpy RandomState, None",
    lambda value: (
        value is None
        or value is np.random
        or isinstance(value, np.random.RandomState)
        or (isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32)
    ),
)


class ViewsClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """A scikit-learn clusterer for several views, or for one table split into column blocks by
    `views`.

    Subclasses accept the parameters listed in `_allowed`. Their `fit` sets `labels_` and
    `embedding_`.
    """

    _allowed: Table = {
        "n_clusters": (whole_number(least=1),),
        "scale": (one_of("auto", *SCALES), LIST, BY_NAME),
        "views": (LIST, BY_NAME, NOTHING),
        "n_init": (whole_number(least=1),),
        "random_state": (SEED,),
    }

    n_clusters: Any
    views: Any
    embedding_: NDArray[np.float64]

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.float64]:
        """Fit the model and return the common embedding of shape (N, K).

        Examples
        --------
        >>> from rmgl import RMGL
        >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
        >>> RMGL(2, random_state=0).fit_transform(views).shape
        (6, 2)
        """
        self.fit(X, y, **options)
        return self.embedding_

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter has an invalid value."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._allowed)

    def _check_views(self, X: Any) -> Views:
        """Check and return the views. Sets `n_features_in_`, `view_names_` and `index_`."""
        views = self._complete(Views.of(X, self.views))
        self._note_features(X, views)
        self.view_names_, self.index_ = list(views.names), views.index
        return views

    def _complete(self, views: Views) -> Views:
        views.refuse_gaps("use RMGL, which accepts missing cells,")
        for view in views:
            if view.rows is None:
                raise ValueError(
                    f"view {view.name!r} is a network or a distance matrix, but "
                    f"{type(self).__name__} requires a table of features; use RMGL instead"
                )
        for name, n_missing in zip(views.names, views.n_missing, strict=True):
            if n_missing:
                raise ValueError(
                    f"view {name!r} is missing {n_missing} of the {views.n_rows} entities "
                    f"(rows of NaN), but {type(self).__name__} requires every entity in "
                    "every view; drop these entities, or use RMGL"
                )
        return views

    def _note_features(self, X: Any, views: Views) -> None:
        """Set the feature attributes that scikit-learn expects, and check the number of rows."""
        if isinstance(X, Views) or is_collection_of_views(X):
            self.n_features_in_ = views.n_features
            if hasattr(self, "feature_names_in_"):  # left by an earlier fit on one table
                del self.feature_names_in_
        else:
            validate_data(
                self, X, skip_check_array=True
            )  # sets n_features_in_ and feature_names_in_
        self._check_n_rows(views.n_rows)

    def _check_n_rows(self, n_rows: int) -> None:
        if not isinstance(self.n_clusters, str) and n_rows < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} exceeds the number of rows, "
                f"n_samples={n_rows}; choose fewer clusters"
            )

    def _keep_embedding(self, vectors: NDArray[np.float64]) -> None:
        """Store the embedding with reproducible signs."""
        self.embedding_ = signed(vectors)

    @property
    def _n_features_out(self) -> int:
        """Number of embedding columns, which scikit-learn uses to name the output columns."""
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
