"""Few entities: what cannot be decided counts by half measures.

With `n` entities, the *doubt* is (1 - n / 100)_+. It is 0 from 100 entities on, and rises without a
jump below that. Two decisions depend on it:

- Learned layers and the plain neighbor layer differ most where entities are few. The weight of the
  neighbor layer is at least the doubt, as a share of the weight of all other layers.
- Whether halves of the columns of a view confirm each other is not known between one and three
  standard deviations from chance. A view counts for at least the doubt times the place of its
  deviations between these two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmgl.views.halves import SURE

FEW_ENTITIES = 100
"""Number of entities below which there is doubt."""


def doubt_of(n_entities: int, few: int = FEW_ENTITIES) -> float:
    """The doubt about what so many entities show, from 0 to 1.

    Examples
    --------
    >>> [round(doubt_of(n), 2) for n in (20, 60, 99, 100, 1000)]
    [0.8, 0.4, 0.01, 0.0, 0.0]
    """
    return max(0.0, 1 - n_entities / few) if few > 0 else 0.0


def undecided(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of deviations from chance between one, 0, and that which is sure, 1.

    Examples
    --------
    >>> undecided(np.array([-1.0, 1.0, 2.0, 3.0, 9.0])).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    place: NDArray[np.float64] = np.clip((deviations - 1) / (SURE - 1), 0.0, 1.0)
    return place
