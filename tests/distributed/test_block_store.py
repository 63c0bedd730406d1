"""The pair store of pairs on workers answers like the store of listed pairs on one machine. Tasks
run at once: no workers are needed.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmgl.checks import Unsound
from rmgl.distributed import block_store, pair_tasks, workers
from rmgl.distributed.block_store import BlockCosts
from rmgl.distributed.blocks import Tiling
from rmgl.distributed.remote_matrix import RemoteMatrix
from rmgl.distributed.rows import DistributedRows
from rmgl.edges import Candidates, find_candidates
from rmgl.edges.search import Rows
from rmgl.edges.stores import PairList
from rmgl.layer import Origin, solve_certified
from rmgl.layer.wanted_edges import solve_for_edges
from tests.distributed.conftest import AtOnce

N = 400
RNG = np.random.default_rng(0)
X = 2 * RNG.normal(size=(5, 4))[RNG.integers(5, size=N)] + RNG.normal(size=(N, 4))
X[50:60] = X[:10]  # copies


def on_workers(Y, chunk=150):
    bounds = (*range(0, len(Y), chunk), len(Y))
    return RemoteMatrix(AtOnce(), tuple(Y[i : i + chunk] for i in bounds[:-1]), bounds, Y.shape[1])


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pair_tasks, "LEAST_ROWS", 120)
    monkeypatch.setattr(workers, "PIECE_BYTES", 8 * 150)
    monkeypatch.setattr(block_store, "PIECE_BYTES", 3000)
    monkeypatch.setattr(block_store, "MOST_COSTS", 50)


@pytest.fixture
def both():
    """Candidates on workers, and on one machine."""
    remote = find_candidates(
        "a", DistributedRows(on_workers(X), Tiling(32, 2)), None, 12, local=True
    )
    return remote, find_candidates("a", Rows.of(X), None, 12, local=True)


class Kept(dict):
    """A checkpoint in memory."""

    def step(self, name, work, check):
        if name in self:
            check(self[name])
            return self[name]
        return self.setdefault(name, work())


def test_searches_are_kept_block_by_block(monkeypatch):
    kept, searched = Kept(), []
    for method in ("_search_lists", "_search_within"):
        search = getattr(DistributedRows, method)
        monkeypatch.setattr(
            DistributedRows,
            method,
            lambda *given, method=method, search=search: searched.append(method) or search(*given),
        )

    def layer_of(checkpoint):
        space = DistributedRows(on_workers(X), Tiling(32, 2), checkpoint)
        return solve_for_edges(Origin("a"), find_candidates("a", space, None, 12, local=True), 8)

    (wider, whole), (grown, other) = layer_of(None), layer_of(kept)
    assert set(searched) == {"_search_lists", "_search_within"}
    of_blocks = [name for name in kept if name.startswith("nearest-")]
    assert len(of_blocks) == len(wider.neighborhoods.space.blocks) > 1
    searched.clear()
    resumed, again = layer_of(kept)
    assert not searched
    del kept[of_blocks[1]], kept[next(name for name in kept if name.startswith("within-"))]
    _, partly = layer_of(kept)  # it was killed before all blocks were kept
    assert sorted(searched) == ["_search_lists", "_search_within"]
    for candidates in (grown, resumed):
        np.testing.assert_array_equal(
            gathered(candidates.edges, candidates.distances)[1],
            gathered(wider.edges, wider.distances)[1],
        )
    for layer in (other, again, partly):
        np.testing.assert_array_equal(layer.adjacency.toarray(), whole.adjacency.toarray())


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [("nearest", "neighbors", N), ("within", "left", -1), ("within", "left", N - 1)],
)
def test_kept_searches_of_blocks_are_checked(kind, field, value):
    kept = Kept()
    space = DistributedRows(on_workers(X), Tiling(32, 2), kept)
    find_candidates("a", space, None, 12, local=True).neighborhoods.widened(
        np.arange(N), np.full(N, 1.0)
    )
    found = kept[
        next(name for name in kept if name.startswith(f"{kind}-") and kept[name][field].size)
    ]
    found[field] = found[field].copy()
    found[field].reshape(-1)[0] = value
    with pytest.raises(Unsound):
        find_candidates("a", space, None, 12, local=True).neighborhoods.widened(
            np.arange(N), np.full(N, 1.0)
        )


def gathered(store, costs):
    """The costs of a block store as those of a list of pairs, and that list: the slow and obvious
    way.
    """
    blocks = store.blocks
    rows = np.concatenate([np.repeat(block.nodes, block.degrees) for block in blocks])
    columns = np.concatenate([block.needed[block.edges.indices] for block in blocks])
    numbered = sparse.csr_array(
        (np.arange(1, rows.size + 1), (rows, columns)), shape=(store.n_nodes, store.n_nodes)
    )
    numbered.sort_indices()
    return PairList(numbered), np.concatenate(costs.parts)[numbered.data - 1]


def test_the_pairs_and_costs_of_one_machine(both):
    remote, local = both
    store = remote.edges
    assert len(store.blocks) == 3
    assert sorted(np.concatenate(store.nodes).tolist()) == list(range(N))
    edges, costs = gathered(store, remote.distances)
    np.testing.assert_array_equal(edges.indptr, local.edges.indptr)
    np.testing.assert_array_equal(edges.indices, local.edges.indices)
    np.testing.assert_allclose(costs, local.distances, rtol=1e-12)
    assert (store.n_pairs, store.max_degree) == (edges.n_pairs, edges.max_degree)
    np.testing.assert_array_equal(store.degrees, np.diff(edges.indptr))
    np.testing.assert_allclose(remote.neighborhoods.radii, local.neighborhoods.radii, rtol=1e-6)
    for own, expected in zip(
        vars(remote.scaling).values(), vars(local.scaling).values(), strict=True
    ):
        np.testing.assert_allclose(own, expected, rtol=1e-12)


def test_every_question_of_a_solver(both):
    """The answers are the same to the last bit, where costs are; only sums over blocks are rounded
    in another way.
    """
    store, costs = both[0].edges, both[0].distances
    edges, vector = gathered(store, costs)
    rng = np.random.default_rng(1)
    u = rng.uniform(0.3, 0.9, N)
    own, expected = store.evaluate(u, costs), edges.evaluate(u, vector)
    assert expected.counts.any()
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(own, name), value)
    v = rng.normal(size=N)
    own_pairs, pairs = (
        store.active_pairs(u, costs, own.counts),
        edges.active_pairs(u, vector, own.counts),
    )
    np.testing.assert_array_equal(own_pairs(v), pairs(v))
    assert (own_pairs.passes, own_pairs.passes_per_product) == (
        pairs.passes,
        pairs.passes_per_product,
    )
    weights = edges.active(u, vector, 0.05)
    found = store.active(u, costs, 0.05)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(weights, name))
    assert store.inner(costs, weights) == edges.inner(vector, weights)
    assert (store.least(costs), store.largest(costs)) == (vector.min(), vector.max())
    for size in (10, 300, 10**6):
        np.testing.assert_array_equal(store.sample(costs, size), edges.sample(vector, size))
    for share in (0.0, 0.01, 0.3, 0.9):
        ours, theirs = store.cheapest(costs, share), edges.cheapest(vector, share)
        assert ours.excess == pytest.approx(theirs.excess, rel=1e-9, abs=1e-9)
        assert ours.mean == pytest.approx(theirs.mean, rel=1e-12)


def test_costs_and_their_arithmetic(both):
    store, costs = both[0].edges, both[0].distances
    edges, vector = gathered(store, costs)
    Q = np.random.default_rng(2).normal(size=(N, 3))
    spread = store.measure(Q)
    np.testing.assert_array_equal(gathered(store, spread)[1], edges.measure(Q))
    mixed = costs + np.float64(0.5) * spread * 2 - 0.25 * spread
    np.testing.assert_allclose(
        gathered(store, mixed)[1], vector + 0.75 * edges.measure(Q), rtol=1e-12, atol=1e-12
    )
    turned = spread * (1.0 - 0.5 * spread)
    np.testing.assert_allclose(
        gathered(store, turned)[1],
        edges.measure(Q) * (1 - edges.measure(Q) / 2),
        rtol=1e-12,
        atol=1e-12,
    )
    scales, floors = np.random.default_rng(3).uniform(0.5, 2, (2, N))
    ours = gathered(store, store.localized(spread, scales, floors))[1]
    np.testing.assert_allclose(ours, edges.localized(edges.measure(Q), scales, floors), rtol=1e-12)
    with pytest.raises(ValueError, match="workers"):
        store.entries_of(np.zeros((N, N)))


def test_equal_costs_have_a_rank_and_stay_with_the_workers(both):
    store = both[0].edges
    flat = 0.0 * both[0].distances + 2.0
    store.workers.received.clear()
    assert vars(store.cheapest(flat, 0.2)) == pytest.approx({"excess": 0.0, "mean": 2.0})
    # counts of the three blocks, and no costs
    assert max(store.workers.received) < 3 * 256 * 8 + 1000


def test_an_embedding_is_measured_in_few_strips(both, monkeypatch):
    """However many pieces it is sent in; the numbers are the same to the last bit."""
    store, Q = both[0].edges, np.random.default_rng(2).normal(size=(N, 3))
    monkeypatch.setattr(workers, "PIECE_BYTES", 8 * 3 * 7)
    store.workers.names.clear()
    in_strips = store.measure(Q)
    assert store.workers.names.count("rmgl-measure-strip") == 3 * 15  # 58 pieces, four to a strip
    monkeypatch.setattr(block_store, "MOST_STRIPS", 1000)
    for own, expected in zip(in_strips.parts, store.measure(Q).parts, strict=True):
        np.testing.assert_array_equal(own, expected)


def test_active_pairs_take_the_sums_of_the_last_evaluation(both):
    store, costs, u = both[0].edges, both[0].distances, np.full(N, 0.6)
    counts = store.evaluate(u, costs).counts
    store.workers.names.clear()
    store.active_pairs(u, costs, counts)
    assert set(store.workers.names) == {"rmgl-active-pairs"}


def test_threads_of_the_client_multiply_active_pairs(both, monkeypatch):
    store, costs, u, calls = both[0].edges, both[0].distances, np.full(N, 0.6), []
    counts, v = store.evaluate(u, costs).counts, np.random.default_rng(4).normal(size=N)
    expected = store.active_pairs(u, costs, counts)(v)

    def in_halves(work, n_rows):
        calls.append(n_rows)
        return [work(0, n_rows // 2), work(n_rows // 2, n_rows)]

    monkeypatch.setattr(store.workers, "in_parts", in_halves)
    np.testing.assert_array_equal(store.active_pairs(u, costs, counts)(v), expected)
    assert not calls  # too few pairs for threads
    monkeypatch.setattr(block_store, "PARALLEL_ENTRIES", 10)
    np.testing.assert_array_equal(store.active_pairs(u, costs, counts)(v), expected)
    assert calls == [N]


def test_products_of_active_pairs_that_stay_with_the_workers(both, monkeypatch):
    store, costs = both[0].edges, both[0].distances
    u, v = np.full(N, 0.6), np.random.default_rng(4).normal(size=N)
    counts = store.evaluate(u, costs).counts
    expected = store.active_pairs(u, costs, counts)(v)
    monkeypatch.setattr(block_store, "MOST_ACTIVE_SHARE", 0.0)
    np.testing.assert_array_equal(store.active_pairs(u, costs, counts)(v), expected)
    traffic = store.workers.traffic.requests
    assert traffic["product"] == (1, 8 * N, 8 * N)
    assert traffic["evaluation"] == (1, 8 * N, 20 * N)
    assert traffic["active pairs"] == (1, 0, 4 * int(counts.sum()))
    assert "evaluation: 1 requests" in str(store.workers.traffic)


def test_a_layer_and_its_certificate(both):
    """Both find the layer of a wanted number of edges, widening radii, with a guide and without."""
    guide = np.random.default_rng(5).normal(size=(N, 2)) / 5
    results = []
    for candidates in both:
        first, layer = solve_for_edges(Origin("a"), candidates, 8)
        again = solve_certified(
            Origin("a"), first.guided(guide), layer.alpha, tol=1e-10, start=layer.potentials
        )
        results.append((first, layer, *again))
    for own, expected in zip(results[0][1::2], results[1][1::2], strict=True):
        assert (own.status, own.candidates, own.n_iter) == (
            expected.status,
            expected.candidates,
            expected.n_iter,
        )
        assert own.n_passes == pytest.approx(expected.n_passes, rel=0.05)
        assert abs(own.adjacency - expected.adjacency).max() <= 1e-11
    store, edges = results[0][0].edges, results[1][0].edges
    assert store.n_pairs > both[0].edges.n_pairs
    # rounding may add pairs at the very edge of the radii
    assert abs(store.n_pairs - edges.n_pairs) <= 5


def test_the_client_never_receives_all_candidates(both, monkeypatch):
    """Whatever it asks for in a search and two solutions is far less than the pairs with one cost
    each.
    """
    monkeypatch.setattr("rmgl.layer.newton.SAMPLED_COSTS", 1000)
    candidates, layer = solve_for_edges(Origin("a"), both[0], 8)
    solve_certified(Origin("a"), candidates.guided(X / 10), layer.alpha, start=layer.potentials)
    assert layer.exact
    assert max(candidates.edges.workers.received) < 2 * candidates.edges.n_pairs * (4 + 8) / 3


@pytest.mark.parametrize("last", [False, True], ids=["another guide may follow", "the last guide"])
def test_extended_candidates_have_the_costs_of_candidates_measured_anew(both, last):
    """Only new pairs are measured; where there are none, costs stay as they are."""
    guide = X / 10
    first = (
        both[0]
        .with_added(lambda edges, check: 0.5 * edges.measure(guide))
        .guided(guide, is_last=last)
    )
    u = first.neighborhoods.radii * np.where(np.arange(N) % 3 == 0, 1.5, 0.5)
    wider = first.extended(u)
    growth = wider.growth
    assert 0 < growth.pairs.n_pairs == wider.edges.n_pairs - first.edges.n_pairs
    anew = Candidates.certified(wider.neighborhoods).with_added(*first.added).guided(guide)
    expected = gathered(wider.edges, anew.distances)[1]
    np.testing.assert_array_equal(gathered(wider.edges, wider.distances)[1], expected)
    np.testing.assert_array_equal(
        gathered(growth.pairs, growth.new_of(wider.distances))[1],
        expected[gathered_mask(growth, wider.edges)],
    )
    assert (wider.unguided is None) == last
    assert wider.neighborhoods.growth is None
    assert wider.extended(0.5 * u) is wider
    same, growth = wider.neighborhoods.space.with_pairs_within(
        wider.edges, np.arange(3), np.zeros(N), None, lambda: None
    )
    assert (same.n_pairs, growth.pairs.n_pairs) == (wider.edges.n_pairs, 0)
    carried = growth.carried(wider.distances, growth.new_of(wider.distances))
    np.testing.assert_array_equal(gathered(same, carried)[1], expected)


def gathered_mask(growth, edges):
    """Which pairs are new, in the order of a list of pairs."""
    return gathered(edges, BlockCosts(edges.workers, growth.is_new))[1]


def pairs_of(blocks):
    """The sorted pairs of nodes and their neighbors."""
    pairs = np.column_stack(
        [np.concatenate([block.pairs[side] for block in blocks]) for side in (0, 1)]
    )
    return pairs[np.lexsort(pairs.T[::-1])]


def test_neighbors_and_what_is_refused(both):
    remote, local = both
    space = remote.neighborhoods.space
    wider, layer = solve_for_edges(Origin("a"), remote, 8)
    np.testing.assert_array_equal(
        pairs_of(wider.nearest(space, 5)), pairs_of(local.nearest(Rows.of(X), 5))
    )
    assert wider.nearest(space, 300) is None
    with pytest.raises(ValueError, match="known labels"):
        remote.neighborhoods.with_pairs(sparse.csr_array((N, N)))
    assert remote.pruned(layer.potentials) is remote
    unscaled = find_candidates("a", space, None, 12)
    np.testing.assert_allclose(
        unscaled.neighborhoods.radii,
        find_candidates("a", Rows.of(X), None, 12).neighborhoods.radii,
        rtol=1e-6,
    )
    assert (
        replace(unscaled.neighborhoods, radii=np.full(N, np.inf))
        .extended(layer.potentials, None, None)
        .edges
        is unscaled.edges
    )


def test_blocks_of_pairs_depend_on_rows_alone(monkeypatch):
    monkeypatch.setattr(pair_tasks, "LEAST_ROWS", 100)
    assert pair_tasks.grouped(np.array([0, 60, 120, 180, 200])) == [range(0, 2), range(2, 4)]
    assert pair_tasks.grouped(np.array([0, 100, 200, 240])) == [range(0, 1), range(1, 3)]
    assert pair_tasks.grouped(np.array([0, 30])) == [range(0, 1)]
