"""What a fit warns about, at the line of the caller."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rmgl.fitting.fitted import FitEvidence, FittedModel
from rmgl.fitting.ready import Parameters
from rmgl.layer import Layer
from rmgl.model.alternate import EIGEN_TOL
from rmgl.results.report import unconnected
from rmgl.results.weak_points import unconnected_rows
from rmgl.running.progress import warn_caller


def warn_about(model: FittedModel) -> None:
    """Warn if the rounds, the layers or the embedding did not converge, and if entities are not
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
            f"{evidence.eigen_residual:.1e}: "
            "their eigenvalues are too close together; use a smaller n_clusters or a larger alpha",
            ConvergenceWarning,
        )
    alone = np.setdiff1d(unconnected(model.layers, model.beta), model.placed)
    if alone.size:
        warn_caller(unconnected_rows(alone, model.index).sentence, UserWarning)
    n_components = evidence.embedding.n_components
    if n_components > model.n_clusters:
        warn_caller(
            f"the layers together fall into {n_components} components, more than "
            f"n_clusters={model.n_clusters}: "
            "isolated nodes and small fragments share a label; raise alpha to connect them",
            UserWarning,
        )


def warn_about_rounds(evidence: FitEvidence, n_iter: int, parameters: Parameters) -> None:
    """Warn if Algorithm 1 ended before it had converged."""
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
            f"RMGL did not converge in max_iter={parameters.max_iter} rounds: "
            f"raise max_iter, or accept it with a larger tol (now {parameters.tol:g})",
            ConvergenceWarning,
        )


def warn_about_layer(layer: Layer) -> None:
    """Warn if a layer is not solved, or not known to be exact."""
    if not layer.solved:
        warn_caller(layer.message, ConvergenceWarning)
    elif not layer.exact:
        warn_caller(
            f"layer {layer.name!r} is exact among its {layer.candidates} candidates only; "
            f"they hold {layer.recall:.1%} of the nearest neighbors of a sample of rows",
            UserWarning,
        )
