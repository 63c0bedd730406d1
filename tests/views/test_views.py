"""What users have becomes views; scaling; nothing of theirs is changed."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.views.check_view import per_view
from rmgl.views.scaling import SCALES, choose_scale, median_skewness
from rmgl.views.views import Views


@pytest.fixture
def X(rng):
    return rng.normal(size=(12, 4))


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: (100 * X).astype(np.int16),
        lambda X: X > 0,
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(object),
        lambda X: X[::-1, ::-1],
        lambda X: X.tolist(),
        pd.DataFrame,
        lambda X: pd.DataFrame(X).astype("Float64"),
    ],
)
def test_dense_inputs_become_float64(X, convert):
    given = convert(X)
    (found,) = Views.of({"a": given}).matrices
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.asarray(given, dtype=np.float64))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_inputs_become_csr(X, format, kind):
    dense = np.where(X > 0, X, 0)
    given = getattr(sparse, f"csr_{kind}")(dense).asformat(format)
    (found,) = Views.of({"a": given}).matrices
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), dense)


def test_sparse_tables_become_csr(X):
    (found,) = Views.of({"a": pd.DataFrame(X > 0).astype(pd.SparseDtype(bool))}).matrices
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), X > 0)


def test_read_only_arrays_and_memmaps(X, tmp_path):
    X.flags.writeable = False
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    views = Views.of([X, mapped]).scaled("minmax")
    np.testing.assert_array_equal(*views.matrices)


def test_names(X):
    assert Views.of([X, X]).names == ("view_0", "view_1")
    assert Views.of((X, X)).names == ("view_0", "view_1")
    assert Views.of({"b": X, "a": X}).names == ("b", "a")
    assert Views.of(X).names == ("view_0",)
    assert Views.of(X.tolist()).names == ("view_0",)
    assert Views.of([X.tolist(), X.tolist()]).names == ("view_0", "view_1")


@pytest.mark.parametrize(
    ("blocks", "names", "columns"),
    [
        ([1, 3], ("view_0", "view_1"), [[0], [1, 2, 3]]),
        ([slice(2, 4), slice(0, 2)], ("view_0", "view_1"), [[2, 3], [0, 1]]),
        ([["d", "a"], ["b"]], ("view_0", "view_1"), [[3, 0], [1]]),
        ({"left": ["a"], "right": [2, 3]}, ("left", "right"), [[0], [2, 3]]),
        ({1: [0], 2: [True, False, False, True]}, ("1", "2"), [[0], [0, 3]]),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_column_blocks(X, blocks, names, columns, kind):
    parts = blocks.values() if isinstance(blocks, dict) else blocks
    if kind != "frame" and any(
        isinstance(c, str) for part in parts if isinstance(part, list) for c in part
    ):
        with pytest.raises(ValueError, match=r"names column '[ad]', which the input does not have"):
            Views.of(X, blocks)
        return
    given = {
        "frame": pd.DataFrame(X, columns=list("abcd")),
        "array": X,
        "sparse": sparse.coo_array(X),
    }[kind]
    views = Views.of(given, blocks)
    assert views.names == names
    for found, wanted in zip(views.matrices, columns, strict=True):
        np.testing.assert_array_equal(
            found.toarray() if sparse.issparse(found) else found, X[:, wanted]
        )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_inputs_are_not_modified(X, scale, kind):
    kept = np.abs(X) if scale in ("root", "hellinger") else X.copy()
    given = kind(kept.copy())
    Views.of([given]).scaled(scale)
    np.testing.assert_array_equal(
        given.toarray() if sparse.issparse(given) else np.asarray(given), kept
    )


@pytest.mark.parametrize("factor", [1.0, 1e150, 1e-150, 1e300, 1e-300])
def test_scales_do_what_they_say_at_any_magnitude(X, factor):
    views = Views.of({"a": factor * X})
    (minmax,) = views.scaled("minmax").matrices
    np.testing.assert_allclose(
        (minmax.min(axis=0), minmax.max(axis=0)), (np.zeros(4), np.ones(4)), atol=1e-12
    )
    (standard,) = views.scaled("standard").matrices
    np.testing.assert_allclose(
        (standard.mean(axis=0), standard.std(axis=0)), (np.zeros(4), np.ones(4)), atol=1e-10
    )
    (unit,) = views.scaled("unit").matrices
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-10)
    views = Views.of({"a": factor * np.abs(X)})
    (hellinger,) = views.scaled("hellinger").matrices
    np.testing.assert_allclose(
        hellinger**2, np.abs(X) / np.abs(X).sum(axis=1, keepdims=True), rtol=1e-10
    )
    (root,) = views.scaled("root").matrices
    (minmax,) = Views.of({"a": np.sqrt(np.abs(X))}).scaled("minmax").matrices
    np.testing.assert_allclose(root, minmax, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", ["minmax", "root", "hellinger", "standard", "unit"])
def test_sparse_stays_sparse_with_the_distances_of_dense(rng, scale):
    from rmgl.edges import AllPairs

    X = rng.random((20, 30)) * (rng.random((20, 30)) < 0.2)
    X[3] = 0
    X = sparse.csr_array(X)
    (found,) = Views.of([X]).scaled(scale).matrices
    (dense,) = Views.of([X.toarray()]).scaled(scale).matrices
    assert sparse.issparse(found)
    np.testing.assert_allclose(
        AllPairs(20).measure(found), AllPairs(20).measure(dense), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("scale", ["minmax", "standard"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -1e-200])
def test_constant_columns_are_harmless(X, scale, value):
    constant = np.full((12, 1), value)
    (found,) = Views.of([np.hstack([X, constant])]).scaled(scale).matrices
    (without,) = Views.of([X]).scaled(scale).matrices
    np.testing.assert_allclose(found[:, :4], without, rtol=1e-12, atol=1e-14)
    assert np.ptp(found[:, 4]) == 0


def test_zero_rows_stay_zero_under_unit_scaling(X):
    X[5] = 0
    (found,) = Views.of([X]).scaled("unit").matrices
    np.testing.assert_array_equal(found[5], 0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("wanted", "draw"),
    [
        ("hellinger", lambda rng: rng.poisson(0.1, size=(60, 120))),
        ("root", lambda rng: rng.poisson(0.1, size=(60, 40))),  # too few columns for counts
        ("root", lambda rng: rng.lognormal(size=(60, 5))),
        ("minmax", lambda rng: rng.random((60, 5))),
        ("minmax", lambda rng: rng.normal(size=(60, 5))),
        ("minmax", lambda rng: -rng.lognormal(size=(60, 5))),
        # negative entries
        ("minmax", lambda rng: rng.poisson(0.1, size=(60, 120)) - (np.arange(120) == 3)),
        # a few of them
        (
            "unit",
            lambda rng: (
                rng.poisson(0.1, size=(60, 120)) * np.where(rng.random((60, 120)) < 0.02, -0.5, 0.5)
            ),
        ),
        ("minmax", lambda rng: np.ones((60, 3))),
    ],
)
def test_the_scale_follows_signs_zeros_and_skewness(wanted, draw, kind, rng):
    X = draw(rng).astype(float)
    assert choose_scale(kind(X)) == choose_scale(X)
    assert choose_scale(kind(X))[0] == wanted
    assert choose_scale(kind(1e200 * X))[0] == wanted


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_median_skewness_is_that_of_the_columns_that_vary(kind, rng):
    from scipy.stats import skew

    X = np.hstack(
        [rng.lognormal(size=(50, 5)), rng.poisson(0.3, size=(50, 4)), rng.normal(size=(50, 4))]
    )
    wanted = np.median(np.abs(skew(X, axis=0)))
    assert median_skewness(kind(X)) == pytest.approx(wanted, rel=1e-9)
    assert median_skewness(kind(np.hstack([X, np.full((50, 9), 3.0)]))) == pytest.approx(
        wanted, rel=1e-9
    )
    assert median_skewness(kind(np.zeros((50, 2)))) == 0.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", ["root", "hellinger"])
def test_negative_entries_have_no_root(X, scale, kind):
    views = Views.of({"good": np.abs(X), "bad": kind(X)})
    with pytest.raises(
        ValueError,
        match=r"view 'bad' has negative entries \(down to -2.33\), which have no square root; use scale='minmax'",
    ):
        views.scaled(scale)


def sparse_or_dense(rng):
    X = rng.normal(size=(30, 12))
    return X, [np.asarray, sparse.csr_array]


def test_rows_of_zeros_that_others_fill_are_empty(rng):
    X, kinds = sparse_or_dense(rng)
    gappy = X.copy()
    gappy[[3, 8, 21]] = 0
    for kind in kinds:
        views = Views.of({"a": kind(gappy), "b": X}).without_empty_rows()
        np.testing.assert_array_equal(views[0].entities, np.setdiff1d(np.arange(30), [3, 8, 21]))
        assert views[1].entities is None
        assert not views.complete
        own = views[0].own()
        np.testing.assert_array_equal(
            own.toarray() if sparse.issparse(own) else own, np.delete(gappy, [3, 8, 21], axis=0)
        )
        assert views[1].own() is views.matrices[1]
        # as if those rows were not there
        for scale in ("auto", "minmax", "standard", "unit", "none"):
            scaled = views.scaled(scale)
            (alone,) = Views.of([np.delete(gappy, [3, 8, 21], axis=0)]).scaled(scale).matrices
            own = scaled[0].own()
            if kind is np.asarray:
                np.testing.assert_allclose(own, alone, rtol=1e-12)
            rest = scaled.matrices[0][[3, 8, 21]]
            assert not (rest.toarray() if sparse.issparse(rest) else rest).any()


def test_what_does_not_count_as_empty(rng):
    X, _ = sparse_or_dense(rng)

    def present(first, second):
        found = Views.of([first, second]).without_empty_rows()
        return () if found.complete else tuple(view.entities for view in found)

    def zeroed(A, rows):
        A = A.copy()
        A[rows] = 0
        return A

    assert present(X, X) == ()
    assert present(zeroed(X[:, :9], [3, 8]), X) == ()  # fewer than ten columns
    assert present(zeroed(X, [3]), X) == ()  # one row may be what it says
    assert present(zeroed(X, [3, 8]), zeroed(X, [3, 8])) == ()  # nowhere else either
    assert present(zeroed(X, np.arange(25)), X) == ()  # too little would be left
    rows, other = present(zeroed(X, [3, 8, 9]), zeroed(X, [9]))
    # row 9 is zero everywhere
    np.testing.assert_array_equal(rows, np.setdiff1d(np.arange(30), [3, 8]))
    assert other is None


@pytest.mark.parametrize(("n_filled", "counts"), [(6, True), (5, False)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_fifth_of_the_rows_must_be_left_where_zeros_count_as_empty(n_filled, counts, kind, rng):
    X, _ = sparse_or_dense(rng)
    gappy = X * (np.arange(30) < n_filled)[:, None]
    views = Views.of({"a": kind(gappy), "b": X}).without_empty_rows()
    assert [view.n_empty for view in views] == [30 - n_filled if counts else 0, 0]
    assert views[0].mask.sum() == (n_filled if counts else 30)


def test_the_fifth_is_one_of_the_rows_that_were_observed(rng):
    """Of 20 observed rows 4 are left, which is less than a fifth of all 30."""
    X, _ = sparse_or_dense(rng)
    observed = np.ones((30, 2), dtype=bool)
    observed[20:, 0] = False
    views = Views.of([X * (np.arange(30) < 4)[:, None], X], observed=observed).without_empty_rows()
    np.testing.assert_array_equal(views[0].entities, np.arange(4))
    assert [view.n_empty for view in views] == [16, 0]
    assert views.n_missing == (10, 0)


# Some of the entities


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_views_of_some_of_the_entities(kind, rng):
    X, _ = sparse_or_dense(rng)
    observed = np.ones((30, 2), dtype=bool)
    observed[[3, 8, 21], 0] = observed[[5, 9], 1] = False
    names = np.array([f"cell {row}" for row in range(30)], dtype=object)
    columns = (tuple("abcdefghijkl"), None)
    views = Views.of({"a": kind(X), "b": X[:, :5]}, observed=observed, index=names, columns=columns)
    entities = np.array([2, 3, 4, 5, 8, 20])
    part = views.of_entities(entities)
    assert (part.names, part.n_rows, tuple(view.columns for view in part)) == (
        ("a", "b"),
        6,
        columns,
    )
    assert part.index.tolist() == names[entities].tolist()
    for view, rows in enumerate(([0, 2, 3, 5], [0, 1, 2, 4, 5])):
        np.testing.assert_array_equal(part[view].entities, rows)
        np.testing.assert_array_equal(part[view].mask, observed[entities, view])
        for found, wanted in (
            (part.matrices[view], views.matrices[view][entities]),
            (part[view].own(), views.matrices[view][entities[rows]]),
        ):
            np.testing.assert_array_equal(
                *(A.toarray() if sparse.issparse(A) else A for A in (found, wanted))
            )
    assert part.n_missing == (2, 1)


def test_views_of_entities_that_are_in_all_of_them_are_complete(rng):
    X, _ = sparse_or_dense(rng)
    observed = rng.random((30, 3)) < 0.7
    observed[:, 0] |= ~observed.any(axis=1)
    views = Views.of([X, X, X], observed=observed)
    np.testing.assert_array_equal(views.in_all, np.flatnonzero(observed.all(axis=1)))
    assert not views.complete
    part = views.of_entities(views.in_all)
    assert part.complete
    assert part.complete
    assert part.index is None
    np.testing.assert_array_equal(part.in_all, np.arange(views.in_all.size))
    np.testing.assert_array_equal(Views.of([X, X]).in_all, np.arange(30))


def test_rows_of_zeros_are_in_no_part_that_is_in_all_views(rng):
    X, _ = sparse_or_dense(rng)
    gappy = X.copy()
    gappy[[3, 8, 21]] = 0
    views = Views.of({"a": gappy, "b": X}).without_empty_rows()
    np.testing.assert_array_equal(views.in_all, np.setdiff1d(np.arange(30), [3, 8, 21]))
    part = views.of_entities(views.in_all)
    assert part.complete
    assert part.n_missing == (0, 0)


# Views that are nearly all zeros


def with_share(filled, shape=(20, 50)):
    """So many ones, all others zero."""
    X = np.zeros(shape)
    X.flat[np.random.default_rng(0).permutation(X.size)[:filled]] = 1.0
    return X


# of 1000 entries
@pytest.mark.parametrize(("filled", "stored"), [(0, True), (29, True), (30, False), (31, False)])
def test_matrices_that_are_nearly_all_zeros_are_stored_sparse(filled, stored):
    # more rows than columns
    views = Views.of([with_share(filled, (100, 10)), with_share(10, (100, 10))])
    found = views.compressed()
    assert [sparse.issparse(X) for X in found.matrices] == [stored] * 2
    assert (found is views) == (not stored)
    for X, given in zip(found.matrices, views.matrices, strict=True):
        np.testing.assert_array_equal(X.toarray() if stored else X, given)


# of 1000 entries
@pytest.mark.parametrize(("filled", "stored"), [(0, True), (99, True), (100, False), (101, False)])
def test_of_few_rows_each_matrix_of_mostly_zeros_is_stored_sparse(filled, stored):
    views = Views.of([with_share(filled), with_share(900)])
    found = views.compressed()
    assert [sparse.issparse(X) for X in found.matrices] == [stored, False]
    np.testing.assert_array_equal(
        found.matrices[0].toarray() if stored else found.matrices[0], views.matrices[0]
    )


def test_sparse_matrices_stay_sparse_and_do_not_keep_others_dense():
    full = sparse.csr_array(np.ones((20, 50)))
    assert [sparse.issparse(X) for X in Views.of([full, with_share(10)]).compressed().matrices] == [
        True,
        True,
    ]
    assert [
        sparse.issparse(X) for X in Views.of([full, with_share(500)]).compressed().matrices
    ] == [True, False]


def test_compressed_views_keep_names_labels_and_missing_rows():
    observed = np.ones((20, 2), dtype=bool)
    observed[[3, 4], 0] = False
    views = Views.of(
        {"a": with_share(20), "b": with_share(10)}, observed=observed, index=np.arange(20) + 100
    )
    found = views.compressed()
    assert found.names == views.names
    np.testing.assert_array_equal(found.index, views.index)
    np.testing.assert_array_equal(found[0].entities, views[0].entities)
    assert found[1].entities is None
    assert found.n_missing == (2, 0)


def test_dense_and_sparse_arrays_of_zeros_give_the_same_model(rng):
    target = np.repeat(np.arange(3), 40)
    views = []
    for width in (600, 900):
        often = rng.permutation(np.arange(width) % 3)
        X = (rng.random((120, width)) < np.where(often == target[:, None], 0.05, 0.005)).astype(
            float
        )
        X[:, 0] += 1.0  # no row of zeros
        views.append(X)
    assert all((X == 0).mean() > 0.97 for X in views)
    dense, compressed = (
        RMGL(3, random_state=0).fit([kind(X) for X in views])
        for kind in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_array_equal(dense.labels_, compressed.labels_)
    np.testing.assert_array_equal(dense.embedding_, compressed.embedding_)
    assert all(sparse.issparse(X) for X in dense.fitted_.views.matrices)
    np.testing.assert_array_equal(
        dense.predict(views), dense.predict([sparse.csr_array(X) for X in views])
    )


def test_one_scale_per_view(X):
    by_list = Views.of({"a": X, "b": X}).scaled(["unit", "none"])
    by_name = Views.of({"a": X, "b": X}).scaled({"b": "none", "a": "unit"})
    np.testing.assert_array_equal(by_list.matrices[0], by_name.matrices[0])
    np.testing.assert_array_equal(by_list.matrices[1], X)


def test_per_view():
    assert per_view(3, ["a", "b"], "alpha") == [3, 3]
    assert per_view((1, 2), ["a", "b"], "alpha") == [1, 2]
    assert per_view(np.array([1, 2]), ["a", "b"], "alpha") == [1, 2]
    assert per_view({"b": 2, "a": 1}, ["a", "b"], "alpha") == [1, 2]
    assert per_view({1: 2, "0": 1}, ["0", "1"], "alpha") == [1, 2]
    assert per_view(pd.Series([1.0, 2.0]), ["a", "b"], "alpha") == [1.0, 2.0]
    assert per_view(np.array(3.0), ["a", "b"], "alpha") == [3.0, 3.0]


def test_row_labels_in_another_order_are_refused(X):
    a = pd.DataFrame(X, index=[f"cell{i}" for i in range(12)])
    b = a.iloc[::-1]
    with pytest.raises(
        ValueError, match="row 0 of view 'b' is labeled 'cell11' but 'cell0' in view 'a'"
    ):
        Views.of({"a": a, "b": b})
    Views.of({"a": a, "b": b.reset_index(drop=True)})  # labels dropped on purpose
    missing = a.set_axis([np.nan, *range(11)])
    Views.of({"a": missing, "b": missing.copy()})  # the same labels, one of them missing
    Views.of({"a": a.set_axis(pd.CategoricalIndex(a.index)), "b": a})
