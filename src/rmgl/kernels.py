"""Compiled loops over all pairs of nodes, and nothing else.

Pairs (i, j), i < j, are stored row by row: (0,1), (0,2), ..., (1,2), ... In every kernel

    t_ij = u_i + u_j - z_ij          a pair is *active* where t_ij > 0

The kernels release the GIL and use one thread each; `first` and `stop` let threads share the rows. They assume finite numbers (`fastmath`):
validate before calling. Rows are taken as slices because a slice has no negative index, which is
what lets the compiler vectorise. The NumPy statement each one mirrors stands in `tests/test_kernels.py`.
"""

import numpy as np
from numba import njit

compiled = njit(cache=True, nogil=True, fastmath=True)
inlined = njit(inline="always")


@njit
def slack(u_i, u_j, z):
    """t_ij, always rounded the same way: compiled without `fastmath`, so that all kernels agree on which pairs are active."""
    return (u_i + u_j) - z


@inlined
def row_start(i, n):
    """Place of pair (i, i+1) among the pairs of n nodes."""
    return i * (2 * n - i - 1) // 2


@compiled
def pair_excess(u, costs, first, stop, excess, counts):
    """For the pairs of rows first..stop-1: add sum_j (t_ij)_+ to excess_i and the number of active pairs to counts_i, for both
    nodes of a pair; return their sum of (t_ij)_+^2."""
    n = u.size
    squares = 0.0
    for i in range(first, stop):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, excess_j, counts_j = u[i], u[i + 1 :], excess[i + 1 :], counts[i + 1 :]
        excess_i = 0.0
        counts_i = 0.0
        for j in range(z.size):
            t = max(slack(u_i, u_j[j], z[j]), 0.0)
            active = 1.0 if t > 0.0 else 0.0
            squares += t * t
            excess_i += t
            excess_j[j] += t
            counts_i += active
            counts_j[j] += active
        excess[i] += excess_i
        counts[i] += counts_i
    return squares


@compiled
def pair_product(u, costs, v, first, stop, out):
    """For the pairs of rows first..stop-1: add v_i + v_j of the active ones to out_i and out_j; over all rows (D_A + A) v."""
    n = u.size
    for i in range(first, stop):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, v_i, v_j, out_j = u[i], u[i + 1 :], v[i], v[i + 1 :], out[i + 1 :]
        out_i = 0.0
        for j in range(z.size):
            active = 1.0 if slack(u_i, u_j[j], z[j]) > 0.0 else 0.0
            both = (v_i + v_j[j]) * active
            out_i += both
            out_j[j] += both
        out[i] += out_i


@compiled
def pair_active(u, costs, places, indices):
    """Write the pattern of the active pairs in CSR form. `places` holds the row starts and is advanced."""
    n = u.size
    for i in range(n):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j = u[i], u[i + 1 :]
        for chunk in range(0, z.size, 64):
            z_chunk, u_chunk = z[chunk : chunk + 64], u_j[chunk : chunk + 64]
            hits = 0
            for j in range(z_chunk.size):
                hits += 1 if slack(u_i, u_chunk[j], z_chunk[j]) > 0.0 else 0
            if hits == 0:
                continue
            for j in range(z_chunk.size):
                if slack(u_i, u_chunk[j], z_chunk[j]) > 0.0:
                    other = i + 1 + chunk + j
                    indices[places[i]] = other
                    places[i] += 1
                    indices[places[other]] = i
                    places[other] += 1


@compiled
def pattern_product(starts, found, v, first, stop, out):
    """out_i = sum of v_i + v_j over the pairs (i, j) of a symmetric CSR pattern, for rows first..stop-1."""
    for i in range(first, stop):
        out_i = v[i] * (starts[i + 1] - starts[i])
        for place in range(starts[i], starts[i + 1]):
            out_i += v[found[place]]
        out[i] = out_i


@compiled
def count_above(u, costs, least, degrees):
    """Add to degrees_i the number of pairs of i with t_ij > least."""
    n = u.size
    for i in range(n):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, degrees_j = u[i], u[i + 1 :], degrees[i + 1 :]
        degrees_i = 0
        for j in range(z.size):
            above = 1 if slack(u_i, u_j[j], z[j]) > least else 0
            degrees_i += above
            degrees_j[j] += above
        degrees[i] += degrees_i


@compiled
def fill_symmetric(u, costs, least, places, indices, data):
    """Write the entries t_ij > least of a symmetric CSR matrix. `places` holds the row starts and is advanced.

    Row j receives its smaller neighbours before its larger ones, so indices come out sorted.
    """
    n = u.size
    for i in range(n):
        start = row_start(i, n)
        for j in range(i + 1, n):
            t = slack(u[i], u[j], costs[start + j - i - 1])
            if t > least:
                indices[places[i]] = j
                data[places[i]] = t
                places[i] += 1
                indices[places[j]] = i
                data[places[j]] = t
                places[j] += 1


@compiled
def pair_inner(costs, indptr, indices, data):
    """Sum of z_ij times the entry, over the entries above the diagonal of a CSR matrix."""
    n = indptr.size - 1
    total = 0.0
    for i in range(n):
        start = row_start(i, n)
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            if j > i:
                total += costs[start + j - i - 1] * data[place]
    return total


@compiled
def fill_distances(first, gram, norms, out):
    """Squared distances max(|x_i|^2 + |x_j|^2 - 2 x_i'x_j, 0) of the pairs whose smaller node is first, first + 1, ...

    `gram[r, c]` holds x_i'x_j with i = first + r and j = first + c.
    """
    n = norms.size
    for r in range(gram.shape[0]):
        i = first + r
        start = row_start(i, n)
        row = out[start : start + n - i - 1]
        product, norms_i, norms_j = gram[r, r + 1 :], norms[i], norms[i + 1 :]
        for j in range(row.size):
            row[j] = max(norms_i + norms_j[j] - 2.0 * product[j], 0.0)


