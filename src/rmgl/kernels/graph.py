"""Loops over the edges of a graph in CSR form."""

from rmgl.kernels.compiling import Floats, Integers, compiled, compiled_for_lists, unsigned


@compiled_for_lists
def pattern_product(starts: Integers, found: Integers, v: Floats, first: int, stop: int, out: Floats) -> None:
    """out_i = sum of v_i + v_j over the pairs (i, j) of a symmetric CSR pattern, for rows first..stop-1."""
    for i in range(first, stop):
        out_i = v[i] * (starts[i + 1] - starts[i])
        for place in range(unsigned(starts[i]), unsigned(starts[i + 1])):
            out_i += v[unsigned(found[place])]
        out[i] = out_i


@compiled
def add_to_dense(indptr: Integers, indices: Integers, data: Floats, weight: float, out: Floats) -> None:
    """Add weight times a CSR matrix to a dense one."""
    for i in range(indptr.size - 1):
        own = out[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            own[unsigned(indices[place])] += weight * data[place]


@compiled_for_lists
def laplacian_product(
    indptr: Integers, indices: Integers, weights: Floats, diagonal: Floats, x: Floats, first: int, stop: int, out: Floats
) -> None:
    """Write rows first..stop-1 of (diag(diagonal) - W) x; W is in CSR form."""
    for i in range(first, stop):
        total = diagonal[i] * x[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            total -= weights[place] * x[unsigned(indices[place])]
        out[i] = total


@compiled
def laplacian_block(
    indptr: Integers, indices: Integers, weights: Floats, diagonal: Floats, V: Floats, first: int, stop: int, out: Floats
) -> None:
    """Write rows first..stop-1 of (diag(diagonal) - W) V, for a block of columns V that is stored row by row; W is in CSR form."""
    for i in range(first, stop):
        own, row = out[i], V[i]
        for column in range(own.size):
            own[column] = diagonal[i] * row[column]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            weight, other = weights[place], V[unsigned(indices[place])]
            for column in range(own.size):
                own[column] -= weight * other[column]


@compiled
def sum_rows(
    starts: Integers,
    indices: Integers,
    data: Floats,
    weights: Floats,
    place_of: Integers,
    indptr: Integers,
    found: Integers,
    totals: Floats,
) -> int:
    """sum_m weights_m W_m, row by row, for CSR matrices laid end to end whose row i begins at starts[m, i] and ends at starts[m, i + 1].

    Writes the row starts of the sum into `indptr`, its column indices (not sorted) into `found` and its entries into `totals`.
    `place_of` holds -1 for every column. Returns the number of entries.
    """
    n = starts.shape[1] - 1
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
