"""The consensus of views from which entities are missing: when there is one, and its distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rmgl import RMGL
from rmgl.automatic.consensus import incomplete_space, where_views_overlap
from rmgl.automatic.spaces import Spaces
from rmgl.running.threads import team_of
from rmgl.views.views import Views
from tests.conftest import planted_views


def with_rows(n_rows, present):
    """Views of one column in which only the first rows are observed, so many as `present` says."""
    X = np.arange(float(n_rows))[:, None]
    observed = np.column_stack([np.arange(n_rows) < count for count in present])
    return Views.of([X] * len(present), observed=observed, everyone=False)


@pytest.mark.parametrize(
    ("present", "overlap"),
    [
        ((100, 71), True),  # 1 + 0.71^2 views in common, more than three quarters of two
        ((100, 70), False),
        # 4 * 0.71^2, more than two, which is less than three quarters of four
        ((71, 71, 71, 71), True),
        ((70, 70, 70, 70), False),
    ],
)
def test_entities_must_have_two_views_in_common_or_three_quarters_of_all(present, overlap):
    # views that two random entities have in common
    expected = sum((count / 100) ** 2 for count in present)
    assert (expected >= min(2, 0.75 * len(present))) == overlap
    assert where_views_overlap(with_rows(100, present)) == overlap


@pytest.mark.parametrize(("n_rows", "few"), [(5000, True), (5001, False)])
def test_incomplete_views_of_many_entities_have_no_consensus(n_rows, few):
    """It takes all pairs, which complete views do not need."""
    assert where_views_overlap(with_rows(n_rows, (n_rows, n_rows - 1))) == few
    assert where_views_overlap(with_rows(n_rows, (n_rows, n_rows)))


def incomplete(rng, n=40, columns=(3, 5, 2)):
    """Views of different units, each without some of the rows, as arrays and masks."""
    observed = rng.random((n, len(columns))) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    return [
        10.0**m * rng.normal(size=(n, width)) + 1.0 for m, width in enumerate(columns)
    ], observed


def by_definition(matrices, observed):
    """Sum over views of squared distances in units of half their mean; 0.7 of that mean where one
    of two entities lacks the view.
    """
    total = 0.0
    for X, own in zip(matrices, observed.T, strict=True):
        squared = cdist(X, X, "sqeuclidean")
        mean = squared[own][:, own].mean()
        total += np.where(np.outer(own, own), squared, 0.7 * mean) / (mean / 2)
    np.fill_diagonal(total, 0.0)
    return total


def test_a_missing_view_adds_seven_tenths_of_its_mean_squared_distance(rng):
    matrices, observed = incomplete(rng)
    views = Views.of(matrices, observed=observed)
    expected = by_definition(matrices, observed)
    np.testing.assert_allclose(
        incomplete_space(Spaces(views, None)).distances, expected, rtol=1e-9, atol=1e-9
    )
    with team_of(1) as team:
        spaces = Spaces.of(views, ["all"] * 3, team)
    np.testing.assert_allclose(incomplete_space(spaces).distances, expected, rtol=1e-9, atol=1e-9)


def test_new_rows_that_lack_views_have_the_distances_of_fitted_entities_that_lack_them():
    matrices, _ = planted_views(columns=(4, 5, 6))
    observed = np.ones((90, 3), dtype=bool)
    observed[::8, 1] = observed[1::8, 2] = False
    observed[2::16, 1:] = False
    model = RMGL(3, random_state=0, scale="none").fit(matrices, observed=observed)
    placement, consensus = (
        model.fitted_.placement(),
        next(layer for layer in model.layers_ if layer.role == "consensus"),
    )
    expected = by_definition(matrices.values(), observed)
    patterns = np.unique(observed, axis=0)
    assert len(patterns) == 4
    for pattern in patterns:
        rows = np.flatnonzero((observed == pattern).all(axis=1))
        found = placement.distances.with_missing(consensus, model.fitted_.views, rows, pattern)
        # an entity is at distance zero from itself, a new row need not be
        others = np.arange(90) != rows[:, None]
        np.testing.assert_allclose(found[others], expected[rows][others], rtol=1e-9, atol=1e-9)
