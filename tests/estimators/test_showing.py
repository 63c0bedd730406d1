"""Showing a model, asking for its report from several threads, and where its warnings point."""

import copy
import io
import pickle
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from rmgl import RMGL
from rmgl.estimators import holding as module
from rmgl.layer import Layer
from tests.conftest import planted_views


def test_showing_a_model_makes_no_report(planted_model, monkeypatch):
    monkeypatch.setattr(module, "report_of", lambda *given: pytest.fail("the report was made"))
    shown = planted_model._repr_html_()
    assert "not been assessed yet" in shown
    assert "Cluster sizes: 30, 30, 30" in shown
    assert "report_" not in vars(planted_model)
    assert "text/html" in planted_model._repr_mimebundle_()


def test_listing_the_attributes_of_a_model_makes_no_report(planted_model, monkeypatch):
    """As completion in notebooks does, and the diagrams of pipelines."""
    monkeypatch.setattr(module, "report_of", lambda *given: pytest.fail("the report was made"))
    assert {"report_", "labels_", "layers_"} <= set(dir(planted_model))
    assert not {"report_", "labels_", "layers_", "fitted_"} & set(dir(RMGL()))
    diagram = estimator_html_repr(make_pipeline(StandardScaler(), planted_model))
    assert (
        ("labels_" in diagram)
        == ("report_" in diagram)
        == hasattr(BaseEstimator, "_get_fitted_attr_html")
    )
    for copied in (
        copy.deepcopy(planted_model),
        pickle.loads(pickle.dumps(planted_model)),
        clone(planted_model),
    ):
        assert "report_" not in vars(copied)
    assert "report_" not in vars(planted_model)


def test_a_report_that_was_made_is_shown(planted_model):
    word = planted_model.report_.trust.word
    assert f"verdict: {word}" in planted_model._repr_html_()


@pytest.mark.parametrize(
    "name",
    [
        "fitted_",
        "labels_",
        "layers_",
        "number_",
        "local_scaling_",
        "hierarchy_",
        "report_",
        "_n_features_out",
    ],
)
def test_a_model_that_is_not_fitted_has_no_fitted_attributes(name):
    assert not hasattr(RMGL(), name)
    with pytest.raises(AttributeError):
        getattr(RMGL(), name)


def test_what_is_missing_before_a_fit_is_said():
    with pytest.raises(
        NotFittedError,
        match="this RMGL instance is not fitted yet, so it has no labels_; call fit first",
    ):
        RMGL().labels_  # noqa: B018


def test_several_threads_may_ask_for_the_report(planted_model, monkeypatch):
    made, report_of = [], module.report_of
    monkeypatch.setattr(module, "report_of", lambda fitted: (made.append(1), report_of(fitted))[1])
    reports, ready = [], threading.Barrier(8)

    def ask():
        ready.wait()
        reports.append(planted_model.report_)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 8
    assert len({id(report) for report in reports}) == len(made) == 1


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_warnings_point_to_the_line_of_the_caller(method):
    views = {"a": np.random.default_rng(0).normal(size=(40, 3))}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(RMGL(3, max_iter=1, tol=0.0, random_state=0), method)(views)
    own = [warning for warning in caught if "did not converge" in str(warning.message)]
    assert [warning.filename for warning in own] == [__file__]


class CountingLayers(pickle.Pickler):
    """Notes the layers that are stored."""

    def __init__(self):
        super().__init__(io.BytesIO())
        self.found = []

    def reducer_override(self, value):
        if isinstance(value, Layer):
            self.found.append(value.name)
        return NotImplemented


def test_a_model_holds_its_layers_once(planted_model):
    """Before the report was made, it held them in the order of the fit, too."""
    assert "report_" not in vars(planted_model)
    counting = CountingLayers()
    counting.dump(planted_model)
    assert counting.found == [layer.name for layer in planted_model.layers_]


def test_the_report_does_not_depend_on_when_it_is_made():
    views, _ = planted_views(sizes=(40, 40, 40), distance=3.0)
    views["view 0"][:20] = np.nan
    model = RMGL(3, random_state=0).fit(views)
    again = pickle.loads(pickle.dumps(model))
    assert str(model.report_) == str(again.report_)
    assert model.report_ == again.report_
