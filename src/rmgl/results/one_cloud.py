"""Are the clusters real? The same fit on data of the same kind that have none.

The rows of every view are drawn from one normal distribution with the covariances of the data, the
same draw for all views, and the edges of networks get other ends (`View.without_clusters`). Any
data can be cut into K parts; what counts is how much better the cut is than that of one cloud:

    separation = 1 - (1 - w) / (1 - w_0)

w is the share of the common graph's edge weight inside clusters, w_0 that of the cloud: 0 if the
cut is no better than that of a cloud, 1 if no edge leads from one cluster to another.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse

from rmgl.automatic.number_of_clusters import share_inside
from rmgl.embedding.eigenvectors import Graph, weighted_sum
from rmgl.fitting.fit import fit_model
from rmgl.fitting.fitted import FittedModel
from rmgl.fitting.ready import Ready
from rmgl.model.run import Run
from rmgl.running.threads import number_of_workers, team_of
from rmgl.views.canonical import canonical_order
from rmgl.views.views import Views

MOST_FITTED = 2000
"""Entities beyond which a sample of as many is fitted, and a cloud of as many."""


def separation_of(fitted: FittedModel) -> float | None:
    """The separation of the clusters of a model; None if nothing is known to compare them with."""
    views, evidence = fitted.read_views, fitted.evidence
    assert evidence is not None
    if views is None or fitted.placed.size or not is_comparable(fitted):
        return None
    views = views.in_order(evidence.order)
    random_state = np.random.RandomState(0)
    within = weight_inside(fitted)
    if views.n_rows > MOST_FITTED:
        sample = np.sort(random_state.permutation(views.n_rows)[:MOST_FITTED])
        views = views.of_entities(sample)
        within = weight_inside(fitted_again(views, fitted))
    cloud = without_clusters(views, random_state)
    if cloud is None:
        return None
    expected = weight_inside(fitted_again(cloud, fitted))
    return float(np.clip(1 - (1 - within) / max(1 - expected, np.finfo(float).eps), 0.0, 1.0))


def is_comparable(fitted: FittedModel) -> bool:
    """Whether a fit depends on the rows alone, so that one of a cloud can be compared with it."""
    given = fitted.parameters.candidates
    return isinstance(given, str | int) and fitted.n_clusters > 1


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
        components=False,
        max_seconds=None,
        random_state=0,
        verbose=0,
    )
    canonical = canonical_order(views)
    ready = Ready(views.in_order(canonical.order), None, fitted.scale, canonical)
    with warnings.catch_warnings(), team_of(number_of_workers(parameters.n_jobs)) as team:
        warnings.simplefilter("ignore")
        return fit_model(ready, parameters, Run(), team)


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
