"""Certificates that no other pair can carry weight, and how their candidate pairs grow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.interface import Costs, Floats, OwnCosts, PairStore, Vector
from rmgl.edges.local_scaling import LocalScaling, NearBlock
from rmgl.edges.space import Space
from rmgl.edges.stores import PairList
from rmgl.running.threads import Check, InParts, one_part

Mask = NDArray[np.bool_]


class Certificate(Protocol):
    """Candidate pairs of a space, and bounds on all other pairs."""

    @property
    def space(self) -> Space: ...

    @property
    def scaling(self) -> LocalScaling | None: ...

    @property
    def edges(self) -> PairStore: ...

    @property
    def growth(self) -> Growth | None:
        """The pairs that the last extension added (None: no extension, or unknown)."""

    def settled(self) -> Certificate:
        """Return self without data that was needed only for the costs of new pairs."""

    def extended(
        self, u: Vector, costs: OwnCosts, guide: Floats | None, check: Check = ...
    ) -> Certificate:
        """Add the pairs that a certificate at u needs; return self if it already holds."""

    def pruned(self, u: Vector, costs: OwnCosts) -> Certificate:
        """Drop pairs that are far from carrying weight at u, if they can be found again easily."""

    def tightened(self, u: Vector, costs: OwnCosts) -> Certificate:
        """Drop pairs that are far from carrying weight at u: few later solutions need them."""

    def with_pairs(self, pattern: sparse.csr_array) -> Certificate:
        """Add the pairs of a symmetric pattern."""

    def nearest(self, length: int) -> list[NearBlock] | None:
        """Return closed lists of the `length` nearest neighbors (None: some may be missing)."""


class Growth(Protocol):
    """The pairs that were added to a store."""

    @property
    def pairs(self) -> PairStore:
        """The store of the new pairs alone."""

    def carried(self, costs: OwnCosts, new: OwnCosts) -> Costs:
        """Merge the costs of earlier and new pairs into the costs of all pairs."""

    def new_of(self, costs: OwnCosts) -> Costs:
        """Select the costs of the new pairs from the costs of all pairs."""


@dataclass(frozen=True)
class ListGrowth:
    """The entries of a symmetric pattern that an earlier pattern did not have."""

    is_new: Mask
    pairs: PairList
    """The store of the new pairs alone."""

    @classmethod
    def of(cls, pattern: sparse.csr_array, is_new: Mask, in_parts: InParts) -> ListGrowth:
        """Return the growth of a pattern from a mask of its new entries."""
        return cls(is_new, PairList(only(pattern, is_new), in_parts))

    def carried(self, costs: Vector, new: Vector) -> Vector:
        return carried(self.is_new, costs, new)

    def new_of(self, costs: Vector) -> Vector:
        return costs[self.is_new]


@dataclass(frozen=True, kw_only=True)
class ListCertificate:
    """Base of certificates whose candidate pairs are a symmetric CSR pattern in memory."""

    pattern: sparse.csr_array
    in_parts: InParts = one_part
    scaling: LocalScaling | None = None
    is_new: Mask | None = None
    """The entries of the pattern that the last extension added (None: unknown, or none)."""

    @cached_property
    def edges(self) -> PairList:
        return PairList(self.pattern, self.in_parts)

    @property
    def growth(self) -> Growth | None:
        if self.is_new is None:
            return None
        return ListGrowth.of(self.pattern, self.is_new, self.in_parts)

    def settled(self) -> Self:
        return self

    def reduced_to(self, kept: sparse.csr_array) -> Self:
        """Keep only the pairs stored in a matrix."""
        ones = np.ones(kept.nnz, dtype=bool)
        pattern = sparse.csr_array((ones, kept.indices, kept.indptr), shape=kept.shape)
        return replace(self, pattern=pattern, is_new=None)

    def with_pairs(self, pattern: sparse.csr_array) -> Self:
        return replace(self, pattern=sparse.csr_array(self.pattern + pattern), is_new=None)


def only(pattern: sparse.csr_array, chosen: Mask) -> sparse.csr_array:
    """Return a pattern with only the chosen entries."""
    places = np.flatnonzero(chosen)
    starts = np.searchsorted(places, pattern.indptr).astype(pattern.indptr.dtype)
    ones = np.ones(places.size, dtype=bool)
    return sparse.csr_array((ones, pattern.indices[places], starts), shape=pattern.shape)


def carried(is_new: Mask, costs: Vector, new: Vector) -> Vector:
    """Merge the costs of new and earlier entries into the costs of all entries."""
    out = np.empty(is_new.size)
    out[~is_new] = costs
    out[is_new] = new
    return out


def joined(pattern: sparse.csr_array, added: sparse.csr_array) -> tuple[sparse.csr_array, Mask]:
    """Return the sorted union of two patterns, and a mask of the entries the first one lacks."""
    union = sparse.csr_array(marked(pattern, 1) + marked(added, 2))
    union.sort_indices()
    is_new: Mask = union.data == 2
    indices = union.indices.copy()  # SciPy allocates room for the entries of both patterns
    ones = np.ones(indices.size, dtype=bool)
    return sparse.csr_array((ones, indices, union.indptr), shape=union.shape), is_new


def marked(pattern: sparse.csr_array, mark: int) -> sparse.csr_array:
    """Return a pattern with the same small number in all entries."""
    marks = np.full(pattern.nnz, mark, dtype=np.uint8)
    return sparse.csr_array((marks, pattern.indices, pattern.indptr), shape=pattern.shape)
