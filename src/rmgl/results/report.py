"""What a fit chose, on what evidence, and where that evidence is weak: `print(model.report_)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.archive.records import record
from rmgl.automatic.choose import Choice
from rmgl.automatic.number_of_clusters import share_inside
from rmgl.automatic.policy import Policy
from rmgl.embedding.eigenvectors import Embedding, Graph, smallest_eigenvectors, weighted_sum
from rmgl.layer import Layer
from rmgl.results.chance import Share
from rmgl.results.missing_cells import Gaps, gaps_of
from rmgl.results.refits import Refits, second_answers
from rmgl.results.trust import Evidence, Trust, judge
from rmgl.views.incomplete import named_rows
from rmgl.views.views import Views

GAP_TOL = 1e-3
COUNTING = 0.1
"""Weight of a layer, as a share of the largest, from which its components are looked at."""

NOISE = 0.65
"""Roughness of a view (0 same place, 1 unrelated) beyond which it is said not to agree with the others."""
AGREEING = 0.35
"""Roughness that at least one view should stay below."""
FRAGMENT = 0.2
"""Share of a mean cluster below which one is called small."""
OFF = 0.25
"""Share by which the number of edges may miss the wanted one."""
SMALL_GAP = 0.05
"""Relative gap after the last eigenvalue below which it is called missing."""
LOOSE = 0.7
"""Share of edge weight inside clusters below which they are called weakly separated."""


@record
@dataclass(frozen=True)
class ViewReport:
    """What was done to one view, and how much it counts."""

    name: str
    scale: str
    scale_reason: str
    alpha: float
    beta: float
    edges_per_node: float
    weight: float
    roughness: float | None
    """Disagreement of its layer with the common embedding: 0 if neighbors have the same position, 1 if they are unrelated (None: it was
    not measured, or no edge of the layer can show it)."""
    n_missing: int
    """Number of entities that are missing from this view."""
    n_empty: int
    """Number of rows of zeros, which are treated as missing."""
    columns: list[str] = field(default_factory=list)
    """What columns were taken for, and why, where they are not all numbers; and those that are left out."""
    gaps: Gaps | None = None
    """What is missing from the rows of this view (None: no cell is)."""
    inside: Share | None = None
    """The share of the 12 nearest neighbors of an entity, in this view alone, that are in its cluster (None: it is not known)."""
    inside_unknown: str = ""
    """Why it is not known."""


@record
@dataclass(frozen=True)
class Report:
    """What was chosen for scale, alpha, beta, weights and K, and why. `str` gives sentences, `as_dict` plain data."""

    n_rows: int
    n_clusters: int
    n_clusters_reason: str
    automatic: bool
    n_neighbors: int
    consensus: bool
    views: list[ViewReport]
    eigengap: float
    """(next eigenvalue - last one used) / next eigenvalue, of the common graph."""
    within: float
    """The share of the common graph's edge weight that lies inside clusters."""
    exact: bool
    kkt_residual: float
    converged: bool
    neighbor_share: float = 0.0
    """The weight of the plain neighbor layer in the common graph, as a share of that of all other layers (0: there is none)."""
    consensus_share: float = 0.0
    """The share of the costs of the consensus that the layers of the views were learned with."""
    n_fragments: int = 0
    """Entities that took no part in the embedding because they form fragments."""
    fragments: str = ""
    """The first of them, by name."""
    n_placed: int = 0
    """Entities that took no part because they are missing from a view, and were placed afterwards."""
    uncertainty: float = 0.0
    """How accurately roughness is known, where entities are few; it was added to the roughness of every view."""
    trust: Trust | None = None
    """How far the answer can be trusted (None: models of earlier versions)."""
    refits: Refits | None = None
    """How well second answers agree with the first (None: they were not computed)."""
    warnings: list[str] = field(default_factory=list)
    local_scaling: bool = True
    """Whether squared distances were taken in units of the distances to the 7th neighbors."""
    weighing: str = "agreement"
    """The rule by which views were weighted."""
    consensus_rule: str = "overlap"
    """The rule by which it was decided whether there is a consensus layer."""
    network_share: float = 0.0
    """The share of the neighbors in the networks in the rows that the consensus was learned from (0: rows are as they are)."""
    given_pairs: bool = False
    """Whether a layer was learned on the pairs of a network or of sparse distances, which has no others."""
    doubts: dict[str, str] = field(default_factory=dict)
    """For every layer that is not known to be exact why it is not."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _table(self) -> list[str]:
        """The numbers of every view."""
        titles = ("alpha", "beta", "edges/node", "weight", "roughness", "inside", "chance")

        def line(name: str, numbers: Sequence[str]) -> str:
            return " ".join([f"{name:12s}", *(f"{number:>10s}" for number in numbers)])

        lines = [line("view", titles)]
        for view in self.views:
            rough = "" if view.roughness is None else f"{view.roughness:.3f}"
            inside = ("", "") if view.inside is None else (f"{view.inside.found:.0%}", f"{view.inside.chance:.0%}")
            known = (f"{view.alpha:.4g}", f"{view.beta:.4g}", f"{view.edges_per_node:.1f}", f"{view.weight:.3f}", rough)
            lines.append(line(view.name, (*known, *inside)))
        if any(view.inside is not None for view in self.views):
            lines.append("Inside: the share of the 12 nearest neighbors in a view alone that are in the same cluster; and by chance.")
        reasons = dict.fromkeys(view.inside_unknown for view in self.views if view.inside is None and view.inside_unknown)
        for reason in reasons:
            names = ", ".join(view.name for view in self.views if view.inside_unknown == reason)
            lines.append(f"Inside is not known for {names}: {reason}.")
        return lines

    def _doubts(self) -> str:
        """Why layers are not known to be exact."""
        return "; ".join(f"{name}: {doubt}" for name, doubt in self.doubts.items()) or "among their candidates only"

    def _choices(self) -> list[str]:
        """How alpha and the weights of the views were chosen."""
        units = "in units of the distances to the 7th neighbors" if self.local_scaling else "as they are"
        lines = [f"alpha: solved for {self.n_neighbors} edges a node on average, on squared distances {units}."]
        if self.consensus:
            lines.append("A consensus layer is learned from all views side by side.")
            if self.network_share > 0:
                lines.append(
                    "Networks have no rows: for the consensus, those of the other views are smoothed along the networks, a share of "
                    f"{self.network_share:.2f} being that of the neighbors."
                )
        if len(self.views) == 1:
            return lines
        reference = "all views side by side" if self.consensus else "all layers"
        if self.weighing == "agreement":
            lines.append(
                f"Weights: the better the layer of a view agrees with the embedding of {reference}, the more it counts "
                "(roughness 0: neighbors agree, 1: they are unrelated)."
            )
            if self.uncertainty > 0:
                lines.append(
                    f"Entities are few: roughness is known to about {self.uncertainty:.2f}, which was added to it, so that weights are "
                    "nearer to equal."
                )
        else:
            lines.append("Weights: the same for all views." if self.weighing == "equal" else f"Weights: by the rule {self.weighing}.")
        if not self.consensus and all(view.scale.startswith("network") for view in self.views):
            lines.append("No consensus layer is learned: all views are networks.")
        elif not self.consensus and any(view.scale.startswith("network") for view in self.views):
            lines.append("No consensus layer is learned: one view with complete rows, or more, is needed beside networks.")
        elif not self.consensus and self.consensus_rule == "overlap":
            lines.append("No consensus layer is learned: entities have too few views in common, or are too many.")
        elif not self.consensus:
            lines.append(f"No consensus layer is learned, by the rule {self.consensus_rule!r}.")
        return lines

    @staticmethod
    def _second_answers(refits: Refits) -> str:
        """Agreement of second answers with the first."""
        parts = [f"on four fifths of the entities {refits.resampled:.2f}"]
        parts += [f"without the layer of {name} {agreement:.2f}" for name, agreement in refits.without.items()]
        if refits.neighbors_only is not None:
            parts.append(f"from plain neighbors alone {refits.neighbors_only:.2f}")
        return f"Second answers (agreement with the first, 1 the same): {', '.join(parts)}."

    def __str__(self) -> str:
        lines = [f"{self.n_rows} entities, {len(self.views)} views, {self.n_clusters} clusters ({self.n_clusters_reason})."]
        if self.trust is not None:
            lines.append(f"Trust: {self.trust}.")
        for view in self.views:
            without = f" {view.n_missing} entities are missing from this view." if view.n_missing else ""
            without += f" {view.n_empty} rows of zeros are treated as missing." if view.n_empty else ""
            lines.append(f"Scale: {view.name}: {view.scale} ({view.scale_reason}).{without}")
            lines += [f"Column: {view.name}: {sentence}." for sentence in view.columns]
            if view.gaps is not None:
                lines.append(f"Missing: {view.name}: {view.gaps}; distances are taken from the columns that two rows share, and scaled up.")
        if self.automatic:
            lines += self._choices()
            if self.consensus_share > 0:
                lines.append(
                    "Each view separates only some of the clusters: the layers of the views were learned with "
                    f"{self.consensus_share:.2f} times the costs of the consensus added to their own."
                )
            if self.neighbor_share > 0:
                lines.append(
                    "The graph of the nearest neighbors of all views side by side is one more layer of the common graph, with "
                    f"{self.neighbor_share:.0%} of the weight of the others."
                )
        else:
            lines.append("alpha, beta: set by you, or heuristic defaults (typical distances; a weak coupling, the same for all views).")
        if self.n_fragments:
            lines.append(
                f"{self.n_fragments} entities form fragments, small groups that keep their edge weight to themselves: they take no part in "
                f"the embedding and have the labels of their neighbors (fragments_; {self.fragments} among them)."
            )
        if self.n_placed:
            lines.append(
                f"{self.n_placed} entities are missing from a view. Each view separates only some of the clusters, so the model was "
                f"learned on the {self.n_rows - self.n_placed} others, and these were placed as new ones are (placed_)."
            )
        lines += self._table()
        proof = (
            f"the exact solutions over all{' given' if self.given_pairs else ''} pairs"
            if self.exact
            else f"not known to be exact ({self._doubts()})"
        )
        lines.append(f"Layers: {proof}, KKT residual {self.kkt_residual:.0e}; alternation {'' if self.converged else 'not '}converged.")
        lines.append(
            f"Evidence in the common graph: relative gap after eigenvalue {self.n_clusters}: {self.eigengap:.2f}; "
            f"edge weight inside clusters: {self.within:.0%}."
        )
        if self.refits is not None:
            lines.append(self._second_answers(self.refits))
        lines += [f"Warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def weak_points(report: Report, smallest: int) -> list[str]:
    """Sentences about weak evidence."""
    views, k = report.views, report.n_clusters
    found = [
        f"view {view.name!r} alone does not have these clusters: {view.inside.found:.0%} of its nearest neighbors are in the same cluster, "
        f"and {view.inside.chance:.0%} would be by chance"
        for view in views
        if view.inside is not None and not view.inside.is_more
    ]
    found += [
        f"view {view.name!r} does not agree with the others (roughness {view.roughness:.2f}, 1 is unrelated) and counts for "
        f"{view.weight:.1%}: {about_disagreement(view)}"
        for view in views
        if view.roughness is not None and view.roughness > NOISE
    ]
    if all(view.roughness is not None and view.roughness > AGREEING for view in views):
        found.append("no view agrees well with the common embedding: the views may not have clusters in common")
    if report.automatic:
        found += [
            f"view {view.name!r} has {view.edges_per_node:.1f} edges a node, not {report.n_neighbors}: no alpha gives as many"
            for view in views
            if abs(view.edges_per_node / report.n_neighbors - 1) > OFF
            and report.n_rows > 3 * report.n_neighbors
            and not view.scale.startswith("network")
        ]
    found += [f"view {view.name!r}: {doubt}" for view in views if view.gaps is not None for doubt in view.gaps.doubts()]
    if report.eigengap < SMALL_GAP:
        found.append(f"there is no gap after eigenvalue {k} ({report.eigengap:.2f}): another number of clusters fits about as well")
    if report.within < LOOSE:
        found.append(f"only {report.within:.0%} of the edge weight lies inside clusters: they are weakly separated")
    if smallest < max(3, FRAGMENT * (report.n_rows - report.n_placed) / k):
        found.append(f"the smallest cluster has {smallest} member(s): it may be a fragment, or a group of outliers")
    if not report.converged:
        found.append("the alternation did not converge")
    if not report.exact:
        found.append(f"layers are not known to be exact ({report._doubts()})")
    return found


def about_disagreement(view: ViewReport) -> str:
    """What it may mean that a view does not agree with the others, after what it says alone."""
    if view.inside is None or not view.inside.is_more:
        return "it is noise, or tells of other clusters; look at it alone"
    shares = (
        f"{view.inside.found:.0%} of its own nearest neighbors are in the same cluster, and {view.inside.chance:.0%} would be by chance"
    )
    return f"it has a part in these clusters ({shares}), which noise can have, too; look at it alone"


def make_report(
    views: list[ViewReport],
    layers: Sequence[Layer],
    *,
    beta: NDArray[np.float64],
    choice: Choice,
    labels: NDArray[np.intp],
    embedding: Embedding,
    automatic: bool,
    policy: Policy,
    n_neighbors: int,
    converged: bool,
    fragments: NDArray[np.intp],
    n_rows: int,
    index: NDArray[Any] | None,
    recognized: Sequence[str],
    random_state: np.random.RandomState,
) -> Report:
    """The report of a fit. `n_rows` and `index` are the number and the names of all entities, also of those that are placed later.

    Views whose names are in `recognized` were given as features and look like networks.

    Evidence is taken from the graph of the choice, or else from the layers themselves.
    """
    graph = weighted_sum([layer.adjacency for layer in layers], beta.tolist()) if choice.graph is None else choice.graph
    given = np.array([layer.role == "neighbors" for layer in layers])
    number, rules = choice.number, policy.named()
    refits = second_answers(layers, beta, labels, embedding, random_state, automatic and policy.unit_rows)
    report = Report(
        n_rows=n_rows,
        n_clusters=choice.n_clusters,
        n_clusters_reason="given" if number is None else number.reason,
        automatic=automatic,
        n_neighbors=n_neighbors,
        consensus=any(layer.role == "consensus" for layer in layers),
        views=views,
        eigengap=eigengap(graph, embedding),
        within=share_inside(sparse.csr_array(graph), labels),
        exact=all(layer.exact for layer in layers),
        kkt_residual=max(layer.kkt_residual for layer in layers),
        converged=converged,
        neighbor_share=float(beta[given].sum() / beta[~given].sum()),
        consensus_share=max(layer.consensus_share for layer in layers),
        n_fragments=fragments.size,
        fragments=named_rows(among_all(fragments, choice), index) if fragments.size else "",
        n_placed=n_rows - labels.size,
        uncertainty=choice.uncertainty,
        refits=refits,
        local_scaling=policy.local_scaling,
        weighing=str(rules.weighing),
        consensus_rule=str(rules.consensus),
        network_share=max(layer.network_share for layer in layers),
        given_pairs=any(layer.candidates in ("given edges", "given pairs") for layer in layers),
        doubts={layer.name: layer.doubt for layer in layers if layer.doubt},
    )
    sizes = np.bincount(labels, minlength=choice.n_clusters)
    weak = weak_points(report, int(sizes.min()))
    weak += [
        f"view {name!r} looks like a network (square, symmetric, mostly zeros, no negative entry, nothing on the diagonal), but its rows "
        "were compared as features: if it is one, give it as rmgl.Network(...), or as a list of edges with --network on the command line"
        for name in recognized
    ]
    alone = unconnected(layers, beta)
    if alone.size:
        weak.append(about_unconnected(among_all(alone, choice), index))
    if number is not None and number.confidence == "low":
        others = [k for k in number.rivals if k != number.chosen]
        weak.append("the number of clusters is uncertain" + (f": {others} do about as well as {number.chosen}" if others else ""))
    weights = {view.name: view.weight for view in report.views}
    trust = judge(Evidence(labels.size, sizes, report.within, weights, components_of(layers, beta), largest_degree(layers, beta), refits))
    return replace(report, warnings=weak, trust=trust)


def among_all(entities: NDArray[np.intp], choice: Choice) -> NDArray[np.intp]:
    """The indices of entities among all, also those that are placed later, in the order of the caller."""
    return entities if choice.entities is None else np.sort(choice.entities[entities])


def components_of(layers: Sequence[Layer], beta: NDArray[np.float64]) -> dict[str, float]:
    """The number of components of every layer that counts, as a share of its entities."""
    counting = [layer for layer, b in zip(layers, beta, strict=True) if b > COUNTING * beta.max()]
    return {layer.name: layer.n_components / layer.own_potentials.size for layer in counting}


def largest_degree(layers: Sequence[Layer], beta: NDArray[np.float64]) -> float:
    """The largest degree in the common graph, in multiples of the mean."""
    degrees = np.sum([b * layer.degrees for layer, b in zip(layers, beta, strict=True)], axis=0)
    return float(degrees.max() / degrees.mean())


def describe_views(
    views: Views,
    scales: Sequence[tuple[str, str]],
    layers: Sequence[Layer],
    beta: NDArray[np.float64],
    choice: Choice,
    everyone: Views,
    order: NDArray[np.intp],
    index: NDArray[Any] | None,
    columns: Sequence[list[str]],
) -> list[ViewReport]:
    """The part of the report on each view; `everyone` holds the views of all entities, also those that were placed.

    `order` are the rows of the caller that these are, and `index` the labels of the caller's rows.
    """
    own = [(layer, float(b)) for layer, b in zip(layers, beta, strict=True) if layer.role == "view"]
    return [
        ViewReport(
            name,
            *scales[m],
            alpha=layer.alpha,
            beta=b,
            edges_per_node=2 * layer.n_edges / views.own(m).shape[0],
            weight=float(choice.weights[m]),
            roughness=None if choice.roughness is None or np.isnan(choice.roughness[m]) else float(choice.roughness[m]),
            n_missing=everyone.n_missing[m],
            n_empty=everyone.n_empty[m] if everyone.n_empty else 0,
            columns=columns[m],
            gaps=gaps_of(everyone, m, order, index),
        )
        for m, (name, (layer, b)) in enumerate(zip(views.names, own, strict=True))
    ]


def unconnected(layers: Sequence[Layer], beta: NDArray[np.float64]) -> NDArray[np.intp]:
    """The entities without an edge in any layer that counts."""
    return np.flatnonzero(np.sum([layer.degrees for layer, b in zip(layers, beta, strict=True) if b > 0], axis=0) == 0)


def about_unconnected(alone: NDArray[np.intp], index: NDArray[Any] | None) -> str:
    return f"{named_rows(alone, index)} not connected to any other entity in any layer, so the label is arbitrary; raise alpha"


def eigengap(graph: Graph, embedding: Embedding) -> float:
    """(lambda_K+1 - lambda_K) / lambda_K+1 of a graph near that of the embedding; 0 where no eigenvalue above zero comes next."""
    n_clusters = embedding.vectors.shape[1]
    if n_clusters >= graph.shape[0]:
        return 0.0
    values = smallest_eigenvectors(graph, n_clusters + 1, tol=GAP_TOL).values
    return float((values[-1] - values[-2]) / values[-1]) if values[-1] > 0 else 0.0
