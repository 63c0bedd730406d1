"""Eigenvectors of a sum of layers, with and without components."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgError, block_diag, eigh
from scipy.sparse.linalg import ArpackError
from sklearn.exceptions import ConvergenceWarning

from rmgl.baselines import gd_mcca
from rmgl.baselines.gd_mcca import left_singular
from rmgl.embedding import common_graph, lanczos
from rmgl.embedding import eigenvectors as module
from rmgl.embedding.common_graph import components, weighted_sum
from rmgl.embedding.eigenvectors import judged, smallest_eigenvectors
from rmgl.embedding.lanczos import DenseSymmetric, Products, SparseLaplacian
from rmgl.running.threads import team_of


def random_graph(rng, n, density=0.3):
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    ring = np.roll(np.eye(n), 1, axis=1) * 0.1
    return upper + upper.T + ring + ring.T


def laplacian(adjacency):
    return np.diag(adjacency.sum(axis=1)) - adjacency


def assert_solves(adjacency, found, n_vectors):
    """Orthonormal, eigenvalues right, residual small; the subspace is then right up to the last
    gap.
    """
    L = laplacian(adjacency)
    Q = found.vectors
    np.testing.assert_allclose(Q.T @ Q, np.eye(n_vectors), atol=1e-9)
    np.testing.assert_allclose(
        found.values, eigh(L, eigvals_only=True)[:n_vectors], atol=1e-8 * np.abs(L).max()
    )
    residual = np.linalg.norm(L @ Q - Q * found.values, axis=0).max() / (2 * L.diagonal().max())
    assert found.residual == pytest.approx(residual, abs=1e-12)
    assert residual < 1e-7


@pytest.fixture(params=["dense", "iterated", "iterated, nodes sorted"])
def path(request, monkeypatch):
    """All ways through the module, on graphs small enough to check."""
    if request.param == "iterated, nodes sorted":
        monkeypatch.setattr(module, "LARGE_NODES", 0)
    if request.param != "dense":
        monkeypatch.setattr(module, "DENSE_NODES", 0)
        monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
        monkeypatch.setattr(module, "DENSE_RESCUE_NODES", 0)
    return request.param


@pytest.mark.parametrize("n_vectors", [1, 2, 6])
def test_connected_graph(rng, path, n_vectors):
    A = random_graph(rng, 120)
    assert_solves(A, smallest_eigenvectors(sparse.csr_array(A), n_vectors), n_vectors)


@pytest.mark.parametrize("n_vectors", [2, 3, 5])
def test_fewer_as_many_and_more_components_than_vectors(rng, path, n_vectors):
    A = block_diag(*(random_graph(rng, size) for size in (50, 40, 30)))
    found = smallest_eigenvectors(sparse.csr_array(A), n_vectors)
    assert found.n_components == 3
    assert_solves(A, found, n_vectors)
    null = block_diag(*(np.full((size, 1), size**-0.5) for size in (50, 40, 30)))[
        :, : min(n_vectors, 3)
    ]
    np.testing.assert_allclose(found.vectors @ (found.vectors.T @ null), null, atol=1e-9)


def test_more_components_than_vectors_takes_the_largest_ones(rng):
    A = block_diag(random_graph(rng, 5), [[0.0]], random_graph(rng, 9), [[0.0]])
    found = smallest_eigenvectors(sparse.csr_array(A), 2)
    assert found.n_components == 4
    np.testing.assert_array_equal(found.vectors[[5, 15]], 0)
    np.testing.assert_allclose(found.vectors[6:15, 0], 1 / 3)


def test_repeated_eigenvalues_are_all_found(rng, path):
    """Six copies of one component: every eigenvalue six times, of which the powers of one vector
    meet one direction only.
    """
    A = block_diag(*[random_graph(rng, 25)] * 6)
    assert_solves(A, smallest_eigenvectors(sparse.csr_array(A), 12), 12)


def test_graph_without_edges():
    found = smallest_eigenvectors(sparse.csr_array((5, 5)), 3)
    assert found.n_components == 5
    assert found.residual == 0.0
    np.testing.assert_array_equal(found.vectors.T @ found.vectors, np.eye(3))


def test_all_vectors(rng):
    A = random_graph(rng, 7)
    assert_solves(A, smallest_eigenvectors(sparse.csr_array(A), 7), 7)


def path_graph(n, weight):
    return sparse.diags_array([np.full(n - 1, weight)] * 2, offsets=[-1, 1])


def test_where_the_faster_driver_of_lapack_does_not_converge(rng, monkeypatch):
    """That is gesdd, which fails on some finite blocks of some builds; gesvd takes its place."""
    svd, drivers = gd_mcca.linalg.svd, []

    def fails_at_first(block, lapack_driver="gesdd", **options):
        drivers.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise LinAlgError("SVD did not converge")
        return svd(block, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(gd_mcca.linalg, "svd", fails_at_first)
    block = rng.normal(size=(30, 4))
    left, strength = left_singular(block)
    np.testing.assert_allclose(left * strength @ (left * strength).T, block @ block.T, atol=1e-12)
    assert drivers == ["gesdd", "gesvd"]


def test_a_long_path_beside_a_stiff_one(monkeypatch):
    """Eigenvalues far below the ceiling of the spectrum."""
    monkeypatch.setattr(module, "DENSE_NODES", 0)
    monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
    monkeypatch.setattr(module, "DENSE_RESCUE_NODES", 0)
    graph = sparse.csr_array(sparse.block_diag([path_graph(100, 1.0), path_graph(80, 0.01)]))
    np.testing.assert_allclose(
        smallest_eigenvectors(graph, 3).values,
        [0, 0, 0.01 * (2 - 2 * np.cos(np.pi / 80))],
        atol=1e-9,
    )


def test_the_same_graph_gives_the_same_vectors(rng, monkeypatch):
    monkeypatch.setattr(module, "DENSE_NODES", 0)
    monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
    A = sparse.csr_array(random_graph(rng, 200))
    first, second = (smallest_eigenvectors(A, 4).vectors for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_matrices_multiply_alike(rng):
    A, V = random_graph(rng, 50), rng.normal(size=(50, 3))
    with team_of(3) as team:
        for matrix in (
            Products(laplacian(A)),
            DenseSymmetric(laplacian(A), team.in_parts),
            SparseLaplacian(sparse.csr_array(A), A.sum(axis=1), team.in_parts),
        ):
            np.testing.assert_allclose(matrix.times(V), laplacian(A) @ V, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(
                matrix.times(V[:, 0]), laplacian(A) @ V[:, 0], rtol=1e-10, atol=1e-12
            )


def test_kept_vectors_are_judged_on_the_new_graph(rng):
    A, B = random_graph(rng, 60), random_graph(rng, 60)
    kept = judged(sparse.csr_array(B), smallest_eigenvectors(sparse.csr_array(A), 3))
    np.testing.assert_allclose(
        kept.values, np.diag(kept.vectors.T @ laplacian(B) @ kept.vectors), atol=1e-12
    )
    residual = np.linalg.norm(
        laplacian(B) @ kept.vectors - kept.vectors * kept.values, axis=0
    ).max()
    assert kept.residual == pytest.approx(residual / (2 * laplacian(B).diagonal().max()))


def test_lapack_takes_over_where_the_iteration_does_not_arrive(rng, monkeypatch):
    monkeypatch.setattr(module, "DENSE_NODES", 0)
    monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
    monkeypatch.setattr(module, "MAX_PRODUCTS", 1)
    A = random_graph(rng, 200)
    assert_solves(A, smallest_eigenvectors(sparse.csr_array(A), 5), 5)


def test_a_tolerance_that_is_missed_is_raised_a_hundredfold_each_time(rng, monkeypatch):
    monkeypatch.setattr(module, "DENSE_NODES", 0)
    monkeypatch.setattr(lanczos, "DENSE_NODES", 0)
    monkeypatch.setattr(module, "DENSE_RESCUE_NODES", 0)
    smallest_pairs, asked = module.smallest_pairs, []

    def fails_twice(*args, tol, **options):
        asked.append(tol)
        if len(asked) < 3:
            raise ArpackError(-9999)
        return smallest_pairs(*args, tol=tol, **options)

    monkeypatch.setattr(module, "smallest_pairs", fails_twice)
    A = random_graph(rng, 60)
    with pytest.warns(ConvergenceWarning, match="eigenvectors missed their tolerance"):
        smallest_eigenvectors(sparse.csr_array(A), 3)
    # relative to a bound of the spectrum
    assert asked[0] == pytest.approx(1e-8 * 2 * laplacian(A).diagonal().max())
    np.testing.assert_allclose(np.divide(asked, asked[0]), [1, 1e2, 1e4])


@pytest.mark.parametrize("share", [0.0, 2.0])
def test_weighted_sum_leaves_out_weight_zero(rng, share, monkeypatch):
    monkeypatch.setattr(common_graph, "DENSE_SHARE", share)
    A, B = (sparse.csr_array(random_graph(rng, 6)) for _ in range(2))
    both, second = weighted_sum([A, B], [2.0, 3.0]), weighted_sum([A, B], [0.0, 1.0])
    assert sparse.issparse(both) == (share == 2.0)
    np.testing.assert_allclose(sparse.csr_array(both).toarray(), 2 * A.toarray() + 3 * B.toarray())
    np.testing.assert_array_equal(sparse.csr_array(second).toarray(), B.toarray())


def test_components_come_in_the_order_of_their_first_nodes(rng):
    order = rng.permutation(30)
    A = block_diag(random_graph(rng, 12), [[0.0]], random_graph(rng, 17))[np.ix_(order, order)]
    for graph in (A, sparse.csr_array(A)):
        count, labels = components(graph)
        assert count == 3
        np.testing.assert_array_equal(
            np.unique(labels, return_index=True)[1],
            np.sort(np.unique(labels, return_index=True)[1]),
        )
        assert sorted(np.bincount(labels).tolist()) == [1, 12, 17]
        assert not A[labels[:, None] != labels].any()


@pytest.mark.parametrize(("n_groups", "seed"), [(12, 2), (14, 1), (16, 2)])
def test_copies_of_a_node_have_the_same_rows_to_rounding(n_groups, seed):
    """Few groups of nodes that are alike: Lanczos runs out of vectors that are alike, and ARPACK
    goes on with a random one.
    """
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(n_groups, size=600))
    links = np.triu(rng.random((n_groups, n_groups)) < 0.15, 1) * rng.random((n_groups, n_groups))
    links += 0.01 * np.roll(np.eye(n_groups), 1, axis=1)
    W = np.maximum(links, links.T)[np.ix_(group, group)] + np.equal.outer(group, group)
    np.fill_diagonal(W, 0.0)
    rows = smallest_eigenvectors(sparse.csr_array(W), 3, tol=1e-4, alike=group).vectors
    assert max(np.ptp(rows[group == number], axis=0).max() for number in range(n_groups)) < 1e-13
