"""Test whether the clusters are real: compare with the same fit on similar data without clusters.

The rows of every view are drawn from one normal distribution with the covariances of the data,
using the same draw for all views, and the edges of networks are rewired (`View.without_clusters`).
Any data can be divided into K parts. The separation measures how much better the clusters are
separated than the parts of such a cloud:

    separation = (w - w_0) / (1 - w_0)

Here w is the share of the common graph's edge weight inside clusters, and w_0 the same share for
the cloud. The separation is 0 if the clusters are no better separated than those of a cloud, and 1
if no edge connects two clusters.
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
"""Maximum number of entities to fit. Larger data sets are sampled down to this number."""
LEAST_ROOM = 0.01
"""Minimum share of edge weight between the clusters of a cloud for which the separation is
computed.
"""


def separation_of(fitted: FittedModel) -> float | None:
    """Return the separation of the clusters of a model. None if there is nothing to compare them
    with.
    """
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
    """Return whether a fit depends only on the rows, so that it can be compared with a fit to a
    cloud.

    This is not the case if some entities were placed, if candidate pairs, known labels or a time
    limit were set, or if layers had to split into components. A sample can represent all entities
    if everything was chosen from the data and there are no networks, which would break apart in a
    sample.
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
    """Return views of the same types without clusters. None if a view does not support this."""
    normal = random_state.normal(size=(views.n_rows, views.n_rows))
    drawn = [view.without_clusters(normal, random_state) for view in views]
    if any(view is None for view in drawn):
        return None
    return Views(tuple(view for view in drawn if view is not None), None)


def fitted_again(views: Views, fitted: FittedModel) -> FittedModel:
    """Fit scaled views with the parameters of a model."""
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
    """Return the share of the edge weight inside clusters, in the graph described by the report."""
    assert fitted.evidence is not None
    return share_inside(sparse.csr_array(common_graph(fitted)), fitted.evidence.first_labels)


def common_graph(fitted: FittedModel) -> Graph:
    """Return the graph described by the report: that of the automatic choice, or else the sum of
    the layers.
    """
    assert fitted.evidence is not None
    if fitted.evidence.graph is not None:
        return fitted.evidence.graph
    layers = fitted.layers_as_learned
    return weighted_sum([layer.adjacency for layer in layers], fitted.beta.tolist())
