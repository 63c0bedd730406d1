"""Results of a suite as one JSON file, which is written after every row. An interrupted run
therefore resumes where it stopped.

All rows of a file come from one state of the code: a run from a different state replaces the file.
"""

import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from benchmarks import ROOT
from rmgl.version import __version__

Row = dict[str, Any]
FINAL = ("ok", "timeout", "skipped")
CODE = ("src", "benchmarks", "pyproject.toml", ":!benchmarks/results", ":!benchmarks/*.md")
"""Everything that may change a result."""


class Results:
    """Rows by key, facts about the machine, and notes (values that are computed only once)."""

    def __init__(self, path: Path, force: bool = False, partly: bool = False) -> None:
        """Load the rows that were measured with this state of the code.

        If `force`, measure everything again. If `partly`, only some rows will be measured, which
        must not replace a file from a different state.
        """
        self.path = path
        stored = json.loads(path.read_text()) if path.exists() and not force else {}
        rows: dict[str, Row] = stored.get("rows", {})
        self.state = state = commit()
        other = sorted({str(row.get("commit")) for row in rows.values()} - {str(state)})
        if other and partly:
            raise click.UsageError(
                f"{path.name} has rows from {', '.join(other)}, but the code is at {state}: "
                "measure the whole suite, pass another --output, or replace the file with --force"
            )
        self.rows: dict[str, Row] = {} if other else rows
        self.notes: dict[str, Any] = {} if other else stored.get("notes", {})

    def add(self, measure: Callable[[], Row], **names: Any) -> Row:
        """Return the row with the key `names`: the stored row if it is final; otherwise measure,
        store and print it.
        """
        key = " ".join(str(value) for value in names.values())
        row = self.rows.get(key)
        if row is None or not row["status"].startswith(FINAL):
            found = measure()
            if commit() != self.state:
                raise click.ClickException(f"the code changed while {key} was being measured")
            row = self.rows[key] = {**names, **found, "commit": self.state}
            self.write()
            print(f"{key}: {describe(row)}", flush=True)
        return row

    def add_all(self, measure: Callable[..., Row], wanted: Iterable[Row], n_processes: int) -> None:
        """Measure rows in parallel with `measure(*names)`, in separate processes."""
        with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
            waiting = [
                (names, pool.submit(measure, *names.values()))
                for names in wanted
                if " ".join(map(str, names.values())) not in self.rows
            ]
            for names, future in waiting:
                self.add(future.result, **names)

    def note(self, name: str, find: Callable[[], Any]) -> Any:
        if name not in self.notes:
            self.notes[name] = find()
            self.write()
        return self.notes[name]

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        parts = {"machine": machine(), "notes": self.notes, "rows": self.rows}
        partial = self.path.with_suffix(".partial")
        partial.write_text(as_text(parts))
        partial.replace(self.path)


def as_text(parts: dict[str, dict[str, Any]]) -> str:
    """The parts of a file as text, with one entry per line and numbers rounded to eight digits."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(name)}: {lines(part)}" for name, part in parts.items())
        + "\n}\n"
    )


def lines(part: dict[str, Any]) -> str:
    found = [f"{json.dumps(name)}: {json.dumps(rounded(value))}" for name, value in part.items()]
    return "{\n" + ",\n".join(found) + "\n}" if found else "{}"


def rounded(value: Any) -> Any:
    """A value whose floating-point numbers are rounded to eight significant digits."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


def describe(row: Row) -> str:
    if row["status"] != "ok":
        return row["status"]
    parts = [f"{row['seconds']:.4g} s"]
    parts += [
        f"{name} {row[name]:.3g}" for name in ("residual", "nmi") if row.get(name) is not None
    ]
    return ", ".join(parts)


def machine() -> dict[str, Any]:
    names = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": _line("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {"rmgl": __version__} | {name: metadata.version(name) for name in names},
    }


def free_memory() -> int | None:
    """Bytes of available memory, or None if the system does not report it."""
    line = _line("/proc/meminfo", "MemAvailable")
    return None if line is None else 1024 * int(line.split()[0])


def commit() -> str | None:
    """The current state of the code: the last commit that changed it, with "+changes" if there are
    uncommitted changes.
    """
    last = _git("log", "-1", "--format=%h", "--", *CODE)
    return last + ("+changes" if is_dirty() else "") if last else None


def is_dirty() -> bool:
    """Whether the code has uncommitted changes."""
    return bool(_git("status", "--porcelain", "--", *CODE))


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


def _line(path: str, start: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(start)), None)
