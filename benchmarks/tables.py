"""Format rows and numbers for tables."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from benchmarks.results import Row

GIB = 1 << 30
MARKS = {
    "timeout": "timed out",
    "skipped: out of time": "timed out",
    "skipped: needs": "too little memory",
    "skipped": "skipped",
    "failed": "failed",
    "not installed": "not installed",
}


def done(row: Row) -> bool:
    return row["status"] == "ok"


def mark(row: Row | None) -> str:
    return (
        ""
        if row is None
        else next(
            (text for start, text in MARKS.items() if row["status"].startswith(start)),
            row["status"],
        )
    )


def entry(row: Row | None, field: str, form: str) -> str:
    return form.format(row[field]) if row and done(row) else mark(row)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def gib(row: Row) -> str:
    return f"{row['memory']['peak'] / GIB:.2f}" if row["memory"]["peak"] else ""


def only_commit(rows: Iterable[Row]) -> str | None:
    """The commit of all rows, or None if there are several."""
    states = {row.get("commit") for row in rows}
    return states.pop() if len(states) == 1 else None


def commits(rows: Iterable[Row]) -> str:
    """The states of the code that rows were measured with, and the number of rows for each. Rows
    with different states come from different runs.
    """
    counts = Counter(
        (row.get("commit") or "not noted").replace("-dirty", "+changes") for row in rows
    )
    return ", ".join(f"{commit} ({n})" for commit, n in counts.items())


def failures(rows: Iterable[Row]) -> Iterable[str]:
    """A list of what did not run, if anything."""
    found = [
        f"- {row['method']} on {row['dataset']}: {row['status']}" for row in rows if not done(row)
    ]
    if found:
        yield "Runs that did not finish:\n\n" + "\n".join(found)


def table(head: list[str], lines: list[list[Any]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)
