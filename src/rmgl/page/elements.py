"""HTML elements with text and attributes that are always escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

UNREADABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u202a-\\u202e\\u2066-\\u2069\\ufffe\\uffff]"
)
"""Control characters, unpaired surrogates, marks that change the text direction, and code points
that are not characters.
"""
LONGEST = 200
"""Maximum number of characters in a name. Longer names end in an ellipsis."""


class Html(str):
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


def element(name: str, *content: Any, **attributes: Any) -> Html:
    """Make an element. Content that is not `Html` is escaped. In attribute names, a trailing
    underscore is dropped and other underscores become hyphens.

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
    """Concatenate parts, and escape those that are not `Html`."""
    return Html(
        "".join(
            part if isinstance(part, Html) else escape(readable(str(part)), quote=False)
            for part in parts
        )
    )


def readable(text: str) -> str:
    r"""Replace characters that HTML cannot contain, or that change the direction of the text that
    follows.

    Examples
    --------
    >>> readable("a\x00b \u202ec")
    'a\ufffdb \ufffdc'
    """
    return UNREADABLE.sub("\ufffd", text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a name, shortened with an ellipsis if it is long.

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
    """Make a table with the first cell of each row as its heading. Cells that are already `td`
    elements are kept.
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
    """Make a table cell with a bar and a number. An unknown share has no bar."""
    if share != share:
        return element("td", text, class_="number")
    filled = element("span", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%")
    return element(
        "td", element("span", filled, class_="bar", aria_hidden="true"), text, class_="number"
    )
