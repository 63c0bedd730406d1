"""Silhouettes from their definition."""

from dataclasses import replace

import numpy as np
import pytest

from rmgl import plots
from rmgl.plots import silhouettes
from rmgl.plots.drawing import sample_by_cluster


def slow_silhouettes(rows, labels):
    values = []
    for at, row in enumerate(rows):
        distances = np.sqrt(((rows - row) ** 2).sum(axis=1))
        own = (labels == labels[at]) & (np.arange(len(rows)) != at)
        if not own.any():
            values.append(0.0)
            continue
        a = distances[own].mean()
        b = min(distances[labels == k].mean() for k in np.unique(labels) if k != labels[at])
        values.append((b - a) / max(a, b))
    return np.array(values)


def test_they_are_those_of_the_definition_on_rows_of_length_one(overlapping_model):
    model = overlapping_model
    rows = model.embedding_ / np.linalg.norm(model.embedding_, axis=1, keepdims=True)
    expected = slow_silhouettes(rows, model.labels_)
    found = plots.silhouettes_data(model)
    np.testing.assert_allclose(found.silhouettes, expected[found.entities], atol=1e-7)
    np.testing.assert_array_equal(found.clusters, model.labels_[found.entities])
    assert sorted(found.entities) == list(range(90))
    assert found.mean == pytest.approx(expected.mean())
    for cluster in range(3):
        own = found.silhouettes[found.clusters == cluster]
        assert (np.diff(own) <= 0).all()
        assert found.by_cluster[cluster] == pytest.approx(expected[model.labels_ == cluster].mean())
    assert (np.diff(found.clusters) >= 0).all()


def test_an_entity_alone_in_its_cluster_has_zero(overlapping_model):
    labels = np.r_[2, np.repeat([0, 1], (45, 44))]
    found = plots.silhouettes_data(replace(overlapping_model.fitted_, labels=labels))
    assert found.silhouettes[found.clusters == 2].tolist() == [0.0]


def test_many_entities_are_sampled_and_the_mean_is_that_of_all(overlapping_model, monkeypatch):
    monkeypatch.setattr(silhouettes, "MOST_ROWS", 60)
    found = plots.silhouettes_data(overlapping_model)
    sizes = np.bincount(overlapping_model.labels_)
    assert found.entities.size == sum(min(size, max(20, round(60 * size / 90))) for size in sizes)
    assert found.n_entities == 90
    assert found.mean == pytest.approx(sizes @ found.by_cluster / 90)
    title = plots.plot_silhouettes(overlapping_model).get_title()
    assert f"a sample of {found.entities.size} of 90" in title
    monkeypatch.setattr(silhouettes, "MOST_ROWS", 90)
    assert "sample" not in plots.plot_silhouettes(overlapping_model).get_title()


def test_a_sample_has_the_same_share_of_every_cluster_and_some_of_the_small_ones():
    labels = np.repeat(np.arange(4), (6000, 3000, 990, 10))
    chosen = sample_by_cluster(labels, 1000)
    assert np.bincount(labels[chosen]).tolist() == [600, 300, 99, 10]
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(chosen, sample_by_cluster(labels, 1000))
    assert sample_by_cluster(labels, 10_000).size == 10_000


def test_one_cluster_has_no_silhouettes(planted_model):
    one = replace(planted_model.fitted_, labels=np.zeros(90, dtype=int), n_clusters=1)
    with pytest.raises(
        ValueError, match="1 clusters and 90 entities, but silhouettes require at least two"
    ):
        plots.silhouettes_data(one)


def test_the_picture_has_a_body_for_each_cluster_and_the_mean(overlapping_model):
    ax = plots.plot_silhouettes(overlapping_model)
    found = plots.silhouettes_data(overlapping_model)
    assert len(ax.collections) == 3
    assert [line.get_xdata()[0] for line in ax.lines] == [0, found.mean]
    for cluster, (body, name) in enumerate(zip(ax.collections, ax.get_yticklabels(), strict=True)):
        x = body.get_paths()[0].vertices[:, 0]
        assert x.max() == pytest.approx(max(0, found.silhouettes[found.clusters == cluster].max()))
        assert name.get_text() == f"cluster {cluster} (mean {found.by_cluster[cluster]:.2f})"
