"""Parameters that users give once for all views, or once per view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_WEIGHT = 1e100


def per_view(value: Any, names: Sequence[str], parameter: str) -> list[Any]:
    """One value per view from a single value, a list in the order of the views, or a dict by view name."""
    if isinstance(value, Mapping):
        value = {str(key): entry for key, entry in value.items()}
        unknown = [key for key in value if key not in names]
        missing = [name for name in names if name not in value]
        if unknown or missing:
            problem = f"names unknown views {unknown}" if unknown else f"has no entry for views {missing}"
            raise ValueError(f"{parameter} {problem}: the views are {list(names)}; give one entry for each of them")
        return [value[name] for name in names]
    if hasattr(value, "__array__"):  # arrays and pandas Series
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        if len(value) != len(names):
            raise ValueError(
                f"{parameter} has {len(value)} entries for {len(names)} views {list(names)}: give one value, or one for each view"
            )
        return list(value)
    return [value] * len(names)


def positive_per_view(value: Any, names: Sequence[str], parameter: str, *, zero_allowed: bool = False) -> NDArray[np.float64]:
    """One positive number per view, given as for `per_view`; zero is valid only with `zero_allowed`."""
    values = per_view(value, names, parameter)
    wanted = f"a number from 0 to {LARGEST_WEIGHT:g}" if zero_allowed else f"a number > 0 and at most {LARGEST_WEIGHT:g}"
    for name, number in zip(names, values, strict=True):
        is_number = isinstance(number, Real) and not isinstance(number, bool) and 0 <= float(number) <= LARGEST_WEIGHT
        if not is_number or (number == 0 and not zero_allowed):
            raise ValueError(f"{parameter}={number!r} for view {name!r} must be {wanted}")
    return np.array(values, dtype=np.float64)
