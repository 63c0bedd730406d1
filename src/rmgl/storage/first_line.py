"""The first line of a text file: column names, or a row.

1. A line with the name of the id column holds names.
2. A line of numbers only is a row. The only exception is 0, 1, 2, ..., which pandas writes instead of names; with up to three columns that
   all contain whole numbers, it can also be a row, and raises an error.
3. A line without numbers holds names if one cell has a letter, or if there are several cells, all different, and none marks a missing
   value.
4. A line of numbers and other cells holds names if at least half of the cells have letters and do not mark missing values, the numbers are
   whole, and all cells are different; or if it is empty, 0, 1, 2, ..., as pandas writes it above a row index.

Any other line may be a row with a damaged cell and raises a ValueError: treated as names, the row would be silently lost. These rules are
written out, because `pandas.read_csv` takes every first line for names, or none.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmgl.storage.notation import in_some_notation, is_missing

FEW_COLUMNS = 3
"""With up to this many columns, the line 0, 1, 2 can also be a row of data."""


def find_header(rows: Sequence[Sequence[str]], id_column: str | None) -> list[str] | None:
    """Return the column names in the first of some rows, or None if it is a row of numbers."""
    first = list(rows[0])
    numbers = [in_some_notation(cell) for cell in first]
    if id_column in first or (id_column is not None and not all(numbers)):  # `find_id` raises an error if the name is missing
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
    if rows and len(first) <= FEW_COLUMNS and all(any(map(is_whole, column)) for column in zip(*rows, strict=True)):
        raise ValueError(
            f"line 1 holds {','.join(first)}, which may be a row or the column numbers that pandas writes: give the columns names"
        )


def check_without_numbers(first: Sequence[str]) -> None:
    """Raise a ValueError if a line without numbers may be a row."""
    if any(map(is_name, first)):
        return
    if len(first) == 1 or has_equals(first) or any(map(is_missing, first)):
        raise ValueError(unclear(first, 0, "where a number or a column name is needed"))


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
        f"line 1, column {place + 1} holds {described(first[place])} {among}, so it is unclear whether the line is a row or holds column "
        "names: correct the cell, or add a line of column names that are not numbers (and name a column of row ids with --id)"
    )


def find_id(header: Sequence[str] | None, id_column: str | None) -> int | None:
    """Return the position of the id column, or None if none was requested."""
    if id_column is None:
        if header and not header[0].strip():
            raise ValueError(
                "the first column has no name and looks like a row index: leave it out (index=False), or give it a name and use --id"
            )
        return None
    if header is None:
        raise ValueError(f"no column {id_column!r}, because the file has no line of column names: add one, or leave out --id")
    places = [place for place, name in enumerate(header) if name == id_column]
    if not places:
        raise ValueError(
            f"no column {id_column!r} (columns: {', '.join(header[:8])}{', ...' if len(header) > 8 else ''}): choose another --id"
        )
    if len(places) > 1:
        raise ValueError(f"column {id_column!r} appears more than once: rename the one that does not hold the row ids")
    return places[0]


def is_whole(text: str) -> bool:
    return text.strip().isdecimal()


def is_count(cells: Sequence[str]) -> bool:
    """Whether the cells are 0, 1, 2, ..., as pandas numbers columns without names."""
    return len(cells) > 1 and list(cells) == [str(place) for place in range(len(cells))]


def is_name(text: str) -> bool:
    return any(letter.isalpha() for letter in text) and not is_missing(text)


def has_equals(cells: Sequence[str]) -> bool:
    return len(set(cells)) < len(cells)


def described(text: str) -> str:
    """Return a cell as it is shown in error messages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if text.strip() else "nothing"
