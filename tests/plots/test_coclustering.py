"""Shares of draws from slow counts of pairs."""

from dataclasses import replace

import numpy as np
import pytest

from rmgl import plots
from rmgl.automatic.policy import Verdict
from rmgl.embedding.common_graph import weighted_sum
from rmgl.plots import coclustering
from rmgl.results.clusters import parts_again, stability_of_clusters


def draws_of(model, n_draws=20, seed=0):
    graph = weighted_sum([layer.adjacency for layer in model.layers_], model.beta_.tolist())
    everyone = np.setdiff1d(np.arange(len(model.labels_)), model.fragments_)
    return list(
        parts_again(
            graph, everyone, model.n_clusters_, np.random.RandomState(seed), n_draws=n_draws
        )
    )


def slow_counts(draws, n):
    together, both = np.zeros((n, n)), np.zeros((n, n))
    for nodes, found in draws:
        for i, one in zip(nodes, found, strict=True):
            for j, other in zip(nodes, found, strict=True):
                both[i, j] += 1
                together[i, j] += one == other
    return together, both


def test_shares_of_entities_are_counts_of_draws(overlapping_model):
    found = plots.coclustering_data(overlapping_model, n_draws=5)
    together, both = slow_counts(draws_of(overlapping_model, 5), 90)
    with np.errstate(invalid="ignore"):
        expected = (together / both)[np.ix_(found.entities, found.entities)]
    np.testing.assert_allclose(found.shares, expected, rtol=1e-6)
    np.testing.assert_array_equal(found.clusters, overlapping_model.labels_[found.entities])
    assert (np.diff(found.clusters) >= 0).all()
    for cluster in range(3):
        own = found.clusters == cluster
        means = np.nanmean(found.shares[np.ix_(own, own)], axis=1)
        assert (np.diff(means) <= 1e-6).all()
    assert 0 < found.shares[np.isfinite(found.shares)].mean() < 1


def test_shares_of_clusters_are_means_over_pairs_of_different_entities(overlapping_model):
    found = plots.coclustering_data(overlapping_model, n_draws=5, by_cluster=True)
    assert found.entities is None
    together, both = slow_counts(draws_of(overlapping_model, 5), 90)
    labels = overlapping_model.labels_
    for a in range(3):
        for b in range(3):
            pairs = np.outer(labels == a, labels == b) & ~np.eye(90, dtype=bool)
            assert found.shares[a, b] == pytest.approx(together[pairs].sum() / both[pairs].sum())


def test_many_entities_are_counted_by_cluster_with_fewer_draws(overlapping_model, monkeypatch):
    assert plots.coclustering_data(overlapping_model).shares.shape == (90, 90)
    monkeypatch.setattr(coclustering, "MOST_SINGLE", 89)
    monkeypatch.setattr(coclustering, "MOST_ENTITIES", 89)
    found = plots.coclustering_data(overlapping_model)
    assert found.shares.shape == (3, 3)
    assert found.n_draws == coclustering.FEWER_DRAWS
    assert plots.plot_coclustering(overlapping_model).get_xlabel() == "3 clusters of 90 entities"
    monkeypatch.setattr(coclustering, "MOST_SINGLE", 90)
    assert plots.coclustering_data(overlapping_model).entities is not None


def test_entities_that_took_no_part_are_left_out_and_counted(overlapping_model):
    model = replace(overlapping_model.fitted_, fragments=np.array([3, 8]))
    found = plots.coclustering_data(model)
    assert found.n_left_out == 2
    assert not {3, 8} & set(found.entities)
    assert "without 2 that were left out" in plots.plot_coclustering(model).get_xlabel()


def test_bad_numbers_are_refused(overlapping_model):
    with pytest.raises(ValueError, match="n_draws=0 is not a valid number of draws"):
        plots.coclustering_data(overlapping_model, n_draws=0)
    few = replace(overlapping_model.fitted_, placed=np.arange(85))
    with pytest.raises(
        ValueError, match="3 clusters and 5 entities, but leaving some out requires"
    ):
        plots.coclustering_data(few)


def test_the_picture_shows_the_matrix_and_where_clusters_end(overlapping_model):
    ax = plots.plot_coclustering(overlapping_model)
    found = plots.coclustering_data(overlapping_model)
    np.testing.assert_allclose(ax.images[0].get_array(), found.shares)
    ends = np.cumsum(np.bincount(found.clusters))[:-1].tolist()
    assert sorted({line.get_xdata()[0] for line in ax.lines[1::2]}) == ends
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]
    written = plots.plot_coclustering(overlapping_model, by_cluster=True).texts
    by_cluster = plots.coclustering_data(overlapping_model, by_cluster=True).shares
    assert [text.get_text() for text in written] == [f"{share:.2f}" for share in by_cluster.ravel()]


def test_the_stability_of_clusters_uses_the_same_draws(overlapping_model):
    model = overlapping_model
    overlaps = []
    for nodes, found in draws_of(model, n_draws=Verdict.resamples):
        labels = model.labels_[nodes]
        overlaps.append(
            [
                max(
                    ((labels == a) & (found == b)).sum() / ((labels == a) | (found == b)).sum()
                    for b in range(3)
                )
                for a in range(3)
            ]
        )
    stability = stability_of_clusters(
        model.layers_, model.beta_, model.labels_, model.n_clusters_, model.fragments_
    )
    np.testing.assert_allclose(stability, np.mean(overlaps, axis=0))
