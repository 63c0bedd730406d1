"""How loops are compiled and kept on disk, the types of their arguments, and what they share.

Numba keeps loops on disk (`cache=True`), so that the next process need not compile them. A cache
that fails never stops a run.

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
COMPILING = "Every process compiles them again, which takes some seconds"
ANOTHER_FOLDER = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written"
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
"""No loop divides by zero or is called from C, so none is compiled to handle these."""


def compiled(loop: Function) -> Function:
    """Compile a loop at its first call, or load it from disk; it then releases the GIL."""
    return kept(loop, OPTIONS)


def compiled_for_lists(loop: Function) -> Function:
    """Compile a loop that reads entries at listed places, one after the other.

    Sums in any order (`fastmath`) would let the compiler load several such entries by one
    instruction. On processors that protect this instruction against spying, it takes several times
    as long as loading them one by one.
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
    """Do work in a thread of its own, so that Ctrl-C does not cut it short.

    Ctrl-C reaches the main thread only.

    A compiler that is interrupted may lose the interruption, or free the same memory twice when
    Python ends.
    """

    @wraps(work)
    def apart(*arguments: Any) -> Any:
        if current_thread() is not main_thread():
            return work(*arguments)
        # leaving it waits for the work, also after an interruption
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(work, *arguments).result()

    done_apart: Any = apart
    return done_apart  # type: ignore[no-any-return]


def inside(function: Function) -> Function:
    """Compile a function that only loops call, so that it needs no code to unpack arguments."""
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
    """t_ij = u_i + u_j - z_ij, rounded alike in all kernels, so that they agree on active pairs."""
    return (u_i + u_j) - z


@inlined
def unsigned(index: int) -> Any:
    """An index that is not negative, so that loops need not count from the end of an array."""
    return np.uint64(index)


@inlined
def squared_difference(row: Floats, other: Floats) -> float:
    """|row - other|^2, for two rows."""
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
            f"compiled loops cannot be stored on disk ({error}): neither {tried} can be "
            f"written. {COMPILING}; {ANOTHER_FOLDER}"
        )
        return njit(**options)(loop)
    if hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT: there is nothing to compile
        dispatcher.compile = unharmed(dispatcher)
    return dispatcher


def unharmed(dispatcher: Any) -> Callable[[Any], Any]:
    """`compile` of a loop, for which a damaged cache costs a warning and another compilation."""
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
