"""Read text in any common encoding from files that may be compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmgl.archive.array_file import WAY_OUT
from rmgl.running.threads import require_memory
from rmgl.storage.selection import alternatives

BYTES_AT_ONCE = 1 << 22
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""The first bytes of files that state their encoding."""
NOT_TEXT = bytes([*range(9), 11, 12, *range(14, 32), 127])
"""Control characters that no text file holds. Tabs and line breaks are not among them."""
NOT_ASCII = bytes(range(128, 256))
MOSTLY_ASCII = 0.7
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")


def kind_of(path: Path) -> str:
    """Return the lowercase suffix that says what a file holds, without any compression suffix.

    Examples
    --------
    >>> kind_of(Path("Data.CSV.gz")), kind_of(Path("x.npy"))
    ('.csv', '.npy')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSED:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def view_name(path: Path) -> str:
    """Return the name of a file without its suffix and any compression suffix."""
    name = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return Path(name).stem


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressed as its suffix says. Refuse files that do not fit into memory."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) != 1:
                raise ValueError(f"the archive contains {len(members)} files: it must contain one")
            with archive.open(members[0]) as file:
                return _read(path, file)
    known: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    open_file = known.get(suffix, open)
    with open_file(path, "rb") as file:
        return _read(path, file)


def _read(path: Path, file: Any) -> bytes:
    """Read to the end, checking memory along the way: compressed data may expand to any size."""
    content, checked = io.BytesIO(), BYTES_AT_ONCE
    while block := file.read(BYTES_AT_ONCE):
        content.write(block)
        if content.tell() > checked:
            checked = 2 * content.tell()
            require_memory(2 * checked, f"{path}: its characters", WAY_OUT)
    return content.getvalue()


def read_characters(path: Path) -> tuple[str, str]:
    """Return the text of a file and its encoding: UTF-8, UTF-16 with a mark, or Windows-1252."""
    content = read_bytes(path)
    mark = next(
        (encoding for first, encoding in MARKS.items() if content.startswith(first)), "utf-8"
    )
    try:
        return content.decode(mark), mark.removesuffix("-sig").upper()
    except UnicodeDecodeError as error:
        n_plain = len(content.translate(None, NOT_ASCII))
        if (
            mark == "utf-8"
            and content.translate(None, NOT_TEXT) == content
            and n_plain >= MOSTLY_ASCII * len(content)
        ):
            with suppress(UnicodeDecodeError):
                return content.decode("cp1252"), "Windows-1252"
        raise ValueError(
            f"byte {error.start} is not valid {mark.upper()} text: save the file as UTF-8"
        ) from error


SPACES = " '\u2019\u00a0\u202f"
"""Thousands separators other than the comma and the period."""
COMMA_DECIMAL = re.compile(rf"[+-]?(\d+|\d{{1,3}}([.{SPACES}]\d{{3}})+)?,\d+([eE][+-]?\d+)?")
"""1,5 and 1.234,5"""
COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
"""1,234 and 1,234.5"""
SPACE_THOUSANDS = re.compile(rf"[+-]?\d{{1,3}}([{SPACES}]\d{{3}})+([.,]\d*)?([eE][+-]?\d+)?")
POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
"""1.234.567, and 1.234 if commas are decimal"""
NO_NUMBER = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "<na>", "null", "none", "nil", "missing"}
"""Common markers of missing values among numbers, in lower case."""


@dataclass(frozen=True)
class Notation:
    """Notation of the numbers in a file."""

    decimal_comma: bool = False
    thousands: bool = False
    """Whether some numbers have thousands separators."""

    def __str__(self) -> str:
        parts = [
            *(["decimal commas"] if self.decimal_comma else []),
            *(["thousands separators"] if self.thousands else []),
        ]
        return " and ".join(parts) or "decimal points"

    def number(self, text: str) -> float | None:
        """Return the number in a cell. None if it is not a number.

        Examples
        --------
        >>> comma = Notation(decimal_comma=True)
        >>> comma.number("1.234,5"), Notation().number("1,234.5"), Notation().number("12 x")
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
    """Find the notation of numbers from the cells that pandas did not read as numbers.

    Cells such as 1,5 indicate decimal commas, and 1,234.5 thousands separators. If all such cells
    are like 1,234, which can be read both ways, `decimal_comma` decides.
    """
    stripped = [cell.strip() for cell in cells]
    decimal = {cell for cell in stripped if COMMA_DECIMAL.fullmatch(cell)}
    thousands = {cell for cell in stripped if COMMA_THOUSANDS.fullmatch(cell)}
    comma = bool(decimal - thousands) or (decimal_comma and bool(decimal) and decimal >= thousands)
    return Notation(comma, any(is_grouped(cell, comma) for cell in stripped))


