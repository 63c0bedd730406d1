"""Numbers behind the pictures, and that functions of an Axes draw on that Axes and show nothing."""

import matplotlib

matplotlib.use("Agg")

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


@pytest.mark.parametrize("method", ["tsne", "pca", "last"])
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
    with pytest.raises(ValueError, match="method='umap' is not known"):
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
    monkeypatch.setattr(plots, "TSNE_ROWS", 50)
    ax = plots.plot_embedding(rng.normal(size=(200, 4)), rng.integers(0, 3, 200))
    assert ax.get_title() == "Common embedding (50 of 200 nodes)"
    plt.close(ax.figure)


def test_figures_belong_to_no_window(planted_model):
    before = plt.get_fignums()
    figure = plots.draw_layers(planted_model.layers_ * 2, planted_model.labels_)
    assert len(figure.axes) == 8  # two views, the consensus and the neighbors, twice
    plots.draw_embedding(planted_model.embedding_, planted_model.labels_)
    assert plt.get_fignums() == before


@pytest.fixture
def survived(planted_model):
    rng = np.random.default_rng(0)
    times, died = rng.exponential(10 / (1 + planted_model.labels_)), rng.random(90) < 0.7
    return planted_model.associate({"days": times, "died": died}, time="days", event="died")


def test_survival_data_are_the_curves_of_the_clusters(survived):
    data = plots.survival_data(survived)
    assert list(data) == [0, 1, 2]
    for curve in survived.survival.curves:
        own = data[curve.cluster]
        assert (own["time"][0], own["survival"][0]) == (0, 1)
        np.testing.assert_array_equal(own["survival"][2::2], curve.survival)
        assert (own["lower"] <= own["survival"]).all()
        assert (own["survival"] <= own["upper"]).all()


def test_survival_is_drawn_with_and_without_bands(survived, planted_model):
    figure, (first, second) = plt.subplots(1, 2)
    assert plots.plot_survival(survived, ax=first) is first
    plots.plot_survival(survived, ax=second, band=False)
    assert (len(first.collections), len(second.collections)) == (3, 0)
    steps = first.get_lines()[0]
    np.testing.assert_array_equal(steps.get_ydata(), plots.survival_data(survived)[0]["survival"])
    assert first.get_xlabel() == "days"
    assert f"p = {survived.rows[0].p_value:.2g}" in first.get_title()
    assert len({line.get_linestyle() for line in first.get_lines()[::2]}) == 3
    figure.canvas.draw()
    plt.close(figure)
    assert plots.draw_survival(survived).axes[0].has_data()
    with pytest.raises(ValueError, match="call associate with time= and event="):
        plots.survival_data(planted_model.associate({"x": np.arange(90) % 7}))
