"""Each scale against its formula, written out row by row and column by column."""

import numpy as np
import pytest
from scipy import sparse

from rmgl import RMGL
from rmgl.views import scaling
from rmgl.views.scaling import SCALES, choose_scale, fit_scaler, median_skewness
from rmgl.views.views import Views
from tests.conftest import planted_views


def slow(name, X):
    """What a scale does, one entry at a time."""
    found = np.array(
        [[np.sqrt(x) if name in ("root", "hellinger") else x for x in row] for row in X.tolist()]
    )
    if name in ("minmax", "root"):
        for c in range(X.shape[1]):
            column = found[:, c].copy()
            low, high = column.min(), column.max()
            found[:, c] = [(x - low) / (high - low) if high > low else 0.0 for x in column]
    if name == "standard":
        for c in range(X.shape[1]):
            column = found[:, c].copy()
            mean = sum(column) / len(column)
            deviation = np.sqrt(sum((x - mean) ** 2 for x in column) / len(column))
            found[:, c] = [(x - mean) / deviation if np.ptp(column) > 0 else 0.0 for x in column]
    if name in ("unit", "hellinger"):
        for r in range(X.shape[0]):
            length = np.sqrt(sum(x * x for x in found[r]))
            found[r] = [x / length if length > 0 else 0.0 for x in found[r]]
    return found


@pytest.fixture
def counts(rng):
    """Non-negative, with a row of zeros, a constant column and a column of zeros."""
    X = rng.gamma(0.7, size=(15, 7)) * (rng.random((15, 7)) < 0.7)
    X[4] = 0.0
    X[:, 5] = 0.0
    return X


