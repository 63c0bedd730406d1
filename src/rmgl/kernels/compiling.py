"""How loops are compiled, the types of their arguments, and the functions that they share."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from threading import current_thread, main_thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmgl.kernels.cache import kept_on_disk, njit

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
def squared_difference(own: Floats, other: Floats) -> float:
    """|own - other|^2, for two rows."""
    total = 0.0
    for column in range(own.size):
        difference = own[column] - other[column]
        total += difference * difference
    return total
