"""The short summary of a fitted model that notebooks show."""

from __future__ import annotations

import numpy as np

from rmgl.fitting.fitted import FittedModel
from rmgl.page.elements import Html, element, joined, table
from rmgl.page.words import found, one_line, percent, trust_word, verdict, warnings_of
from rmgl.results.report import Report
from rmgl.results.standing import standing_of


def summary_of(model: FittedModel, report: Report | None) -> Html:
    """The verdict, the warnings, the sizes of the clusters and the weights of the views, as HTML that needs no script or style.

    Where no report has been made, it is not made for this: there is no verdict, and how to get one is said.
    """
    n_doubtful = standing_of(model.layers, model.beta, model.labels, model.n_clusters).doubtful.size
    sizes = [int((model.labels == cluster).sum()) for cluster in range(model.n_clusters)]
    rough = np.full(len(model.view_names), np.nan) if model.view_roughness is None else model.view_roughness
    rows = [
        [one_line(name), percent(float(weight)), "" if np.isnan(own) else f"{own:.2f}"]
        for name, weight, own in zip(model.view_names, model.view_weights, rough, strict=True)
    ]
    if report is None:
        verdict_of = [element("p", element("b", "RMGL. "), "How far these clusters can be trusted has not been examined yet.")]
    else:
        verdict_of = [element("p", element("b", f"RMGL, trust {trust_word(report)}. "), verdict(model, report, n_doubtful)[0])]
        if report.warnings:
            verdict_of.append(element("ul", *(element("li", warning) for warning in warnings_of(report))))
    return element(
        "div",
        *verdict_of,
        element("p", found(model, n_doubtful)),
        element("p", f"Sizes of the clusters: {', '.join(map(str, sizes))}."),
        table(("View", "Weight", "Roughness"), rows, "Views"),
        element(
            "p",
            joined([element("code", "print(model.report_)"), " examines the clusters and explains all choices, and "]),
            element("code", "model.to_html('report.html')"),
            " writes the page to explore.",
        ),
    )
