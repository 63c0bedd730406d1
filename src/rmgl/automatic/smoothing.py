"""Feature rows smoothed over networks. This is how networks contribute to the consensus, which is
learned from rows.

Each row moves toward the rows of its neighbors in the networks,

    y_i = ((1 - s) x_i + s sum_j p_ij y_j) / (1 - s + s sum_j p_ij)
    p_ij = w_ij / sqrt(d_i d_j),   s = 2/3

In this mean, a neighbor with many edges counts less, and an entity with many neighbors moves toward
them more. With several networks, p_ij is the mean over the networks that contain entity i. An
entity without edges keeps its row, and an entity whose row is missing gets the mean of its
neighbors' rows. The equation is solved by iteration.

If a view has more than 100 columns, its leading 100 principal axes (without centering) are smoothed
instead of the columns, because smoothed rows are dense and the remaining axes contain little but
noise. Rows of length one are rescaled to length one at the end.
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
"""Share s of the neighbors in a smoothed row."""
AXES = 100
"""Maximum number of principal axes of a view."""
STEPS = 40
"""Number of iterations."""
SMOOTHED_ROUNDING = 1e-9


@dataclass(frozen=True)
class Smoothing:
    """Feature views whose rows are smoothed over the networks."""

    views: Views
    """All views that the model is fitted on, scaled."""
    members: tuple[int, ...]
    """Positions of the feature views."""
    share: float = NETWORK_SHARE

    @classmethod
    def possible(cls, views: Views, members: Sequence[int]) -> bool:
        """Return whether there are complete rows to smooth over networks, and whether they fit in
        memory.
        """
        if views.has_gaps or not members or any(views[view].rows is None for view in members):
            return False
        needed = 32 * views.n_rows * sum(min(AXES, views[view].matrix.shape[1]) for view in members)
        return is_small(needed)

    @classmethod
    def along(cls, views: Views, members: Sequence[int]) -> Smoothing | None:
        """Return the rows smoothed over the networks. None if there are no such rows, or if no
        network agrees with them.
        """
        if not views.graphs or not cls.possible(views, members):
            return None
        whole = cls(views, tuple(members))
        share = NETWORK_SHARE * float(np.mean(list(whole.followed.values())))
        if share == 0:
            return None
        found = replace(whole, share=share)
        vars(found).update(axes=whole.axes, followed=whole.followed)  # independent of the share
        return found

    @cached_property
    def followed(self) -> dict[int, float]:
        """Share of each network's agreement with the rows that is not due to chance."""
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
        """Leading principal axes of each member as columns. None for a member that does not have
        more columns than axes.
        """
        return tuple(principal_axes(self.views[view].own()) for view in self.members)

    @cached_property
    def degrees(self) -> list[Floats]:
        """Degrees of all entities in every network."""
        return [
            np.asarray(self.views[view].matrix.sum(axis=1)).ravel() for view in self.views.graphs
        ]

    @cached_property
    def rows(self) -> tuple[Floats, ...]:
        """Smoothed rows of each member, before they are scaled to length one."""
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
        """Smoothed rows of each member."""
        return tuple(self._finished(place, Y) for place, Y in enumerate(self.rows))

    def of_new(self, new: Views, rows: Indices) -> list[tuple[Floats, Mask]]:
        """Return the smoothed rows of new entities in every member, and whether each entity has
        one. Training rows do not change.
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
        """Return new rows with missing cells replaced by the column means of the training rows."""
        X, gaps = new[view].matrix[rows], new[view].gaps
        if gaps is None:
            return X
        return np.where(
            gaps[rows],
            np.asarray(self.views[view].own().mean(axis=0)).ravel(),
            as_dense(X),
        )

    def _on_axes(self, place: int, X: Matrix) -> Floats:
        """Return rows in the coordinates that are smoothed."""
        axes = self.axes[place]
        if axes is None:
            return np.asarray(as_dense(X))
        return np.asarray(X @ axes)

    def _shares(self, present: Mask, links: sparse.csr_array) -> tuple[Any, Any]:
        """Return the factors for each entity's own row and for the sum over its neighbors."""
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
        """Whether the rows of each member have length one, or are zero."""
        lengths = [
            np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
            for X in (self.views[view].own() for view in self.members)
        ]
        return [bool(((np.abs(own - 1) < SMOOTHED_ROUNDING) | (own == 0)).all()) for own in lengths]


def mean_links(networks: Sequence[sparse.csr_array], degrees: Sequence[Floats]) -> sparse.csr_array:
    """Return the mean of w_ij / sqrt(d_i d_j) over the networks in which entity i has edges.

    The rows may be new entities. The columns are the entities in the fit, and `degrees` contains
    their degrees in each network.

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
    """Return the leading principal axes of the rows of a matrix, as columns. None if the matrix
    does not have more columns and rows than axes.
    """
    if min(X.shape) <= AXES:
        return None
    _, _, axes = randomized_svd(X, AXES, n_iter=4, random_state=0)
    return np.ascontiguousarray(axes.T)
