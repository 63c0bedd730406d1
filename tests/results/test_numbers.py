"""What the report says about the range of the number of clusters."""

import csv
from importlib.resources import files

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.results.findings import Finding
from rmgl.results.numbers import calibration, reason_of
from tests.conftest import planted_views


def evidence(silhouette):
    """Evidence for three clusters."""
    values = ([2, 3], [0.1, 0.6], [0.1, 0.1], [0.9, 0.9])
    return NumberOfClusters(3, *map(np.array, values), silhouette=silhouette)


def test_the_calibration_has_shares_for_both_words():
    text = files("rmgl.results").joinpath("numbers.csv").read_text(encoding="utf-8")
    rows = {row["confidence"]: row for row in csv.DictReader(text.splitlines())}
    assert set(rows) == set(calibration()) == {"high", "low"}
    for row in rows.values():
        assert 0 <= float(row["exact"]) <= float(row["near"]) <= 1
        assert int(row["answers"]) > 10
    assert calibration()["high"][0] >= calibration()["low"][0]


@pytest.mark.parametrize(("silhouette", "word"), [(0.9, "high"), (0.5, "low")])
def test_the_reason_says_how_often_such_ranges_held_the_number_of_classes(silhouette, word):
    number = evidence(np.array([0.1, silhouette]))
    assert number.confidence == word
    inside, answers = calibration()[word]
    assert reason_of(number) == (
        f"{number.reason}. On public data sets with known classes, {inside:.0%} of "
        f"the {answers} ranges with this confidence included the number of classes"
    )


def test_nothing_is_known_about_ranges_of_earlier_versions():
    number = evidence(None)
    assert reason_of(number) == number.reason


def test_the_report_of_a_fit_has_the_range():
    views, _ = planted_views(sizes=(40, 40, 40), columns=(5, 6))
    model = RMGL("auto", random_state=0).fit(views)
    assert reason_of(model.number_) in str(model.report_)
    assert model.report_.n_clusters_reason == reason_of(model.number_)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([], "the number of clusters is uncertain"),
        ([3, 5], "the number of clusters is uncertain: 3 and 5 fit about as well as 4"),
        ([2, 3, 5, 6], "the number of clusters is uncertain: 2 to 6 fit about as well as 4"),
    ],
)
def test_an_uncertain_number_has_its_range(others, said):
    numbers = {"chosen": 4, "others": others}
    assert Finding("number uncertain", "warning", numbers=numbers).sentence == said
