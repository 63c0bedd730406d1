"""Coarser and finer clusters: the resolutions at which the common graph falls into stable parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmgl.automatic.number_of_clusters import NumberOfClusters


@dataclass(frozen=True)
class Level:
    """The clusters at one resolution."""

    n_clusters: int
    labels: NDArray[np.intp]
    """The cluster of every entity; -1 for one that was placed after the fit, except at the chosen level."""
    stability: float
    """Agreement with the clusters that are found on four fifths of the entities: 1 the same, 0 no better than chance."""
    nested: float
    """The share of the entities that are in the same cluster of the next coarser level as most of their own cluster: 1 if nested."""


def levels_of(number: NumberOfClusters, labels: NDArray[np.intp], placed: NDArray[np.intp]) -> list[Level]:
    """The chosen clusters, and the stable ones above and below them, from coarse to fine."""
    if number.resolutions is None or number.parts is None:
        return []
    learned = np.setdiff1d(np.arange(labels.size), placed)
    levels: list[Level] = []
    for k, own in zip(number.resolutions.tolist(), number.parts, strict=True):
        of_all = labels.copy() if k == number.chosen else np.full(labels.size, -1, dtype=np.intp)
        if k != number.chosen:
            of_all[learned] = own
        nested = nestedness(of_all[learned], levels[-1].labels[learned]) if levels else 1.0
        levels.append(Level(k, of_all, float(number.stability[number.candidates == k][0]), nested))
    return levels


def nestedness(fine: NDArray[np.intp], coarse: NDArray[np.intp]) -> float:
    """The share of the entities that are in the coarse cluster of most of their fine cluster.

    Examples
    --------
    >>> import numpy as np
    >>> nestedness(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 0]))
    0.8333333333333334
    """
    table = np.zeros((fine.max() + 1, coarse.max() + 1))
    np.add.at(table, (fine, coarse), 1)
    return float(table.max(axis=1).sum() / fine.size)
