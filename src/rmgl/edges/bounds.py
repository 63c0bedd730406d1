"""Bounds on squared distances from rounding errors, leading axes and bounding boxes.

Statements about exact distances allow for errors in the computed ones. Squared distances z are
computed as |x|^2 + |y|^2 - 2x'y, from rows and norms that were rounded to single or double
precision. Let D be the number of columns, e the distance from 1 to the next number in that
precision, and t its smallest normal number. Rounding an entry, a product or a sum loses at most a
share of e/2 of the result or, if the result is smaller than t, all of it. This has three effects:

- Shares. No sum of some of the x_k y_k exceeds (|x|^2 + |y|^2) / 2. So D products and their sums,
  both norms, and the rounding of rows change z by less than e (D/2 + 7/2) (|x|^2 + |y|^2).
- Results that underflow. There are at most 2D + 7 products, sums and norms, each of which counts
  twice in z: (4D + 14) t.
- Entries that underflow. They change x'y by t (|x_1| + ... + |x_D|) <= sqrt(D) t |x| <=
  (e/4) |x|^2 + D t^2 / e, and likewise for y. The last term is far below t.

The total is less than e (D + 4) (|x|^2 + |y|^2) + 4 (D + 4) t. Distances from the differences of
rounded rows have no larger errors. If searches center the rows but distances are measured on
uncentered ones, z changes by a further e (|x|^2 + |y|^2) / 2 + e z: the share has room for the
first part, and radii are rounded up by more than the second.

In views with many columns, a few principal axes and the norm of the remainder bound distances
from below; only the pairs that these bounds do not rule out are measured with all columns. Bounding
boxes of tiles of nearby rows also bound distances: tiles that are too far apart are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from rmgl.edges.interface import Floats, Indices, Nodes, Vector

TILE = 512
"""Number of rows in a tile."""
TILE_SAMPLE = 1000
"""Number of rows sampled to estimate the variances of the columns."""
LEADING_ERROR = 1e-7
"""Error in the appended norm, relative to the largest norm of a row.

