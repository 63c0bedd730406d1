"""Options that select the sheets and columns of files, and the views they become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

NAMES_SHOWN = 8
"""Maximum number of names listed in an error."""


@dataclass(frozen=True)
class Selection:
    """Selection of the data to read. Columns are specified by name or by pattern, such as `gene_*`.

    Examples
    --------
    >>> selection = Selection(columns=("bill_*", "sex"), drop=("bill_depth",))
    >>> [selection.keeps(name) for name in ("bill_length", "bill_depth", "sex", "year")]
    [True, False, True, False]
    """

    id_column: str | None = None
    columns: tuple[str, ...] = ()
    """Columns to read. Empty for all columns."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the views into which one table is split, with the columns of each."""
    sheets: tuple[str, ...] = ()
    """Sheets of Excel workbooks. Empty for the first sheet."""
    names: Mapping[Path, str] = field(default_factory=dict)
    """Names of views that differ from those of their files."""

    @property
    def is_all(self) -> bool:
        """Whether all columns of the first sheets are read, each file into one view."""
        return not (self.columns or self.drop or self.views or self.sheets)

    @property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """Return the patterns of columns by their option."""
        of_views = {f"--view {name}=": patterns for name, patterns in self.views.items()}
        return {"--columns ": self.columns, "--drop ": self.drop, **of_views}

    def keeps(self, column: str) -> bool:
        """Return whether a column is read."""
        if matches(column, self.drop) or (self.columns and not matches(column, self.columns)):
            return False
        return not self.views or any(matches(column, some) for some in self.views.values())

    def view_of(self, column: str) -> str:
        """Return the view of a column. Raise a ValueError if there are two."""
        names = [name for name, patterns in self.views.items() if matches(column, patterns)]
        if len(names) > 1:
            raise ValueError(
                f"column {column!r} is in the views {names[0]!r} and {names[1]!r} of "
                "--view, but a column can be in only one view; use narrower patterns"
            )
        return names[0]

    def check_used(self, columns: Iterable[str]) -> None:
        """Raise a ValueError for a pattern that matches no column of the files."""
        known = list(dict.fromkeys(columns))
        for option, patterns in self.patterns.items():
            for pattern in patterns:
                if not any(matches(column, (pattern,)) for column in known):
                    raise ValueError(
                        f"{option}{pattern}: no file has such a column"
                        f"{alternatives(pattern, known, option)}"
                    )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name equals or matches one of the patterns."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def alternatives(name: str, known: Sequence[str], option: str) -> str:
    """Suggest a replacement for an unknown name: the most similar one, or a list.

    Examples
    --------
    >>> alternatives("Patient", ["age", "patient"], "--id ")
    ': did you mean --id patient?'
    >>> alternatives("x", ["age", "patient"], "--id ")
    ' (available: age, patient): choose another --id'
    """
    by_lower = {other.strip().lower(): other for other in reversed(known)}
    near = get_close_matches(name.strip().lower(), by_lower, 1, cutoff=0.75)
    if near:
        return f": did you mean {option}{by_lower[near[0]]}?"
    return f" (available: {shown(known)}): choose another {option.strip()}"


def shown(names: Sequence[str]) -> str:
    """List the first few names."""
    return ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
