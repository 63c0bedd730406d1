"""Loops that numba keeps on disk (`cache=True`), so that the next process need not compile them.

A cache that fails never stops a run.

Numba chooses the folder: NUMBA_CACHE_DIR, then `__pycache__` beside the loops, then the user's
cache folder. What it does not do is here:

- Where none of them can be written it raises an error: loops are then compiled in memory.
- It raises an error if a file is cut off or the disk is full, and two processes may give one file
  to two signatures: the files of the loop are then deleted and it is compiled again.
- It notices a change in the file of a loop only, but loops are compiled into one another: names of
  cached loops say the state of all files.

Each process warns once about a problem, and logs once, at the level INFO, that it compiles loops
that are not on disk yet.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

HERE = Path(__file__).parent
njit: Any = numba.njit  # these two are typed only in some versions of numba
config: Any = numba.config
COMPILING = "Every process compiles them again, which takes some seconds"
ANOTHER_FOLDER = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written"


def kept_on_disk(loop: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a loop at its first call, or load it from disk if it was compiled before."""
    loop.__qualname__ += f"_{all_sources()}"
    try:
        dispatcher = njit(**options, cache=True)(loop)
    except RuntimeError as error:
        folders = (config.CACHE_DIR, HERE / "__pycache__", "the user's cache folder")
        tried = " nor ".join(str(folder) for folder in folders if folder)
        warn(
            f"compiled loops cannot be stored on disk ({error}): neither {tried} can be "
            f"written. {COMPILING}; {ANOTHER_FOLDER}"
        )
        return njit(**options)(loop)
    if hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT: there is nothing to compile
        dispatcher.compile = unharmed(dispatcher)
    return dispatcher


def unharmed(dispatcher: Any) -> Callable[[Any], Any]:
    """The method `compile` of a loop, for which a damaged cache costs only another compilation.

    A warning says so.
    """
    compile_or_load, folder = dispatcher.compile, Path(dispatcher.stats.cache_path)
    # numba leaves out < and >
    pattern = f"*.{dispatcher.py_func.__qualname__.replace('<', '').replace('>', '')}-*"

    def compile(signature: Any) -> Any:
        files = list(folder.glob(pattern))
        if not files:
            tell(folder)
        problem = "it belongs to arguments of other types"
        try:
            code = compile_or_load(signature)
            if signature in dispatcher.overloads or not files:
                return code
        except Exception as error:  # damaged files raise errors of any kind
            problem = str(error) or type(error).__name__
            if signature not in dispatcher.overloads and not files:
                raise
        if signature in dispatcher.overloads:
            warn(
                f"compiled loops cannot be stored in {folder} ({problem}). {COMPILING}; free "
                f"some space there, or {ANOTHER_FOLDER}"
            )
            return dispatcher.overloads[signature].entry_point
        warn(
            f"a compiled loop in {folder} cannot be used ({problem}). It is compiled again and "
            f"replaced, which takes some seconds; if this happens again, {ANOTHER_FOLDER}"
        )
        for path in files:
            path.unlink(missing_ok=True)
        return compile(signature)

    return compile


@cache
def all_sources() -> str:
    """A digest of the sources of all loops, and of whether they are compiled with bounds checks."""
    sources = [path.read_bytes() for path in sorted(HERE.glob("*.py"))]
    return hashlib.sha256(b"".join([str(config.BOUNDSCHECK).encode(), *sources])).hexdigest()[:16]


@cache
def tell(folder: Path) -> None:
    """Log once that loops are compiled."""
    logging.getLogger(__name__).info(
        "compiling loops once, which takes some seconds; later runs load them from %s", folder
    )


def warn(message: str) -> None:
    """Warn about the first problem of this process."""
    if not warned:
        warned.append(message)
        warnings.warn(message, UserWarning, stacklevel=3)


warned: list[str] = []
