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


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_pair_excess(case, least):
    u, _, z, t = case
    excess, counts = np.zeros(u.size), np.zeros(u.size)
    squares = sum(
        kernels.pair_excess(u, z, least, first, stop, excess, counts)
        for first, stop in halves(u.size)
    )
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > least).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum() / 2, rtol=1e-13)


def test_pair_product(case):
    u, v, z, t = case
    out = np.zeros(u.size)
    for first, stop in halves(u.size):
        kernels.pair_product(u, z, v, first, stop, out)
    active = (t > 0).astype(float)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_pair_above(case, least):
    u, _, z, t = case
    wanted = sparse.csr_array(np.where(t > least, t, 0))
    thirds = [(0, u.size // 3), (u.size // 3, 2 * u.size // 3), (2 * u.size // 3, u.size)]
    for parts in (halves(u.size), thirds, [(0, u.size)]):
        indices, data, places = (
            np.full(wanted.nnz, -1, dtype=np.int32),
            np.full(wanted.nnz, np.nan),
            wanted.indptr[:-1].astype(np.int64),
        )
        pattern, pattern_places = indices.copy(), places.copy()
        for first, stop in parts:
            kernels.pair_above(u, z, least, first, stop, places, indices, data)
            kernels.pair_above(u, z, least, first, stop, pattern_places, pattern, np.empty(0))
        np.testing.assert_array_equal(places, wanted.indptr[1:])
        np.testing.assert_array_equal(indices, wanted.indices)
        np.testing.assert_allclose(data, wanted.data, rtol=1e-13)
        np.testing.assert_array_equal(pattern, wanted.indices)


def test_pair_inner(case):
    _, _, z, t = case
    weights = sparse.csr_array(np.maximum(t, 0))
    found = kernels.pair_inner(z, weights.indptr, weights.indices, weights.data)
    np.testing.assert_allclose(found, (squareform(z) * np.maximum(t, 0)).sum() / 2, rtol=1e-12)


def test_fill_distances(rng):
    X = rng.normal(size=(9, 3))
    norms, out = (X * X).sum(axis=1), np.full(36, np.nan)
    for first, stop in ((0, 4), (4, 9)):
        kernels.fill_distances(
            first, np.ascontiguousarray(X[first:stop] @ X[first:].T), norms, X[:0], 1.0, out
        )
    np.testing.assert_allclose(
        squareform(out), ((X[:, None] - X[None]) ** 2).sum(axis=2), atol=1e-13
    )


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


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_list_excess(listed, least):
    u, _, _, t, pattern, costs = listed
    excess, counts, squares = (np.full(u.size, np.nan) for _ in range(3))
    for first, stop in halves(u.size):
        kernels.list_excess(
            u, pattern.indptr, pattern.indices, costs, least, first, stop, excess, counts, squares
        )
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > least).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum(axis=1), rtol=1e-13)


def test_list_above_and_inner(listed):
    u, _, z, t, pattern, costs = listed
    wanted = sparse.csr_array(np.where(t > 0.1, t, 0))
    totals = np.full(u.size, np.nan)
    starts, found, data = (
        wanted.indptr,
        np.full_like(wanted.indices, -1),
        np.full(wanted.nnz, np.nan),
    )
    pairs = (pattern.indptr, pattern.indices, costs)
    for first, stop in halves(u.size):
        kernels.list_above(u, *pairs, 0.1, first, stop, starts, found, data)
        kernels.list_inner(
            *pairs, starts, wanted.indices, wanted.data, first, stop, np.empty(u.size), totals
        )
    np.testing.assert_array_equal(found, wanted.indices)
    np.testing.assert_allclose(data, wanted.data, rtol=1e-13)
    np.testing.assert_allclose(totals, (z * wanted.toarray()).sum(axis=1), rtol=1e-12)
    found[:] = -1
    kernels.list_above(u, *pairs, 0.1, 0, u.size, starts, found, np.empty(0))
    np.testing.assert_array_equal(found, wanted.indices)


def test_pattern_product(listed):
    u, v, _, t, _, _ = listed
    active = sparse.csr_array((t > 0).astype(float))
    out = np.full(u.size, np.nan)
    for first, stop in halves(u.size):
        kernels.pattern_product(active.indptr, active.indices, v, first, stop, out)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


