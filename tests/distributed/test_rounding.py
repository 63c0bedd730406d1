"""The search over pairs of blocks allows for rounding as that on one machine does, and for the
rounding of centered rows.
"""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rmgl.distributed.blocks import Tiling
from rmgl.distributed.rows import DistributedRows
from rmgl.edges import bounds
from tests.distributed.test_search import remote
from tests.edges.test_rounding import (
    ARRANGEMENTS,
    LARGEST,
    along_few_axes,
    arranged,
    check_bounds,
    check_large_radii,
    check_pairs,
    missed,
)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bounds, "AXES_SAMPLE", 100)


def space(X):
    return DistributedRows(remote(X), Tiling(64, 2))


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_no_row_is_nearer_than_the_bound_unless_it_is_listed(small, arrangement, largest):
    check_bounds(space, arrangement, largest)


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("scaled", [False, True])
def test_no_pair_within_the_radii_is_missed(small, arrangement, largest, scaled):
    assert (space(arranged(arrangement, 1e-20, largest)).axes is not None) == (
        arrangement is along_few_axes
    )
    check_pairs(space, arrangement, largest, scaled)


def test_radii_too_large_for_single_precision_miss_no_pair():
    check_large_radii(space)


def test_rows_are_measured_as_they_are_given():
    """Far rows move the center, and subtracting it rounds the near ones."""
    rng = np.random.default_rng(0)
    X = np.vstack([1e-4 * rng.normal(size=(600, 2)), rng.normal(size=(40, 2)) + 1e13])
    square, nodes = cdist(X, X, "sqeuclidean"), np.arange(640)
    radii = np.sort(square, axis=1)[:, 9] / 2
    assert not missed(square < radii[:, None] + radii, nodes, *space(X).within(nodes, radii)).any()
