"""Fragments: which small clusters are left out of the embedding, and where they are put."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from rmgl.embedding.eigenvectors import smallest_eigenvectors
from rmgl.embedding.labels import embed_without, find_fragments, judge_without, place_fragments
from rmgl.running.threads import one_part


def blocks(sizes, links=(), weight=1.0, between=0.01):
    """Complete graphs, each linked to the next by one edge of weight `between`, and further links."""
    n = sum(sizes)
    W = np.zeros((n, n))
    starts = np.cumsum([0, *sizes])
    for first, stop in pairwise(starts):
        W[first:stop, first:stop] = weight
    for first in starts[1:-1]:
        W[first - 1, first] = W[first, first - 1] = between
    for i, j, w in links:
        W[i, j] = W[j, i] = w
    np.fill_diagonal(W, 0.0)
    return sparse.csr_array(W)


def with_a_small_one(size):
    """Four blocks of 10 nodes and a small one that is hardly linked to them, and plain links
    between neighbors.
    """
    sizes = (10, 10, 10, 10, size)
    return blocks(sizes, links=[(39, 40, 1e-5)], between=0.01), blocks(sizes, between=2.0)


def found(graph, links, n_clusters=4, min_size=5.0, known=None):
    def embed(fragments):
        return embed_without(graph, n_clusters, fragments)

    return find_fragments(
        embed, links, n_clusters, min_size, known=known, random_state=np.random.RandomState(0)
    )


def test_a_small_group_with_links_outward_is_a_fragment():
    graph, links = with_a_small_one(3)
    # it takes a column for itself
    assert np.count_nonzero(np.abs(smallest_eigenvectors(graph, 4).vectors[:, 1]) > 0.3) == 3
    embedding = found(graph, links)
    np.testing.assert_array_equal(np.flatnonzero(embedding.fragments), [40, 41, 42])
    assert not embedding.vectors[40:].any()
    np.testing.assert_allclose(embedding.vectors.T @ embedding.vectors, np.eye(4), atol=1e-10)
    alone = smallest_eigenvectors(graph[:40][:, :40], 4)
    np.testing.assert_allclose(
        embedding.vectors[:40] @ embedding.vectors[:40].T,
        alone.vectors @ alone.vectors.T,
        atol=1e-8,
    )


def test_an_island_is_no_fragment():
    graph, _ = with_a_small_one(3)
    assert found(graph, graph).fragments is None


def test_clusters_of_the_least_size_are_no_fragments():
    graph, links = with_a_small_one(5)
    assert found(graph, links, min_size=5.0).fragments is None
    assert found(graph, links, min_size=5.5).fragments.sum() == 5
    assert found(graph, links, min_size=0.0).fragments is None


def test_none_is_left_out_where_too_many_would_be():
    sizes = (20, *(3,) * 6)
    graph, links = blocks(sizes, between=0.001), blocks(sizes, between=1.0)
    assert found(graph, links, n_clusters=4, min_size=5.0).fragments is None


@pytest.mark.parametrize(("size", "left_out"), [(32, True), (31, False)])
def test_a_fifth_of_the_nodes_may_be_fragments_and_no_more(size, left_out):
    """Two small groups have 8 nodes: a fifth of 40, and more than a fifth of 39."""
    sizes = (size - 16, 8, 8, 4, 4)
    graph = blocks(sizes, links=[(size - 1, size, 1e-5), (size + 3, size + 4, 1e-5)])
    fragments = found(graph, blocks(sizes, between=2.0), n_clusters=3).fragments
    assert (fragments is not None) == left_out
    if left_out:
        np.testing.assert_array_equal(np.flatnonzero(fragments), np.arange(size, size + 8))


@pytest.mark.parametrize(("outward", "is_fragment"), [(0.049, False), (0.051, True)])
def test_a_group_is_an_island_up_to_a_twentieth_of_links_outward(outward, is_fragment):
    graph, _ = with_a_small_one(3)
    inward = 6.0  # three edges of weight one, seen from both ends
    links = blocks((10, 10, 10, 10, 3), between=inward * outward / (1 - outward))
    assert (found(graph, links).fragments is not None) == is_fragment


def test_known_fragments_stay():
    graph = blocks((20, 20), between=0.01)
    known = np.arange(40) == 7
    assert (found(graph, graph, known=known).fragments == known).all()


def test_fragments_are_placed_at_the_mean_of_their_neighbors(rng):
    W = sparse.random_array((12, 12), density=0.6, random_state=rng, format="csr")
    W = sparse.csr_array(W + W.T)
    W.setdiag(0)
    fragments = np.arange(12) >= 9
    rows = rng.normal(size=(12, 2)) * ~fragments[:, None]
    placed = place_fragments(rows, fragments, W)
    np.testing.assert_array_equal(placed[:9], rows[:9])
    dense = W.toarray()
    np.testing.assert_allclose(
        placed[9:], (dense @ placed)[9:] / dense.sum(axis=1)[9:, None], atol=1e-9
    )
    assert place_fragments(rows, None, W) is rows


def test_fragments_without_neighbors_stay_at_the_origin():
    graph = blocks((4, 2), between=0.0)
    placed = place_fragments(
        np.arange(12.0).reshape(6, 2) * (np.arange(6) < 4)[:, None], np.arange(6) >= 4, graph
    )
    np.testing.assert_allclose(placed[4:], 0.0, atol=1e-9)


def test_judging_leaves_fragments_out():
    graph = blocks((6, 6, 2), between=0.1)
    fragments = np.arange(14) >= 12
    embedding = embed_without(graph, 2, fragments)
    judged = judge_without(graph, embedding, one_part)
    assert judged.residual == pytest.approx(embedding.residual, abs=1e-12)
    np.testing.assert_allclose(judged.values, embedding.values, atol=1e-12)
    np.testing.assert_array_equal(judged.fragments, fragments)
