"""Problems that docstrings state in plain text, as LaTeX: terminals show the text, and the site
typesets the formula.
"""

from __future__ import annotations

import re

PROBLEM = re.compile(r"^\s*(minimize|maximize)\b")
HEAD = re.compile(r"^(minimize|maximize|subject to)\b\s*")
WORDS = re.compile(r"\ba graph Laplacian\b|\b(merge|ridge|inverse)\b")
GREEK = re.compile(r"\b(alpha|beta|gamma|epsilon|Lambda)(?![a-z])")


def is_problem(line: str) -> bool:
    """Whether an optimization problem begins with this line."""
    return PROBLEM.match(line) is not None


def as_latex(lines: list[str]) -> str:
    """The problem on these lines, aligned at what is minimized and at its constraints.

    Examples
    --------
    >>> print(as_latex(["minimize  alpha tr(L)"]))
    \\begin{split} \\text{minimize} \\quad & \\alpha \\operatorname{tr}(L) \\end{split}
    """
    rows: list[str] = []
    for line in lines:
        for part in re.split(r"\s+(?=subject to\b)", line.strip()):
            head = HEAD.match(part)
            body = formula(part[head.end() :] if head else part)
            rows.append(f"\\text{{{head[1]}}} \\quad & {body}" if head else f"& \\quad {body}")
    return "\\begin{split} " + " \\\\ ".join(rows) + " \\end{split}"


def formula(text: str) -> str:
    """One line of a problem."""
    text = re.sub(r"\b1/2\b", r"\\tfrac{1}{2}", text)
    text = re.sub(r"\b(ridge|inverse)/2", r"\\tfrac{\1}{2}", text)
    text = WORDS.sub(lambda word: f"\\text{{ {word[0]}}}\\ ", text)
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
    text = re.sub(r"_([a-zA-EG-Z])(?![a-z])", r"_{\1}", text)
    text = re.sub(r"\^(-?\d)", r"^{\1}", text)
    return " ".join(text.split())
