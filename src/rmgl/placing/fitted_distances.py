"""Squared distances from new rows to the entities in the fit, in the views of a layer.

A new row may lack some views of a layer. These views are then assumed to add the mean distance of
the others, in proportion to their variance. If entities in the fit lack views, too, each view that
one of two rows lacks adds the same constant as in the consensus.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rmgl.automatic.consensus import UNKNOWN_DISTANCE
from rmgl.automatic.smoothing import Smoothing
from rmgl.edges.interface import Floats
from rmgl.edges.local_scaling import LISTED
from rmgl.edges.search import Rows
from rmgl.layer import Layer
from rmgl.matrix import Matrix, side_by_side
from rmgl.placing.new_edges import Comparison
from rmgl.views.features import FeatureView
from rmgl.views.incomplete import Mask
from rmgl.views.view import Comparing, Indices
from rmgl.views.views import Views

Members = list[tuple[int, float]]
"""Views to concatenate, each with its factor."""


@dataclass(frozen=True)
class FittedDistances:
    """Distances from new rows to the entities in the fitted views and layers."""

    views: Views
    """Scaled views of the fit."""
    layers: Sequence[Layer]
    _arranging: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    @cached_property
    def _in_all(self) -> Indices:
        return self.views.in_all

    @cached_property
    def _spaces(self) -> dict[Any, tuple[Matrix, Rows]]:
        return {}

    @cached_property
    def _comparing(self) -> list[Comparing | None]:
        """For each view, a function that compares new entities with its own. None for a graph."""
        return [None if view.graph is not None else view.comparing() for view in self.views]

    @cached_property
    def _smoothings(self) -> dict[float, Smoothing]:
        """Rows smoothed over the networks, keyed by the share of the neighbors in each row."""
        members = tuple(place for place, view in enumerate(self.views) if view.rows is not None)
        shares = {layer.network_share for layer in self.layers if layer.network_share > 0}
        return {share: Smoothing(self.views, members, share) for share in shares}

    # Layers

    def has_missing(self, layer: Layer) -> bool:
        """Return whether pairs of entities in a multi-view layer differ in the views they share."""
        if len(layer.views) == 1 or self.views.complete or layer.network_share > 0:
            return False
        return layer.nodes is None or not np.isin(layer.nodes, self._in_all).all()

    def has_gaps(self, layer: Layer, new: Views | None = None) -> bool:
        """Return whether cells are missing from a view of a layer, in the fitted or the new
        rows.
        """
        both = (self.views,) if new is None else (self.views, new)
        return any(views[view].gaps is not None for views in both for view in layer.views)

    # New rows

    def new_rows(self, new: Views, rows: Indices, network_share: float) -> Views:
        """Return the given new rows, smoothed over the networks if the layer's rows are."""
        views = list(new.of_entities(rows))
        if network_share > 0:
            smoothing = self._smoothings[network_share]
            smoothed = zip(smoothing.members, smoothing.of_new(new, rows), strict=True)
            for place, (Y, present) in smoothed:
                views[place] = FeatureView(new.names[place], Y, np.flatnonzero(present))
        return Views(tuple(views))

    # Distances

    def to_all(self, layer: Layer, new: Views, rows: Indices, pattern: Mask) -> Floats | None:
        """Return the squared distances to all nodes of a layer, summed view by view.

        The rows are observed in the views in `pattern`. If the result is None, `beside` compares
        the rows.
        """
        if self.has_missing(layer):
            return self.with_missing(layer, new, rows, pattern)
        views = members(layer, pattern)
        is_complete = all(self.views[view].rows is not None for view, _ in views)
        if is_complete and not self.has_gaps(layer, new):
            return None
        total = np.zeros((rows.size, self.views.n_rows))
        for view, factor in views:
            total += factor**2 * self._in_view(view, new, rows)
        total = total if layer.nodes is None else total[:, layer.nodes]
        return self.completing(layer, pattern) * total

    def with_missing(self, layer: Layer, new: Views, rows: Indices, pattern: Mask) -> Floats:
        """Sum squared distances over views. A view that either row lacks adds a constant."""
        total = np.zeros((rows.size, self.views.n_rows))
        unknown = 2 * UNKNOWN_DISTANCE * self.variances_in(layer)
        columns = zip(layer.views, layer.factors, unknown, pattern, strict=True)
        for view, factor, constant, has in columns:
            if has:
                distances = self._in_view(view, new, rows) * factor**2
                total += np.where(self.views[view].mask, distances, constant)
            else:
                total += constant
        return total

    def variances_in(self, layer: Layer) -> Floats:
        """Return the total variance of each view of a layer, times its squared factor."""
        share = layer.network_share
        fitted = self.views if share == 0 else self._smoothed(share)
        fitted = fitted if layer.nodes is None else fitted.of_entities(layer.nodes)
        variances = [fitted[view].variance() for view in layer.views]
        return np.square(layer.factors) * variances

    def completing(self, layer: Layer, pattern: Mask) -> float:
        """Return the factor that extends distances in some views to all views.

        Missing views are assumed to add the mean distance of the others.
        """
        if pattern.all():
            return 1.0
        variances = self.variances_in(layer)
        return float(variances.sum() / variances[pattern].sum())

    def _in_view(self, view: int, new: Views, rows: Indices) -> Floats:
        """Return the squared distances from new rows of one view to all training rows."""
        compare, asking = self._comparing[view], new[view]
        assert compare is not None, "graphs cannot be compared by distance"
        gaps = None if asking.gaps is None else asking.gaps[rows]
        return compare(FeatureView(asking.name, asking.matrix[rows], gaps=gaps))

    def beside(self, layer: Layer, new: Views, rows: Indices, pattern: Mask) -> Comparison:
        """Return new rows and training rows of the views in `pattern`, concatenated."""
        views = members(layer, pattern)
        X, fitted = self._fitted_rows(views, layer)
        new_rows = _side_by_side(new, views, rows)
        return Comparison(fitted, X, new_rows, self.completing(layer, pattern))

    def _fitted_rows(self, views: Members, layer: Layer) -> tuple[Matrix, Rows]:
        """Return the concatenated training rows and their space, cached for other batches and
        layers.
        """
        nodes, share = layer.nodes, layer.network_share
        key = (tuple(views), None if nodes is None else nodes.tobytes(), share)
        with self._arranging:  # only the first thread computes it
            if key not in self._spaces:
                fitted = self.views if share == 0 else self._smoothed(share)
                X = _side_by_side(fitted, views, nodes)
                self._spaces[key] = (X, Rows.of(X))
        return self._spaces[key]

    def _smoothed(self, network_share: float) -> Views:
        """Return the views with rows smoothed over the networks. They contain every entity."""
        smoothing = self._smoothings[network_share]
        views = list(self.views)
        for place, Y in zip(smoothing.members, smoothing.matrices, strict=True):
            views[place] = FeatureView(self.views.names[place], Y)
        return Views(tuple(views))

    def arrange(self, space: Rows) -> None:
        """Prepare a space for searches, once for all threads."""
        with self._arranging:
            space.arrange()

    # Costs in the consensus

    def consensus_costs(
        self, new: Views, rows: Indices, some: Indices, entities: Indices
    ) -> Floats:
        """Return the consensus costs between rows of a batch and the entities listed for each."""
        consensus = next(layer for layer in self.layers if layer.role == "consensus")
        costs = np.empty(entities.shape)
        of_batch = self.new_rows(new, rows, consensus.network_share)
        for pattern, chosen in patterns(consensus, of_batch, some):
            costs[chosen] = self._costs_of_pattern(
                consensus, of_batch, some[chosen], pattern, entities[chosen]
            )
        return costs

    def _costs_of_pattern(
        self, consensus: Layer, new: Views, rows: Indices, pattern: Mask, entities: Indices
    ) -> Floats:
        """Return the costs between new rows with the same views and their listed entities."""
        scaling, listed = consensus.scaling, entities
        if consensus.nodes is not None and not self.has_missing(consensus):
            listed = np.searchsorted(consensus.nodes, entities)
        distances = self.to_all(consensus, new, rows, pattern)
        if distances is not None:
            if scaling is not None:
                everyone = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
                distances = scaling.costs_of_new(everyone, distances)
            return np.take_along_axis(distances, listed, axis=1)
        compared = self.beside(consensus, new, rows, pattern)
        distances = compared.to_listed(listed)
        if scaling is None:
            return distances
        nearest, apart = compared.nearest(min(LISTED, compared.X.shape[0]))
        return scaling.costs_between(scaling.of_new(nearest, apart), listed, distances)


def patterns(layer: Layer, new: Views, rows: Indices) -> Iterator[tuple[Mask, Indices]]:
    """Yield each set of a layer's views that some rows have, with the positions of these rows."""
    observed = np.column_stack([new[view].mask[rows] for view in layer.views])
    for pattern in np.unique(observed, axis=0):
        if pattern.any():
            yield pattern, np.flatnonzero((observed == pattern).all(axis=1))


def members(layer: Layer, pattern: Mask) -> Members:
    """Return the views of a layer that are in a pattern, each with its factor."""
    views = zip(layer.views, layer.factors, pattern, strict=True)
    return [(view, factor) for view, factor, has in views if has]


def _side_by_side(views: Views, chosen: Members, rows: Indices | None) -> Matrix:
    """Concatenate the chosen views, each multiplied by its factor, for these rows (None: all)."""
    matrices = [views[view].matrix for view, _ in chosen]
    if rows is not None:
        matrices = [X[rows] for X in matrices]
    if len(chosen) == 1 and chosen[0][1] == 1.0:
        return matrices[0]
    return side_by_side([X * factor for X, (_, factor) in zip(matrices, chosen, strict=True)])
