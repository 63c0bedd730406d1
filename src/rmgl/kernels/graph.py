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
def laplacian_recurrence(indptr, indices, weights, diagonal, V, center, factor, first, stop, last):
    """Rows first..stop-1 of factor (diag(diagonal) - W - center) V - last, written into `last`; W in CSR form, V a block of columns."""
    sums = np.empty(V.shape[1])
    for i in range(first, stop):
        own, out = V[i], last[i]
        for column in range(own.size):
            sums[column] = (diagonal[i] - center) * own[column]
        for place in range(indptr[i], indptr[i + 1]):
            weight, other = weights[place], V[indices[place]]
            for column in range(own.size):
                sums[column] -= weight * other[column]
        for column in range(own.size):
            out[column] = factor * sums[column] - out[column]


@compiled
def sum_rows(starts, indices, data, weights, indptr, found, totals):
    """sum_m weights_m W_m, row by row, for CSR matrices laid end to end whose row i begins at starts[m, i] and ends at starts[m, i + 1].

    The sum's row starts are written into `indptr`, its columns (not sorted) and entries into `found` and `totals`. Return how many.
    """
    n = starts.shape[1] - 1
    place_of = np.full(n, -1)
    end = 0
    for i in range(n):
        begin = end
        for m in range(starts.shape[0]):
            for place in range(starts[m, i], starts[m, i + 1]):
                j = indices[place]
                at = place_of[j]
                if at < begin:
                    at = end
                    place_of[j] = at
                    found[at] = j
                    totals[at] = 0.0
                    end += 1
                totals[at] += weights[m] * data[place]
        indptr[i + 1] = end
    return end
