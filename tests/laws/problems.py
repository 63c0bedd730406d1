"""Random problems of every kind, and the certificate of a layer computed from its definition: slowly, over all pairs."""

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from rmgl.automatic.consensus import UNKNOWN
from rmgl.edges.space import whole_space

KINDS = ("dense", "binary", "few", "sparse", "gaps", "incomplete", "distances")


def random_views(kind, n, rng):
    """Two views of n entities in three groups that are more or less apart, and options of `fit`."""
    from rmgl import Precomputed

    target = rng.integers(3, size=n)
    apart = rng.uniform(0.5, 4)

    def rows(width):
        return apart * rng.normal(size=(3, width))[target] + rng.normal(size=(n, width))

    first, second = rows(int(rng.integers(1, 6))), rows(int(rng.integers(2, 9)))
    if kind in ("binary", "few"):
        first, second = (first > 0).astype(float), (second > (0.5 if kind == "few" else 0)).astype(float)
        first, second = with_difference(first), with_difference(second)
    if kind == "sparse":
        second = sparse.csr_array(np.where(rng.random(second.shape) < 0.5, np.abs(second), 0.0) + 0.01 * np.eye(*second.shape))
    if kind == "gaps":
        second[rng.random(second.shape) < 0.2] = np.nan
        second[:, 0] = np.nan_to_num(second[:, 0], nan=1.0)
    views, options = {"a": first, "b": second}, {}
    if kind == "distances":
        views["b"] = Precomputed(cdist(second, second), kind="distance")
    if kind == "incomplete":
        observed = rng.random((n, 2)) < 0.8
        observed[:, 0] |= ~observed.any(axis=1)
        options["observed"] = observed
    return views, options


def with_difference(X):
    """A table whose rows are not all the same."""
    X[0] = 1 - X[-1]
    return X


def reordered(views, options, order):
    """The same entities in another order."""
    found = {}
    for name, X in views.items():
        if hasattr(X, "kind"):
            found[name] = type(X)(X.matrix[order][:, order], kind=X.kind)
        else:
            found[name] = X[order]
    return found, {key: value[order] for key, value in options.items()}


def data_costs(model, layer):
    """The costs of all pairs without the coupling, from the attributes of a model."""
    views, nodes = model._views, np.arange(len(model.labels_)) if layer.nodes is None else layer.nodes
    total = np.zeros((nodes.size, nodes.size))
    for view, factor in zip(layer.views, layer.factors, strict=True):
        space, present = whole_space(views, view), views.mask(view)[nodes]
        apart = all_distances(space)[np.ix_(nodes, nodes)] * factor**2
        total += apart if layer.role == "view" else np.where(np.outer(present, present), apart, 2 * UNKNOWN)
    np.fill_diagonal(total, 0.0)
    if layer.scaling is not None:
        s, f = layer.scaling.scales, layer.scaling.floors
        total = np.maximum(total / np.outer(s, s), np.minimum.outer(f, f))
    if layer.consensus_share > 0:
        consensus = next(other for other in model.layers_ if other.role == "consensus")
        everyone = np.arange(len(model.labels_)) if consensus.nodes is None else consensus.nodes
        places = np.searchsorted(everyone, nodes)
        from dataclasses import replace

        total = total + layer.consensus_share * data_costs(model, replace(consensus, consensus_share=0.0))[np.ix_(places, places)]
    return total


def all_distances(space):
    if hasattr(space, "distances"):
        return space.distances
    if hasattr(space, "block"):
        return space.block(np.arange(space.n_rows))
    X = space.toarray() if sparse.issparse(space) else space
    return cdist(X, X, "sqeuclidean")


def costs_of(model, place):
    """The costs of all pairs of the nodes of a layer: data, guide and coupling to the embedding of the model."""
    layer = model.layers_[place]
    nodes = np.arange(len(model.labels_)) if layer.nodes is None else layer.nodes
    costs = data_costs(model, layer)
    if model.guide_ is not None:
        costs = costs + cdist(model.guide_[nodes], model.guide_[nodes], "sqeuclidean")
    aside = np.isin(nodes, model.fragments_)
    q = np.where(aside[:, None], 0.0, model.embedding_[nodes])
    coupled = cdist(q, q, "sqeuclidean") * ~np.logical_xor.outer(aside, aside)
    return costs + model.beta_[place] * coupled


def certificate(layer, costs):
    """KKT residual, relative gap, and the largest excess u_i + u_j - z_ij of a pair without weight, over all pairs."""
    u = layer.own_potentials
    nodes = slice(None) if layer.nodes is None else layer.nodes
    W = layer.adjacency.toarray()[nodes][:, nodes]
    excess = u[:, None] + u - costs
    np.fill_diagonal(excess, 0.0)
    positive = np.maximum(excess, 0.0)
    residual = np.abs(positive.sum(axis=1) / (4 * layer.alpha) + (u - u.mean()) / (2 * layer.alpha) - 1).max()
    dual = np.square(positive).sum() / 2 / (8 * layer.alpha) + np.square(u - u.mean()).sum() / (4 * layer.alpha) - u.sum()
    degrees = W.sum(axis=1)
    objective = (costs * W).sum() / 2 + layer.alpha * (degrees @ degrees + np.square(W).sum())
    missing = np.where(W == 0, excess, 0.0).max(initial=0.0) / (4 * layer.alpha)
    return residual, abs(objective - (layer.alpha * u.size - dual)) / objective, missing
