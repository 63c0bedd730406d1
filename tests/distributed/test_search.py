"""The search over pairs of blocks finds what the search on one machine finds. Tasks run at once in
this process: no workers are needed.
"""

import numpy as np
import pytest

from rmgl import RMGL
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.remote_matrix import RemoteMatrix, beside
from rmgl.distributed.rows import DistributedRows
from rmgl.edges import PairList
from rmgl.edges.bounds import tile_order
from rmgl.edges.search import Rows
from rmgl.edges.stores import union_of
from tests.distributed.conftest import AtOnce


def remote(X, chunk=170):
    bounds = (*range(0, len(X), chunk), len(X))
    return RemoteMatrix(AtOnce(), tuple(X[i : i + chunk] for i in bounds[:-1]), bounds, X.shape[1])


def groups(n, width, seed=0, distance=3.0):
    rng = np.random.default_rng(seed)
    return distance * rng.normal(size=(6, width))[rng.integers(6, size=n)] + rng.normal(
        size=(n, width)
    )


def with_copies(n=500, width=6):
    X = groups(n, width)
    X[n // 2 : n // 2 + 40] = X[:40]
    X[-20:] += 1e4  # far from the others, so that single precision does not suffice
    return X


CASES = {
    "few columns": (groups(600, 5), Tiling(32, 2)),
    "one block": (groups(300, 4), Tiling(512, 2)),
    "blocks smaller than lists": (groups(200, 3), Tiling(8, 2)),
    "copies, far rows": (with_copies(), Tiling(32, 3)),
    "leading columns": (groups(4100, 66, distance=1.0) * np.linspace(1, 0.02, 66), Tiling(512, 2)),
    "tiny numbers": (1e-12 * groups(300, 4), Tiling(32, 2)),
}


@pytest.fixture(params=CASES, scope="module")
def spaces(request):
    X, tiling = CASES[request.param]
    return request.param, DistributedRows(remote(X, 170), tiling), Rows.of(X)


def pairs_of(left, right):
    return {(min(pair), max(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)}


def test_nearest_rows_and_bounds(spaces):
    name, rows, local = spaces
    nodes = np.arange(rows.n_rows)
    assert (rows.axes is not None) == (name == "leading columns")
    for length in (4, 30):
        found, bounds = rows.nearest(nodes, length)
        assert not (found == nodes[:, None]).any()
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()
        distances = np.sort(local.distances_to(nodes, found), axis=1)
        expected = np.sort(local.distances_to(nodes, local.nearest(nodes, length)[0]), axis=1)
        np.testing.assert_allclose(distances, expected, rtol=2e-5, atol=1e-9 * expected.max())
        assert (bounds <= distances[:, -1] * (1 + 1e-12)).all()
        assert np.median(bounds / np.maximum(distances[:, -1], 1e-300)) > 0.98


def test_all_pairs_within_radii(spaces):
    _, rows, local = spaces
    nodes, rng = np.arange(rows.n_rows), np.random.default_rng(1)
    radii, scales = (
        local.nearest(nodes, 5)[1] * rng.uniform(0.3, 0.7, rows.n_rows),
        rng.uniform(0.9, 1.1, rows.n_rows),
    )
    radii[3] = np.inf
    for chosen in (nodes, nodes[::3], nodes[:7]):
        found, expected = (
            pairs_of(*space.within(chosen, radii, scales)) for space in (rows, local)
        )
        reach = np.where(np.isfinite(radii), radii, 0.0)
        for left, right in (
            found ^ expected
            # only pairs at the very edge, which rounding may add, or pairs of rows that were not
            # asked for
        ):
            z = float(local.distances_to(np.array([left]), np.array([[right]]))[0, 0])
            limit = scales[left] * scales[right] * (reach[left] + reach[right])
            assert not {left, right} & set(chosen.tolist()) or z >= limit
        assert len(found ^ expected) <= max(5, 0.01 * len(expected))


def test_distances_of_listed_pairs(spaces):
    _, rows, local = spaces
    nodes = np.arange(rows.n_rows)
    neighbors = local.nearest(nodes, 6)[0]
    edges = PairList(union_of(np.repeat(nodes, 6), neighbors.ravel(), rows.n_rows))
    scale = local.measure(edges).max()
    np.testing.assert_allclose(
        rows.measure(edges), local.measure(edges), rtol=1e-10, atol=1e-13 * scale
    )
    np.testing.assert_allclose(
        rows.distances_to(nodes, neighbors),
        local.distances_to(nodes, neighbors),
        rtol=1e-10,
        atol=1e-13 * scale,
    )


def test_tiles_are_those_of_one_machine():
    X = groups(700, 4)
    X -= X.mean(axis=0)
    rows = DistributedRows(remote(X), Tiling(32, 3))
    np.testing.assert_array_equal(
        rows.order, tile_order(rows.matrix.rows(np.arange(700)) - rows.matrix.mean, 32)
    )
    assert np.diff(rows.starts).max() <= 96


def test_far_blocks_are_not_compared():
    X = np.repeat(np.arange(4.0), 100)[:, None] * 1e3 + np.random.default_rng(0).normal(
        size=(400, 3)
    )
    rows = DistributedRows(remote(X), Tiling(50, 2))
    rows.nearest(np.arange(400), 5)
    assert len(rows.blocks) == 4
    assert "rmgl-nearest-across-blocks" not in rows.workers.names


def test_cuts_depend_on_the_number_of_rows_alone():
    sizes = {
        n: Tiling.of(n).block_tiles * Tiling.of(n).tile for n in (600, 30_000, 1_000_000, 10**8)
    }
    assert sizes == {600: 8192, 30_000: 8192, 1_000_000: 65_536, 10**8: 390_656}


def test_all_neighbors_of_few_rows():
    rows = DistributedRows(remote(groups(6, 2)), Tiling(2, 2))
    found, bounds = rows.nearest(np.arange(6), 9)
    assert sorted(found[0].tolist()) == [1, 2, 3, 4, 5]
    assert np.isinf(bounds).all()


def test_matrices_with_other_chunks_side_by_side():
    X, Y = groups(500, 3), groups(500, 4, seed=1)
    both = beside([remote(X, 130), remote(Y, 77)], [2.0, 0.5])
    np.testing.assert_array_equal(
        both.rows(np.arange(500)[::-1]), np.hstack([2.0 * X, 0.5 * Y])[::-1]
    )
    assert both.bounds == (0, 77, 154, 231, 308, 385, 462, 500)  # of the one with more chunks


def test_what_workers_cannot_leave_out():
    rows = DistributedRows(remote(groups(50, 2)), Tiling(8, 2))
    assert rows.among(None) is rows
    with pytest.raises(ValueError, match="workers"):
        rows.among(np.arange(3))


def test_neighbors_of_some_rows_are_those_of_all():
    rows = DistributedRows(remote(groups(50, 2)), Tiling(8, 2))
    some, (found, bounds), (of_all, bounds_of_all) = (
        np.array([3, 17, 40]),
        rows.nearest(np.array([3, 17, 40]), 4),
        rows.nearest(np.arange(50), 4),
    )
    np.testing.assert_array_equal(found, of_all[some])
    np.testing.assert_array_equal(bounds, bounds_of_all[some])
    np.testing.assert_allclose(
        rows.distances_to(some, found), rows.distances_to(np.arange(50), of_all)[some], rtol=1e-12
    )


def test_views_that_only_workers_read_need_a_client(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((60, 2)))
    with pytest.raises(ValueError, match="there is no client"):
        RMGL(2).fit([tmp_path / "rows.npy"])
