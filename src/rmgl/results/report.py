"""The report on a fit, with the choices, the evidence for them, and weak points:
`print(model.report_)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from rmgl.archive.records import record
from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import Embedding, smallest_eigenvectors
from rmgl.fitting.fitted import FittedModel
from rmgl.frames import as_html
from rmgl.results.clusters import Refits, second_answers
from rmgl.results.findings import Finding, sentences
from rmgl.results.missing_cells import Gaps, gaps_of
from rmgl.results.notes import choices, measurements
from rmgl.results.numbers import reason_of
from rmgl.results.one_cloud import common_graph, separation_of, weight_inside
from rmgl.results.own_neighbors import Share
from rmgl.results.trust import Evidence, Trust, judge
from rmgl.results.weak_points import (
    uncertain_number,
    unconnected,
    unconnected_rows,
    warning,
    weak_points,
)
from rmgl.views.incomplete import listed_rows

GAP_TOL = 1e-3


@record
@dataclass(frozen=True)
class ViewReport:
    """Scaling, weight and evidence of one view."""

    name: str
    scale: str
    scale_reason: str
    alpha: float
    beta: float
    edges_per_node: float
    weight: float
    roughness: float | None
    """Disagreement of the layer with the common embedding: 0 if neighbors have the same position, 1
    if they are unrelated. None if not measured, or if the layer has no edges from which to measure
    it.
    """
    n_missing: int
    """Number of entities that are missing from this view."""
    n_empty: int
    """Number of rows of zeros, which are treated as missing."""
    columns: list[str] = field(default_factory=list)
    """Type of each column with the reason, if not all columns are numeric, and the columns that are
    left out.
    """
    gaps: Gaps | None = None
    """Missing cells in the observed rows of this view. None if no cell is missing."""
    inside: Share | None = None
    """Share of the 12 nearest neighbors of an entity, in this view alone, that are in its cluster.
    None if unknown.
    """
    inside_unknown: str = ""
    """Reason why `inside` is unknown."""
    is_network: bool = False
    reliability: float | None = None
    """Agreement between halves of the columns, from 0 to 1. None if unknown, or if the view has no
    columns.
    """


@record
@dataclass(frozen=True)
class Report:
    """Choices of scale, alpha, beta, weights and K, with the reasons. `str` returns sentences, and
    `as_dict` returns plain data.

    Examples
    --------
    >>> from rmgl import RMGL
    >>> views = {"a": [[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]]}
    >>> report = RMGL(2, random_state=0).fit(views).report_
    >>> print(str(report).splitlines()[0])
    6 entities, 1 view, 2 clusters, as requested.
    """

    n_rows: int
    n_clusters: int
    n_clusters_reason: str
    automatic: bool
    n_neighbors: int
    consensus: bool
    views: list[ViewReport]
    eigengap: float
    """(next eigenvalue - last one used) / next eigenvalue, in the common graph."""
    within: float
    """Share of the common graph's edge weight inside clusters."""
    exact: bool
    kkt_residual: float
    converged: bool
    neighbor_share: float = 0.0
    """Weight of the neighbor layer in the common graph, relative to that of all other layers. 0 if
    there is no such layer.
    """
    consensus_share: float = 0.0
    """Factor by which consensus costs were multiplied when they were added to each view's costs."""
    n_fragments: int = 0
    """Number of entities left out of the embedding because they form fragments."""
    fragments: str = ""
    """Names of the first entities in fragments."""
    n_placed: int = 0
    """Number of entities left out of the fit because they are missing from a view, and placed
    afterwards.
    """
    uncertainty: float = 0.0
    """Uncertainty of roughness with few entities, which was added to the roughness of every view.
    """
    trust: Trust | None = None
    """Verdict on the clusters. None in models from earlier versions."""
    refits: Refits | None = None
    """Agreement of quick refits with the fit. None if they were not computed."""
    weak_points: list[Finding] = field(default_factory=list)
    """Findings about weak evidence."""
    local_scaling: bool = True
    """Whether squared distances are divided by the distances to the 7th nearest neighbors."""
    weighing: str = "agreement"
    """Rule for the weights of the views."""
    consensus_rule: str = "overlap"
    """Rule for learning a consensus layer."""
    beyond_chance: bool = False
    """Whether views were weighted by how much more they agree with the others than expected by
    chance. This is done if some views are networks.
    """
    network_share: float = 0.0
    """Share of the network neighbors in the smoothed rows from which the consensus was learned. 0
    if the rows were not smoothed.
    """
    given_pairs: bool = False
    """Whether a layer was learned only on the pairs in a network or in sparse distances."""
    doubts: dict[str, str] = field(default_factory=dict)
    """For each layer that is not known to be exact, the reason."""

    @property
    def warnings(self) -> list[str]:
        """Sentences about weak evidence."""
        return sentences(self.weak_points)

    @property
    def findings(self) -> list[Finding]:
        """All findings of the report: reasons for the verdict, choices and measurements, and weak
        evidence.
        """
        return [
            *([] if self.trust is None else self.trust.findings),
            *choices(self),
            *measurements(self),
            *self.weak_points,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, with all findings, and with reasons and warnings as
        sentences.
        """
        data = asdict(self)
        del data["weak_points"]
        if self.trust is not None:
            data["trust"] = {"word": self.trust.word, "reasons": self.trust.reasons}
        return {
            **data,
            "warnings": self.warnings,
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per view. It contains the scaling, the weight, the
        share of nearest neighbors in the same cluster, and the share expected by chance.
        """
        import pandas as pd

        names = ("name", "scale", "alpha", "beta", "edges_per_node", "weight", "roughness")
        rows = [
            {name: getattr(view, name) for name in names}
            | {
                "inside": None if view.inside is None else view.inside.found,
                "chance": None if view.inside is None else view.inside.chance,
                "n_missing": view.n_missing + view.n_empty,
            }
            for view in self.views
        ]
        frame = pd.DataFrame(rows)
        measured = ["roughness", "inside", "chance"]
        return frame.astype(dict.fromkeys(measured, float)).rename(columns={"name": "view"})

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the verdict, the views, and the warnings."""
        trust = "" if self.trust is None else f" Verdict: {self.trust}"
        return as_html(
            self.to_frame(),
            f"{self._counts()}{trust}",
            [f"Warning: {warning}." for warning in self.warnings],
        )

    def _counts(self) -> str:
        """Return the numbers of entities, views and clusters, and the reason for the last."""
        views = f"{len(self.views)} view{'' if len(self.views) == 1 else 's'}"
        return (
            f"{self.n_rows:,} entities, {views}, {self.n_clusters} clusters, "
            f"{self.n_clusters_reason}."
        )

    def _table(self) -> list[str]:
        """Return the table of views as lines of text."""
        titles = ("alpha", "beta", "edges/node", "weight", "roughness", "inside", "chance")

        def line(name: str, numbers: Sequence[str]) -> str:
            return " ".join([f"{name:12s}", *(f"{number:>10s}" for number in numbers)])

        lines = [line("view", titles)]
        for view in self.views:
            rough = "" if view.roughness is None else f"{view.roughness:.3f}"
            inside = (
                ("", "")
                if view.inside is None
                else (f"{view.inside.found:.0%}", f"{view.inside.chance:.0%}")
            )
            known = (
                f"{view.alpha:.4g}",
                f"{view.beta:.4g}",
                f"{view.edges_per_node:.1f}",
                f"{view.weight:.3f}",
                rough,
            )
            lines.append(line(view.name, (*known, *inside)))
        if any(view.inside is not None for view in self.views):
            lines.append(
                "Inside: share of an entity's 12 nearest neighbors in the view that are in its "
                "cluster (mean over all entities). Chance: the share expected if clusters were "
                "assigned at random."
            )
        reasons = dict.fromkeys(
            view.inside_unknown
            for view in self.views
            if view.inside is None and view.inside_unknown
        )
        for reason in reasons:
            names = ", ".join(view.name for view in self.views if view.inside_unknown == reason)
            lines.append(f"Inside is unknown for {names}: {reason}.")
        return lines

    def __str__(self) -> str:
        lines = [self._counts()]
        if self.trust is not None:
            lines.append(f"Verdict: {self.trust}")
        lines += [f"Warning: {warning}." for warning in self.warnings]
        lines += sentences(choices(self))
        lines += self._table()
        lines += sentences(measurements(self))
        return "\n".join(lines)


def make_report(views: list[ViewReport], fitted: FittedModel) -> Report:
    """Return the report on a fit, built from the sections about its views."""
    evidence, rules = fitted.evidence, fitted.parameters.rules
    assert evidence is not None
    refits = second_answers(
        fitted.layers_as_learned,
        fitted.beta,
        evidence.first_labels,
        evidence.embedding,
        deepcopy(evidence.random_state),
        fitted.parameters.of_unit_length,
        rules.resamples,
        fitted.balance is not None,
    )
    if refits is not None:
        refits = replace(refits, separation=separation_of(fitted))
    report = report_without_verdict(views, fitted, refits)
    labels = evidence.first_labels
    sizes = np.bincount(labels, minlength=fitted.n_clusters)
    weights = {view.name: view.weight for view in report.views}
    weak = [*weak_points(report, int(sizes.min()), rules), *weak_points_of_fit(fitted)]
    trust = judge(Evidence(labels.size, sizes, weights, refits), rules)
    return replace(report, weak_points=weak, trust=trust)


def report_without_verdict(
    views: list[ViewReport], fitted: FittedModel, refits: Refits | None
) -> Report:
    """Return the report without its verdict and its findings about weak evidence."""
    evidence, layers, beta = fitted.evidence, fitted.layers_as_learned, fitted.beta
    assert evidence is not None
    parameters, rules, number = fitted.parameters, fitted.parameters.rules.named(), fitted.number
    given = np.array([layer.role == "neighbors" for layer in layers])
    return Report(
        n_rows=fitted.n_rows,
        n_clusters=fitted.n_clusters,
        n_clusters_reason="as requested" if number is None else reason_of(number),
        automatic=parameters.automatic,
        n_neighbors=parameters.n_neighbors,
        consensus=any(layer.role == "consensus" for layer in layers),
        views=views,
        eigengap=eigengap(common_graph(fitted), evidence.embedding, fitted.balance is not None),
        within=weight_inside(fitted),
        exact=all(layer.exact for layer in layers),
        kkt_residual=max(layer.kkt_residual for layer in layers),
        converged=fitted.converged,
        neighbor_share=float(beta[given].sum() / beta[~given].sum()),
        consensus_share=max(layer.consensus_share for layer in layers),
        n_fragments=fitted.fragments.size,
        fragments=listed_rows(fitted.fragments, fitted.index) if fitted.fragments.size else "",
        n_placed=fitted.placed.size,
        uncertainty=evidence.uncertainty,
        refits=refits,
        local_scaling=rules.local_scaling,
        weighing=str(rules.weighing),
        consensus_rule=str(rules.consensus),
        network_share=max(layer.network_share for layer in layers),
        beyond_chance=any(view.is_network for view in views),
        given_pairs=any(layer.candidates in ("given edges", "given pairs") for layer in layers),
        doubts={layer.name: layer.doubt for layer in layers if layer.doubt},
    )


def weak_points_of_fit(fitted: FittedModel) -> Iterator[Finding]:
    """Return findings about weak evidence in the views, the layers and the number of clusters."""
    evidence, number = fitted.evidence, fitted.number
    assert evidence is not None
    yield from (warning("looks like a network", name) for name in evidence.recognized)
    alone = unconnected(fitted.layers_as_learned, fitted.beta)
    if alone.size:
        yield unconnected_rows(np.sort(evidence.entities[alone]), fitted.index)
    if number is not None and number.confidence == "low":
        yield uncertain_number(number)


def describe_views(fitted: FittedModel) -> list[ViewReport]:
    """Return the report section of each view."""
    assert fitted.evidence is not None
    views, roughness, columns, order = (
        fitted.views,
        fitted.view_roughness,
        fitted.evidence.columns,
        fitted.evidence.order,
    )
    in_order = views.in_order(order) if views.has_gaps else None
    of_views = [
        (layer, float(b))
        for layer, b in zip(fitted.layers, fitted.beta, strict=True)
        if layer.role == "view"
    ]
    return [
        ViewReport(
            name,
            *fitted.scale[m],
            alpha=layer.alpha,
            beta=b,
            edges_per_node=2 * layer.n_edges / layer.own_potentials.size,
            weight=float(fitted.view_weights[m]),
            roughness=None if roughness is None or np.isnan(roughness[m]) else float(roughness[m]),
            n_missing=0 if views is None else views[m].n_missing,
            n_empty=0 if views is None else views[m].n_empty,
            columns=columns[m],
            gaps=None if in_order is None else gaps_of(in_order[m], order, fitted.index),
            is_network=views is not None and views[m].graph is not None,
            reliability=None if views is None else views[m].in_order(order).reliability(),
        )
        for m, (name, (layer, b)) in enumerate(zip(fitted.view_names, of_views, strict=True))
    ]


def eigengap(graph: Graph, embedding: Embedding, balanced: bool = False) -> float:
    """Return (lambda_K+1 - lambda_K) / lambda_K+1 of a graph that is close to the graph of the
    embedding. 0 if the next eigenvalue is zero.
    """
    n_clusters = embedding.vectors.shape[1]
    if n_clusters >= graph.shape[0]:
        return 0.0
    balance = Balance.of(graph) if balanced else None
    values = smallest_eigenvectors(graph, n_clusters + 1, tol=GAP_TOL, balance=balance).values
    return float((values[-1] - values[-2]) / values[-1]) if values[-1] > 0 else 0.0