def squared_distances(X):
    X = X.toarray() if sparse.issparse(X) else X
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("name", SCALES)
def test_a_scale_is_its_formula(name, counts):
    scaler = fit_scaler(name, counts)
    assert scaler.name == name
    np.testing.assert_allclose(scaler(counts), slow(name, counts), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", sorted(SCALES.keys() - {"root", "hellinger"}))
def test_a_scale_is_its_formula_where_entries_are_negative(name, rng):
    X = np.column_stack(
        [rng.normal(size=12), 100 + rng.normal(size=12), -rng.random(12), np.full(12, 0.1)]
    )
    np.testing.assert_allclose(fit_scaler(name, X)(X), slow(name, X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SCALES)
def test_sparse_views_have_the_distances_of_dense_ones(name, counts):
    """They stay sparse, so their columns are divided but not shifted."""
    X = sparse.csr_array(counts)
    found = fit_scaler(name, X)(X)
    assert sparse.issparse(found)
    assert found.nnz <= X.nnz
    np.testing.assert_allclose(
        squared_distances(found), squared_distances(slow(name, counts)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", SCALES)
def test_scaling_leaves_its_input_alone(name, kind, counts):
    X = kind(counts.copy())
    fit_scaler(name, X)(X)
    np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, counts)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", SCALES)
def test_a_scaler_is_the_same_map_for_one_row_as_for_many(name, kind, counts):
    scaler = fit_scaler(name, kind(counts))
    together = scaler(kind(counts))
    for row in (0, 4, 9):
        alone = scaler(kind(counts[[row]]))
        np.testing.assert_array_equal(squared_distances(alone), 0.0)
        difference = alone - together[[row]]
        assert abs(difference).max() == 0.0


def test_new_rows_get_the_scaling_that_was_fitted():
    """Not one of their own: a new row beyond the largest value has a coordinate above 1."""
    views, _ = planted_views(columns=(3, 4))
    model = RMGL(3, scale=["minmax", "standard"], random_state=0).fit(views)
    for fitted, (name, X) in zip(model.fitted_.views, views.items(), strict=True):
        np.testing.assert_array_equal(fitted.scaler(X), fitted.matrix, err_msg=name)
    first, second = views.values()
    beyond = first.max(axis=0, keepdims=True) + np.ptp(first, axis=0)
    np.testing.assert_allclose(model.fitted_.views[0].scaler(beyond), 2.0, rtol=1e-12)
    np.testing.assert_allclose(
        model.fitted_.views[1].scaler(second.mean(axis=0, keepdims=True) + second.std(axis=0)),
        1.0,
        rtol=1e-9,
    )
    one_by_one = [
        model.predict_proba({name: X[[row]] for name, X in views.items()})[0]
        for row in range(0, 90, 15)
    ]
    np.testing.assert_allclose(
        one_by_one,
        model.predict_proba({name: X[::15] for name, X in views.items()}),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("name", sorted(SCALES.keys() - {"none"}))
def test_the_unit_of_measurement_does_not_matter(name, factor, kind, counts):
    """Nor does any square overflow or vanish on the way; pytest makes an error of such a warning."""
    X = counts / counts.max()
    found, wanted = (
        fit_scaler(name, kind(factor * X))(kind(factor * X)),
        fit_scaler(name, kind(X))(kind(X)),
    )
    np.testing.assert_allclose(
        squared_distances(found), squared_distances(wanted), rtol=1e-9, atol=1e-12
    )


def test_none_is_the_array_itself(counts):
    assert fit_scaler("none", counts)(counts) is counts


def test_views_use_the_scale_of_each(counts):
    scaled = Views.of({"a": counts, "b": counts + 1}).scaled(["root", "standard"])
    np.testing.assert_allclose(scaled.matrices[0], slow("root", counts), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        scaled.matrices[1], slow("standard", counts + 1), rtol=1e-9, atol=1e-12
    )


# The choice of a scale


def with_zeros(n_zeros, n_columns, n_rows=10):
    """Ones, with so many zeros."""
    X = np.ones(n_rows * n_columns)
    X[:n_zeros] = 0.0
    return np.random.default_rng(0).permutation(X).reshape(n_rows, n_columns)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("n_zeros", "n_columns", "counts"),
    [
        (700, 100, False),  # exactly seven tenths
        (701, 100, True),
        (699, 100, False),
        (701 * 99 // 100 + 1, 99, False),  # one column short
        (909, 101, True),
    ],
)
def test_counts_are_many_columns_with_more_than_seven_tenths_of_zeros(
    n_zeros, n_columns, counts, kind
):
    name, reason = choose_scale(kind(with_zeros(n_zeros, n_columns)))
    assert (name == "hellinger") == counts
    if counts:
        assert reason == (
            f"no negative entries, {n_zeros / (10 * n_columns):.0%} zeros, {n_columns} "
            "columns: counts"
        )


def test_zeros_that_a_sparse_view_stores_are_zeros():
    X = sparse.csr_array(np.ones((10, 100)))
    X.data[:] = with_zeros(850, 100).ravel()
    assert X.nnz == 1000
    assert choose_scale(X)[0] == "hellinger"


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("n_zeros", "n_columns", "scale", "reason"),
    [
        (
            900,
            100,
            "unit",
            "1.0% of the nonzero entries negative, 90% zeros, 100 columns: weighted counts",
        ),
        (900, 90, "minmax", "no square-root transform, because some entries are negative"),
        (600, 100, "minmax", "no square-root transform, because some entries are negative"),
    ],
)
def test_a_single_negative_entry_decides(n_zeros, n_columns, scale, reason, kind):
    X = with_zeros(n_zeros, n_columns, n_rows=1000 // n_columns)
    X.flat[np.flatnonzero(X)[3]] = -1e-300
    assert choose_scale(kind(X)) == (scale, reason)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("n_zeros", "n_columns", "n_negative", "weighted"),
    [
        (800, 100, 9, True),
        (800, 100, 10, False),  # exactly a twentieth of the other entries
        (701, 100, 5, True),
        (700, 100, 5, False),  # exactly seven tenths of zeros
        (800 * 99 // 100, 99, 5, False),  # one column short
    ],
)
def test_weighted_counts_have_few_negative_entries(n_zeros, n_columns, n_negative, weighted, kind):
    X = with_zeros(n_zeros, n_columns)
    X.flat[np.flatnonzero(X)[:n_negative]] = -0.5
    name, reason = choose_scale(kind(X))
    assert name == ("unit" if weighted else "minmax")
    share, zeros = n_negative / (10 * n_columns - n_zeros), n_zeros / (10 * n_columns)
    said = (
        f"{share:.1%} of the nonzero entries negative, {zeros:.0%} zeros, {n_columns} columns: "
        "weighted counts"
    )
    assert reason == (
        said if weighted else "no square-root transform, because some entries are negative"
    )
    found = Views.of([kind(X)]).scaled("auto").matrices[0]
    np.testing.assert_allclose(
        squared_distances(found), squared_distances(slow(name, X)), rtol=1e-9, atol=1e-12
    )


def two_values(share_of_ones, n=100):
    """A column of zeros and ones, whose skewness is |1 - 2p| / sqrt(p (1 - p))."""
    return (np.arange(n) < round(share_of_ones * n)).astype(float)[:, None]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.28, 0.3, 0.5, 0.7, 0.75, 0.9])
def test_skewness_above_one_takes_roots(share, kind):
    X = two_values(share)
    skewness = abs(1 - 2 * share) / np.sqrt(share * (1 - share))
    assert median_skewness(kind(X)) == pytest.approx(skewness, rel=1e-9, abs=1e-12)
    name, reason = choose_scale(kind(X))
    assert name == ("root" if skewness > 1 else "minmax")
    assert f"median skewness of {skewness:.1f}" in reason


def test_skewness_of_exactly_one_is_not_skewed(monkeypatch):
    X = two_values(0.3)
    monkeypatch.setattr(scaling, "SKEWED", median_skewness(X))
    assert choose_scale(X)[0] == "minmax"
    monkeypatch.setattr(scaling, "SKEWED", np.nextafter(median_skewness(X), 0))
    assert choose_scale(X)[0] == "root"


def test_the_median_decides_and_constant_columns_have_no_say():
    skewed, even = two_values(0.1), two_values(0.5)
    assert choose_scale(np.hstack([skewed, skewed, even]))[0] == "root"
    assert choose_scale(np.hstack([skewed, even, even]))[0] == "minmax"
    assert choose_scale(np.hstack([skewed, *[np.full((100, 1), 7.0)] * 5]))[0] == "root"
    assert choose_scale(np.full((100, 3), 7.0)) == (
        "minmax",
        "no square-root transform, because the columns are not strongly skewed, with a median skewness of 0.0",
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_choice_does_not_depend_on_the_unit(factor, kind):
    for X in (with_zeros(850, 100), two_values(0.1), two_values(0.5)):
        assert choose_scale(kind(factor * X)) == choose_scale(kind(X))


def test_a_view_without_stored_entries_has_a_scale():
    X = sparse.csr_array((5, 3))
    assert choose_scale(X)[0] == choose_scale(sparse.csr_array((5, 120)))[0] == "minmax"
    for name in SCALES:
        assert abs(fit_scaler(name, X)(X)).max() == 0.0
