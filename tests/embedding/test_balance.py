"""Masses of entities: hubs and leaves count by their degrees, and components are joined."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

from rmgl.checks import Unsound
from rmgl.embedding import eigenvectors, lanczos
from rmgl.embedding.balance import UNIFORM, Balance
from rmgl.embedding.eigenvectors import judged, smallest_eigenvectors
from rmgl.embedding.labels import embed_without


def hubs_and_leaves(rng, n=40, n_parts=1):
    """Stars of random sizes around a ring, in parts without a link between them."""
    A = np.zeros((n, n))
    for part in np.array_split(np.arange(n), n_parts):
        ring = part[: max(3, part.size // 4)]
        A[ring, np.roll(ring, 1)] = 1.0
        leaves = part[ring.size :]
        A[leaves, rng.choice(ring, leaves.size)] = rng.random(leaves.size) + 0.5
    return A + A.T


def laplacian(A):
    return np.diag(A.sum(axis=1)) - A


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("is_iterated", [False, True])
def test_the_embedding_solves_the_problem_with_masses(rng, monkeypatch, kind, n_parts, is_iterated):
    if is_iterated:
        for module in (eigenvectors, lanczos):
            monkeypatch.setattr(module, "DENSE_NODES", 0)
        monkeypatch.setattr(eigenvectors, "DENSE_RESCUE_NODES", 0)
    A = hubs_and_leaves(rng, 60, n_parts)
    n, t = len(A), UNIFORM * A.sum() / len(A)
    C = np.diag((A.sum(axis=1) + t) / (A.sum() / n + t))
    M = laplacian(A) + t * (np.eye(n) - 1 / n)
    balance = Balance.of(kind(A))
    found = smallest_eigenvectors(kind(A), 5, balance=balance)
    Q = found.vectors
    np.testing.assert_allclose(balance.mass, C.diagonal())
    np.testing.assert_allclose(Q.T @ C @ Q, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(M @ Q, C @ Q * found.values, atol=1e-6)
    np.testing.assert_allclose(found.values, eigh(M, C, eigvals_only=True)[:5], atol=1e-7)
    assert found.n_components == n_parts
    again = judged(kind(A), found, balance=balance)
    np.testing.assert_allclose(again.values, found.values, atol=1e-9)
    np.testing.assert_array_equal(again.vectors, Q)


def test_equal_degrees_have_the_embedding_of_the_paper(rng):
    ring = np.roll(np.eye(30), 1, axis=1) * rng.choice([1.0])
    A = ring + ring.T + np.roll(np.eye(30), 15, axis=1)
    plain, balanced = (
        smallest_eigenvectors(A, 3),
        smallest_eigenvectors(A, 3, balance=Balance.of(A)),
    )
    np.testing.assert_allclose(Balance.of(A).mass, 1.0)
    np.testing.assert_allclose(
        plain.vectors @ plain.vectors.T, balanced.vectors @ balanced.vectors.T, atol=1e-9
    )
    # the uniform graph adds its weight to all eigenvalues but the first
    np.testing.assert_allclose(balanced.values[1:], plain.values[1:] + UNIFORM * 3)


def test_a_multiple_of_a_graph_has_the_same_embedding(rng):
    A = hubs_and_leaves(rng)
    one, other = (smallest_eigenvectors(B, 3, balance=Balance.of(B)) for B in (A, 7 * A))
    np.testing.assert_allclose(
        one.vectors @ one.vectors.T, other.vectors @ other.vectors.T, atol=1e-9
    )
    np.testing.assert_allclose(7 * one.values, other.values, atol=1e-9)


def test_fragments_keep_no_mass(rng):
    A = hubs_and_leaves(rng)
    fragments = np.zeros(len(A), dtype=bool)
    fragments[[3, 30]] = True
    kept, balance = np.flatnonzero(~fragments), Balance.of(A)
    found = embed_without(A, 3, fragments, balance=balance)
    among = smallest_eigenvectors(A[np.ix_(kept, kept)], 3, balance=balance.among(kept))
    np.testing.assert_array_equal(found.vectors[kept], among.vectors)
    assert not found.vectors[fragments].any()
    np.testing.assert_array_equal(found.own, among.vectors)


def test_the_uniform_graph_joins_all_pairs_alike(rng):
    A, Q = hubs_and_leaves(rng, 12), rng.normal(size=(12, 3))
    balance = Balance.of(A)
    pairs = np.square(Q[:, None] - Q).sum() / 2
    assert balance.uniform_term(Q) == pytest.approx(balance.uniform / 12 * pairs)


def test_a_fitted_node_is_placed_where_it_is(rng):
    A = hubs_and_leaves(rng)
    balance = Balance.of(A)
    found = smallest_eigenvectors(A, 3, balance=balance)
    Q = found.vectors
    placed = balance.place(A @ Q, A.sum(axis=1), Q.mean(axis=0), found.values)
    np.testing.assert_allclose(placed, Q, atol=1e-7)


@pytest.mark.parametrize("masses", [[1.0, 0.0], [1.0, np.nan], [1.0]])
def test_impossible_masses_are_refused(masses):
    with pytest.raises(Unsound, match="mass"):
        Balance(np.array(masses), 0.1, 1.0).check(2)


@pytest.mark.parametrize(("uniform", "unit"), [(0.0, 1.0), (0.1, 0.0), (0.1, np.inf)])
def test_impossible_weights_are_refused(uniform, unit):
    with pytest.raises(Unsound, match="not above 0"):
        Balance(np.ones(2), uniform, unit).check(2)
