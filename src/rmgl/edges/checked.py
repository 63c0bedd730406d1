"""Candidate pairs in a space of known distances: at a solution, all other pairs are checked.

A pair carries weight only if its cost is below u_i + u_j. If no pair outside the candidates has
such a cost, the solution over the candidates *is* the solution over all pairs. Where some have,
those that would get the most weight become candidates, a few at each node, and the solver continues
from its last point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from rmgl.edges.certificate import Growth, ListGrowth, Mask, joined
from rmgl.edges.interface import Floats, Vector
from rmgl.edges.local_scaling import LISTED, LocalScaling
from rmgl.edges.neighborhoods import first_pairs
from rmgl.edges.space import Square
from rmgl.edges.stores import PairList, union_of
from rmgl.running.threads import Check, InParts, one_part

LONG_LISTS = 100
"""Candidate pairs per node from which those that are not needed are dropped."""
LEAST_ADDED = 16
"""Pairs that may be added at every node at once; more where lists are longer than that."""


@dataclass(frozen=True)
class Checked:
    """Candidate pairs as a symmetric CSR pattern, and the space in which all others are checked."""

    space: Square
    pattern: sparse.csr_array
    in_parts: InParts = one_part
    scaling: LocalScaling | None = None
    is_new: Mask | None = None
    """The entries of the pattern that the last extension added (None: not known, or none)."""

    @classmethod
    def search(
        cls,
        space: Square,
        length: int,
        in_parts: InParts = one_part,
        check: Check = lambda: None,
        local: float | None = None,
    ) -> Checked:
        """Begin with the `length` nearest points of each.

        `local` is the floor share of a local scaling (None: no scaling).
        """
        closed = length if local is None else LISTED
        pattern, lists, _ = first_pairs(space, max(length, closed + 1), closed, check)
        scaling = None if local is None else LocalScaling.from_lists(lists, local)
        return cls(space, pattern, in_parts, scaling)

    @cached_property
    def edges(self) -> PairList:
        return PairList(self.pattern, self.in_parts)

    def extended(
        self, u: Vector, costs: Vector, guide: Floats | None, check: Check = lambda: None
    ) -> Checked:
        """Add pairs that would carry weight at u; itself if the solution is certified."""
        n = self.space.n_rows
        scales, floors = np.ones(n), np.zeros(n)
        if self.scaling is not None:
            scales, floors = self.scaling.scales, self.scaling.floors
        rows = np.zeros((n, 1)) if guide is None else np.ascontiguousarray(guide)
        most = min(n - 1, max(LEAST_ADDED, self.pattern.nnz // n))
        left, right = self.space.missing(u, self.edges, scales, floors, rows, most, check)
        if left.size == 0:
            return self
        pattern, is_new = joined(self.pattern, union_of(left, right, n))
        return replace(self, pattern=pattern, is_new=is_new)

    def settled(self) -> Checked:
        return self

    @property
    def growth(self) -> Growth | None:
        if self.is_new is None:
            return None
        return ListGrowth.of(self.pattern, self.is_new, self.in_parts)

    def pruned(self, u: Vector, costs: Vector) -> Checked:
        """Drop the pairs whose costs are far beyond u_i + u_j, if lists are long.

        Far is more than the mean excess of active pairs.
        """
        if self.pattern.nnz <= LONG_LISTS * self.space.n_rows:
            return self
        sums = self.edges.evaluate(u, costs)
        reach = u + sums.excess / np.maximum(sums.counts, 1.0) / 2
        kept = self.edges.active(reach, costs, 0.0)
        if 2 * kept.nnz > self.pattern.nnz:
            return self
        ones = np.ones(kept.nnz, dtype=bool)
        pattern = sparse.csr_array((ones, kept.indices, kept.indptr), shape=kept.shape)
        return replace(self, pattern=pattern, is_new=None)

    def with_pairs(self, pattern: sparse.csr_array) -> Checked:
        return replace(self, pattern=sparse.csr_array(self.pattern + pattern), is_new=None)

    def nearest(self, length: int) -> None:
        """Nothing: the nearest neighbors may have been dropped."""
