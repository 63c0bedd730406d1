"""Reliability: do halves of the columns of a view confirm each other?"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rmgl import Network
from rmgl.views.categories import fit_table
from rmgl.views.column_groups import column_groups
from rmgl.views.features import FeatureView
from rmgl.views.halves import (
    FULL,
    LEAST,
    MOST_SAMPLED,
    NEIGHBORS,
    SURE,
    Halves,
    compared,
    neighbors_in,
    parts_by,
    sample_of,
)
from rmgl.views.views import Views


def blobs(rng, n=300, width=8, n_clusters=4, apart=3.0):
    """Rows of clusters that all columns show."""
    labels = rng.integers(n_clusters, size=n)
    return apart * rng.normal(size=(n_clusters, width))[labels] + rng.normal(size=(n, width))


def reliability(X, groups=None):
    return Halves(X, np.arange(X.shape[1]) if groups is None else groups).reliability()


def distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def by_loops(one, other):
    """h and q of the neighbors in one part, entity by entity, for distances without ties."""
    D, E = distances(one), distances(other)
    n, near = len(D), []
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: D[i, j])
        near += [(i, j) for j in others[:NEIGHBORS]]
    usual = n * (n - 1)
    return (
        np.mean([E[pair] for pair in near]) / (E.sum() / usual),
        np.mean([D[pair] for pair in near]) / (D.sum() / usual),
    )


def test_neighbors_are_compared_in_the_other_half_and_in_their_own(rng):
    X = blobs(rng, n=60)
    h, q, deviation = compared(distances(X[:, :4]), distances(X[:, 4:]))
    assert (h, q) == pytest.approx(by_loops(X[:, :4], X[:, 4:]), rel=1e-12)
    assert 0 < q < h < 1
    orders = [rng.permutation(60) for _ in range(400)]
    one, other = distances(X[:, :4]), distances(X[:, 4:])
    by_chance = [compared(one, other[order][:, order])[0] for order in orders]
    assert np.mean(by_chance) == pytest.approx(1, abs=4 * deviation / 20)
    assert np.std(by_chance) == pytest.approx(deviation, rel=0.2)


def test_the_same_half_twice_confirms_all_and_unrelated_ones_nothing(rng):
    X = rng.normal(size=(300, 6))
    h, q, _ = compared(distances(X), distances(X))
    assert h == pytest.approx(q, rel=1e-12)
    x = distances(X[:, [0]])
    h, q, deviation = compared(x, x)
    confirmed = 1 - SURE * deviation / (1 - q)
    expected = 2 * confirmed / (1 + confirmed)
    assert reliability(X[:, [0, 0]]) == pytest.approx(expected, rel=1e-9)
    h, _, deviation = compared(distances(X[:, :3]), distances(X[:, 3:]))
    assert abs(h - 1) < 4 * deviation
    assert reliability(X) == 0
    assert reliability(blobs(rng)) > 0.8


def test_clusters_in_more_noise_are_less_reliable(rng):
    X = [blobs(np.random.default_rng(3), apart=apart) for apart in (0.0, 0.7, 1.5, 4.0)]
    found = [reliability(x) for x in X]
    assert found[0] == 0
    assert found == sorted(found)
    assert found[-1] > 2 * found[1] > 0


def test_one_column_and_constant_ones_have_no_halves(rng):
    x = rng.normal(size=(50, 1))
    assert reliability(x) == 0
    assert reliability(np.hstack([x, np.full((50, 3), 7.0)])) == 0
    assert reliability(np.hstack([x, x, np.full((50, 3), 7.0)])) > 0.7


def test_neighbors_that_are_tied_for_the_last_places_share_them():
    D = 1.0 - np.eye(NEIGHBORS + 5)
    near = neighbors_in(D)
    assert near[0, 1:] == pytest.approx(NEIGHBORS / (NEIGHBORS + 4))
    assert np.diag(near).tolist() == [0.0] * len(D)


def test_the_columns_of_a_category_stay_together(rng):
    category = np.eye(4)[rng.integers(4, size=400)]
    X = np.hstack([category, rng.normal(size=(400, 1))])
    assert column_groups(X).tolist() == [0, 0, 0, 0, 4]
    assert reliability(X, column_groups(X)) == 0
    assert reliability(X) > 0.05  # apart, the columns of a category know of one another
    assert FeatureView("coded", X).reliability() == 0
    table = pd.DataFrame({"kind": rng.choice(list("abcd"), 400), "size": rng.normal(size=400)})
    view = Views.of({"table": table})[0].scaled("minmax")
    assert column_groups(view.matrix, view.encoding).tolist() == [0, 0, 0, 0, 1, 1]
    assert view.reliability() == 0
    hamming = Views.of({"h": rng.integers(3, size=(400, 2)).astype(float)})[0].scaled("hamming")
    assert np.bincount(column_groups(hamming.matrix, None, hamming.scaler)).tolist() == [4, 4]
    assert hamming.reliability() == 0


def test_columns_that_are_constant_in_the_sample_do_not_part_a_category():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert column_groups(X).tolist() == [0, 1, 0]


def test_reliability_does_not_depend_on_the_order_of_rows_and_columns_or_on_sparsity(rng):
    X = blobs(rng, apart=1.0)
    view = FeatureView("a", X)
    known = view.reliability()
    assert 0 < known < 1
    assert view.in_order(rng.permutation(len(X))).reliability() == pytest.approx(known, rel=1e-9)
    columns = rng.permutation(X.shape[1])
    assert FeatureView("a", X[:, columns]).reliability() == pytest.approx(known, rel=1e-9)
    assert FeatureView("a", sparse.csr_array(X)).reliability() == pytest.approx(known, rel=1e-9)


def test_missing_entities_are_left_out_and_missing_cells_say_little(rng):
    X = blobs(rng)
    entities = np.arange(0, 300, 2)
    known = FeatureView("half", X[entities]).reliability()
    with_others = np.where(np.isin(np.arange(300), entities)[:, None], X, 0.0)
    view = FeatureView("half", with_others, entities)
    assert view.reliability() == pytest.approx(known, rel=1e-9)
    gaps = rng.random(X.shape) < 0.1
    gappy = FeatureView("gaps", np.where(gaps, 0.0, X), gaps=gaps)
    assert gappy.reliability() == pytest.approx(FeatureView("all", X).reliability(), abs=0.1)
    noise = np.where(gaps, 0.0, rng.normal(size=X.shape))
    assert FeatureView("noise", noise, gaps=gaps).reliability() == 0


def test_parts_of_rows_of_one_length_have_one_length(rng):
    """Otherwise a row with little in one half, and so much in the other, is near to all others."""
    topics = rng.dirichlet(np.full(200, 0.05), size=4)[rng.integers(4, size=300)]
    counts = np.array([rng.multinomial(20, topic) for topic in topics])
    X = np.sqrt(counts / 20)
    assert FeatureView("text", X).reliability() > 0.2
    assert FeatureView("text", sparse.csr_array(X)).reliability() > 0.2
    random = np.array([rng.multinomial(20, np.full(200, 1 / 200)) for _ in range(300)])
    assert FeatureView("random", np.sqrt(random / 20)).reliability() < 0.05


def test_of_many_rows_a_sample_is_compared(rng):
    some = sample_of(10 * MOST_SAMPLED)
    assert some.size == MOST_SAMPLED == np.unique(some).size
    assert sample_of(30).tolist() == list(range(30))
    X = rng.normal(size=(3 * MOST_SAMPLED, 4))
    assert FeatureView("all", X).reliability() == reliability(X[sample_of(len(X))])


def test_views_without_columns_have_no_reliability():
    view = Views.of({"links": Network(sparse.csr_array(1.0 - np.eye(5)))})[0]
    assert view.reliability() is None


@pytest.mark.parametrize("usual", [0.8, 0.2])
def test_a_small_share_of_the_usual_reliability_is_enough(usual):
    enough = FULL * usual
    found = parts_by(np.array([usual, 1.001 * enough, 0.999 * enough, enough / 2, 0.0]), usual)
    assert found[:2].tolist() == [1.0, 1.0]
    assert found[2:] == pytest.approx([0.999**4, 0.5**4, LEAST])


def test_where_nothing_is_reliable_all_count_alike():
    assert parts_by(np.zeros(3), 0.0).tolist() == [1.0] * 3


def mixed(rng, related):
    """Numbers with clusters beside a category that follows them, or does not."""
    labels = rng.integers(3, size=300)
    X = 2 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(300, 6))
    kind = labels if related else rng.integers(3, size=300)
    table = pd.DataFrame(X, columns=[f"x{at}" for at in range(6)])
    return table.assign(
        kind=np.array(list("abc"))[kind], flag=rng.random(300) < 0.5, code=rng.integers(2, size=300)
    )


@pytest.mark.parametrize("related", [True, False])
def test_categories_count_as_far_as_other_columns_confirm_them(rng, related):
    view = Views.of({"table": mixed(rng, related)})[0]
    scaler = fit_table("minmax", view.matrix, view.encoding)
    numbers, kind, flag = scaler.parts[:6], scaler.parts[6:9], scaler.parts[9]
    assert numbers.tolist() == [1.0] * 6
    assert kind == pytest.approx(np.full(3, 1.0 if related else LEAST))
    assert flag == scaler.parts[10] == LEAST  # a number of two values is a Boolean, too
    # what does not count is small in new rows, too
    scaled = view.scaled("minmax")
    names = "flag, code" if related else "kind, flag, code"
    said = f"{names}: reduced weight, because the other columns do not support them"
    assert scaled.describe_columns()[-1] == said
    assert np.ptp(scaled.matrix[:, 9]) == pytest.approx(np.sqrt(LEAST))
    new = scaled.new(view.of(np.arange(5)), 5)
    assert np.array_equal(scaled.scaled_new(new).matrix, scaled.matrix[:5])


def test_a_missing_cell_does_not_hide_what_confirms_a_category(rng):
    table = mixed(rng, True)
    table.loc[::9, "x2"] = np.nan
    table.loc[4::11, "kind"] = None
    view = Views.of({"table": table})[0].scaled("minmax")
    assert view.scaler.parts[6] == 1
    assert view.scaler.parts[9] == LEAST


def test_categories_alone_keep_their_parts_if_none_confirms_another(rng):
    table = pd.DataFrame({name: rng.choice(list("abc"), 300) for name in "xyz"})
    view = Views.of({"table": table})[0].scaled("minmax")
    assert view.scaler.parts is None


def test_what_chance_gives_is_subtracted():
    """A view of few rows must confirm more before it counts."""
    rng = np.random.default_rng(5)
    X = blobs(rng, n=200, apart=0.8)
    found = [compared(distances(X[:n, :4]), distances(X[:n, 4:])) for n in (30, 200)]
    assert found[0][2] > 2 * found[1][2]
    assert SURE * found[0][2] > 1 - found[0][0] or reliability(X[:30]) < reliability(X)


def test_columns_that_are_never_there_together():
    """Hardly a row has entries in both halves: nothing is confirmed, without a warning."""
    onehot = np.eye(260)[np.arange(520) % 260]
    assert Halves(onehot, np.arange(260)).reliability() == 0


def test_rounding_does_not_change_the_halves():
    X = np.random.default_rng(0).normal(size=(100, 6))
    first, second = (Halves(Y, np.arange(6)).reliability() for Y in (X, np.nextafter(X, np.inf)))
    assert first == pytest.approx(second, rel=1e-9)


def test_a_column_that_is_constant_where_it_is_known():
    X = np.random.default_rng(0).normal(size=(50, 3))
    gaps = np.zeros(X.shape, dtype=bool)
    gaps[:10, 0] = True
    X[:, 0] = np.where(gaps[:, 0], 0.0, 7.0)
    assert Halves(X, np.arange(3), gaps).varying.tolist() == [1, 2]
