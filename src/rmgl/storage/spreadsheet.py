"""Protect row ids in CSV files from spreadsheet programs, which treat a cell that begins with "=" as a formula.

An id that could be taken for a formula is written with an apostrophe before it, as OWASP advises; so is an id that begins with apostrophes
and would look like one. When rmgl reads a file that it wrote, it removes one apostrophe, so every id is read back unchanged. Ids in other
files are never changed, nor are plain numbers such as -5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def shown_as_text(identifier: str) -> str:
    """Return the id as it is written to a file.

    Examples
    --------
    >>> [shown_as_text(name) for name in ("cell 1", "=1+1", "'=1+1", "-5", "-x")]
    ['cell 1', "'=1+1", "''=1+1", '-5', "'-x"]
    """
    return f"'{identifier}" if FORMULA.match(identifier) and not NUMBER.fullmatch(identifier) else identifier


def read_as_text(cell: str) -> str:
    """Return the id in a cell that rmgl wrote: `read_as_text(shown_as_text(identifier)) == identifier`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def written_by_rmgl(header: Sequence[str]) -> bool:
    """Whether column names are those of labels.csv, or of the file that `rmgl predict` writes."""
    return list(header[:3]) in (["id", "label", "outlier_score"], ["id", "label", "share"])
