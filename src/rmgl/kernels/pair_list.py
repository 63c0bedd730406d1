"""Loops over listed pairs: a symmetric pattern in CSR form (indptr, indices sorted within rows), costs aligned with indices.

Every pair stands in two rows, so rows gather and never scatter.
"""

import numpy as np

from rmgl.kernels.compiling import compiled, slack, squared_difference


@compiled
def list_excess(u, indptr, indices, costs, first, stop, excess, counts, squares):
    """For rows first..stop-1, over the listed pairs: excess_i = sum_j (t_ij)_+, counts_i the active ones, squares_i = sum_j (t_ij)_+^2."""
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
def list_count(u, indptr, indices, costs, least, first, stop, counts):
    """counts_i = number of listed pairs of i with t_ij > least, for rows first..stop-1."""
    for i in range(first, stop):
        counts_i = 0
        for place in range(indptr[i], indptr[i + 1]):
            counts_i += 1 if slack(u[i], u[indices[place]], costs[place]) > least else 0
        counts[i] = counts_i


@compiled
def list_above(u, indptr, indices, costs, least, first, stop, starts, found, data):
    """Rows first..stop-1 of the CSR matrix of the t_ij > least, whose row starts are given; without `data` (empty) its pattern.

    Every entry is written and then kept or overwritten: whether it stays is a number, not a branch that the processor would guess.
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
def list_inner(indptr, indices, costs, starts, found, data, first, stop, totals):
    """totals_i = sum_j z_ij times the entry, for rows first..stop-1 of a CSR matrix (starts, found, data) on listed pairs.

    A row's costs are laid out by column, where its entries find them: a search along the row would be guesswork for the processor.
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
def list_distances(X, indptr, indices, first, stop, out):
    """Squared distances of the rows of X over the listed pairs of rows first..stop-1, from differences."""
    for i in range(first, stop):
        own = X[i]
        for place in range(indptr[i], indptr[i + 1]):
            out[place] = squared_difference(own, X[indices[place]])


@compiled
def list_localize(indptr, indices, distances, scales, floors, first, stop, out):
    """out_ij = max(z_ij / (s_i s_j), min(f_i, f_j)) over the listed pairs of rows first..stop-1."""
    for i in range(first, stop):
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            out[place] = max(distances[place] / (scales[i] * scales[j]), min(floors[i], floors[j]))


@compiled
def distances_to(rows, X, neighbors, out):
    """Squared distances of some rows from the rows of X listed for each of them, from differences."""
    for a in range(rows.shape[0]):
        own = rows[a]
        for k in range(neighbors.shape[1]):
            out[a, k] = squared_difference(own, X[neighbors[a, k]])
