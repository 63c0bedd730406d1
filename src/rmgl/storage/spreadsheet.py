"""Ids in CSV files that people open in spreadsheets, where a cell that begins with "=" is a formula and not a name.

An id that a spreadsheet might compute is written with an apostrophe before it, as OWASP advises; so is one that begins with apostrophes
and would look like that. Reading a file of ours takes one apostrophe off again, so every id comes back as it was. Ids in files of other
origin are never changed. Plain numbers such as -5 stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def shown_as_text(identifier: str) -> str:
    """The id as it stands in a file of ours.

    Examples
    --------
    >>> [shown_as_text(name) for name in ("cell 1", "=1+1", "'=1+1", "-5", "-x")]
    ['cell 1', "'=1+1", "''=1+1", '-5', "'-x"]
    """
    return f"'{identifier}" if FORMULA.match(identifier) and not NUMBER.fullmatch(identifier) else identifier


def read_as_text(cell: str) -> str:
    """The id in a cell of a file of ours: `read_as_text(shown_as_text(identifier)) == identifier`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def is_ours(header: Sequence[str]) -> bool:
    """Whether a line of column names is that of labels.csv, or of the file that `rmgl predict` writes."""
    return list(header[:3]) in (["id", "label", "outlier_score"], ["id", "label", "share"])
