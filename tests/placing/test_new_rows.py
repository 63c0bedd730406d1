"""New rows, placed by the fitted layers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from rmgl import RMGL
from rmgl.edges.search import dense_distances
from rmgl.edges.space import Rows
from rmgl.layer import Layer
from rmgl.metrics import normalized_mutual_info_score
from rmgl.placing.new_edges import Batch, NearestLists, near, one_node
from rmgl.placing.placement import Placement
from rmgl.views.views import Views
from tests.conftest import planted_views


def split(seed=0, n_new=30, columns=(4, 5, 6)):
    views, target = planted_views(columns=columns, seed=seed)
    order = np.random.default_rng(seed).permutation(target.size)
    old, new = order[n_new:], order[:n_new]
    return (
        {n: X[old] for n, X in views.items()},
        target[old],
        {n: X[new] for n, X in views.items()},
        target[new],
    )


# The one-node problem


@pytest.mark.parametrize("seed", range(5))
def test_one_node_solves_its_kkt_condition(seed):
    rng = np.random.default_rng(seed)
    thresholds, alpha, mean = (
        rng.normal(size=(7, 12)),
        float(rng.uniform(0.01, 3)),
        float(rng.normal()),
    )

    def gradient(u, t):
        return np.maximum(u - t, 0).sum() / (4 * alpha) + (u - mean) / (2 * alpha) - 1

    found = one_node(thresholds, alpha, mean)
    for u, t in zip(found, thresholds, strict=True):
        assert gradient(u, t) == pytest.approx(0, abs=1e-9)
        assert u == pytest.approx(brentq(gradient, -50, 50, args=(t,)), abs=1e-9)


def test_the_weights_of_a_new_row_are_those_of_the_layer_problem_with_the_others_fixed():
    """The layer's own u, its own mean: written out slowly for a model without scaling or coupling."""
    old, _, new, _ = split()
    old, new = {"a": old["view 0"]}, {"a": new["view 0"]}
    model = RMGL(3, alpha=2.0, beta=1e-12, scale="none", random_state=0).fit(old)
    potentials = model.layers_[0].potentials
    for row, votes in zip(new["a"], model.predict_proba(new), strict=True):
        z = np.square(old["a"] - row).sum(axis=1)
        u = brentq(
            lambda u, z=z: (
                np.maximum(u + potentials - z, 0).sum() / 8 + (u - potentials.mean()) / 4 - 1
            ),
            -1e4,
            1e4,
        )
        weights = np.maximum(u + potentials - z, 0) / 8
        expected = np.bincount(model.labels_, weights=weights, minlength=3) / weights.sum()
        np.testing.assert_allclose(votes, expected, atol=1e-9)


def test_distances_are_those_of_differences(rng):
    X, asking = rng.normal(size=(40, 5)) + 1e3, rng.normal(size=(7, 5)) + 1e3
    asking[2] = X[11]
    expected = np.square(asking[:, None] - X).sum(axis=2)
    np.testing.assert_allclose(dense_distances(asking, X), expected, rtol=1e-8, atol=1e-9)
    assert dense_distances(asking, X)[2, 11] == 0
    np.testing.assert_allclose(
        dense_distances(sparse.csr_array(asking - 1e3), sparse.csr_array(X - 1e3)),
        expected,
        atol=1e-9,
    )


