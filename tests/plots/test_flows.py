"""Counts of shared entities, matched by id or by place."""

import numpy as np
import pandas as pd
import pytest

from rmgl import RMGL, plots
from rmgl.plots import flows
from tests.conftest import planted_views


def counted(labels, classes):
    """The slow version of the table."""
    return {
        (str(one), str(other)): sum(
            a == one and b == other for a, b in zip(labels, classes, strict=True)
        )
        for one in set(labels)
        for other in set(classes)
    }


def as_dict(found):
    table = found.to_frame()
    return {(row, column): table.loc[row, column] for row in table.index for column in table}


def test_counts_are_those_of_pairs_of_groups(planted_model, rng):
    classes = rng.choice(["x", "y", "z"], 90)
    found = plots.flows_data(planted_model, classes)
    assert as_dict(found) == counted(planted_model.labels_.tolist(), classes.tolist())
    assert found.n_only == (0, 0)
    assert sum(band.size for band in found.layout.bands) == 90
    same = plots.flows_data(planted_model, planted_model)
    assert same.agreement == 1.0
    assert (same.counts == np.diag([30, 30, 30])).all()


@pytest.fixture(scope="module")
def tables():
    views, _ = planted_views()
    return {
        name: pd.DataFrame(X, index=[f"p{row}" for row in range(90)]) for name, X in views.items()
    }


def test_models_and_series_are_matched_by_id(tables, rng):
    model = RMGL(3, random_state=0).fit(tables)
    some = {name: X.iloc[rng.permutation(90)[:60]] for name, X in tables.items()}
    some = {name: X.loc[some["view 0"].index] for name, X in tables.items()}
    former = RMGL(2, random_state=0).fit(some)
    found = plots.flows_data(model, former)
    ours = pd.Series(model.labels_, index=model.index_)
    theirs = pd.Series(former.labels_, index=former.index_)
    assert as_dict(found) == counted(ours.loc[theirs.index].tolist(), theirs.tolist())
    assert found.n_only == (30, 0)
    again = plots.flows_data(model, theirs.sample(frac=1, random_state=0))
    assert as_dict(again) == as_dict(found)
    assert plots.flows_data(former, model).n_only == (0, 30)
    title = plots.plot_flows(model, former, names=("now", "before")).get_title()
    assert "30 entities only in now" in title
    by_place = plots.flows_data(model, ours.reset_index(drop=True))  # no id of the model is in it
    assert by_place.agreement == 1.0
    with pytest.raises(ValueError, match="other: the id 'p0' occurs twice"):
        plots.flows_data(model, pd.concat([ours, ours.iloc[:1]]))
    strangers = RMGL(3, random_state=0).fit(
        {name: X.rename(index=lambda name: f"q{name}") for name, X in tables.items()}
    )
    with pytest.raises(
        ValueError, match="other: none of the ids belongs to the model, whose ids look like 'p0'"
    ):
        plots.flows_data(model, strangers)


def test_missing_classes_are_a_group_of_their_own(planted_model):
    classes = ["x"] * 60 + [None] * 20 + [np.nan] * 10
    found = plots.flows_data(planted_model, classes)
    assert found.groups[1] == ["x", "unknown"]
    assert found.counts.sum(axis=0).tolist() == [60, 30]
    none = plots.flows_data(planted_model, [None] * 90)
    assert none.groups[1] == ["unknown"]
    assert np.isnan(none.agreement)


def test_many_groups_are_counted_together(planted_model, monkeypatch):
    monkeypatch.setattr(flows, "MOST_GROUPS", 4)
    classes = [0] * 30 + [1] * 20 + [2] * 15 + [3] * 10 + [4] * 8 + [5] * 6 + [None]
    found = plots.flows_data(planted_model, classes)
    assert found.groups[1] == ["0", "1", "2", "3 others", "unknown"]
    assert found.counts.sum(axis=0).tolist() == [30, 20, 15, 24, 1]


def test_the_picture_names_and_counts_every_group(planted_model):
    ax = plots.plot_flows(planted_model, np.repeat(["$a$", "b"], 45), names=("found", "known"))
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0  (30)", "1  (30)", "2  (30)", "$a$  (45)", "b  (45)"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["found", "known"]
    ax.figure.canvas.draw()
    agreement = plots.flows_data(planted_model, np.repeat(["$a$", "b"], 45)).agreement
    assert f"Agreement {agreement:.2f}" in ax.get_title()


@pytest.mark.parametrize(
    ("other", "kind", "said"),
    [
        ([1, 2, 3], ValueError, "other has 3 labels, but the model has 90 entities"),
        ("classes", TypeError, "other is of type str"),
        (7, TypeError, "other is of type int"),
        (np.zeros((90, 2)), ValueError, r"other has shape \(90, 2\)"),
    ],
)
def test_what_is_no_answer_is_refused(planted_model, other, kind, said):
    with pytest.raises(kind, match=said):
        plots.flows_data(planted_model, other)


def test_names_must_be_two(planted_model):
    with pytest.raises(ValueError, match="names is not a pair of strings"):
        plots.plot_flows(planted_model, planted_model, names="ab")
