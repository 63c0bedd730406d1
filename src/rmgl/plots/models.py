"""Find the fitted model in the argument of a plot."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sklearn.exceptions import NotFittedError

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.fitting.fitted import FittedModel

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")


def model_in(given: Any) -> FittedModel | None:
    """Return the fitted model of an estimator, or a `FittedModel` itself. None for anything
    else.
    """
    if isinstance(given, FittedModel):
        return given
    found = getattr(given, "fitted_", None)
    if isinstance(found, FittedModel):
        return found
    if hasattr(given, "__sklearn_is_fitted__") and not given.__sklearn_is_fitted__():
        raise NotFittedError(
            f"this {type(given).__name__} instance is not fitted yet; call fit first"
        )
    return None


def fitted_model(given: Any) -> FittedModel:
    """Return the fitted model that a plot needs."""
    found = model_in(given)
    if found is None:
        raise TypeError(f"model is of type {type(given).__name__}; pass a fitted RMGL model")
    return found


def number_in(given: Any) -> NumberOfClusters:
    """Return the evidence for the number of clusters, from a model or from `number_` itself."""
    if isinstance(given, NumberOfClusters):
        return given
    model = fitted_model(given)
    if model.number is None:
        raise ValueError(
            f"the model was fitted with n_clusters={model.n_clusters}, so there is no "
            'evidence for other numbers; fit it with n_clusters="auto"'
        )
    return model.number


def formerly(name: str) -> Callable[[Callable[Arguments, Drawn]], Callable[Arguments, Drawn]]:
    """Accept calls that name the first argument of a function by its name in version 0.1."""

    def renamed(function: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
        @wraps(function)
        def called(*args: Arguments.args, **options: Arguments.kwargs) -> Drawn:
            if args or "model" in options or name not in options:
                return function(*args, **options)
            warnings.warn(
                f"{function.__name__}({name}=...) will be an error in version 1.1; pass "
                "it as the first positional argument, or pass a model",
                FutureWarning,
                stacklevel=2,
            )
            first: Any = options.pop(name)
            return function(first, **options)

        return called

    return renamed
