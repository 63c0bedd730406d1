"""What a user waits for before anything is computed: imports, the help text of the command, and the
first fit, with nothing compiled yet.

Every timing measures a fresh process. For comparison, the suite also times the necessary parts: an
interpreter that exits immediately, and the import of numpy and scipy. The first fit consists of two
small fits, over all pairs and over neighbor lists; the time of the imports does not count.
"""

import subprocess
import sys
import tempfile
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.judge import Settings, surroundings
from benchmarks.results import Results, Row

FIRST_FIT = """
import time
import numpy as np
from rmgl import RMGL
began = time.perf_counter()
X = np.random.default_rng(0).normal(size=(2000, 5))
for candidates in ("all", 20):
    RMGL(3, candidates=candidates, random_state=0, n_jobs=1).fit([X, X[:, :3]])
print(time.perf_counter() - began)
"""
DEFAULT_FIT = """
import time
import numpy as np
from rmgl import RMGL
began = time.perf_counter()
X = np.random.default_rng(0).normal(size=(2000, 5))
RMGL(3, random_state=0, n_jobs=1).fit([X, X[:, :3]])
print(time.perf_counter() - began)
"""
FITS = {"first fit": FIRST_FIT, "first fit at the defaults": DEFAULT_FIT}
CACHES = {"no compiled code": 0, "compiled code kept": 1}
"""Number of runs before the timed run, which fill the cache of compiled code."""
COMMANDS = {
    "python alone": ["-c", "pass"],
    "import numpy, scipy": ["-c", "import numpy, scipy.sparse"],
    "import rmgl": ["-c", "import rmgl"],
    "from rmgl import RMGL": ["-c", "from rmgl import RMGL"],
    "rmgl --help": ["-m", "rmgl", "--help"],
}


def run(
    results: Results,
    settings: Settings,
    quick: bool = False,
    only: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
) -> None:
    for name, arguments in COMMANDS.items():
        if not only or name in only:
            results.add(partial(command, arguments, settings), what=name)
    for name, code in FITS.items():
        for cache in () if quick else CACHES:
            what = f"{name}, {cache}"
            if not only or name in only or what in only:
                results.add(partial(first_fit, code, CACHES[cache], settings), what=what)


def command(arguments: list[str], settings: Settings) -> Row:
    """Seconds from the start of a process to its end. The first process does not count, because it
    reads files from the disk.
    """
    seconds = []
    for _ in range(settings.repeats + 1):
        began = perf_counter()
        subprocess.run(
            [sys.executable, *arguments], env=surroundings(1), capture_output=True, check=True
        )
        seconds.append(perf_counter() - began)
    return timings(seconds[1:])


def first_fit(code: str, n_before: int, settings: Settings) -> Row:
    """Time for small fits in a fresh process, with an empty or a filled cache of compiled code."""
    seconds = []
    for _ in range(min(3, settings.repeats)):
        with tempfile.TemporaryDirectory() as folder:
            variables = surroundings(1) | {"NUMBA_CACHE_DIR": folder}
            for _ in range(n_before + 1):
                done = subprocess.run(
                    [sys.executable, "-c", code],
                    env=variables,
                    capture_output=True,
                    text=True,
                    check=True,
                )
        seconds.append(float(done.stdout))
    return timings(seconds)


def timings(seconds: list[float]) -> Row:
    return {"status": "ok", "seconds": float(np.median(seconds)), "repeats": seconds}
