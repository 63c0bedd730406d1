"""HTML elements whose text and attributes are always escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

UNREADABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u202a-\\u202e\\u2066-\\u2069\\ufffe\\uffff]"
)
"""Control characters, halves of surrogate pairs, changes of direction, and code points that are no
characters.
"""
LONGEST = 200
"""Characters of a name that are shown; the rest is replaced by an ellipsis."""


class Html(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def element(name: str, *content: Any, **attributes: Any) -> Html:
    """Make an element. Content that is not `Html` is escaped; attributes lose a final underscore,
    and other ones become hyphens.

    Examples
    --------
    >>> element("p", "a < b ", element("b", "c & d"), class_="note", data_row=3)
    '<p class="note" data-row="3">a &lt; b <b>c &amp; d</b></p>'
    """
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{named}>{joined(content)}</{name}>")


def joined(parts: Iterable[Any]) -> Html:
    """Put parts after one another, and escape those that are not `Html`."""
    return Html(
        "".join(
            part if isinstance(part, Html) else escape(readable(str(part)), quote=False)
            for part in parts
        )
    )


def readable(text: str) -> str:
    r"""Text in which characters that HTML cannot hold, or that change the direction of what
    follows, are replaced.

    Examples
    --------
    >>> readable("a\x00b \u202ec")
    'a\ufffdb \ufffdc'
    """
    return UNREADABLE.sub("\ufffd", text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """A name, with an ellipsis if it is long.

    Examples
    --------
    >>> shortened("abcdef", 4)
    'abc…'
    """
    text = readable(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def table(
    titles: Iterable[Any], rows: Iterable[Iterable[Any]], caption: str, **attributes: Any
) -> Html:
    """Make a table; the first cell of each row is its heading. Cells that are `td` elements already
    are kept.
    """
    head = element("thead", element("tr", *(element("th", title, scope="col") for title in titles)))
    lines = []
    for first, *others in rows:
        cells = [
            cell if isinstance(cell, Html) and cell.startswith("<td") else element("td", cell)
            for cell in others
        ]
        lines.append(element("tr", element("th", first, scope="row"), *cells))
    made = element(
        "table", element("caption", caption), head, element("tbody", *lines), **attributes
    )
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def bar(share: float, text: str) -> Html:
    """Make a table cell with a bar and a number; a share that is not known has no bar."""
    if share != share:
        return element("td", text, class_="number")
    filled = element("span", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%")
    return element(
        "td", element("span", filled, class_="bar", aria_hidden="true"), text, class_="number"
    )
