"""Spectral clustering of one graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmgl.embedding.eigenvectors import smallest_eigenvectors, unit_rows


def spectral_rows(adjacency: sparse.csr_array, n_clusters: int) -> NDArray[np.float64]:
    """Return the K smallest eigenvectors of I - D^-1/2 W D^-1/2, with unit rows (Ng et al.)."""
    return unit_rows(smallest_eigenvectors(adjacency, n_clusters, normalized=True).vectors)
