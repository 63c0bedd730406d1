"""The types that may stand in an archive. They register themselves, so that the format knows no other part of the package."""

from __future__ import annotations

from typing import TypeVar

RECORDS: dict[str, type] = {}
"""Dataclasses by name."""
Kind = TypeVar("Kind", bound=type)


def record(kind: Kind) -> Kind:
    """Let a dataclass be stored in archives, by its fields.

    A field that is added later needs a default, which archives written before get.
    """
    RECORDS[kind.__name__] = kind
    return kind
