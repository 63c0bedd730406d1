"""Compiled loops over all pairs of nodes, and nothing else.

Pairs (i, j), i < j, are stored row by row: (0,1), (0,2), ..., (1,2), ... In every kernel

    t_ij = u_i + u_j - z_ij          a pair is *active* where t_ij > 0

The kernels release the GIL and use one thread each. They assume finite numbers (`fastmath`):
validate before calling. Rows are taken as slices because a slice has no negative index, which is
what lets the compiler vectorise. The NumPy statement each one mirrors stands in `tests/test_kernels.py`.
"""

from numba import njit

compiled = njit(cache=True, nogil=True, fastmath=True)
inlined = njit(inline="always")


@inlined
def row_start(i, n):
    """Place of pair (i, i+1) among the pairs of n nodes."""
    return i * (2 * n - i - 1) // 2


@compiled
def pair_excess(u, costs, excess, counts):
    """Add sum_j (t_ij)_+ to excess_i and the number of active pairs to counts_i; return sum_{i<j} (t_ij)_+^2."""
    n = u.size
    squares = 0.0
    for i in range(n):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, excess_j, counts_j = u[i], u[i + 1 :], excess[i + 1 :], counts[i + 1 :]
        excess_i = 0.0
        counts_i = 0.0
        for j in range(z.size):
            t = max(u_i + u_j[j] - z[j], 0.0)
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
def pair_product(u, costs, v, out):
    """Add to out_i the sum of v_i + v_j over the active pairs of i: the matrix D_A + A times v."""
    n = u.size
    for i in range(n):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, v_i, v_j, out_j = u[i], u[i + 1 :], v[i], v[i + 1 :], out[i + 1 :]
        out_i = 0.0
        for j in range(z.size):
            active = 1.0 if u_i + u_j[j] - z[j] > 0.0 else 0.0
            both = (v_i + v_j[j]) * active
            out_i += both
            out_j[j] += both
        out[i] += out_i


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
            above = 1 if u_i + u_j[j] - z[j] > least else 0
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
            t = u[i] + u[j] - costs[start + j - i - 1]
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


# Listed pairs: a symmetric pattern in CSR form (indptr, indices sorted within rows), costs aligned with indices. Every pair
# stands in two rows, so rows gather and never scatter.


@compiled
def list_excess(u, indptr, indices, costs, excess, counts):
    """excess_i = sum_j (t_ij)_+ and counts_i = active pairs of i, over the listed pairs; return sum_{i<j} (t_ij)_+^2."""
    squares = 0.0
    for i in range(u.size):
        excess_i = 0.0
        counts_i = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            t = u[i] + u[indices[place]] - costs[place]
            if t > 0.0:
                excess_i += t
                counts_i += 1.0
                squares += t * t
        excess[i] = excess_i
        counts[i] = counts_i
    return squares / 2


@compiled
def list_product(u, indptr, indices, costs, v, out):
    """out_i = sum of v_i + v_j over the active listed pairs of i."""
    for i in range(u.size):
        out_i = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            if u[i] + u[j] - costs[place] > 0.0:
                out_i += v[i] + v[j]
        out[i] = out_i


@compiled
def list_above(u, indptr, indices, costs, least, starts, found, data):
    """CSR matrix of the t_ij > least: fills starts (n + 1), found and data, which must be as long as indices."""
    end = 0
    starts[0] = 0
    for i in range(u.size):
        for place in range(indptr[i], indptr[i + 1]):
            t = u[i] + u[indices[place]] - costs[place]
            if t > least:
                found[end] = indices[place]
                data[end] = t
                end += 1
        starts[i + 1] = end


@compiled
def list_inner(indptr, indices, costs, starts, found, data):
    """Half the sum of z_ij times the entry, for a CSR matrix (starts, found, data) on listed pairs."""
    total = 0.0
    for i in range(indptr.size - 1):
        place = indptr[i]
        for entry in range(starts[i], starts[i + 1]):
            while indices[place] < found[entry]:
                place += 1
            total += costs[place] * data[entry]
    return total / 2


@compiled
def list_distances(X, indptr, indices, first, stop, out):
    """Squared distances of the rows of X over the listed pairs of rows first..stop-1, from differences."""
    for i in range(first, stop):
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            total = 0.0
            for column in range(X.shape[1]):
                difference = X[i, column] - X[j, column]
                total += difference * difference
            out[place] = total
