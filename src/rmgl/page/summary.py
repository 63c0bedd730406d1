"""The short summary of a fitted model that notebooks show."""

from __future__ import annotations

from rmgl.page.elements import Html, element, joined, table
from rmgl.page.words import found, one_line, percent, trust_word, verdict, warnings_of
from rmgl.results.fitted import Fitted
from rmgl.results.standing import standing_of


def summary_of(model: Fitted) -> Html:
    """The verdict, the warnings, the sizes of the clusters and the weights of the views, as HTML that needs no script or style."""
    report = model.report_
    n_doubtful = standing_of(model.layers_, model.beta_, model.labels_, model.n_clusters_).doubtful.size
    sizes = [int((model.labels_ == cluster).sum()) for cluster in range(model.n_clusters_)]
    rows = [[one_line(view.name), percent(view.weight), "" if view.roughness is None else f"{view.roughness:.2f}"] for view in report.views]
    return element(
        "div",
        element("p", element("b", f"RMGL, trust {trust_word(report)}. "), verdict(model, n_doubtful)[0]),
        element("ul", *(element("li", warning) for warning in warnings_of(report))) if report.warnings else "",
        element("p", found(model, n_doubtful)),
        element("p", f"Sizes of the clusters: {', '.join(map(str, sizes))}."),
        table(("View", "Weight", "Roughness"), rows, "Views"),
        element(
            "p",
            joined([element("code", "model.to_html('report.html')"), " writes the page to explore, and "]),
            element("code", "print(model.report_)"),
            " explains all choices.",
        ),
    )
