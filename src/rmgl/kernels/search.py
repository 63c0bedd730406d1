"""Neighbor search: products of tiles, and heaps of scores with the smallest (worst) one at the root.

Products may be of a few leading columns, and then are upper bounds of the scores: what passes is measured with whole `rows`, which have no
columns where products are exact.
"""

from typing import Any

import numpy as np

from rmgl.kernels.compiling import Floats, Integers, Products, compiled, squared_difference


@compiled
def replace_worst(scores: Products, found: Integers, score: float, place: int) -> None:
    """Replace the root of a heap by (score, place), and restore the heap."""
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
def squared_distance(rows: Products, i: int, j: int, limit: float) -> Any:
    """|x_i - x_j|^2, summed in the precision of the rows, or a part of the sum that exceeds the limit."""
    total = rows.dtype.type(0)
    for start in range(0, rows.shape[1], 128):
        own, other = rows[i, start : start + 128], rows[j, start : start + 128]
        for column in range(own.size):
            difference = own[column] - other[column]
            total += difference * difference
        if total > limit:
            break
    return total


@compiled
def beyond(rows: Products, far: Floats, near: Floats, allowance: Floats, i: int, j: int) -> Any:
    """Whether |x_i - x_j|^2 exceeds 2 (far_i near_j + near_i far_j) by more than the allowances for rounding."""
    limit = 2.0 * (far[i] * near[j] + near[i] * far[j]) + (allowance[i] + allowance[j])
    return squared_distance(rows, i, j, limit) > limit


@compiled
def offer(
    products: Products,
    queries: Integers,
    first: int,
    scores: Products,
    found: Integers,
    other_scores: Products,
    other_found: Integers,
    rows: Products,
) -> None:
    """Insert row first + b into the heap of query a with score products[a, b], and query a into the heap of row first + b if it has one.

    A row is not inserted into its own heap. A vectorized test skips chunks in which no score is large enough, which are most of them.
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
                worst = min(scores[a, 0], chunk_cuts[b])
                if rows.shape[1] > 0 and score > worst:
                    score = products.dtype.type(-0.5) * squared_distance(rows, own, place, -2.0 * worst)
                if score > scores[a, 0] and place != own:
                    replace_worst(scores[a], found[a], score, place)
                if both and score > chunk_cuts[b]:
                    replace_worst(other_scores[start + b], other_found[start + b], score, own)
                    chunk_cuts[b] = other_scores[start + b, 0]


@compiled
def drop_beyond(products: Products, queries: Integers, first: int, rows: Products, far: Floats, near: Floats, allowance: Floats) -> None:
    """Set positive products that are bounds to zero where the pair (queries_a, first + b) is `beyond`."""
    for a in range(products.shape[0]):
        for b in range(products.shape[1]):
            if products[a, b] > 0 and beyond(rows, far, near, allowance, queries[a], first + b):
                products[a, b] = 0


@compiled
def count_positive(products: Products, counts: Integers) -> int:
    """counts_a = number of positive entries in row a. Returns their sum."""
    total = 0
    for a in range(products.shape[0]):
        row = products[a]
        counts[a] = np.sum(row > 0)
        total += counts[a]
    return total


@compiled
def positive_entries(products: Products, queries: Integers, first: int, counts: Integers, left: Integers, right: Integers) -> None:
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
def missing_pairs(
    distances: Floats,
    scales: Floats,
    floors: Floats,
    guide: Floats,
    u: Floats,
    indptr: Integers,
    indices: Integers,
    first: int,
    stop: int,
    scores: Floats,
    found: Integers,
) -> None:
    """For rows first..stop-1 the pairs with t_ij > 0 that are not listed in (indptr, indices); those of largest t_ij if there are too many.

    Costs are max(z_ij / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2, with z a square matrix of distances and g the rows of `guide`. The rows
    of `scores` and `found` are heaps; places that remain empty have the score 0.
    """
    listed = np.zeros(u.size, dtype=np.bool_)
    scaled = np.empty(u.size)
    for i in range(first, stop):
        row, u_i, s_i, f_i, own = distances[i], u[i], scales[i], floors[i], guide[i]
        for place in range(indptr[i], indptr[i + 1]):
            listed[indices[place]] = True
        listed[i] = True
        for j in range(row.size):
            scaled[j] = row[j] / (s_i * scales[j])
        for start in range(0, row.size, 64):
            costs, others = scaled[start : start + 64], u[start : start + 64]
            hits = 0
            for b in range(costs.size):
                hits += 1 if u_i + others[b] > costs[b] else 0
            if hits == 0:
                continue
            for b in range(costs.size):
                j = start + b
                if u_i + others[b] > costs[b] and not listed[j]:
                    t = u_i + others[b] - max(costs[b], min(f_i, floors[j]))
                    if t > scores[i - first, 0]:
                        t -= squared_difference(own, guide[j])
                        if t > scores[i - first, 0]:
                            replace_worst(scores[i - first], found[i - first], t, j)
        for place in range(indptr[i], indptr[i + 1]):
            listed[indices[place]] = False
        listed[i] = False


@compiled
def offer_tiles(
    left: Products,
    right: Products,
    tile: int,
    firsts: Integers,
    seconds: Integers,
    buffer: Products,
    scores: Products,
    found: Integers,
    rows: Products,
) -> None:
    """Call `offer` with the products of the rows of tiles firsts_p and seconds_p, for every pair of tiles p and in both directions."""
    n = left.shape[0]
    places = np.arange(n)
    for pair in range(firsts.size):
        mine, theirs = firsts[pair] * tile, seconds[pair] * tile
        mine_end, their_end = min(mine + tile, n), min(theirs + tile, n)
        products = buffer[: (mine_end - mine) * (their_end - theirs)].reshape((mine_end - mine, their_end - theirs))
        np.dot(left[mine:mine_end], right[theirs:their_end].T, products)
        own = slice(mine, mine_end)
        other = slice(theirs, theirs if mine == theirs else their_end)
        offer(products, places[own], theirs, scores[own], found[own], scores[other], found[other], rows)


@compiled
def scan_tiles(
    left: Products,
    right: Products,
    tile: int,
    firsts: Integers,
    seconds: Integers,
    begin: int,
    buffer: Products,
    left_found: Integers,
    right_found: Integers,
    rows: Any,
    far: Floats,
    near: Floats,
    allowance: Floats,
) -> tuple[int, int]:
    """Write the pairs of rows with positive products, for the pairs of tiles from `begin` on, while there is room for a whole tile of them.

    Where products are bounds, only pairs that are not `beyond` are written.

    Returns the index of the first pair of tiles that was not scanned, and the number of pairs of rows found.
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
                        i, j = mine + a, theirs + start + b
                        if rows.shape[1] > 0 and beyond(rows, far, near, allowance, i, j):
                            continue
                        left_found[count] = i
                        right_found[count] = j
                        count += 1
    return firsts.size, count
