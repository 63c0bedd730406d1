"""`FittedModel`: everything that a fit has learned, as one immutable object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.number_of_clusters import NumberOfClusters
from rmgl.checks import Unsound, sound_indices, sound_numbers
from rmgl.embedding.balance import Balance
from rmgl.embedding.common_graph import Graph
from rmgl.embedding.eigenvectors import Embedding
from rmgl.fitting.ready import Parameters
from rmgl.layer import Layer
from rmgl.matrix import Floats, Indices
from rmgl.model.alternate import HISTORY, HistoryRow
from rmgl.placing.outliers import Scoring, spreads_of
from rmgl.placing.placement import Placement
from rmgl.views.features import LARGEST_VALUE
from rmgl.views.views import Views


@dataclass(frozen=True, eq=False)
class FitEvidence:
    """Data for the report in addition to the model: the choices and the first clustering, in the
    order of the fit.
    """

    order: Indices
    """Caller's rows in the order of the fit."""
    entities: Indices
    """Caller's rows on which the model was learned, in the order of the fit."""
    first_labels: Indices
    """Clusters of the entities on which the model was learned, with their original numbering."""
    labels: Indices
    """Clusters of all entities in the caller's order. This array is not shared."""
    embedding: Embedding
    graph: Graph | None
    """Weighted sum of the layers before any of them was guided. None to use the layers themselves.
    """
    uncertainty: float
    """Uncertainty of the roughness if there are few entities."""
    columns: list[list[str]]
    """Types of the columns in each view, if not all of them are numeric."""
    recognized: Sequence[str]
    """Names of views that were passed as features but look like networks."""
    random_state: np.random.RandomState
    settled: bool
    """Whether Algorithm 1 converged."""
    stopped: str
    """Reason why Algorithm 1 was stopped early. Empty if it was not."""
    eigen_residual: float
    """Residual of the last embedding on the layers from which it was computed."""
    tied: bool = False
    """Whether known labels have changed the costs of the layers."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel:
    """Layers, embedding and clusters, with the views from which they were learned. `RMGL` documents
    the fields.
    """

    parameters: Parameters
    view_names: list[str]
    index: NDArray[Any] | None
    views: Views
    """Scaled views."""
    scale: list[tuple[str, str]]
    n_clusters: int
    number: NumberOfClusters | None
    view_weights: Floats
    view_roughness: Floats | None
    guide: Floats | None
    layers: list[Layer]
    alpha: Floats
    beta: Floats
    embedding: Floats
    eigenvalues: Floats
    labels: Indices
    fragments: Indices
    placed: Indices
    outlier_score: Floats
    history: list[HistoryRow]
    converged: bool
    n_iter: int
    seconds: dict[str, float]
    balance: Balance | None = None
    evidence: FitEvidence | None = None
    """Data for the report. None if the report has already been made."""

    def __repr__(self) -> str:
        return (
            f"FittedModel({self.n_rows} entities, {len(self.view_names)} views, "
            f"{self.n_clusters} clusters)"
        )

    @property
    def n_rows(self) -> int:
        """Number of entities."""
        return int(self.labels.size)

    @property
    def n_columns(self) -> int:
        """Number of columns of the embedding. It equals the number of clusters unless some of them
        were refitted.
        """
        return int(self.embedding.shape[1])

    @property
    def layers_as_learned(self) -> list[Layer]:
        """Layers with entities in the order of the fit, without entities that were placed later."""
        assert self.evidence is not None
        layers = [layer.in_order(self.evidence.order) for layer in self.layers]
        return [layer.of_own() for layer in layers] if self.placed.size else layers

    def check(self) -> None:
        """Raise a ValueError unless the data from a file are consistent: matching sizes, valid
        indices, and numbers in range.
        """
        self.views.check(LARGEST_NUMBER)
        self._check_sizes()
        self._check_numbers()
        self._check_entities()
        check_layers(self.layers, self.views)
        if not self.history or any(set(row) != HISTORY for row in self.history):
            raise Unsound("history_ is empty or has unknown entries")

    def _check_sizes(self) -> None:
        """Check the numbers of entities, clusters, layers and views."""
        views, k, n_layers = self.views, self.n_clusters, len(self.layers)
        n_views = len(views.names)
        if not 1 <= k <= views.n_rows or not 1 <= n_views <= n_layers:
            raise Unsound(
                f"impossible numbers: {k} clusters, {n_layers} layers, {n_views} views, "
                f"{views.n_rows} rows"
            )
        if not n_views == len(self.view_names) == len(self.scale):
            raise Unsound("the numbers of views, view names and scales differ")

    def _check_numbers(self) -> None:
        """Check the shapes and ranges of all numeric arrays."""
        n, n_layers, n_views = self.views.n_rows, len(self.layers), len(self.view_names)
        check_numbers("the embedding", self.embedding, (n, None))
        k = self.n_columns
        if self.guide is not None:
            check_numbers("the guide", self.guide, (n, k))
        check_numbers("the eigenvalues", self.eigenvalues, (k,))
        check_numbers("alpha_", self.alpha, (n_layers,))
        check_numbers("beta_", self.beta, (n_layers,))
        if self.beta.min() < 0:
            raise Unsound("beta_ has a negative entry")
        check_numbers("the weights of the views", self.view_weights, (n_views,))
        if self.view_roughness is not None:
            # NaN if unknown
            check_numbers(
                "the roughness of the views",
                np.nan_to_num(self.view_roughness, nan=1.0),
                (n_views,),
            )
        check_numbers("the outlier scores", self.outlier_score, (n,))
        if self.balance is not None:
            self.balance.check(n)

    def _check_entities(self) -> None:
        """Check the labels, and the indices of entities."""
        n = self.views.n_rows
        sound_indices("the labels", self.labels, self.n_clusters, size=n)
        again = self.n_clusters != self.n_columns  # some clusters were refitted
        if again and np.unique(self.labels).size != self.n_clusters:
            raise Unsound(f"at least one of the {self.n_clusters} clusters contains no entity")
        sound_indices("the fragments", self.fragments, n)
        sound_indices("the entities that were placed", self.placed, n)
        learned_on = [np.arange(n) if layer.nodes is None else layer.nodes for layer in self.layers]
        if (np.diff(self.placed) <= 0).any() or (
            self.placed.size and any(np.isin(self.placed, nodes).any() for nodes in learned_on)
        ):
            raise Unsound(
                "the entities that were placed are not in order, or layers were learned on them"
            )
        if self.index is not None and self.index.shape != (n,):
            raise Unsound(f"{self.index.size} row labels for {n} rows")
        if self.number is not None:
            self.number.check(n - self.placed.size)

    def for_new_rows(self) -> FittedModel:
        """Return everything that workers need to place many chunks of new rows, which is all but
        the evidence.
        """
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return PlacingModel(**{**kept, "evidence": None})

    def placement(self, scored: bool = False) -> Placement:
        """Return an object that places new rows in the layers and the embedding and, if requested,
        scores them.
        """
        scoring = None
        if scored:
            spreads = spreads_of(self.views, self.layers, self.view_weights)
            scoring = Scoring(spreads, self.outlier_score)
        return Placement(
            self.views,
            self.layers,
            self.beta,
            self.embedding,
            self.eigenvalues,
            self.guide,
            self.labels,
            self.n_clusters,
            scoring,
            self.balance,
        )

    def farthest(self, share: float) -> float:
        """Return the outlier score that this fraction of the learned entities does not exceed."""
        learned = np.delete(self.outlier_score, self.placed)
        return float(np.quantile(learned, share, method="higher"))


ARRANGING = Lock()


class PlacingModel(FittedModel):
    """A model that prepares its rows for the first chunk of new rows, and reuses them for all
    later chunks.
    """

    @cached_property
    def _placements(self) -> dict[bool, Placement]:
        return {}

    def placement(self, scored: bool = False) -> Placement:
        with ARRANGING:  # several threads of a worker place chunks at the same time
            if scored not in self._placements:
                self._placements[scored] = super().placement(scored)
        return self._placements[scored]

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except the prepared rows, which each worker prepares itself."""
        return {name: value for name, value in vars(self).items() if name != "_placements"}


