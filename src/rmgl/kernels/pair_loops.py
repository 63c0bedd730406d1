"""Loops over pairs of nodes.

Loops over *all pairs* (i, j), i < j, visit them row by row: (0,1), (0,2), ..., (1,2), ... They run
over slices of rows: a slice has no negative indices, so the compiler can vectorize the loop. Loops
over *lists* take the rows (indptr, indices) of a symmetric CSR pattern, in which every pair occurs
twice. Loops over *graphs* multiply and add matrices of edge weights in CSR form.
"""

from rmgl.kernels.compiling import (
    Floats,
    Integers,
    compiled,
    compiled_for_lists,
    inlined,
    slack,
    squared_difference,
    unsigned,
)


@inlined
def row_start(i: int, n: int) -> int:
    """Return the index of pair (i, i+1) among the pairs of n nodes."""
    return i * (2 * n - i - 1) // 2


@compiled
def pair_excess(
    u: Floats, costs: Floats, least: float, first: int, stop: int, excess: Floats, counts: Floats
) -> float:
    """Add (t_ij)_+ to excess_i and excess_j, and 1 to both counts where t_ij > least >= 0.

    The pairs are those of rows first..stop-1. Returns the sum of (t_ij)_+^2 over them.
    """
    n = u.size
    squares = 0.0
    for i in range(first, stop):
        start = row_start(i, n)
        z = costs[start : start + n - i - 1]
        u_i, u_j, excess_j, counts_j = u[i], u[i + 1 :], excess[i + 1 :], counts[i + 1 :]
        excess_i = 0.0
        counts_i = 0.0
        for j in range(z.size):
            t = slack(u_i, u_j[j], z[j])
            t = t if t > 0.0 else 0.0
            active = 1.0 if t > least else 0.0
            squares += t * t
            excess_i += t
            excess_j[j] += t
            counts_i += active
            counts_j[j] += active
        excess[i] += excess_i
        counts[i] += counts_i
    return squares


@compiled
def pair_product(u: Floats, costs: Floats, v: Floats, first: int, stop: int, out: Floats) -> None:
    """Add v_i + v_j to out_i and out_j for the active pairs of rows first..stop-1.

    Over all rows this adds (D_A + A) v.
    """
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
def pair_above(
    u: Floats,
    costs: Floats,
    least: float,
    first: int,
    stop: int,
    places: Integers,
    indices: Integers,
    data: Floats,
) -> None:
    """Write rows first..stop-1 of the symmetric CSR matrix of the t_ij > least.

    Only its pattern is written if `data` is empty.

    `places` holds the row starts; each advances as its row is filled. A row receives lower-numbered
    neighbors before higher-numbered ones, so its indices are sorted. A vectorized test skips the
    many chunks without such a pair.
    """
    n = u.size
    weighted = data.size > 0
    for i in range(stop):
        in_part = i >= first
        begin, end = (i + 1, n) if in_part else (first, stop)
        start = row_start(i, n) - i - 1
        z, u_i, u_j = costs[start + begin : start + end], u[i], u[begin:end]
        for chunk in range(0, z.size, 64):
            z_chunk, u_chunk = z[chunk : chunk + 64], u_j[chunk : chunk + 64]
            hits = 0
            for j in range(z_chunk.size):
                hits += 1 if slack(u_i, u_chunk[j], z_chunk[j]) > least else 0
            if hits == 0:
                continue
            for j in range(z_chunk.size):
                t = slack(u_i, u_chunk[j], z_chunk[j])
                if t > least:
                    other = begin + chunk + j
                    if in_part:
                        indices[places[i]] = other
                        if weighted:
                            data[places[i]] = t
                        places[i] += 1
                    if other < stop:
                        indices[places[other]] = i
                        if weighted:
                            data[places[other]] = t
                        places[other] += 1


@compiled
def pair_inner(costs: Floats, indptr: Integers, indices: Integers, data: Floats) -> float:
    """Return the sum of z_ij w_ij over the entries w_ij above the diagonal of a CSR matrix."""
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
def fill_distances(
    first: int, gram: Floats, norms: Floats, X: Floats, share: float, out: Floats
) -> None:
    """Write max(|x_i|^2 + |x_j|^2 - 2 x_i'x_j, 0) for pairs i < j with i = first, first + 1, ...

    `gram[r, c]` holds x_i'x_j with i = first + r and j = first + c. Distances below share (|x_i|^2
    + |x_j|^2) are recomputed from the difference x_i - x_j, unless X has no rows.
    """
    n = norms.size
    for r in range(gram.shape[0]):
        i = first + r
        start = row_start(i, n)
        row = out[start : start + n - i - 1]
        product, norms_i, norms_j = gram[r, r + 1 :], norms[i], norms[i + 1 :]
        for j in range(row.size):
            distance = norms_i + norms_j[j] - 2.0 * product[j]
            row[j] = distance if distance > 0.0 else 0.0
        if X.shape[0] > 0:
            x_i = X[i]
            for j in range(row.size):
                if row[j] < share * (norms_i + norms_j[j]):
                    row[j] = squared_difference(x_i, X[i + 1 + j])


