"""Results of a suite as one JSON file that is written after every row, so that an interrupted run
resumes where it stopped.
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

from benchmarks import ROOT
from rmgl.version import __version__

Row = dict[str, Any]
FINAL = ("ok", "timeout", "skipped")


class Results:
    """Rows under keys, facts about the machine, and notes (values worth finding only once)."""

    def __init__(self, path: Path, force: bool = False, current: bool = False) -> None:
        """`force` measures everything again, `current` what was measured with another state of the
        package.
        """
        self.path = path
        self.force = force
        self.current = current
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.rows: dict[str, Row] = stored.get("rows", {})
        self.notes: dict[str, Any] = stored.get("notes", {})

    def add(self, measure: Callable[[], Row], **names: Any) -> Row:
        """The row called by the values of `names`: as stored if it is final and not to be forced,
        else measured, stored and printed.
        """
        key = " ".join(str(value) for value in names.values())
        row = None if self.force else self.rows.get(key)
        row = None if row and self.current and row.get("commit") != commit() else row
        if row is None or not row["status"].startswith(FINAL):
            row = self.rows[key] = {**names, **measure(), "commit": commit()}
            self.write()
            print(f"{key}: {describe(row)}", flush=True)
        return row

    def add_all(self, measure: Callable[..., Row], wanted: Iterable[Row], n_processes: int) -> None:
        """Rows that are measured side by side by `measure(*names)`, in processes of their own."""
        with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
            waiting = [
                (names, pool.submit(measure, *names.values()))
                for names in wanted
                if self.force or " ".join(map(str, names.values())) not in self.rows
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
        content = {"machine": machine(), "notes": self.notes, "rows": self.rows}
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=1))
        partial.replace(self.path)


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


def commit() -> str | None:
    """The state of the package that a row was measured with: the last commit that changed it, and
    whether it was changed since.
    """
    last = _git("log", "-1", "--format=%h", "--", "src")
    return (
        last + ("+changes" if _git("status", "--porcelain", "--", "src") else "") if last else None
    )


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
