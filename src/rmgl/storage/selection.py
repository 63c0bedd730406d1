"""Which sheets and columns of files are read, and which views they become, as options state it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

NAMES_SHOWN = 8
"""Names that an error lists."""


@dataclass(frozen=True)
class Selection:
    """What is read from files. Columns are given by their names or by patterns, such as `gene_*`.

    Examples
    --------
    >>> selection = Selection(columns=("bill_*", "sex"), drop=("bill_depth",))
    >>> [selection.keeps(name) for name in ("bill_length", "bill_depth", "sex", "year")]
    [True, False, True, False]
    """

    id_column: str | None = None
    columns: tuple[str, ...] = ()
    """Columns that are read (empty: all of them),"""
    drop: tuple[str, ...] = ()
    """and columns that are not."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The views that one table is split into, by name, and the columns of each."""
    sheets: tuple[str, ...] = ()
    """Sheets of Excel workbooks (empty: the first one)."""
    names: Mapping[Path, str] = field(default_factory=dict)
    """Names of views that are not those of their files."""

    @property
    def is_all(self) -> bool:
        """Whether all columns of the first sheets are read, each file into one view."""
        return not (self.columns or self.drop or self.views or self.sheets)

    @property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """The patterns of columns by their option."""
        of_views = {f"--view {name}=": patterns for name, patterns in self.views.items()}
        return {"--columns ": self.columns, "--drop ": self.drop, **of_views}

    def keeps(self, column: str) -> bool:
        """Whether a column is read."""
        if matches(column, self.drop) or (self.columns and not matches(column, self.columns)):
            return False
        return not self.views or any(matches(column, some) for some in self.views.values())

    def view_of(self, column: str) -> str:
        """The view that a column belongs to; a ValueError if there are two."""
        names = [name for name, patterns in self.views.items() if matches(column, patterns)]
        if len(names) > 1:
            raise ValueError(
                f"column {column!r} is in the views {names[0]!r} and {names[1]!r} of --view: a "
                "column belongs to one view, so write narrower patterns"
            )
        return names[0]

    def check_used(self, columns: Iterable[str]) -> None:
        """Raise a ValueError for a pattern that none of the columns of the files matches."""
        known = list(dict.fromkeys(columns))
        for option, patterns in self.patterns.items():
            for pattern in patterns:
                if not any(matches(column, (pattern,)) for column in known):
                    raise ValueError(
                        f"{option}{pattern}: no file has such a column"
                        f"{alternatives(pattern, known, option)}"
                    )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of the patterns, or matches one of them."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def alternatives(name: str, known: Sequence[str], option: str) -> str:
    """What to write in place of a name that is not known: the one most like it, or a list.

    Examples
    --------
    >>> alternatives("Patient", ["age", "patient"], "--id ")
    ': did you mean --id patient?'
    >>> alternatives("x", ["age", "patient"], "--id ")
    ' (there are: age, patient): choose another --id'
    """
    by_lower = {other.strip().lower(): other for other in reversed(known)}
    near = get_close_matches(name.strip().lower(), by_lower, 1, cutoff=0.75)
    if near:
        return f": did you mean {option}{by_lower[near[0]]}?"
    return f" (there are: {shown(known)}): choose another {option.strip()}"


def shown(names: Sequence[str]) -> str:
    """List the first names."""
    return ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
