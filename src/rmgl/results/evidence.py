"""Complete a report with the evidence from each view alone, which is measured on the rows rather
than on the learned layers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rmgl.fitting.fitted import FittedModel
from rmgl.results.findings import Finding
from rmgl.results.own_neighbors import Share, own_neighbors
from rmgl.results.report import Report, ViewReport, describe_views, make_report
from rmgl.results.tables import cross_table, rest_has_clusters
from rmgl.results.trust import Trust
from rmgl.views.views import Views


def report_of(fitted: FittedModel) -> Report:
    """Return the report on a fit, including the evidence from each view alone."""
    assert fitted.evidence is not None
    views, labels = fitted.views, fitted.evidence.labels
    report = make_report(with_shares(describe_views(fitted), views, labels), fitted)
    return with_table(report, views, labels)


def report_after(report: Report, fitted: FittedModel, n_rows: int) -> Report:
    """Return the report on a model in which `n_rows` rows were refitted: the report on the first
    fit, without its verdict, which is about other clusters.
    """
    again = Finding(
        "fitted again", "warning", numbers={"n_rows": n_rows, "n_clusters": fitted.n_clusters}
    )
    views = with_shares(report.views, fitted.views, fitted.labels)
    weak = [*report.weak_points, again]
    return replace(report, views=views, trust=None, refits=None, weak_points=weak)


def with_shares(
    described: list[ViewReport], kept: Views, labels: NDArray[np.intp]
) -> list[ViewReport]:
    """Return the view sections of the report with the evidence from each view alone. `kept`
    contains the scaled views.
    """
    shares = [neighbors.inside(labels) for neighbors in own_neighbors(kept)]
    return [with_share(view, share) for view, share in zip(described, shares, strict=True)]


def with_table(report: Report, kept: Views, labels: NDArray[np.intp]) -> Report:
    """Return the report with a lower verdict if the clusters are a cross-tabulation of columns."""
    table, trust = cross_table(kept, labels), report.trust
    if table is not None and trust is not None and not rest_has_clusters(kept, table, labels):
        columns = [
            Finding("table", "poor", factor.view_name, words={"column": factor.name})
            for factor in table.factors
        ]
        trust = Trust("poor", [*columns, *trust.findings])
    return replace(report, trust=trust)


def with_share(view: ViewReport, share: Share) -> ViewReport:
    """Return the report section of a view with the evidence from the view alone, or with the reason
    why there is none.
    """
    if np.isnan(share.found):
        return replace(
            view,
            inside_unknown=(
                "in this view, no entity has neighbors that can be distinguished from other "
                "entities"
            ),
        )
    if not share.leaves_room:
        return replace(
            view,
            inside_unknown=(
                "there is only one cluster, or every entity is a neighbor of every other"
            ),
        )
    return replace(view, inside=share)