@compiled
def pair_localize(
    distances: Floats, scales: Floats, floors: Floats, first: int, stop: int, out: Floats
) -> None:
    """Write out_ij = max(z_ij / (s_i s_j), min(f_i, f_j)) for the pairs of rows first..stop-1."""
    n = scales.size
    for i in range(first, stop):
        start = row_start(i, n)
        z, row = distances[start : start + n - i - 1], out[start : start + n - i - 1]
        s_i, s_j, f_i, f_j = scales[i], scales[i + 1 :], floors[i], floors[i + 1 :]
        for j in range(z.size):
            local = z[j] / (s_i * s_j[j])
            floor = f_i if f_i < f_j[j] else f_j[j]
            row[j] = local if local > floor else floor


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
    """Sum (t_ij)_+ and (t_ij)_+^2, and count t_ij > least >= 0, for each row first..stop-1."""
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
    columns: Integers,
    data: Floats,
) -> None:
    """Write rows first..stop-1 of the CSR matrix of the t_ij > least, given its row starts.

    Only its pattern is written if `data` is empty.

    Every entry is written, and the next one overwrites it if it is not kept. This avoids an
    unpredictable branch.
    """
    weighted = data.size > 0
    for i in range(first, stop):
        end, last = unsigned(starts[i]), unsigned(starts[i + 1])
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            if end == last:
                break
            t = slack(u[i], u[unsigned(indices[place])], costs[place])
            columns[end] = indices[place]
            if weighted:
                data[end] = t
            end += unsigned(t > least)


@compiled_for_lists
def list_inner(
    indptr: Integers,
    indices: Integers,
    costs: Floats,
    starts: Integers,
    columns: Integers,
    data: Floats,
    first: int,
    stop: int,
    by_column: Floats,
    totals: Floats,
) -> None:
    """Compute totals_i = sum_j z_ij w_ij for rows first..stop-1.

    The w_ij are the entries of a CSR matrix (starts, columns, data) at the listed pairs.

    The costs of a row are first written to `by_column`, because a search along the row would branch
    unpredictably.
    """
    for i in range(first, stop):
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            by_column[unsigned(indices[place])] = costs[place]
        total = 0.0
        for entry in range(unsigned(starts[i]), unsigned(starts[i + 1])):
            total += by_column[unsigned(columns[entry])] * data[entry]
        totals[i] = total


@compiled
def list_distances(
    rows: Floats, X: Floats, indptr: Integers, indices: Integers, first: int, stop: int, out: Floats
) -> None:
    """Compute |rows_i - x_j|^2 for the listed pairs of rows first..stop-1, from differences."""
    for i in range(first, stop):
        row = rows[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            out[place] = squared_difference(row, X[unsigned(indices[place])])


@compiled_for_lists
def pattern_product(
    starts: Integers, columns: Integers, v: Floats, first: int, stop: int, out: Floats
) -> None:
    """Write out_i = sum of v_i + v_j over a symmetric CSR pattern, for rows first..stop-1."""
    for i in range(first, stop):
        out_i = v[i] * (starts[i + 1] - starts[i])
        for place in range(unsigned(starts[i]), unsigned(starts[i + 1])):
            out_i += v[unsigned(columns[place])]
        out[i] = out_i


@compiled
def add_to_dense(
    indptr: Integers, indices: Integers, data: Floats, weight: float, out: Floats
) -> None:
    """Add weight times a CSR matrix to a dense one."""
    for i in range(indptr.size - 1):
        row = out[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            row[unsigned(indices[place])] += weight * data[place]


@compiled_for_lists
def laplacian_product(
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    diagonal: Floats,
    x: Floats,
    first: int,
    stop: int,
    out: Floats,
) -> None:
    """Write rows first..stop-1 of (diag(diagonal) - W) x; W is in CSR form."""
    for i in range(first, stop):
        total = diagonal[i] * x[i]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            total -= weights[place] * x[unsigned(indices[place])]
        out[i] = total


@compiled
def laplacian_block(
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    diagonal: Floats,
    V: Floats,
    first: int,
    stop: int,
    out: Floats,
) -> None:
    """Write rows first..stop-1 of (diag(diagonal) - W) V, W in CSR form, V stored row by row."""
    for i in range(first, stop):
        out_row, row = out[i], V[i]
        for column in range(out_row.size):
            out_row[column] = diagonal[i] * row[column]
        for place in range(unsigned(indptr[i]), unsigned(indptr[i + 1])):
            weight, other = weights[place], V[unsigned(indices[place])]
            for column in range(out_row.size):
                out_row[column] -= weight * other[column]


@compiled
def sum_rows(
    starts: Integers,
    indices: Integers,
    data: Floats,
    weights: Floats,
    place_of: Integers,
    indptr: Integers,
    columns: Integers,
    totals: Floats,
) -> int:
    """Compute sum_m weights_m W_m, row by row, for concatenated CSR matrices.

    Row i of W_m begins at starts[m, i] and ends at starts[m, i + 1].

    Writes the row starts of the sum into `indptr`, its column indices (not sorted) into `columns`
    and its entries into `totals`. `place_of` holds -1 for every column. Returns the number of
    entries.
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
                    columns[at] = j
                    totals[at] = 0.0
                    end += 1
                totals[at] += weights[m] * data[place]
        indptr[i + 1] = end
    return end
