"""The report with what the views say alone: the parts that are measured on the rows, and not on
what was learned from them.
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
    """The report of a fit, with what each view says alone about the clusters."""
    assert fitted.evidence is not None
    views, labels = fitted.views, fitted.evidence.labels
    report = make_report(with_shares(describe_views(fitted), views, labels), fitted)
    return with_table(report, views, labels)


def report_after(report: Report, fitted: FittedModel, n_rows: int) -> Report:
    """The report of a model whose rows, `n_rows` of them, were fitted again: that of the first fit,
    without the verdict, which is about other clusters.
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
    """The parts of the report on the views with what each says alone; `kept` are scaled."""
    shares = [neighbors.inside(labels) for neighbors in own_neighbors(kept)]
    return [with_share(view, share) for view, share in zip(described, shares, strict=True)]


def with_table(report: Report, kept: Views, labels: NDArray[np.intp]) -> Report:
    """The report with less trust where the clusters are a table of columns."""
    table, trust = cross_table(kept, labels), report.trust
    if table is not None and trust is not None and not rest_has_clusters(kept, table, labels):
        columns = [
            Finding("table", "poor", factor.view_name, words={"column": factor.name})
            for factor in table.factors
        ]
        trust = Trust("poor", [*columns, *trust.findings])
    return replace(report, trust=trust)


def with_share(view: ViewReport, share: Share) -> ViewReport:
    """The part of the report on a view with what it says alone, or why that is not known."""
    if np.isnan(share.found):
        return replace(
            view, inside_unknown="no entity has neighbors in it that can be told from others"
        )
    if not share.leaves_room:
        return replace(
            view,
            inside_unknown=(
                "there is one cluster, or all other entities are neighbors, whatever the "
                "clusters are"
            ),
        )
    return replace(view, inside=share)
