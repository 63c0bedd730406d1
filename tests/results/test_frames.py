"""Results as DataFrames, and as HTML in notebooks."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from rmgl import RMGL
from tests.conftest import planted_views

NASTY = "<b>rna</b>&"


@pytest.fixture(scope="module")
def model():
    views, _ = planted_views()
    return RMGL("auto", random_state=0).fit({NASTY: views["view 0"], "b": views["view 1"]})


@pytest.fixture(scope="module")
def explanation(model):
    views, _ = planted_views()
    return model.explain({NASTY: views["view 0"], "b": views["view 1"]})


class Cells(HTMLParser):
    """The text of the cells of a table, and the tags that were met."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag in ("td", "th")
        if self.inside:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = False if tag in ("td", "th") else self.inside

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def shown(result):
    found = Cells(result._repr_html_())
    assert "b" not in found.tags  # names are text
    assert found.tags.count("table") == 1
    return found.cells


def test_explanations(explanation):
    frame = explanation.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(explanation)
    for name, values in explanation.as_dict().items():
        np.testing.assert_array_equal(frame[name], values)
    cells = shown(explanation)
    assert NASTY in cells
    assert "effect_size" in cells
    assert len(cells) == (1 + len(explanation.top())) * 9


def test_the_number_of_clusters(model):
    frame = model.number_.to_frame()
    assert frame.n_clusters.tolist() == model.number_.candidates.tolist()
    np.testing.assert_array_equal(frame.score, model.number_.score)
    assert frame.n_clusters[frame.chosen].tolist() == [model.n_clusters_]
    assert "stability" in shown(model.number_)
    assert model.number_.reason in model.number_._repr_html_()


def test_hierarchies(model):
    frame = model.hierarchy_.to_frame()
    assert frame.n_clusters.tolist() == [level.n_clusters for level in model.hierarchy_]
    assert frame.stability.tolist() == [level.stability for level in model.hierarchy_]
    labels = model.hierarchy_.labels_frame()
    assert labels[f"{model.n_clusters_} clusters"].tolist() == model.labels_.tolist()
    names = [f"cell {row}" for row in range(90)]
    assert model.hierarchy_.labels_frame(names).index.tolist() == names
    assert str(model.n_clusters_) in shown(model.hierarchy_)
    views, _ = planted_views()
    given = RMGL(3, random_state=0).fit(views)
    assert given.hierarchy_ == []
    assert len(given.hierarchy_.to_frame()) == 0


def test_reports(model):
    frame = model.report_.to_frame()
    assert frame.view.tolist() == [NASTY, "b"]
    np.testing.assert_array_equal(frame.weight, model.view_weights_)
    np.testing.assert_array_equal(frame.roughness, model.view_roughness_)
    assert ((frame.chance >= 0) & (frame.chance <= frame.inside)).all()
    assert NASTY in shown(model.report_)
    text = model.report_._repr_html_()
    assert "Verdict:" in text
    assert text.count("<li>") == len(model.report_.warnings)


def test_what_is_not_known_is_empty():
    views, _ = planted_views()
    given = RMGL(3, alpha=1.0, beta=1.0, random_state=0).fit(views)
    assert given.report_.to_frame().roughness.isna().all()
    assert "nan" not in given.report_._repr_html_().lower().split("<ul>")[0]
