"""New rows, placed by the fitted layers as they are; nothing is learned again.

A new node of a layer, all others fixed, satisfies the KKT conditions of the layer problem:

    w_j = (u + u_j - z_j)_+ / (4 alpha),      sum_j w_j + (u - mean(u_j)) / (2 alpha) = 1

The left side rises with u, so there is one solution. With t_j = z_j - u_j in ascending order and k of them below u it is

    u = (4 alpha + 2 mean(u_j) + t_1 + ... + t_k) / (k + 2)

Costs z_j are those of the fit: squared distances, locally scaled where the layer's are, plus beta |q - q_j|^2 + |g - g_j|^2. The place q
of the new node follows from its weights by the eigenvector equation,

    q = sum_m beta_m sum_j w_mj q_j / (sum_m beta_m d_m - lambda)

and g, a row of the guide, as their mean; so weights and places are found in turn, at first without the terms of the embedding. A row that
is equal to a fitted one in all layers it is in has the place of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.automatic.choose import UNKNOWN, consensus_factors
from rmgl.edges import Vector
from rmgl.edges.local_scaling import LocalScaling
from rmgl.edges.tiles import nearest_to, squared_lengths
from rmgl.embedding.eigenvectors import unit_rows
from rmgl.model.alternate import State
from rmgl.views.incomplete import check_observed
from rmgl.views.scaling import Scaler
from rmgl.views.views import LARGEST_VALUE, Matrix, Views, is_collection_of_views, side_by_side

if TYPE_CHECKING:
    from rmgl.estimators.rmgl import RMGL

ALL_ROWS = 5000
"""Up to so many fitted rows a new one is compared with all of them; beyond, with the nearest."""
SPARE = 4
"""So many times as many as a node has edges are looked at; four times more where over half of them get weight."""
LEAST_LISTED = 100
ROUNDS = 2
BATCH_ENTRIES = 1 << 22
ROUNDING = 1e-13


@dataclass(frozen=True)
class FittedLayer:
    """A layer as a new node meets it."""

    name: str
    members: tuple[int, ...]
    """The views it was learned from: one, or all of them for the consensus."""
    factors: tuple[float, ...]
    """What each of these was multiplied by."""
    alpha: float
    beta: float
    potentials: Vector
    """Of its own nodes."""
    nodes: NDArray[np.intp] | None
    """The entities it has, None for all."""
    n_edges: int
    scaling: LocalScaling | None

    @property
    def n_listed(self) -> int:
        """How many nodes are enough for nearly all new ones."""
        return max(LEAST_LISTED, int(SPARE * 2 * self.n_edges / self.potentials.size))


@dataclass(frozen=True)
class Placed:
    """Where new rows belong."""

    votes: NDArray[np.float64]
    """Edge weight from each new row to each cluster in each layer, by the weight of the layer: (n, layers, K); sums to one for each row."""
    embedding: NDArray[np.float64]


@dataclass(frozen=True)
class Placement:
    """What a fitted model keeps to place new rows: O(N D) numbers beside the edges."""

    views: Views
    """The fitted rows, scaled."""
    scalers: tuple[Scaler, ...]
    layers: tuple[FittedLayer, ...]
    embedding: NDArray[np.float64]
    eigenvalues: Vector
    guide: NDArray[np.float64] | None
    labels: NDArray[np.intp]

    @classmethod
    def of(cls, model: RMGL, views: Views, scalers: Sequence[Scaler], state: State) -> Placement:
        """From a model that has its other attributes, its scaled views and where Algorithm 1 ended."""
        everyone = tuple(range(len(views.names)))
        factors = tuple(consensus_factors(views)) if len(state.layers) > len(everyone) else ()
        layers = tuple(
            FittedLayer(
                problem.name,
                members=(m,) if m in everyone else everyone,
                factors=(1.0,) if m in everyone else factors,
                alpha=problem.alpha,
                beta=problem.beta,
                potentials=layer.potentials,
                nodes=problem.nodes,
                n_edges=layer.n_edges,
                scaling=problem.candidates.scaling,
            )
            for m, (problem, layer) in enumerate(zip(state.views, state.layers, strict=True))
        )
        # what was not scaled may be the caller's own array
        ours = tuple(X.copy() if scaler.name == "none" else X for X, scaler in zip(views.matrices, scalers, strict=True))
        kept = replace(views, matrices=ours)
        return cls(kept, tuple(scalers), layers, model.embedding_, model.eigenvalues_, model.guide_, model.labels_)

    @cached_property
    def clusters(self) -> sparse.csr_array:
        """One row per entity with a one in the column of its cluster."""
        n, k = self.embedding.shape
        return sparse.csr_array((np.ones(n), (np.arange(n), self.labels)), shape=(n, k))

    def place(self, new: Views) -> Placed:
        """Votes and places of new rows, which are scaled like the fitted ones."""
        n_clusters = self.embedding.shape[1]
        if new.n_rows == 0:
            return Placed(np.empty((0, len(self.layers), n_clusters)), np.empty((0, n_clusters)))
        step = max(1, BATCH_ENTRIES // max(max(self._width(layer), layer.n_listed * n_clusters) for layer in self.layers))
        parts = [self._place_batch(new, np.arange(at, min(at + step, new.n_rows))) for at in range(0, new.n_rows, step)]
        return Placed(np.concatenate([part.votes for part in parts]), np.concatenate([part.embedding for part in parts]))

    def _place_batch(self, new: Views, rows: NDArray[np.intp], everyone: bool = False) -> Placed:
        meetings = [meeting for layer in self.layers for meeting in self._meet(layer, new, rows, everyone)]
        q, g = None, None
        for _ in range(ROUNDS):
            weights = [meeting.weights(q, self.embedding, g, self.guide) for meeting in meetings]
            graphs = self._connected(meetings, [found.graph for found in weights])
            total = sum(graphs[1:], start=graphs[0])
            q, g = self._middle(total), self._guide_rows(total)
        assert q is not None
        doubted = np.unique(np.concatenate([meeting.rows[found.doubted] for meeting, found in zip(meetings, weights, strict=True)]))
        votes = np.zeros((rows.size, len(self.layers), self.embedding.shape[1]))
        for meeting, graph in zip(meetings, graphs, strict=True):
            votes[:, self.layers.index(meeting.layer)] += (graph @ self.clusters).toarray()
        placed = Placed(votes / votes.sum(axis=(1, 2), keepdims=True), self._with_copies(meetings, q))
        if doubted.size:
            again = self._place_batch(new, rows[doubted], everyone=True)
            placed.votes[doubted], placed.embedding[doubted] = again.votes, again.embedding
        return placed

    def _middle(self, total: sparse.csr_array) -> NDArray[np.float64]:
        """sum_j w_j q_j / (d - lambda), with the weights of all layers together, which contain beta."""
        degrees = np.asarray(total.sum(axis=1)).ravel()[:, None]
        return (total @ self.embedding) / np.maximum(degrees - self.eigenvalues, 0.5 * degrees)

    def _with_copies(self, meetings: Sequence[Meeting], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same, but a row that equals a fitted one in all layers it is in has that one's place."""
        n_layers = np.bincount(np.concatenate([meeting.rows for meeting in meetings]), minlength=len(q))
        total = sum((meeting.copies() for meeting in meetings[1:]), start=meetings[0].copies()).tocoo()
        same = total.data == n_layers[total.row]
        q[total.row[same]] = self.embedding[total.col[same]]
        return q

    def _guide_rows(self, total: sparse.csr_array) -> NDArray[np.float64] | None:
        """Means of the rows of the guide, of the same length as those."""
        if self.guide is None:
            return None
        return unit_rows(total @ self.guide) * float(np.sqrt(np.square(self.guide).sum(axis=1).max()))

    @staticmethod
    def _connected(meetings: Sequence[Meeting], graphs: list[sparse.csr_array]) -> list[sparse.csr_array]:
        """The same, but a row without an edge in any layer gets one to the nearest entity of the first layer it is in."""
        degrees = np.sum([np.asarray(graph.sum(axis=1)).ravel() for graph in graphs], axis=0)
        for place, meeting in enumerate(meetings):
            alone = np.flatnonzero(degrees[meeting.rows] == 0)
            if alone.size:
                graphs[place] = sparse.csr_array(graphs[place] + meeting.nearest(alone))
                degrees[meeting.rows[alone]] = 1.0
        return graphs

    def _width(self, layer: FittedLayer) -> int:
        """How many fitted rows a new one is compared with at first."""
        n = layer.potentials.size
        return n if n <= ALL_ROWS or self._shared(layer) else min(n, layer.n_listed)

    def _shared(self, layer: FittedLayer) -> bool:
        """Whether the layer is of several views that do not have all entities: each pair has its own views in common."""
        return len(layer.members) > 1 and not self.views.complete

    def _meet(self, layer: FittedLayer, new: Views, rows: NDArray[np.intp], everyone: bool) -> Iterator[Meeting]:
        """The new rows beside the entities of a layer that are near them, by the views that they have."""
        there = np.column_stack([new.mask(view)[rows] for view in layer.members])
        for pattern in np.unique(there, axis=0):
            mine = np.flatnonzero((there == pattern).all(axis=1))
            if not pattern.any():
                continue
            batch = Batch(layer, rows.size, self.embedding.shape[0], everyone)
            if self._shared(layer):
                yield batch.meet_all(mine, self._shared_distances(layer, new, rows[mine], pattern))
                continue
            views = [(view, factor) for view, factor, has in zip(layer.members, layer.factors, pattern, strict=True) if has]
            X, asking = (_side_by_side(source, views, chosen) for source, chosen in ((self.views, layer.nodes), (new, rows[mine])))
            absent = len(pattern) / len(views)  # views that are absent are taken to be like the others
            if self._width(layer) == X.shape[0]:
                yield batch.meet_all(mine, absent * dense_distances(asking, X))
            else:
                yield from batch.meet_nearest(mine, X, asking, absent)

    def _shared_distances(self, layer: FittedLayer, new: Views, rows: NDArray[np.intp], pattern: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sums over the views, of which those that one of two lacks add what the consensus adds for them."""
        total = np.zeros((rows.size, self.views.n_rows))
        for view, factor, has in zip(layer.members, layer.factors, pattern, strict=True):
            both = self.views.mask(view)
            distances = dense_distances(new.matrices[view][rows], self.views.matrices[view]) * factor**2 if has else 0.0
            total += np.where(both, distances, 2 * UNKNOWN) if has else 2 * UNKNOWN
        return total


@dataclass(frozen=True)
class Batch:
    """How new rows are brought together with the nodes of a layer."""

    layer: FittedLayer
    n_rows: int
    n_entities: int
    everyone: bool
    """Whether all nodes count, and not only those that matter without the terms of the embedding."""

    def meet_all(self, rows: NDArray[np.intp], distances: NDArray[np.float64]) -> Meeting:
        """From squared distances to all nodes: those of the smallest t are kept. No other gets weight as long as u stays below theirs."""
        neighbors = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
        costs = self.costs(neighbors, distances)
        kept = self.layer.n_listed
        if self.everyone or kept >= costs.shape[1]:
            return Meeting(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
        thresholds = costs - self.layer.potentials
        nearest = np.argpartition(thresholds, kept, axis=1)
        cut = np.take_along_axis(thresholds, nearest[:, [kept]], axis=1)[:, 0]
        nearest = nearest[:, :kept]
        costs, distances = (np.take_along_axis(values, nearest, axis=1) for values in (costs, distances))
        return Meeting(self, rows, nearest, costs, distances == 0, cut)

    def meet_nearest(self, rows: NDArray[np.intp], X: Matrix, asking: Matrix, factor: float) -> Iterator[Meeting]:
        """From the nearest nodes alone; from more of them where over half of those get weight."""
        length = min(self.layer.n_listed, X.shape[0])
        while True:
            neighbors, distances = near(X, asking, length)
            costs = self.costs(neighbors, factor * distances)
            meeting = Meeting(self, rows, neighbors, costs, distances == 0, np.full(rows.size, np.inf))
            crowded = meeting.crowded() if length < X.shape[0] else np.zeros(rows.size, dtype=bool)
            if not crowded.all():
                yield meeting.only(~crowded)
            if not crowded.any():
                return
            rows, asking, length = rows[crowded], asking[crowded], min(4 * length, X.shape[0])

    def costs(self, neighbors: NDArray[np.intp], distances: NDArray[np.float64]) -> NDArray[np.float64]:
        scaling = self.layer.scaling
        return distances if scaling is None else scaling.costs_of_new(neighbors, distances)


@dataclass(frozen=True)
class Weights:
    """beta times edge weights, as rows of the batch by entities; and which rows might have more edges than could be seen."""

    graph: sparse.csr_array
    doubted: NDArray[np.bool_]


@dataclass(frozen=True)
class Meeting:
    """New rows and the nodes of one layer that may get weight."""

    batch: Batch
    rows: NDArray[np.intp]
    """Which of the batch."""
    neighbors: NDArray[np.intp]
    """Places among the nodes of the layer."""
    costs: NDArray[np.float64]
    equal: NDArray[np.bool_]
    """Where the distance is zero."""
    cut: Vector
    """No other node gets weight as long as u is not above this."""

    @property
    def layer(self) -> FittedLayer:
        return self.batch.layer

    def only(self, some: NDArray[np.bool_]) -> Meeting:
        return Meeting(self.batch, self.rows[some], self.neighbors[some], self.costs[some], self.equal[some], self.cut[some])

    @property
    def entities(self) -> NDArray[np.intp]:
        return self.neighbors if self.layer.nodes is None else self.layer.nodes[self.neighbors]

    def solve(self, costs: NDArray[np.float64]) -> tuple[Vector, NDArray[np.float64]]:
        """u of every row, and the thresholds t."""
        thresholds = costs - self.layer.potentials[self.neighbors]
        return one_node(thresholds, self.layer.alpha, float(self.layer.potentials.mean())), thresholds

    def crowded(self) -> NDArray[np.bool_]:
        """Where over half of those listed get weight: others beyond them might, too."""
        u, thresholds = self.solve(self.costs)
        return 2 * (thresholds < u[:, None]).sum(axis=1) > thresholds.shape[1]

    def weights(self, q: Any, embedding: NDArray, g: Any, guide: NDArray | None) -> Weights:
        """The solution of the one-node problem; q and g are the places of the rows so far."""
        costs = self.costs
        for own, theirs, factor in ((q, embedding, self.layer.beta), (g, guide, 1.0)):
            if own is not None and theirs is not None:
                costs = costs + factor * self._spread(own[self.rows], theirs)
        u, thresholds = self.solve(costs)
        weights = np.maximum(u[:, None] - thresholds, 0.0) * (self.layer.beta / (4 * self.layer.alpha))
        return Weights(self._graph(weights), u > self.cut)

    def nearest(self, some: NDArray[np.intp]) -> sparse.csr_array:
        """An edge of weight one from some of the rows to the entity of least cost."""
        weights = np.zeros(self.costs.shape)
        weights[some, self.costs[some].argmin(axis=1)] = 1.0
        return self._graph(weights)

    def copies(self) -> sparse.csr_array:
        """A one for every row and entity at distance zero."""
        return self._graph(self.equal.astype(np.float64))

    def _spread(self, own: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = np.square(theirs).sum(axis=1)
        if self.batch.everyone and self.neighbors.shape[1] == self.layer.potentials.size:
            products = own @ (theirs if self.layer.nodes is None else theirs[self.layer.nodes]).T
        else:
            products = np.einsum("bk,blk->bl", own, theirs[self.entities])
        return np.maximum(np.square(own).sum(axis=1)[:, None] + squares[self.entities] - 2 * products, 0.0)

    def _graph(self, weights: NDArray[np.float64]) -> sparse.csr_array:
        active = weights > 0
        rows = np.repeat(self.rows, active.sum(axis=1))
        return sparse.csr_array((weights[active], (rows, self.entities[active])), shape=(self.batch.n_rows, self.batch.n_entities))


def new_views(fitted: Views, data: Any, blocks: Any = None, *, align: str | None = None, observed: Any = None) -> Views:
    """New rows of the views that a model was fitted on, checked against them; views that are not given are absent for all rows."""
    if isinstance(data, list | tuple) and is_collection_of_views(data):
        if len(data) != len(fitted.names):
            raise ValueError(
                f"{len(data)} views are given, but the model was fitted on {len(fitted.names)}: put None for a view that is absent"
            )
        data = dict(zip(fitted.names, data, strict=True))
    elif not is_collection_of_views(data) and not isinstance(data, Views) and blocks is None:
        data = {fitted.names[0]: data}
    if isinstance(data, Mapping):
        blocks = None
        if observed is not None and not isinstance(observed, Mapping) and len(data) == len(fitted.names):
            observed = dict(zip(data, check_observed(observed, list(map(str, data))), strict=True))
        data = {str(name): X for name, X in data.items() if X is not None}
        if isinstance(observed, Mapping):
            observed = {str(name): mask for name, mask in observed.items() if str(name) in data}
        if not all(hasattr(X, "reindex") for X in data.values()):
            align = None  # rows without labels are in the same order already
    if isinstance(data, Views):
        blocks = align = observed = None
    new = Views.of(data, blocks, align=align, observed=observed, least=0)
    unknown = [name for name in new.names if name not in fitted.names]
    if unknown:
        raise ValueError(f"the model has no views {unknown}: it was fitted on {list(fitted.names)}")
    given = {name: place for place, name in enumerate(new.names)}
    matrices, present = [], []
    for view, name in enumerate(fitted.names):
        matrices.append(_rows_like(fitted, view, new, given.get(name)))
        present.append(new.mask(given[name]) if name in given else np.zeros(new.n_rows, dtype=bool))
    _leave_out_empty(fitted, matrices, present)
    return Views(fitted.names, tuple(matrices), tuple(map(np.flatnonzero, present)), new.index)


def _leave_out_empty(fitted: Views, matrices: Sequence[Matrix], present: Sequence[NDArray[np.bool_]]) -> None:
    """Rows of zeros are absent from the views from which they were in the fit, unless they have no other."""
    filled = [np.asarray((X != 0).sum(axis=1)).ravel() > 0 for X in matrices]
    elsewhere = np.any([own & said for own, said in zip(present, filled, strict=True)], axis=0)
    for view, n_empty in enumerate(fitted.n_empty):
        if n_empty:
            present[view][~filled[view] & elsewhere] = False


def scaled_like(fitted: Placement, new: Views) -> Views:
    """New rows after the scalers of the fit; refused where they lie so far out that distances leave the range of doubles."""
    with np.errstate(over="ignore"):
        scaled = new.scaled_by(fitted.scalers, check=False)
    for name, X in zip(scaled.names, scaled.matrices, strict=True):
        entries = sparse.coo_array(X)
        beyond = ~(np.abs(entries.data) <= LARGEST_VALUE)
        if beyond.any():
            raise ValueError(
                f"row {entries.coords[0][beyond].min()} of view {name!r} has values up to {np.abs(entries.data).max():.0e} in units of the "
                "fitted ones, too large to square in double precision: leave it out, or make it NaN throughout if it is missing"
            )
    return scaled


def _rows_like(fitted: Views, view: int, new: Views, place: int | None) -> Matrix:
    """The new rows of a fitted view, sparse where that is; zeros if it is not given."""
    X, name = fitted.matrices[view], fitted.names[view]
    if place is None:
        return sparse.csr_array((new.n_rows, X.shape[1])) if sparse.issparse(X) else np.zeros((new.n_rows, X.shape[1]))
    rows = new.matrices[place]
    if rows.shape[1] != X.shape[1]:
        raise ValueError(f"view {name!r} has {rows.shape[1]} columns, but the model was fitted on {X.shape[1]}")
    known, found = (views.columns[at] if views.columns else None for views, at in ((fitted, view), (new, place)))
    if known is not None and found is not None and known != found:
        wrong = next(at for at, (ours, theirs) in enumerate(zip(known, found, strict=True)) if ours != theirs)
        raise ValueError(
            f"column {wrong} of view {name!r} is {found[wrong]!r}, but {known[wrong]!r} in the fitted one: put them in the same order"
        )
    if sparse.issparse(X):
        return sparse.csr_array(rows)
    return rows.toarray() if sparse.issparse(rows) else rows


def one_node(thresholds: NDArray[np.float64], alpha: float, mean: float) -> Vector:
    """The u with sum_j (u - t_j)_+ / (4 alpha) + (u - mean) / (2 alpha) = 1, for every row of thresholds t.

    Examples
    --------
    >>> import numpy as np
    >>> one_node(np.array([[0.0, 10.0]]), alpha=1.0, mean=1.0).tolist()
    [2.0]
    """
    ordered = np.sort(thresholds, axis=1)
    sums, counts = np.cumsum(ordered, axis=1), np.arange(1, ordered.shape[1] + 1)
    below = ((counts + 2) * ordered - sums < 4 * alpha + 2 * mean).sum(axis=1)  # rises along a row
    total = np.where(below > 0, np.take_along_axis(sums, np.maximum(below - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    return (4 * alpha + 2 * mean + total) / (below + 2)


def near(X: Matrix, asking: Matrix, length: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The `length` rows of X nearest to each asking row, in any order, and their squared distances."""
    found = nearest_to(X, asking, length)
    if sparse.issparse(X):
        return found, np.column_stack([squared_lengths(X[column] - asking) for column in found.T])
    from rmgl import kernels

    distances = np.empty(found.shape)
    kernels.distances_to(asking, X, found, distances)
    return found, distances


def dense_distances(asking: Matrix, X: Matrix) -> NDArray[np.float64]:
    """Squared distances of all pairs, by |x|^2 + |y|^2 - 2x'y; zero where they are below the rounding of that."""
    if not sparse.issparse(X):
        middle = X.mean(axis=0)
        asking, X = asking - middle, X - middle
    products = asking @ X.T
    total = squared_lengths(asking)[:, None] + squared_lengths(X)
    distances = total - 2 * (products.toarray() if sparse.issparse(products) else products)
    return np.where(distances > ROUNDING * total, distances, 0.0)


def _side_by_side(views: Views, members: Sequence[tuple[int, float]], rows: NDArray[np.intp] | None) -> Matrix:
    """Some rows of some views, each times its factor."""
    matrices = [views.matrices[view] if rows is None else views.matrices[view][rows] for view, _ in members]
    if len(members) == 1 and members[0][1] == 1.0:
        return matrices[0]
    return side_by_side([X * factor for X, (_, factor) in zip(matrices, members, strict=True)])
