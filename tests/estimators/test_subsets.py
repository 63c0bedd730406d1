"""Some clusters fitted again, and their finer labels in the first model."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import rmgl
from rmgl import RMGL
from tests.placing.test_same_columns import mixed


def nested(seed=0, names=None):
    """Two clusters far apart, the first of which has three parts, in two views."""
    rng = np.random.default_rng(seed)
    part = np.repeat([0, 1, 2, 3], 25)
    centers = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [14, 14, 14]])
    views = {
        name: pd.DataFrame(
            centers[part] + 0.65 * rng.normal(size=(100, 3)),
            columns=[f"{name}{at}" for at in range(3)],
            index=names,
        )
        for name in "ab"
    }
    return views, part


@pytest.fixture(scope="module")
def model():
    views, _ = nested()
    return RMGL(2, random_state=0).fit(views)


@pytest.fixture(scope="module")
def finer(model):
    return RMGL(3, random_state=0).fit(model.subset(clusters=[0]))


def test_a_subset_is_the_scaled_rows_of_the_clusters(model):
    found = model.subset(clusters=[1])
    rows = np.flatnonzero(model.labels_ == 1)
    assert found.names == ("a", "b")
    assert found.index.tolist() == rows.tolist()
    for view, kept in zip(found, model.fitted_.views, strict=True):
        np.testing.assert_array_equal(view.matrix, kept.matrix[rows])
    both = model.subset(clusters=[0, 1])
    assert both.n_rows == 100
    assert model.subset(clusters=1).n_rows == rows.size
    assert model.subset([1], views=["b"]).names == ("b",)


def test_a_second_fit_has_the_distances_of_the_first(model, finer):
    """Rows are not scaled again, and keep their units for new rows."""
    rows = np.flatnonzero(model.labels_ == 0)
    for first, second in zip(model.fitted_.views, finer.fitted_.views, strict=True):
        np.testing.assert_allclose(
            cdist(second.matrix, second.matrix), cdist(first.matrix[rows], first.matrix[rows])
        )
    assert [how for how, _ in finer.scale_] == [how for how, _ in model.scale_]
    assert {why for _, why in finer.scale_} == {"as in the fit these rows come from"}
    views, part = nested()
    new = {name: table[part < 3] for name, table in views.items()}  # in units of the data
    np.testing.assert_array_equal(finer.predict(new), finer.labels_)


def test_finer_labels_are_put_back(model, finer):
    _, part = nested()
    before = model.labels_.copy()
    again = model.relabeled(finer)
    assert adjusted_rand_score(part, again.labels_) == 1.0
    assert again.n_clusters_ == 4
    np.testing.assert_array_equal(again.labels_[75:], before[75:])  # others keep their number
    assert set(again.labels_[:75]) == {0, 2, 3}
    np.testing.assert_array_equal(model.labels_, before)
    assert model.n_clusters_ == 2
    by_cluster = model.relabeled(finer, clusters=[0])
    np.testing.assert_array_equal(by_cluster.labels_, again.labels_)


def test_a_model_with_finer_labels_does_all_that_others_do(model, finer, tmp_path):
    views, _ = nested()
    again = model.relabeled(finer)
    assert (again.predict(views) == again.labels_).all()
    assert again.predict_proba(views).shape == (100, 4)
    assert again.transform(views).shape == again.embedding_.shape == (100, 2)
    assert len(again.get_feature_names_out()) == 2
    table = again.explain(views)
    assert sorted(set(table.cluster.tolist())) == [0, 1, 2, 3]
    again.to_html(tmp_path / "page.html", views=views)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The fit has 2 clusters. Some of them were refitted" in page
    assert "2 in the fit; some were refitted" in page
    assert again.number_ is None
    assert again.hierarchy_ == []
    assert again.report_.trust is None
    assert again.report_.warnings[-1].startswith(
        "75 entities were refitted, and there are now 4 clusters"
    )
    assert "Trust" not in str(again.report_)
    assert model.report_.trust is not None
    third = RMGL(2, random_state=0).fit(again.subset([3]))
    assert again.relabeled(third).n_clusters_ == 5


def test_saved_models_keep_finer_labels(model, finer, tmp_path):
    views, _ = nested()
    again = model.relabeled(finer)
    again.save(tmp_path / "m.rmgl")
    loaded = RMGL.load(tmp_path / "m.rmgl")
    np.testing.assert_array_equal(loaded.labels_, again.labels_)
    np.testing.assert_array_equal(loaded.predict_proba(views), again.predict_proba(views))
    assert loaded.n_clusters_ == 4
    assert str(loaded.report_) == str(again.report_)
    finer.save(tmp_path / "finer.rmgl")
    loaded = RMGL.load(tmp_path / "finer.rmgl")
    np.testing.assert_array_equal(loaded.predict(views), finer.predict(views))
    model.save(tmp_path / "first.rmgl")
    first = RMGL.load(tmp_path / "first.rmgl")
    np.testing.assert_array_equal(first.relabeled(loaded).labels_, again.labels_)


def test_rows_are_found_by_their_names():
    names = [f"cell {row}" for row in range(100)]
    views, _ = nested(names=names)
    model = RMGL(2, random_state=0).fit(views)
    rows = np.random.default_rng(1).permutation(75)
    finer = RMGL(3, random_state=0).fit({n: table.iloc[rows] for n, table in views.items()})
    again = model.relabeled(finer)
    assert adjusted_rand_score(again.labels_[rows], finer.labels_) == 1.0
    assert model.subset([0]).index.tolist() == names[:75]


def test_several_clusters_may_become_fewer():
    views, part = nested()
    model = RMGL(4, random_state=0).fit(views)
    assert adjusted_rand_score(part, model.labels_) == 1.0
    one = RMGL(1, random_state=0).fit(model.subset([0, 1, 2]))
    again = model.relabeled(one)
    assert again.n_clusters_ == 2
    assert again.labels_.tolist() == [0] * 75 + [1] * 25
    assert model.relabeled(RMGL(2, random_state=0).fit(model.subset([1, 2]))).n_clusters_ == 4


def test_views_of_all_kinds_can_be_fitted_again():
    """A mixed table with missing cells, a network, and given distances; some rows are missing."""
    rng = np.random.default_rng(0)
    table = mixed(80)
    table.loc[rng.permutation(80)[:10], "age"] = np.nan
    group = np.arange(80) % 2
    X = 6.0 * group[:, None] + rng.normal(size=(80, 3))
    links = (group[:, None] == group) & (rng.random((80, 80)) < 0.3)
    links = np.triu(links, 1)
    model = RMGL(2, random_state=0).fit(
        {
            "clinic": table,
            "links": rmgl.Network(sparse.csr_array((links | links.T).astype(float))),
            "far": rmgl.Precomputed(cdist(X, X)),
        },
        observed={"clinic": np.arange(80) % 7 > 0},
    )
    part = model.subset([0])
    rows = np.flatnonzero(model.labels_ == 0)
    np.testing.assert_array_equal(part["clinic"].mask, (rows % 7 > 0))
    finer = RMGL(2, random_state=0).fit(part)
    assert finer.report_.views[0].gaps is not None
    again = model.relabeled(finer)
    assert again.n_clusters_ == 3
    new = {"clinic": table[:5], "far": cdist(X[:5], X)}
    assert set(again.predict(new)) <= {0, 1, 2}
    assert finer.predict({"clinic": table[:5]}).shape == (5,)


def test_what_does_not_fit_is_refused(model, finer):
    for clusters in ([2], [-1], ["a"], [], [0.5]):
        with pytest.raises(ValueError, match=r"are not clusters of the model: pass numbers from 0"):
            model.subset(clusters)
    with pytest.raises(ValueError, match=r"names unknown views \['c'\]"):
        model.subset([0], views=["c"])
    with pytest.raises(ValueError, match=r"have 25 rows, but the second model was fitted on 75"):
        model.relabeled(finer, clusters=[1])
    views, _ = nested()
    unnamed = RMGL(3, random_state=0).fit({name: X.to_numpy()[:75] for name, X in views.items()})
    with pytest.raises(ValueError, match=r"pass the clusters that it was fitted on"):
        model.relabeled(unnamed)
    other = RMGL(3, random_state=0).fit(
        {name: X[:75].set_axis([f"x{at}" for at in range(75)]) for name, X in views.items()}
    )
    with pytest.raises(ValueError, match=r"row 'x0' of the second model is not in this one"):
        model.relabeled(other)
    with pytest.raises(ValueError, match=r"an earlier fit scaled its rows"):
        RMGL(2, scale="standard").fit(model.subset([0]))
    constant = {"a": views["a"], "b": views["b"].mul(np.arange(100) >= 75, axis=0)}
    first = RMGL(2, random_state=0).fit(constant)
    with pytest.raises(ValueError, match=r"view 'b' is constant .* leave it out"):
        RMGL(3, random_state=0).fit(first.subset([0]))
    assert RMGL(3, random_state=0).fit(first.subset([0], views=["a"])).n_clusters_ == 3