LARGEST_NUMBER = LARGEST_VALUE**2
"""Upper bound on the numbers in a fitted model, which include squared distances."""


def check_numbers(what: str, values: Any, shape: tuple[int | None, ...]) -> None:
    """Raise an error unless `values` is an array of this shape with numbers in range."""
    sound_numbers(what, values, shape)
    if not in_range(values):
        raise Unsound(f"there are numbers in {what} above {LARGEST_NUMBER:.0e}")


def in_range(*values: Any) -> bool:
    """Return whether all values are finite numbers of at most `LARGEST_NUMBER`."""
    arrays = [np.asarray(value) for value in values]
    return all(
        array.dtype.kind in "iuf"
        and bool((np.abs(array.astype(np.float64)) <= LARGEST_NUMBER).all())
        for array in arrays
    )


def check_layers(layers: Sequence[Layer], views: Views) -> None:
    """Raise an error unless layers are valid and could have been learned from these views."""
    if [layer.views for layer in layers if layer.role == "view"] != [
        (view,) for view in range(len(views.names))
    ]:
        raise Unsound("there is not exactly one layer for each view")
    for layer in layers:
        check_layer(layer, views.n_rows, len(views.names))
        check_origin(layer, views)
    check_consensus(layers)


def check_layer(layer: Layer, n_rows: int, n_views: int) -> None:
    """Raise an error unless a layer is valid for a model of `n_rows` rows and `n_views` views."""
    layer.check(n_rows)
    what = f"layer {layer.name!r}"
    if (
        not layer.views
        or len(layer.views) != len(layer.factors)
        or not all(0 <= view < n_views for view in layer.views)
    ):
        raise Unsound(f"{what} refers to views that the model does not have")
    if layer.own_potentials.size == 0 or not in_range([layer.alpha, *layer.factors]):
        raise Unsound(f"{what} has no nodes, or numbers out of range")
    check_numbers(f"the potentials of {what}", layer.potentials, (n_rows,))
    if layer.scaling is not None:
        check_numbers(f"the scales of {what}", layer.scaling.scales, layer.own_potentials.shape)
        check_numbers(f"the floors of {what}", layer.scaling.floors, layer.own_potentials.shape)


