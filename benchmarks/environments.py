"""Create the environments for the other packages: one virtual environment for each file
environments/NAME.txt.

`main` is the environment that the benchmarks are started from; the others are in `.bench/NAME`.
NAME.no-deps.txt lists packages whose stated dependencies are wrong or too strict.
"""

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks import ROOT

FOLDER = ROOT / ".bench"
LISTS = Path(__file__).parent / "environments"


def names() -> list[str]:
    return sorted(path.stem for path in LISTS.glob("*.txt") if "." not in path.stem)


def interpreter(name: str) -> Path:
    """The Python interpreter of an environment; it does not exist until `make` has created it."""
    return Path(sys.executable) if name == "main" else FOLDER / name / "bin" / "python"


def make(name: str) -> list[str]:
    """Create or complete an environment; return the requirements that could not be installed."""
    if not interpreter(name).exists():
        venv.create(FOLDER / name, with_pip=True)
    failed = install(name, LISTS / f"{name}.txt")
    without = LISTS / f"{name}.no-deps.txt"
    return failed + (install(name, without, "--no-deps") if without.exists() else [])


def install(name: str, requirements: Path, *options: str) -> list[str]:
    """Install all at once; if that fails, one by one, so that one failure does not block others."""
    if pip(name, "-r", str(requirements), *options):
        return []
    lines = [line.split("#")[0].strip() for line in requirements.read_text().splitlines()]
    return [line for line in lines if line and not pip(name, line, *options)]


def pip(name: str, *arguments: str) -> bool:
    command = [
        str(interpreter(name)),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip()[-1000:], file=sys.stderr)
    return done.returncode == 0
