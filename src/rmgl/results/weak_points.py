"""Weak points in the evidence: the warnings of a report and of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rmgl.automatic.policy import Policy
from rmgl.fitting.fitted import FitEvidence, FittedModel
from rmgl.fitting.ready import Parameters
from rmgl.layer import Layer
from rmgl.model.alternate import EIGEN_TOL
from rmgl.results.findings import Finding
from rmgl.running.progress import warn_caller
from rmgl.views.halves import FULL
from rmgl.views.incomplete import named_rows

if TYPE_CHECKING:
    from rmgl.automatic.number_of_clusters import NumberOfClusters
    from rmgl.results.report import Report, ViewReport

OFF = 0.25
"""Tolerated relative deviation of the number of edges from its target."""


def weak_points(report: Report, smallest: int, numbers: Policy | None = None) -> list[Finding]:
    """Return findings about weak evidence. `smallest` is the size of the smallest cluster."""
    numbers = Policy() if numbers is None else numbers
    weak = [*of_views(report, numbers), *of_solution(report)]
    mean_size = (report.n_rows - report.n_placed) / report.n_clusters
    if smallest < max(3, numbers.small_cluster * mean_size):
        weak.append(warning("small cluster", size=smallest))
    return weak


def warning(kind: str, subject: str = "", **numbers: float) -> Finding:
    return Finding(kind, "warning", subject, dict(numbers))


def of_views(report: Report, numbers: Policy) -> Iterator[Finding]:
    """Return findings about views that do not show the clusters, disagree, or contain too little
    information.
    """
    views = report.views
    for view in views:
        if view.inside is not None and not view.inside.is_more:
            yield warning(
                "view without clusters",
                view.name,
                inside=view.inside.found,
                chance=view.inside.chance,
            )
    best = max((view.reliability or 0.0 for view in views), default=0.0)
    for view in views:
        if view.reliability is not None and view.reliability < FULL * best:
            yield warning("columns unrelated", view.name, reliability=view.reliability, best=best)
    rough = [-1.0 if view.roughness is None else view.roughness for view in views]
    for view, roughness in zip(views, rough, strict=True):
        if roughness > numbers.unrelated:
            yield disagreement(view, roughness)
    for view in views:
        if misses_edges(view, report):
            yield warning(
                "edges missed", view.name, edges=view.edges_per_node, wanted=report.n_neighbors
            )
    for view in views:
        yield from gaps(view)


def disagreement(view: ViewReport, roughness: float) -> Finding:
    """Return the finding about a view that disagrees with the others. The view may be noise if it
    does not show the clusters by itself.
    """
    inside = view.inside
    if inside is None or not inside.is_more:
        return warning("view disagrees", view.name, roughness=roughness, weight=view.weight)
    shares = {"inside": inside.found, "chance": inside.chance}
    return warning(
        "view disagrees, in part", view.name, roughness=roughness, weight=view.weight, **shares
    )


def misses_edges(view: ViewReport, report: Report) -> bool:
    """Return whether the number of edges in a view's layer is far from the number for which alpha
    was chosen.
    """
    off = abs(view.edges_per_node / report.n_neighbors - 1) > OFF
    n_rows = report.n_rows - view.n_missing - view.n_empty
    return report.automatic and off and n_rows > 3 * report.n_neighbors and not view.is_network


def gaps(view: ViewReport) -> Iterator[Finding]:
    """Return findings about rows and pairs in a view with too few cells to compare."""
    if view.gaps is None:
        return
    if view.gaps.n_sparse:
        yield Finding(
            "few cells",
            "warning",
            view.name,
            {"n": view.gaps.n_sparse},
            {"rows": view.gaps.sparse_rows},
        )
    if view.gaps.share_apart > 0:
        yield warning("pairs apart", view.name, share=view.gaps.share_apart)


def of_solution(report: Report) -> Iterator[Finding]:
    """Return findings about a lack of convergence or exactness."""
    if not report.converged:
        yield warning("not converged")
    if not report.exact:
        for name, doubt in report.doubts.items():
            yield Finding("layer not exact", "warning", name, words={"doubt": doubt})
        if not report.doubts:
            yield warning("layers not exact")


def unconnected_rows(alone: NDArray[np.intp], index: NDArray[Any] | None) -> Finding:
    """Return the finding about entities without an edge."""
    return Finding(
        "unconnected",
        "warning",
        numbers={"n": alone.size},
        words={"rows": named_rows(alone, index)},
    )


def uncertain_number(number: NumberOfClusters) -> Finding:
    """Return the finding about a chosen number of clusters and others that fit about as well."""
    others = [k for k in number.rivals if k != number.chosen]
    return Finding(
        "number uncertain", "warning", numbers={"chosen": number.chosen, "others": others}
    )


def unconnected(layers: Sequence[Layer], beta: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the entities without an edge in any layer that has weight."""
    return np.flatnonzero(
        np.sum([layer.degrees for layer, b in zip(layers, beta, strict=True) if b > 0], axis=0) == 0
    )


def warn_about(model: FittedModel) -> None:
    """Warn if the alternation, the layers or the embedding did not converge, or if entities are not
    connected.
    """
    evidence = model.evidence
    assert evidence is not None
    warn_about_rounds(evidence, model.n_iter, model.parameters)
    for layer in model.layers:
        warn_about_layer(layer)
    if evidence.eigen_residual > EIGEN_TOL and not evidence.stopped:
        warn_caller(
            "the eigenvectors of the embedding have a relative residual of "
            f"{evidence.eigen_residual:.1e} because their eigenvalues are too close "
            "together; use a smaller n_clusters or a larger alpha",
            ConvergenceWarning,
        )
    alone = np.setdiff1d(unconnected(model.layers, model.beta), model.placed)
    if alone.size:
        warn_caller(unconnected_rows(alone, model.index).sentence, UserWarning)
    n_components = evidence.embedding.n_components
    if n_components > model.n_clusters:
        warn_caller(
            f"the layers together have {n_components} components, more than "
            f"n_clusters={model.n_clusters}, so isolated nodes and small fragments share "
            "a label; raise alpha to connect them",
            UserWarning,
        )


def warn_about_rounds(evidence: FitEvidence, n_iter: int, parameters: Parameters) -> None:
    """Warn if Algorithm 1 stopped before convergence."""
    if evidence.stopped:
        warn_caller(
            (
                f"RMGL was stopped after {n_iter} rounds because {evidence.stopped}; this is the "
                "best result so far"
            ),
            ConvergenceWarning,
        )
    elif not evidence.settled:
        warn_caller(
            f"RMGL did not converge in max_iter={parameters.max_iter} rounds; raise "
            f"max_iter, or use a larger tol (now {parameters.tol:g}) to accept this result",
            ConvergenceWarning,
        )


def warn_about_layer(layer: Layer) -> None:
    """Warn if a layer is not solved, or not known to be exact."""
    if not layer.solved:
        warn_caller(layer.message, ConvergenceWarning)
    elif not layer.exact:
        warn_caller(
            f"layer {layer.name!r} is exact only over its {layer.candidates} candidate pairs, "
            f"which include {layer.recall:.1%} of the nearest neighbors of a sample of "
            "rows",
            UserWarning,
        )