@compiled
def repair_distances(X, norms, share, first, stop, out):
    """Measure the pairs of rows first..stop-1 with out_ij < share (|x_i|^2 + |x_j|^2) again, from the difference of their rows."""
    n = norms.size
    for i in range(first, stop):
        start = row_start(i, n)
        row = out[start : start + n - i - 1]
        own, norms_i, norms_j = X[i], norms[i], norms[i + 1 :]
        for j in range(row.size):
            if row[j] < share * (norms_i + norms_j[j]):
                other = X[i + 1 + j]
                total = 0.0
                for column in range(own.size):
                    difference = own[column] - other[column]
                    total += difference * difference
                row[j] = total


# Listed pairs: a symmetric pattern in CSR form (indptr, indices sorted within rows), costs aligned with indices. Every pair
# stands in two rows, so rows gather and never scatter.


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
            other = X[indices[place]]
            total = 0.0
            for column in range(own.size):
                difference = own[column] - other[column]
                total += difference * difference
            out[place] = total


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


# Neighbour search: heaps with the smallest (worst) score at the root.


@compiled
def replace_worst(scores, found, score, place):
    """Put (score, place) where the root of the heap was, and let it sink."""
    size = scores.size
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[at] = scores[child]
        found[at] = found[child]
        at = child
    scores[at] = score
    found[at] = place


@compiled
def offer(products, queries, first, scores, found, other_scores, other_found):
    """Offer entry (a, b) of `products` as neighbour first + b to query a, and query a to column b where columns have heaps.

    A row is not offered to itself. Chunks without anything of use, nearly all in the end, are passed over by a vectorised test.
    """
    both = other_scores.shape[0] > 0
    cuts = np.full(products.shape[1], products.dtype.type(3e38))
    for b in range(other_scores.shape[0]):
        cuts[b] = other_scores[b, 0]
    for a in range(products.shape[0]):
        own = queries[a]
        for start in range(0, products.shape[1], 64):
            chunk, chunk_cuts, cut = products[a, start : start + 64], cuts[start : start + 64], scores[a, 0]
            hits = np.int32(0)
            for b in range(chunk.size):
                hits += np.int32(chunk[b] > min(cut, chunk_cuts[b]))
            if hits == 0:
                continue
            for b in range(chunk.size):
                score, place = chunk[b], first + start + b
                if score > scores[a, 0] and place != own:
                    replace_worst(scores[a], found[a], score, place)
                if both and score > chunk_cuts[b]:
                    replace_worst(other_scores[start + b], other_found[start + b], score, own)
                    chunk_cuts[b] = other_scores[start + b, 0]


@compiled
def count_positive(products, counts):
    """counts_a = number of positive entries in row a; return their sum."""
    total = 0
    for a in range(products.shape[0]):
        row = products[a]
        counts[a] = np.sum(row > 0)
        total += counts[a]
    return total


@compiled
def positive_entries(products, queries, first, counts, left, right):
    """Write the pairs (queries_a, first + b) of the positive entries, row by row."""
    at = 0
    for a in range(products.shape[0]):
        if counts[a] == 0:
            continue
        row = products[a]
        for b in range(row.size):
            if row[b] > 0:
                left[at] = queries[a]
                right[at] = first + b
                at += 1


@compiled
def offer_tiles(left, right, tile, firsts, seconds, buffer, scores, found):
    """For pairs of tiles (firsts_p, seconds_p), one after the other: offer all products of their rows to both sides."""
    n = left.shape[0]
    places = np.arange(n)
    for pair in range(firsts.size):
        mine, theirs = firsts[pair] * tile, seconds[pair] * tile
        mine_end, their_end = min(mine + tile, n), min(theirs + tile, n)
        products = buffer[: (mine_end - mine) * (their_end - theirs)].reshape((mine_end - mine, their_end - theirs))
        np.dot(left[mine:mine_end], right[theirs:their_end].T, products)
        own = slice(mine, mine_end)
        other = slice(theirs, theirs if mine == theirs else their_end)
        offer(products, places[own], theirs, scores[own], found[own], scores[other], found[other])


@compiled
def scan_tiles(left, right, tile, firsts, seconds, begin, buffer, left_found, right_found):
    """For pairs of tiles from number `begin` on: write the pairs of rows with positive products, as long as a whole tile of them has room.

    Returns the number of the first pair of tiles that was not seen, and how many pairs of rows were found.
    """
    n, count = left.shape[0], 0
    for pair in range(begin, firsts.size):
        if count + tile * tile > left_found.size:
            return pair, count
        mine, theirs = firsts[pair] * tile, seconds[pair] * tile
        mine_end, their_end = min(mine + tile, n), min(theirs + tile, n)
        products = buffer[: (mine_end - mine) * (their_end - theirs)].reshape((mine_end - mine, their_end - theirs))
        np.dot(left[mine:mine_end], right[theirs:their_end].T, products)
        for a in range(products.shape[0]):
            for start in range(0, products.shape[1], 64):
                chunk = products[a, start : start + 64]
                hits = np.int32(0)
                for b in range(chunk.size):
                    hits += np.int32(chunk[b] > 0)
                if hits == 0:
                    continue
                for b in range(chunk.size):
                    if chunk[b] > 0:
                        left_found[count] = mine + a
                        right_found[count] = theirs + start + b
                        count += 1
    return firsts.size, count
