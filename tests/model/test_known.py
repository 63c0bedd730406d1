"""Known labels of some entities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmgl import RMGL, Network
from rmgl.edges import find_candidates
from rmgl.edges.candidates import measured
from rmgl.edges.space import Rows
from rmgl.layer import Origin, solve_certified
from rmgl.metrics import clustering_accuracy
from rmgl.model.known import check_known, with_known

GROUP = np.repeat(np.arange(3), 20)


def features(seed=0, distance=2.0):
    random = np.random.default_rng(seed)
    return random.normal(size=(60, 4)) + distance * np.eye(4)[GROUP]


def some_labels(per_class=4, seed=0, target=GROUP):
    random = np.random.default_rng(seed)
    y = np.full(target.size, -1)
    for k in np.unique(target):
        y[random.permutation(np.flatnonzero(target == k))[:per_class]] = k
    return y


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), candidates=st.sampled_from(["all", 5]), local=st.booleans())
def test_costs_of_known_pairs(seed, candidates, local):
    """Slowly, pair by pair: the least cost for the same label, 100 typical costs more for different
    ones, others as they were.
    """
    X, y = features(seed)[::2], some_labels(3, seed)[::2]
    plain = find_candidates("x", X, 0.5, candidates, local=local)
    found = with_known(plain, X, y)
    base = measured(found.edges, Rows.of(X), found.scaling)
    places, left, right = found.edges.pairs_among(y >= 0)
    change = found.distances - base
    assert not np.delete(change, places).any()
    assert places.size >= sum(n * (n - 1) // 2 for n in np.bincount(y[y >= 0])), (
        "all tied pairs are candidates"
    )
    for place, i, j in zip(places, left, right, strict=True):
        if y[i] == y[j]:
            least = min(found.scaling.floors[i], found.scaling.floors[j]) if local else 0.0
            assert found.distances[place] == pytest.approx(min(base[place], least), abs=1e-12)
        else:
            assert change[place] > 10 * np.median(base) or not local


@pytest.mark.parametrize("candidates", ["all", 5])
def test_layers_are_certified_with_known_labels(candidates):
    """Lists of neighbors that prove their answer give that of all pairs."""
    X, y = features(), some_labels()
    alpha = 0.3
    layers = []
    for how in ("all", candidates):
        pairs = with_known(find_candidates("x", X, alpha, how, local=True), X, y)
        layers.append(solve_certified(Origin("x"), pairs, alpha, tol=1e-9)[1])
    np.testing.assert_allclose(
        layers[1].adjacency.toarray(), layers[0].adjacency.toarray(), atol=1e-6
    )
    apart = (y[:, None] >= 0) & (y >= 0) & (y[:, None] != y)
    assert not layers[0].adjacency.toarray()[apart].any()


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 3.0, "beta": 30.0}], ids=["automatic", "numbers"]
)
def test_labels_are_kept_and_clusters_numbered_as_they_are(parameters, tmp_path):
    views, y = {"a": features(0), "b": features(1)}, some_labels()
    model = RMGL(3, random_state=0, **parameters).fit(views, y, checkpoint=tmp_path / "steps")
    np.testing.assert_array_equal(model.labels_[y >= 0], y[y >= 0])
    unknown = RMGL(3, random_state=0, **parameters).fit(views)
    assert (model.labels_ == GROUP).mean() >= clustering_accuracy(GROUP, unknown.labels_) - 0.02
    assert all(layer.exact for layer in model.layers_)
    resumed = RMGL(3, random_state=0, **parameters).fit(views, y, checkpoint=tmp_path / "steps")
    np.testing.assert_array_equal(resumed.embedding_, model.embedding_)
    with pytest.raises(ValueError, match="different data, parameters or versions"):
        RMGL(3, random_state=0, **parameters).fit(views, checkpoint=tmp_path / "steps")
    model.save(tmp_path / "model.rmgl")
    np.testing.assert_array_equal(
        RMGL.load(tmp_path / "model.rmgl").predict(views), model.predict(views)
    )


def test_fewer_classes_than_clusters_missing_rows_and_networks():
    y = some_labels()
    y[y == 2] = -1
    first = features()
    first[::7] = np.nan
    links = (GROUP[:, None] == GROUP) & (np.random.default_rng(0).random((60, 60)) < 0.3)
    model = RMGL(3, random_state=0).fit(
        {"a": first, "b": features(1), "links": Network(links.astype(float), learn=True)}, y
    )
    np.testing.assert_array_equal(model.labels_[y >= 0], y[y >= 0])
    assert (model.labels_ == GROUP).mean() > 0.9


def test_the_number_of_clusters_is_not_below_the_classes():
    y = np.full(60, -1)
    y[[0, 5, 25, 30, 45, 50]] = [0, 1, 2, 3, 4, 4]
    model = RMGL("auto", random_state=0).fit([features(distance=6.0)], y)
    assert model.n_clusters_ >= 5
    np.testing.assert_array_equal(model.labels_[y >= 0], y[y >= 0])
    assert str(model.report_)


def test_without_an_unknown_label_y_is_ignored():
    X = features()
    np.testing.assert_array_equal(
        RMGL(3, random_state=0).fit([X], GROUP).embedding_,
        RMGL(3, random_state=0).fit([X]).embedding_,
    )
    assert check_known(np.array(["a", "b"]), 2, 2) is None
    assert check_known(np.full(4, -1), 4, 2) is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.r_[np.arange(4), np.full(56, -1)],
            "y has 4 classes, more than n_clusters=3: ask for at least 4 clusters",
        ),
        (
            np.r_[[1.0, 2.0], np.full(58, np.nan)],
            r"y\[2\] is NaN: use -1 for unknown labels",
        ),
        (
            np.r_[[1, 2, 3], np.full(57, -1)],
            "y has the label 3, but the n_clusters=3 clusters are numbered from 0 to 2",
        ),
        (np.r_[[0, 1], np.full(10, -1)], "y has 12 labels for the 60 rows"),
        (np.r_[[0, -2], np.full(58, -1)], r"y\[1\] is -2"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        RMGL(3).fit([features()], y)
