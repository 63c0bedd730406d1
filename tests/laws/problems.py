"""Random problems of every kind, and the certificate of a layer computed from its definition:
slowly, over all pairs.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

from rmgl import RMGL, Network, Precomputed
from rmgl.automatic.consensus import UNKNOWN_DISTANCE
from rmgl.edges.local_scaling import LocalScaling

KINDS = ("dense", "binary", "few", "sparse", "gaps", "incomplete", "distances")
MORE_GIVEN = ("copies", "jaccard", "known", "known binary", "graph", "graph binary")
"""Few different rows, rows with another metric, with known labels of some entities, and with graphs
of candidate pairs.
"""
NETWORKS = ("network", "learned network", "two steps", "two networks", "regular")


@dataclass(frozen=True)
class Problem:
    """Views of some entities, options of `fit` with an entry for each entity, and parameters of
    `RMGL`.
    """

    views: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)

    def in_order(self, order):
        """The same entities in another order."""
        parameters = dict(self.parameters)
        if "candidates" in parameters:
            parameters["candidates"] = {
                name: square_in_order(graph, order)
                for name, graph in parameters["candidates"].items()
            }
        views = {name: in_order(X, order) for name, X in self.views.items()}
        return Problem(
            views, {key: value[order] for key, value in self.options.items()}, parameters
        )

    def fit(self, n_clusters=3, **parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return RMGL(n_clusters, random_state=0, **{**self.parameters, **parameters}).fit(
                self.views, **self.options
            )


def square_in_order(X, order):
    return type(X)(X[order][:, order])


def in_order(X, order):
    """One view with its entities in another order."""
    if isinstance(X, Network):
        return replace(X, graph=square_in_order(X.graph, order))
    if isinstance(X, Precomputed):
        return replace(X, matrix=X.matrix[order][:, order])
    return X.iloc[order].reset_index(drop=True) if hasattr(X, "iloc") else X[order]


def random_problem(kind, n, rng):
    """Two views of n entities in three groups that are more or less apart, or networks alone."""
    return random_networks(kind, n, rng) if kind in NETWORKS else random_rows(kind, n, rng)


def random_rows(kind, n, rng):
    target = rng.integers(3, size=n)
    apart = rng.uniform(0.5, 4)

    def rows(width):
        return apart * rng.normal(size=(3, width))[target] + rng.normal(size=(n, width))

    first, second = rows(int(rng.integers(1, 6))), rows(int(rng.integers(2, 9)))
    if kind in ("binary", "few", "copies", "jaccard") or kind.endswith("binary"):
        first, second = (
            (first > 0).astype(float),
            (second > (0.5 if kind == "few" else 0)).astype(float),
        )
        first, second = with_difference(first), with_difference(second)
    if kind == "sparse":
        second = sparse.csr_array(
            np.where(rng.random(second.shape) < 0.5, np.abs(second), 0.0)
            + 0.01 * np.eye(*second.shape)
        )
    if kind == "gaps":
        second[rng.random(second.shape) < 0.2] = np.nan
        second[:, 0] = np.nan_to_num(second[:, 0], nan=1.0)
    views, options, parameters = {"a": first, "b": second}, {}, {}
    if kind == "distances":
        views["b"] = Precomputed(cdist(second, second), kind="distance")
    if kind == "incomplete":
        observed = rng.random((n, 2)) < 0.8
        observed[:, 0] |= ~observed.any(axis=1)
        options["observed"] = observed
    if kind in ("copies", "jaccard"):
        second[:, 0] = 1.0  # no row is empty
    if kind == "jaccard":
        parameters["metric"] = {"a": "euclidean", "b": "jaccard"}
    if kind.startswith("known"):  # labels that are no clusters, so that they change the layers
        options["y"] = np.where(rng.random(n) < 0.3, rng.integers(2, size=n), -1)
        options["y"][:3] = 0, 1, -1
    if kind.startswith("graph"):
        parameters["candidates"] = {
            name: sparse.csr_array(kneighbors_graph(X, 10)) for name, X in views.items()
        }
    return Problem(views, options, parameters)


def random_networks(kind, n, rng):
    if kind == "regular":
        graphs = [
            nx.to_scipy_sparse_array(
                nx.random_regular_graph(4, n, seed=int(rng.integers(10**6))), dtype=float
            )
        ]
    else:
        target = rng.integers(3, size=n)
        inside, across = rng.uniform(6 / n, 0.4), rng.uniform(0.5 / n, 0.05)
        upper = [
            np.triu(rng.random((n, n)) < np.where(target[:, None] == target, inside, across), 1)
            for _ in range(1 + (kind[:3] == "two"))
        ]
        graphs = [ring(n) + links + links.T for links in upper]
    options = {"learn": kind in ("learned network", "two steps"), "two_steps": kind == "two steps"}
    return Problem(
        {
            f"links {number}": Network(sparse.csr_array(graph), **options)
            for number, graph in enumerate(graphs)
        }
    )


def ring(n):
    """A little weight between entities that follow each other, so that all have links."""
    return 0.25 * (np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0))


def with_difference(X):
    """A table whose rows are not all the same."""
    X[0] = 1 - X[-1]
    return X


def network_costs(network, alpha):
    """The costs that have a network, scaled as a layer, as solution: c - 2 alpha (d_i + d_j + 2
    w_ij), the least one zero.
    """
    W = network.graph.toarray()
    W *= len(W) / W.sum()
    degrees, pairs = W.sum(axis=1), allowed_pairs(network)
    costs = -2 * alpha * (np.add.outer(degrees, degrees) + 2 * W)
    return np.where(pairs, costs - costs[pairs].min(), 0.0)


def allowed_pairs(given):
    """The pairs that a network, or a graph of candidate pairs, allows."""
    linked = (getattr(given, "graph", given).toarray() != 0).astype(float)
    linked += linked.T
    reached = linked + linked @ linked if getattr(given, "two_steps", False) else linked
    return (reached > 0) & ~np.eye(len(linked), dtype=bool)


def known_costs(costs, layer, known, typical):
    """Costs with those of known labels: the least one for pairs that belong together, 100 typical
    ones more for pairs that do not.
    """
    fixed = known >= 0
    floors = np.zeros(known.size) if layer.scaling is None else layer.scaling.floors
    same = np.where(
        known[:, None] == known,
        np.minimum(costs, np.minimum.outer(floors, floors)),
        costs + 100 * typical,
    )
    return np.where(np.logical_and.outer(fixed, fixed), same, costs) * ~np.eye(
        known.size, dtype=bool
    )


def data_costs(model, layer, problem=None):
    """The costs of all pairs without the coupling, from the attributes of a model."""
    views, nodes = (
        model.fitted_.views,
        np.arange(len(model.labels_)) if layer.nodes is None else layer.nodes,
    )
    if layer.views[0] in views.graphs:
        return network_costs(problem.views[layer.name], layer.alpha)
    total = np.zeros((nodes.size, nodes.size))
    for view, factor in zip(layer.views, layer.factors, strict=True):
        space, present = views[view].whole_space(), views[view].mask[nodes]
        apart = all_distances(space)[np.ix_(nodes, nodes)] * factor**2
        if layer.role != "view" and not present.all():
            # the factor gives a view the variance that it counts for
            unknown = 2 * UNKNOWN_DISTANCE * factor**2 * views[view].variance()
            apart = np.where(np.outer(present, present), apart, unknown)
        total += apart
    np.fill_diagonal(total, 0.0)
    if layer.scaling is not None:
        s, f = layer.scaling.scales, layer.scaling.floors
        total = np.maximum(total / np.outer(s, s), np.minimum.outer(f, f))
    if problem is not None and "y" in problem.options:
        typical = (
            1.0
            if layer.scaling is not None
            else np.median(LocalScaling.of(views[layer.views[0]].whole_space()).scales) ** 2
        )
        total = known_costs(total, layer, problem.options["y"][nodes], typical)
    if layer.consensus_share > 0:
        consensus = next(other for other in model.layers_ if other.role == "consensus")
        everyone = np.arange(len(model.labels_)) if consensus.nodes is None else consensus.nodes
        places = np.searchsorted(everyone, nodes)
        total = (
            total
            + layer.consensus_share
            * data_costs(model, replace(consensus, consensus_share=0.0))[np.ix_(places, places)]
        )
    return total


def all_distances(space):
    if hasattr(space, "distances"):
        return space.distances
    if hasattr(space, "block"):
        return space.block(np.arange(space.n_rows))
    X = space.X.toarray() if sparse.issparse(space.X) else space.X
    return cdist(X, X, "sqeuclidean")


def costs_of(model, place, problem=None):
    """The costs of all pairs of the nodes of a layer: data, guide and coupling to the embedding of
    the model.
    """
    layer = model.layers_[place]
    nodes = np.arange(len(model.labels_)) if layer.nodes is None else layer.nodes
    costs = data_costs(model, layer, problem)
    if model.guide_ is not None:
        costs = costs + cdist(model.guide_[nodes], model.guide_[nodes], "sqeuclidean")
    aside = np.isin(nodes, model.fragments_)
    q = np.where(aside[:, None], 0.0, model.embedding_[nodes])
    coupled = cdist(q, q, "sqeuclidean") * ~np.logical_xor.outer(aside, aside)
    return costs + model.beta_[place] * coupled


def certificate(layer, costs):
    """KKT residual, relative gap, and the largest excess u_i + u_j - z_ij of a pair without weight,
    over all pairs.
    """
    u = layer.own_potentials
    nodes = slice(None) if layer.nodes is None else layer.nodes
    W = layer.adjacency.toarray()[nodes][:, nodes]
    excess = u[:, None] + u - costs
    np.fill_diagonal(excess, 0.0)
    positive = np.maximum(excess, 0.0)
    residual = np.abs(
        positive.sum(axis=1) / (4 * layer.alpha) + (u - u.mean()) / (2 * layer.alpha) - 1
    ).max()
    dual = (
        np.square(positive).sum() / 2 / (8 * layer.alpha)
        + np.square(u - u.mean()).sum() / (4 * layer.alpha)
        - u.sum()
    )
    degrees = W.sum(axis=1)
    objective = (costs * W).sum() / 2 + layer.alpha * (degrees @ degrees + np.square(W).sum())
    missing = np.where(W == 0, excess, 0.0).max(initial=0.0) / (4 * layer.alpha)
    return residual, abs(objective - (layer.alpha * u.size - dual)) / objective, missing
