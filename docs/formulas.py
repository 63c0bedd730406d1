"""Optimization problems in docstrings, converted from plain text to LaTeX: terminals show the text,
and the site typesets the formula.
"""

from __future__ import annotations

import re

PROBLEM = re.compile(r"^\s*(minimize|maximize)\b")
HEAD = re.compile(r"^(minimize|maximize|subject to|over)\b\s*")
NEXT_HEAD = re.compile(r"\s+(?=(?:subject to|over)\b)")
NAMES = "alpha|beta|gamma|epsilon|Lambda"
WORD = rf"(?!(?:sum|tr|{NAMES})\b)(?:[a-z]{{2,}}|Laplacians?)\b"
WORDS = re.compile(rf"\b(?:a )?{WORD}(?: {WORD})*")
GREEK = re.compile(rf"\b({NAMES})(?![a-z])")


def is_problem(line: str) -> bool:
    """Return whether an optimization problem begins on this line."""
    return PROBLEM.match(line) is not None


def as_latex(lines: list[str]) -> str:
    """Return the problem on these lines, with the objective and the constraints aligned.

    Examples
    --------
    >>> print(as_latex(["minimize  alpha tr(L)"]))
    \\begin{split} \\text{minimize} \\quad & \\alpha \\operatorname{tr}(L) \\end{split}
    """
    rows: list[str] = []
    for line in lines:
        for part in NEXT_HEAD.split(line.strip()):
            head = HEAD.match(part)
            body = formula(part[head.end() :] if head else part)
            rows.append(f"\\text{{{head[1]}}} \\quad & {body}" if head else f"& \\quad {body}")
    return "\\begin{split} " + " \\\\ ".join(rows) + " \\end{split}"


def formula(text: str) -> str:
    """Convert one line of a problem."""
    text = WORDS.sub(lambda word: f"\\text{{ {word[0]}}}\\ ", text)
    text = re.sub(r"(\d|\\text\{ [a-z]+\}\\ )/(\d)", r"\\tfrac{\1}{\2}", text)
    text = GREEK.sub(r"\\\1", text)
    text = re.sub(r"\bsum\((\w)\)", r"\\sum \1", text)
    text = re.sub(r"\bsum(?=_)", r"\\sum", text)
    text = re.sub(r"\btr(?=\()", r"\\operatorname{tr}", text)
    text = (
        text.replace("||", r"\|")
        .replace("'", r"^\top ")
        .replace(", ", r", \quad ")
        .replace("\\ ,", ",")
    )
    text = re.sub(r"\b([A-Z])0\b", r"\1_{0}", text)
    text = re.sub(r"_([a-zA-EG-Z])(?![a-z])", r"_{\1}", text)
    text = re.sub(r"\^(-?\d)", r"^{\1}", text)
    return " ".join(text.split())
