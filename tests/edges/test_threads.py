"""Threads share a search, and change nothing."""

import threading

import numpy as np
import pytest
from scipy import sparse

from rmgl.edges.nearest import without_common_tiles
from rmgl.edges.search import Rows
from rmgl.edges.within import visited_by
from rmgl.running.threads import one_by_one, one_part, team_of

N = 3000


def rows_of(kind):
    rng = np.random.default_rng(0)
    if kind == "sparse":
        return sparse.random_array((N, 200), density=0.05, format="csr", rng=0)
    if kind == "ties":
        return rng.integers(3, size=(N, 4)).astype(float)
    return rng.normal(size=(N, kind)) * 0.9 ** np.arange(kind)


@pytest.mark.parametrize("kind", [16, 128, "sparse", "ties"])
def test_the_number_of_threads_does_not_matter(kind, monkeypatch):
    monkeypatch.setattr("rmgl.edges.bounds.AXES_SAMPLE", 500)
    X, everyone, some = rows_of(kind), np.arange(N), np.arange(0, N, 7)
    found = []
    for n_threads in (1, 2, 3):
        with team_of(n_threads) as team:
            rows = team.searching(Rows.of(X))
            neighbors, bounds = rows.nearest(everyone, 20)
            few, _ = rows.nearest(some, 20)
            radii = bounds / 3
            pairs = [rows.within(nodes, radii) for nodes in (everyone, some)]
        arrays = [neighbors, bounds, few, *(ends for two in pairs for ends in two)]
        found.append([array.tobytes() for array in arrays])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("offset", [0, 1, 2, 3, 7, 12])
def test_pairs_of_tiles_at_one_time_have_no_common_tile(offset):
    tiles = np.arange(13 - offset)
    parts = list(without_common_tiles(tiles, offset))
    assert sorted(np.concatenate(parts).tolist()) == tiles.tolist()
    for part in parts:
        used = np.concatenate([part, part + offset]) if offset else part
        assert np.unique(used).size == used.size


@pytest.mark.parametrize("n_tiles", [1, 2, 3, 8, 9])
def test_every_pair_of_tiles_is_visited_once(n_tiles):
    visits = np.array([visited_by(index, n_tiles) for index in range(n_tiles)])
    assert visits.diagonal().all()
    assert (np.triu(visits, 1) ^ np.tril(visits, -1).T)[np.triu_indices(n_tiles, 1)].all()
    assert np.ptp(visits.sum(axis=1)) <= 1


def test_items_are_taken_by_threads_that_are_free():
    began = threading.Event()

    def work(item):
        if item == 0:
            assert began.wait(60)  # until the other thread has taken the next item
        else:
            began.set()
        return 10 * item

    with team_of(2) as team:
        assert one_by_one(team.in_parts, work, range(9)) == [10 * item for item in range(9)]
    assert one_by_one(one_part, str, []) == []


def test_after_an_error_no_item_is_begun():
    begun = []

    def work(item):
        begun.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        one_by_one(one_part, work, range(5))
    assert begun == [0]
