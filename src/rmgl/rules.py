"""Building blocks for the groups in a `Policy`: numbers with a valid range, and named rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])


def ranged(default: Any, least: float, most: float) -> Any:
    """Return a dataclass field for a number, or for several numbers, between two bounds."""
    return field(default=default, metadata={"range": (least, most)})


def check_ranges(group: Any) -> None:
    """Raise a ValueError that names the first field in a group whose value is out of range."""
    for item in fields(group):
        if "range" not in item.metadata:
            continue
        least, most = item.metadata["range"]
        given = getattr(group, item.name)
        if isinstance(item.default, tuple) and isinstance(given, Real):
            raise ValueError(f"policy: {item.name}={given!r} must be a tuple of numbers")
        is_whole = type(item.default) is int
        kind, words = (Integral, "a whole number") if is_whole else (Real, "a number")
        words = "numbers" if isinstance(item.default, tuple) else words
        for value in given if isinstance(given, tuple) else (given,):
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            if not is_number or not least <= float(value) <= most:
                raise ValueError(
                    f"policy: {item.name}={given!r} must be {words} from {least:g} to {most:g}"
                )


def find_rule(field: str, rule: str | Rule, known: Mapping[str, Rule]) -> Rule:
    """Return the built-in rule with this name. A function is returned unchanged."""
    if not isinstance(rule, str):
        return rule
    if rule not in known:
        raise ValueError(
            f"policy: {field}={rule!r} is not recognized: use one of "
            f"{', '.join(map(repr, known))}, or a function"
        )
    return known[rule]


def rule_name(rule: Any, known: Mapping[str, Any]) -> str:
    """Return the name of a rule. If a function is not built in, the name includes its module."""
    if isinstance(rule, str):
        return rule
    built_in = next((name for name, function in known.items() if function is rule), None)
    return built_in or f"{rule.__module__}.{getattr(rule, '__qualname__', type(rule).__name__)}"
