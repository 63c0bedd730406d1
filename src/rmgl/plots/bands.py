"""Positions of the boxes and bands that compare several clusterings of the same entities.

The plots and the page use the same positions.

Every clustering is a row of boxes, with one box per group and widths proportional to the numbers of
members. A band connects two boxes of successive clusterings. Its width is proportional to the
number of members that they share. Boxes are ordered by the mean position of their members in the
previous clustering, so that few bands cross.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rmgl.matrix import Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.012
"""Space between two boxes of the clustering with the most groups, relative to the total width."""
MOST_GAPS = 0.3
"""Maximum share of the total width for all spaces between boxes together."""
HALF_BOX = 0.11
"""Half the thickness of a box. The distance between two clusterings is 1."""


@dataclass(frozen=True)
class Box:
    """One group of one clustering or, with a `color`, its members of one color."""

    answer: int
    """Position of the clustering, starting at 0."""
    group: int
    color: int
    """Group in the clustering that defines the colors. -1 for several groups."""
    size: int
    """Number of members."""
    start: float
    """Start of the box, relative to the total width."""
    end: float
    """End of the box, relative to the total width."""


@dataclass(frozen=True)
class Band:
    """Members of one color that two groups of successive clusterings share."""

    answer: int
    """Position of the first of the two clusterings."""
    first: int
    second: int
    color: int
    size: int
    width: float
    """Width of the band, relative to the total width."""
    first_start: float
    """Start of the band in the first box."""
    second_start: float
    """Start of the band in the second box."""


@dataclass(frozen=True)
class Layout:
    """Positions of all boxes and bands."""

    boxes: list[Box]
    parts: list[Box]
    """Boxes divided by color."""
    bands: list[Band]


def lay_out(answers: Sequence[Indices], colored: int) -> Layout:
    """Place the groups of clusterings (codes from 0 for each entity) and the bands between them.
    The groups of the clustering at position `colored` define the colors.

    Examples
    --------
    >>> import numpy as np
    >>> layout = lay_out([np.array([0, 0, 0, 1]), np.array([1, 1, 0, 2])], colored=0)
    >>> [(band.first, band.second, band.size) for band in layout.bands]
    [(0, 0, 1), (0, 1, 2), (1, 2, 1)]
    """
    n = answers[0].size
    most = max(np.count_nonzero(np.bincount(codes)) for codes in answers)
    gaps = min(GAP * (most - 1), MOST_GAPS)
    orders = _orders(answers)
    boxes = [
        box
        for answer, (codes, order) in enumerate(zip(answers, orders, strict=True))
        for box in _boxes(answer, np.bincount(codes), order, (1 - gaps) / n)
    ]
    rank = np.empty(orders[colored].max() + 1, dtype=np.intp)
    rank[orders[colored]] = np.arange(orders[colored].size)
    colors = rank[answers[colored]]
    places = _Places(boxes, orders[colored], (1 - gaps) / n)
    parts = [
        part for answer, codes in enumerate(answers) for part in places.parts(answer, codes, colors)
    ]
    bands = [
        band
        for answer in range(len(answers) - 1)
        for band in places.bands(answer, answers[answer], answers[answer + 1], colors)
    ]
    return Layout(boxes, parts, bands)


def _orders(answers: Sequence[Indices]) -> list[Indices]:
    """Return the nonempty groups of every clustering, from the first box to the last."""
    orders: list[Indices] = []
    place = np.zeros(answers[0].size)
    for number, codes in enumerate(answers):
        sizes = np.bincount(codes)
        groups = np.flatnonzero(sizes)
        means = np.bincount(codes, weights=place)[groups] / sizes[groups]
        order = groups if number == 0 else groups[np.argsort(means.round(9), kind="stable")]
        ends = np.zeros(sizes.size)
        ends[order] = np.cumsum(sizes[order])
        place = (ends - sizes / 2)[codes]
        orders.append(order)
    return orders


def _boxes(answer: int, sizes: Indices, order: Indices, unit: float) -> Iterator[Box]:
    """Return the boxes of one clustering. The remaining width is between the boxes, or on either
    side of a single box.
    """
    left = 1 - unit * int(sizes.sum())
    gap = left / max(1, order.size - 1)
    start = left / 2 if order.size == 1 else 0.0
    for group in order.tolist():
        end = start + unit * int(sizes[group])
        yield Box(answer, group, -1, int(sizes[group]), start, end)
        start = end + gap


class _Places:
    """Divide boxes among the bands that start and end in them."""

    def __init__(self, boxes: Sequence[Box], colors: Indices, unit: float) -> None:
        self.starts = {(box.answer, box.group): box.start for box in boxes}
        self.ranks = {key: rank for rank, key in enumerate(self.starts)}
        self.colors = colors
        """Groups that define the colors, in order."""
        self.unit = unit

    def parts(self, answer: int, codes: Indices, colors: Indices) -> Iterator[Box]:
        """Yield the boxes of each group, divided by color."""
        found, sizes = _counted(codes, colors)
        starts = self._divided([answer] * sizes.size, found[0], [found[1]], sizes)
        for group, color, size, start in zip(*found.tolist(), sizes.tolist(), starts, strict=True):
            end = start + self.unit * size
            yield Box(answer, group, int(self.colors[color]), size, start, end)

    def bands(
        self, answer: int, first: Indices, second: Indices, colors: Indices
    ) -> Iterator[Band]:
        """Return the bands between a clustering and the next, by color."""
        found, sizes = _counted(first, second, colors)
        one, other = (
            np.array([self.ranks[answer + step, group] for group in found[step].tolist()])
            for step in (0, 1)
        )
        here = self._divided([answer] * sizes.size, found[0], [found[2], other], sizes)
        there = self._divided([answer + 1] * sizes.size, found[1], [found[2], one], sizes)
        rows = zip(*found.tolist(), sizes.tolist(), here, there, strict=True)
        for group, next_group, color, size, start, next_start in rows:
            width = self.unit * size
            shown = int(self.colors[color])
            yield Band(answer, group, next_group, shown, size, width, start, next_start)

    def _divided(
        self, answers: Sequence[int], groups: Indices, keys: Sequence[Indices], sizes: Indices
    ) -> list[float]:
        """Return where each piece starts in its box. The first key has priority in sorting."""
        filled = dict(self.starts)
        starts = np.zeros(sizes.size)
        for piece in np.lexsort(tuple(keys)[::-1]).tolist():
            box = answers[piece], int(groups[piece])
            starts[piece] = filled[box]
            filled[box] += self.unit * int(sizes[piece])
        return starts.tolist()


def _counted(*codes: Indices) -> tuple[Indices, Indices]:
    """Return the distinct combinations of codes, one column each, and their counts."""
    widths = [int(code.max()) + 1 for code in codes]
    flat, sizes = np.unique(np.ravel_multi_index(codes, widths), return_counts=True)
    return np.array(np.unravel_index(flat, widths)), sizes


def outline(band: Band) -> tuple[list[tuple[float, float]], float, float]:
    """Return the corners of a band as (position, depth), two on the first box and two on the
    second, and the depths at which the curved sides of the band start and end.
    """
    top, bottom = band.answer + HALF_BOX, band.answer + 1 - HALF_BOX
    corners = [
        (band.first_start, top),
        (band.second_start, bottom),
        (band.second_start + band.width, bottom),
        (band.first_start + band.width, top),
    ]
    return corners, top, bottom


def draw_layout(ax: Axes, layout: Layout, colors: Sequence[str], *, downward: bool) -> None:
    """Draw boxes and bands, with clusterings from top to bottom if `downward`, and otherwise from
    left to right.
    """
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    def point(place: float, depth: float) -> tuple[float, float]:
        return (place, depth) if downward else (depth, place)

    curve = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    for band in layout.bands:
        (a, b, c, d), top, bottom = outline(band)
        middle = (top + bottom) / 2
        corners = [
            a,
            (a[0], middle),
            (b[0], middle),
            b,
            c,
            (c[0], middle),
            (d[0], middle),
            d,
            a,
        ]
        path = Path([point(*corner) for corner in corners], curve)
        ax.add_patch(PathPatch(path, facecolor=colors[band.color], alpha=0.45, linewidth=0))
    for part in layout.parts:
        _rectangle(ax, part, point, Rectangle, facecolor=colors[part.color], linewidth=0)
    for box in layout.boxes:
        _rectangle(ax, box, point, Rectangle, facecolor="none", edgecolor="black", linewidth=0.6)
    last = max(box.answer for box in layout.boxes)
    first, end = point(-0.01, -2 * HALF_BOX), point(1.01, last + 2 * HALF_BOX)
    ax.set(xlim=(first[0], end[0]), ylim=(end[1], first[1]))  # from top to bottom
    ax.spines[:].set_visible(False)


def _rectangle(ax: Axes, box: Box, point: Any, kind: Any, **style: Any) -> None:
    first, last = point(box.start, box.answer - HALF_BOX), point(box.end, box.answer + HALF_BOX)
    ax.add_patch(kind(first, last[0] - first[0], last[1] - first[1], **style))
