"""The judge: runs and times every method in a fresh process, and scores what comes back.

No other code measures. Problems with a method (not installed, failed, too slow) are recorded in the
`status` of its row.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import ROOT
from benchmarks.environments import interpreter
from benchmarks.methods import Method

WORKER = Path(__file__).with_name("worker.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Settings:
    """Settings shared by all methods in a run."""

    repeats: int = 5
    budget: float = 20.0
    """Seconds after which a method is not called again."""
    timeout: float = 600.0
    """Time limit of a process in seconds, including imports and warm-up."""
    n_threads: int = 2
    warm_up_rows: int | None = None
    """Number of rows for the untimed call; overrides the number that a method asks for."""


@dataclass(frozen=True)
class Verdict:
    """What is known about a method on a data set: `row` for the results, and `arrays` to score."""

    row: dict[str, Any]
    arrays: dict[str, NDArray] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.row["status"] == "ok"


def judge(
    method: Method,
    data: Path,
    arguments: dict[str, Any],
    settings: Settings,
    seeds: list[int] | None = None,
) -> Verdict:
    """Run `method` on the views stored in `data`; with several seeds, `labels` has one row per
    seed.
    """
    if not interpreter(method.environment).exists():
        return Verdict({"status": "not installed"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        variant = {} if method.variant is None else {"variant": method.variant}
        job = {
            "method": str(method.path),
            "data": str(data.resolve()),
            "arguments": arguments | variant,
        }
        job |= {
            "repeats": settings.repeats,
            "budget": settings.budget,
            "seeds": seeds,
            "warm_up_rows": settings.warm_up_rows,
        }
        (folder / "job.json").write_text(json.dumps(job))
        failure = start(method.environment, folder, settings)
        verdict = Verdict({"status": failure}) if failure else read(folder)
    return Verdict({**verdict.row, "n_threads": settings.n_threads}, verdict.arrays)


def surroundings(n_threads: int, own: bool = True) -> dict[str, str]:
    """Environment variables for a process; if `own`, it imports the package from this checkout,
    regardless of what is installed.
    """
    found = os.environ | {name: str(n_threads) for name in THREADS}
    found.pop("PYTHONPATH", None)
    return found | ({"PYTHONPATH": str(ROOT / "src")} if own else {})


def start(name: str, folder: Path, settings: Settings) -> str | None:
    """Run the worker to its end in the named environment; return what went wrong, if anything."""
    variables = surroundings(settings.n_threads, own=name == "main")
    command = [interpreter(name), "-P", WORKER, folder]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=variables, stdout=log, stderr=log, start_new_session=True, cwd=folder
        )
        try:
            code = process.wait(settings.timeout)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            stop(process)
    if code == 0:
        return None
    last = (folder / "log").read_text().strip().splitlines()[-1:]
    return f"failed: exit code {code}: {''.join(last)[:300]}"


def stop(process: subprocess.Popen) -> None:
    """End the worker and everything it started, all of which is in the worker's own session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read(folder: Path) -> Verdict:
    result = json.loads((folder / "result.json").read_text())
    if "error" in result:
        missing = result["error"] in ("ModuleNotFoundError", "ImportError")
        return Verdict(
            {
                "status": ("not installed: " if missing else "failed: ")
                + f"{result['error']}: {result['message']}"
            }
        )
    with np.load(folder / "result.npz") as stored:
        arrays = dict(stored)
    seconds = result.pop("seconds")
    return Verdict(
        {"status": "ok", "seconds": float(np.median(seconds)), "repeats": seconds, **result}, arrays
    )
