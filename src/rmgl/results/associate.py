"""Compare the clusters on columns that were not used in the fit.

Unlike the features of the fit (`rmgl.results.explain`), these columns were not used to find the
clusters, so tests on them are valid. `rmgl.results.group_tests` contains the tests, and
`rmgl.results.survival` the test for survival. The p-values of all columns are corrected together by
the Benjamini-Hochberg method: among columns with a q-value of at most 0.05, at most one in twenty
is expected to be a false discovery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.results.associations import Association, Associations, PairComparison
from rmgl.results.group_tests import (
    Comparison,
    NothingToCompare,
    compare_categories,
    compare_numbers,
    compare_survival,
    named,
)
from rmgl.results.outcomes import CATEGORIES, Outcome, Outcomes, SurvivalOutcome, outcomes_of
from rmgl.results.survival import Survival, median_text, survival_of
from rmgl.results.used_columns import check_unused
from rmgl.views.encoding import LEFT_OUT, listed

Vector = NDArray[np.float64]
Labels = NDArray[np.intp]
UNKNOWN = float("nan")
SHOWN_LEVELS = 3
"""Maximum number of values of a category whose shares are listed for each cluster."""
NO_VALUE = "no value"


def associate_clusters(
    model: FittedModel,
    table: Any,
    *,
    time: str | None = None,
    event: str | None = None,
    pairwise: bool = False,
    random_state: int = 0,
) -> Associations:
    """Compare the columns of a table between the clusters of a model."""
    outcomes = outcomes_of(table, model.index, model.n_rows, time, event)
    check_unused(model.views, outcomes)
    return compare_outcomes(
        outcomes, model.labels, model.n_clusters, pairwise=pairwise, random_state=random_state
    )


def compare_outcomes(
    outcomes: Outcomes,
    labels: Labels,
    n_clusters: int,
    *,
    pairwise: bool = False,
    random_state: int = 0,
) -> Associations:
    """Compare validated columns between clusters."""
    compared = [
        Compared(
            column.name,
            column.kind,
            np.isfinite(column.values),
            _test_of(column, random_state),
            values_in_words(column, labels, n_clusters),
            column.note,
        )
        for column in outcomes.columns
    ]
    survival = None
    if outcomes.survival is not None:
        survival = _survival(outcomes.survival, labels)
        compared.append(_compared_survival(outcomes.survival, survival, n_clusters))
    rows = _with_q_values([one.row(labels, n_clusters) for one in compared])
    rows.sort(key=_strength)
    pairs = [pair for one in compared for pair in one.pairs(labels)] if pairwise else []
    return Associations(
        tuple(rows),
        survival,
        tuple(_with_q_values(pairs)),
        labels.size,
        outcomes.n_absent,
        outcomes.n_unknown,
    )


@dataclass(frozen=True)
class Compared:
    """A column to compare: the entities that have a value, and the test."""

    name: str
    kind: str
    known: NDArray[np.bool_]
    test: Callable[[NDArray[np.bool_], Labels], Comparison]
    """Function test(entities, labels) that compares the values of the given entities between their
    clusters.
    """
    values: tuple[str, ...]
    note: str

    def row(self, labels: Labels, n_clusters: int) -> Association:
        """Compare all clusters that have values."""
        n = np.bincount(labels[self.known], minlength=n_clusters)
        notes = [self.note] if self.note else []
        try:
            found = self.test(self.known, labels[self.known])
            empty = np.flatnonzero(n == 0).tolist()
            notes += [f"no value in {named(empty)}, not included in the test"] if empty else []
            notes += [found.note] if found.note else []
        except NothingToCompare as reason:
            found = Comparison("", UNKNOWN, 0, UNKNOWN, "", UNKNOWN)
            notes += [] if self.kind == LEFT_OUT else [f"not compared: {reason}"]
        return Association(
            self.name,
            self.kind,
            found.test,
            found.statistic,
            found.df,
            found.p_value,
            UNKNOWN,
            found.effect,
            found.effect_size,
            tuple(n.tolist()),
            int(labels.size - n.sum()),
            self.values,
            "; ".join(notes),
        )

    def pairs(self, labels: Labels) -> Iterator[PairComparison]:
        """Compare all pairs of clusters with values. Pairs that cannot be tested have NaN."""
        for first, second in combinations(np.unique(labels[self.known]).tolist(), 2):
            some = self.known & ((labels == first) | (labels == second))
            try:
                found = self.test(some, labels[some])
            except NothingToCompare as reason:
                found = Comparison("", UNKNOWN, 0, UNKNOWN, "", UNKNOWN, f"not compared: {reason}")
            yield PairComparison(
                self.name,
                first,
                second,
                found.test,
                found.statistic,
                found.p_value,
                UNKNOWN,
                found.effect,
                found.effect_size,
                found.note,
            )


def _test_of(column: Outcome, seed: int) -> Callable[[NDArray[np.bool_], Labels], Comparison]:
    """Return the test for the type of a column."""
    if column.kind == LEFT_OUT:
        return _no_test
    compare = compare_categories if column.kind in CATEGORIES else compare_numbers
    return lambda some, labels: compare(column.values[some], labels, seed)


def _no_test(some: NDArray[np.bool_], labels: Labels) -> Comparison:
    raise NothingToCompare("the column is left out")


def _survival(given: SurvivalOutcome, labels: Labels) -> Survival:
    known = given.known
    return survival_of(given.names, given.times[known], given.events[known] > 0, labels[known])


def _compared_survival(given: SurvivalOutcome, found: Survival, n_clusters: int) -> Compared:
    medians = {curve.cluster: f"median {median_text(curve)}" for curve in found.curves}
    return Compared(
        f"survival ({', '.join(given.names)})",
        "survival",
        given.known,
        lambda some, labels: compare_survival(given.times[some], given.events[some] > 0, labels),
        tuple(medians.get(cluster, NO_VALUE) for cluster in range(n_clusters)),
        "",
    )


def _with_q_values(rows: Sequence[Any]) -> list[Any]:
    """Return the rows with q-values for those that have a p-value."""
    from scipy.stats import false_discovery_control

    tested = [at for at, row in enumerate(rows) if row.p_value == row.p_value]
    q_values = false_discovery_control([rows[at].p_value for at in tested]) if tested else []
    changed = dict(zip(tested, q_values, strict=True))
    return [
        replace(row, q_value=float(changed[at])) if at in changed else row
        for at, row in enumerate(rows)
    ]


def _strength(row: Association) -> tuple[bool, float, float]:
    """Return the sort key of a row: p-value, then effect size. Rows without a test come last."""
    tested = row.p_value == row.p_value
    size = row.effect_size if row.effect else 0.0
    return not tested, row.p_value if tested else 0.0, -size


# Values in words


def values_in_words(column: Outcome, labels: Labels, n_clusters: int) -> tuple[str, ...]:
    """Describe the values of each cluster in words."""
    describe = _shares if column.kind in CATEGORIES else _quartiles
    said = []
    for cluster in range(n_clusters):
        own = column.values[(labels == cluster) & np.isfinite(column.values)]
        shown = own.size and column.kind != LEFT_OUT
        said.append(describe(column, own) if shown else "" if own.size else NO_VALUE)
    return tuple(said)


def _shares(column: Outcome, own: Vector) -> str:
    """Describe the shares of the most common values."""
    counts = np.bincount(own.astype(np.intp), minlength=len(column.levels))
    if column.kind == "Boolean":
        return f"{counts[1] / own.size:.0%} {column.levels[1]}"
    most = [at for at in np.argsort(-counts, kind="stable")[:SHOWN_LEVELS] if counts[at]]
    more = ", ..." if np.count_nonzero(counts) > len(most) else ""
    shares = [f"{listed([column.levels[at]])} {counts[at] / own.size:.0%}" for at in most]
    return ", ".join(shares) + more


def _quartiles(column: Outcome, own: Vector) -> str:
    """Describe the median and the quartiles."""
    method: Any = (
        "inverted_cdf" if column.levels else "linear"
    )  # for ordered categories, a level that occurs
    low, median, high = np.quantile(own, [0.25, 0.5, 0.75], method=method)
    written = _writer(column)
    return f"{written(median)} ({written(low)} to {written(high)})"


def _writer(column: Outcome) -> Callable[[float], str]:
    """Return a function that formats a value of the column."""
    if column.levels:
        return lambda value: listed([column.levels[int(value)]])
    if column.kind == "date":
        return lambda value: str(np.datetime64(int(np.floor(value)), "D"))
    unit = " days" if column.kind == "duration" else ""
    return lambda value: f"{value:.4g}{unit}"
