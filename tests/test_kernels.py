"""Each compiled loop against the NumPy statement it mirrors."""

import numpy as np
import pytest
from scipy.spatial.distance import squareform

from rmgl import kernels


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
    squares = kernels.pair_excess(u, z, excess, counts)
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > 0).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum() / 2, rtol=1e-13)


def test_pair_product(case):
    u, v, z, t = case
    out = np.zeros(u.size)
    kernels.pair_product(u, z, v, out)
    active = (t > 0).astype(float)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


def test_count_above_and_fill_symmetric(case):
    u, _, z, t = case
    wanted = np.where(t > 0.1, t, 0)
    degrees = np.zeros(u.size, dtype=np.int64)
    kernels.count_above(u, z, 0.1, degrees)
    np.testing.assert_array_equal(degrees, (wanted > 0).sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(degrees)])
    indices, data, places = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1]), starts[:-1].copy()
    kernels.fill_symmetric(u, z, 0.1, places, indices, data)
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
    excess, counts = np.empty(u.size), np.empty(u.size)
    squares = kernels.list_excess(u, pattern.indptr, pattern.indices, costs, excess, counts)
    np.testing.assert_allclose(excess, np.maximum(t, 0).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(counts, (t > 0).sum(axis=1))
    np.testing.assert_allclose(squares, (np.maximum(t, 0) ** 2).sum() / 2, rtol=1e-13)


def test_list_product(listed):
    u, v, _, t, pattern, costs = listed
    out = np.empty(u.size)
    kernels.list_product(u, pattern.indptr, pattern.indices, costs, v, out)
    active = (t > 0).astype(float)
    np.testing.assert_allclose(out, active.sum(axis=1) * v + active @ v, rtol=1e-12, atol=1e-13)


def test_list_above_and_inner(listed):
    u, _, z, t, pattern, costs = listed
    starts, found, data = np.empty_like(pattern.indptr), np.empty_like(pattern.indices), np.empty(pattern.indices.size)
    kernels.list_above(u, pattern.indptr, pattern.indices, costs, 0.1, starts, found, data)
    wanted = np.where(t > 0.1, t, 0)
    for i in range(u.size):
        row = slice(starts[i], starts[i + 1])
        np.testing.assert_array_equal(found[row], np.flatnonzero(wanted[i]))
        np.testing.assert_allclose(data[row], wanted[i][found[row]], rtol=1e-13)
    inner = kernels.list_inner(pattern.indptr, pattern.indices, costs, starts, found[: starts[-1]], data[: starts[-1]])
    np.testing.assert_allclose(inner, (z * wanted).sum() / 2, rtol=1e-12)


def test_list_distances(listed, rng):
    *_, pattern, costs = listed
    X, out = rng.normal(size=(pattern.shape[0], 3)), np.full(costs.size, np.nan)
    for first, stop in ((0, 1), (1, pattern.shape[0])):
        kernels.list_distances(X, pattern.indptr, pattern.indices, first, stop, out)
    np.testing.assert_allclose(out, ((X[:, None] - X[None]) ** 2).sum(axis=2)[pattern.toarray()], rtol=1e-12)
