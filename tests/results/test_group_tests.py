"""Tests of one column: equal to slow and obvious versions, to scipy, and to exact enumeration."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from rmgl.results import group_tests
from rmgl.results.group_tests import (
    N_TABLES,
    NothingToCompare,
    compare_categories,
    compare_numbers,
    compare_survival,
    cramers_v,
)


def slow_kruskal(values, labels):
    """H by its definition, with the correction for ties."""
    n = values.size
    ranks = np.array([(values < v).sum() + ((values == v).sum() + 1) / 2 for v in values])
    between = sum(
        (labels == k).sum() * (ranks[labels == k].mean() - (n + 1) / 2) ** 2 for k in set(labels)
    )
    return (n - 1) * between / ((ranks - (n + 1) / 2) ** 2).sum()


def from_table(table):
    """Codes and labels with these counts: rows are clusters."""
    cells = [(k, v) for k, row in enumerate(table) for v, n in enumerate(row) for _ in range(n)]
    labels, codes = np.array(cells).T
    return codes.astype(float), labels


@pytest.mark.parametrize("decimals", [0, 4])
def test_numbers_are_compared_by_their_ranks(rng, decimals):
    labels = rng.integers(0, 4, 70)
    values = (rng.normal(size=70) + 0.4 * labels).round(decimals)
    found = compare_numbers(values, labels)
    assert found.statistic == pytest.approx(slow_kruskal(values, labels))
    assert found.df == 3
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 3))
    assert found.effect_size == pytest.approx(found.statistic / 69)
    assert compare_numbers(np.exp(values), labels).statistic == pytest.approx(found.statistic)


def test_epsilon_squared_of_ranks_that_the_cluster_determines():
    """With two clusters of equal values, H is n - 1."""
    labels = np.repeat([0, 1], 10)
    assert compare_numbers(labels.astype(float), labels).effect_size == pytest.approx(1.0)


def test_few_values_are_said(rng):
    labels = np.array([0] * 4 + [1] * 5 + [3] * 2)
    note = compare_numbers(rng.normal(size=11), labels).note
    assert note == "fewer than 5 values in clusters 0 and 3, so the p-value is approximate"
    assert compare_numbers(rng.normal(size=10), np.repeat([0, 1], 5)).note == ""


def test_categories_are_compared_by_their_counts():
    table = np.array([[20, 15, 9], [8, 22, 30]])
    found = compare_categories(*from_table(table))
    theirs = stats.chi2_contingency(table, correction=False)
    assert found.test == "chi-squared"
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.df == theirs.dof == 2
    n, r, c = 104, 2, 3
    phi = found.statistic / n - (r - 1) * (c - 1) / (n - 1)
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    assert found.effect_size == pytest.approx(np.sqrt(phi / least))


def test_cramers_v_is_corrected_for_its_bias():
    """Without a relation it is near zero in the mean, where the plain one is far from it."""
    rng = np.random.default_rng(0)
    corrected, plain = [], []
    for _ in range(200):
        labels, codes = rng.integers(0, 4, 60), rng.integers(0, 5, 60).astype(float)
        table = group_tests.counts_of(codes, labels)
        statistic = stats.chi2_contingency(table, correction=False).statistic
        corrected.append(cramers_v(statistic, 60, table.shape))
        plain.append(np.sqrt(statistic / 60 / 3))
    assert np.mean(corrected) < 0.1 < 0.2 < np.mean(plain)
    codes, labels = from_table([[30, 0], [0, 30]])
    assert compare_categories(codes, labels).effect_size == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("table", "by_permutation"), [([[5, 5], [5, 5]], False), ([[5, 5], [5, 4]], True)]
)
def test_expected_counts_below_five_are_tested_by_random_tables(table, by_permutation):
    found = compare_categories(*from_table(table))
    assert found.test == "chi-squared" + (" by permutation" if by_permutation else "")
    assert bool(found.note) == by_permutation


@pytest.mark.parametrize("table", [[[7, 1], [2, 6]], [[4, 0], [3, 5]], [[3, 2], [2, 3]]])
def test_random_tables_give_the_exact_p_value(table):
    """The probability of every table with these totals, by enumeration."""
    (a, b), (c, d) = table
    n, first, left = a + b + c + d, a + b, a + c

    def statistic(x):
        return n * (x * (n - first - left + x) - (first - x) * (left - x)) ** 2

    tables = range(max(0, first + left - n), min(first, left) + 1)
    weights = {x: comb(first, x) * comb(n - first, left - x) / comb(n, left) for x in tables}
    exact = sum(weight for x, weight in weights.items() if statistic(x) >= statistic(a))
    found = compare_categories(*from_table(table))
    error = np.sqrt(exact * (1 - exact) / N_TABLES)
    assert abs(found.p_value - exact) <= 5 * error + 2 / N_TABLES


def test_random_tables_are_permutations_of_the_clusters(rng, monkeypatch):
    labels, codes = rng.integers(0, 3, 25), rng.integers(0, 4, 25).astype(float)
    found = compare_categories(codes, labels)
    table = group_tests.counts_of(codes, labels)
    expected = np.outer(table.sum(1), table.sum(0)) / 25
    drawn = [
        group_tests.chi_squared(group_tests.counts_of(codes, rng.permutation(labels)), expected)
        for _ in range(2000)
    ]
    share = np.mean(np.array(drawn) >= found.statistic * (1 - 1e-12))
    assert abs(share - found.p_value) <= 5 * np.sqrt(found.p_value * (1 - found.p_value) / 2000)
    assert compare_categories(codes, labels).p_value == found.p_value
    assert compare_categories(codes, labels, seed=1).p_value != found.p_value
    monkeypatch.setattr(group_tests, "CELLS_AT_ONCE", 500)
    in_parts = compare_categories(codes, labels).p_value
    assert abs(in_parts - found.p_value) <= 5 * np.sqrt(0.5 / N_TABLES)


def test_tests_without_a_difference_are_significant_one_time_in_twenty():
    rng = np.random.default_rng(1)
    below = np.zeros(2)
    for _ in range(400):
        labels = rng.integers(0, 3, 90)
        below += [
            compare_numbers(rng.normal(size=90), labels).p_value <= 0.05,
            compare_categories(rng.integers(0, 3, 90).astype(float), labels).p_value <= 0.05,
        ]
    np.testing.assert_allclose(below, 20, atol=4 * np.sqrt(400 * 0.05 * 0.95))


@pytest.mark.parametrize(
    ("compare", "reason"),
    [
        (lambda: compare_numbers(np.ones(4), np.array([0, 0, 1, 1])), "all values are equal"),
        (lambda: compare_numbers(np.arange(3.0), np.zeros(3, int)), "only cluster 0 has values"),
        (lambda: compare_numbers(np.empty(0), np.empty(0, int)), "no entity has a value"),
        (lambda: compare_categories(np.ones(4), np.array([0, 0, 1, 1])), "all values are equal"),
        (
            lambda: compare_survival(np.arange(4.0), np.zeros(4, bool), np.array([0, 0, 1, 1])),
            "no event occurred",
        ),
        (
            lambda: compare_survival(np.ones(4), np.ones(4, bool), np.array([0, 0, 1, 1])),
            "all events occurred at the same time",
        ),
    ],
)
def test_what_cannot_be_compared_says_why(compare, reason):
    with pytest.raises(NothingToCompare, match=reason):
        compare()
