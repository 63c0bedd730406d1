"""What the parameters of an estimator may be: a table of allowed kinds of values, checked by `fit` before anything else.

Examples
--------
>>> check_parameters("RMGL", {"tol": -1.0}, {"tol": (number(least=0),)})
Traceback (most recent call last):
    ...
ValueError: The 'tol' parameter of RMGL must be a number >= 0. Got -1.0 instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Kind:
    """A kind of values: how it is called in errors, and a test for it."""

    words: str
    accepts: Callable[[Any], bool]


Table = Mapping[str, tuple[Kind, ...]]
"""For every parameter the kinds of values it may have."""


def check_parameters(owner: str, values: Mapping[str, Any], table: Table) -> None:
    """Raise a ValueError that names the first parameter whose value is of no allowed kind."""
    for name, kinds in table.items():
        if not any(kind.accepts(values[name]) for kind in kinds):
            wanted = ", or ".join(kind.words for kind in kinds)
            raise ValueError(f"The {name!r} parameter of {owner} must be {wanted}. Got {shown(values[name])} instead.")


def shown(value: Any) -> str:
    """A value in an error message: short, whatever it is."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:60]}... ({type(value).__name__})"


def number(*, least: float | None = None, above: float | None = None) -> Kind:
    """A number, at least or above a bound. Infinity is one, NaN is not."""
    bound = f" >= {least:g}" if least is not None else f" > {above:g}" if above is not None else ""

    def accepts(value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        return not np.isnan(number) and (least is None or number >= least) and (above is None or number > above)

    return Kind(f"a number{bound}", accepts)


def whole_number(least: int | None = None) -> Kind:
    """A whole number, at least a bound."""
    bound = "" if least is None else f" >= {least}"
    return Kind(
        f"a whole number{bound}",
        lambda value: isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and (least is None or int(value) >= least),
    )


def one_of(*words: str) -> Kind:
    """One of a few words."""
    return Kind(" or ".join(map(repr, words)), lambda value: isinstance(value, str) and value in words)


def is_sequence(value: Any) -> bool:
    """A list, tuple, array or Series, but no text."""
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Sequence) or (hasattr(value, "__array__") and hasattr(value, "__len__"))


TRUTH_VALUE = Kind("True or False", lambda value: isinstance(value, bool | np.bool_))
NAME = Kind("text", lambda value: isinstance(value, str))
NOTHING = Kind("None", lambda value: value is None)
LIST = Kind("a list", is_sequence)
BY_NAME = Kind("a dict", lambda value: isinstance(value, Mapping))
SPARSE = Kind("a sparse graph", sparse.issparse)
ARRAY = Kind("an array", lambda value: is_sequence(value) or sparse.issparse(value))
VERBOSITY = Kind("a whole number >= 0, or True or False", lambda value: isinstance(value, Integral | np.bool_) and int(value) >= 0)
SEED = Kind(
    "a whole number >= 0, a numpy RandomState or None",
    lambda value: (
        value is None
        or value is np.random
        or isinstance(value, np.random.RandomState)
        or (isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32)
    ),
)
