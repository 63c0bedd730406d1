"""Numbers as people write them: with decimal points or commas, and with or without separators of thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

SPACES = " '\u2019\u00a0\u202f"
"""Characters that separate thousands, beside the comma or point."""
COMMA_DECIMAL = re.compile(rf"[+-]?(\d+|\d{{1,3}}([.{SPACES}]\d{{3}})+)?,\d+([eE][+-]?\d+)?")
"""1,5 and 1.234,5"""
COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
"""1,234 and 1,234.5"""
SPACE_THOUSANDS = re.compile(rf"[+-]?\d{{1,3}}([{SPACES}]\d{{3}})+([.,]\d*)?([eE][+-]?\d+)?")
POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
"""1.234.567, and 1.234 where commas are decimal"""
MISSING = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "<na>", "null", "none", "nil", "missing"}
"""Common marks of missing values among numbers, in lower case."""


@dataclass(frozen=True)
class Notation:
    """How a file writes its numbers."""

    decimal_comma: bool = False
    thousands: bool = False
    """Whether some of its numbers have separators of thousands."""

    def __str__(self) -> str:
        parts = ["decimal commas"] if self.decimal_comma else []
        return " and ".join([*parts, "separators of thousands"] if self.thousands else parts) or "decimal points"

    def number(self, text: str) -> float | None:
        """The number in a cell; None if it is none.

        Examples
        --------
        >>> Notation(decimal_comma=True).number("1.234,5"), Notation().number("1,234.5"), Notation().number("12 x")
        (1234.5, 1234.5, None)
        """
        text = text.strip()
        if self.decimal_comma and COMMA_DECIMAL.fullmatch(text):
            return float(_without(text, "." + SPACES).replace(",", "."))
        if self.decimal_comma and self.thousands and POINT_THOUSANDS.fullmatch(text):
            return float(text.replace(".", ""))
        if is_number(text):
            return float(text)
        if not self.decimal_comma and COMMA_THOUSANDS.fullmatch(text):
            return float(text.replace(",", ""))
        if SPACE_THOUSANDS.fullmatch(text) and ("," not in text or self.decimal_comma):
            return float(_without(text, SPACES).replace(",", "."))
        return None


def find_notation(cells: Iterable[str], decimal_comma: bool) -> Notation:
    """How numbers are written, by the cells that pandas did not take for numbers.

    Cells such as 1,5 speak for decimal commas and 1,234.5 for separators of thousands. Where there are only cells like 1,234, which can be
    read both ways, `decimal_comma` decides.
    """
    stripped = [cell.strip() for cell in cells]
    decimal = {cell for cell in stripped if COMMA_DECIMAL.fullmatch(cell)}
    thousands = {cell for cell in stripped if COMMA_THOUSANDS.fullmatch(cell)}
    comma = bool(decimal - thousands) or (decimal_comma and bool(decimal) and decimal >= thousands)
    return Notation(comma, any(is_grouped(cell, comma) for cell in stripped))


def is_grouped(text: str, decimal_comma: bool) -> bool:
    """Whether a number clearly has separators of thousands."""
    if SPACE_THOUSANDS.fullmatch(text):
        return True
    if not decimal_comma:
        return COMMA_THOUSANDS.fullmatch(text) is not None
    pattern = COMMA_DECIMAL if "," in text else POINT_THOUSANDS
    return text.count(".") > ("," not in text) and pattern.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a cell is a number; unlike in Python, 1_000 is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def in_some_notation(text: str) -> bool:
    """Whether a cell is a number with a decimal point or comma."""
    return any(notation.number(text) is not None for notation in (Notation(), Notation(decimal_comma=True)))


def is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING


def _without(text: str, characters: str) -> str:
    return text.translate({ord(character): None for character in characters})