def test_fill_distances_measures_what_is_too_small_again(rng):
    X = rng.normal(size=(9, 3))
    X[4] = X[2] + 1e-9
    exact, norms, out = pdist(X, "sqeuclidean"), np.square(X).sum(axis=1), np.full(36, np.nan)
    for first, stop in halves(9):
        # all distances too large by a little
        gram = np.ascontiguousarray(X[first:stop] @ X[first:].T) - 1e-12
        kernels.fill_distances(first, gram, norms, X, 1e-6, out)
    np.testing.assert_allclose(squareform(out)[2, 4], squareform(exact)[2, 4], rtol=1e-12)
    assert (out > exact + 1e-12).sum() == exact.size - 1


def test_laplacian_product_and_add_to_dense(listed, rng):
    t = listed[3]
    weights = sparse.csr_array(np.maximum(t, 0))
    x, diagonal, out = (
        rng.normal(size=t.shape[0]),
        rng.random(t.shape[0]),
        np.full(t.shape[0], np.nan),
    )
    for first, stop in halves(t.shape[0]):
        kernels.laplacian_product(
            weights.indptr, weights.indices, weights.data, diagonal, x, first, stop, out
        )
    np.testing.assert_allclose(out, diagonal * x - weights @ x, rtol=1e-12, atol=1e-13)
    V = rng.normal(size=(t.shape[0], 3))
    block = np.full(V.shape, np.nan)
    for first, stop in halves(t.shape[0]):
        kernels.laplacian_block(
            weights.indptr, weights.indices, weights.data, diagonal, V, first, stop, block
        )
    np.testing.assert_allclose(block, diagonal[:, None] * V - weights @ V, rtol=1e-12, atol=1e-13)
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
    kernels.offer(
        bounds, np.arange(20), 0, 0, False, scores, found, np.empty(20, dtype=np.float32), rows
    )
    np.fill_diagonal(square, np.inf)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(np.argsort(square, axis=1)[:, :4], axis=1)
    )
    np.testing.assert_allclose(scores[:, 0], -np.sort(square, axis=1)[:, 3] / 2, rtol=1e-5)
    far, near = rng.uniform(100, 200, size=20), np.ones(20)
    within = 2 * (far[:, None] + far)
    products = np.ones((5, 12), dtype=np.float32)
    pairs = np.empty((2, products.size), dtype=np.int32)
    count = kernels.positive_entries(
        products, np.arange(3, 8), 6, *pairs, rows, far, near, np.zeros(20)
    )
    wanted = square[3:8, 6:18] <= within[3:8, 6:18]
    wanted[square[3:8, 6:18] == np.inf] = True  # a row with itself
    assert 0 < wanted.mean() < 1
    np.testing.assert_array_equal(pairs[:, :count].T, np.argwhere(wanted) + np.array([3, 6]))


def test_offer_keeps_the_best_of_all_that_was_offered(rng):
    scores = np.full((7, 4), -3e38, dtype=np.float32)
    found = np.zeros((7, 4), dtype=np.int32)
    offered = rng.normal(size=(7, 7)).astype(np.float32)
    offered = offered + offered.T
    heaps = (scores, found, np.empty(4, dtype=np.float32), EXACT)
    kernels.offer(np.ascontiguousarray(offered[:4, :4]), np.arange(7), 0, 0, False, *heaps)
    kernels.offer(np.ascontiguousarray(offered[4:, 4:]), np.arange(7), 4, 4, False, *heaps)
    kernels.offer(np.ascontiguousarray(offered[:4, 4:]), np.arange(7), 0, 4, True, *heaps)
    np.fill_diagonal(offered, -np.inf)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(np.argsort(-offered, axis=1)[:, :4], axis=1)
    )
    np.testing.assert_array_equal(scores[:, 0], np.sort(offered, axis=1)[:, 3])


def test_offer_to_some_queries_in_many_chunks(rng):
    """Rows 100..299 for the heaps of rows 150, 3 and 299, which are not inserted into their own."""
    offered, queries = rng.normal(size=(3, 200)), np.array([7, 150, 3, 299])
    scores, found = np.full((4, 5), -3e38), np.zeros((4, 5), dtype=np.int32)
    kernels.offer(offered, queries, 1, 100, False, scores, found, np.empty(200), np.empty((0, 0)))
    offered[0, 50] = offered[2, 199] = -np.inf
    np.testing.assert_array_equal(
        np.sort(found[1:], axis=1), np.sort(100 + np.argsort(-offered, axis=1)[:, :5], axis=1)
    )
    np.testing.assert_array_equal(scores[0], -3e38)


