"""What the groups of a `Policy` are made of: numbers that state their range, and rules by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])


def ranged(default: Any, least: float, most: float) -> Any:
    """A dataclass field whose number, or each of whose numbers, lies between two bounds."""
    return field(default=default, metadata={"range": (least, most)})


def check_ranges(group: Any) -> None:
    """Raise a ValueError that names the first field of a group whose number is out of range."""
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
    """The built-in rule of that name; a function is returned as it is."""
    if not isinstance(rule, str):
        return rule
    if rule not in known:
        raise ValueError(
            f"policy: {field}={rule!r} is not known: use one of {', '.join(map(repr, known))}, "
            "or a function"
        )
    return known[rule]


def rule_name(rule: Any, known: Mapping[str, Any]) -> str:
    """The name of a rule: that of a built-in one, or of a function and its module."""
    if isinstance(rule, str):
        return rule
    built_in = next((name for name, function in known.items() if function is rule), None)
    return built_in or f"{rule.__module__}.{getattr(rule, '__qualname__', type(rule).__name__)}"