def check_origin(layer: Layer, views: Views) -> None:
    """Raise an error unless a layer could have been learned from its views and networks."""
    if layer.network_share and not views.graphs:
        raise Unsound("a layer was learned from rows and networks, but the model has no networks")
    if layer.given and layer.role == "view" and layer.views[0] not in views.graphs:
        raise Unsound("the layer of a view was not learned, but the view is not a network")
    if layer.network_share and any(views[view].rows is None for view in layer.views):
        raise Unsound(
            "a layer was learned from rows and networks, but one of its views has no rows"
        )
    if layer.role != "view" and any(view in views.graphs for view in layer.views):
        raise Unsound("a layer of the concatenated views has a network among its views")


def check_consensus(layers: Sequence[Layer]) -> None:
    """Raise an error unless layers learned with consensus costs have a consensus with the same
    entities.
    """
    with_costs = [layer for layer in layers if layer.consensus_share]
    consensus = next((layer for layer in layers if layer.role == "consensus"), None)
    if consensus is None and with_costs:
        raise Unsound("a layer was learned with a consensus that the model does not have")
    if consensus is None or consensus.nodes is None:
        return
    if not all(
        layer.nodes is not None and np.array_equal(layer.nodes, consensus.nodes)
        for layer in with_costs
    ):
        raise Unsound("a layer was learned with a consensus over different entities")
