"""Survival curves as numbers and as a picture."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rmgl import plots


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


def test_a_model_and_a_table_have_the_same_curves(planted_model):
    rng = np.random.default_rng(0)
    table = {"days": rng.exponential(size=90), "died": rng.random(90) < 0.7}
    found = plots.survival_data(planted_model, table, "days", "died")
    former = plots.survival_data(planted_model.associate(table, time="days", event="died"))
    for cluster in range(3):
        np.testing.assert_array_equal(found[cluster]["survival"], former[cluster]["survival"])
    for missing in ((), (table,), (table, "days")):
        with pytest.raises(
            ValueError, match="a model alone has no survival data; also pass the table"
        ):
            plots.plot_survival(planted_model, *missing)


def test_curves_of_many_entities_are_thinned_and_that_is_said(survived, monkeypatch):
    monkeypatch.setattr("rmgl.plots.survival.MOST_ENTITIES", 89)
    monkeypatch.setattr("rmgl.plots.survival.DRAWN_TIMES", 5)
    ax = plots.draw_survival(survived).axes[0]
    assert ax.get_xlabel() == "days (curves at 5 of their times)"
    assert len(ax.get_lines()[0].get_xdata()) == 2 * 5 + 1
    assert {text.get_text() for text in ax.texts} == {"0", "1", "2"}
