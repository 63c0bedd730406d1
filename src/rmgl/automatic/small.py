"""Few entities: compromises for decisions that the data cannot settle.

With `n` entities, the *doubt* is (1 - n / 100)_+. It is 0 with 100 or more entities, and increases
continuously below that. Two decisions depend on it:

- Learned layers and the neighbor layer differ most if there are few entities. The weight of the
  neighbor layer, relative to that of all other layers, is at least the doubt.
- Between one and three standard deviations above chance, it is not known whether the two halves of
  a view's columns support each other. Such a view gets at least part of its full weight: the doubt
  times the position of its deviation on a scale from one (0) to three (1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmgl.views.halves import SURE

FEW_ENTITIES = 100
"""Number of entities below which there is doubt."""


def doubt_of(n_entities: int, few: int = FEW_ENTITIES) -> float:
    """Return the doubt about results from this many entities, from 0 to 1.

    Examples
    --------
    >>> [round(doubt_of(n), 2) for n in (20, 60, 99, 100, 1000)]
    [0.8, 0.4, 0.01, 0.0, 0.0]
    """
    return max(0.0, 1 - n_entities / few) if few > 0 else 0.0


def undecided(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the position of deviations from chance on a scale from 0 (one deviation) to 1
    (certain).

    Examples
    --------
    >>> undecided(np.array([-1.0, 1.0, 2.0, 3.0, 9.0])).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    place: NDArray[np.float64] = np.clip((deviations - 1) / (SURE - 1), 0.0, 1.0)
    return place
