"""Layers for the methods that merge them: user-supplied, or learned from views by GL-SigRep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.baselines.baseline import Baseline
from rmgl.baselines.gl_sigrep import SigRepLayer, learn_gl_sigrep
from rmgl.estimators.base import NOTHING, TRUTH_VALUE, number, one_of, whole_number
from rmgl.layer import Layer
from rmgl.matrix import Matrix
from rmgl.running.threads import Check, Team, number_of_workers
from rmgl.views.check_view import given_items
from rmgl.views.features import LARGEST_VALUE, SMALLEST_SPREAD
from rmgl.views.views import Views


@dataclass(frozen=True)
class GivenLayers:
    """Named symmetric adjacency matrices over the same nodes."""

    names: tuple[str, ...]
    adjacencies: tuple[sparse.csr_array, ...]

    @property
    def n_nodes(self) -> int:
        return int(self.adjacencies[0].shape[0])


class LayersClusterer(Baseline):
    """Base class for clusterers that merge graph layers.

    `fit` accepts views or layers. From views, it learns GL-SigRep layers (`alpha`, `beta`,
    `scale`). Layers are `Layer` objects or, with `precomputed=True`, adjacency matrices (symmetric,
    weights >= 0; diagonals are ignored).
    """

    _allowed = {
        **Baseline._allowed,
        "precomputed": (TRUTH_VALUE,),
        "alpha": (number(above=0),),
        "beta": (one_of("auto"), number(above=0)),
        "n_jobs": (NOTHING, whole_number()),
    }

    precomputed: bool
    alpha: float
    beta: float | str
    scale: Any
    n_jobs: int | None

    def _n_threads(self, X: Any) -> int:
        """Return the number of threads, at most one per view or layer."""
        given = X if isinstance(X, list | tuple | Mapping) else self.views or [X]
        return max(1, min(number_of_workers(self.n_jobs), len(given)))

    def _check_layers(self, X: Any, team: Team) -> GivenLayers:
        """Return user-supplied layers, or learn layers from views."""
        # left by an earlier fit on different input
        for stale in ("layers_", "feature_names_in_"):
            if hasattr(self, stale):
                delattr(self, stale)
        adjacencies = of_layers(X)
        if adjacencies is None and not self.precomputed:
            return self._learn_layers(X, team)
        if self.views is not None:
            raise ValueError(
                "views= describes the column blocks of one table of features, but layers "
                "were given: set views=None"
            )
        given = check_adjacencies(Views.of(X if adjacencies is None else adjacencies))
        self._check_n_rows(given.n_nodes)
        self.view_names_ = list(given.names)
        self.n_features_in_ = given.n_nodes
        return given

    def _learn_layers(self, X: Any, team: Team) -> GivenLayers:
        """Learn a GL-SigRep layer from each view."""
        views = self._check_views(X).scaled(self.scale)

        def learn(item: tuple[str, Matrix], check: Check) -> SigRepLayer:
            name, matrix = item
            return learn_gl_sigrep(matrix, self.alpha, self.beta, name=name)

        self.layers_ = team(learn, list(zip(views.names, views.matrices, strict=True)))
        return GivenLayers(views.names, tuple(layer.adjacency for layer in self.layers_))


def of_layers(X: Any) -> dict[str, sparse.csr_array] | None:
    """Return the named adjacency matrices of `Layer` objects. None if the input has none."""
    layers = [item for item in given_items(X) if isinstance(item, Layer)]
    if not layers:
        return None
    if len(layers) < len(given_items(X)):
        raise ValueError(
            "some inputs are Layer objects and some are not: pass only Layer objects or only "
            "adjacency matrices"
        )
    names = list(X) if isinstance(X, Mapping) else [layer.name for layer in layers]
    if len(set(names)) < len(names):
        raise ValueError(
            f"layer names must differ, but they are {names}; pass a dict with unique names"
        )
    return {name: layer.adjacency for name, layer in zip(names, layers, strict=True)}


def check_adjacencies(views: Views) -> GivenLayers:
    """Check that matrices are square, symmetric and nonnegative. Self-loops are removed."""
    adjacencies = []
    for name, matrix in zip(views.names, views.matrices, strict=True):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"layer {name!r} has shape {matrix.shape}: an adjacency matrix must be square; "
                "for views, set precomputed=False"
            )
        adjacency = sparse.csr_array(matrix, copy=True)
        if adjacency.nnz and adjacency.data.min() < 0:
            raise ValueError(
                f"layer {name!r} has negative weights, but weights must be >= 0: replace or "
                "remove them"
            )
        asymmetry = abs(adjacency - adjacency.T)
        if asymmetry.nnz and asymmetry.max() > 1e-10 * adjacency.max():
            i, j = np.unravel_index(asymmetry.tocoo().argmax(), adjacency.shape)
            raise ValueError(
                f"layer {name!r} is not symmetric (entries ({i}, {j}) and ({j}, {i}) "
                "differ): use (A + A.T) / 2"
            )
        adjacency.setdiag(0.0)
        adjacency.eliminate_zeros()
        check_degrees(name, adjacency)
        adjacencies.append(adjacency)
    return GivenLayers(views.names, tuple(adjacencies))


def check_degrees(name: str, adjacency: sparse.csr_array) -> None:
    """Raise a ValueError for degrees too large or small to divide by in double precision."""
    with np.errstate(over="ignore"):
        degrees = adjacency.sum(axis=1)
    odd = np.flatnonzero((degrees > LARGEST_VALUE) | ((degrees > 0) & (degrees < SMALLEST_SPREAD)))
    if odd.size:
        raise ValueError(
            f"layer {name!r}: the weights of node {odd[0]} add up to {degrees[odd[0]]:.0e}, which "
            f"is outside the range from {SMALLEST_SPREAD:.0e} to {LARGEST_VALUE:.0e}: multiply the "
            "layer by a constant, or set negligible weights to zero"
        )
