"""How far computed squared distances may be off, which statements about exact distances allow for.

Squared distances z are computed as |x|^2 + |y|^2 - 2x'y, from rows and lengths that were rounded to single or to double precision. Let D be
the number of columns, e the distance from 1 to the next number of that precision, and t its smallest normal number. Rounding an entry, and
every product and sum, takes no more than the share e/2 of the result or, where that is smaller than t, all of it. This has three effects:

- Shares. No sum of some of the x_k y_k exceeds (|x|^2 + |y|^2) / 2. So D products and their sums, both lengths, and the rounding of rows
  change z by less than e (D/2 + 7/2) (|x|^2 + |y|^2).
- Results that vanish. There are no more than 2D + 7 products, sums and lengths, each of which counts twice in z: (4D + 14) t.
- Entries that vanish. They change x'y by t (|x_1| + ... + |x_D|) <= sqrt(D) t |x| <= (e/4) |x|^2 + D t^2 / e, and likewise for y. The last
  term is far below t.

Together this is less than e (D + 4) (|x|^2 + |y|^2) + 4 (D + 4) t. Distances from the differences of rounded rows are not farther off.
Where rows are centered, but measured as they were before, z changes by e (|x|^2 + |y|^2) / 2 + e z more: the share has room for the
first part, and radii are rounded up by more than the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rmgl.edges.interface import Vector


@dataclass(frozen=True)
class Rounding:
    """A computed squared distance of rows x and y is off by no more than share (|x|^2 + |y|^2) + floor.

    Examples
    --------
    >>> rounding = Rounding.of(12, np.float32)
    >>> f"{rounding.share:.1e} {rounding.floor:.1e}"
    '1.9e-06 7.5e-37'
    """

    share: float
    floor: float
    """What is left where all terms are too small for the precision; it matters only beside distances that are nearly as small."""

    @classmethod
    def of(cls, width: int, dtype: type[np.floating[Any]]) -> Rounding:
        """The rounding of rows with so many columns."""
        precision = np.finfo(dtype)
        share = float(precision.eps) * (width + 4)
        return cls(share / (1 - share), 4.0 * (width + 4) * float(precision.tiny))

    def loss(self, norms: Vector) -> Vector:
        """The part of each row, given its squared length: a distance is off by no more than the sum over its two rows."""
        return self.share * norms + self.floor / 2

    def distance_bound(self, last: Vector, norms: Vector) -> Vector:
        """A lower bound of the squared distance to all unlisted rows, given the computed distance of the last listed one.

        Since |y|^2 <= 2 |x|^2 + 2 z, the true z of an unlisted row satisfies z + share (3 |x|^2 + 2 z) + floor >= last.
        """
        return (last - 3 * self.share * norms - self.floor) / (1 + 2 * self.share)
