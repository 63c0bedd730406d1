"""Neighbor search in the products of two tiles of rows: heaps of scores, and positive entries.

A heap has its smallest (worst) score at the root.

Products may cover only a few leading columns. They are then upper bounds on the scores, and pairs
that pass are measured with whole `rows`. If products are exact, `rows` have no columns.
"""

from typing import Any

import numpy as np

from rmgl.kernels.compiling import (
    Floats,
    Integers,
    Products,
    compiled,
    inlined,
    inside,
    squared_difference,
    unsigned,
)


@inlined
def smaller(one: float, other: float) -> float:
    """Return the smaller of two numbers."""
    return one if one < other else other


@inside
def replace_worst(scores: Products, nearest: Integers, heap: int, score: float, place: int) -> None:
    """Replace the root of a heap, a row of `scores` and `nearest`, and restore the heap."""
    kept, places = scores[heap], nearest[heap]
    one, size = unsigned(1), unsigned(kept.size)
    at, child = unsigned(0), one
    while child < size:
        if child + one < size and kept[child + one] < kept[child]:
            child += one
        if kept[child] >= score:
            break
        kept[at] = kept[child]
        places[at] = places[child]
        at, child = child, child + child + one
    kept[at] = score
    places[at] = place


@inside
def squared_distance(rows: Products, i: int, j: int, limit: float) -> Any:
    """Return |x_i - x_j|^2 in the precision of the rows, or a partial sum above the limit."""
    total = rows.dtype.type(0)
    for start in range(0, rows.shape[1], 128):
        row, other = rows[i, start : start + 128], rows[j, start : start + 128]
        for column in range(row.size):
            difference = row[column] - other[column]
            total += difference * difference
        if total > limit:
            break
    return total


@inside
def beyond(rows: Products, far: Floats, near: Floats, allowance: Floats, i: int, j: int) -> Any:
    """Return whether |x_i - x_j|^2 exceeds 2 (far_i near_j + near_i far_j) and both allowances."""
    limit = 2.0 * (far[i] * near[j] + near[i] * far[j]) + (allowance[i] + allowance[j])
    return squared_distance(rows, i, j, limit) > limit


@compiled
def offer(
    products: Products,
    queries: Integers,
    first_heap: int,
    first: int,
    both: bool,
    scores: Products,
    nearest: Integers,
    cuts: Products,
    rows: Products,
) -> None:
    """Insert row first + b into heap first_heap + a with score products[a, b].

    If `both`, also insert query a into the heap of row first + b.

    `queries` holds the row that each heap belongs to, which is not inserted into it. With `both`,
    row i has heap i. A vectorized test skips the many chunks in which no score is large enough.
    `cuts` is overwritten.
    """
    for b in range(products.shape[1]):
        cuts[b] = scores[first + b, 0] if both else 3e38
    for a in range(products.shape[0]):
        heap, query = first_heap + a, queries[first_heap + a]
        for start in range(0, products.shape[1], 64):
            chunk, chunk_cuts = products[a, start : start + 64], cuts[start : start + 64]
            cut = scores[heap, 0]
            hits = np.int32(0)
            for b in range(chunk.size):
                hits += np.int32(chunk[b] > (cut if cut < chunk_cuts[b] else chunk_cuts[b]))
            if hits == 0:
                continue
            for b in range(chunk.size):
                score, place = chunk[b], first + start + b
                if rows.shape[1] > 0:
                    worst = smaller(scores[heap, 0], chunk_cuts[b])
                    if score > worst:
                        score = products.dtype.type(-0.5) * squared_distance(
                            rows, query, place, -2.0 * worst
                        )
                if score > scores[heap, 0] and place != query:
                    replace_worst(scores, nearest, heap, score, place)
                if both and score > chunk_cuts[b]:
                    replace_worst(scores, nearest, place, score, query)
                    chunk_cuts[b] = scores[place, 0]


@compiled
def insert(
    heaps: Integers, places: Integers, offered: Products, scores: Products, nearest: Integers
) -> None:
    """Insert places into heaps if their offered scores exceed the worst scores there."""
    for hit in range(heaps.size):
        if offered[hit] > scores[heaps[hit], 0]:
            replace_worst(scores, nearest, heaps[hit], offered[hit], places[hit])


@compiled
def positive_entries(
    products: Products,
    queries: Integers,
    first: int,
    left: Integers,
    right: Integers,
    rows: Products,
    far: Floats,
    near: Floats,
    allowance: Floats,
) -> int:
    """Write the pairs (queries_a, first + b) with positive products, and return their number.

    Pairs are written row by row.

    If products are bounds, pairs that are `beyond` are left out. A vectorized test skips the many
    chunks without a positive entry.
    """
    count = 0
    for a in range(products.shape[0]):
        query = queries[a]
        for start in range(0, products.shape[1], 64):
            chunk = products[a, start : start + 64]
            hits = np.int32(0)
            for b in range(chunk.size):
                hits += np.int32(chunk[b] > 0)
            if hits == 0:
                continue
            for b in range(chunk.size):
                place = first + start + b
                if chunk[b] > 0 and not (
                    rows.shape[1] > 0 and beyond(rows, far, near, allowance, query, place)
                ):
                    left[count] = query
                    right[count] = place
                    count += 1
    return count


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
    listed: Integers,
    scaled: Floats,
    scores: Floats,
    heaps: Integers,
) -> None:
    """Find the pairs of rows first..stop-1 with t_ij > 0 that are not in (indptr, indices).

    If there are too many, those with the largest t_ij are kept.

    Costs are max(z_ij / (s_i s_j), min(f_i, f_j)) + |g_i - g_j|^2, with z a square matrix of
    distances and g the rows of `guide`. The rows of `scores` and `heaps` are heaps; slots that
    remain empty have the score 0. `listed` holds 0 for every row, and `scaled` has room for a row
    of z.
    """
    for i in range(first, stop):
        row, g_i, heap = distances[i], guide[i], i - first
        u_i, s_i, f_i = u[i], scales[i], floors[i]
        for place in range(indptr[i], indptr[i + 1]):
            listed[indices[place]] = 1
        listed[i] = 1
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
                if u_i + others[b] > costs[b] and listed[j] == 0:
                    floor = smaller(f_i, floors[j])
                    t = u_i + others[b] - (costs[b] if costs[b] > floor else floor)
                    if t > scores[heap, 0]:
                        t -= squared_difference(g_i, guide[j])
                        if t > scores[heap, 0]:
                            replace_worst(scores, heaps, heap, t, j)
        for place in range(indptr[i], indptr[i + 1]):
            listed[indices[place]] = 0
        listed[i] = 0
