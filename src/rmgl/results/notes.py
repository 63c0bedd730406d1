"""Findings about the choices of a fit, the reasons for them, and the measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rmgl.automatic.consensus import Agreement
from rmgl.results.findings import Finding

if TYPE_CHECKING:
    from rmgl.results.report import Report, ViewReport


def choices(report: Report, shown: Callable[[str], str] = str) -> list[Finding]:
    """Return findings about scaling, choices and entities left out, with names as displayed."""
    of_views = [note for view in report.views for note in of_view(view)]
    return [found.named(shown) for found in (*of_views, *parameters(report), *apart(report))]


def measurements(report: Report, shown: Callable[[str], str] = str) -> list[Finding]:
    """Return findings about the certificates, the common graph and quick refits, with names as
    displayed.
    """
    return [found.named(shown) for found in (*proof(report, shown), *second_answers(report))]


def note(kind: str, subject: str = "", **numbers: float) -> Finding:
    return Finding(kind, "note", subject, dict(numbers))


def of_view(view: ViewReport) -> Iterator[Finding]:
    """Return findings about the scaling and the missing cells of a view."""
    absent: dict[str, float | list[int]] = {"missing": view.n_missing, "empty": view.n_empty}
    yield Finding(
        "scale", "note", view.name, absent, {"scale": view.scale, "reason": view.scale_reason}
    )
    for column in view.columns:
        yield Finding("column", "note", view.name, words={"column": column})
    gaps = view.gaps
    if gaps is not None:
        share = gaps.n_missing / gaps.n_cells
        yield note(
            "missing cells",
            view.name,
            missing=gaps.n_missing,
            cells=gaps.n_cells,
            share=share,
            rows=gaps.n_rows,
        )


def parameters(report: Report) -> Iterator[Finding]:
    """Return findings about alpha, beta and the weights of the views."""
    if not report.automatic:
        yield note("given parameters")
        return
    yield note(
        "alpha on local distances" if report.local_scaling else "alpha on plain distances",
        edges=report.n_neighbors,
    )
    if report.local_scaling:
        yield note("local distances")
    if report.consensus:
        yield note("consensus")
        if report.network_share > 0:
            yield note("consensus along networks", share=report.network_share)
    if len(report.views) > 1:
        yield from weighing(report)
        if not report.consensus:
            yield no_consensus(report)
    if report.consensus_share > 0:
        yield note("costs of the consensus", share=report.consensus_share)
    if report.neighbor_share > 0:
        yield note("neighbor layer", share=report.neighbor_share)


def weighing(report: Report) -> Iterator[Finding]:
    """Return findings about the weights of the views."""
    if report.weighing == "agreement":
        if report.beyond_chance:
            yield note("weights beyond chance")
            return
        reference = "the concatenated views" if report.consensus else "all layers"
        yield Finding("weights by agreement", "note", words={"reference": reference})
        if report.uncertainty > 0:
            yield note("roughness of few", uncertainty=report.uncertainty)
    elif report.weighing == "equal":
        yield note("equal weights")
    else:
        yield Finding("weights by rule", "note", words={"rule": report.weighing})


def no_consensus(report: Report) -> Finding:
    """Return the reason why there is no consensus layer."""
    networks = [view.is_network for view in report.views]
    if any(networks):
        return note("no consensus of networks" if all(networks) else "no consensus beside networks")
    if report.consensus_rule == "overlap":
        few = report.n_rows <= Agreement.most_incomplete
        return note("no consensus of few" if few else "no consensus of many")
    return Finding("no consensus by rule", "note", words={"rule": report.consensus_rule})


def apart(report: Report) -> Iterator[Finding]:
    """Return findings about entities left out of the embedding."""
    if report.n_fragments:
        yield Finding(
            "fragments", "note", numbers={"n": report.n_fragments}, words={"rows": report.fragments}
        )
    if report.n_placed:
        yield note("placed", n=report.n_placed, others=report.n_rows - report.n_placed)


def proof(report: Report, shown: Callable[[str], str]) -> Iterator[Finding]:
    """Return findings about the certificates of the layers and the evidence in their sum."""
    if report.exact:
        yield note(
            "layers exact on given pairs" if report.given_pairs else "layers exact",
            residual=report.kkt_residual,
        )
    else:
        doubts = (
            "; ".join(f"{shown(name)}: {doubt}" for name, doubt in report.doubts.items())
            or "exact only over their candidate pairs"
        )
        yield Finding(
            "layers perhaps not exact",
            "note",
            numbers={"residual": report.kkt_residual},
            words={"doubts": doubts},
        )
    yield note("alternation converged" if report.converged else "alternation stopped")
    yield note("evidence", eigenvalue=report.n_clusters, gap=report.eigengap, within=report.within)


def second_answers(report: Report) -> Iterator[Finding]:
    """Return findings about the agreement of quick refits with the fit."""
    refits = report.refits
    if refits is None:
        return
    yield note("second answer of some", agreement=refits.resampled)
    for name, agreement in refits.without.items():
        yield note("second answer without a view", name, agreement=agreement)
    if refits.neighbors_only is not None:
        yield note("second answer of neighbors", agreement=refits.neighbors_only)
