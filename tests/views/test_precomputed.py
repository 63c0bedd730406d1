"""Distances and kernels given as views, and metrics that are Euclidean after a transformation of
the rows.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from rmgl import RMGL, Precomputed
from rmgl.metrics import normalized_mutual_info_score
from rmgl.views.jaccard import nearest_pairs
from rmgl.views.views import Views

GROUP = np.repeat(np.arange(3), 20)


def features(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(60, 4)) + 4 * np.eye(4)[GROUP]


def squared(X, Y=None):
    return cdist(X, X if Y is None else Y, "sqeuclidean")


KINDS = {
    "distance": lambda X, Y: np.sqrt(squared(X, Y)),
    "squared": squared,
    "kernel": lambda X, Y: X @ Y.T,
    "similarity": lambda X, Y: 1000.0 - squared(X, Y),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 5.0, "beta": 50.0}], ids=["automatic", "numbers"]
)
def test_all_kinds_give_the_layers_of_the_rows(kind, parameters):
    """The slow and obvious answer is that of the rows themselves, not scaled."""
    X, new = features(), features(1)
    rows = RMGL(3, scale="none", random_state=0, **parameters).fit([X])
    model = RMGL(3, random_state=0, **parameters).fit([Precomputed(KINDS[kind](X, X), kind)])
    np.testing.assert_allclose(
        model.layers_[0].adjacency.toarray(), rows.layers_[0].adjacency.toarray(), atol=1e-5
    )
    assert model.report_.exact
    assert normalized_mutual_info_score(rows.labels_, model.labels_) == pytest.approx(1.0)
    given_new = (
        Precomputed(KINDS[kind](new, X), kind, diagonal=np.square(new).sum(axis=1))
        if kind == "kernel"
        else KINDS[kind](new, X)
    )
    np.testing.assert_allclose(
        model.predict_proba([given_new]).max(axis=1),
        rows.predict_proba([new]).max(axis=1),
        atol=1e-4,
    )


def test_beside_a_table_and_from_a_file(tmp_path):
    X = features()
    views = {"x": features(2), "d": Precomputed(np.sqrt(squared(X)))}
    model = RMGL(3, random_state=0).fit(views)
    assert [layer.name for layer in model.layers_] == ["x", "d", "consensus", "neighbors"]
    assert normalized_mutual_info_score(GROUP, model.labels_) > 0.9
    again = {"x": features(2), "d": np.sqrt(squared(X))}
    np.testing.assert_array_equal(model.predict(again), model.labels_)
    model.save(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(
        RMGL.load(tmp_path / "model.rmgl").predict_proba(again), model.predict_proba(again)
    )
    assert set(model.explain(views).view) == {"x"}
    model.to_html(tmp_path / "page.html")
    assert "precomputed (user-supplied, not scaled: distance for all pairs)" in str(model.report_)
    missing = np.ones((60, 2), dtype=bool)
    missing[5, 1] = False
    partly = RMGL(3, random_state=0).fit(views, observed=missing)
    assert 5 not in partly.layers_[1].nodes
    assert normalized_mutual_info_score(GROUP, partly.labels_) > 0.9


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 5.0, "beta": 50.0}], ids=["automatic", "numbers"]
)
def test_sparse_distances_are_exact_over_the_given_pairs(parameters, tmp_path):
    X = features()
    graph = kneighbors_graph(X, 12, mode="distance")
    model = RMGL(3, random_state=0, **parameters).fit(
        [Precomputed(graph)], checkpoint=tmp_path / "steps"
    )
    layer = model.layers_[0]
    assert layer.candidates == "given pairs"
    assert layer.exact
    pattern = (graph + graph.T).toarray() > 0
    assert not layer.adjacency.toarray()[~pattern].any()
    assert layer.kkt_residual < 1e-6
    assert normalized_mutual_info_score(GROUP, model.labels_) > 0.9
    rows = sparse.csr_array(
        np.where(squared(features(1), X) < 9.0, np.sqrt(squared(features(1), X)), 0.0)
    )
    rows = rows[np.diff(rows.indptr) > 0]
    assert model.predict([rows]).shape == (rows.shape[0],)
    again = RMGL(3, random_state=0, **parameters).fit(
        [Precomputed(graph)], checkpoint=tmp_path / "steps"
    )
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def changed(at, value):
    D = np.sqrt(squared(features()))
    D[at] = value
    return D


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (
            Precomputed(changed((3, 7), 50.0)),
            r"not symmetric: entry \(3, 7\) is .* a difference of .*, the largest of all",
        ),
        (Precomputed(-np.sqrt(squared(features()))), "negative entries"),
        (
            Precomputed(changed((4, 4), 1.0)),
            r"entry \(4, 4\) of the distance matrix is 1, but the distance from an entity to itself must be 0",
        ),
        (Precomputed(np.zeros((60, 60))), "all distances are zero"),
        (Precomputed(np.ones((60, 59))), "must be square"),
        (Precomputed(1 - 2 * np.eye(60), "kernel"), "it is not a valid kernel"),
        (Precomputed(sparse.csr_array(changed((3, 7), 50.0))), r"not symmetric: entry \(3, 7\)"),
    ],
)
def test_bad_matrices_are_refused(view, message):
    with pytest.raises(ValueError, match=message):
        RMGL(3).fit({"x": features(), "d": view})


def test_unknown_kind_and_other_kind_of_new_rows():
    with pytest.raises(ValueError, match="kind='angle' is unknown"):
        Precomputed(np.eye(3), "angle")
    D = np.sqrt(squared(features()))
    model = RMGL(3, random_state=0).fit([Precomputed(D)])
    with pytest.raises(ValueError, match="was fitted on kind 'distance'"):
        model.predict([Precomputed(D, "squared")])
    with pytest.raises(ValueError, match="new rows are sparse"):
        model.predict([sparse.csr_array(D)])


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(list(KINDS)), dense=st.booleans())
def test_squared_distances_of_any_kind(seed, kind, dense):
    X = np.random.default_rng(seed).normal(size=(8, 2))
    given_matrix = KINDS[kind](X, X)
    expected = squared(X)
    view = Views.of([Precomputed(given_matrix if dense else sparse.csr_array(given_matrix), kind)])
    found = view.matrices[0] if dense else view.matrices[0].toarray()
    np.testing.assert_allclose(found, expected, atol=1e-8 * max(1.0, expected.max()))
    np.testing.assert_array_equal(found, found.T)


def binary(seed=0):
    random = np.random.default_rng(seed)
    return (
        random.random((60, 12)) < np.where(np.arange(12) // 4 == GROUP[:, None], 0.8, 0.1)
    ).astype(float)


@pytest.mark.parametrize(
    ("metric", "X", "slow"),
    [
        ("cosine", features(), lambda X: 2 * cdist(X, X, "cosine")),
        ("correlation", features(), lambda X: 2 * cdist(X, X, "correlation")),
        ("hamming", binary(), lambda X: cdist(X, X, "hamming")),
        ("hellinger", binary() + 1, lambda X: squared(np.sqrt(X / X.sum(axis=1, keepdims=True)))),
    ],
)
def test_metrics_are_the_distances_of_transformed_rows(metric, X, slow, tmp_path):
    model = RMGL(3, metric=metric, random_state=0).fit([X])
    Y = model.fitted_.views.matrices[0]
    Y = Y.toarray() if sparse.issparse(Y) else Y
    np.testing.assert_allclose(squared(Y), slow(X), atol=1e-12)
    assert model.scale_[0][0] == metric
    model.save(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(
        RMGL.load(tmp_path / "model.rmgl").predict([X]), model.predict([X])
    )


def test_jaccard_is_taken_over_all_pairs(tmp_path):
    X = binary()
    slow = np.array(
        [[1 - np.minimum(x, y).sum() / max(1.0, np.maximum(x, y).sum()) for y in X] for x in X]
    )
    model = RMGL(3, metric={"bits": "jaccard", "x": "euclidean"}, random_state=0).fit(
        {"bits": X, "x": features()}
    )
    np.testing.assert_allclose(model.fitted_.views.matrices[0], slow, atol=1e-12)
    np.testing.assert_array_equal(model.predict({"bits": X, "x": features()}), model.labels_)
    model.save(tmp_path / "model.rmgl")
    assert RMGL.load(tmp_path / "model.rmgl").predict({"bits": binary(1)}).shape == (60,)
    with pytest.raises(ValueError, match="requires rows of zeros and ones"):
        RMGL(3, metric="jaccard").fit([features()])


def test_jaccard_of_the_nearest_pairs_where_not_all_fit_into_memory(tmp_path, monkeypatch):
    X = binary()
    data = {"bits": X, "x": features()}
    whole = RMGL(3, metric={"bits": "jaccard", "x": "euclidean"}, random_state=0).fit(data)
    monkeypatch.setattr("rmgl.views.jaccard.available_memory", lambda: 1)
    monkeypatch.setattr("rmgl.views.jaccard.DISTANCES_AT_ONCE", 500)
    listed = nearest_pairs(sparse.csr_array(X), np.arange(60) != 7, length=5)
    slow = whole.fitted_.views.matrices[0]
    for row in range(60):
        near = listed.indices[listed.indptr[row] : listed.indptr[row + 1]]
        np.testing.assert_array_equal(
            listed.data[listed.indptr[row] : listed.indptr[row + 1]], slow[row, near]
        )
        others = np.delete(slow[row], [row, 7])
        assert (
            near.size == 0
            if row == 7
            else (slow[row, near] <= np.partition(others, 4)[4]).sum() >= 5
        )
    assert (abs(listed - listed.T) > 0).nnz == 0
    with pytest.warns(
        UserWarning,
        match="view 'bits': the Jaccard distances between all 60 rows do not fit into memory",
    ):
        # 59 others are fewer than 100
        model = RMGL(3, metric={"bits": "jaccard", "x": "euclidean"}, random_state=0).fit(data)
    assert model.layers_[0].candidates == "given pairs"
    np.testing.assert_allclose(
        model.layers_[0].adjacency.toarray(), whole.layers_[0].adjacency.toarray(), atol=0.02
    )
    model.save(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(RMGL.load(tmp_path / "model.rmgl").predict(data), model.labels_)


def test_a_value_that_was_not_there_differs_from_all():
    X = np.random.default_rng(0).integers(0, 3, size=(30, 4)).astype(float)
    model = RMGL(2, metric="hamming", random_state=0).fit([X])
    new = model.fitted_.views[0].scaler(np.full((1, 4), 9.0)).toarray()
    np.testing.assert_allclose(squared(new, model.fitted_.views.matrices[0].toarray()), 1.0)


def test_bad_metrics():
    with pytest.raises(ValueError, match="metric='angle' for view 'view_0' is unknown"):
        RMGL(2, metric=["angle"]).fit([features()])
    with pytest.raises(ValueError, match="are both given for view 'view_0'"):
        RMGL(2, metric="cosine", scale="minmax").fit([features()])
