"""Loops over the edges of a graph in CSR form."""

import numpy as np

from rmgl.kernels.compiling import compiled


@compiled
def pattern_product(starts, found, v, first, stop, out):
    """out_i = sum of v_i + v_j over the pairs (i, j) of a symmetric CSR pattern, for rows first..stop-1."""
    for i in range(first, stop):
        out_i = v[i] * (starts[i + 1] - starts[i])
        for place in range(starts[i], starts[i + 1]):
            out_i += v[found[place]]
        out[i] = out_i


@compiled
def add_to_dense(indptr, indices, data, weight, out):
    """Add weight times a CSR matrix to a dense one."""
    for i in range(indptr.size - 1):
        own = out[i]
        for place in range(indptr[i], indptr[i + 1]):
            own[indices[place]] += weight * data[place]


@compiled
def laplacian_recurrence(indptr, indices, weights, diagonal, V, centre, factor, first, stop, last):
    """Rows first..stop-1 of factor (diag(diagonal) - W - centre) V - last, written into `last`; W in CSR form, V a block of columns."""
    sums = np.empty(V.shape[1])
    for i in range(first, stop):
        own, out = V[i], last[i]
        for column in range(own.size):
            sums[column] = (diagonal[i] - centre) * own[column]
        for place in range(indptr[i], indptr[i + 1]):
            weight, other = weights[place], V[indices[place]]
            for column in range(own.size):
                sums[column] -= weight * other[column]
        for column in range(own.size):
            out[column] = factor * sums[column] - out[column]
