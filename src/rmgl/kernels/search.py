"""Neighbor search in the products of two tiles of rows: heaps of scores with the smallest (worst) one at the root, and positive entries."""

import numpy as np

from rmgl.kernels.compiling import Integers, Products, compiled, inside


@inside
def replace_worst(scores: Products, found: Integers, heap: int, score: float, place: int) -> None:
    """Replace the root of a heap, which is one row of `scores` and `found`, by (score, place), and restore the heap."""
    size = scores.shape[1]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and scores[heap, child + 1] < scores[heap, child]:
            child += 1
        if scores[heap, child] >= score:
            break
        scores[heap, at] = scores[heap, child]
        found[heap, at] = found[heap, child]
        at, child = child, 2 * child + 1
    scores[heap, at] = score
    found[heap, at] = place


@compiled
def offer(
    products: Products, queries: Integers, own: int, first: int, both: bool, scores: Products, found: Integers, cuts: Products
) -> None:
    """Insert row first + b into heap own + a with score products[a, b] and, if `both`, query a into the heap of row first + b.

    `queries` holds the row that each heap belongs to, which is not inserted into it. With `both`, every row has the heap of its number.
    A vectorized test skips chunks in which no score is large enough, which are most of them. `cuts` is overwritten.
    """
    for b in range(products.shape[1]):
        cuts[b] = scores[first + b, 0] if both else 3e38
    for a in range(products.shape[0]):
        heap, query = own + a, queries[own + a]
        for start in range(0, products.shape[1], 64):
            chunk, chunk_cuts, cut = products[a, start : start + 64], cuts[start : start + 64], scores[heap, 0]
            hits = np.int32(0)
            for b in range(chunk.size):
                hits += np.int32(chunk[b] > (cut if cut < chunk_cuts[b] else chunk_cuts[b]))
            if hits == 0:
                continue
            for b in range(chunk.size):
                score, place = chunk[b], first + start + b
                if score > scores[heap, 0] and place != query:
                    replace_worst(scores, found, heap, score, place)
                if both and score > chunk_cuts[b]:
                    replace_worst(scores, found, place, score, query)
                    chunk_cuts[b] = scores[place, 0]


@compiled
def positive_entries(products: Products, queries: Integers, first: int, left: Integers, right: Integers) -> int:
    """Write the pairs (queries_a, first + b) of the positive entries of products, row by row. Returns their number.

    A vectorized test skips chunks without one, which are most of them.
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
                if chunk[b] > 0:
                    left[count] = query
                    right[count] = first + start + b
                    count += 1
    return count
