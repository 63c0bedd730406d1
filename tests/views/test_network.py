"""Networks as views: what they are made from, what is refused, and the problem that learns them
again.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rmgl import RMGL, Network
from rmgl.automatic.smoothing import Smoothing, mean_links, principal_axes
from rmgl.layer import Origin, given_layer, solve_certified
from rmgl.layer.network import default_alpha, network_candidates
from rmgl.metrics import normalized_mutual_info_score
from rmgl.placing.new_edges import Batch
from rmgl.placing.placement import FittedNetwork, NetworkEdges
from rmgl.views.views import Views

GROUP = np.repeat(np.arange(3), 20)


def draw_network(seed=0, inside=0.35, between=0.02):
    random = np.random.default_rng(seed)
    upper = np.triu(
        random.random((60, 60)) < np.where(GROUP[:, None] == GROUP, inside, between), k=1
    )
    return (upper | upper.T).astype(float)


def features(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(60, 4)) + 3 * np.eye(4)[GROUP]


def test_the_layer_is_the_network_scaled_to_trace_n():
    A = draw_network()
    model = RMGL(3, random_state=0).fit({"x": features(), "links": Network(A)})
    layer = model.layers_[1]
    assert layer.name == "links"
    assert layer.given
    assert layer.exact
    np.testing.assert_allclose(layer.adjacency.toarray(), A * 60 / A.sum(), rtol=1e-12)
    assert normalized_mutual_info_score(GROUP, model.labels_) > 0.9
    assert "network (user-supplied, not scaled" in str(model.report_)


def test_directed_edges_are_symmetrized_and_loops_are_left_out():
    A = np.triu(draw_network())
    A[3, 3] = 5.0
    views = Views.of({"links": Network(A)})
    np.testing.assert_allclose(views.matrices[0].toarray(), draw_network() / 2)


def test_all_kinds_of_graphs_give_the_same_view():
    A = draw_network()
    igraph = pytest.importorskip("igraph")
    named = pd.DataFrame(A, index=list(range(60)), columns=list(range(60)))
    first, second = np.nonzero(np.triu(A))
    kinds = [
        A,
        sparse.csr_matrix(A),
        sparse.coo_array(A),
        nx.from_numpy_array(A),
        igraph.Graph(60, list(zip(first, second, strict=True))),
        named,
    ]
    for graph in kinds:
        np.testing.assert_array_equal(Views.of({"links": Network(graph)}).matrices[0].toarray(), A)


def test_named_nodes_are_matched_with_row_labels():
    A, names = draw_network(), [f"p{i}" for i in range(60)]
    table = pd.DataFrame(features(), index=names)
    order = np.random.default_rng(0).permutation(60)
    graph = nx.relabel_nodes(
        nx.from_numpy_array(A[np.ix_(order, order)]), dict(enumerate(np.array(names)[order]))
    )
    views = Views.of({"x": table, "links": Network(graph)})
    np.testing.assert_array_equal(views.matrices[1].toarray(), A)
    both = Views.of({"a": Network(graph), "b": Network(graph)})
    assert both.index.tolist() == [names[i] for i in order]
    with pytest.raises(
        ValueError, match="view 'links': node 'stranger' of the network is not an entity"
    ):
        Views.of({"x": table, "links": Network(nx.relabel_nodes(graph, {"p3": "stranger"}))})
    with pytest.raises(ValueError, match="but the rows of view 'x' do not"):
        Views.of({"x": features(), "links": Network(graph)})


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (-draw_network(), "view 'links': the network has .* negative entries"),
        (np.zeros((60, 60)), "no edge between two different entities"),
        (np.ones((60, 59)), r"must be square"),
        (np.full((60, 60), np.nan), "NaN or infinity"),
        (np.full((60, 60), "a"), "is not numeric"),
        (draw_network()[:50, :50], "has 50 rows"),
    ],
)
def test_bad_networks_are_refused_with_the_view_and_the_reason(graph, message):
    with pytest.raises(ValueError, match=message):
        RMGL(3).fit({"x": features(), "links": Network(graph)})


def test_two_steps_needs_learn():
    with pytest.raises(ValueError, match="set learn=True"):
        Network(draw_network(), two_steps=True)


def test_isolated_nodes_are_missing_from_the_view():
    A = draw_network()
    A[7] = A[:, 7] = 0.0
    model = RMGL(3, random_state=0).fit({"x": features(), "links": Network(A)})
    assert model.report_.views[1].n_missing == 1
    assert 7 not in model.layers_[1].nodes
    assert model.layers_[1].degrees[7] == 0.0
    with pytest.raises(ValueError, match="missing from every view"):
        RMGL(3).fit({"links": Network(A)})


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 14), two_steps=st.booleans())
def test_without_an_embedding_the_learned_network_is_the_network(seed, n, two_steps):
    """The closed form: u_i = c / 2 - 2 alpha d_i solves the problem with KKT residual zero, so the
    answer is the network.
    """
    random = np.random.default_rng(seed)
    weights = np.triu(random.random((n, n)) * (random.random((n, n)) < 0.6), 1)
    weights[0, 1] = 1.0
    graph = sparse.csr_array(weights + weights.T)
    own = np.flatnonzero(np.diff(graph.indptr) > 0)
    layer = given_layer(Origin("links"), sparse.csr_array(graph[own][:, own]))
    alpha = default_alpha(layer)
    _, learned = solve_certified(
        Origin("links"), network_candidates(layer, alpha, two_steps), alpha, tol=1e-9
    )
    np.testing.assert_allclose(learned.adjacency.toarray(), layer.adjacency.toarray(), atol=1e-6)
    assert learned.exact
    assert learned.gap < 1e-6


@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_a_cost_of_one_is_worth_an_edge_of_mean_weight(weight):
    """A path of equal edges: with all potentials as they are, a cost of one more leaves nothing of
    an edge, and of half as much half.
    """
    path = sparse.diags_array([np.full(5, weight)] * 2, offsets=(-1, 1), format="csr")
    layer = given_layer(Origin("links"), path)
    alpha = default_alpha(layer)
    candidates = network_candidates(layer, alpha)
    _, learned = solve_certified(Origin("links"), candidates, alpha, tol=1e-10)
    u, pattern = learned.potentials, layer.adjacency.tocoo()
    excess = u[pattern.row] + u[pattern.col] - candidates.distances
    for added, left in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
        np.testing.assert_allclose(
            np.maximum(excess - added, 0.0) / (4 * alpha), left * pattern.data, atol=1e-6
        )


def test_learning_again_weakens_edges_between_clusters():
    A = draw_network(between=0.05)
    views = {"x": features(), "links": Network(A, learn=True)}
    model = RMGL(3, random_state=0).fit(views)
    learned, given = model.layers_[1], A * 60 / A.sum()
    assert learned.status == "converged"
    assert learned.exact
    assert learned.kkt_residual < 1e-6
    between = GROUP[:, None] != GROUP
    assert learned.adjacency.toarray()[between].sum() < 0.9 * given[between].sum()
    assert learned.adjacency.sum() == pytest.approx(60)


def test_smoothed_rows_solve_their_equation():
    """Slowly, as a linear system, with an entity without edges, and one without a row."""
    A = draw_network()
    A[7] = A[:, 7] = 0.0
    X = features()
    X[3] = np.nan
    views = Views.of({"x": X, "links": Network(A)})
    Y = Smoothing(views, (0,)).rows[0]
    degrees = A.sum(axis=1)
    P = A / np.sqrt(np.outer(np.maximum(degrees, 1), np.maximum(degrees, 1)))
    own = np.where(np.arange(60) == 3, 0.0, 1 / 3)
    divisor = own + 2 / 3 * P.sum(axis=1)
    slow = np.linalg.solve(np.diag(divisor) - 2 / 3 * P, own[:, None] * np.nan_to_num(X))
    np.testing.assert_allclose(Y, slow, atol=1e-4)
    np.testing.assert_allclose(mean_links([sparse.csr_array(A)], [degrees]).toarray(), P)


def test_a_hundred_principal_axes_are_smoothed(rng):
    """Rows that vary in the first 100 of 110 columns, and hardly in the others, which are left out."""
    X = rng.normal(size=(120, 110)) * np.where(np.arange(110) < 100, 1.0, 1e-6)
    axes = principal_axes(X)
    np.testing.assert_allclose(axes @ axes.T, np.diag(np.arange(110) < 100), atol=1e-4)
    assert principal_axes(X[:, :100]) is None
    assert principal_axes(X[:100]) is None


@pytest.mark.parametrize("length", [1.0, 1.0 + 1e-12, 1.0 + 1e-6])
def test_smoothed_rows_have_length_one_where_rows_have(length):
    X = features()
    X *= length / np.linalg.norm(X, axis=1, keepdims=True)
    smoothing = Smoothing(Views.of({"x": X, "links": Network(draw_network())}), (0,))
    lengths = np.linalg.norm(smoothing.matrices[0], axis=1)
    assert np.linalg.norm(smoothing.rows[0], axis=1).max() < 1  # means of rows are shorter
    assert (np.abs(lengths - 1).max() < 1e-12) == (length < 1.0 + 1e-9)


def test_a_view_that_looks_like_a_network_is_recognized_and_not_changed():
    A = draw_network()
    model = RMGL(3, random_state=0).fit({"x": features(), "links": A})
    assert any(
        "looks like a network" in warning and "rmgl.Network" in warning
        for warning in model.report_.warnings
    )
    assert not model.layers_[1].given
    assert not any(
        "looks like a network" in w
        for w in RMGL(3, random_state=0).fit({"x": features()}).report_.warnings
    )


@pytest.fixture(scope="module", params=[False, True], ids=["given", "learned"])
def fitted(request):
    views = {"x": features(), "links": Network(draw_network(), learn=request.param)}
    return RMGL(3, random_state=0).fit(views)


def test_new_nodes_by_their_edges(fitted):
    """An entity of the fit, given as new, gets its own place; edges alone are enough for a label."""
    again = {"x": features(), "links": draw_network()}
    np.testing.assert_array_equal(fitted.predict(again), fitted.labels_)
    np.testing.assert_allclose(fitted.transform(again), fitted.embedding_, atol=1e-10)
    rows = np.array([(group == GROUP).astype(float) for group in range(3)])
    rows[:, 0] = 0.0
    by_edges = fitted.predict({"links": rows})
    np.testing.assert_array_equal(
        by_edges, [np.bincount(fitted.labels_[group == GROUP]).argmax() for group in range(3)]
    )
    assert fitted.predict({"x": features()[:2]}).shape == (2,)
    with pytest.raises(
        ValueError,
        match="row 0 is missing from every view, without an edge to a fitted entity in any",
    ):
        fitted.predict({"links": np.zeros((1, 60))})
    with pytest.raises(ValueError, match="negative entries"):
        fitted.predict({"links": -rows})
    with pytest.raises(ValueError, match="fitted on rows of features"):
        fitted.predict({"x": Network(draw_network())})


@pytest.mark.parametrize(("change", "same"), [(0.0, True), (1e-4, False)])
def test_new_nodes_are_copies_only_where_their_edges_are_the_same(change, same):
    weights = sparse.csr_array(draw_network())
    row = weights[[5]]
    row.data[0] *= 1 + change
    layer = given_layer(Origin("links"), weights)
    edges = NetworkEdges(
        Batch(0, layer, 1.0, 1, 60, False), np.array([0]), row, FittedNetwork(weights, None)
    )
    assert edges.copies().toarray().nonzero()[1].tolist() == ([5] if same else [])


def test_a_saved_model_predicts_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model.rmgl")
    loaded = RMGL.load(tmp_path / "model.rmgl")
    again = {"x": features(1), "links": draw_network(1)}
    np.testing.assert_array_equal(loaded.predict_proba(again), fitted.predict_proba(again))
    assert str(loaded.report_) == str(fitted.report_)


def test_report_page_and_features(fitted, tmp_path):
    table = fitted.explain({"x": features(), "links": Network(draw_network())})
    assert set(table.view) == {"x"}
    fitted.to_html(tmp_path / "page.html")
    assert "links" in (tmp_path / "page.html").read_text()


def test_only_networks(tmp_path):
    views = {"a": Network(draw_network(0)), "b": Network(draw_network(1))}
    model = RMGL("auto", random_state=0).fit(views)
    assert model.n_clusters_ == 3
    assert normalized_mutual_info_score(GROUP, model.labels_) > 0.9
    assert [layer.name for layer in model.layers_] == ["a", "b"]
    assert len(model.explain(views)) == 0
    model.to_html(tmp_path / "page.html")
    alone = RMGL(3, random_state=0).fit(Network(draw_network(0)))
    np.testing.assert_array_equal(alone.predict(draw_network(0)), alone.predict([draw_network(0)]))


def test_numbers_for_alpha_and_beta():
    views = {"x": features(), "links": Network(draw_network())}
    model = RMGL(3, alpha=1.0, beta=5.0, random_state=0).fit(views)
    assert model.alpha_.tolist() == [1.0, 0.0]
    assert normalized_mutual_info_score(GROUP, model.labels_) > 0.9


@pytest.mark.parametrize("learn", [False, True])
def test_a_checkpoint_resumes_with_the_same_result(tmp_path, learn):
    views = {"x": features(), "links": Network(draw_network(), learn=learn)}
    whole = RMGL(3, candidates=10, random_state=0).fit(views, checkpoint=tmp_path / "steps")
    assert any((tmp_path / "steps").glob("nearest-*.step"))
    resumed = RMGL(3, candidates=10, random_state=0).fit(views, checkpoint=tmp_path / "steps")
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
