"""Neighbor search: products of tiles, and heaps of scores with the smallest (worst) one at the root."""

import numpy as np

from rmgl.kernels.compiling import compiled


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
    """Offer entry (a, b) of `products` as neighbor first + b to query a, and query a to column b where columns have heaps.

    A row is not offered to itself. Chunks without anything of use, nearly all in the end, are passed over by a vectorized test.
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
