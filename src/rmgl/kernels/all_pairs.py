"""Loops over all pairs (i, j), i < j, stored row by row: (0,1), (0,2), ..., (1,2), ...

Loops run over slices of rows: a slice has no negative indices, so the compiler can vectorize the loop.
"""

from rmgl.kernels.compiling import Floats, Integers, compiled, inlined, slack, squared_difference


@inlined
def row_start(i: int, n: int) -> int:
    """Index of pair (i, i+1) among the pairs of n nodes."""
    return i * (2 * n - i - 1) // 2


@compiled
def pair_excess(u: Floats, costs: Floats, least: float, first: int, stop: int, excess: Floats, counts: Floats) -> float:
    """Add (t_ij)_+ to excess_i and excess_j, and 1 to counts_i and counts_j where t_ij > least >= 0, for the pairs of rows first..stop-1.

    Returns the sum of (t_ij)_+^2 over these pairs.
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
    """Add v_i + v_j to out_i and out_j for the active pairs of rows first..stop-1; over all rows this adds (D_A + A) v."""
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
def pair_above(u: Floats, costs: Floats, least: float, first: int, stop: int, places: Integers, indices: Integers, data: Floats) -> None:
    """Write rows first..stop-1 of the symmetric CSR matrix of the t_ij > least; only its pattern if `data` is empty.

    `places` holds the row starts and is advanced. A row receives its smaller neighbors before its larger ones, so indices are sorted.
    A vectorized test skips chunks without such a pair, which are most of them.
    """
    n = u.size
    weighted = data.size > 0
    for i in range(stop):
        own = i >= first
        begin, end = (i + 1, n) if own else (first, stop)
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
                    if own:
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
def fill_distances(first: int, gram: Floats, norms: Floats, X: Floats, share: float, out: Floats) -> None:
    """Squared distances max(|x_i|^2 + |x_j|^2 - 2 x_i'x_j, 0) of the pairs whose smaller node is first, first + 1, ...

    `gram[r, c]` holds x_i'x_j with i = first + r and j = first + c. Distances below share (|x_i|^2 + |x_j|^2) are computed again, from the
    difference x_i - x_j, unless X has no rows.
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
            own = X[i]
            for j in range(row.size):
                if row[j] < share * (norms_i + norms_j[j]):
                    row[j] = squared_difference(own, X[i + 1 + j])


@compiled
def pair_localize(distances: Floats, scales: Floats, floors: Floats, first: int, stop: int, out: Floats) -> None:
    """out_ij = max(z_ij / (s_i s_j), min(f_i, f_j)) for the pairs of rows first..stop-1."""
    n = scales.size
    for i in range(first, stop):
        start = row_start(i, n)
        z, row = distances[start : start + n - i - 1], out[start : start + n - i - 1]
        s_i, s_j, f_i, f_j = scales[i], scales[i + 1 :], floors[i], floors[i + 1 :]
        for j in range(z.size):
            local = z[j] / (s_i * s_j[j])
            floor = f_i if f_i < f_j[j] else f_j[j]
            row[j] = local if local > floor else floor
