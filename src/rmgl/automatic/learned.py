"""A layer together with the candidate pairs it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.edges import Candidates
from rmgl.layer import Layer


@dataclass(frozen=True)
class Learned:
    """A layer and its candidate pairs, which the next layer of the same view starts from."""

    candidates: Candidates
    layer: Layer

    def own(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of the entities that the layer was learned on."""
        return rows if self.layer.nodes is None else rows[self.layer.nodes]
