"""`FittedModel`: all that a fit has learned, as one value that is never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.checks import Unsound, sound_indices
from rmgl.distributed.views import StoredViews
from rmgl.embedding.eigenvectors import Embedding, Graph
from rmgl.fitting.parameters import Parameters
from rmgl.fitting.sound import LARGEST_NUMBER, check_layers, check_numbers
from rmgl.layer import Layer
from rmgl.model.alternate import HISTORY, HistoryRow
from rmgl.placing.placement import Placement
from rmgl.views.views import Views

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FitEvidence:
    """What the report is made from besides the model: the choice and the first answer, in the order of the fit."""

    order: NDArray[np.intp]
    """The rows of the caller, in the order of the fit,"""
    entities: NDArray[np.intp]
    """and those of them that the model was learned on."""
    first_labels: NDArray[np.intp]
    """The clusters of these, as they were numbered first."""
    labels: NDArray[np.intp]
    """The clusters of all entities, in the order of the caller; nobody else has this array."""
    embedding: Embedding
    graph: Graph | None
    """The weighted sum of the layers before any of them was guided (None: take the layers themselves)."""
    uncertainty: float
    """How accurately roughness is known, where entities are few."""
    columns: list[list[str]]
    """For every view what its columns were taken for, where they are not all numbers."""
    recognized: Sequence[str]
    """The names of views that were given as features and look like networks."""
    random_state: np.random.RandomState
    settled: bool
    """Whether the rounds of Algorithm 1 changed nothing in the end,"""
    stopped: str
    """or why they were stopped (empty: they were not)."""
    eigen_residual: float
    """The residual of the last embedding on the layers that it was computed from."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel:
    """The layers, the embedding, the clusters, and the views that they were learned from. `RMGL` documents the fields."""

    parameters: Parameters
    view_names: list[str]
    index: NDArray[Any] | None
    stored: Views | StoredViews
    """The scaled views, or where they are stored; `views` reads them."""
    scale: list[tuple[str, str]]
    n_clusters: int
    number: NumberOfClusters | None
    view_weights: FloatArray
    view_roughness: FloatArray | None
    guide: FloatArray | None
    layers: list[Layer]
    alpha: FloatArray
    beta: FloatArray
    embedding: FloatArray
    eigenvalues: FloatArray
    labels: NDArray[np.intp]
    fragments: NDArray[np.intp]
    placed: NDArray[np.intp]
    outlier_score: FloatArray
    history: list[HistoryRow]
    converged: bool
    n_iter: int
    seconds: dict[str, float]
    evidence: FitEvidence | None = None
    """What the report is made from (None: it was made)."""

    def __repr__(self) -> str:
        return f"FittedModel({self.n_rows} entities, {len(self.view_names)} views, {self.n_clusters} clusters)"

    @property
    def n_rows(self) -> int:
        """The number of entities."""
        return int(self.labels.size)

    @property
    def read_views(self) -> Views | None:
        """The scaled views; None if they are stored elsewhere, as after a fit on workers."""
        return None if isinstance(self.stored, StoredViews) else self.stored

    @property
    def views(self) -> Views:
        """The scaled views. Those that are stored elsewhere are read when they are first needed."""
        return self.stored.rows if isinstance(self.stored, StoredViews) else self.stored

    @property
    def layers_as_learned(self) -> list[Layer]:
        """The layers with their entities in the order of the fit, without those that were placed."""
        assert self.evidence is not None
        layers = [layer.in_order(self.evidence.order) for layer in self.layers]
        return [layer.of_own() for layer in layers] if self.placed.size else layers

    def check(self) -> None:
        """Raise a ValueError unless what was read from a file fits together: matching sizes, indices and numbers in range."""
        self.views.check(LARGEST_NUMBER)
        self._check_sizes()
        self._check_numbers()
        self._check_entities()
        check_layers(self.layers, self.views)
        if not self.history or any(set(row) != HISTORY for row in self.history):
            raise Unsound("history_ is empty or has unknown entries")

    def _check_sizes(self) -> None:
        """The numbers of entities, clusters, layers and views."""
        views, k, n_layers = self.views, self.n_clusters, len(self.layers)
        n_views = len(views.names)
        if not 1 <= k <= views.n_rows or not 1 <= n_views <= n_layers:
            raise Unsound(f"impossible numbers: {k} clusters, {n_layers} layers, {n_views} views, {views.n_rows} rows")
        if not n_views == len(self.view_names) == len(self.scale):
            raise Unsound("the number of views, their names or scales differ")

    def _check_numbers(self) -> None:
        """The shapes of all arrays of numbers, and their ranges."""
        n, k, n_layers, n_views = self.views.n_rows, self.n_clusters, len(self.layers), len(self.view_names)
        check_numbers("the embedding", self.embedding, (n, k))
        if self.guide is not None:
            check_numbers("the guide", self.guide, (n, k))
        check_numbers("the eigenvalues", self.eigenvalues, (k,))
        check_numbers("alpha_", self.alpha, (n_layers,))
        check_numbers("beta_", self.beta, (n_layers,))
        if self.beta.min() < 0:
            raise Unsound("beta_ has a negative entry")
        check_numbers("the weights of the views", self.view_weights, (n_views,))
        if self.view_roughness is not None:
            check_numbers("the roughness of the views", np.nan_to_num(self.view_roughness, nan=1.0), (n_views,))  # NaN: it is not known
        check_numbers("the outlier scores", self.outlier_score, (n,))

    def _check_entities(self) -> None:
        """The labels, and the indices of entities."""
        n = self.views.n_rows
        sound_indices("the labels", self.labels, self.n_clusters, size=n)
        sound_indices("the fragments", self.fragments, n)
        sound_indices("the entities that were placed", self.placed, n)
        learned_on = [np.arange(n) if layer.nodes is None else layer.nodes for layer in self.layers]
        if (np.diff(self.placed) <= 0).any() or (self.placed.size and any(np.isin(self.placed, nodes).any() for nodes in learned_on)):
            raise Unsound("the entities that were placed are not in order, or layers were learned on them")
        if self.index is not None and self.index.shape != (n,):
            raise Unsound(f"{self.index.size} row labels for {n} rows")
        if self.number is not None:
            self.number.check(n - self.placed.size)

    def for_new_rows(self) -> FittedModel:
        """What workers need to place new rows: without evidence, and with views that they need not read again."""
        return replace(self, stored=self.views, evidence=None)

    def placement(self) -> Placement:
        """What places new rows in the layers and the embedding."""
        return Placement(self.views, self.layers, self.beta, self.embedding, self.eigenvalues, self.guide, self.labels)
