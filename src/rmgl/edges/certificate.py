"""What a certificate that no other pair can carry weight answers, however its candidate pairs are kept."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.edges.growth import Growth
from rmgl.edges.interface import Costs, Edges, Vector
from rmgl.edges.local_scaling import LocalScaling
from rmgl.edges.space import Space
from rmgl.edges.ties import NearBlock
from rmgl.running.threads import Check


class Certificate(Protocol):
    """Candidate pairs of a space, and what is known about all others."""

    @property
    def space(self) -> Space: ...

    @property
    def scaling(self) -> LocalScaling | None: ...

    @property
    def edges(self) -> Edges: ...

    @property
    def growth(self) -> Growth | None:
        """The pairs that the last extension added (None: there was none, or it is not known)."""

    def settled(self) -> Certificate:
        """Itself, after the costs of the new pairs have been taken: nothing that only these need is kept."""

    def extended(self, u: Vector, costs: Costs, guide: NDArray[np.float64] | None, check: Check = ...) -> Certificate:
        """Add the pairs that a certificate at the potentials u needs; itself if the certificate holds already."""

    def pruned(self, u: Vector, costs: Costs) -> Certificate:
        """Drop pairs that are far from carrying weight at u, where they can be found again easily; itself if there are none."""

    def with_pairs(self, pattern: sparse.csr_array) -> Certificate:
        """Add the pairs of a symmetric pattern."""

    def nearest(self, length: int) -> list[NearBlock] | None:
        """The closed lists of the `length` nearest neighbors of every node; None where candidates need not include them."""
