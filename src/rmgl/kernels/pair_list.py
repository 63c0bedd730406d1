"""Loops over listed pairs: a symmetric pattern in CSR form (indptr, indices sorted within rows), costs aligned with indices.

Every pair is in two rows, so each row writes only its own results.
"""

from rmgl.kernels.compiling import Floats, Integers, compiled, compiled_for_lists, slack, squared_difference, unsigned


@compiled_for_lists
def list_excess(
    u: Floats,
    indptr: Integers,
    indices: Integers,
    costs: Floats,
    least: float,
    first: int,
    stop: int,
    excess: Floats,
    counts: Floats,
    squares: Floats,
) -> None:
    """excess_i = sum_j (t_ij)_+, squares_i = sum_j (t_ij)_+^2 and counts_i = number of t_ij > least >= 0, for rows first..stop-1."""
    for i in range(first, stop):
        excess_i = 0.0
        counts_i = 0.0
        squares_i = 0.0
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            t = slack(u[i], u[unsigned(indices[place])], costs[place])
            t = t if t > 0.0 else 0.0
            excess_i += t
            counts_i += 1.0 if t > least else 0.0
            squares_i += t * t
        excess[i] = excess_i
        counts[i] = counts_i
        squares[i] = squares_i


@compiled_for_lists
def list_above(
    u: Floats,
    indptr: Integers,
    indices: Integers,
    costs: Floats,
    least: float,
    first: int,
    stop: int,
    starts: Integers,
    found: Integers,
    data: Floats,
) -> None:
    """Write rows first..stop-1 of the CSR matrix of the t_ij > least, whose row starts are given; only its pattern if `data` is empty.

    Every entry is written, and the next one overwrites it if it is not kept: this avoids a branch that processors predict badly.
    """
    weighted = data.size > 0
    for i in range(first, stop):
        end, last = unsigned(starts[i]), unsigned(starts[i + 1])
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            if end == last:
                break
            t = slack(u[i], u[unsigned(indices[place])], costs[place])
            found[end] = indices[place]
            if weighted:
                data[end] = t
            end += unsigned(t > least)


@compiled_for_lists
def list_inner(
    indptr: Integers,
    indices: Integers,
    costs: Floats,
    starts: Integers,
    found: Integers,
    data: Floats,
    first: int,
    stop: int,
    by_column: Floats,
    totals: Floats,
) -> None:
    """totals_i = sum_j z_ij times the entry, for rows first..stop-1 of a CSR matrix (starts, found, data) on listed pairs.

    The costs of a row are first written out into `by_column`: a search along the row would branch unpredictably.
    """
    for i in range(first, stop):
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            by_column[unsigned(indices[place])] = costs[place]
        total = 0.0
        for entry in range(unsigned(starts[i]), unsigned(starts[i + 1])):
            total += by_column[unsigned(found[entry])] * data[entry]
        totals[i] = total


@compiled
def list_distances(rows: Floats, X: Floats, indptr: Integers, indices: Integers, first: int, stop: int, out: Floats) -> None:
    """|rows_i - x_j|^2 over the listed pairs of rows first..stop-1, from differences."""
    for i in range(first, stop):
        own = rows[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            out[place] = squared_difference(own, X[unsigned(indices[place])])
