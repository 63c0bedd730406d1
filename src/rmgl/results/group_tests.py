"""Tests for differences between clusters in one column, each with its effect size.

Numbers: the Kruskal-Wallis test compares the ranks of the values. The effect size of its statistic
H is epsilon squared, H / (n - 1): 0 if ranks do not depend on the cluster, 1 if the cluster
determines them.

Categories: the chi-squared test compares the counts in a table of clusters and values with those
expected under independence. If an expected count is below 5, the statistic does not follow the
chi-squared distribution. The test then uses random tables with the same totals, which is equivalent
to permuting the clusters but does not loop over the entities. The effect size is Cramer's V with
bias correction (Bergsma, 2013),

    phi2 = max(0, chi2 / n - (r - 1)(c - 1) / (n - 1))
    V    = sqrt(phi2 / min(r' - 1, c' - 1))              r' = r - (r - 1)^2 / (n - 1), c' likewise

V is 0 if cluster and value are unrelated, even in small samples, and 1 if the cluster determines
the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.results.survival import log_rank

Vector = NDArray[np.float64]
Labels = NDArray[np.intp]
LEAST_EXPECTED = 5.0
"""Expected count in a cell below which the test uses random tables."""
N_TABLES = 9_999
"""Number of random tables."""
CELLS_AT_ONCE = 1_000_000
"""Maximum number of cells of random tables that are in memory at once."""
FEW = 5
"""Number of values in a cluster below which a rank test is called approximate."""


class NothingToCompare(ValueError):
    """Raised with the reason why a column cannot be tested."""


@dataclass(frozen=True)
class Comparison:
    """Result of a test."""

    test: str
    statistic: float
    df: int
    p_value: float
    effect: str
    """Name of the effect size. Empty if the test has none."""
    effect_size: float
    note: str = ""


def compare_numbers(values: Vector, labels: Labels, seed: Any = 0) -> Comparison:
    """Compare numbers between clusters by their ranks.

    Examples
    --------
    >>> import numpy as np
    >>> found = compare_numbers(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1]))
    >>> found.test, round(found.statistic, 2), found.df, round(found.effect_size, 2)
    ('Kruskal-Wallis', 2.4, 1, 0.8)
    """
    from scipy.stats import kruskal

    clusters = _two_or_more(labels)
    if values.min() == values.max():
        raise NothingToCompare("all values are equal")
    parts = [values[labels == cluster] for cluster in clusters]
    found = kruskal(*parts)
    statistic = float(found.statistic)
    few = [int(cluster) for cluster, part in zip(clusters, parts, strict=True) if part.size < FEW]
    note = f"fewer than {FEW} values in {named(few)}, so the p-value is approximate" if few else ""
    return Comparison(
        "Kruskal-Wallis",
        statistic,
        clusters.size - 1,
        float(found.pvalue),
        "epsilon squared",
        min(1.0, max(0.0, statistic / (values.size - 1))),
        note,
    )


def compare_categories(codes: Vector, labels: Labels, seed: Any = 0) -> Comparison:
    """Compare categories between clusters by the counts of their values.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.repeat([0, 1], 20)
    >>> found = compare_categories((np.arange(40) < 24).astype(float), labels)
    >>> found.test, round(found.statistic, 2), found.df, round(found.effect_size, 2)
    ('chi-squared', 26.67, 1, 0.81)
    """
    from scipy.stats import chi2

    _two_or_more(labels)
    table = counts_of(codes, labels)
    if table.shape[1] < 2:
        raise NothingToCompare("all values are equal")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(chi_squared(table, expected))
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    effect_size = cramers_v(statistic, int(table.sum()), table.shape)
    if expected.min() >= LEAST_EXPECTED:
        p_value = float(chi2.sf(statistic, df))
        return Comparison("chi-squared", statistic, df, p_value, "Cramer's V", effect_size)
    return Comparison(
        "chi-squared by permutation",
        statistic,
        df,
        by_random_tables(table, expected, statistic, seed),
        "Cramer's V",
        effect_size,
        f"from {N_TABLES:,} random tables, because an expected count is below {LEAST_EXPECTED:g}",
    )


def compare_survival(times: Vector, events: NDArray[np.bool_], labels: Labels) -> Comparison:
    """Compare survival between clusters. There is no effect size; the medians show the effect."""
    _two_or_more(labels)
    if not events.any():
        raise NothingToCompare("no event occurred")
    found = log_rank(times, events, labels)
    if found is None:
        raise NothingToCompare(
            "only one cluster is at risk at the event times, or all events occurred at the same "
            "time"
        )
    return Comparison("log-rank", found.statistic, found.df, found.p_value, "", float("nan"))


def _two_or_more(labels: Labels) -> Labels:
    """Return the clusters that have a value. Raise `NothingToCompare` if there is only one."""
    clusters = np.unique(labels)
    if clusters.size < 2:
        raise NothingToCompare(
            f"only cluster {clusters[0]} has values" if clusters.size else "no entity has a value"
        )
    return clusters


def counts_of(codes: Vector, labels: Labels) -> NDArray[np.intp]:
    """Return the table of clusters and values without empty rows and columns."""
    _, row = np.unique(labels, return_inverse=True)
    _, column = np.unique(codes, return_inverse=True)
    shape = int(row.max()) + 1, int(column.max()) + 1
    return np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)


def chi_squared(tables: NDArray[Any], expected: NDArray[np.float64]) -> Any:
    """Return Pearson's statistic for one table, or for many tables with the same totals."""
    return (np.square(tables - expected) / expected).sum(axis=(-2, -1))


def by_random_tables(
    table: NDArray[np.intp], expected: NDArray[np.float64], statistic: float, seed: Any
) -> float:
    """Return the share of tables with the same totals that are at least as extreme as this one,
    which is included.
    """
    from scipy.stats import random_table

    rng = np.random.default_rng(seed)
    tables = random_table(table.sum(axis=1), table.sum(axis=0))
    as_extreme, left = 1, N_TABLES
    while left:
        some = min(left, max(1, CELLS_AT_ONCE // table.size))
        drawn = chi_squared(tables.rvs(some, random_state=rng), expected)
        as_extreme += int(np.count_nonzero(drawn >= statistic * (1 - 1e-12)))
        left -= some
    return as_extreme / (N_TABLES + 1)


def cramers_v(statistic: float, n: int, shape: tuple[int, ...]) -> float:
    """Return Cramer's V with bias correction."""
    rows, columns = shape
    if n < 2:
        return 0.0
    excess = max(0.0, statistic / n - (rows - 1) * (columns - 1) / (n - 1))
    least = min(side - (side - 1) ** 2 / (n - 1) for side in (rows, columns)) - 1
    return min(1.0, float(np.sqrt(excess / least))) if least > 0 else 0.0


def named(clusters: Sequence[int]) -> str:
    """Return the names of clusters for a sentence.

    Examples
    --------
    >>> named([3]), named([0, 2, 5])
    ('cluster 3', 'clusters 0, 2 and 5')
    """
    if len(clusters) == 1:
        return f"cluster {clusters[0]}"
    return f"clusters {', '.join(map(str, clusters[:-1]))} and {clusters[-1]}"
