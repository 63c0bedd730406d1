"""Rows of features smoothed along networks: how networks take part in the consensus, which is learned from rows.

A row is drawn toward those of its neighbors in the networks,

    y_i = (1 - s) x_i + s mean_j y_j        s = 3/4

the mean over the neighbors by edge weight, and over the networks that have the entity. An entity without edges keeps its row, and one whose
row is missing gets the mean of its neighbors. The equation is solved by repetition, which shrinks the error by s each time. Rows of length
one have length one again in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.running.memory import available_memory
from rmgl.views.matrix import Matrix
from rmgl.views.views import Views

NETWORK_SHARE = 0.75
"""The share of its neighbors in a row."""
STEPS = 40
"""Repetitions, after which the error is below 1e-5 of the first one."""
MOST_BYTES = 1 << 30
MOST_SHARE = 0.25
"""Share of the available memory that the rows may take."""
ROUNDING = 1e-9


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
        """Whether there are networks and rows to smooth along them, and these fit into memory when they are dense."""
        if not views.networks or not members or any(views.relation(view) is not None for view in members):
            return False
        needed, available = 24 * views.n_rows * sum(views.matrices[view].shape[1] for view in members), available_memory()
        return needed <= MOST_BYTES and (available is None or needed <= MOST_SHARE * available)

    @cached_property
    def means(self) -> sparse.csr_array:
        """The matrix of the means over the neighbors, and over the networks that have the entity."""
        return mean_over_neighbors([self.views.matrices[view] for view in self.views.networks])

    @cached_property
    def rows(self) -> tuple[NDArray[np.float64], ...]:
        """The smoothed rows of every member, before they have length one."""
        return tuple(self._smooth(view) for view in self.members)

    @cached_property
    def matrices(self) -> tuple[NDArray[np.float64], ...]:
        """The smoothed rows of every member."""
        return tuple(self._finished(place, Y) for place, Y in enumerate(self.rows))

    def _smooth(self, view: int) -> NDArray[np.float64]:
        X = dense(self.views.matrices[view])
        own, others = self._shares(self.views.mask(view), np.diff(self.means.indptr) > 0)
        Y = X.copy()
        for _ in range(STEPS):
            Y = own[:, None] * X + others[:, None] * (self.means @ Y)
        return Y

    def _shares(self, present: NDArray[np.bool_], linked: NDArray[np.bool_]) -> tuple[Any, Any]:
        """The share of its own row, and of its neighbors, in the row of every entity."""
        own = np.where(linked, np.where(present, 1 - self.share, 0.0), 1.0)
        return own, np.where(linked, 1 - own, 0.0)

    def _finished(self, place: int, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self._of_unit_length[place]:
            return Y
        lengths = np.linalg.norm(Y, axis=1, keepdims=True)
        return Y / np.where(lengths > 0, lengths, 1.0)

    @cached_property
    def _of_unit_length(self) -> list[bool]:
        """Whether the rows of every member have length one, or are zero."""
        lengths = [np.sqrt(np.asarray((X * X).sum(axis=1)).ravel()) for X in (self.views.own(view) for view in self.members)]
        return [bool(((np.abs(own - 1) < ROUNDING) | (own == 0)).all()) for own in lengths]

    def of_new(self, new: Views, rows: NDArray[np.intp]) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """The smoothed rows of new entities in every member, and whether they have one; fitted ones stay as they are."""
        networks = [new.matrices[view][rows] for view in self.views.networks]
        means = mean_over_neighbors(networks)
        linked = np.diff(means.indptr) > 0
        found = []
        for place, view in enumerate(self.members):
            present = new.mask(view)[rows]
            own, others = self._shares(present, linked)
            Y = own[:, None] * dense(new.matrices[view][rows]) + others[:, None] * (means @ self.rows[place])
            found.append((self._finished(place, Y), present | linked))
        return found


def mean_over_neighbors(networks: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Rows that sum to one over the neighbors in all networks that have the entity, or to zero if none has it.

    Examples
    --------
    >>> import numpy as np
    >>> one = sparse.csr_array(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    >>> two = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> mean_over_neighbors([one, two]).toarray()
    array([[0.   , 0.625, 0.375],
           [1.   , 0.   , 0.   ],
           [1.   , 0.   , 0.   ]])
    """
    total, count = sparse.csr_array(networks[0].shape), np.zeros(networks[0].shape[0])
    for graph in networks:
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        total = total + sparse.diags_array(np.divide(1.0, degrees, out=np.zeros(degrees.size), where=degrees > 0)) @ graph
        count += degrees > 0
    means = sparse.csr_array(sparse.diags_array(1 / np.maximum(count, 1.0)) @ total)
    means.eliminate_zeros()
    return means


def dense(X: Matrix) -> NDArray[np.float64]:
    """A matrix with all its entries."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
