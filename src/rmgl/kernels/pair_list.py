"""Loops over listed pairs: a symmetric pattern in CSR form (indptr, indices sorted within rows), costs aligned with indices.

Every pair is in two rows, so each row writes only its own results.
"""

import numpy as np

from rmgl.kernels.compiling import Floats, Integers, compiled, slack, squared_difference


@compiled
def list_excess(
    u: Floats, indptr: Integers, indices: Integers, costs: Floats, first: int, stop: int, excess: Floats, counts: Floats, squares: Floats
) -> None:
    """excess_i = sum_j (t_ij)_+, counts_i = number of active pairs and squares_i = sum_j (t_ij)_+^2, for rows first..stop-1."""
    for i in range(first, stop):
        excess_i = 0.0
        counts_i = 0.0
        squares_i = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            t = max(slack(u[i], u[indices[place]], costs[place]), 0.0)
            excess_i += t
            counts_i += 1.0 if t > 0.0 else 0.0
            squares_i += t * t
        excess[i] = excess_i
        counts[i] = counts_i
        squares[i] = squares_i


@compiled
def list_count(u: Floats, indptr: Integers, indices: Integers, costs: Floats, least: float, first: int, stop: int, counts: Floats) -> None:
    """counts_i = number of listed pairs of i with t_ij > least, for rows first..stop-1."""
    for i in range(first, stop):
        counts_i = 0
        for place in range(indptr[i], indptr[i + 1]):
            counts_i += 1 if slack(u[i], u[indices[place]], costs[place]) > least else 0
        counts[i] = counts_i


@compiled
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
        end, last = starts[i], starts[i + 1]
        for place in range(indptr[i], indptr[i + 1]):
            if end == last:
                break
            t = slack(u[i], u[indices[place]], costs[place])
            found[end] = indices[place]
            if weighted:
                data[end] = t
            end += 1 if t > least else 0


@compiled
def list_inner(
    indptr: Integers,
    indices: Integers,
    costs: Floats,
    starts: Integers,
    found: Integers,
    data: Floats,
    first: int,
    stop: int,
    totals: Floats,
) -> None:
    """totals_i = sum_j z_ij times the entry, for rows first..stop-1 of a CSR matrix (starts, found, data) on listed pairs.

    The costs of a row are first written out by column: a search along the row would branch unpredictably.
    """
    by_column = np.empty(indptr.size - 1)
    for i in range(first, stop):
        for place in range(indptr[i], indptr[i + 1]):
            by_column[indices[place]] = costs[place]
        total = 0.0
        for entry in range(starts[i], starts[i + 1]):
            total += by_column[found[entry]] * data[entry]
        totals[i] = total


@compiled
def list_distances(X: Floats, indptr: Integers, indices: Integers, first: int, stop: int, out: Floats) -> None:
    """out_ij = |x_i - x_j|^2 over the listed pairs of rows first..stop-1, from differences."""
    for i in range(first, stop):
        own = X[i]
        for place in range(indptr[i], indptr[i + 1]):
            out[place] = squared_difference(own, X[indices[place]])


@compiled
def list_localize(
    indptr: Integers, indices: Integers, distances: Floats, scales: Floats, floors: Floats, first: int, stop: int, out: Floats
) -> None:
    """out_ij = max(z_ij / (s_i s_j), min(f_i, f_j)) over the listed pairs of rows first..stop-1."""
    for i in range(first, stop):
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            out[place] = max(distances[place] / (scales[i] * scales[j]), min(floors[i], floors[j]))


@compiled
def distances_to(rows: Floats, X: Floats, neighbors: Integers, out: Floats) -> None:
    """Squared distances between each of `rows` and the rows of X listed for it, from differences."""
    for a in range(rows.shape[0]):
        own = rows[a]
        for k in range(neighbors.shape[1]):
            out[a, k] = squared_difference(own, X[neighbors[a, k]])