def is_grouped(text: str, decimal_comma: bool) -> bool:
    """Return whether a number clearly has thousands separators."""
    if SPACE_THOUSANDS.fullmatch(text):
        return True
    if not decimal_comma:
        return COMMA_THOUSANDS.fullmatch(text) is not None
    pattern = COMMA_DECIMAL if "," in text else POINT_THOUSANDS
    return text.count(".") > ("," not in text) and pattern.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Return whether a cell is a number. Unlike in Python, 1_000 is not."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def in_some_notation(text: str) -> bool:
    """Return whether a cell is a number with a decimal point or comma."""
    notations = (Notation(), Notation(decimal_comma=True))
    return any(notation.number(text) is not None for notation in notations)


def is_missing(text: str) -> bool:
    return text.strip().lower() in NO_NUMBER


def _without(text: str, characters: str) -> str:
    return text.translate({ord(character): None for character in characters})


FEW_COLUMNS = 3
"""With up to this many columns, the line 0, 1, 2 can also be a row of data."""


def find_header(rows: Sequence[Sequence[str]], id_column: str | None) -> list[str] | None:
    """Return the column names in the first row, or None if it is a row of numbers."""
    first = list(rows[0])
    numbers = [in_some_notation(cell) for cell in first]
    # `find_id` raises an error if the name is missing
    if id_column in first or (id_column is not None and not all(numbers)):
        return first
    if all(numbers):
        if not is_count(first):
            return None
        check_count(first, rows[1:])
    elif not any(numbers):
        check_without_numbers(first)
    elif first[0].strip() or not is_count(first[1:]):
        check_with_numbers(first, numbers)
    return first


def check_count(first: Sequence[str], others: Sequence[Sequence[str]]) -> None:
    """Raise a ValueError if the line 0, 1, 2, ... may be a row."""
    rows = [row for row in others if len(row) == len(first)]
    if (
        rows
        and len(first) <= FEW_COLUMNS
        and all(any(map(is_whole, column)) for column in zip(*rows, strict=True))
    ):
        raise ValueError(
            f"line 1 contains {','.join(first)}, which may be a row or the column numbers that "
            "pandas writes: name the columns"
        )


def check_without_numbers(first: Sequence[str]) -> None:
    """Raise a ValueError if a line without numbers may be a row."""
    if any(map(is_name, first)):
        return
    if len(first) == 1 or has_equals(first) or any(map(is_missing, first)):
        raise ValueError(unclear(first, 0, "where a number or a column name is expected"))


def check_with_numbers(first: Sequence[str], numbers: Sequence[bool]) -> None:
    """Raise a ValueError if a line of numbers and other cells may be a row."""
    others = [place for place, number in enumerate(numbers) if not number]
    odd = [place for place in others if not is_name(first[place])]
    if odd or 2 * len(others) < len(first):
        raise ValueError(unclear(first, (odd or others)[0], "among numbers"))
    whole = all(is_whole(cell) for cell, number in zip(first, numbers, strict=True) if number)
    if not whole or has_equals(first):
        raise ValueError(unclear(first, numbers.index(True), "among names"))


def unclear(first: Sequence[str], place: int, among: str) -> str:
    """Return the error for a first line that is neither a row nor a line of column names."""
    return (
        f"line 1, column {place + 1} contains {described(first[place])} {among}, so it is unclear "
        "whether the line is a row or a header: correct the cell, or add a header line with column "
        "names that are not numbers (and use --id to name the column of row ids)"
    )


def find_id(header: Sequence[str] | None, id_column: str | None) -> int | None:
    """Return the position of the id column, or None if none was requested."""
    if id_column is None:
        if header and not header[0].strip():
            raise ValueError(
                "the first column has no name and looks like a row index: leave it out "
                "(index=False), or give it a name and use --id"
            )
        return None
    if header is None:
        raise ValueError(
            f"no column {id_column!r}, because the file has no header line: add a line of "
            "column names, or leave out --id"
        )
    places = [place for place, name in enumerate(header) if name == id_column]
    if not places:
        raise ValueError(f"no column {id_column!r}{alternatives(id_column, header, '--id ')}")
    if len(places) > 1:
        raise ValueError(
            f"column {id_column!r} appears more than once: rename the one that does not contain "
            "the row ids"
        )
    return places[0]


def is_whole(text: str) -> bool:
    return text.strip().isdecimal()


def is_count(cells: Sequence[str]) -> bool:
    """Return whether the cells are 0, 1, 2, ..., as pandas numbers columns without names."""
    return len(cells) > 1 and list(cells) == [str(place) for place in range(len(cells))]


def is_name(text: str) -> bool:
    return any(letter.isalpha() for letter in text) and not is_missing(text)


def has_equals(cells: Sequence[str]) -> bool:
    return len(set(cells)) < len(cells)


def described(text: str) -> str:
    """Return a cell as it is shown in error messages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if text.strip() else "nothing"
