"""Pairs that are added to those of a store: only these are measured, and their costs put among the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.interface import Costs, Edges, Vector
from rmgl.edges.pair_list import PairList
from rmgl.running.threads import InParts

Mask = NDArray[np.bool_]


class Growth(Protocol):
    """The pairs that a store has more than an earlier one."""

    @property
    def pairs(self) -> Edges:
        """The store of the new pairs alone."""

    def carried(self, costs: Costs, new: Costs) -> Costs:
        """Costs of the earlier pairs, and of the new ones, as costs of all."""

    def new_of(self, costs: Costs) -> Costs:
        """Those of the costs of all pairs that belong to new ones."""


@dataclass(frozen=True)
class ListGrowth:
    """The entries of a symmetric pattern that an earlier pattern did not have."""

    is_new: Mask
    pairs: PairList
    """The store of the new pairs alone."""

    @classmethod
    def of(cls, pattern: sparse.csr_array, is_new: Mask, in_parts: InParts) -> ListGrowth:
        """The growth of a pattern, given which of its entries are new."""
        return cls(is_new, PairList(only(pattern, is_new), in_parts))

    def carried(self, costs: Vector, new: Vector) -> Vector:
        return carried(self.is_new, costs, new)

    def new_of(self, costs: Vector) -> Vector:
        return costs[self.is_new]


def only(pattern: sparse.csr_array, chosen: Mask) -> sparse.csr_array:
    """A pattern with some of its entries."""
    places = np.flatnonzero(chosen)
    starts = np.searchsorted(places, pattern.indptr).astype(pattern.indptr.dtype)
    return sparse.csr_array((np.ones(places.size, dtype=bool), pattern.indices[places], starts), shape=pattern.shape)


def carried(is_new: Mask, costs: Vector, new: Vector) -> Vector:
    """The costs of entries that are new, and of those that are not, as costs of all."""
    out = np.empty(is_new.size)
    out[~is_new] = costs
    out[is_new] = new
    return out


def joined(pattern: sparse.csr_array, added: sparse.csr_array) -> tuple[sparse.csr_array, Mask]:
    """The union of two patterns, with sorted indices, and which of its entries the first one does not have."""
    union = sparse.csr_array(marked(pattern, 1) + marked(added, 2))
    union.sort_indices()
    is_new: Mask = union.data == 2
    found = union.indices.copy()  # SciPy leaves room for the entries of both
    return sparse.csr_array((np.ones(found.size, dtype=bool), found, union.indptr), shape=union.shape), is_new


def marked(pattern: sparse.csr_array, mark: int) -> sparse.csr_array:
    """A pattern with the same small number in all its entries."""
    return sparse.csr_array((np.full(pattern.nnz, mark, dtype=np.uint8), pattern.indices, pattern.indptr), shape=pattern.shape)
