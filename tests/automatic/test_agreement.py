"""What makes the defaults robust: the plain neighbor layer, informative edges, fragments, and views
that separate only some clusters.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL, Policy
from rmgl.automatic.layers import PLAIN_NEIGHBORS
from rmgl.automatic.weighing import by_agreement, informative_edges
from rmgl.edges.space import Rows
from rmgl.views.views import Views
from tests.conftest import planted_views

FIRST = Policy(
    guidance=(0.1, 0.3, 1.0),
    neighbor_share=0.0,
    small_component=0.0,
    small_cluster=0.0,
    consensus_share=0.0,
)
"""The defaults of version 0.1, without any of this."""


def grid(side=3, n=30, distance=4.5, seed=0):
    """Two views of side x side clusters, one of which separates the rows of the grid, and one its
    columns.
    """
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(side * side), n)
    views = {}
    for name, known in (("rows", target // side), ("columns", target % side)):
        centers = np.linalg.qr(rng.normal(size=(5, 5)))[0][:side] * distance
        views[name] = centers[known] + rng.normal(size=(target.size, 5))
    return views, target


@pytest.fixture(scope="module")
def complementary():
    views, target = grid()
    return views, target, RMGL(9, random_state=0).fit(views)


def test_the_neighbor_layer_is_the_graph_of_nearest_neighbors():
    views, _ = planted_views()
    model = RMGL(3, random_state=0).fit(views)
    layer = model.layers_[-1]
    assert (layer.name, layer.role, layer.status, layer.alpha) == (
        "neighbors",
        "neighbors",
        "given",
        0.0,
    )
    scaled = Views.of(views).scaled("auto").matrices
    X = np.hstack([X * factor for X, factor in zip(scaled, layer.factors, strict=True)])
    np.testing.assert_allclose(
        [np.var(X * f, axis=0).sum() for X, f in zip(scaled, layer.factors, strict=True)], 1.0
    )
    order = np.argsort(cdist(X, X) + np.diag(np.full(90, np.inf)), axis=1)[:, :PLAIN_NEIGHBORS]
    listed = np.zeros((90, 90))
    np.put_along_axis(listed, order, 1.0, axis=1)
    np.testing.assert_allclose(
        layer.adjacency.toarray(), (listed + listed.T) / 2 * 90 / listed.sum()
    )
    assert model.beta_[-1] == pytest.approx(0.2 * model.beta_[:-1].sum())
    assert "20% of the total weight of all other layers" in str(model.report_)


@pytest.mark.parametrize("candidates", [15, "given"])
@pytest.mark.parametrize("n_views", [1, 2])
@pytest.mark.filterwarnings("ignore:layer .* is exact only over its .* candidate pairs:UserWarning")
def test_the_neighbor_layer_does_not_depend_on_the_candidates(n_views, candidates):
    """A given graph says which edges the layers of the views may have, not which rows are the
    nearest.
    """
    views = list(planted_views(sizes=(60, 60, 60))[0].values())[:n_views]
    apart = np.abs(np.arange(180)[:, None] - np.arange(180))
    # twelve neighbors by the order of rows
    ring = sparse.csr_array((apart > 0) & (np.minimum(apart, 180 - apart) <= 6), dtype=float)
    wanted = RMGL(3, candidates="all", random_state=0).fit(views).layers_[-1]
    found = (
        RMGL(3, candidates=ring if candidates == "given" else candidates, random_state=0)
        .fit(views)
        .layers_[-1]
    )
    np.testing.assert_allclose(found.adjacency.toarray(), wanted.adjacency.toarray(), rtol=1e-12)


def test_no_neighbor_layer_where_the_policy_has_none_or_numbers_are_given():
    views, _ = planted_views()
    for model in (
        RMGL(3, policy=Policy(neighbor_share=0.0), random_state=0),
        RMGL(3, alpha=0.5, beta=0.1, random_state=0),
    ):
        assert all(layer.role != "neighbors" for layer in model.fit(views).layers_)


def test_informative_edges_join_rows_that_differ_in_large_components():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [9.0], [8.0]])
    W = np.zeros((6, 6))
    for i, j in ((0, 1), (1, 2), (2, 3), (4, 5)):
        W[i, j] = W[j, i] = 1.0
    kept = informative_edges(Rows.of(X), sparse.csr_array(W), 3).toarray()
    assert sorted(zip(*np.nonzero(np.triu(kept)), strict=True)) == [(1, 2), (2, 3)]
    assert informative_edges(Rows.of(X), sparse.csr_array(W), 0).nnz == 6


def test_weights_count_the_share_of_informative_edges():
    np.testing.assert_allclose(by_agreement([0.1, 0.1], [1.0, 0.25], True), [0.8, 0.2])
    np.testing.assert_allclose(by_agreement([0.1, 0.2], [0.0, 0.0], True), [0.5, 0.5])


def test_the_share_of_the_consensus_rises_from_none_to_all():
    policy = Policy(consensus_share=3.0, disagreement=(0.2, 0.6))
    assert [policy.share_of_consensus(excess) for excess in (0.0, 0.1, 0.2)] == [0.0] * 3
    assert policy.share_of_consensus(0.3) == pytest.approx(0.75)
    assert policy.share_of_consensus(0.4) == pytest.approx(1.5)
    assert [policy.share_of_consensus(excess) for excess in (0.7, 1.0)] == [3.0] * 2
    assert Policy(consensus_share=0.0).share_of_consensus(1.0) == 0.0


def test_views_that_each_separate_some_of_the_clusters(complementary):
    views, target, model = complementary
    assert adjusted_rand_score(target, model.labels_) > 0.95
    alone = RMGL(9, policy=FIRST, random_state=0).fit(views)
    assert adjusted_rand_score(target, alone.labels_) < 0.9
    shares = [layer.consensus_share for layer in model.layers_]
    assert shares[0] == shares[1] > 0 == shares[2] == shares[3]
    assert "Each view separates only some of the clusters" in str(model.report_)


def test_costs_with_a_share_of_the_consensus_follow_from_public_attributes(complementary):
    views, _, model = complementary
    scaled = Views.of(views).scaled("auto").matrices

    def local(X, scaling):
        z = cdist(X, X, "sqeuclidean") / np.outer(scaling.scales, scaling.scales)
        return np.maximum(z, np.minimum.outer(scaling.floors, scaling.floors))

    consensus = model.layers_[2]
    c = local(
        np.hstack([X * f for X, f in zip(scaled, consensus.factors, strict=True)]),
        consensus.scaling,
    )
    embedded = [cdist(rows, rows, "sqeuclidean") for rows in (model.guide_, model.embedding_)]
    for layer, X, beta in zip(model.layers_, scaled, model.beta_, strict=False):
        costs = (
            local(X, layer.scaling) + layer.consensus_share * c + embedded[0] + beta * embedded[1]
        )
        weights = np.maximum(layer.potentials[:, None] + layer.potentials - costs, 0) / (
            4 * layer.alpha
        )
        np.fill_diagonal(weights, 0)
        np.testing.assert_allclose(layer.adjacency.toarray(), weights, atol=1e-4)
        u = layer.potentials
        assert np.abs(weights.sum(axis=1) + (u - u.mean()) / (2 * layer.alpha) - 1).max() < 1e-5


def test_fitted_rows_keep_their_labels_and_new_ones_find_theirs(complementary, tmp_path):
    views, _, model = complementary
    assert (model.predict(views) == model.labels_).mean() > 0.98
    new, new_target = grid(seed=0, n=30)
    rng = np.random.default_rng(5)
    moved = {name: X + 0.3 * rng.normal(size=X.shape) for name, X in new.items()}
    assert adjusted_rand_score(new_target, model.predict(moved)) > 0.9
    model.save(tmp_path / "m.rmgl")
    np.testing.assert_array_equal(
        RMGL.load(tmp_path / "m.rmgl").predict(moved), model.predict(moved)
    )


def test_lists_of_neighbors_give_the_same_layers_as_all_pairs(complementary):
    views, _, model = complementary
    listed = RMGL(9, candidates=15, random_state=0).fit(views)
    assert [layer.exact for layer in listed.layers_] == [True] * 4
    assert adjusted_rand_score(listed.labels_, model.labels_) > 0.95
    np.testing.assert_allclose(
        listed.layers_[0].consensus_share, model.layers_[0].consensus_share, rtol=1e-3
    )


def test_a_checkpoint_with_tied_labels_and_lists_resumes_with_the_same_bits(
    complementary, tmp_path
):
    """Costs of known labels and of the consensus are added in the same order to pairs from the
    first search and to later ones.
    """
    views, target, _ = complementary
    known = np.where(np.arange(target.size) % 9 == 0, target, -1)
    known[np.flatnonzero(known == 0)] = 1  # labels that the clusters do not agree with are tied

    def fit():
        return RMGL(9, candidates=15, random_state=0).fit(
            views, known, checkpoint=tmp_path / "steps"
        )

    whole = fit()
    assert any(layer.consensus_share for layer in whole.layers_)
    for removed in ("none", "within-*", "*-*[0-7].step"):
        for step in (tmp_path / "steps").glob(removed):
            step.unlink()
        again = fit()
        np.testing.assert_array_equal(again.embedding_, whole.embedding_)
        for own, expected in zip(again.layers_, whole.layers_, strict=True):
            np.testing.assert_array_equal(own.adjacency.toarray(), expected.adjacency.toarray())


def fragmented(n=60, copies=6, seed=0):
    """Two clusters, and beside one of them a few rows that are nearly the same."""
    rng = np.random.default_rng(seed)
    target = np.repeat([0, 1], n)
    views = {}
    for name in "ab":
        X = np.where(target == 0, -2.5, 2.5)[:, None] * np.ones(4) + rng.normal(size=(2 * n, 4))
        close = X[:1] + 2.0 + 1e-4 * rng.normal(size=(copies, 4))
        views[name] = np.vstack([X, close])
    return views, np.append(target, np.zeros(copies, dtype=int))


def test_fragments_have_the_labels_of_their_neighbors_and_are_reported():
    views, target = fragmented()
    model = RMGL(2, min_cluster_size=12, random_state=0).fit(views)
    assert adjusted_rand_score(target, model.labels_) > 0.9
    kept = np.delete(model.embedding_, model.fragments_, axis=0)
    np.testing.assert_allclose(kept.T @ kept, np.eye(2), atol=1e-8)
    assert (f"{model.fragments_.size} entities belong to fragments" in str(model.report_)) == bool(
        model.fragments_.size
    )
    assert (np.diff([row["objective"] for row in model.history_]) <= 0).all()


@pytest.mark.parametrize("size", ["large", -1, None])
def test_least_sizes_that_are_none(size):
    with pytest.raises(
        ValueError,
        match=r"The 'min_cluster_size' parameter of RMGL must be 'auto' or a number >= 0",
    ):
        RMGL(2, min_cluster_size=size).fit(planted_views()[0])


def test_views_without_informative_edges_are_no_copies_of_each_other():
    """The edges between copies of a row, and in small components, do not speak for adding costs of
    the consensus to those of the views.
    """
    answers = (np.random.default_rng(0).random((200, 8)) < 0.5).astype(float)
    model = RMGL(3, random_state=0).fit({"a": answers[:, :4], "b": answers[:, 4:]})
    assert [layer.consensus_share for layer in model.layers_] == [0.0] * 4
