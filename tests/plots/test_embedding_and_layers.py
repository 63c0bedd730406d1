"""Numbers behind the pictures, and that functions of an Axes draw on that Axes and show nothing."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rmgl import plots


def test_layer_data_keeps_the_total_weight_and_the_cluster_ends(planted_model):
    image, ends = plots.layer_data(planted_model.layers_[0], planted_model.labels_, n_bins=90)
    order = np.argsort(planted_model.labels_, kind="stable")
    np.testing.assert_allclose(
        image, planted_model.layers_[0].adjacency.toarray()[np.ix_(order, order)]
    )
    np.testing.assert_array_equal(ends, np.cumsum(np.bincount(planted_model.labels_)))
    coarse, _ = plots.layer_data(planted_model.layers_[0], planted_model.labels_, n_bins=9)
    assert coarse.sum() * 100 == pytest.approx(90)


@pytest.mark.parametrize("method", ["neighbors", "tsne", "pca", "last"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_embedding_data_has_two_coordinates(planted_model, method, columns):
    points = plots.embedding_data(planted_model.embedding_[:, :columns], method=method)
    assert points.shape == (90, 2)
    assert np.isfinite(points).all()
    assert np.ptp(points) > 0


def test_embedding_data_of_the_last_two_columns(planted_model):
    np.testing.assert_array_equal(
        plots.embedding_data(planted_model.embedding_, method="last"),
        planted_model.embedding_[:, -2:],
    )


def test_unknown_method(planted_model):
    with pytest.raises(ValueError, match="method='umap' is unknown"):
        plots.embedding_data(planted_model.embedding_, method="umap")


def test_functions_draw_on_the_given_axes(planted_model):
    for draw in (
        lambda ax: plots.plot_embedding(
            planted_model.embedding_, planted_model.labels_, ax=ax, method="pca"
        ),
        lambda ax: plots.plot_layer(planted_model.layers_[0], planted_model.labels_, ax=ax),
        lambda ax: plots.plot_convergence(planted_model.history_, ax=ax),
    ):
        figure, ax = plt.subplots()
        assert draw(ax) is ax
        assert ax.has_data()
        assert ax.get_title()
        figure.canvas.draw()
        plt.close(figure)


def test_axes_are_made_where_none_is_given(planted_model):
    ax = plots.plot_layer(planted_model.layers_[0], planted_model.labels_)
    assert ax.has_data()
    plt.close(ax.figure)


def test_a_large_embedding_is_sampled_and_says_so(rng, monkeypatch):
    monkeypatch.setattr("rmgl.plots.embedding.LAYOUT_ROWS", 50)
    ax = plots.plot_embedding(rng.normal(size=(200, 4)), rng.integers(0, 3, 200))
    assert ax.get_title() == "Common embedding (50 of 200 nodes)"
    monkeypatch.setattr("rmgl.plots.embedding.MOST_ENTITIES", 199)
    ax = plots.plot_embedding(
        rng.normal(size=(200, 4)), rng.integers(0, 3, 200), method="pca", ax=plt.subplots()[1]
    )
    assert ax.get_title() == "Common embedding (199 of 200 nodes)"
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 199
    plt.close(ax.figure)


def test_figures_belong_to_no_window(planted_model):
    before = plt.get_fignums()
    figure = plots.draw_layers(planted_model.layers_ * 2, planted_model.labels_)
    assert len(figure.axes) == 8  # two views, the consensus and the neighbors, twice
    plots.draw_embedding(planted_model.embedding_, planted_model.labels_)
    assert plt.get_fignums() == before
