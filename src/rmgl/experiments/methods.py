"""The methods of the experiments, which return named embeddings of a problem.

`edges` sets the density of layers. A number is alpha (100 in the paper). "k=10" is the alpha at
which a node with typical distances has about 10 neighbors, computed for each view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.manifold import spectral_embedding
from sklearn.neighbors import kneighbors_graph

from rmgl.baselines import GDMCCA, SCGED, SCML, learn_gl_sigrep
from rmgl.baselines.baseline import spectral_rows
from rmgl.baselines.gl_sigrep import DEFAULT_ALPHA, SigRepLayer
from rmgl.estimators.rmgl import RMGL
from rmgl.experiments.data import Problem
from rmgl.matrix import Floats, side_by_side
from rmgl.model.problems import default_alpha, default_beta
from rmgl.views.views import Views

Embeddings = dict[str, Floats]


def rmgl(problem: Problem, **parameters: Any) -> Embeddings:
    """Return the embedding Q of RMGL, and the spectral embedding of each of its layers."""
    model = fit_rmgl(problem, **parameters)
    layers = {
        f"RMGL layer {layer.name}": spectral_rows(layer.adjacency, problem.n_clusters)
        for layer in model.layers_
    }
    components = np.array([layer.n_components for layer in model.layers_])
    return {"RMGL (Q)": model.embedding_, **layers, "_components": components}


def fit_rmgl(
    problem: Problem,
    *,
    scale: str = "minmax",
    edges: float | str = "auto",
    weights: str = "equal",
    strength: float = 1.0,
) -> RMGL:
    """Fit RMGL with alpha from `edges` and beta from `weights`.

    `weights` is "paper" (the paper's beta) or "equal" (their mean for every view). These values are
    for alpha = 100, and beta is proportional to alpha and to `strength`. `edges="auto"` uses alpha
    and beta from `rmgl.model.problems`, with the same beta for all views.
    """
    views = Views.of(problem.views).scaled(scale)
    if edges == "auto":
        alphas_by_default = np.array([default_alpha(X) for X in views.matrices])
        common = default_beta(alphas_by_default, views.n_rows, problem.n_clusters)
        alpha, beta = alphas_by_default.tolist(), [common] * len(views)
    else:
        pattern = np.array(problem.paper_beta, dtype=float)
        pattern = pattern if weights == "paper" else np.full(len(pattern), pattern.mean())
        alpha = alphas(views, edges).tolist()
        beta = (strength * pattern * alpha / 100).tolist()
    model = RMGL(problem.n_clusters, alpha=alpha, beta=beta, scale="none", random_state=0)
    return model.fit(dict(zip(views.names, views.matrices, strict=True)))


def gl_sigrep(problem: Problem, **parameters: Any) -> Embeddings:
    """Return the spectral embedding of the GL-SigRep layer of each view."""
    layers = sigrep_layers(problem, **parameters)
    return {
        f"GL-SigRep {layer.name}": spectral_rows(layer.adjacency, problem.n_clusters)
        for layer in layers
    }


def gl_sigrep_c(problem: Problem, **parameters: Any) -> Embeddings:
    """Return the spectral embedding of the GL-SigRep layer of the concatenated views."""
    (layer,) = sigrep_layers(problem, together=True, **parameters)
    return {"GL-SigRep(C)": spectral_rows(layer.adjacency, problem.n_clusters)}


def sc_ml(problem: Problem, *, merge: float = 0.5, **parameters: Any) -> Embeddings:
    """Return the embedding of SC-ML on GL-SigRep layers."""
    layers: list[Any] = sigrep_layers(problem, **parameters)
    return {"SC-ML": SCML(problem.n_clusters, merge=merge, random_state=0).fit(layers).embedding_}


def sc_ged(
    problem: Problem, *, inverse: float = 100.0, max_iter: int = 200, **parameters: Any
) -> Embeddings:
    """Return the embedding of SC-GED on GL-SigRep layers."""
    layers: list[Any] = sigrep_layers(problem, **parameters)
    return {
        "SC-GED": SCGED(problem.n_clusters, inverse=inverse, max_iter=max_iter, random_state=0)
        .fit(layers)
        .embedding_
    }


def gd_mcca(
    problem: Problem,
    *,
    graph: str | None = None,
    gamma: float = 1.0,
    epsilon: float = 0.1,
    scale: str = "minmax",
) -> Embeddings:
    """Return the embedding of GD-MCCA. `graph` is the view with the graph (None: the first)."""
    graph = next(iter(problem.views)) if graph is None else graph
    model = GDMCCA(
        problem.n_clusters, graph=graph, gamma=gamma, epsilon=epsilon, scale=scale, random_state=0
    )
    return {"GD-MCCA": model.fit(problem.views).embedding_}


def knn_spectral(problem: Problem, *, scale: str = "minmax", n_neighbors: int = 10) -> Embeddings:
    """Return the embedding of scikit-learn's SpectralClustering(affinity="nearest_neighbors") on
    the concatenated views, each divided by its total standard deviation."""
    views = Views.of(problem.views).scaled(scale).matrices
    table = np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in views])
    neighbors = kneighbors_graph(table, min(n_neighbors, len(table) - 1), include_self=True)
    affinity = 0.5 * (neighbors + neighbors.T)
    return {
        "kNN spectral": spectral_embedding(
            affinity, n_components=problem.n_clusters, drop_first=False, random_state=0
        )
    }


METHODS: dict[str, Callable[..., Embeddings]] = {
    "RMGL": rmgl,
    "GL-SigRep": gl_sigrep,
    "GL-SigRep(C)": gl_sigrep_c,
    "SC-GED": sc_ged,
    "SC-ML": sc_ml,
    "GD-MCCA": gd_mcca,
    "kNN spectral": knn_spectral,
}


def alphas(views: Views, edges: float | str) -> Floats:
    """Return one alpha per view from the parameter `edges`."""
    if not isinstance(edges, str):
        return np.full(len(views.names), float(edges))
    return np.array([default_alpha(X, int(edges.removeprefix("k="))) for X in views.matrices])


def sigrep_layers(
    problem: Problem,
    *,
    scale: str = "minmax",
    edges: float | str = "auto",
    smoothing: float = DEFAULT_ALPHA,
    together: bool = False,
) -> list[SigRepLayer]:
    """Learn a GL-SigRep layer from each scaled view of a problem, or from all of them together.

    The ridge is `smoothing` times the alpha of `edges`.
    """
    views = Views.of(problem.views).scaled(scale)
    if together:
        views = Views.of({"all": side_by_side(views.matrices)})
    ridges: list[Any] = ["auto"] * len(views)
    if edges != "auto":
        ridges = (smoothing * alphas(views, edges)).tolist()
    return [
        learn_gl_sigrep(X, smoothing, ridge, name=name)
        for name, X, ridge in zip(views.names, views.matrices, ridges, strict=True)
    ]
