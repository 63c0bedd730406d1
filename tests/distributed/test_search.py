"""The search over pairs of blocks finds what the search on one machine finds. Tasks run at once in
this process: no workers are needed.
"""

import numpy as np
import pytest

from rmgl.distributed.blocks import rows_of_block
from rmgl.distributed.searched_rows import SearchedRows
from rmgl.edges.search import Rows
from tests.distributed.conftest import AtOnce


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
    "few columns": (groups(600, 5), (32, 2)),
    "one block": (groups(300, 4), (512, 2)),
    "blocks smaller than lists": (groups(200, 3), (8, 2)),
    "copies, far rows": (with_copies(), (32, 3)),
    "leading columns": (groups(4100, 66, distance=1.0) * np.linspace(1, 0.02, 66), (512, 2)),
    "tiny numbers": (1e-12 * groups(300, 4), (32, 2)),
}


@pytest.fixture(params=CASES)
def spaces(request, small_tiles):
    X, cut = CASES[request.param]
    small_tiles(*cut)
    rows = Rows.of(X)
    return request.param, SearchedRows.of_rows(AtOnce(), rows), rows


def pairs_of(left, right):
    return {(min(pair), max(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)}


def test_nearest_rows_and_bounds(spaces):
    name, rows, local = spaces
    nodes = np.arange(rows.n_rows)
    assert (rows.starts.size == 2) == (name == "one block")
    assert (rows._leading is not None) == (name == "leading columns")
    for length in (4, 30):
        found, bounds = rows.nearest(nodes, length)
        assert not (found == nodes[:, None]).any()
        assert (np.diff(np.sort(found, axis=1), axis=1) > 0).all()
        expected, expected_bounds = local.nearest(nodes, length)
        distances, wanted = (
            np.sort(local.distances_to(nodes, lists), axis=1) for lists in (found, expected)
        )
        np.testing.assert_allclose(distances, wanted, rtol=2e-5, atol=1e-9 * wanted.max())
        np.testing.assert_allclose(bounds, expected_bounds, rtol=2e-5, atol=1e-9 * wanted.max())
        assert (bounds <= distances[:, -1] * (1 + 1e-12)).all()


def test_all_pairs_within_radii(spaces):
    _, rows, local = spaces
    nodes, rng = np.arange(rows.n_rows), np.random.default_rng(1)
    radii = local.nearest(nodes, 5)[1] * rng.uniform(0.3, 0.7, rows.n_rows)
    scales = rng.uniform(0.9, 1.1, rows.n_rows)
    radii[3] = np.inf
    for chosen in (nodes, nodes[::3], nodes[:7]):
        found, expected = (
            pairs_of(*space.within(chosen, radii, scales)) for space in (rows, local)
        )
        reach = np.where(np.isfinite(radii), radii, 0.0)
        # rounding may add pairs at the very edge
        for left, right in found ^ expected:
            z = float(local.distances_to(np.array([left]), np.array([[right]]))[0, 0])
            limit = scales[left] * scales[right] * (reach[left] + reach[right])
            assert not {left, right} & set(chosen.tolist()) or z >= limit
        assert len(found ^ expected) <= max(5, 0.01 * len(expected))


def test_far_blocks_are_not_compared(small_tiles):
    small_tiles(50, 2)
    X = np.repeat(np.arange(4.0), 100)[:, None] * 1e3
    X = X + np.random.default_rng(0).normal(size=(400, 3))
    workers = AtOnce()
    rows = SearchedRows.of_rows(workers, Rows.of(X))
    rows.nearest(np.arange(400), 5)
    assert workers.names.count("rmgl-nearest-inside-block") >= rows.starts.size - 1 == 4
    assert "rmgl-nearest-across-blocks" not in workers.names


def test_blocks_are_sent_once_however_often_they_are_searched(small_tiles):
    small_tiles(32, 2)
    workers = AtOnce()
    rows = SearchedRows.of_rows(workers, Rows.of(groups(600, 5)))
    nodes = np.arange(600)
    for _ in range(2):
        _, bounds = rows.nearest(nodes, 5)
        rows.within(nodes, bounds)
    assert workers.names.count("rmgl-tiled-block") == rows.starts.size - 1 == 10


def test_cuts_depend_on_the_number_of_rows_alone():
    sizes = {n: rows_of_block(n) for n in (600, 30_000, 1_000_000, 10**8)}
    assert sizes == {600: 8192, 30_000: 8192, 1_000_000: 65_536, 10**8: 390_656}


def test_all_neighbors_of_few_rows(small_tiles):
    small_tiles(2, 2)
    rows = SearchedRows.of_rows(AtOnce(), Rows.of(groups(6, 2)))
    found, bounds = rows.nearest(np.arange(6), 9)
    assert sorted(found[0].tolist()) == [1, 2, 3, 4, 5]
    assert np.isinf(bounds).all()
