"""Formulas as MathML, which browsers render themselves, without scripts or a network connection."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

TAG = re.compile(r"\\tag\{(?P<name>[^}]*)\}")


def inline(writer: Any, node: Any) -> None:
    """Write a formula within a sentence."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: Any) -> None:
    """Write a formula on its own line, with its number if it has one."""
    text = node.astext()
    tag = TAG.search(text)
    number = "" if tag is None else f'<span class="eqno">({tag["name"]})</span>'
    formula = convert(" ".join(TAG.sub("", text).split()), display="block")
    writer.body.append(f'<div class="math-line">{number}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