def test_insert_keeps_the_best_of_what_was_known_and_what_is_offered(rng):
    known, offered = rng.normal(size=(3, 4)), rng.normal(size=60)
    known.sort(axis=1)  # the lowest first: a heap
    heaps, scores, found = (
        rng.integers(3, size=60).astype(np.int32),
        known.copy(),
        np.full((3, 4), -1, dtype=np.int32),
    )
    kernels.insert(heaps, np.arange(60, dtype=np.int32), offered, scores, found)
    for heap in range(3):
        best = np.sort(np.concatenate([known[heap], offered[heaps == heap]]))[-4:]
        np.testing.assert_array_equal(np.sort(scores[heap]), best)
        assert scores[heap, 0] == best[0]
        assert set(found[heap][found[heap] >= 0].tolist()) == set(
            np.flatnonzero((heaps == heap) & (offered >= best[0])).tolist()
        )


def test_list_distances(listed, rng):
    *_, pattern, costs = listed
    X, out = rng.normal(size=(pattern.shape[0], 3)), np.full(costs.size, np.nan)
    for first, stop in ((0, 1), (1, pattern.shape[0])):
        kernels.list_distances(X + 1.0, X, pattern.indptr, pattern.indices, first, stop, out)
    np.testing.assert_allclose(
        out, ((X[:, None] + 1.0 - X[None]) ** 2).sum(axis=2)[pattern.toarray()], rtol=1e-12
    )


@pytest.mark.parametrize("bounded", [False, True])
def test_offer_of_pairs_of_tiles_keeps_the_best_of_every_row(bounded, rng):
    n, tile = 150, 64
    rows = rng.normal(size=(n, 5)).astype(np.float32)
    square = ((rows[:, None].astype(np.float64) - rows[None]) ** 2).sum(axis=2)
    offered = (-0.4 * square if bounded else -square / 2).astype(np.float32)
    scores, found = np.full((n, 4), -3e38, dtype=np.float32), np.zeros((n, 4), dtype=np.int32)
    heaps = (scores, found, np.empty(tile, dtype=np.float32), rows if bounded else EXACT)
    for mine, theirs in zip(*np.triu_indices(-(-n // tile)), strict=True):
        products = np.ascontiguousarray(
            offered[mine * tile : (mine + 1) * tile, theirs * tile : (theirs + 1) * tile]
        )
        kernels.offer(
            products,
            np.arange(n),
            int(mine * tile),
            int(theirs * tile),
            bool(mine < theirs),
            *heaps,
        )
    np.fill_diagonal(square, np.inf)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), np.sort(np.argsort(square, axis=1)[:, :4], axis=1)
    )
    np.testing.assert_allclose(scores[:, 0], -np.sort(square, axis=1)[:, 3] / 2, rtol=1e-5)


def test_positive_entries_are_found_row_by_row(rng):
    products = rng.normal(size=(6, 150)).astype(np.float32)
    products[2] = -1.0
    products[4, :100] = 0.0
    queries = np.array([5, 1, 4, 8, 2, 9])
    pairs = np.empty((2, products.size), dtype=np.int32)
    count = kernels.positive_entries(products, queries, 30, *pairs, EXACT, *[np.empty(0)] * 3)
    rows, columns = np.nonzero(products > 0)
    assert count == rows.size
    np.testing.assert_array_equal(pairs[:, :count], [queries[rows], columns + 30])


def test_sum_rows_is_the_weighted_sum(rng):
    weights = np.array([0.5, 2.0, 1.5])
    matrices = [
        sparse.random_array((30, 30), density=density, random_state=rng, format="csr")
        for density in (0.0, 0.1, 0.3)
    ]
    sizes = np.cumsum([0, *(matrix.nnz for matrix in matrices)])
    starts = np.array([size + matrix.indptr for matrix, size in zip(matrices, sizes, strict=False)])
    indices, data = (
        np.concatenate([m.indices for m in matrices]),
        np.concatenate([m.data for m in matrices]),
    )
    indptr, found, totals = (
        np.zeros(31, dtype=np.int64),
        np.empty_like(indices),
        np.empty_like(data),
    )
    count = kernels.sum_rows(starts, indices, data, weights, np.full(30, -1), indptr, found, totals)
    summed = sparse.csr_array((totals[:count], found[:count], indptr), shape=(30, 30))
    expected = sum(
        weight * matrix.toarray() for weight, matrix in zip(weights, matrices, strict=True)
    )
    assert count == np.count_nonzero(expected)
    np.testing.assert_allclose(summed.toarray(), expected)
