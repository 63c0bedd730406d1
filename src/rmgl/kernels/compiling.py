"""Compile loops and cache them on disk; define argument types and functions that loops share.

Numba caches compiled loops on disk (`cache=True`), so the next process need not compile them. A
cache failure never stops a run.

Numba chooses the folder: NUMBA_CACHE_DIR, then `__pycache__` beside the loops, then the user's
cache folder. This module adds what Numba lacks:

- Numba raises an error if none of these folders is writable. Loops are then compiled in memory.
- Numba raises an error if a file is truncated or the disk is full, and two processes may use one
  file for two signatures. The files of the loop are then deleted and it is compiled again.
- Numba notices changes only in the file of a loop, but loops are compiled into one another. Names
  of cached loops therefore include a digest of all files.

Each process warns about the first problem only. It logs once, at the INFO level, that it is
compiling loops that are not on disk yet.
"""

import hashlib
import logging
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
njit: Any = numba.njit  # these two are typed only in some versions of numba
config: Any = numba.config
COMPILING = "Every process compiles them again, which takes a few seconds"
ANOTHER_FOLDER = "set the environment variable NUMBA_CACHE_DIR to a writable folder"
warned: list[str] = []
Function = TypeVar("Function", bound=Callable[..., Any])
Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Products = NDArray[np.floating[Any]]
"""Products of rows, in single or double precision."""

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
"""No loop divides by zero or is called from C, so none is compiled to handle either."""


def compiled(loop: Function) -> Function:
    """Compile a loop at its first call, or load it from disk. The loop releases the GIL."""
    return kept(loop, OPTIONS)


def compiled_for_lists(loop: Function) -> Function:
    """Compile a loop that reads entries at listed positions one by one.

    If sums may be in any order (`fastmath`), the compiler loads several such entries with one
    gather instruction. On processors that protect this instruction against side-channel attacks,
    it takes several times as long as loading the entries one by one.
    """
    return kept(loop, {**OPTIONS, "fastmath": {"contract"}})


def kept(loop: Function, options: dict[str, Any]) -> Function:
    """Compile a loop and keep its machine code on disk."""
    dispatcher = kept_on_disk(loop, options)
    if hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT: there is nothing to compile
        dispatcher.compile = uninterrupted(dispatcher.compile)
    kept_loop: Function = dispatcher
    return kept_loop


def uninterrupted(work: Function) -> Function:
    """Run work in its own thread, so that Ctrl-C does not interrupt it.

    Ctrl-C reaches only the main thread. If the compiler is interrupted, it may swallow the
    interrupt, or free the same memory twice when Python exits.
    """

    @wraps(work)
    def apart(*arguments: Any) -> Any:
        if current_thread() is not main_thread():
            return work(*arguments)
        # leaving the block waits for the work, even after an interruption
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(work, *arguments).result()

    done_apart: Any = apart
    return done_apart  # type: ignore[no-any-return]


def inside(function: Function) -> Function:
    """Compile a function that only loops call, without code to unpack Python arguments."""
    dispatcher: Function = njit(**OPTIONS, no_cpython_wrapper=True)(function)
    return dispatcher


def inlined(function: Function) -> Function:
    """Compile a function into the loops that call it."""
    dispatcher: Function = njit(inline="always")(function)
    return dispatcher


def rounded_as_written(function: Function) -> Function:
    """Compile a function without `fastmath`, so that every loop gets the same result."""
    dispatcher: Function = njit(function)
    return dispatcher


@rounded_as_written
def slack(u_i: float, u_j: float, z: float) -> float:
    """Return t_ij = u_i + u_j - z_ij, rounded alike in all kernels: active pairs must agree."""
    return (u_i + u_j) - z


@inlined
def unsigned(index: int) -> Any:
    """Return a nonnegative index as unsigned, so that loops need no code for negative ones."""
    return np.uint64(index)


@inlined
def squared_difference(row: Floats, other: Floats) -> float:
    """Return |row - other|^2 for two rows."""
    total = 0.0
    for column in range(row.size):
        difference = row[column] - other[column]
        total += difference * difference
    return total


def kept_on_disk(loop: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a loop at its first call, or load it from disk if it was compiled before."""
    loop.__qualname__ += f"_{all_sources()}"
    try:
        dispatcher = njit(**options, cache=True)(loop)
    except RuntimeError as error:
        folders = (config.CACHE_DIR, HERE / "__pycache__", "the user's cache folder")
        tried = " nor ".join(str(folder) for folder in folders if folder)
        warn(
            f"compiled loops cannot be stored on disk ({error}): neither {tried} is "
            f"writable. {COMPILING}; {ANOTHER_FOLDER}"
        )
        return njit(**options)(loop)
    if hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT: there is nothing to compile
        dispatcher.compile = unharmed(dispatcher)
    return dispatcher


def unharmed(dispatcher: Any) -> Callable[[Any], Any]:
    """Wrap `compile` of a loop: a damaged cache causes only a warning and a recompilation."""
    compile_or_load, folder = dispatcher.compile, Path(dispatcher.stats.cache_path)
    # numba leaves out < and >
    pattern = f"*.{dispatcher.py_func.__qualname__.replace('<', '').replace('>', '')}-*"

    def compile(signature: Any) -> Any:
        files = list(folder.glob(pattern))
        if not files:
            tell(folder)
        problem = "it was compiled for arguments of other types"
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
            f"replaced, which takes a few seconds; if this happens again, {ANOTHER_FOLDER}"
        )
        for path in files:
            path.unlink(missing_ok=True)
        return compile(signature)

    return compile


@cache
def all_sources() -> str:
    """Return a digest of the source code of all loops and the bounds-check setting."""
    sources = [path.read_bytes() for path in sorted(HERE.glob("*.py"))]
    return hashlib.sha256(b"".join([str(config.BOUNDSCHECK).encode(), *sources])).hexdigest()[:16]


@cache
def tell(folder: Path) -> None:
    """Log once that loops are being compiled."""
    logging.getLogger(__name__).info(
        "compiling loops once, which takes a few seconds; later runs load them from %s", folder
    )


def warn(message: str) -> None:
    """Warn about the first problem of this process."""
    if not warned:
        warned.append(message)
        warnings.warn(message, UserWarning, stacklevel=3)
