"""The fitted model as a value."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.fitting.fit import fit_model
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Parameters, in_canonical_order, scaled
from rmgl.model.run import Run
from rmgl.results.evidence import report_of
from rmgl.running.threads import team_of
from rmgl.views.views import Views
from tests.conftest import planted_views

HIDDEN = {"parameters", "views", "evidence"}
"""Fields that are no attribute of the estimator."""


@pytest.fixture(scope="module")
def views():
    return planted_views()[0]


@pytest.fixture
def model(planted_model):
    return planted_model


def test_the_attributes_of_the_estimator_are_the_fields_of_the_model(model):
    shown = {field.name for field in fields(FittedModel)} - HIDDEN
    for name in shown:
        assert getattr(model, f"{name}_") is getattr(model.fitted_, name)
    assert {name for name in dir(RMGL) if name.endswith("_") and not name.startswith("_")} >= {
        f"{name}_" for name in shown
    }


def test_a_model_is_fitted_without_an_estimator(model, views):
    parameters = Parameters.of(RMGL(3, random_state=0).get_params())
    checked = Views.of(views)
    ready = scaled(*in_canonical_order(checked, parameters), parameters, index=checked.index)
    with team_of(1) as team:
        fitted = fit_model(ready, parameters, Run(), team)
    np.testing.assert_array_equal(fitted.labels, model.labels_)
    np.testing.assert_array_equal(fitted.embedding, model.embedding_)
    assert report_of(fitted) == report_of(fitted) == model.report_


def test_a_model_is_never_changed(model):
    fitted, labels = model.fitted_, model.labels_
    with pytest.raises(FrozenInstanceError):
        fitted.labels = labels[::-1]
    model.labels_ = labels[::-1]
    assert fitted.labels is labels
    assert model.fitted_ is not fitted
    np.testing.assert_array_equal(model.labels_, labels[::-1])
    assert model.fitted_.layers is fitted.layers


def test_a_fit_that_fails_leaves_the_earlier_one(model, views):
    fitted, report = model.fitted_, model.report_
    with pytest.raises(ValueError, match="contains infinity in 90 of 90 rows"):
        model.fit({"view 0": np.full((90, 3), np.inf)})
    assert model.fitted_.labels is fitted.labels
    assert model.report_ is report


def test_the_report_is_made_once_and_what_it_was_made_from_is_dropped(model):
    assert model.fitted_.evidence is not None
    report = model.report_
    assert model.fitted_.evidence is None
    assert model.report_ is report
    model.fit(planted_views()[0])
    assert model.report_ is not report


def costs_of_no_consensus(model):
    first, *others = model.layers
    return {
        "layers": [
            replace(first, consensus_share=0.5),
            *(
                replace(other, role="neighbors") if other.role == "consensus" else other
                for other in others
            ),
        ]
    }


def odd_scaler(model):
    first, *others = model.views
    return {
        "views": replace(
            model.views, views=(replace(first, scaler=replace(first.scaler, name="odd")), *others)
        )
    }


CHANGES = {
    "no layer of a view": (
        lambda m: {"layers": [m.layers[1], *m.layers[1:]]},
        "there is not exactly one layer for each view",
    ),
    "negative beta": (lambda m: {"beta": -m.beta}, "beta_ has a negative entry"),
    "labels beyond": (lambda m: {"labels": m.labels + 1}, "the labels range"),
    "fewer labels": (lambda m: {"labels": m.labels[1:]}, "the labels have shape"),
    "no history": (lambda m: {"history": []}, "history_ is empty"),
    "fewer scales": (
        lambda m: {"scale": m.scale[1:]},
        "the numbers of views, view names and scales differ",
    ),
    "no cluster": (lambda m: {"n_clusters": 0}, "impossible numbers"),
    "a row label": (lambda m: {"index": np.array(["a"], dtype=object)}, "1 row labels for 90 rows"),
    "placed and learned on": (lambda m: {"placed": np.array([3])}, "layers were learned on them"),
    "costs of no consensus": (costs_of_no_consensus, "a consensus that the model does not have"),
    "along networks": (
        lambda m: {"layers": [replace(m.layers[0], network_share=0.5), *m.layers[1:]]},
        "but the model has no networks",
    ),
    "a scaler": (odd_scaler, "the scaler of view 'view 0' does not match"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_checks_itself(name, model):
    change, message = CHANGES[name]
    fitted = model.fitted_
    fitted.check()
    with pytest.raises(ValueError, match=message):
        replace(fitted, **change(fitted)).check()
