"""Coarser and finer clusters."""

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.results.clusters import levels_of, nestedness


def two_levels(seed=0):
    """Three distant groups of two clusters each, which touch: distant clusters are connected by no
    edge, so no coarser cut is better.
    """
    rng = np.random.default_rng(seed)
    fine = np.repeat(np.arange(6), 40)
    centers = 40 * np.eye(3)[np.arange(6) // 2] + np.where(np.arange(6) % 2, 1.3, -1.3)[:, None]
    return {name: centers[fine] + rng.normal(size=(240, 3)) for name in "ab"}, fine


def test_levels_go_from_coarse_to_fine_and_are_nested():
    views, fine = two_levels()
    model = RMGL("auto", random_state=0).fit(views)
    levels = model.hierarchy_
    assert [level.n_clusters for level in levels] == sorted(level.n_clusters for level in levels)
    (chosen,) = [level for level in levels if level.n_clusters == model.n_clusters_]
    np.testing.assert_array_equal(chosen.labels, model.labels_)
    assert {3, 6} <= {level.n_clusters for level in levels}
    (six,) = [level for level in levels if level.n_clusters == 6]
    assert nestedness(six.labels, fine) == 1.0
    assert six.nested == levels[0].nested == 1.0
    assert six.stability > 0.95


def test_a_given_number_has_no_hierarchy():
    assert RMGL(3, random_state=0).fit(two_levels()[0]).hierarchy_ == []


def test_evidence_without_parts_has_no_levels():
    values = np.array([0.5, 0.4])
    number = NumberOfClusters(2, np.array([2, 3]), values, values, values)
    assert levels_of(number, np.zeros(5, dtype=int), np.empty(0, dtype=int)) == []


def test_entities_that_were_placed_have_no_label_on_other_levels():
    values = np.array([0.5, 0.4])
    parts = np.array([[0, 0, 1, 1], [0, 1, 2, 2]])
    number = NumberOfClusters(2, np.array([2, 3]), values, values, values, np.array([2, 3]), parts)
    coarse, fine = levels_of(number, np.array([0, 0, 0, 1, 1]), np.array([1]))
    assert coarse.labels.tolist() == [0, 0, 0, 1, 1]  # the chosen level has the labels of the model
    assert fine.labels.tolist() == [0, -1, 1, 2, 2]
    assert (coarse.nested, fine.nested) == (1.0, 1.0)
    assert (coarse.stability, fine.stability) == (0.5, 0.4)


@pytest.mark.parametrize(
    ("fine", "coarse", "share"), [([0, 1, 2], [0, 0, 0], 1.0), ([0, 0, 0, 0], [0, 1, 1, 1], 0.75)]
)
def test_nestedness(fine, coarse, share):
    assert nestedness(np.array(fine), np.array(coarse)) == share
