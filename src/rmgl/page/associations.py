"""Page section about columns that were not used in the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.page.content import Content
from rmgl.page.elements import Html, bar, element, joined, shortened, table
from rmgl.page.sections import cluster_name, swatch
from rmgl.page.words import LONGEST_NAME_SHOWN
from rmgl.results.associations import Association, Associations, probability
from rmgl.results.survival import Survival, median_text

DRAWN_TIMES = 400
"""Maximum number of times at which a survival curve is drawn."""
RISK_TIMES = 5
"""Maximum number of times at which entities at risk are counted, in addition to the start."""
SIGNIFICANT = 0.05
"""Maximum q-value of columns that are reported to differ."""
LONGEST_VALUE = 120
TESTS = (
    "The Kruskal-Wallis test compares numbers, dates and ordered categories (the table shows "
    "medians and quartiles), the chi-squared test compares categories and Booleans, and "
    "the log-rank test compares survival. q is the p-value corrected for the number of columns. "
    "An effect size of 0 means no difference, and 1 is the largest possible difference."
)


def check_associations(given: Any, n_entities: int, n_clusters: int) -> Associations | None:
    """Raise an error unless the associations belong to the model."""
    if given is None:
        return None
    if not isinstance(given, Associations):
        raise TypeError(
            f"associations is of type {type(given).__name__}; pass the table returned by associate"
        )
    if (given.n_entities, given.n_clusters) != (n_entities, n_clusters):
        raise ValueError(
            f"associations describes {given.n_entities} entities in {given.n_clusters} "
            f"clusters, but the model has {n_entities} in {n_clusters}; call associate on "
            "this model"
        )
    return given


def associations_section(content: Content) -> Html:
    """Return the section about other differences between the clusters. Empty if there are no
    additional columns.
    """
    found = content.associations
    if found is None:
        return Html("")
    notes = [
        element("li", element("b", _short(row.column)), f": {row.note}.")
        for row in found
        if row.note
    ]
    parts = [
        element("h2", "What else differs between the clusters?"),
        element("p", verdict_on(found)),
        columns_table(found),
        element("ul", *notes, class_="note") if notes else "",
        *(element("p", as_sentence(said), class_="note") for said in found.sentences()),
        survival_part(found) if found.survival is not None else "",
    ]
    return element("section", *parts, class_="card", id="associations")


def verdict_on(found: Associations) -> str:
    """Return sentences that state how many columns differ."""
    tested = [row for row in found if row.test]
    differ = [row for row in tested if row.q_value <= SIGNIFICANT]
    if not tested:
        return "These columns were not used in the fit. None of them could be compared."
    names = ", ".join(_short(row.column) for row in differ[:5])
    more = f" and {len(differ) - 5} more" if len(differ) > 5 else ""
    said = f"{len(differ)} of {len(tested)} differ between the clusters (q at most {SIGNIFICANT})"
    return f"These columns were not used in the fit. {said}{': ' if names else ''}{names}{more}."


def columns_table(found: Associations) -> Html:
    """Return a table with one row per column."""
    clusters = [
        joined([swatch(cluster), cluster_name(cluster)]) for cluster in range(found.n_clusters)
    ]
    titles = ("Column", "Test", "Effect size", "p", "q", "Missing", *clusters)
    return table(titles, [_cells(row) for row in found], TESTS, class_="cards")


def _cells(row: Association) -> list[Any]:
    effect = bar(row.effect_size, f"{row.effect} {row.effect_size:.2f}") if row.effect else ""
    numbers = (probability(row.p_value), probability(row.q_value), f"{row.n_missing:,}")
    return [
        _short(row.column),
        row.test or "none",
        effect,
        *(element("td", number, class_="number") for number in numbers),
        *(shortened(value, LONGEST_VALUE) for value in row.values),
    ]


def _short(name: str) -> str:
    return shortened(name, LONGEST_NAME_SHOWN)


def survival_part(found: Associations) -> Html:
    """Return the survival curves, and a table of medians and of entities at risk."""
    survival = found.survival
    assert survival is not None
    row = next(row for row in found if row.kind == "survival")
    said = as_sentence(row.note)
    if row.test:
        said = (
            f"Log-rank test: chi-squared {row.statistic:.1f} with {row.df} degrees of freedom, "
            f"p {probability(row.p_value)}, q {probability(row.q_value)}."
        )
    heading = element("h3", f"Survival ({_short(survival.time)}, {_short(survival.event)})")
    if not survival.curves:
        return joined([heading, element("p", said)])
    picture = element(
        "div",
        id="survival",
        class_="picture",
        role="img",
        aria_label="Kaplan-Meier curves of the clusters. The table below lists their medians.",
    )
    how = (
        "Share of each cluster without an event (Kaplan-Meier), with a 95% "
        "confidence band. Crosses mark entities that were no longer observed "
        "(censored). Click the number of a cluster above the curves to hide its curve."
    )
    if any(curve.times.size > DRAWN_TIMES for curve in survival.curves):
        how += f" Each curve is drawn at {DRAWN_TIMES} of its times."
    return joined(
        [
            heading,
            element("p", said),
            picture,
            element("p", how, class_="note"),
            survival_table(survival),
        ]
    )


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def round_times(last: float) -> NDArray[np.float64]:
    """Return round numbers from 0 to the last time, at most `RISK_TIMES` in addition to the start.

    Examples
    --------
    >>> round_times(70.2).tolist(), round_times(0.0).tolist()
    ([0.0, 20.0, 40.0, 60.0], [0.0])
    """
    if last <= 0:
        return np.zeros(1)
    power = 10.0 ** np.floor(np.log10(last / RISK_TIMES))
    step = next(step * power for step in (1, 2, 5, 10) if last / (step * power) <= RISK_TIMES)
    times: NDArray[np.float64] = step * np.arange(int(last / step) + 1)
    return times


def survival_table(survival: Survival) -> Html:
    """Return a table of medians, events and entities at risk for every cluster."""
    last = max(float(curve.times[-1]) for curve in survival.curves)
    times = round_times(last)
    rows = []
    for curve, expected in zip(survival.curves, survival.expected, strict=True):
        numbers = [f"{curve.n_events:,}", f"{expected:.1f}"]
        at_risk = [f"{count:,}" for count in curve.n_at_risk(times)]
        rows.append(
            [
                joined([swatch(curve.cluster), cluster_name(curve.cluster)]),
                median_text(curve),
                *(element("td", number, class_="number") for number in (*numbers, *at_risk)),
            ]
        )
    titles = (
        "Cluster",
        "Median (95% interval)",
        "Events",
        "Expected",
        *(f"At risk, {time:.4g}" for time in times),
    )
    caption = (
        "Median survival, and the number of events in each cluster with the number "
        "expected if all clusters had the same risk. Entities at risk were still under "
        "observation, without an event, just before the given time."
    )
    return table(titles, rows, caption, class_="cards")
