"""Table of columns that were not used in the fit, compared between the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rmgl.results.survival import Survival
from rmgl.views.encoding import listed

SHOWN_CLUSTERS = 5
"""Maximum number of clusters for which a printed table has a column per cluster."""


@dataclass(frozen=True)
class Association:
    """Comparison of one column between the clusters."""

    column: str
    kind: str
    """Type of the column: number, date, duration, ordered category, Boolean, category,
    survival, or left out.
    """
    test: str
    """Name of the test. Empty if there is no test; `note` then gives the reason."""
    statistic: float
    df: int
    p_value: float
    """p-value of the test. Like the other numbers, it is NaN if there is no test."""
    q_value: float
    """p-value corrected for the number of columns (Benjamini and Hochberg)."""
    effect: str
    """Name of the effect size."""
    effect_size: float
    n: tuple[int, ...]
    """Number of values in each cluster."""
    n_missing: int
    """Number of entities without a value."""
    values: tuple[str, ...]
    """Description of the values in each cluster: median and quartiles, or the shares of categories.
    """
    note: str
    """Remarks on the test, or the reason why there is none."""


@dataclass(frozen=True)
class PairComparison:
    """Comparison of one column between two clusters."""

    column: str
    first: int
    second: int
    test: str
    statistic: float
    p_value: float
    q_value: float
    """p-value corrected for all pairs of all columns."""
    effect: str
    effect_size: float
    note: str


@dataclass(frozen=True, repr=False)
class Associations:
    """A table of columns that were not used in the fit, strongest evidence first.

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
    """Survival curves of the clusters, if times and events were passed."""
    pairs: tuple[PairComparison, ...]
    """Comparisons of pairs of clusters. Empty unless requested."""
    n_entities: int
    n_absent: int
    """Number of entities in the fit that are missing from the table."""
    n_unknown: int
    """Number of rows in the table that are not in the fit and were ignored."""

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
        """Return the columns of the table by name. Each cluster has one column for its number of
        values and one for their description.
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
        """Return the comparisons of pairs of clusters as a pandas DataFrame.

        Examples
        --------
        >>> from rmgl import RMGL
        >>> model = RMGL(2, random_state=0).fit({"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]})
        >>> pairs = model.associate({"age": [30, 31, 35, 60, 61, 65]}, pairwise=True).pairs_frame()
        >>> pairs[["column", "first", "second"]].values.tolist()
        [['age', 0, 1]]
        """
        import pandas as pd

        names = list(PairComparison.__dataclass_fields__)
        rows = [[getattr(pair, name) for name in names] for pair in self.pairs]
        return pd.DataFrame(rows, columns=names)

    def sentences(self) -> list[str]:
        """Return sentences about entities and rows that could not be matched."""
        said = []
        if self.n_absent:
            said.append(
                f"{self.n_absent:,} of the {self.n_entities:,} entities are missing from the table"
            )
        if self.n_unknown:
            rows = "row in the table is" if self.n_unknown == 1 else "rows in the table are"
            said.append(f"{self.n_unknown:,} {rows} not in the fit and were ignored")
        return said

    def _shown(self, most_clusters: int | None = None) -> list[list[str]]:
        """Return the table as text, header first. With many clusters, their values are left out."""
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
        """Return the table, the notes on its rows, and the survival of each cluster as text."""
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
        """Return the table as HTML for notebooks, with the notes in the last column."""
        import pandas as pd

        titles, *rows = self._shown()
        noted = [[*line, row.note] for line, row in zip(rows, self.rows, strict=True)]
        frame = pd.DataFrame(noted, columns=[*titles, "note"])
        with pd.option_context("display.max_colwidth", None):
            table = str(frame.to_html(index=False, border=0))
        return table + "".join(f"<p>{sentence}.</p>" for sentence in self.sentences())


def probability(value: float) -> str:
    """Format a p-value with two significant digits. Empty if there is none.

    Examples
    --------
    >>> probability(0.0431), probability(2.4e-20), probability(float("nan"))
    ('0.043', '<1e-16', '')
    """
    if value != value:
        return ""
    return "<1e-16" if value < 1e-16 else f"{value:.2g}"
