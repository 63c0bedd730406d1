"""How loops are compiled, and the one number they must all agree on."""

from numba import njit

compiled = njit(cache=True, nogil=True, fastmath=True)
inlined = njit(inline="always")


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
