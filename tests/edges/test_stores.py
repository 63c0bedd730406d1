import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from rmgl.edges import AllPairs, all_pairs
from rmgl.running import memory


def test_measure_equals_pdist(rng):
    X = rng.normal(size=(40, 7))
    np.testing.assert_allclose(AllPairs(40).measure(X), pdist(X, "sqeuclidean"), rtol=1e-10)


def test_measure_in_blocks_equals_measure_at_once(rng, monkeypatch):
    X = rng.normal(size=(23, 3))
    whole = AllPairs(23).measure(X)
    monkeypatch.setattr(all_pairs, "BLOCK_ENTRIES", 50)
    np.testing.assert_allclose(AllPairs(23).measure(X), whole, rtol=1e-12)


def test_measure_of_sparse_equals_dense(rng):
    X = sparse.random_array((30, 50), density=0.1, random_state=rng, format="csr")
    np.testing.assert_allclose(AllPairs(30).measure(X), pdist(X.toarray(), "sqeuclidean"), rtol=1e-10, atol=1e-14)


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
    with pytest.raises(MemoryError, match=r"need at least \d+\.\d GiB of memory and \d+\.\d GiB are available"):
        AllPairs(100_000_000).require_memory(3, "test")


def test_memory_is_read_from_the_system():
    available = memory.available_memory()
    assert available is None or available > 0


def test_memory_guard_is_silent_where_the_system_tells_nothing(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    AllPairs(100_000_000).require_memory(3, "test")
