"""Rows of features smoothed along networks: how networks take part in the consensus, which is
learned from rows.

A row is drawn toward those of its neighbors in the networks,

    y_i = ((1 - s) x_i + s sum_j p_ij y_j) / (1 - s + s sum_j p_ij)
    p_ij = w_ij / sqrt(d_i d_j),   s = 2/3

a mean in which a neighbor with many edges counts for less, and an entity with many neighbors is
drawn toward them more. Over several networks p_ij is the mean over those that have entity i. An
entity without edges keeps its row, and one whose row is missing gets the mean of its neighbors. The
equation is solved by repetition.

What is drawn together are the leading 100 principal axes of a view (without centering), if it has
more columns: smoothed rows are dense, and there is little but noise in the others. Rows of length
one have length one again in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from rmgl.automatic.beyond_chance import agreement
from rmgl.matrix import Floats, Indices, Mask, Matrix, as_dense, total_variance
from rmgl.running.threads import is_small
from rmgl.views.views import Views

NETWORK_SHARE = 2 / 3
"""The share s of the neighbors in a row."""
AXES = 100
"""Largest number of principal axes of a view."""
STEPS = 40
"""Repetitions."""
SMOOTHED_ROUNDING = 1e-9


@dataclass(frozen=True)
class Smoothing:
    """Views of features, their rows smoothed along the networks beside them."""

    views: Views
    """All views of the fit, scaled."""
    members: tuple[int, ...]
    """The views of features."""
    share: float = NETWORK_SHARE

    @classmethod
    def possible(cls, views: Views, members: Sequence[int]) -> bool:
        """Whether there are complete rows to smooth along networks, and these fit into memory."""
        if views.has_gaps or not members or any(views[view].rows is None for view in members):
            return False
        needed = 32 * views.n_rows * sum(min(AXES, views[view].matrix.shape[1]) for view in members)
        return is_small(needed)

    @classmethod
    def along(cls, views: Views, members: Sequence[int]) -> Smoothing | None:
        """The rows smoothed along the networks, if there are such rows and networks that follow
        them.
        """
        if not views.graphs or not cls.possible(views, members):
            return None
        whole = cls(views, tuple(members))
        share = NETWORK_SHARE * float(np.mean(list(whole.followed.values())))
        if share == 0:
            return None
        found = replace(whole, share=share)
        vars(found).update(axes=whole.axes, followed=whole.followed)  # neither depends on the share
        return found

    @cached_property
    def followed(self) -> dict[int, float]:
        """For every network, the share of its agreement with the rows that is not chance."""
        mask = np.all([self.views[view].mask for view in self.members], axis=0)
        present = np.flatnonzero(mask)
        rows = np.hstack(
            [
                self._on_axes(place, X) / np.sqrt(max(total_variance(X), np.finfo(float).tiny))
                for place, view in enumerate(self.members)
                for X in (self.views[view].matrix[present],)
            ]
        )
        graphs = {
            view: sparse.csr_array(self.views[view].matrix[present][:, present])
            for view in self.views.graphs
        }
        return {view: agreement(rows, graph).share for view, graph in graphs.items()}

    @cached_property
    def axes(self) -> tuple[Floats | None, ...]:
        """The leading principal axes of every member, as columns; None if it has no more columns
        than that.
        """
        return tuple(principal_axes(self.views[view].own()) for view in self.members)

    @cached_property
    def degrees(self) -> list[Floats]:
        """The degrees of all entities in every network."""
        return [
            np.asarray(self.views[view].matrix.sum(axis=1)).ravel() for view in self.views.graphs
        ]

    @cached_property
    def rows(self) -> tuple[Floats, ...]:
        """The smoothed rows of every member, before they have length one."""
        links = mean_links([self.views[view].matrix for view in self.views.graphs], self.degrees)
        found = []
        for place, view in enumerate(self.members):
            X = self._on_axes(place, self.views[view].matrix)
            own, others = self._shares(self.views[view].mask, links)
            Y = X
            for _ in range(STEPS):
                Y = own[:, None] * X + others[:, None] * (links @ Y)
            found.append(Y)
        return tuple(found)

    @cached_property
    def matrices(self) -> tuple[Floats, ...]:
        """The smoothed rows of every member."""
        return tuple(self._finished(place, Y) for place, Y in enumerate(self.rows))

    def of_new(self, new: Views, rows: Indices) -> list[tuple[Floats, Mask]]:
        """The smoothed rows of new entities in every member, and whether they have one; fitted ones
        stay as they are.
        """
        links = mean_links([new[view].matrix[rows] for view in self.views.graphs], self.degrees)
        linked = np.diff(links.indptr) > 0
        found = []
        for place, view in enumerate(self.members):
            present = new[view].mask[rows]
            own, others = self._shares(present, links)
            X = self._on_axes(place, self._filled(view, new, rows))
            Y = own[:, None] * X + others[:, None] * (links @ self.rows[place])
            found.append((self._finished(place, Y), present | linked))
        return found

    def _filled(self, view: int, new: Views, rows: Indices) -> Matrix:
        """New rows with the means of the fitted ones in place of missing cells."""
        X, gaps = new[view].matrix[rows], new[view].gaps
        if gaps is None:
            return X
        return np.where(
            gaps[rows],
            np.asarray(self.views[view].own().mean(axis=0)).ravel(),
            as_dense(X),
        )

    def _on_axes(self, place: int, X: Matrix) -> Floats:
        """Rows in the coordinates that are smoothed."""
        axes = self.axes[place]
        if axes is None:
            return np.asarray(as_dense(X))
        return np.asarray(X @ axes)

    def _shares(self, present: Mask, links: sparse.csr_array) -> tuple[Any, Any]:
        """What the own row of every entity, and the sum over its neighbors, are multiplied by."""
        own, total = (
            np.where(present, 1 - self.share, 0.0),
            self.share * np.asarray(links.sum(axis=1)).ravel(),
        )
        divisor = np.where(own + total > 0, own + total, 1.0)
        return own / divisor, self.share / divisor

    def _finished(self, place: int, Y: Floats) -> Floats:
        if not self._of_unit_length[place]:
            return Y
        lengths = np.linalg.norm(Y, axis=1, keepdims=True)
        return Y / np.where(lengths > 0, lengths, 1.0)

    @cached_property
    def _of_unit_length(self) -> list[bool]:
        """Whether the rows of every member have length one, or are zero."""
        lengths = [
            np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
            for X in (self.views[view].own() for view in self.members)
        ]
        return [bool(((np.abs(own - 1) < SMOOTHED_ROUNDING) | (own == 0)).all()) for own in lengths]


def mean_links(networks: Sequence[sparse.csr_array], degrees: Sequence[Floats]) -> sparse.csr_array:
    """The mean of w_ij / sqrt(d_i d_j) over the networks in which the entity of row i has edges.

    The rows may be new entities; the columns are the fitted ones, which have the given degrees in
    each network.

    Examples
    --------
    >>> import numpy as np
    >>> path = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> mean_links([path], [np.array([1.0, 2.0, 1.0])]).toarray().round(3)
    array([[0.   , 0.707, 0.   ],
           [0.707, 0.   , 0.707],
           [0.   , 0.707, 0.   ]])
    """
    total, count = sparse.csr_array(networks[0].shape), np.zeros(networks[0].shape[0])
    for graph, theirs in zip(networks, degrees, strict=True):
        own = np.asarray(graph.sum(axis=1)).ravel()
        left, right = (
            np.divide(1.0, np.sqrt(d), out=np.zeros(d.size), where=d > 0) for d in (own, theirs)
        )
        total = total + sparse.diags_array(left) @ graph @ sparse.diags_array(right)
        count += own > 0
    links = sparse.csr_array(sparse.diags_array(1 / np.maximum(count, 1.0)) @ total)
    links.eliminate_zeros()
    return links


def principal_axes(X: Matrix) -> Floats | None:
    """The leading principal axes of the rows of a matrix, as columns; None if there are no more
    columns, or rows, than that.
    """
    if min(X.shape) <= AXES:
        return None
    _, _, axes = randomized_svd(X, AXES, n_iter=4, random_state=0)
    return np.ascontiguousarray(axes.T)
