"""Responses on a scale, such as a Likert scale: columns of ordered categories.

`ordinal` marks the columns with such responses. Well-known scales in words are recognized
automatically (`rmgl.views.column_kinds`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rmgl.views.check_view import as_table, is_table
from rmgl.views.encoding import cells_of, level_text, listed, quoted
from rmgl.views.scales import known_scale

MOST_LEVELS = 100
"""Maximum number of whole numbers, from the smallest to the largest response, that form a scale."""


def ordinal(table: Any, levels: Any = None, *, columns: Sequence[str] | None = None) -> Any:
    """Mark columns of a table as responses on a scale from low to high, such as a Likert scale.

    The distance between two responses is the difference between their ranks, divided by the range
    of the ranks. Each column therefore adds at most 1 to the squared distance between two rows.
    Marked columns are never treated as skewed numbers or as unordered categories.

    Parameters
    ----------
    table : DataFrame (pandas, polars or pyarrow)
        The table. It is not modified.
    levels : list, or dict of column name to list, optional
        All possible responses, from low to high. By default, the whole numbers from the smallest to
        the largest response in any of the columns, or a well-known scale in words, such as
        "disagree" to "agree".
    columns : list of str, optional
        Columns with responses on a scale. By default, the columns in the dict, or
        all columns.

    Returns
    -------
    pandas.DataFrame
        The table with ordered categories in these columns. Missing responses stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> import rmgl
    >>> answers = pd.DataFrame({"q1": [1, 2, 5, None], "q2": [2, 2, 4, 1]})
    >>> rmgl.ordinal(answers).q2.cat.categories.tolist()
    [1, 2, 3, 4, 5]
    >>> often = rmgl.ordinal(pd.DataFrame({"q": ["never", "often"]}), ["never", "often", "always"])
    >>> often.q.cat.codes.tolist()
    [0, 1]
    """
    import pandas as pd

    frame = as_table(table)
    if not is_table(frame):
        raise TypeError(
            f"ordinal requires a table, but got {type(table).__name__}; pass a DataFrame"
        )
    chosen = list(columns or (levels if isinstance(levels, Mapping) else frame.columns))
    absent = [name for name in chosen if name not in frame.columns]
    if absent:
        raise ValueError(f"the table has no column {absent[0]!r}; it has {list(frame.columns)}")
    marked = frame.copy()
    shared = None if isinstance(levels, Mapping) else scale_of(frame[chosen], levels)
    for name in chosen:
        own = shared if shared is not None else scale_of(frame[[name]], levels.get(name))
        place = {level_text(level): level for level in own}
        marked[name] = pd.Categorical(
            [answer(name, cell, place) for cell in missing_as_none(frame[name])],
            categories=own,
            ordered=True,
        )
    return marked


def missing_as_none(values: Any) -> list[Any]:
    """Return the cells of a column, with None for missing cells."""
    pairs = zip(cells_of(values), values.notna().tolist(), strict=True)
    return [cell if there else None for cell, there in pairs]


def answer(name: str, cell: Any, levels: Mapping[str, Any]) -> Any:
    """Return the level of a response. Raise an error if it is not on the scale."""
    if cell is None:
        return None
    if level_text(cell) not in levels:
        raise ValueError(
            f"column {name!r} has {quoted(cell)}, which is not one of its levels "
            f"({listed(list(levels))}); correct it, or add it to levels="
        )
    return levels[level_text(cell)]


def scale_of(frame: Any, levels: Any) -> list[Any]:
    """Return the levels of these columns: those specified, or else those in their responses."""
    if levels is not None:
        texts = [level_text(level) for level in levels]
        if isinstance(levels, str) or len(texts) < 2 or len(set(texts)) < len(texts):
            raise ValueError(
                f"levels={levels!r} is not a scale; list two or more different responses, "
                "from low to high"
            )
        return list(levels)
    cells = [cell for name in frame.columns for cell in missing_as_none(frame[name])]
    found = {level_text(cell) for cell in cells if cell is not None}
    levels = whole_numbers(found) or known_scale(found)
    if levels is None:
        raise ValueError(
            f"the responses in columns {listed([str(name) for name in frame.columns])} are "
            "neither whole numbers nor on a well-known scale "
            f"({listed(sorted(found))}); pass all possible responses, from low to high, as "
            "levels="
        )
    return list(levels)


def whole_numbers(found: Collection[str]) -> list[int] | None:
    """Return the numbers from the smallest to the largest, if all responses are whole numbers."""
    try:
        numbers = np.array([int(text) for text in found])
    except ValueError:
        return None
    if numbers.size == 0 or np.ptp(numbers) > MOST_LEVELS or np.ptp(numbers) == 0:
        return None
    return list(range(int(numbers.min()), int(numbers.max()) + 1))
