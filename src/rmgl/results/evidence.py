"""The report with what the views say alone: the parts that are measured on the rows, and not on what was learned from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rmgl.layer import Layer
from rmgl.results.chance import Share
from rmgl.results.findings import Finding
from rmgl.results.own_neighbors import own_neighbors
from rmgl.results.report import Report, ViewReport
from rmgl.results.tables import cross_table, rest_has_clusters
from rmgl.results.trust import doubted
from rmgl.views.views import Views


def with_evidence(
    made: Callable[[list[ViewReport], list[Layer]], Report],
    described: list[ViewReport],
    kept: Views | None,
    labels: NDArray[np.intp],
    order: NDArray[np.intp],
    some: bool,
    layers: Sequence[Layer],
) -> Report:
    """The report that is made from the parts on the views, with what each of them says alone about the clusters, and from the layers.

    `kept` are the scaled views (None: they are stored elsewhere, and are not read for the report). The report is made from layers as they
    were learned: with the caller's entities in the `order` of the fit and, if it was on `some` of them, without those that were placed.
    """
    learned = [layer.in_order(order).of_own() if some else layer.in_order(order) for layer in layers]
    if kept is None:
        unread = "the rows are stored on the workers of a cluster, and are not read for the report"
        return made([replace(view, inside_unknown=unread) for view in described], learned)
    shares = [neighbors.inside(labels) for neighbors in own_neighbors(kept)]
    report = made([with_share(view, share) for view, share in zip(described, shares, strict=True)], learned)
    table, trust = cross_table(kept, labels), report.trust
    if table is not None and trust is not None and not rest_has_clusters(kept, table, labels):
        trust = doubted(trust, [Finding("table", "poor", factor.view_name, words={"column": factor.name}) for factor in table.factors])
    return replace(report, trust=trust)


def with_share(view: ViewReport, share: Share) -> ViewReport:
    """The part of the report on a view with what it says alone, or why that is not known."""
    if np.isnan(share.found):
        return replace(view, inside_unknown="no entity has neighbors in it that can be told from others")
    if not share.leaves_room:
        return replace(view, inside_unknown="there is one cluster, or all other entities are neighbors, whatever the clusters are")
    return replace(view, inside=share)
