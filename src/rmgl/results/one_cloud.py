"""Are the clusters real? The same fit on data of the same kind that have none.

The rows of every view are drawn from one normal distribution with the covariances of the data, the
same draw for all views, and the edges of networks get other ends (`View.without_clusters`). Any
data can be cut into K parts; what counts is how much better the cut is than that of one cloud:

    separation = (w - w_0) / (1 - w_0)

w is the share of the common graph's edge weight inside clusters, w_0 that of the cloud: 0 if the
cut is no better than that of a cloud, 1 if no edge leads from one cluster to another.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np
from scipy import sparse

from rmgl.automatic.cuts import share_inside
from rmgl.embedding.common_graph import Graph, weighted_sum
from rmgl.fitting.fit import fit_quietly
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Ready
from rmgl.results.clusters import MEMBERS
from rmgl.running.threads import single_threaded
from rmgl.views.canonical import canonical_order
from rmgl.views.views import Views

MOST_FITTED = 2000
"""Entities beyond which a sample of as many is fitted, and a cloud of as many."""
LEAST_ROOM = 0.01
"""Least share of edge weight between the clusters of a cloud from which separation is reckoned."""


def separation_of(fitted: FittedModel) -> float | None:
    """The separation of the clusters of a model; None if nothing is known to compare them with."""
    if not is_comparable(fitted):
        return None
    assert fitted.evidence is not None
    random_state, order = np.random.RandomState(0), fitted.evidence.order
    is_sample = order.size > MOST_FITTED
    if is_sample:
        order = order[np.sort(random_state.permutation(order.size)[:MOST_FITTED])]
    views = fitted.views.of_entities(order) if is_sample else fitted.views.in_order(order)
    if any(view.graph is None and (view.n_own < 2 or not view.variance() > 0) for view in views):
        return None
    with single_threaded("blas"):
        cloud = without_clusters(views, random_state)
    if cloud is None:
        return None
    within = weight_inside(fitted_again(views, fitted) if is_sample else fitted)
    expected = weight_inside(fitted_again(cloud, fitted))
    separation = (within - expected) / max(1 - expected, LEAST_ROOM)
    return float(np.clip(separation, 0.0, 1.0)) if np.isfinite(separation) else None


def is_comparable(fitted: FittedModel) -> bool:
    """Whether a fit depends on the rows alone, so that one of a cloud can be compared with it.

    It does not if some entities were placed, or candidate pairs, known labels or a time limit had a
    part in it, or if layers had to fall into components. A sample can stand for all entities if
    everything was chosen from the data, and there are no networks, which a sample would tear apart.
    """
    evidence, parameters = fitted.evidence, fitted.parameters
    assert evidence is not None
    given = parameters.candidates
    asked = given if isinstance(given, list | tuple) else [given]
    if (
        fitted.placed.size
        or evidence.tied
        or evidence.stopped
        or parameters.components
        or fitted.n_clusters < 2
        or not all(isinstance(pairs, str | Integral) for pairs in asked)
    ):
        return False
    can_sample = (
        parameters.automatic
        and parameters.given_size is None
        and not fitted.views.graphs
        and MEMBERS * fitted.n_clusters <= MOST_FITTED
    )
    return fitted.n_rows <= MOST_FITTED or can_sample


def without_clusters(views: Views, random_state: np.random.RandomState) -> Views | None:
    """Views of the same kinds without clusters; None if a view has no such form."""
    normal = random_state.normal(size=(views.n_rows, views.n_rows))
    drawn = [view.without_clusters(normal, random_state) for view in views]
    if any(view is None for view in drawn):
        return None
    return Views(tuple(view for view in drawn if view is not None), None)


def fitted_again(views: Views, fitted: FittedModel) -> FittedModel:
    """A fit of scaled views with the parameters of a model."""
    parameters = replace(
        fitted.parameters,
        n_clusters=fitted.n_clusters,
        max_seconds=None,
        random_state=0,
        verbose=0,
    )
    canonical = canonical_order(views)
    ready = Ready(views.in_order(canonical.order), None, fitted.scale, canonical)
    return fit_quietly(ready, parameters)


def weight_inside(fitted: FittedModel) -> float:
    """The share of the edge weight inside clusters, in the graph that the report is about."""
    assert fitted.evidence is not None
    return share_inside(sparse.csr_array(common_graph(fitted)), fitted.evidence.first_labels)


def common_graph(fitted: FittedModel) -> Graph:
    """The graph that the report is about: that of the choice, or else the sum of the layers."""
    assert fitted.evidence is not None
    if fitted.evidence.graph is not None:
        return fitted.evidence.graph
    layers = fitted.layers_as_learned
    return weighted_sum([layer.adjacency for layer in layers], fitted.beta.tolist())
