"""What else differs between the clusters: columns that had no part in the fit.

Unlike the features of the fit (`rmgl.results.explain`), these columns were not used to find the
clusters, so that tests have their meaning. `rmgl.results.group_tests` states the tests, and
`rmgl.results.survival` that of survival. The p-values of all columns are corrected together by the
method of Benjamini and Hochberg: among columns whose q-value is at most 0.05, one in twenty is
expected to be a false discovery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
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
"""Values of a category whose shares are listed for each cluster."""
SHOWN_CLUSTERS = 5
"""Number of clusters up to which a printed table has a column for each."""
NO_VALUE = "no value"


@dataclass(frozen=True)
class Association:
    """One column, compared between the clusters."""

    column: str
    kind: str
    """What the column was taken for: number, date, duration, ordered category, truth value,
    category, survival, or left out."""
    test: str
    """The name of the test; empty if there is none, as `note` says."""
    statistic: float
    df: int
    p_value: float
    """NaN if there is no test, and the same for the other numbers."""
    q_value: float
    """The p-value, corrected for the number of columns (Benjamini and Hochberg)."""
    effect: str
    """The name of the effect size."""
    effect_size: float
    n: tuple[int, ...]
    """Number of values in each cluster."""
    n_missing: int
    """Number of entities without a value."""
    values: tuple[str, ...]
    """The values of each cluster in words: median and quartiles, or the shares of categories."""
    note: str
    """What to know about the test, or why there is none."""


@dataclass(frozen=True)
class PairComparison:
    """One column, compared between two clusters."""

    column: str
    first: int
    second: int
    test: str
    statistic: float
    p_value: float
    q_value: float
    """The p-value, corrected for all pairs of all columns."""
    effect: str
    effect_size: float
    note: str


@dataclass(frozen=True, repr=False)
class Associations:
    """A table of columns that had no part in the fit, with the strongest evidence first.

    Examples
    --------
    >>> import pandas as pd
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [0.2], [5.0], [5.1], [5.3], [5.2]]}
    >>> model = RMGL(2, random_state=0).fit(views)
    >>> found = model.associate({"age": [31, 30, 35, 33, 71, 77, 70, 74], "site": list("abababab")})
    >>> [(row.column, row.test) for row in found]
    [('age', 'Kruskal-Wallis'), ('site', 'chi-squared by permutation')]
    >>> found["age"].values
    ('32 (30.75 to 33.5)', '72.5 (70.75 to 74.75)')
    """

    rows: tuple[Association, ...]
    survival: Survival | None
    """The survival curves of the clusters, if times and events were given."""
    pairs: tuple[PairComparison, ...]
    """Comparisons of two clusters each; empty unless they were asked for."""
    n_entities: int
    n_absent: int
    """Number of entities of the fit that the table does not have."""
    n_unknown: int
    """Number of rows of the table that are not in the fit, and were not used."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Association]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> Association:
        """Return the row of a column."""
        for row in self.rows:
            if row.column == column:
                return row
        raise KeyError(f"there is no column {column!r}")

    @property
    def n_clusters(self) -> int:
        return len(self.rows[0].n) if self.rows else 0

    def as_dict(self) -> dict[str, list[Any]]:
        """Return the columns of the table by name; each cluster has one for its number of values
        and one for the values in words.
        """
        simple = ("column", "kind", "test", "statistic", "df", "p_value", "q_value", "effect")
        names = (*simple, "effect_size", "n_missing")
        table = {name: [getattr(row, name) for row in self.rows] for name in names}
        for cluster in range(self.n_clusters):
            table[f"n_{cluster}"] = [row.n[cluster] for row in self.rows]
        for cluster in range(self.n_clusters):
            table[f"cluster_{cluster}"] = [row.values[cluster] for row in self.rows]
        return {**table, "note": [row.note for row in self.rows]}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.as_dict())

    def pairs_frame(self) -> Any:
        """Return the comparisons of pairs of clusters as a pandas DataFrame."""
        import pandas as pd

        names = list(PairComparison.__dataclass_fields__)
        rows = [[getattr(pair, name) for name in names] for pair in self.pairs]
        return pd.DataFrame(rows, columns=names)

    def sentences(self) -> list[str]:
        """Say which entities and rows did not meet."""
        said = []
        if self.n_absent:
            said.append(f"{self.n_absent:,} of {self.n_entities:,} entities not in the table")
        if self.n_unknown:
            rows = "row of the table is" if self.n_unknown == 1 else "rows of the table are"
            said.append(f"{self.n_unknown:,} {rows} not in the fit, and not used")
        return said

    def _shown(self, most_clusters: int | None = None) -> list[list[str]]:
        """The table in words, its titles first; with more clusters, without their values."""
        few = most_clusters is None or self.n_clusters <= most_clusters
        clusters = range(self.n_clusters if few else 0)
        titles = ["column", "test", "effect size", "p", "q", "missing"]
        lines = [[*titles, *(f"cluster {cluster}" for cluster in clusters)]]
        for row in self.rows:
            effect = f"{row.effect} {row.effect_size:.2f}" if row.effect else ""
            numbers = [probability(row.p_value), probability(row.q_value), f"{row.n_missing:,}"]
            values = [row.values[cluster] for cluster in clusters]
            lines.append([listed([row.column]), row.test or "none", effect, *numbers, *values])
        return lines

    def __str__(self) -> str:
        """The table, the notes on its rows, and the survival of each cluster."""
        lines = self._shown(SHOWN_CLUSTERS)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        text += [f"{listed([row.column])}: {row.note}" for row in self.rows if row.note]
        text += self.sentences()
        if self.survival is not None:
            text += ["", f"survival ({self.survival.time}, {self.survival.event})"]
            text.append(str(self.survival))
        return "\n".join(text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What notebooks show: the table, with the notes as its last column."""
        import pandas as pd

        titles, *rows = self._shown()
        noted = [[*line, row.note] for line, row in zip(rows, self.rows, strict=True)]
        frame = pd.DataFrame(noted, columns=[*titles, "note"])
        with pd.option_context("display.max_colwidth", None):
            table = str(frame.to_html(index=False, border=0))
        return table + "".join(f"<p>{sentence}.</p>" for sentence in self.sentences())


def probability(value: float) -> str:
    """A p-value with two digits; empty where there is none.

    Examples
    --------
    >>> probability(0.0431), probability(2.4e-20), probability(float("nan"))
    ('0.043', '<1e-16', '')
    """
    if value != value:
        return ""
    return "<1e-16" if value < 1e-16 else f"{value:.2g}"


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
    if model.read_views is not None:
        check_unused(model.read_views, outcomes)
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
    """Compare checked columns between clusters."""
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
    """A column that is compared: which entities have a value, and the test of some of them."""

    name: str
    kind: str
    known: NDArray[np.bool_]
    test: Callable[[NDArray[np.bool_], Labels], Comparison]
    """test(entities, labels) compares the values of some entities between their clusters."""
    values: tuple[str, ...]
    note: str

    def row(self, labels: Labels, n_clusters: int) -> Association:
        """Compare all clusters that have values."""
        n = np.bincount(labels[self.known], minlength=n_clusters)
        notes = [self.note] if self.note else []
        try:
            found = self.test(self.known, labels[self.known])
            empty = np.flatnonzero(n == 0).tolist()
            notes += [f"no value in {named(empty)}, which the test leaves out"] if empty else []
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
        """Compare the clusters that have values two at a time; there is no row without a test."""
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
    """The test of a column, by its kind."""
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
        ", ".join(given.names),
        "survival",
        given.known,
        lambda some, labels: compare_survival(given.times[some], given.events[some] > 0, labels),
        tuple(medians.get(cluster, NO_VALUE) for cluster in range(n_clusters)),
        "",
    )


def _with_q_values(rows: Sequence[Any]) -> list[Any]:
    """Rows with the q-values of those that have a p-value."""
    from scipy.stats import false_discovery_control

    tested = [at for at, row in enumerate(rows) if row.p_value == row.p_value]
    q_values = false_discovery_control([rows[at].p_value for at in tested]) if tested else []
    changed = dict(zip(tested, q_values, strict=True))
    return [
        replace(row, q_value=float(changed[at])) if at in changed else row
        for at, row in enumerate(rows)
    ]


def _strength(row: Association) -> tuple[bool, float, float]:
    """The order of rows: by p-value, then by effect size; those without a test come last."""
    tested = row.p_value == row.p_value
    size = row.effect_size if row.effect else 0.0
    return not tested, row.p_value if tested else 0.0, -size


# Values in words


def values_in_words(column: Outcome, labels: Labels, n_clusters: int) -> tuple[str, ...]:
    """What the values of each cluster are."""
    describe = _shares if column.kind in CATEGORIES else _quartiles
    said = []
    for cluster in range(n_clusters):
        own = column.values[(labels == cluster) & np.isfinite(column.values)]
        shown = own.size and column.kind != LEFT_OUT
        said.append(describe(column, own) if shown else "" if own.size else NO_VALUE)
    return tuple(said)


def _shares(column: Outcome, own: Vector) -> str:
    """The shares of the most frequent values."""
    counts = np.bincount(own.astype(np.intp), minlength=len(column.levels))
    if column.kind == "truth value":
        return f"{counts[1] / own.size:.0%} {column.levels[1]}"
    most = [at for at in np.argsort(-counts, kind="stable")[:SHOWN_LEVELS] if counts[at]]
    more = ", ..." if np.count_nonzero(counts) > len(most) else ""
    shares = [f"{listed([column.levels[at]])} {counts[at] / own.size:.0%}" for at in most]
    return ", ".join(shares) + more


def _quartiles(column: Outcome, own: Vector) -> str:
    """The median and the quartiles."""
    method: Any = "inverted_cdf" if column.levels else "linear"  # of levels, one that occurs
    low, median, high = np.quantile(own, [0.25, 0.5, 0.75], method=method)
    written = _writer(column)
    return f"{written(median)} ({written(low)} to {written(high)})"


def _writer(column: Outcome) -> Callable[[float], str]:
    """How a value of a column is written."""
    if column.levels:
        return lambda value: listed([column.levels[int(value)]])
    if column.kind == "date":
        return lambda value: str(np.datetime64(int(np.floor(value)), "D"))
    unit = " days" if column.kind == "duration" else ""
    return lambda value: f"{value:.4g}{unit}"
