"""Bad and extreme input in one table: a right answer, or an error that names the view, row or
parameter.
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL, Network, from_anndata
from rmgl.baselines import SCGED
from rmgl.edges.local_scaling import LocalScaling
from rmgl.placing.outliers import outlier_scores
from rmgl.views.incomplete import aligned
from rmgl.views.views import Views


def good(n=20, columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, columns))


def with_entry(value, row=4):
    X = good()
    X[row, 1] = value
    return X


A = good()
ERRORS = {
    "different rows": (
        [A, A[:-1]],
        {},
        r"view 'view_1' has 19 rows but view 'view_0' has 20: every view must have the same",
    ),
    "NaN": (
        {"a": A, "b": with_entry(np.nan)},
        {"missing": "error"},
        r"view 'b' contains NaN cells \(1 in all\) in 1 of 20 rows that also have other values \(first: row 4, column 1\): fill them",
    ),
    "inf": (
        {"a": with_entry(np.inf), "b": A},
        {},
        r"view 'a' contains infinity in 1 of 20 rows \(first: row 4, column 1\)",
    ),
    "NaN in sparse": (
        [sparse.csr_array(with_entry(np.nan))],
        {},
        r"view 'view_0' contains NaN cells \(1 in all\) in 1 of 20 rows that also have other values \(first: row 4, column 1\)",
    ),
    "missing in table": (
        {"t": pd.DataFrame(A).mask(pd.DataFrame(A) > 1)},
        {"missing": "error"},
        r"view 't' contains NaN cells \(\d+ in all\) in \d+ of 20 rows that also have",
    ),
    "masked": (
        [np.ma.masked_greater(A, 1)],
        {"missing": "error"},
        r"view 'view_0' contains NaN cells \(\d+ in all\) in \d+ of 20 rows that also have",
    ),
    "no rows": ([A, np.empty((0, 3))], {}, r"view 'view_1': Found array with 0 sample\(s\)"),
    "no columns": (
        [A, np.empty((20, 0))],
        {},
        r"view 'view_1': Found array with 0 feature\(s\) .*: pass at least one column",
    ),
    "table without columns": (
        {"t": pd.DataFrame(index=range(20)), "a": A},
        {},
        r"view 't': Found array with 0 feature\(s\) .*: pass at least one",
    ),
    "network of other entities": (
        {"a": A, "n": Network(np.ones((19, 19)))},
        {},
        r"view 'n' has 19 rows but view 'a' has 20: .* a network or a distance matrix needs one row and one column per entity",
    ),
    "no views": ([], {}, r"no views were given: pass at least one 2-D array"),
    "no views by name": ({}, {}, r"no views were given"),
    "strings": (
        [A, np.array([["a", "b"]] * 20)],
        {},
        r"view 'view_1': could not convert <U1 values \(text or dates\) to numbers: encode them",
    ),
    "column of ids": (
        {"t": pd.DataFrame({"x": A[:, 0], "name": list("abcdefghijklmnopqrst")})},
        {},
        r"view 't': column 'name' has 20 distinct values in 20 rows, so it looks like row ids",
    ),
    "dates": (
        [np.full((20, 1), np.datetime64("2020-01-01"))],
        {},
        r"view 'view_0': could not convert datetime64\[D\] values",
    ),
    "complex": ([A, A + 1j], {}, r"view 'view_1': Complex data not supported"),
    "1-D": ([A, A[:, 0]], {}, r"view 'view_1': Expected 2D array, got 1D array"),
    "1-D alone": (A[:, 0], {}, r"view 'view_0': Expected 2D array, got 1D array"),
    "3-D": ([A, A[None]], {}, r"view 'view_1': Found array with dim 3"),
    "not an array": ([A, None], {}, r"view 'view_1': "),
    "None": (None, {}, r"view 'view_0': "),
    "fewer rows than clusters": (
        [A[:2]],
        {},
        r"n_clusters=3 exceeds the number of rows, n_samples=2",
    ),
    "one row": ([A[:1]], {"n_clusters": 1}, r"view 'view_0': Found array with 1 sample"),
    "alpha 0": ([A], {"alpha": 0}, r"The 'alpha' parameter of RMGL must be"),
    "alpha negative": (
        [A, A],
        {"alpha": [1.0, -2.0]},
        r"alpha=-2.0 for view 'view_1' must be a number > 0",
    ),
    "alpha inf": ([A], {"alpha": [np.inf]}, r"alpha=inf for view 'view_0' must be a number > 0"),
    "alpha text": ([A], {"alpha": ["x"]}, r"alpha='x' for view 'view_0' must be a number > 0"),
    "beta negative": ([A], {"beta": -1}, r"The 'beta' parameter of RMGL must be"),
    "beta negative by name": (
        {"a": A},
        {"beta": {"a": -1}},
        r"beta=-1 for view 'a' must be a number from 0",
    ),
    "beta all zero": (
        [A, A],
        {"beta": [0, 0]},
        r"beta is 0 for every view.*set a positive beta for at least one view",
    ),
    "alpha wrong length": (
        [A, A],
        {"alpha": [1, 2, 3]},
        r"entries in alpha \(3\) is not the number of views \(2, \['view_0', 'view_1'\]\)",
    ),
    "beta wrong length": (
        [A, A],
        {"beta": [1]},
        r"entries in beta \(1\) is not the number of views \(2",
    ),
    "scale wrong length": (
        [A],
        {"scale": ["unit", "none"]},
        r"entries in scale \(2\) is not the number of views \(1",
    ),
    "alpha unknown name": (
        {"a": A},
        {"alpha": {"a": 1, "z": 2}},
        r"alpha names unknown views \['z'\]: the views are \['a'\]",
    ),
    "beta missing name": (
        {"a": A, "b": A},
        {"beta": {"a": 1}},
        r"beta has no entry for views \['b'\]",
    ),
    "scale unknown": ([A], {"scale": "log"}, r"The 'scale' parameter of RMGL must be"),
    "scale unknown for one": (
        [A, A],
        {"scale": ["unit", "log"]},
        r"scale='log' for view 'view_1' is unknown; use one of",
    ),
    "solver unknown": ([A], {"solver": "simplex"}, r"The 'solver' parameter of RMGL must be"),
    "n_clusters 0": ([A], {"n_clusters": 0}, r"The 'n_clusters' parameter of RMGL must be"),
    "n_clusters a fraction": (
        [A],
        {"n_clusters": 2.5},
        r"The 'n_clusters' parameter of RMGL must be",
    ),
    "max_iter 0": ([A], {"max_iter": 0}, r"The 'max_iter' parameter of RMGL must be"),
    "constant view": (
        {"a": A, "b": np.ones((20, 4))},
        {},
        r"view 'b' is constant after scale='minmax': all of its 20 rows are equal.*leave it out",
    ),
    "constant unscaled": (
        [np.full((20, 2), 7.0)],
        {"scale": "none"},
        r"view 'view_0' is constant: all of its 20 rows are equal",
    ),
    "equal where it is not empty": (
        {"a": good(columns=12), "b": np.repeat([[1.0], [0.0]], (15, 5), axis=0) @ np.ones((1, 12))},
        {"scale": "none"},
        r"view 'b' is constant",
    ),
    "40 identical rows and no others": (
        [np.repeat(A[:1], 40, axis=0)],
        {},
        r"view 'view_0' is constant",
    ),
    "zero rows only, unit": (
        [np.zeros((20, 2))],
        {"scale": "unit"},
        r"view 'view_0' is constant after scale='unit'",
    ),
    "huge unscaled": (
        {"a": 1e150 * A},
        {"scale": "none"},
        r"view 'a' has values up to 2e\+150, too large to square.*use scale='minmax'",
    ),
    "tiny unscaled": (
        {"a": 1e-150 * A},
        {"scale": "none"},
        r"view 'a' varies by at most 4e-150, too little to square.*use scale='minmax'",
    ),
    "alpha below rounding": (
        [A],
        {"alpha": 1e-20},
        r"alpha=1.0e-20 for view 'view_0' is below the rounding error of squared distances.*raise alpha to",
    ),
    "beta far above alpha": (
        [A],
        {"alpha": 1.0, "beta": 1e20},
        r"alpha=1.0e\+00 for view 'view_0' is below the rounding error of beta=1.0e\+20",
    ),
    "alpha absurd": (
        [A],
        {"alpha": 1e300},
        r"alpha=1e\+300 for view 'view_0' must be a number > 0 and at most 1e\+100",
    ),
    "scales far apart": (
        [1e-10 * A, 1e10 * A],
        {"scale": "none", "beta": 1.0},
        r"for view 'view_0' is below the rounding error of beta=.*put the views on the same scale",
    ),
    "mask too short": (
        A,
        {"views": [[True, False], [False, True]]},
        r"block 'view_0' is a mask of length 2, but the input has 3 columns",
    ),
    "slice of names": (
        pd.DataFrame(A, columns=list("abc")),
        {"views": [slice("a", "b")]},
        r"block 'view_0' is slice.*list the column names",
    ),
    "column twice": (
        pd.DataFrame(A, columns=list("aab")),
        {"views": [["a"], ["b"]]},
        r"names column 'a', which occurs more than once; select it by position",
    ),
    "repeated names": ({1: A, "1": A}, {}, r"view names must differ"),
    "blocks do not add up": (
        A,
        {"views": [1, 1]},
        r"views=\[1, 1\] describes 2 columns, but the input has 3",
    ),
    "blocks unknown column": (
        pd.DataFrame(A, columns=list("abc")),
        {"views": [["a"], ["z"]]},
        r"block 'view_1' names column 'z', which the input does not have",
    ),
    "blocks of several views": (
        [A, A],
        {"views": [1, 2]},
        r"views= describes the column blocks of one 2-D input",
    ),
    "blocks nonsense": (
        A,
        {"views": ["ab", "c"]},
        r"block 'view_0' is 'ab'; pass block sizes, slices, or lists of column names",
    ),
    "empty block": (
        A,
        {"views": [slice(0, 3), slice(3, 3)]},
        r"view 'view_1': Found array with 0 feature\(s\)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_the_culprit(name):
    data, parameters, message = ERRORS[name]
    with pytest.raises((ValueError, TypeError), match=message):
        RMGL(**{"n_clusters": 3, **parameters}).fit(data)


duplicated = good(60)
duplicated[10:50] = duplicated[10]
outlier = good(30)
outlier[7] = 1e6

WORKS = {
    "two rows": (good(2), {"n_clusters": 2}),
    "two rows, one cluster": (good(2), {"n_clusters": 1}),
    "three rows": (good(3), {"n_clusters": 2}),
    "one cluster": (good(), {"n_clusters": 1}),
    "as many clusters as rows": (good(12), {"n_clusters": 12}),
    "huge values, scaled": (1e150 * good(), {}),
    "tiny values, scaled": (1e-150 * good(), {}),
    "largest doubles, scaled": (good() / np.abs(good()).max() * 1.7e308, {}),
    "40 identical rows among 60": (duplicated, {}),
    "40 identical rows among 60, unscaled": (duplicated, {"scale": "none"}),
    "one far outlier": (outlier, {}),
    "one column": (good(columns=1), {}),
    "more columns than rows": (good(columns=300), {}),
    "scales far apart": ([1e-10 * good(), 1e10 * good()], {"scale": "none"}),
    "a view twice": ([good(), good()], {}),
    "tiny beta": (good(), {"beta": 1e-90}),
    "huge alpha": (good(), {"alpha": 1e90}),
    "tiny values, unscaled": (1e-12 * good(), {"scale": "none"}),
    "a row of zeros, unit": (np.vstack([good(), np.zeros((1, 3))]), {"scale": "unit"}),
}


@pytest.mark.parametrize("name", WORKS)
def test_extreme_but_right(name):
    data, parameters = WORKS[name]
    with warnings.catch_warnings():
        # fewer distinct points than clusters, fragments
        warnings.simplefilter("ignore", UserWarning)
        model = RMGL(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(data)
    n, k = model.embedding_.shape
    assert model.labels_.shape == (n,)
    assert set(model.labels_) <= set(range(k))
    kept = np.delete(model.embedding_, model.fragments_, axis=0)
    np.testing.assert_allclose(kept.T @ kept, np.eye(k), atol=1e-8)
    assert np.isfinite(model.embedding_).all()
    for layer in model.layers_:
        assert layer.kkt_residual <= 1e-6
        assert layer.gap <= 1e-6
    # of the embedding, on the layers that it was computed from
    assert model.history_[-2]["eigen_residual"] <= 1e-9
    if k in (1, n):
        assert len(set(model.labels_)) == k


def test_new_rows_far_out_are_refused():
    model = RMGL(2, random_state=0).fit({"a": good(), "b": good(seed=1)})
    with pytest.raises(
        ValueError,
        match=r"row 2 of view 'b' has values up to \d+e\+\d+ times those seen during fit, too large to square",
    ):
        model.predict({"a": good(4), "b": np.where(np.arange(4)[:, None] == 2, 1e300, good(4))})


def test_tables_of_which_one_is_empty_are_put_together_without_a_warning():
    filled = pd.DataFrame(good(8), index=pd.date_range("2020", periods=8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (_, first), (_, second) = aligned([("a", filled.iloc[:0]), ("b", filled)], "outer")
    assert len(first) == len(second) == 8


@pytest.mark.parametrize("blocks", [np.inf, 3, "ab"])
def test_blocks_that_are_no_list(blocks):
    with pytest.raises(
        ValueError, match=r"is not a list or dict of column blocks; pass block sizes"
    ):
        Views.of(A, blocks)


@pytest.mark.parametrize("factor", [1.7e308, 1e300, 5e-324])
def test_given_layers_out_of_range(factor):
    with pytest.raises(
        ValueError,
        match=r"layer 'view_0': the weights of node 0 add up to .*multiply the layer by a constant",
    ):
        SCGED(2, precomputed=True).fit([factor * np.ones((6, 6))])


def test_parts_of_an_anndata_that_are_no_names():
    with pytest.raises(TypeError, match=r"views=3 is not a list of names"):
        from_anndata(object(), 3)


def first_layer(model, **changes):
    """All layers, the first of them changed."""
    return {"layers": [replace(model.layers_[0], **changes), *model.layers_[1:]]}


def first_view(model, **changes):
    """All views, the first of them changed."""
    views = model.fitted_.views
    return {"views": replace(views, views=(replace(views[0], **changes), *views.views[1:]))}


SPOILED = {
    "NaN in the potentials": lambda m: first_layer(m, potentials=m.layers_[0].potentials * np.nan),
    "potentials as a matrix": lambda m: first_layer(m, potentials=m.layers_[0].potentials[:, None]),
    "nodes as a mask": lambda m: first_layer(m, nodes=np.arange(20) > 0),
    "a view twice": lambda m: first_layer(m, views=(1,)),
    "no view": lambda m: first_layer(m, views=(), factors=()),
    "huge scales": lambda m: first_layer(m, scaling=LocalScaling(np.full(20, 1e300), np.ones(20))),
    "labels as a matrix": lambda m: {"labels": m.labels_[:, None]},
    "scale of zeros": lambda m: first_view(
        m, scaler=replace(m.fitted_.views[0].scaler, span=np.zeros(3))
    ),
    "scale of other columns": lambda m: first_view(
        m, scaler=replace(m.fitted_.views[0].scaler, span=np.ones(2))
    ),
    "view with NaN": lambda m: first_view(m, matrix=np.full((20, 3), np.nan)),
    "guide of other rows": lambda m: {"guide": np.ones((3, 2))},
    "embedding with infinity": lambda m: {"embedding": np.full((20, 2), np.inf)},
}


@pytest.mark.parametrize("name", SPOILED)
def test_models_that_do_not_fit_together_are_refused(name, tmp_path):
    model = RMGL(2, random_state=0).fit({"a": good(), "b": good(seed=1)})
    assert model.report_.n_rows == 20  # it is made of what is not spoiled yet
    model.fitted_ = replace(model.fitted_, **SPOILED[name](model))
    model.save(tmp_path / "a.rmgl")
    with pytest.raises(
        ValueError,
        match=r"a.rmgl: not a readable rmgl model; the file is inconsistent \(",
    ):
        RMGL.load(tmp_path / "a.rmgl")


def test_outlier_scores_of_spreads_far_apart():
    pair = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert outlier_scores([pair], [np.array([1e-300, 1e300])], [None], [1.0]).tolist() == [0.0, 1.0]
