"""How loops are compiled, and the one number they must all agree on."""

from collections.abc import Callable
from typing import Any

from numba import njit

from rmgl.kernels.cache import keep_on_disk

inlined = njit(inline="always")


def compiled(loop: Callable) -> Any:
    """A loop that releases the GIL, compiled at its first call, or loaded from disk if that was done before."""
    dispatcher = njit(nogil=True, fastmath=True)(loop)
    keep_on_disk(dispatcher)
    return dispatcher


@njit
def slack(u_i, u_j, z):
    """t_ij, always rounded the same way: compiled without `fastmath`, so that all kernels agree on which pairs are active."""
    return (u_i + u_j) - z


@njit(inline="always")
def squared_difference(own, other):
    """|own - other|^2 of two rows."""
    total = 0.0
    for column in range(own.size):
        difference = own[column] - other[column]
        total += difference * difference
    return total
