"""A layer together with the candidate pairs it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmgl.checks import expect
from rmgl.edges import Candidates
from rmgl.layer import Layer, Origin


@dataclass(frozen=True)
class Learned:
    """A layer and its candidate pairs, which the next layer of the same view starts from."""

    candidates: Candidates
    layer: Layer

    def own(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows of the entities that the layer was learned on."""
        return rows if self.layer.nodes is None else rows[self.layer.nodes]

    def pack(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"candidates": self.candidates.pack(), "layer": self.layer.without_origin()}


def unpacked_layer(origin: Origin, candidates: Candidates, layer: Any) -> Learned:
    """A layer from a checkpoint on its candidates; an error if it cannot be one."""
    expect("the layer", layer, Layer)
    layer.check(candidates.edges.n_nodes)
    candidates.check_support(layer.adjacency)
    return Learned(candidates, layer.with_origin(origin, candidates.scaling))
