"""Registry of the types that an archive can hold. Types register themselves, so the format does not
depend on other parts of the package.
"""

from __future__ import annotations

from typing import TypeVar

RECORDS: dict[str, type] = {}
"""The registered dataclasses by name."""
Kind = TypeVar("Kind", bound=type)


def record(kind: Kind) -> Kind:
    """Register a dataclass, so that archives can store it by its fields.

    A field added later needs a default, which is used for older archives.
    """
    RECORDS[kind.__name__] = kind
    return kind
