"""Docstrings in the package are plain text with formulas. This module turns them into the markup
that Sphinx reads.

Indented optimization problems between paragraphs are typeset (`formulas.py`); other indented lines
become literal blocks. In sentences, markup characters are escaped, because Sphinx would read `x_`
as a reference and `|x|` as a substitution. Text in backticks and doctests is left unchanged.
"""

from __future__ import annotations

import re

from formulas import as_latex, is_problem

HEADING = re.compile(r"^-{3,}\s*$")
PARAMETER = re.compile(r"^(?P<name>[\w, *]+?)( : (?P<kind>.*))?$")
CODE = re.compile(r"(`[^`]*`)")


def prepare_docstring(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Change the lines in place, before numpydoc reads them."""
    prepared, literal, doctest = [], False, False
    in_sections, after_problem = "", 0
    for place, line in enumerate(lines):
        if place < after_problem:
            continue
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if HEADING.match(following) and line.strip():
            in_sections, literal, doctest = line.strip(), False, False
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            doctest = False
            prepared.append(line)
            continue
        if line.lstrip().startswith(">>>"):
            doctest = True
        if not in_sections and indent >= 4 and is_problem(line):
            after_problem = end_of_block(lines, place)
            prepared += [".. math::", "", f"   {as_latex(lines[place:after_problem])}"]
            continue
        if not in_sections and indent >= 4 and not literal and not doctest:
            prepared += ["::", ""]
            literal = True
        if indent == 0 and not in_sections:
            literal = False
        if literal or doctest or HEADING.match(line) or HEADING.match(following):
            prepared.append(line)
        elif in_sections in ("Parameters", "Attributes", "Returns") and indent == 0:
            found = PARAMETER.match(line)
            prepared.append(
                line
                if found is None or not found["kind"]
                else f"{found['name']} : {escaped(found['kind'])}"
            )
        else:
            prepared.append(escaped(line))
    lines[:] = prepared


def end_of_block(lines: list[str], start: int) -> int:
    """Return the position of the first empty line at or after `start`."""
    return next(
        (place for place in range(start, len(lines)) if not lines[place].strip()), len(lines)
    )


def escaped(text: str) -> str:
    """Escape a line of a paragraph, in which only backticks are markup.

    Examples
    --------
    >>> print(escaped("|x| and alpha_ of `beta_`, K*N"))
    \\|x\\| and alpha\\_ of `beta_`, K\\*N
    """
    parts = CODE.split(text)
    return "".join(
        part if place % 2 else re.sub(r"(\||\*|(?<=\w)_(?!\w))", r"\\\1", part)
        for place, part in enumerate(parts)
    )
