"""Nearest-neighbor candidates: the certificate, and equality with the solution over all pairs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform

from rmgl import RMGL, learn_layer
from rmgl.checks import Unsound
from rmgl.edges import Neighborhoods, PairList, find_candidates, resolve
from rmgl.edges.bounds import TILE
from rmgl.edges.candidates import expected_neighbors
from rmgl.edges.local_scaling import LocalScaling
from rmgl.edges.neighborhoods import first_radii
from rmgl.edges.search import fits_single
from rmgl.edges.space import Rows
from rmgl.edges.within import FoundPairs
from rmgl.layer import Origin
from rmgl.layer.certified import solve_certified
from rmgl.layer.wanted_edges import solve_for_edges
from tests.conftest import planted_views


def adversaries():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(150, 3))
    hub = np.vstack(
        [
            rng.normal(size=(149, 3))
            / np.linalg.norm(rng.normal(size=(149, 3)), axis=1, keepdims=True),
            np.zeros((1, 3)),
        ]
    )
    duplicates = plain.copy()
    duplicates[:60] = duplicates[0]
    outliers = plain.copy()
    outliers[:3] += 1e4
    densities = np.vstack(
        [
            1e-3 * rng.normal(size=(50, 3)),
            rng.normal(size=(50, 3)) + 10,
            100 * rng.normal(size=(50, 3)) - 500,
        ]
    )
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    return {
        "plain": plain,
        "hub": hub,
        "duplicates": duplicates,
        "far outliers": outliers,
        "densities": densities,
        "grid of ties": grid,
    }


@pytest.mark.parametrize("name", adversaries())
@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("length", [1, 5, 20])
def test_certified_layers_are_those_over_all_pairs(name, share, length):
    X = adversaries()[name]
    alpha = share * np.median(pdist(X, "sqeuclidean"))
    everything = learn_layer(X, alpha, candidates="all")
    certified = learn_layer(X, alpha, candidates=length)
    assert everything.exact
    assert everything.candidates == "all pairs"
    assert certified.exact
    assert certified.candidates == "certified"
    assert certified.status == "converged"
    assert certified.objective == pytest.approx(everything.objective, rel=1e-8)
    np.testing.assert_allclose(
        certified.adjacency.toarray(), everything.adjacency.toarray(), atol=1e-7
    )
    sharp = learn_layer(X, alpha, candidates=length, start=everything.potentials, tol=1e-11)
    np.testing.assert_allclose(sharp.adjacency.toarray(), everything.adjacency.toarray(), atol=1e-8)


def test_rows_too_far_out_for_single_precision_do_not_break_the_certificate():
    """Two groups so far out that their distances vanish in single precision, in a cloud that fits
    it.
    """
    cloud = (
        np.stack(np.meshgrid(np.arange(32), np.arange(32)), axis=-1).reshape(-1, 2)[:1018] * 1.14
    )
    apart = 1.7e7 + np.array([0.9, 0.95, 1.05, 1.1])
    X = np.vstack(
        [cloud - cloud.mean(axis=0), np.c_[apart, np.zeros(4)], np.c_[-apart, np.zeros(4)]]
    )
    everything = learn_layer(X, 0.3, candidates="all", tol=1e-9)
    certified = learn_layer(X, 0.3, candidates=1, tol=1e-9)
    assert certified.candidates == "certified"
    assert certified.objective == pytest.approx(everything.objective, rel=1e-8)
    assert abs(certified.adjacency - everything.adjacency).max() < 1e-6


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["plane", "clusters", "duplicates"])
def test_certified_layers_of_several_tiles(name, kind):
    X = searched(name)
    alpha = 0.02 * np.median(pdist(X, "sqeuclidean"))
    everything, certified = (
        learn_layer(X, alpha, candidates="all"),
        learn_layer(kind(X), alpha, candidates=3),
    )
    assert certified.candidates == "certified"
    assert certified.objective == pytest.approx(everything.objective, rel=1e-8)


def test_pairs_beyond_memory_are_refused(monkeypatch):
    from rmgl.running import threads

    pairs = FoundPairs()
    pairs._add(1000)
    monkeypatch.setattr(threads, "available_memory", lambda: 10**8)
    with pytest.raises(
        MemoryError, match=r"up to 8,388,608 candidate pairs need at least .* use a smaller alpha"
    ):
        pairs._add(1 << 22)


def test_lists_of_all_views_are_asked_for_together(rng, monkeypatch):
    from rmgl.running import threads

    views = [rng.normal(size=(100, 3)) for _ in range(3)]
    monkeypatch.setattr(threads, "available_memory", lambda: 150 * 100 * 10)  # enough for one view
    with pytest.raises(MemoryError, match=r"3 view\(s\): 3,000 listed neighbors"):
        RMGL(2, alpha=1.0, candidates=10).fit(views)
    # and the consensus
    with pytest.raises(MemoryError, match=r"4 view\(s\): 4,000 listed neighbors"):
        RMGL(2, candidates=10).fit(views)


def test_certificate_is_the_inequality_of_the_radii(rng):
    X = rng.normal(size=(40, 2))
    square = squareform(pdist(X, "sqeuclidean"))
    np.fill_diagonal(square, np.inf)
    listed = Neighborhoods.search(Rows.of(X), 6)
    following = np.sort(square, axis=1)[:, 6]
    assert (2 * listed.radii <= following).all()  # less what single precision can have done
    np.testing.assert_allclose(2 * listed.radii, following, rtol=1e-4)
    potentials = 0.99 * listed.radii
    potentials[[3, 17]] *= 1.5
    np.testing.assert_array_equal(listed.too_small(potentials), [3, 17])
    for found in (
        listed,
        listed.widened(np.array([3, 17]), potentials),
        listed.widened(np.arange(40), 2 * potentials),
    ):
        assert (found.radii >= listed.radii).all()
        left_out = ~found.pattern.toarray() & ~np.eye(40, dtype=bool)
        assert left_out.any()
        assert (square[left_out] >= (found.radii[:, None] + found.radii)[left_out]).all()
    assert found.edges.n_pairs > listed.edges.n_pairs


def test_full_lists_prove_everything(rng):
    found = Neighborhoods.search(Rows.of(rng.normal(size=(8, 2))), 7)
    assert np.isinf(found.radii).all()
    assert found.edges.n_pairs == 28


def test_a_row_among_many_duplicates_does_not_list_itself():
    X = np.zeros((20, 2))
    X[15:] = np.arange(5)[:, None] + 1.0
    neighbors, reach = Rows(X).nearest(np.arange(20), 4)
    assert neighbors.shape == (20, 4)
    assert (neighbors != np.arange(20)[:, None]).all()
    assert (reach[:15] == 0).all()


@pytest.mark.parametrize("exponent", range(-30, 31))
def test_entries_fit_single_precision_where_their_squares_do(exponent):
    """With room for sums over ten thousand columns, and for the digits of differences."""
    entry, limits = 10.0**exponent, np.finfo(np.float32)
    fits = fits_single(-entry, entry / 2)
    assert fits == fits_single(-entry / 2, entry)
    if fits:
        assert limits.smallest_normal / limits.eps < entry**2 < limits.max / 1e4
    assert fits or not 1e-8 < entry < 1e14  # it is used wherever it can be


def searched(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    n = 2 * TILE + 77
    return {
        "line": rng.random((n, 1)),
        "plane": rng.random((n, 2)),
        "clusters": rng.normal(size=(n, 20)) + 10 * rng.integers(3, size=(n, 1)),
        "far from the origin": rng.normal(size=(n, 5)) + 1e3 * rng.integers(2, size=(n, 1)),
        "far beyond single precision": rng.normal(size=(n, 5)) + 1e9 * rng.integers(2, size=(n, 1)),
        "huge": 1e100 * rng.normal(size=(n, 5)),
        "tiny": 1e-100 * rng.normal(size=(n, 5)),
        "duplicates": rng.integers(3, size=(n, 4)).astype(float),
        "constant column": np.column_stack([rng.normal(size=n), np.zeros(n)]),
    }[name]


SEARCHED = [
    "line",
    "plane",
    "clusters",
    "far from the origin",
    "far beyond single precision",
    "huge",
    "tiny",
    "duplicates",
    "constant column",
]


@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("some", [False, True])
def test_search_finds_the_nearest_rows_and_a_reach_that_no_other_row_undercuts(name, some, rng):
    X = searched(name)
    X = X - X.mean(axis=0)
    nodes = rng.permutation(len(X))[:60] if some else np.arange(len(X))
    neighbors, reach = Rows(X).nearest(nodes, 9)
    square = cdist(X[nodes], X, "sqeuclidean")
    square[np.arange(len(nodes)), nodes] = np.inf
    listed = np.zeros(square.shape, dtype=bool)
    np.put_along_axis(listed, neighbors, True, axis=1)
    assert (listed.sum(axis=1) == 9).all()
    assert not listed[np.arange(len(nodes)), nodes].any()
    assert (np.where(listed, np.inf, square).min(axis=1) >= reach).all()
    last = np.sort(square, axis=1)[:, 8]
    assert (reach >= 0.98 * last - 1e-11 * np.abs(X).max() ** 2).all()
    np.testing.assert_allclose(
        np.sort(square[listed].reshape(-1, 9), axis=1),
        np.sort(Rows(X).distances_to(nodes, neighbors), axis=1),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pairs_within_are_all_of_them_and_few_more(name, some, kind, rng):
    X = searched(name)
    X = X - X.mean(axis=0)
    nodes = rng.permutation(len(X))[:60] if some else np.arange(len(X))
    square = cdist(X, X, "sqeuclidean")
    radii = np.sort(square, axis=1)[:, 12] * rng.uniform(0.3, 1.0, size=len(X))
    radii[5] = np.inf  # has all its pairs already
    finite = np.where(np.isfinite(radii), radii, 0.0)
    wanted = square < finite[:, None] + finite
    np.fill_diagonal(wanted, False)
    wanted[np.setdiff1d(np.arange(len(X)), nodes)] = False
    left, right = Rows(kind(X)).within(nodes, radii)
    assert (left != right).all()
    found = np.zeros(wanted.shape, dtype=bool)
    found[left, right] = found[right, left] = True
    assert found[wanted].all()
    norms = np.square(X).sum(axis=1)
    assert (
        square[found] <= (finite[:, None] + finite + 1e-5 * (norms[:, None] + norms))[found]
    ).all()


@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pairs_within_scaled_radii_are_all_of_them_and_few_more(name, some, kind, rng):
    X = searched(name)
    X = X - X.mean(axis=0)
    nodes = rng.permutation(len(X))[:60] if some else np.arange(len(X))
    square = cdist(X, X, "sqeuclidean")
    scales = np.sqrt(
        np.maximum(np.sort(square, axis=1)[:, 7], square[square > 0].min())
    ) * rng.uniform(0.5, 2.0, size=len(X))
    radii = rng.uniform(0.1, 1.5, size=len(X))
    radii[5], radii[6] = np.inf, -0.2
    finite = np.where(np.isfinite(radii), radii, 0.0)
    within = scales[:, None] * scales * (finite[:, None] + finite)
    wanted = square < within
    np.fill_diagonal(wanted, False)
    wanted[np.setdiff1d(np.arange(len(X)), nodes)] = False
    left, right = Rows(kind(X)).within(nodes, radii, scales)
    assert (left != right).all()
    found = np.zeros(wanted.shape, dtype=bool)
    found[left, right] = found[right, left] = True
    assert wanted.any()
    assert found[wanted].all()
    norms = np.square(X).sum(axis=1)
    assert (
        square[found] <= (within + 1e-5 * (np.abs(within) + norms[:, None] + norms))[found]
    ).all()


def scaled_adversaries():
    plain = adversaries()["plain"]
    mixed = np.vstack(
        [adversaries()["densities"], 1e3 + np.zeros((12, 3)), [[1e5, 0, 0]], 1e-3 * plain[:30]]
    )
    return {**adversaries(), "everything at once": mixed}


@pytest.mark.parametrize("name", scaled_adversaries())
@pytest.mark.parametrize("length", [20, 60])
def test_certified_layers_with_local_scaling_are_those_over_all_pairs(name, length):
    X = scaled_adversaries()[name]
    stated = {
        how: find_candidates(name, X, None, how, local=True, n_neighbors=10)
        for how in ("all", length)
    }
    pairs, rough = solve_for_edges(Origin(name), stated[length], 10)
    for alpha in (rough.alpha, 5 * rough.alpha):
        _, everything = solve_certified(Origin(name), stated["all"], alpha, tol=1e-10)
        wider, certified = solve_certified(Origin(name), pairs, alpha, tol=1e-10)
        assert certified.candidates == "certified"
        assert wider.neighborhoods.too_small(certified.potentials).size == 0
        assert everything.status == certified.status == "converged"
        assert certified.objective == pytest.approx(everything.objective, rel=1e-8)
        np.testing.assert_allclose(
            certified.adjacency.toarray(), everything.adjacency.toarray(), atol=1e-8
        )


def test_certificate_with_local_scaling_is_the_inequality_of_the_scaled_radii(rng):
    X = rng.normal(size=(80, 2)) * rng.choice([0.1, 1.0, 10.0], size=(80, 1))
    square = squareform(pdist(X, "sqeuclidean"))
    listed = Neighborhoods.search(Rows.of(X), 30, local=0.7)
    scales = listed.scaling.scales
    for found in (
        listed,
        listed.widened(np.arange(80), 1.5 * listed.radii),
        listed.widened(np.arange(5), 2 * listed.radii),
    ):
        left_out = ~found.pattern.toarray() & ~np.eye(80, dtype=bool)
        assert left_out.any()
        assert (
            square[left_out]
            >= (scales[:, None] * scales * (found.radii[:, None] + found.radii))[left_out]
        ).all()


@pytest.mark.parametrize(
    "shape", ["alike", "some tiny", "one far", "all zero", "all listed", "some listed"]
)
def test_first_radii_of_two_nodes_are_together_at_most_what_their_lists_guarantee(rng, shape):
    scales = rng.uniform(0.5, 2.0, size=300)
    a = {
        "alike": rng.uniform(1.0, 1.3, size=300),
        "some tiny": np.where(
            rng.random(300) < 0.05, 1e-3 * rng.random(300), rng.uniform(1.0, 1.3, size=300)
        ),
        "one far": np.append(rng.uniform(1.0, 1.3, size=299), 1e3),
        "all zero": np.zeros(300),
        "all listed": np.full(300, np.inf),
        "some listed": np.where(rng.random(300) < 0.3, np.inf, rng.uniform(0.0, 1.3, size=300)),
    }[shape]
    radii = first_radii((a * scales) ** 2, LocalScaling(scales, np.ones(300)))
    together, guaranteed = radii[:, None] + radii, a[:, None] * a
    guaranteed = np.where(np.isinf(a[:, None]) | np.isinf(a), np.inf, guaranteed)
    assert (together <= guaranteed + 1e-12).all()
    if shape == "alike":  # and not much less for nearly all
        assert np.median(radii / (a**2 / 2)) > 0.9


def slow_scaling(X):
    """s_i and 0.7 f_i node by node, from the definition."""
    n = len(X)
    square = squareform(pdist(X, "sqeuclidean"))
    lists = [
        sorted((j for j in range(n) if j != i), key=lambda j: square[i, j])[:30] for i in range(n)
    ]
    seventh = [square[i, lists[i][min(7, n - 1) - 1]] for i in range(n)]
    least = min([d for d in seventh if d > 0], default=1.0)
    first = [max(d, least) ** 0.5 for d in seventh]

    def costs(i, scales):
        return sorted(square[i, j] / (scales[i] * scales[j]) for j in lists[i])

    scales = [first[i] * max(costs(i, first)[min(7, n - 1) - 1] / 2, 1) for i in range(n)]
    return np.array(scales), np.array([0.7 * costs(i, scales)[min(5, n - 1) - 1] for i in range(n)])


@pytest.mark.parametrize("name", ["plain", "hub", "far outliers", "densities", "four rows"])
def test_local_scaling_is_what_it_says(name):
    X = adversaries()["plain"][:4] if name == "four rows" else adversaries()[name]
    X = X - X.mean(axis=0)
    found = LocalScaling.of(Rows(X))
    scales, floors = slow_scaling(X)
    np.testing.assert_allclose(found.scales, scales, rtol=1e-9)
    np.testing.assert_allclose(found.floors, floors, rtol=1e-9)
    np.testing.assert_allclose(LocalScaling.of(Rows(sparse.csr_array(X))).scales, scales, rtol=1e-9)


@pytest.mark.parametrize("copies", [60, 149, 150])
def test_scales_of_many_duplicates_are_finite_and_positive(copies):
    X = adversaries()["plain"]
    X[:copies] = X[0]
    found = LocalScaling.of(Rows.of(X))
    assert np.isfinite(found.scales).all()
    assert (found.scales > 0).all()
    assert np.isfinite(found.floors).all()
    assert (found.floors >= 0).all()


def test_scales_of_a_file_may_be_as_small_as_distances_can_be():
    """The least positive squared distance is the smallest double."""
    least = np.sqrt(np.nextafter(0.0, 1.0))
    LocalScaling(np.full(3, least), np.zeros(3)).check(3)
    for scale in (0.9 * least, 0.0, -1.0, np.nan):
        with pytest.raises(Unsound, match="the scales of the nodes"):
            LocalScaling(np.array([1.0, scale, 1.0]), np.zeros(3)).check(3)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pair_list_answers_like_all_pairs_where_all_pairs_are_listed(rng, kind, make_problem):
    X = rng.normal(size=(15, 4))
    everything = make_problem(X=X, alpha=0.5)
    edges = PairList(sparse.csr_array(~np.eye(15, dtype=bool)))
    costs = edges.measure(kind(X))
    u, v = 1.0 + rng.random(15), rng.normal(size=15)
    for found, wanted in zip(
        vars(edges.evaluate(u, costs)).values(),
        vars(everything.edges.evaluate(u, everything.costs)).values(),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    counts = edges.evaluate(u, costs).counts
    products = [
        store.active_pairs(u, z, counts)(v)
        for store, z in ((edges, costs), (everything.edges, everything.costs))
    ]
    np.testing.assert_allclose(*products, rtol=1e-12, atol=1e-12)
    weights = edges.active(u, costs, 0.1)
    np.testing.assert_allclose(
        weights.toarray(), everything.edges.active(u, everything.costs, 0.1).toarray(), rtol=1e-12
    )
    assert edges.inner(costs, weights) == pytest.approx(
        everything.edges.inner(everything.costs, weights), rel=1e-12
    )
    assert edges.max_degree == everything.edges.max_degree


@pytest.mark.parametrize("beta", [0.1, 50.0])
def test_a_whole_fit_is_the_same(beta):
    views, _ = planted_views(sizes=(40, 40, 40), distance=3.0)
    options = {
        "alpha": 0.3,
        "beta": beta,
        "scale": "none",
        "random_state": 0,
        "tol": 1e-9,
        "max_iter": 300,
    }
    everything = RMGL(3, candidates="all", **options).fit(views)
    certified = RMGL(3, candidates=4, **options).fit(views)
    assert [layer.candidates for layer in certified.layers_] == ["certified"] * 2
    assert (np.diff([row["objective"] for row in certified.history_]) <= 0).all()
    np.testing.assert_array_equal(certified.labels_, everything.labels_)
    for ours, theirs in zip(certified.layers_, everything.layers_, strict=True):
        np.testing.assert_allclose(ours.adjacency.toarray(), theirs.adjacency.toarray(), atol=1e-6)
    for n_jobs in (2, 5):
        np.testing.assert_allclose(
            RMGL(3, candidates=4, n_jobs=n_jobs, **options).fit(views).embedding_,
            certified.embedding_,
            atol=1e-10,
        )


def test_sparse_views_may_use_neighbors(rng):
    X = sparse.random_array((120, 60), density=0.2, random_state=rng, format="csr")
    everything, certified = (
        learn_layer(X, 0.5, candidates=candidates) for candidates in ("all", 10)
    )
    np.testing.assert_allclose(
        certified.adjacency.toarray(), everything.adjacency.toarray(), atol=1e-8
    )


def test_auto_takes_all_pairs_while_they_are_cheaper(rng, monkeypatch):
    from rmgl.edges import candidates

    X = rng.normal(size=(400, 3))
    assert resolve(X, 0.1, "auto") == "all"  # few rows
    monkeypatch.setattr(candidates, "SMALL", 100)
    assert resolve(X, 1e6, "auto") == "all"  # every pair is an edge
    length = resolve(X, 0.1, "auto")
    layer = learn_layer(X, 0.1)
    assert layer.candidates == "certified"
    mean_edges = 2 * layer.n_edges / 400
    assert mean_edges < length < 4 * mean_edges
    assert resolve(X, 0.1, "all") == "all"
    assert resolve(X, 0.1, 399) == "all"


def test_expected_neighbors_are_about_right(rng):
    X = rng.normal(size=(500, 3))
    for alpha in (0.1, 1.0, 10.0):
        layer = learn_layer(X, alpha)
        assert 0.5 < expected_neighbors(X, alpha) / (2 * layer.n_edges / 500) < 1.5


def test_a_given_graph_is_used_and_said(rng):
    from sklearn.neighbors import KNeighborsTransformer

    X = rng.normal(size=(100, 3))
    graph = KNeighborsTransformer(n_neighbors=30).fit_transform(X)
    layer = learn_layer(X, 0.1, candidates=graph)
    assert not layer.exact
    assert layer.candidates == "given"
    assert layer.recall == 1.0
    np.testing.assert_allclose(
        layer.adjacency.toarray(), learn_layer(X, 0.1).adjacency.toarray(), atol=1e-8
    )
    poor = KNeighborsTransformer(n_neighbors=10).fit_transform(rng.normal(size=(100, 3)))
    with pytest.warns(
        UserWarning,
        match=r"layer 'b' is exact only over its given candidate pairs, which include \d+\.\d% of the nearest neighbors",
    ):
        model = RMGL(3, candidates={"a": "auto", "b": poor}, random_state=0).fit({"a": X, "b": X})
    assert model.layers_[0].exact
    assert model.layers_[1].recall < 0.3
    assert "among given candidates" in model.layers_[1].message


@pytest.mark.extended  # pynndescent compiles for two minutes
def test_approximate_neighbors_are_said(rng):
    pytest.importorskip("pynndescent")
    X = rng.normal(size=(300, 4))
    layer = learn_layer(X, 0.1, candidates="approximate")
    assert not layer.exact
    assert layer.recall > 0.95
    exact = learn_layer(X, 0.1)
    assert abs(layer.adjacency - exact.adjacency).max() < 0.05


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            sparse.eye_array(19),
            r"candidates for view 'layer' is a graph of shape \(19, 19\), but the view has 20 rows",
        ),
        (sparse.eye_array(20), "candidates for view 'layer' is a graph without edges"),
        (
            np.ones((20, 20)),
            "candidates for view 'layer' is of type ndarray: use .* or a sparse graph",
        ),
    ],
)
def test_bad_graphs(rng, graph, message):
    with pytest.raises(ValueError, match=message):
        learn_layer(rng.normal(size=(20, 2)), 1.0, candidates=graph)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 1j], ids=str)
def test_entries_of_given_graphs_that_are_no_distances_are_refused(rng, value):
    """They were taken for pairs. The entry is that of the caller, whatever the order of the fit."""
    X, graph = rng.normal(size=(20, 2)), np.ones((20, 20), dtype=complex if value == 1j else float)
    graph[7, 3] = value
    bad = r"\(0, 0\) is \(1\+0j\)" if value == 1j else rf"\(7, 3\) is {value}"
    graph, message = (
        sparse.csr_array(graph),
        rf"candidates for view '%s' is a graph whose entry {bad}, but .* real numbers >= 0",
    )
    with pytest.raises(ValueError, match=message % "layer"):
        learn_layer(X, 1.0, candidates=graph)
    with pytest.raises(ValueError, match=message % "b"):
        RMGL(2, candidates={"a": "auto", "b": graph}).fit({"a": X, "b": X})
    observed = np.arange(24) < 20
    with pytest.raises(ValueError, match=message % "b"):
        RMGL(2, candidates={"a": "auto", "b": graph}).fit(
            {"a": rng.normal(size=(24, 2)), "b": np.vstack([X, X[:4]])}, observed={"b": observed}
        )


def test_pairs_at_distance_zero_are_candidates(rng):
    graph = sparse.csr_array((np.zeros(380), np.nonzero(~np.eye(20, dtype=bool))), shape=(20, 20))
    assert learn_layer(rng.normal(size=(20, 2)), 1.0, candidates=graph).recall == 1.0


def test_lists_that_would_not_fit_are_refused(rng, monkeypatch):
    from rmgl.running import threads

    monkeypatch.setattr(threads, "available_memory", lambda: 1000)
    with pytest.raises(
        MemoryError,
        match=r"view 'layer': 350 listed neighbors need at least .* use fewer neighbors",
    ):
        learn_layer(rng.normal(size=(50, 2)), 1.0, candidates=7)


@pytest.mark.parametrize("candidates", [0, -1, 2.5, "most", True, None])
def test_bad_candidates(rng, candidates):
    with pytest.raises(
        ValueError,
        match=r"candidates=.* is not known: use 'auto', 'all', 'approximate', a number of neighbors or a sparse graph",
    ):
        learn_layer(rng.normal(size=(20, 2)), 1.0, candidates=candidates)


def test_lists_hold_the_nearest_neighbors():
    X = np.random.default_rng(3).normal(size=(5000, 3))
    candidates = find_candidates("x", X, None, 20, local=True, n_neighbors=12)
    found = {
        node: set(own)
        for block in candidates.nearest(Rows.of(X), 9)
        for node, own in zip(block.nodes, block.neighbors.tolist(), strict=True)
    }
    for row in (0, 17, 4095, 4096, 4999):
        distances = np.square(X - X[row]).sum(axis=1)
        distances[row] = np.inf
        assert found[row] == set(np.argsort(distances)[:9].tolist())


def test_all_pairs_and_short_lists_hold_none(rng):
    X = rng.normal(size=(40, 2))
    assert find_candidates("x", X, None, "all").nearest(Rows.of(X), 9) is None
    assert find_candidates("x", X, None, 5).nearest(Rows.of(X), 9) is None
