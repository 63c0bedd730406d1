"""The search over pairs of blocks allows for rounding as that on one machine does."""

import pytest

from rmgl.distributed.searched_rows import SearchedRows
from rmgl.edges import bounds
from rmgl.edges.search import Rows
from tests.distributed.conftest import AtOnce
from tests.edges.test_rounding import (
    ARRANGEMENTS,
    LARGEST,
    along_few_axes,
    arranged,
    check_bounds,
    check_large_radii,
    check_pairs,
)


@pytest.fixture
def small(monkeypatch, small_tiles):
    monkeypatch.setattr(bounds, "AXES_SAMPLE", 100)
    small_tiles(64, 2)


def space(X):
    return SearchedRows.of_rows(AtOnce(), Rows(X))


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_no_row_is_nearer_than_the_bound_unless_it_is_listed(small, arrangement, largest):
    check_bounds(space, arrangement, largest)


@pytest.mark.parametrize("largest", LARGEST)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("scaled", [False, True])
def test_no_pair_within_the_radii_is_missed(small, arrangement, largest, scaled):
    assert (space(arranged(arrangement, 1e-20, largest))._leading is not None) == (
        arrangement is along_few_axes
    )
    check_pairs(space, arrangement, largest, scaled)


def test_radii_too_large_for_single_precision_miss_no_pair(small):
    check_large_radii(space)