The appended norm is the square root of a difference that may have lost all digits.
"""
FEWEST_COLUMNS = 64
"""Number of columns below which products with all columns are just as fast."""
WIDTHS = (16, 32, 64, 128)
"""Numbers of axes to choose from."""
AXES_SAMPLE = 2000
"""Number of rows sampled to estimate axes."""
AXES_QUERIES = 200
"""Number of sampled rows used to estimate the share of pairs that axes do not rule out."""
MEASURING = 12.0
"""Time per column to measure a single pair, relative to the time per column in a tile product."""
LEAST_GAIN = 1.3
"""Smallest expected speedup for which a search rotates its rows."""


@dataclass(frozen=True)
class Rounding:
    """Error bound share (|x|^2 + |y|^2) + floor on a computed squared distance between rows x, y.

    Examples
    --------
    >>> rounding = Rounding.of(12, np.float32)
    >>> f"{rounding.share:.1e} {rounding.floor:.1e}"
    '1.9e-06 7.5e-37'
    """

    share: float
    floor: float
    """The error that remains where all terms underflow.

    It matters only for distances that are nearly as small.
    """

    @classmethod
    def of(cls, width: int, dtype: type[np.floating[Any]]) -> Rounding:
        """Return the rounding error for rows with this number of columns."""
        precision = np.finfo(dtype)
        share = float(precision.eps) * (width + 4)
        return cls(share / (1 - share), 4.0 * (width + 4) * float(precision.tiny))

    def loss(self, norms: Vector) -> Vector:
        """Return each row's contribution to the error in a distance, from its squared norm.

        The error is at most the sum of the contributions of both rows.
        """
        return self.share * norms + self.floor / 2

    def distance_bound(self, last: Vector, norms: Vector) -> Vector:
        """Return a lower bound on the squared distance to all unlisted rows.

        `last` is the computed distance of the last listed row.

        Since |y|^2 <= 2 |x|^2 + 2 z, the true z of an unlisted row satisfies z + share (3 |x|^2 + 2
        z) + floor >= last.
        """
        return (last - 3 * self.share * norms - self.floor) / (1 + 2 * self.share)


@dataclass(frozen=True)
class Reach:
    """Radii r and scales s of nodes, or their bounds for tiles.

    A pair is within reach if its squared distance is below s_i s_j (r_i + r_j).
    """

    radii: Vector
    scales: Vector

    @classmethod
    def rounded_up(cls, radii: Vector, scales: Vector, rounding: Rounding) -> Reach:
        """Return the reach of nodes, enlarged by what rounding may take from it."""
        return cls(radii + 2 * rounding.share * np.abs(radii), scales)

    @property
    def far(self) -> Vector:
        """The f with s_i s_j (r_i + r_j) / 2 = f_i s_j + s_i f_j."""
        return self.scales * self.radii / 2

    def columns(self, norms: Vector, rounding: Rounding) -> tuple[tuple[Any, Any], ...]:
        """Return columns that make `Tiled.products` positive for all pairs within reach.

        `norms` are the squared norms of the rows.

        The products are (s_i s_j (r_i + r_j) - |x_i - x_j|^2) / 2 plus half of the losses of both
        rows. The part of f that underflows is multiplied by s, and that of s by f: hence the
        multiples of the floor.
        """
        far, near = self.far, self.scales
        halves = (1 - rounding.share) * norms / 2 - rounding.floor * (1 + np.abs(far) + near) / 4
        return (-halves, 1.0), (1.0, -halves), (far, near), (near, far)

    def __getitem__(self, some: Any) -> Reach:
        return Reach(self.radii[some], self.scales[some])

    def largest(self, starts: Any) -> Reach:
        """Return bounds for the parts that begin at `starts`."""
        return Reach(
            np.maximum.reduceat(self.radii, starts), np.maximum.reduceat(self.scales, starts)
        )

    def to(self, other: Reach) -> Vector:
        """Return the squared distance s_i s_j (r_i + r_j) that limits the reach, or zero."""
        return np.maximum(self.scales * other.scales * (self.radii + other.radii), 0.0)


def leading_columns(X: Floats, norms: Floats) -> Floats | None:
    """Compute leading columns of centered rows, and remainder norms (None: not worth it)."""
    axes = leading_axes(X.shape, lambda rows: X[rows])
    return None if axes is None else projected(X, norms, axes)


def leading_axes(shape: tuple[int, int], take: Callable[[Nodes], Floats]) -> Floats | None:
    """Estimate the axes of leading columns from sampled centered rows (None: not worth it)."""
    n, width = shape
    if width < FEWEST_COLUMNS or n < 2 * AXES_SAMPLE:
        return None
    sample = take(np.random.RandomState(0).permutation(n)[:AXES_SAMPLE])
    values, axes = np.linalg.eigh(sample.T @ sample)
    axes = np.ascontiguousarray(axes[:, np.argsort(-values)[: max(WIDTHS)]])
    chosen = cheapest_width(sample, axes)
    return None if chosen is None else axes[:, :chosen]


def projected(X: Floats, norms: Floats, axes: Floats) -> Floats:
    """Project rows onto orthonormal axes and append the norm of the remainder."""
    out = np.empty((X.shape[0], axes.shape[1] + 1))
    out[:, :-1] = X @ axes
    out[:, -1] = np.sqrt(np.maximum(norms - np.square(out[:, :-1]).sum(axis=1), 0.0))
    return out


def cheapest_width(sample: Floats, axes: Floats) -> int | None:
    """Return the number of axes that makes a search fastest (None: all columns).

    It depends on the share of sampled pairs that the axes do not rule out.
    """
    norms = np.square(sample).sum(axis=1)
    few = sample[:AXES_QUERIES]
    distances = norms[:AXES_QUERIES, None] + norms - 2 * few @ sample.T
    distances[np.arange(len(few)), np.arange(len(few))] = np.inf
    # among all rows, which are more numerous, the last listed neighbor is hardly farther
    nearest = distances.min(axis=1, keepdims=True)
    width = sample.shape[1]
    costs: dict[int, float] = {}
    for count in WIDTHS:
        if count < width / 2:
            rows = projected(sample, norms, axes[:, :count])
            bounds = norms[:AXES_QUERIES, None] + norms - 2 * rows[:AXES_QUERIES] @ rows.T
            costs[count] = count + 3 + MEASURING * width * float((bounds <= nearest).mean())
    best = min(costs, key=lambda count: costs[count], default=None)
    return best if best is not None and LEAST_GAIN * costs[best] < width + 2 else None


@dataclass(frozen=True)
class Order:
    """The order of rows in tiles; kept because sorting takes longer than visiting a few tiles."""

    order: Indices
    """The row at each position in the tiles."""
    low: Floats
    """Smallest entries of each tile, in double precision, so that a box contains its exact rows."""
    high: Floats
    """Largest entries of each tile, in double precision, so that a box contains its exact rows."""

    @cached_property
    def places(self) -> Indices:
        """The position of every row."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(self.order.size)
        return places

    @classmethod
    def of(cls, X: Any, pad: float = 0.0) -> Order:
        """Sort rows into tiles, with boxes widened by `pad`.

        Sparse rows are not sorted, and their tiles have no boxes.
        """
        starts = range(0, X.shape[0], TILE)
        if sparse.issparse(X):
            nothing = np.zeros((len(starts), 1))
            return cls(np.arange(X.shape[0]), nothing, nothing)
        order = tile_order(X)
        tiles = [X[order[start : start + TILE]] for start in starts]
        return cls(
            order,
            np.array([rows.min(axis=0) for rows in tiles]) - pad,
            np.array([rows.max(axis=0) for rows in tiles]) + pad,
        )


def box_distance(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Vector:
    """Bound the squared distances between boxes from below, allowing for rounding."""
    gap = np.maximum(np.maximum(low - other_high, other_low - high), 0.0)
    distances: Vector = (1 - 1e-12) * np.square(gap).sum(axis=-1)
    return distances


def tile_order(X: Floats, tile: int = TILE) -> Indices:
    """Order the rows by halving them along the column of largest variance, down to single tiles."""
    order = np.arange(X.shape[0])
    pending = [(0, X.shape[0], -(-X.shape[0] // tile))]
    while pending:
        start, stop, count = pending.pop()
        if count == 1:
            continue
        rows = order[start:stop]
        column = halving_column(X[rows[:: sample_step(rows.size)]])
        middle = halving_place(count, tile)
        order[start:stop] = rows[np.argpartition(X[rows, column], middle)]
        pending += [(start, start + middle, count // 2), (start + middle, stop, count - count // 2)]
    return order


def sample_step(n_rows: int) -> int:
    """Return the step between the rows of a sample."""
    return max(1, n_rows // TILE_SAMPLE)


def halving_column(sample: Floats) -> int:
    """Return the column along which rows are halved."""
    return int(sample.var(axis=0).argmax())


def halving_place(n_tiles: int, tile: int) -> int:
    """Return the number of rows in the first half."""
    return tile * (n_tiles // 2)