@pytest.mark.parametrize("pattern", [(True, True, True), (True, False, True), (False, True, False)])
def test_views_that_a_new_row_lacks_are_taken_to_be_as_far_as_those_it_has(pattern):
    """In the consensus of complete views: squared distances are raised from the views of a row to
    all three.
    """
    old, _, new, _ = split()
    model = RMGL(3, random_state=0, scale="none").fit(old)
    place, consensus = next(
        (at, layer) for at, layer in enumerate(model.layers_) if layer.role == "consensus"
    )
    rows = Views.of(new, observed=np.tile(pattern, (30, 1)), least=0)
    (edges,) = model.fitted_.placement()._possible_edges(
        place, rows, np.arange(30), False, NearestLists()
    )
    shown = [at for at, has in enumerate(pattern) if has]
    names = list(old)
    squared = sum(
        cdist(new[names[at]], old[names[at]], "sqeuclidean") * consensus.factors[at] ** 2
        for at in shown
    )
    assert edges.costs.shape == (30, 60)  # all of the few fitted rows
    wanted = consensus.scaling.costs_of_new(edges.neighbors, 3 / len(shown) * squared)
    np.testing.assert_allclose(edges.costs, wanted, rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_close_rows_are_no_copies(kind, rng):
    X = rng.normal(size=(40, 5))
    asking = X[:7] * (1 + 1e-5)
    expected = np.square(asking - X[:7]).sum(axis=1)
    np.testing.assert_allclose(
        dense_distances(kind(asking), kind(X)).diagonal(), expected, rtol=1e-3
    )
    assert (dense_distances(kind(X[:7]), kind(X)).diagonal() == 0).all()


def test_pairs_that_are_not_given_have_no_weight():
    """However large alpha is, which spreads weight over all pairs that are given."""
    numbers = {
        "alpha": 100.0,
        "kkt_residual": 0.0,
        "objective": 1.0,
        "lower_bound": 1.0,
        "n_iter": 1,
        "n_passes": 1.0,
    }
    layer = Layer(
        "a", sparse.csr_array((4, 4)), status="converged", potentials=np.zeros(4), **numbers
    )
    (edges,) = Batch(0, layer, 1.0, 1, 4, False).edges_to_all(
        np.array([0]), np.array([[1.0, np.inf, 5.0, np.inf]])
    )
    weights = edges.weights(None, np.zeros((4, 2)), None, None).graph.toarray()[0]
    u = (4 * 100 + 1.0 + 5.0) / 4  # the closed form with two pairs below it
    np.testing.assert_allclose(weights, [(u - 1) / 400, 0, (u - 5) / 400, 0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nearest_rows_are_those_of_all_distances(kind, rng):
    X, asking = rng.normal(size=(300, 5)), rng.normal(size=(20, 5))
    expected = np.sort(np.square(asking[:, None] - X).sum(axis=2), axis=1)[:, :9]
    _, found = near(Rows.of(kind(X)), kind(X), kind(asking), 9)
    np.testing.assert_allclose(np.sort(found, axis=1), expected, rtol=1e-12)


def test_rows_that_single_precision_cannot_tell_apart_are_told_apart(rng):
    """Twelve rows at nearly the same distance from a new one, and all others far off: the six
    nearest of the twelve are found.
    """
    directions = rng.normal(size=(300, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.append(1 + 1e-9 * rng.permutation(12), np.full(288, 3.0))
    X = directions * lengths[:, None]
    found, _ = near(Rows.of(X), X, np.zeros((1, 5)), 6)
    assert set(found[0]) == set(np.argsort(lengths)[:6])


# The embedding


def bottom(W, n_vectors):
    """The smallest eigenvalues of the Laplacian of a graph, and their vectors."""
    values, vectors = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    return values[:n_vectors], vectors[:, :n_vectors]


def placed_by(weights, values, vectors):
    """Where a new node is placed that has these edges to the nodes of an embedding."""
    parts = {
        "views": None,
        "layers": (),
        "beta": np.ones(0),
        "guide": None,
        "labels": np.zeros(len(vectors), dtype=np.intp),
        "n_clusters": vectors.shape[1],
    }
    return Placement(embedding=vectors, eigenvalues=values, **parts)._embedding_rows(
        sparse.csr_array(weights[None])
    )[0]


def random_graph(rng, n=24):
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return W + W.T


def test_a_new_node_is_where_the_eigenvectors_of_the_graph_with_it_are(rng):
    """The row of a node in an eigenvector follows from the rows of the others: (d - lambda) q =
    sum_j w_j q_j.
    """
    W = random_graph(rng)
    heaviest = W.sum(axis=1).argmax()
    order = np.append(np.delete(np.arange(24), heaviest), heaviest)
    W = W[order][:, order]
    values, vectors = bottom(W, 5)
    weights, degree = W[-1, :-1], W[-1].sum()
    assert 0.2 * degree < values[-1] < 0.5 * degree  # the eigenvalue matters
    np.testing.assert_allclose(placed_by(weights, values, vectors[:-1]), vectors[-1], atol=1e-12)


def chain_of_blocks(size, between=0.02):
    """Three complete graphs of edge weight 1 / size, each linked to the next by a total weight of
    `between` for each of its nodes.
    """
    block = np.repeat(np.arange(3), size)
    apart = np.abs(block[:, None] - block)
    W = np.choose(apart, (1.0, between, 0.0)) / size
    np.fill_diagonal(W, 0.0)
    return W


@pytest.mark.parametrize("edges", [(0.1, 0.05, 0.0), (0.0, 0.0, 0.15)])
def test_the_place_of_a_new_node_is_that_in_the_graph_with_it_as_the_others_grow(edges):
    """A node changes eigenvalues and vectors of n others by a share of 1 / n: so does the error of
    its place, by projectors.
    """
    errors = []
    for size in (20, 40, 80):
        W = chain_of_blocks(size)
        weights = np.repeat(edges, size) / size
        extended = np.block([[W, weights[:, None]], [weights, np.zeros((1, 1))]])
        _, exact = bottom(extended, 3)
        values, vectors = bottom(W, 3)
        # inner products with all others, which no basis changes
        expected = exact[:-1] @ exact[-1] * size
        placed, without = (
            vectors @ placed_by(weights, own, vectors) * size for own in (values, 0 * values)
        )
        errors.append(np.abs(placed - expected).max())
        assert 0.3 * sum(edges) < values[2] < 0.5 * sum(edges)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.15)
    assert np.abs(without - expected).max() > 5 * errors[-1]


def test_a_node_of_few_edges_is_not_moved_further_than_twice_their_mean(rng):
    """d - lambda would be negative, or nearly zero: it is at least d / 2."""
    values, vectors = bottom(random_graph(rng), 5)
    weights = np.zeros(24)
    weights[[3, 7]] = 0.1 * values[-1]
    degree, mean = weights.sum(), vectors[[3, 7]].mean(axis=0)
    expected = mean * degree / np.where(values < degree / 2, degree - values, degree / 2)
    np.testing.assert_allclose(placed_by(weights, values, vectors), expected, atol=1e-12)


def one_node_weights(costs, potentials, alpha):
    """The weights of a new node, by root finding."""
    u = brentq(
        lambda u: (
            np.maximum(u + potentials - costs, 0).sum() / (4 * alpha)
            + (u - potentials.mean()) / (2 * alpha)
            - 1
        ),
        -1e4,
        1e4,
    )
    return np.maximum(u + potentials - costs, 0) / (4 * alpha)


def test_placed_rows_of_a_model_satisfy_the_eigenvector_equation():
    """Without scaling or coupling, where clusters overlap: eigenvalues are not small beside the
    degrees.
    """
    views, _ = planted_views(columns=(4,), distance=0.5)
    X = views["view 0"]
    new = np.random.default_rng(1).normal(scale=0.3, size=(5, 4)) + X.mean(axis=0)
    model = RMGL(3, alpha=2.0, beta=1e-12, scale="none", random_state=0).fit({"a": X})
    potentials = model.layers_[0].potentials
    eigenvalues = model.eigenvalues_ / 1e-12  # those of the layer itself
    for row, placed in zip(new, model.transform({"a": new}), strict=True):
        weights = one_node_weights(np.square(X - row).sum(axis=1), potentials, 2.0)
        assert 0.1 * weights.sum() < eigenvalues[-1] < 0.5 * weights.sum()
        np.testing.assert_allclose(
            (weights.sum() - eigenvalues) * placed, weights @ model.embedding_, atol=1e-6
        )


def test_weights_and_embedding_are_computed_in_turn_twice():
    """At first without beta |q - q_j|^2, then with the row q that follows: slowly, for clusters
    that overlap.
    """
    views, _ = planted_views(columns=(4,), distance=1.5)
    X, beta, alpha = views["view 0"], 20.0, 2.0
    new = np.random.default_rng(1).normal(scale=0.7, size=(8, 4)) + X.mean(axis=0)
    model = RMGL(3, alpha=alpha, beta=beta, scale="none", random_state=0).fit({"a": X})
    potentials, Q = model.layers_[0].potentials, model.embedding_
    moved = []
    for row, placed, votes in zip(
        new, model.transform({"a": new}), model.predict_proba({"a": new}), strict=True
    ):
        z, rounds = np.square(X - row).sum(axis=1), [np.zeros(90)]
        for _ in range(3):
            weights = one_node_weights(z + rounds[-1], potentials, alpha)
            degree = beta * weights.sum()
            q = beta * weights @ Q / np.maximum(degree - model.eigenvalues_, degree / 2)
            rounds.append(beta * np.square(Q - q).sum(axis=1))
            if len(rounds) == 3:
                np.testing.assert_allclose(placed, q, atol=1e-9)
                np.testing.assert_allclose(
                    votes,
                    np.bincount(model.labels_, weights=weights, minlength=3) / weights.sum(),
                    atol=1e-9,
                )
            else:
                moved.append(np.abs(placed - q).max())
    assert max(moved[::2]) > 1e-3  # one round is not enough to come there
    assert max(moved[1::2]) > 1e-6  # and three go further


# Labels


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 1.0, "beta": 1.0}, {"candidates": 15}], ids=str
)
def test_new_rows_of_planted_clusters_get_their_labels(parameters):
    old, target, new, wanted = split()
    model = RMGL(3, random_state=0, **parameters).fit(old)
    assert adjusted_rand_score(target, model.labels_) == 1.0
    assert (
        adjusted_rand_score(np.append(target, wanted), np.append(model.labels_, model.predict(new)))
        == 1.0
    )
    for name in new:  # with one view alone, or without it
        assert adjusted_rand_score(wanted, model.predict({name: new[name]})) == 1.0
        assert (
            adjusted_rand_score(
                wanted, model.predict({other: X for other, X in new.items() if other != name})
            )
            == 1.0
        )


def test_fitted_rows_keep_label_and_place():
    old, _, _, _ = split()
    model = RMGL(3, random_state=0).fit(old)
    np.testing.assert_array_equal(model.predict(old), model.labels_)
    np.testing.assert_array_equal(model.transform(old), model.embedding_)
    assert set(map(tuple, model.transform({n: X[:4] for n, X in old.items()}))) <= set(
        map(tuple, model.embedding_)
    )


def test_shares_sum_to_one_and_come_apart_by_layer():
    old, _, new, _ = split()
    model = RMGL(3, random_state=0).fit(old)
    shares, by_view = model.predict_proba(new), model.predict_proba(new, by_view=True)
    assert by_view.shape == (30, len(model.layers_), 3)
    np.testing.assert_allclose(by_view.sum(axis=1), shares, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(new))
    only = model.predict_proba({"view 1": new["view 1"]}, by_view=True)
    assert (only[:, [0, 2]] == 0).all()  # views the rows do not have
    assert (only[:, 1].sum(axis=1) > 0).all()


def test_rows_are_placed_one_by_one(rng):
    old, _, new, _ = split()
    model = RMGL(3, random_state=0).fit(old)
    observed = rng.random((30, 3)) < 0.6
    observed[:, 0] |= ~observed.any(axis=1)
    together = model.predict_proba(new, observed=observed)
    one_by_one = [
        model.predict_proba({n: X[[row]] for n, X in new.items()}, observed=observed[[row]])[0]
        for row in range(30)
    ]
    np.testing.assert_allclose(together, one_by_one, atol=1e-9)
    nan = {n: np.where(observed[:, [m]], X, np.nan) for m, (n, X) in enumerate(new.items())}
    np.testing.assert_array_equal(together, model.predict_proba(nan))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_lists_of_neighbors_find_the_same_labels(kind, monkeypatch):
    old, _, new, _ = (
        {n: kind(X) for n, X in part.items()} if isinstance(part, dict) else part
        for part in split()
    )
    model = RMGL(3, random_state=0).fit(old)
    everyone = model.predict(new)
    monkeypatch.setattr("rmgl.placing.placement.ALL_ROWS", 10)
    monkeypatch.setattr("rmgl.placing.new_edges.MIN_LISTED", 8)
    monkeypatch.setattr("rmgl.placing.new_edges.LIST_FACTOR", 1)
    np.testing.assert_array_equal(model.predict(new), everyone)


def test_threads_share_batches_and_layers_share_searches(monkeypatch):
    """The same bits with any number of threads; the consensus and the plain neighbors are in one
    space, which is searched once.
    """
    monkeypatch.setattr("rmgl.placing.placement.ALL_ROWS", 10)
    monkeypatch.setattr("rmgl.placing.placement.BATCH_ENTRIES", 1500)
    monkeypatch.setattr("rmgl.placing.new_edges.MIN_LISTED", 20)
    views, _ = planted_views()
    new = {name: X + 0.01 for name, X in views.items()}
    model = RMGL(3, random_state=0).fit(views)
    assert [layer.role for layer in model.layers_][-2:] == ["consensus", "neighbors"]
    searched, nearest_to = [], Rows.nearest_to

    def searching(self, queries, length):
        searched.append((self.X.shape[1], queries.tobytes()))
        return nearest_to(self, queries, length)

    monkeypatch.setattr(Rows, "nearest_to", searching)
    alone = model.predict_proba(new, by_view=True)
    n_searches = len(searched)
    assert n_searches > len(model.layers_)  # several batches
    assert len(set(searched)) == n_searches
    shared = model.set_params(n_jobs=2).predict_proba(new, by_view=True)
    assert shared.tobytes() == alone.tobytes()
    assert len(searched) == 2 * n_searches


@pytest.mark.parametrize("candidates", ["all", 12])
def test_a_model_of_incomplete_views_places_rows_too(candidates):
    old, _, new, wanted = split()
    observed = np.random.default_rng(1).random((60, 3)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    model = RMGL(3, random_state=0, candidates=candidates).fit(old, observed=observed)
    assert adjusted_rand_score(wanted, model.predict(new)) == 1.0
    assert (model.predict(old, observed=observed) == model.labels_).mean() >= 0.99


def test_sparse_and_dense_rows_may_meet():
    old, _, new, wanted = split()
    model = RMGL(3, random_state=0, scale="none").fit(
        {n: sparse.csr_array(X) for n, X in old.items()}
    )
    assert adjusted_rand_score(wanted, model.predict(new)) == 1.0
    model = RMGL(3, random_state=0, scale="none").fit(old)
    assert (
        adjusted_rand_score(wanted, model.predict({n: sparse.csr_array(X) for n, X in new.items()}))
        == 1.0
    )


def test_a_row_far_from_all_gets_a_label_and_finite_numbers():
    old, _, new, _ = split()
    for parameters in ({}, {"alpha": 0.01, "beta": 1.0, "scale": "none"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fragments
            model = RMGL(3, random_state=0, **parameters).fit(old)
        far = {n: np.full((2, X.shape[1]), 1e8) for n, X in new.items()}
        assert np.isfinite(model.predict_proba(far)).all()
        assert np.isfinite(model.transform(far)).all()
        assert set(model.predict(far)) <= {0, 1, 2}


def test_rows_of_zeros_are_as_absent_as_in_the_fit():
    rng = np.random.default_rng(0)
    views, _ = planted_views(columns=(12, 15), seed=0)
    views["view 1"][rng.permutation(90)[:25]] = 0.0
    model = RMGL(3, random_state=0).fit(views)
    assert model.report_.views[1].n_empty == 25
    empty = ~views["view 1"].any(axis=1)
    votes = model.predict_proba(views, by_view=True)
    assert (votes[empty, 1] == 0).all()
    np.testing.assert_allclose(
        votes,
        model.predict_proba(
            views, observed=np.column_stack([np.ones(90, bool), ~empty]), by_view=True
        ),
    )


def test_forms_of_new_rows():
    old, _, new, _ = split()
    labels = [f"cell {row}" for row in range(60)]
    model = RMGL(3, random_state=0, align="outer").fit(
        {n: pd.DataFrame(X, index=labels) for n, X in old.items()}
    )
    expected = model.predict_proba(new)  # arrays have no labels to go by
    tables = {n: pd.DataFrame(X, index=[f"new {row}" for row in range(30)]) for n, X in new.items()}
    np.testing.assert_array_equal(model.predict_proba(tables), expected)
    assert model.predict({n: X[:0] for n, X in new.items()}).shape == (0,)
    assert model.transform({n: X[:0] for n, X in new.items()}).shape == (0, 3)
    observed = np.ones((30, 3), dtype=bool)
    np.testing.assert_array_equal(
        model.predict([new["view 0"], None, None], observed=observed),
        model.predict({"view 0": new["view 0"]}),
    )
    blocks = RMGL(3, random_state=0, views={"a": [0, 1, 2, 3], "b": [4, 5, 6, 7, 8]}).fit(
        np.hstack([old["view 0"], old["view 1"]])
    )
    assert blocks.predict({"a": new["view 0"]}).shape == (30,)


def test_the_callers_arrays_are_not_kept():
    old, _, new, _ = split()
    model = RMGL(3, scale="none", random_state=0).fit(old)
    before = model.predict_proba(new)
    for X in old.values():
        X[:] = 0.0
    np.testing.assert_array_equal(model.predict_proba(new), before)


def test_set_output_gives_tables():
    old, _, new, _ = split()
    model = RMGL(3, random_state=0).set_output(transform="pandas").fit(old)
    table = model.transform(new)
    assert list(table.columns) == ["rmgl0", "rmgl1", "rmgl2"]
    assert table.shape == (30, 3)
    assert isinstance(model.fit_transform(old), pd.DataFrame)


OLD, _, NEW, _ = split()
ERRORS = {
    "unknown view": ({"third": NEW["view 0"]}, {}, r"unknown views \['third'\]"),
    "columns": (
        {"view 0": NEW["view 1"]},
        {},
        r"view 'view 0' has 5 columns, but the model was fitted on 4",
    ),
    "too few views": (
        list(NEW.values())[:2],
        {},
        r"2 views were given, but the model was fitted on 3; pass None for a missing view",
    ),
    "nowhere": (
        [None, None, np.full((2, 6), np.nan)],
        {},
        r"rows 0, 1 are missing from every view",
    ),
    "an entry": (
        [None, None, np.where(np.eye(2, 6) > 0, np.nan, 1.0)],
        {},
        r"view 'view 2' contains NaN cells \(2 in all\)",
    ),
    "no views": ({}, {}, r"no views were given"),
    "rows differ": (
        [NEW["view 0"], NEW["view 1"][:5], None],
        {},
        r"view 'view 1' has 5 rows but view 'view 0' has 30",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_the_culprit(name):
    data, options, message = ERRORS[name]
    model = RMGL(3, random_state=0, missing="error").fit(OLD)
    with pytest.raises(ValueError, match=message):
        model.predict(data, **options)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        RMGL(3).predict(NEW)


# The digits


def test_digits(digits, digits_model):
    assert (digits_model.predict(digits.views) == digits_model.labels_).mean() >= 0.99
    order = np.random.default_rng(0).permutation(2000)
    old, new = order[:1600], order[1600:]
    model = RMGL(10, random_state=0).fit({n: X[old] for n, X in digits.views.items()})
    fitted = normalized_mutual_info_score(digits.target[old], model.labels_)
    rows = {n: X[new] for n, X in digits.views.items()}
    half = np.argsort(np.random.default_rng(1).random((400, 6)), axis=1) < 3
    scores = [
        normalized_mutual_info_score(digits.target[new], model.predict(rows, observed=o))
        for o in (None, half)
    ]
    print(f"fit {fitted:.4f}, new rows {scores[0]:.4f}, with half of the views {scores[1]:.4f}")
    assert scores[0] >= fitted - 0.02
    assert scores[1] >= fitted - 0.06
