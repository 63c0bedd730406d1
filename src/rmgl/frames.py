"""Render results as HTML tables for notebooks, from their DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def as_html(frame: Any, before: str = "", after: Sequence[str] = ()) -> str:
    """Return a DataFrame as an HTML table, with a sentence before it and a list after it.

    Text is escaped, because view and column names may contain anything.
    """
    table: str = frame.to_html(
        index=False, border=0, na_rep="", float_format="{:.4g}".format, justify="left"
    )
    said = f"<p>{escape(before)}</p>" if before else ""
    items = "".join(f"<li>{escape(line)}</li>" for line in after)
    return f"<div>{said}{table}{f'<ul>{items}</ul>' if items else ''}</div>"
