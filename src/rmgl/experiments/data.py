"""The data of the experiments."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from rmgl.datasets import fetch_coil20, load_uci_digits, make_complementary_layers
from rmgl.datasets.uci_digits import PAPER_PARAMETERS
from rmgl.matrix import Floats, Indices

UCI_BETA = [float(value) for value in PAPER_PARAMETERS["beta"]]


@dataclass(frozen=True)
class Problem:
    """Views to cluster, their true classes, and the paper's beta for alpha = 100."""

    name: str
    views: dict[str, Floats]
    target: Indices
    paper_beta: list[float]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.target))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all values in the data."""
        digest = hashlib.sha256(str(self.paper_beta).encode())
        for name, X in [*self.views.items(), ("target", self.target)]:
            digest.update(f"{name} {X.shape}".encode())
            digest.update(np.ascontiguousarray(X).tobytes())
        return digest.hexdigest()


@lru_cache(1)
def uci(quick: bool) -> Problem:
    """Load the UCI digits, or a quarter of the rows if `quick`."""
    data = load_uci_digits()
    step = 4 if quick else 1
    return Problem(
        "uci", {name: X[::step] for name, X in data.views.items()}, data.target[::step], UCI_BETA
    )


@lru_cache(1)
def coil20(quick: bool, images: Path | None, download: bool = True) -> Problem:
    """Load COIL-20, or every third pose if `quick`."""
    data = fetch_coil20(images=images, download=download)
    step = 3 if quick else 1
    return Problem(
        "coil20",
        {name: X[::step] for name, X in data.views.items()},
        data.target[::step],
        [12, 2, 15],
    )


def synthetic(draw: int, unit_length: bool = False, noise: float = 0.01) -> Problem:
    """Generate one draw of the paper's synthetic data. The paper does not give the parameters."""
    data = make_complementary_layers(random_state=draw, unit_length=unit_length, noise=noise)
    return Problem("synthetic", data.views, data.target, [1.0, 1.0, 1.0])
