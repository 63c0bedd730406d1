import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from rmgl.edges import AllPairs, PairList, stores
from rmgl.edges.space import Square
from rmgl.embedding.common_graph import _sparse_sum, weighted_sum
from rmgl.embedding.lanczos import SparseLaplacian
from rmgl.running import threads


def test_measure_equals_pdist(rng):
    X = rng.normal(size=(40, 7))
    np.testing.assert_allclose(AllPairs(40).measure(X), pdist(X, "sqeuclidean"), rtol=1e-10)


def test_measure_in_blocks_equals_measure_at_once(rng, monkeypatch):
    X = rng.normal(size=(23, 3))
    whole = AllPairs(23).measure(X)
    monkeypatch.setattr(stores, "PRODUCT_ENTRIES", 50)
    np.testing.assert_allclose(AllPairs(23).measure(X), whole, rtol=1e-12)


def test_measure_of_sparse_equals_dense(rng):
    X = sparse.random_array((30, 50), density=0.1, random_state=rng, format="csr")
    np.testing.assert_allclose(
        AllPairs(30).measure(X), pdist(X.toarray(), "sqeuclidean"), rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_near_duplicates_far_from_the_origin_keep_their_digits(rng, kind):
    X = rng.normal(size=(20, 3)) * 1e-4 + 1e3
    X[7] = X[3]
    X[0] = 0.0  # so that centering does not help
    exact = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    found = squareform(AllPairs(20).measure(kind(X)))
    assert found[3, 7] == 0.0
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_too_many_pairs_are_refused_before_they_are_allocated():
    with pytest.raises(
        MemoryError, match=r"need at least \d+\.\d GiB of memory, but only \d+\.\d GiB is available"
    ):
        AllPairs(100_000_000).require_memory(3, "test")


def test_memory_is_read_from_the_system():
    available = threads.available_memory()
    assert available is None or available > 0


def test_memory_guard_is_silent_where_the_system_tells_nothing(monkeypatch):
    monkeypatch.setattr(threads, "available_memory", lambda: None)
    AllPairs(100_000_000).require_memory(3, "test")


# Listed pairs


@pytest.fixture
def listed(rng):
    """A symmetric pattern in which one node has no pairs, and rows."""
    pattern = np.triu(rng.random((30, 30)) < 0.4, 1)
    pattern[:, 29] = False
    return sparse.csr_array(pattern | pattern.T), rng.normal(size=(30, 4))


def in_three_parts(work, n):
    return [work(n * part // 3, n * (part + 1) // 3) for part in range(3)]


@pytest.mark.parametrize("entries", [1, 20, 1 << 16])
def test_local_scaling_of_listed_pairs(listed, rng, monkeypatch, entries):
    pattern, X = listed
    scales, floors = 0.5 + rng.random(30), rng.random(30)
    monkeypatch.setattr(stores, "LOCAL_ENTRIES", entries)
    monkeypatch.setattr(stores, "PARALLEL_ENTRIES", 0)
    edges = PairList(pattern, in_three_parts)
    wanted = np.maximum(
        squareform(pdist(X, "sqeuclidean")) / (scales[:, None] * scales),
        np.minimum(floors[:, None], floors),
    )
    np.testing.assert_allclose(
        edges.localized(edges.measure(X), scales, floors), wanted[pattern.toarray()], rtol=1e-13
    )


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_results_have_the_index_type_of_the_pattern(listed, kind):
    pattern, X = listed
    given = sparse.csr_array(
        (pattern.data, pattern.indices.astype(kind), pattern.indptr.astype(kind)),
        shape=pattern.shape,
    )
    edges = PairList(given)
    costs = edges.measure(X)
    found = edges.active(np.full(30, np.median(costs) / 2), costs, 0.1)
    assert found.indices.dtype == found.indptr.dtype == given.indices.dtype
    wanted = np.where(
        pattern.toarray(), np.median(costs) - squareform(pdist(X, "sqeuclidean")), 0.0
    )
    np.testing.assert_allclose(found.toarray(), np.where(wanted > 0.1, wanted, 0.0), rtol=1e-12)


def test_all_index_types_are_one_to_compiled_loops(listed):
    """Each combination would be compiled on its own, which takes as long as it took the first time."""
    from rmgl import kernels

    pattern, X = listed

    def signatures_after(kind):
        given = sparse.csr_array(
            (np.ones(pattern.nnz), pattern.indices.astype(kind), pattern.indptr.astype(kind)),
            shape=pattern.shape,
        )
        for edges in (PairList(given), AllPairs(30)):
            costs = edges.measure(X)
            u = np.full(30, np.median(costs) / 2)
            edges.inner(costs, edges.active(u, costs, 0.1))
            edges.inner(costs, given)
            edges.active_pairs(u, costs, edges.evaluate(u, costs).counts)(u)
        Square.of(X).missing(np.ones(30), PairList(given), np.ones(30), np.zeros(30), X, 3)
        weighted_sum([given, given], [1.0, 2.0])  # dense
        _sparse_sum([(given, 1.0)], 30)
        SparseLaplacian(given, np.ones(30)).times(X)
        return {name: list(getattr(kernels, name).signatures) for name in kernels.__all__}

    assert signatures_after(np.int32) == signatures_after(np.int64)
