"""All plots take a fitted model; the calls of version 0.1 still work."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rmgl import RMGL, plots
from rmgl.baselines import SCML

DRAWING = [name for name in plots.__all__ if name.startswith(("plot_", "draw_"))]


def survived(model):
    """A table with times and events, and their names."""
    n = len(model.labels_)
    table = {"days": np.random.default_rng(0).exponential(size=n), "died": np.arange(n) % 3 > 0}
    return table, "days", "died"


GIVEN = {
    "plot_flows": lambda model: (model.labels_[::-1],),
    "plot_survival": survived,
    "draw_survival": survived,
}


@pytest.mark.parametrize("name", DRAWING)
def test_every_function_takes_a_model(name, chosen_model):
    before = plt.get_fignums()
    drawn = getattr(plots, name)(chosen_model, *GIVEN.get(name, lambda model: ())(chosen_model))
    if name.startswith("draw_"):
        assert plt.get_fignums() == before  # they belong to no window
        assert all(ax.has_data() for ax in drawn.axes)
    else:
        assert all(ax.has_data() and ax.get_title() for ax in np.atleast_1d(np.array(drawn)))


@pytest.mark.parametrize("name", [name for name in plots.__all__ if name.endswith("_data")])
def test_a_model_that_is_not_fitted_or_no_model_is_refused(name):
    others = ([0],) if name == "flows_data" else ()
    with pytest.raises(NotFittedError, match="not fitted yet; call fit"):
        getattr(plots, name)(RMGL(2), *others)
    with pytest.raises((TypeError, ValueError), match="pass a fitted RMGL model"):
        getattr(plots, name)(
            "model", *others
        ) if name != "embedding_data" else plots.embedding_data([1.0, 2.0])
    if name != "embedding_data":
        with pytest.raises(TypeError, match="of type SCML; pass a fitted RMGL model"):
            getattr(plots, name)(SCML(2), *others)


def test_the_fitted_model_itself_will_do(planted_model):
    np.testing.assert_array_equal(
        plots.silhouettes_data(planted_model.fitted_).silhouettes,
        plots.silhouettes_data(planted_model).silhouettes,
    )


def test_a_model_gives_the_numbers_of_its_parts(planted_model):
    model = planted_model
    np.testing.assert_array_equal(
        plots.embedding_data(model, method="last"),
        plots.embedding_data(model.embedding_, method="last"),
    )
    for given in ("view 1", 1):
        found, ends = plots.layer_data(model, layer=given)
        former, former_ends = plots.layer_data(model.layers_[1], model.labels_)
        np.testing.assert_array_equal(found, former)
        np.testing.assert_array_equal(ends, former_ends)
    assert "view 1" in plots.plot_layer(model, layer="view 1").get_title()
    figure = plots.draw_layers(model)
    assert len(figure.axes) == len(model.layers_)


@pytest.mark.parametrize("layer", ["nothing", 99, -99])
def test_a_layer_that_is_not_there_is_named(planted_model, layer):
    with pytest.raises(ValueError, match=r"layer=.* is not a layer of the model; use a position"):
        plots.plot_layer(planted_model, layer=layer)


def test_labels_may_be_known_classes(planted_model):
    ax = plots.plot_embedding(planted_model, np.repeat(["x", "y"], 45), method="pca")
    assert {text.get_text() for text in ax.texts} == {"x", "y"}
    with pytest.raises(ValueError, match=r"labels have shape \(3,\), but there are 90 entities"):
        plots.plot_embedding(planted_model, [1, 2, 3])
    with pytest.raises(TypeError, match="labels are missing"):
        plots.plot_embedding(planted_model.embedding_)


def test_former_names_of_the_first_argument_warn(planted_model, chosen_model):
    model = planted_model
    calls = {
        "plot_embedding": {"embedding": model.embedding_, "labels": model.labels_, "method": "pca"},
        "embedding_data": {"embedding": model.embedding_, "method": "pca"},
        "draw_embedding": {"embedding": model.embedding_, "labels": model.labels_},
        "layer_data": {"layer": model.layers_[0], "labels": model.labels_},
        "plot_layer": {"layer": model.layers_[0], "labels": model.labels_},
        "draw_layers": {"layers": model.layers_, "labels": model.labels_},
        "plot_convergence": {"history": model.history_},
        "plot_number_of_clusters": {"number": chosen_model.number_},
        "draw_number_of_clusters": {"number": chosen_model.number_},
    }
    for name, arguments in calls.items():
        with pytest.warns(FutureWarning, match=rf"{name}\(.*=...\) will be an error"):
            assert getattr(plots, name)(**arguments) is not None


def test_a_number_that_was_given_has_no_evidence(planted_model):
    for name in ("plot_number_of_clusters", "resolutions_data", "plot_resolutions"):
        with pytest.raises(
            ValueError, match=r'fitted with n_clusters=3.*fit it with n_clusters="auto"'
        ):
            getattr(plots, name)(planted_model)
