"""Page section on the number of clusters, with the tree of stable resolutions as a clickable
figure.
"""

from __future__ import annotations

from rmgl.page.content import Content
from rmgl.page.elements import Html, element, joined, table
from rmgl.page.words import plural
from rmgl.plots.bands import HALF_BOX, Band, Box, outline
from rmgl.plots.drawing import NUMBERED, color_of
from rmgl.plots.resolutions import Resolutions

WIDTH, STEP, MARGIN = 560.0, 74.0, 120.0
"""Width of the boxes, distance between levels, and space for the names of levels, in pixels."""


SCORES = ("score", "modularity", "silhouette", "stability", "eigengap")


def number_section(content: Content) -> Html:
    """Return the section about the choice of the number of clusters and its evidence."""
    number, found = content.model.number, content.resolutions
    if content.report.n_clusters != content.model.n_clusters:
        return element(
            "p",
            f"The fit has {plural(content.report.n_clusters, 'cluster')}. Some of them "
            f"were refitted, so there are now {content.model.n_clusters}.",
        )
    if number is None or found is None:
        said = (
            f"You requested {plural(content.model.n_clusters, 'cluster')}. To choose the "
            'number from the data, use n_clusters="auto".'
        )
        return element("p", said)
    reason = (
        f"K = {number.chosen} was {content.report.n_clusters_reason}. The score is modularity "
        "times the square of the silhouette."
    )
    rows = [
        [
            level_button(at, plural(int(str(row["n_clusters"])), "cluster")),
            *(two_digits(row[name]) for name in SCORES),
            str(row["sentence"]),
        ]
        for at, row in enumerate(number.table)
    ]
    coarser = table(
        ("Resolution", *(name.capitalize() for name in SCORES), "In words"),
        rows,
        "Stable coarser and finer clusterings. Select one to see its clusters on the map.",
        class_="cards",
        id="level-table",
    )
    curves = element("div", id="evidence", class_="picture")
    pictures = element("div", tree(found), curves, class_="resolutions")
    return joined([element("p", reason), element("p", how_to_read(found)), pictures, coarser])


def two_digits(value: object) -> str:
    """Format a number, or return "not measured".

    Examples
    --------
    >>> two_digits(0.987), two_digits(None)
    ('0.99', 'not measured')
    """
    return "not measured" if value is None or value != value else f"{value:.2f}"


def how_to_read(found: Resolutions) -> str:
    """Return the explanation of the tree."""
    placed = (
        f" It does not include {found.n_placed:,} entities that were placed after the fit."
        if found.n_placed
        else ""
    )
    return (
        "The rows of the tree are the stable resolutions, from coarse to fine. Each box is a "
        "cluster, and its width is proportional to its number of members. Bands connect each "
        "cluster to the clusters that it splits into. The colors match the chosen clusters. Click "
        f"a row, or a resolution in the table, to see its clusters on the map.{placed}"
    )


def level_button(at: int, text: str) -> Html:
    return element(
        "button", text, type="button", class_="link", data_level=at, aria_pressed="false"
    )


def tree(found: Resolutions) -> Html:
    """Return the tree as an SVG figure. The page fills in the colors of its theme."""
    height = STEP * (len(found.levels) - 1 + 4 * HALF_BOX)
    levels = [level_of(found, at) for at in range(len(found.levels))]
    label = "Tree of the stable resolutions. The table below contains the same information as text."
    picture = element(
        "svg",
        *map(band_path, found.layout.bands),
        *levels,
        viewBox=f"0 0 {MARGIN + WIDTH + 8:.0f} {height:.0f}",
        role="group",
        aria_label=label,
        class_="tree",
        id="tree",
    )
    return element("div", picture, class_="scroll", tabindex="0", role="region", aria_label=label)


def level_of(found: Resolutions, at: int) -> Html:
    """Return one clickable row of boxes, with its name and the numbers of its clusters."""
    level, middle = found.levels[at], y_of(at)
    own = [box for box in found.layout.boxes if box.answer == at]
    parts = [box for box in found.layout.parts if box.answer == at]
    name = plural(level.n_clusters, "cluster")
    chosen = at == found.chosen
    beyond = element(
        "rect",
        x=0,
        y=f"{y_of(at - 2 * HALF_BOX):.1f}",
        width=f"{MARGIN + WIDTH + 8:.0f}",
        height=f"{4 * HALF_BOX * STEP:.1f}",
        class_="row",
    )
    stability = f"stability {two_digits(level.stability)}"
    words = [
        element("text", name, x=4, y=f"{middle - 2:.1f}", class_="name"),
        element("text", stability, x=4, y=f"{middle + 14:.1f}"),
    ]
    shapes = [box_shape(part, fill=color_of(part.color), data_fill=part.color) for part in parts]
    frames = [box_shape(box, class_="frame") for box in own]
    numbers = [
        element(
            "text",
            str(box.group),
            x=f"{x_of((box.start + box.end) / 2):.1f}",
            y=f"{middle:.1f}",
            class_="cluster",
        )
        for box in own
        if box.end - box.start >= NUMBERED * len(str(box.group))
    ]
    return element(
        "g",
        element("title", f"Show these {name} on the map"),
        beyond,
        *words,
        *shapes,
        *frames,
        *numbers,
        class_="level chosen" if chosen else "level",
        role="button",
        tabindex="0",
        aria_pressed="false",
        aria_label=", ".join(filter(None, [name, stability, "chosen" if chosen else None])),
        data_level=at,
    )


def box_shape(box: Box, **attributes: object) -> Html:
    return element(
        "rect",
        x=f"{x_of(box.start):.1f}",
        y=f"{y_of(box.answer - HALF_BOX):.1f}",
        width=f"{max(0.5, x_of(box.end) - x_of(box.start)):.1f}",
        height=f"{2 * HALF_BOX * STEP:.1f}",
        **attributes,
    )


def band_path(band: Band) -> Html:
    """Return a band as a path with curved sides."""
    corners, top, bottom = outline(band)
    a, b, c, d = (f"{x_of(place):.1f}" for place, _ in corners)
    first, last, middle = (f"{y_of(depth):.1f}" for depth in (top, bottom, (top + bottom) / 2))
    path = (
        f"M{a},{first} C{a},{middle} {b},{middle} {b},{last} "
        f"L{c},{last} C{c},{middle} {d},{middle} {d},{first} Z"
    )
    return element("path", d=path, fill=color_of(band.color), data_fill=band.color, class_="band")


def x_of(place: float) -> float:
    return MARGIN + WIDTH * place


def y_of(depth: float) -> float:
    return STEP * (depth + 2 * HALF_BOX)
