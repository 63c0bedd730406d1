"""The section of the page about columns that had no part in the fit."""

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
"""Times at which a survival curve is drawn, at most."""
RISK_TIMES = 5
"""Times at which entities at risk are counted, beside the start."""
SIGNIFICANT = 0.05
"""Largest q-value of columns that are said to differ."""
LONGEST_VALUE = 120
TESTS = (
    "Numbers, dates and ordered categories are compared by the Kruskal-Wallis test (medians and "
    "quartiles are shown), categories and truth values by the chi-squared test, and survival by "
    "the log-rank test. q is p, corrected for the number of columns; an effect size of 0 means no "
    "difference, 1 the largest possible one."
)


def check_associations(given: Any, n_entities: int, n_clusters: int) -> Associations | None:
    """Raise an error unless what was given belongs to the model."""
    if given is None:
        return None
    if not isinstance(given, Associations):
        raise TypeError(
            f"associations is of type {type(given).__name__}: give the table that associate returns"
        )
    if (given.n_entities, given.n_clusters) != (n_entities, n_clusters):
        raise ValueError(
            f"associations is about {given.n_entities} entities in {given.n_clusters} clusters, "
            f"but the model has {n_entities} in {n_clusters}: call associate of this model"
        )
    return given


def associations_section(content: Content) -> Html:
    """What else differs between the clusters; empty if no further columns were given."""
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
    """How many columns differ, in one sentence."""
    tested = [row for row in found if row.test]
    differ = [row for row in tested if row.q_value <= SIGNIFICANT]
    if not tested:
        return "These columns had no part in the fit. None of them could be compared."
    names = ", ".join(_short(row.column) for row in differ[:5])
    more = f" and {len(differ) - 5} more" if len(differ) > 5 else ""
    said = f"{len(differ)} of {len(tested)} differ between the clusters (q at most {SIGNIFICANT})"
    return f"These columns had no part in the fit. {said}{': ' if names else ''}{names}{more}."


def columns_table(found: Associations) -> Html:
    """One row for each column."""
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
    """The survival curves, and a table of medians and of entities at risk."""
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
        aria_label="Kaplan-Meier curves of the clusters. The table below has their medians.",
    )
    how = (
        "The share of each cluster without an event (Kaplan-Meier), with a 95\xa0% band. Crosses "
        "are entities that were not observed longer. A click on the number of a cluster above the "
        "picture hides its curve."
    )
    if any(curve.times.size > DRAWN_TIMES for curve in survival.curves):
        how += f" Curves are drawn at {DRAWN_TIMES} of their times."
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
    """Round numbers from 0 to the last time, at most `RISK_TIMES` beside the start.

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
    """Medians, events and entities at risk of every cluster."""
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
        "Median (95\xa0% interval)",
        "Events",
        "Expected",
        *(f"At risk, {time:.4g}" for time in times),
    )
    caption = (
        "Median survival, and the events that each cluster has and would have if all had the same "
        "risk. Entities at risk were still observed just before that time, without an event."
    )
    return table(titles, rows, caption, class_="cards")
