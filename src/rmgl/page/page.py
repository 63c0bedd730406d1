"""Write the page of a fitted model: one HTML file that contains all data, styles and scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from rmgl.archive.atomic import new_file
from rmgl.fitting.fitted import FittedModel
from rmgl.page import figures, heading, resolutions, sections
from rmgl.page.associations import DRAWN_TIMES, associations_section, check_associations
from rmgl.page.columns import check_columns, check_ids, packed
from rmgl.page.content import GATHERED, Content, arrays_of, facts_of, gather
from rmgl.page.elements import Html, element, joined, shortened, table
from rmgl.page.words import found, one_line, percent, trust_word, verdict, warnings_of
from rmgl.results.explain import Explanation, explain_clusters
from rmgl.results.feature_names import check_feature_names
from rmgl.results.report import Report
from rmgl.results.standing import standing_of
from rmgl.version import __version__
from rmgl.views.views import Views

LONGEST_TITLE = 120
"""Maximum number of characters in the name of the data."""


@dataclass(frozen=True)
class Given:
    """Arguments of `RMGL.to_html`."""

    ids: Any = None
    features: Explanation | None = None
    views: Views | None = None
    """Views that the model was fitted on, passed again and validated."""
    feature_names: Any = None
    columns: Any = None
    associations: Any = None
    """Result of `RMGL.associate`."""
    name: str | None = None
    """Name of the data."""


def write_page(
    path: str | os.PathLike[str],
    model: FittedModel,
    report: Report,
    given: Given,
    progress: Callable[[float], None] = lambda part: None,
) -> None:
    """Write the page of a model to a file, completely or not at all. `progress` is called with the
    completed fraction of the work.
    """
    figures.bokeh("plotting")  # raise import errors before any work
    content = content_of(model, report, given, progress)
    progress(GATHERED)
    text = page_of(content)
    with new_file(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def content_of(
    model: FittedModel,
    report: Report,
    given: Given,
    progress: Callable[[float], None] = lambda part: None,
) -> Content:
    """Check the arguments, and collect the content of the page."""
    n_rows, kept = model.n_rows, model.views
    ids, columns = check_ids(given.ids, model.index, n_rows), check_columns(given.columns, n_rows)
    associations = check_associations(given.associations, n_rows, model.n_clusters)
    features, shown = given.features, given.views
    if features is not None and not isinstance(features, Explanation):
        raise TypeError(
            f"features is of type {type(features).__name__}; pass the table returned by "
            "explain, or the views as views="
        )
    if features is None:
        shown = kept if shown is None else shown
        features = explain_clusters(
            shown, model.labels, model.n_clusters, check_feature_names(shown, given.feature_names)
        )
    return gather(
        model,
        report,
        features,
        shown,
        own_units=shown is not kept,
        ids=ids,
        columns=columns,
        associations=associations,
        name=check_name(given.name),
        progress=progress,
    )


def check_name(name: Any) -> str:
    """Return the name of the data on one line. Empty if none was given."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}; pass the name of the data as text")
    return shortened(" ".join((name or "").split()), LONGEST_TITLE)


def page_of(content: Content) -> str:
    """Return the page as text."""
    facts = facts_of(content)
    facts["figures"] = [figures.as_item(figures.scatter(content.points), "scatter")]
    if content.model.number is not None:
        facts["figures"].append(
            figures.as_item(figures.number_of_clusters(content.model.number), "evidence")
        )
    found = content.associations
    if found is not None and found.survival is not None and found.survival.curves:
        curves = [curve.thinned(DRAWN_TIMES) for curve in found.survival.curves]
        drawn = figures.survival(curves, one_line(found.survival.time))
        facts["figures"].append(figures.as_item(drawn, "survival"))
    parts: dict[str, Any] = {
        "title": joined([heading.page_title(content)]),
        "heading": joined([heading.heading(content)]),
        "about": heading.about_data(content, date.today()),
        "contents": heading.contents(content),
        "verdict": sections.verdict_section(content),
        "tiles": sections.tiles(content),
        "clusters": sections.clusters_table(content),
        "associations": associations_section(content),
        "views": sections.views_table(content),
        "agreement": sections.agreement_table(content),
        "layers": sections.layer_pictures(content),
        "number": resolutions.number_section(content),
        "choices": sections.choices_list(content),
        "certificates": sections.certificates(content),
        "reading": sections.how_to_read(content),
        "version": __version__,
        "style": _file("page.css"),
        "bokeh": figures.scripts(),
        "script": _file("measures.js") + _file("page.js"),
        "data": packed(facts, arrays_of(content)),
    }
    return Template(_file("page.html")).substitute(parts)


def _file(name: str) -> str:
    return (files("rmgl.page") / "files" / name).read_text(encoding="utf-8")


def summary_of(model: FittedModel, report: Report | None) -> Html:
    """Return the verdict, the warnings, the cluster sizes and the view weights, as HTML without
    scripts or styles.

    If the report has not been computed, this function does not compute it. The summary then has no
    verdict, and explains how to get one.
    """
    n_doubtful = standing_of(model.layers, model.beta, model.labels, model.n_clusters).doubtful.size
    sizes = [int((model.labels == cluster).sum()) for cluster in range(model.n_clusters)]
    inside = [] if report is None else [view.inside for view in report.views]
    return element(
        "div",
        *trust_in_short(model, report, n_doubtful),
        element("p", found(model, n_doubtful, inside)),
        element("p", f"Cluster sizes: {', '.join(map(str, sizes))}."),
        views_in_short(model),
        element(
            "p",
            joined(
                [
                    element("code", "print(model.report_)"),
                    " assesses the clusters and explains all choices, and ",
                ]
            ),
            element("code", "model.to_html('report.html')"),
            " writes an interactive page.",
        ),
    )


def trust_in_short(model: FittedModel, report: Report | None, n_doubtful: int) -> list[Html]:
    """Return the verdict on the clusters, if they were assessed, and the warnings."""
    if report is None:
        unknown = "The reliability of these clusters has not been assessed yet."
        return [element("p", element("b", "RMGL. "), unknown)]
    trust = element("b", f"RMGL, verdict: {trust_word(report)}. ")
    said = [element("p", trust, verdict(model, report, n_doubtful)[0])]
    if report.warnings:
        said.append(element("ul", *(element("li", warning) for warning in warnings_of(report))))
    return said


def views_in_short(model: FittedModel) -> Html:
    """Return a table of the weight and the roughness of every view."""
    rough = model.view_roughness
    if rough is None:
        rough = np.full(len(model.view_names), np.nan)
    rows = [
        [one_line(name), percent(float(weight)), "" if np.isnan(own) else f"{own:.2f}"]
        for name, weight, own in zip(model.view_names, model.view_weights, rough, strict=True)
    ]
    return table(("View", "Weight", "Roughness"), rows, "Views")
