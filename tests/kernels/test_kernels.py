"""Each compiled loop against the NumPy statement it mirrors."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from rmgl import kernels


def halves(n):
    """Two parts of n rows, as two threads would take them."""
    return (0, n // 2), (n // 2, n)


@pytest.fixture(params=[2, 3, 17, 64])
def case(request):
    rng = np.random.default_rng(request.param)
    n = request.param
    z = rng.random(n * (n - 1) // 2)
    u, v = rng.random(n) * 0.7, rng.normal(size=n)
    t = u[:, None] + u[None, :] - squareform(z)
    np.fill_diagonal(t, -1.0)
    return u, v, z, t


def test_pair_excess(case):
    u, _, z, t = case
    excess, counts = np.zeros(u.size), np.zeros(u.size)
    squares = sum(kernels.pair_excess(u, z, first, stop, excess, counts) for first, stop in halves(u.size))
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > 0).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum() / 2, rtol=1e-13)


def test_pair_product(case):
    u, v, z, t = case
    out = np.zeros(u.size)
    for first, stop in halves(u.size):
        kernels.pair_product(u, z, v, first, stop, out)
    active = (t > 0).astype(float)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


def test_count_above_and_fill_symmetric(case):
    u, _, z, t = case
    wanted = np.where(t > 0.1, t, 0)
    degrees = np.zeros(u.size, dtype=np.int64)
    kernels.count_above(u, z, 0.1, degrees)
    np.testing.assert_array_equal(degrees, (wanted > 0).sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(degrees)])
    for parts in (halves(u.size), [(0, u.size)]):
        indices, data, places = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1]), starts[:-1].copy()
        for first, stop in parts:
            kernels.fill_symmetric(u, z, 0.1, first, stop, places, indices, data)
        np.testing.assert_array_equal(places, starts[1:])
        for i in range(u.size):
            row = slice(starts[i], starts[i + 1])
            np.testing.assert_array_equal(indices[row], np.flatnonzero(wanted[i]))
            np.testing.assert_allclose(data[row], wanted[i][indices[row]], rtol=1e-13)


def test_pair_inner(case):
    from scipy import sparse

    _, _, z, t = case
    weights = sparse.csr_array(np.maximum(t, 0))
    found = kernels.pair_inner(z, weights.indptr, weights.indices, weights.data)
    np.testing.assert_allclose(found, (squareform(z) * np.maximum(t, 0)).sum() / 2, rtol=1e-12)


def test_fill_distances(rng):
    X = rng.normal(size=(9, 3))
    norms, out = (X * X).sum(axis=1), np.full(36, np.nan)
    for first, stop in ((0, 4), (4, 9)):
        kernels.fill_distances(first, np.ascontiguousarray(X[first:stop] @ X[first:].T), norms, out)
    np.testing.assert_allclose(squareform(out), ((X[:, None] - X[None]) ** 2).sum(axis=2), atol=1e-13)


def localized(z, scales, floors):
    return np.maximum(z / (scales[:, None] * scales), np.minimum(floors[:, None], floors))


def test_pair_localize(case, rng):
    u, _, z, _ = case
    scales, floors, out = 0.5 + rng.random(u.size), rng.random(u.size), np.full(z.size, np.nan)
    for first, stop in halves(u.size):
        kernels.pair_localize(z, scales, floors, first, stop, out)
    wanted = localized(squareform(z), scales, floors)
    np.testing.assert_allclose(out, wanted[np.triu_indices(u.size, 1)], rtol=1e-13)


# Listed pairs


@pytest.fixture(params=[2, 5, 30])
def listed(request):
    rng = np.random.default_rng(request.param)
    n = request.param
    pattern = np.triu(rng.random((n, n)) < 0.5, 1)
    pattern[0, 1] = True
    pattern |= pattern.T
    pattern[:, n - 1] = pattern[n - 1, :] = n == 2 and pattern[:, n - 1]  # a node without pairs
    from scipy import sparse

    matrix = sparse.csr_array(pattern)
    z = rng.random((n, n))
    z = z + z.T
    u, v = rng.random(n) * 1.2, rng.normal(size=n)
    t = np.where(pattern, u[:, None] + u[None, :] - z, -1.0)
    return u, v, z, t, matrix, z[pattern]


def test_list_excess(listed):
    u, _, _, t, pattern, costs = listed
    excess, counts, squares = (np.full(u.size, np.nan) for _ in range(3))
    for first, stop in halves(u.size):
        kernels.list_excess(u, pattern.indptr, pattern.indices, costs, first, stop, excess, counts, squares)
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > 0).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum(axis=1), rtol=1e-13)


def test_list_count_above_and_inner(listed):
    u, _, z, t, pattern, costs = listed
    wanted = sparse.csr_array(np.where(t > 0.1, t, 0))
    counts, totals = np.full(u.size, -1.0), np.full(u.size, np.nan)
    starts, found, data = wanted.indptr, np.full_like(wanted.indices, -1), np.full(wanted.nnz, np.nan)
    pairs = (pattern.indptr, pattern.indices, costs)
    for first, stop in halves(u.size):
        kernels.list_count(u, *pairs, 0.1, first, stop, counts)
        kernels.list_above(u, *pairs, 0.1, first, stop, starts, found, data)
        kernels.list_inner(*pairs, starts, wanted.indices, wanted.data, first, stop, totals)
    np.testing.assert_array_equal(counts, np.diff(starts))
    np.testing.assert_array_equal(found, wanted.indices)
    np.testing.assert_allclose(data, wanted.data, rtol=1e-13)
    np.testing.assert_allclose(totals, (z * wanted.toarray()).sum(axis=1), rtol=1e-12)
    found[:] = -1
    kernels.list_above(u, *pairs, 0.1, 0, u.size, starts, found, np.empty(0))
    np.testing.assert_array_equal(found, wanted.indices)


def test_list_localize(listed, rng):
    u, _, z, _, pattern, costs = listed
    scales, floors, out = 0.5 + rng.random(u.size), rng.random(u.size), np.full(costs.size, np.nan)
    for first, stop in halves(u.size):
        kernels.list_localize(pattern.indptr, pattern.indices, costs, scales, floors, first, stop, out)
    np.testing.assert_allclose(out, localized(z, scales, floors)[pattern.toarray()], rtol=1e-13)


def test_pattern_product(listed):
    u, v, _, t, _, _ = listed
    active = sparse.csr_array((t > 0).astype(float))
    out = np.full(u.size, np.nan)
    for first, stop in halves(u.size):
        kernels.pattern_product(active.indptr, active.indices, v, first, stop, out)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


def test_repair_distances_measures_what_is_too_small_again(rng):
    X = rng.normal(size=(9, 3))
    X[4] = X[2] + 1e-9
    exact = pdist(X, "sqeuclidean")
    computed = exact + 1e-12
    norms = np.square(X).sum(axis=1)
    for first, stop in halves(9):
        kernels.repair_distances(X, norms, 1e-6, first, stop, computed)
    np.testing.assert_allclose(squareform(computed)[2, 4], squareform(exact)[2, 4], rtol=1e-12)
    assert (computed != exact).sum() == exact.size - 1


def test_pair_active(case):
    u, _, z, t = case
    wanted = sparse.csr_array((t > 0).astype(float))
    indices = np.full(wanted.nnz, -1, dtype=np.int32)
    kernels.pair_active(u, z, wanted.indptr[:-1].copy(), indices)
    np.testing.assert_array_equal(indices, wanted.indices)


def test_laplacian_recurrence_and_add_to_dense(listed, rng):
    t = listed[3]
    weights = sparse.csr_array(np.maximum(t, 0))
    V, diagonal, last = rng.normal(size=(t.shape[0], 3)), rng.random(t.shape[0]), rng.normal(size=(t.shape[0], 3))
    wanted = 2.0 * (diagonal[:, None] * V - weights @ V - 0.7 * V) - last
    for first, stop in halves(t.shape[0]):
        kernels.laplacian_recurrence(weights.indptr, weights.indices, weights.data, diagonal, V, 0.7, 2.0, first, stop, last)
    np.testing.assert_allclose(last, wanted, rtol=1e-12, atol=1e-13)
    dense = np.ones(t.shape)
    kernels.add_to_dense(weights.indptr, weights.indices, weights.data, 2.0, dense)
    np.testing.assert_allclose(dense, 1 + 2 * weights.toarray(), rtol=1e-14)


EXACT = np.empty((0, 0), dtype=np.float32)
"""Products that are no bounds need no rows."""


def test_bounds_are_followed_by_distances(rng):
    rows = rng.normal(size=(20, 300)).astype(np.float32)
    square = ((rows[:, None].astype(np.float64) - rows[None]) ** 2).sum(axis=2)
    bounds = (-0.4 * square).astype(np.float32)  # above the scores -square / 2
    scores, found = np.full((20, 4), -3e38, dtype=np.float32), np.zeros((20, 4), dtype=np.int32)
    kernels.offer(bounds, np.arange(20), 0, scores, found, scores[:0], found[:0], rows)
    np.fill_diagonal(square, np.inf)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(np.argsort(square, axis=1)[:, :4], axis=1))
    np.testing.assert_allclose(scores[:, 0], -np.sort(square, axis=1)[:, 3] / 2, rtol=1e-5)
    far, near = rng.uniform(100, 200, size=20), np.ones(20)
    within = 2 * (far[:, None] + far)
    products = np.ones((5, 12), dtype=np.float32)
    kernels.drop_beyond(products, np.arange(3, 8), 6, rows, far, near, np.zeros(20))
    wanted = square[3:8, 6:18] <= within[3:8, 6:18]
    wanted[square[3:8, 6:18] == np.inf] = True  # a row with itself
    np.testing.assert_array_equal(products > 0, wanted)
    assert 0 < wanted.mean() < 1


def test_offer_keeps_the_best_of_all_that_was_offered(rng):
    scores = np.full((7, 4), -3e38, dtype=np.float32)
    found = np.zeros((7, 4), dtype=np.int32)
    offered = rng.normal(size=(7, 7)).astype(np.float32)
    offered = offered + offered.T
    none = slice(0, 0)
    kernels.offer(offered[:4, :4], np.arange(4), 0, scores[:4], found[:4], scores[none], found[none], EXACT)
    kernels.offer(offered[4:, 4:], np.arange(4, 7), 4, scores[4:], found[4:], scores[none], found[none], EXACT)
    kernels.offer(offered[:4, 4:], np.arange(4), 4, scores[:4], found[:4], scores[4:], found[4:], EXACT)
    np.fill_diagonal(offered, -np.inf)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(np.argsort(-offered, axis=1)[:, :4], axis=1))
    np.testing.assert_array_equal(scores[:, 0], np.sort(offered, axis=1)[:, 3])


def test_list_distances(listed, rng):
    *_, pattern, costs = listed
    X, out = rng.normal(size=(pattern.shape[0], 3)), np.full(costs.size, np.nan)
    for first, stop in ((0, 1), (1, pattern.shape[0])):
        kernels.list_distances(X, pattern.indptr, pattern.indices, first, stop, out)
    np.testing.assert_allclose(out, ((X[:, None] - X[None]) ** 2).sum(axis=2)[pattern.toarray()], rtol=1e-12)


def tiled_products(rng, n, tile):
    """left @ right' and the pairs of tiles of n rows."""
    left, right = rng.normal(size=(n, 5)).astype(np.float32), rng.normal(size=(n, 5)).astype(np.float32)
    firsts, seconds = np.triu_indices(-(-n // tile))
    return left, right, firsts, seconds, np.empty(tile * tile, dtype=np.float32)


def test_offer_tiles_keeps_the_best_of_every_row(rng):
    left, _, firsts, seconds, buffer = tiled_products(rng, 23, 8)
    scores, found = np.full((23, 4), -3e38, dtype=np.float32), np.zeros((23, 4), dtype=np.int32)
    kernels.offer_tiles(left, left, 8, firsts, seconds, buffer, scores, found, EXACT)
    products = left @ left.T
    np.fill_diagonal(products, -np.inf)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(np.argsort(-products, axis=1)[:, :4], axis=1))
    np.testing.assert_allclose(scores[:, 0], np.sort(products, axis=1)[:, -4], rtol=1e-5)


def test_scan_tiles_and_positive_entries_find_what_is_positive(rng):
    left, right, firsts, seconds, buffer = tiled_products(rng, 23, 8)
    wanted = left @ right.T > 0
    wanted &= np.arange(23)[:, None] // 8 <= np.arange(23) // 8
    room = np.empty(100, dtype=np.int32), np.empty(100, dtype=np.int32)  # not all at once
    begin, found = 0, np.zeros((23, 23), dtype=bool)
    while begin < firsts.size:
        begin, count = kernels.scan_tiles(left, right, 8, firsts, seconds, begin, buffer, *room, EXACT, *[np.empty(0)] * 3)
        found[room[0][:count], room[1][:count]] = True
    np.testing.assert_array_equal(found, wanted)
    products, counts = left[:6] @ right[3:15].T, np.empty(6, dtype=np.int64)
    total = kernels.count_positive(products, counts)
    np.testing.assert_array_equal(counts, (products > 0).sum(axis=1))
    pairs = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    kernels.positive_entries(products, np.arange(6), 3, counts, *pairs)
    rows, columns = np.nonzero(products > 0)
    np.testing.assert_array_equal(pairs, [rows, columns + 3])


def test_sum_rows_is_the_weighted_sum(rng):
    weights = np.array([0.5, 2.0, 1.5])
    matrices = [sparse.random_array((30, 30), density=density, random_state=rng, format="csr") for density in (0.0, 0.1, 0.3)]
    sizes = np.cumsum([0, *(matrix.nnz for matrix in matrices)])
    starts = np.array([size + matrix.indptr for matrix, size in zip(matrices, sizes, strict=False)])
    indices, data = np.concatenate([m.indices for m in matrices]), np.concatenate([m.data for m in matrices])
    indptr, found, totals = np.zeros(31, dtype=np.int64), np.empty_like(indices), np.empty_like(data)
    count = kernels.sum_rows(starts, indices, data, weights, indptr, found, totals)
    summed = sparse.csr_array((totals[:count], found[:count], indptr), shape=(30, 30))
    expected = sum(weight * matrix.toarray() for weight, matrix in zip(weights, matrices, strict=True))
    assert count == np.count_nonzero(expected)
    np.testing.assert_allclose(summed.toarray(), expected)
